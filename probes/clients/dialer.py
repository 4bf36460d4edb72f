"""Can a connection be opened to each address of the host, and what does it show before anything is asked?

Resolves, connects and shakes hands as the Python SDKs do, with their trust store, and sends no request. What only a
second look can tell (who signed a certificate that was refused, whether this system's own store knows it) is in the
conditions of the exchange.
"""

from __future__ import annotations

import errno
import socket
import ssl
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from probes.clients import Outcome, SendLimits, Setting, to_exchange, uses_env_proxy
from probes.clients.observed import address
from probes.model import Dial, Raised, Route, Trial
from probes.wire.call import Ended
from probes.wire.certificate import certificate_facts, of_refused
from probes.wire.recorder import recording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.wire.call import CallRecord
    from probes.wire.tape import Tape

BY_PROXY = "the proxy dials"
"""What is returned where a proxy does the connecting, so that the addresses are not ours to try."""
MOST = 4
"""Addresses tried in a family."""
CONNECT = 1.5
"""Seconds that one address is given."""
_SHORTEST = 0.5
"""Machine seconds that scaled time does not go below: this machine's own pauses are no silence of the host."""
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
_ALPN = ["h2", "http/1.1"]
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""This machine itself has no way out in the family."""
_PORTS = {"http": 80, "https": 443}


class ConnectError(OSError):
    """What it is called wherever no more is known, as in the HTTP libraries."""


class Sender:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @staticmethod
    def unavailable() -> str | None:
        return None

    @staticmethod
    def version() -> str | None:
        return ssl.OPENSSL_VERSION

    def connect(self, route: Route) -> Session:
        return Session(self._setting, route)


class Session:
    """Every connection is closed as soon as it was seen."""

    def __init__(self, setting: Setting, route: Route) -> None:
        self._setting = setting
        self._route = route

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        dial = trial.request
        assert isinstance(dial, Dial)
        if _through_proxy(self._route):
            return Outcome(returned=BY_PROXY)
        clock = self._setting.clock
        with recording(
            clock.now,
            scale=clock.scale,
            deadline=limits.deadline,
            on_start=lambda record: limits.on_stop(record.stop),
        ) as record:
            patience = (
                clock.machine(CONNECT) if clock.scale == 1.0 else max(clock.machine(CONNECT), _SHORTEST)
            )
            said = _Dialling(record, self._route, dial, patience).run()
        return Outcome(
            tuple(to_exchange(tape, stream=None) for tape in record.results()),
            returned=said,
            raised=None if said is not None else Raised("builtins.OSError", "no connection"),
        )


def _through_proxy(route: Route) -> bool:
    parts = urlsplit(route.base_url)
    if route.proxy is not None:
        return True
    if not uses_env_proxy(route):
        return False
    known = getproxies()
    return bool(known.get(parts.scheme) or known.get("all")) and not proxy_bypass(parts.netloc)


class _Dialling:
    """One family of one host; every address is an exchange of its own."""

    def __init__(self, record: CallRecord, route: Route, dial: Dial, patience: float) -> None:
        parts = urlsplit(route.base_url)
        self._record = record
        self._url = f"{parts.scheme}://{parts.netloc}"
        self._tls = parts.scheme == "https"
        self._name = parts.hostname or ""
        self._dialled = address(route.connect_to) or (self._name, parts.port or _PORTS[parts.scheme])
        self._family = dial.family
        self._patience = patience

    def run(self) -> str | None:
        """How many addresses took the connection, in words; `None` where none did."""
        addresses = self._addresses()
        if not addresses:
            return None if self._record.tapes else f"no IPv{self._family} address"
        taken = sum([self._reached(each, first=n == 0) for n, each in enumerate(addresses)])
        return f"{taken} of {len(addresses)} addresses" if taken else None

    def _tape(self, where: str | None = None) -> Tape:
        tape = self._record.begin()
        tape.url = self._url
        tape.conditions |= {"family": self._family, "address": where, "connection": "new", "proxy": False}
        return tape

    def _addresses(self) -> list[str]:
        """Of this family; both are asked for, so that a name without one of them is no failure to resolve."""
        try:
            found = self._record.beside(partial(socket.getaddrinfo, *self._dialled, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError, Ended) as error:
            tape = self._tape()
            tape.failed(error, phase="dns")
            tape.ended(self._record.stopped)
            return []
        wanted = [str(entry[4][0]) for entry in found if entry[0] == _FAMILIES[self._family]]
        return list(dict.fromkeys(wanted))[:MOST]

    def _reached(self, where: str, *, first: bool) -> bool:
        tape = self._tape(where)
        try:
            with self._connected(where) as sock:
                tape.mark("connect")
                if self._tls and first:
                    self._shake(tape, sock, where)
        except (OSError, Ended) as error:
            failure = ConnectError(str(error))
            failure.__cause__ = error
            tape.failed(failure, phase="connect")
            tape.conditions["no_route"] = isinstance(error, OSError) and error.errno in _NO_ROUTE
        tape.ended(self._record.stopped)
        return "connect" in tape.marks

    @contextmanager
    def _connected(self, where: str) -> Iterator[socket.socket]:
        """Shut at the end whatever became of it: TLS takes the socket over, and the record keeps a duplicate."""
        open_ = partial(socket.create_connection, (where, self._dialled[1]), self._patience)
        sock: socket.socket = self._record.beside(open_, discard=lambda late: late.close())
        with sock, sock.dup() as held:
            self._record.watch(sock)
            try:
                yield sock
            finally:
                with suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)

    # --- TLS ---------------------------------------------------------------------------------------------

    def _shake(self, tape: Tape, sock: socket.socket, where: str) -> None:
        try:
            with self._wrapped(sock, httpx.create_ssl_context()) as secure:
                tape.mark("tls")
                tape.conditions["tls"] = certificate_facts(secure)
        except ssl.SSLCertVerificationError as refused:
            tape.failed(refused, phase="tls")
            tape.conditions["trust"] = {
                "code": refused.verify_code,
                "said": refused.verify_message,
                "system": self._looked(where, ssl.create_default_context()) is not None,
            }
            tape.conditions["tls"] = self._presented(where)
        except (OSError, ssl.SSLError) as error:
            tape.failed(error, phase="tls")

    def _wrapped(self, sock: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
        context.set_alpn_protocols(_ALPN)
        sock.settimeout(self._patience)
        return context.wrap_socket(sock, server_hostname=self._name)

    def _looked(self, where: str, context: ssl.SSLContext) -> tuple[dict[str, Any], bytes] | None:
        """What a further handshake shows, and the certificate; `None` where it fails as well."""
        try:
            with self._connected(where) as sock, self._wrapped(sock, context) as secure:
                return certificate_facts(secure), secure.getpeercert(binary_form=True) or b""
        except (OSError, ssl.SSLError, Ended):
            return None

    def _presented(self, where: str) -> dict[str, Any] | None:
        """Who signed what is not trusted: `ssl` parses only a certificate that it verified, so it is trusted for that."""
        blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        blind.check_hostname = False
        blind.verify_mode = ssl.CERT_NONE
        seen = self._looked(where, blind)
        if seen is None:
            return None
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        trusting.load_verify_locations(cadata=seen[1])
        again = self._looked(where, trusting)
        return (again[0] if again is not None else seen[0]) | of_refused(seen[1])
