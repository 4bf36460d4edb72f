"""Connections to real sockets, with and without TLS, and to nobody."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager

import pytest
import trustme

from probes.attribution import attribute
from probes.clients import SendLimits, Setting, dialer
from probes.clock import Clock
from probes.credentials import Secrets
from probes.model import Client, Dial, Route, Target, Trial
from probes.signatures import catalogue

CLIENT = Client("dialer", "dialer")


@contextmanager
def listening(host="127.0.0.1", context=None):
    """A port that accepts, shakes hands where it can, and says nothing."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        server.settimeout(0.05)
        over = threading.Event()

        def serve():
            while not over.is_set():
                try:
                    peer, _ = server.accept()
                except TimeoutError:
                    continue
                with peer:
                    peer.settimeout(2)
                    try:
                        if context is not None:
                            peer = context.wrap_socket(peer, server_side=True)
                        peer.recv(1)
                    except OSError:
                        pass
                    finally:
                        peer.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            thread.join()


@contextmanager
def refusing():
    """A port that nobody listens on, held so that nobody else is given it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def dial(url, family=4, *, connect_to=None, deadline=3.0, on_stop=lambda _: None, **more):
    route = Route("edge", url, connect_to, **{"env_proxy": False, **more})
    target = Target("t", "openai", "m", {"edge": route})
    sender = dialer.Sender(Setting(CLIENT, target, Secrets({}), Clock()))
    with sender.connect(route) as session:
        trial = Trial("dial", "dialer", "edge", Dial(family))
        return session.send(trial, SendLimits(deadline, 1 << 20, on_stop))


def certified(name="127.0.0.1", **more):
    """(authority, server context) of a certificate for that name."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **more).configure_cert(context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return authority, context


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", 4), ("::1", 6)], ids=["IPv4", "IPv6"])
def test_a_connection(host, family):
    """Its address and its time are told, nothing was asked, and that is good."""
    with listening(host) as port:
        (seen,) = dial(f"http://{f'[{host}]' if family == 6 else host}:{port}/v1", family).exchanges
    assert (seen.request.method, seen.status, seen.error) == ("", None, None)
    assert 0 < seen.timeline.connect <= seen.timeline.end
    assert seen.timeline.upload_start is None
    assert (seen.conditions["family"], seen.conditions["address"]) == (family, host)
    assert attribute(seen, catalogue()).code == "ok"


def test_the_other_family():
    """An address of one family has none of the other: no exchange, and no failure."""
    with listening() as port:
        outcome = dial(f"http://127.0.0.1:{port}", 6)
    assert (outcome.exchanges, outcome.raised) == ((), None)


def test_nobody_listens():
    """Refused, by the address that was dialled."""
    with refusing() as port:
        outcome = dial(f"http://127.0.0.1:{port}")
    (seen,) = outcome.exchanges
    assert (seen.error.kind, seen.error.phase) == ("connect", "connect")
    assert outcome.raised is not None
    assert attribute(seen, catalogue()).code == "unreachable.connect"


def test_a_name_that_does_not_resolve():
    """One exchange that says so."""
    (seen,) = dial("http://no-such-name.invalid:80").exchanges
    assert (seen.error.kind, seen.error.phase) == ("dns", "dns")


def test_each_address_of_a_name(monkeypatch):
    """All are tried, the dead one first."""
    with listening() as port:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (at, port)) for at in ("127.9.9.9", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        monkeypatch.setattr(socket, "create_connection", only("127.0.0.1", socket.create_connection))
        outcome = dial(f"http://two.example:{port}")
    dead, alive = outcome.exchanges
    assert (dead.conditions["address"], dead.error.kind) == ("127.9.9.9", "connect")
    assert (alive.conditions["address"], alive.error) == ("127.0.0.1", None)
    assert outcome.returned == "1 of 2 addresses"


def only(good, real):
    def connect(address, timeout):
        if address[0] != good:
            raise ConnectionRefusedError(111, "refused")
        return real(address, timeout)

    return connect


def test_connect_to():
    """The address of the route is dialled, not the URL's."""
    with listening() as port:
        (seen,) = dial("http://192.0.2.1/v1", connect_to=f"127.0.0.1:{port}").exchanges
    assert seen.error is None
    assert seen.conditions["address"] == "127.0.0.1"


@pytest.mark.parametrize("how", ["route", "environment"])
def test_a_proxy_dials_itself(how, monkeypatch):
    """Then there is nothing for us to try."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    more = {"proxy": "http://127.0.0.1:9"} if how == "route" else {"env_proxy": True}
    outcome = dial("http://a.example/v1", **more)
    assert (outcome.exchanges, outcome.returned) == ((), dialer.BY_PROXY)


def test_a_stop_ends_it(monkeypatch):
    """A look-up that does not come back holds nobody."""
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(5) and [])
    timers = []

    def on_stop(end):
        timers.append(threading.Timer(0.1, end, ("interrupted",)))
        timers[0].start()

    (seen,) = dial("http://a.example", on_stop=on_stop).exchanges
    assert seen.error.kind == "interrupted"
    over.set()
    timers[0].join()


# --- TLS -------------------------------------------------------------------------------------------------


def test_a_certificate_that_is_trusted(monkeypatch, tmp_path):
    """Version, protocol, issuer and the days that are left."""
    authority, context = certified()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with listening(context=context) as port:
        (seen,) = dial(f"https://127.0.0.1:{port}/v1").exchanges
    assert seen.error is None
    assert seen.timeline.connect < seen.timeline.tls
    assert (seen.conditions["tls"]["version"], seen.conditions["tls"]["alpn"]) == ("TLSv1.3", "h2")
    assert "trustme" in seen.conditions["tls"]["issuer"]
    assert seen.conditions["tls"]["days_left"] > 0


def test_a_certificate_that_is_not():
    """Refused as an SDK would, and its issuer is known all the same."""
    _, context = certified()
    with listening(context=context) as port:
        (seen,) = dial(f"https://127.0.0.1:{port}/v1").exchanges
    assert (seen.error.kind, seen.error.phase) == ("tls", "tls")
    assert seen.conditions["trust"]["system"] is False
    assert "trustme" in seen.conditions["tls"]["issuer"]
    assert attribute(seen, catalogue()).code == "unreachable.tls"


def test_a_certificate_that_only_the_system_trusts(monkeypatch):
    """Two stores that disagree: ours is the odd one."""
    authority, context = certified()
    real = ssl.create_default_context

    def with_the_authority(*args, **more):
        made = real(*args, **more)
        made.load_verify_locations(cadata=authority.cert_pem.bytes().decode())
        return made

    monkeypatch.setattr(dialer.httpx, "create_ssl_context", real)
    monkeypatch.setattr(dialer.ssl, "create_default_context", with_the_authority)
    with listening(context=context) as port:
        (seen,) = dial(f"https://127.0.0.1:{port}/v1").exchanges
    assert seen.conditions["trust"]["system"] is True


def test_a_certificate_of_another_name():
    """What was wrong is said in the library's words."""
    _, context = certified("other.example")
    with listening(context=context) as port:
        (seen,) = dial(f"https://127.0.0.1:{port}/v1").exchanges
    assert seen.error.kind == "tls"


def test_a_port_that_speaks_no_tls():
    """A handshake that is not answered ends with the time that an address is given."""
    with listening() as port:
        (seen,) = dial(f"https://127.0.0.1:{port}/v1", deadline=0.5).exchanges
    assert seen.timeline.connect is not None
    assert seen.timeline.tls is None
    assert seen.error is not None
