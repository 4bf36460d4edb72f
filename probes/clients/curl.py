"""How does a user of curl send, with the curl that is installed?

A subprocess with its own user agent and its own `Accept`; its timings come from its own write-out, its bytes from its
own trace. Everything goes in by standard input, since a command line can be read by every process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from functools import lru_cache
from typing import ClassVar, Self

from probes.clients import Outcome, SendLimits, Setting, dialect, to_exchange, uses_env_proxy
from probes.clients.as_given import edited
from probes.clients.program import environment
from probes.model import Ask, Dial, Raised, Route, Trial
from probes.wire.curl_trace import Trace

_ARGUMENTS = (
    "-q", "-sS", "-N", "--raw", "--trace", "-", "--trace-time", "-o", os.devnull,
    "-w", "%{stderr}%{json}", "-K", "-",
)  # fmt: skip

Headers = list[tuple[str, str | None]]
"""`None` takes away a header that curl sends of its own accord."""


@lru_cache
def _said() -> str:
    """What the curl on PATH says of itself; nothing where there is none."""
    if shutil.which("curl") is None:
        return ""
    return subprocess.run(["curl", "-q", "--version"], capture_output=True, text=True, check=False).stdout


def _installed() -> str | None:
    """Such as `7.88.1`."""
    found = re.match(r"curl (\S+)", _said())
    return found[1] if found else None


class Sender:
    """Over HTTP/1.1, which a proxy or an old server needs; `H2Sender` lets TLS agree on more, as curl alone does."""

    protocol: ClassVar = "--http1.1"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @staticmethod
    def unavailable() -> str | None:
        version = _installed()
        if version is None:
            return "curl is not installed"
        if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < (7, 70):
            return f"curl {version} is too old: 7.70 is needed for its JSON write-out"
        return None

    @staticmethod
    def version() -> str | None:
        return _installed()

    @staticmethod
    def user_agent() -> str | None:
        return f"curl/{_installed()}"

    def connect(self, route: Route) -> Session:
        return Session(self._setting, route, self.protocol)


class H2Sender(Sender):
    protocol: ClassVar = "--http2"

    @staticmethod
    def unavailable() -> str | None:
        features = re.search(r"^Features:(.*)$", _said(), re.MULTILINE)
        lacks = f"curl {_installed()} was built without HTTP/2"
        return Sender.unavailable() or (None if features and "HTTP2" in features[1].split() else lacks)


class Session:
    """Every call is a process and a connection of its own."""

    def __init__(self, setting: Setting, route: Route, protocol: str) -> None:
        self._setting = setting
        self._route = route
        self._protocol = protocol

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        request, route = trial.request, self._route
        assert not isinstance(request, Dial)
        if isinstance(request, Ask):
            target = self._setting.target
            url, method = dialect.url(target, route, request), dialect.method(request)
            body = dialect.encoded(target, request, trial.salt) if method == "POST" else b""
            headers = edited(dialect.headers(target, route, request, self._setting.secrets), request)
            stream: bool | None = request.stream
        else:
            request = dialect.filled(request, self._setting.secrets)
            url, method, body = dialect.raw_url(route, request), request.method, request.body
            given = dialect.raw_headers(self._setting.target, route, request, self._setting.secrets)
            headers, stream = _only(given), None
        seconds = self._setting.clock.machine(limits.deadline)
        # A file that has no name: the body may hold bytes that a configuration line cannot.
        with tempfile.TemporaryFile() as upload:
            upload.write(body)
            upload.seek(0)
            source = upload.fileno() if body else None
            config = _config(url, method, headers, source, route, seconds)
            config += _certificate(self._setting.secrets.client_cert(route))
            trace = Trace(
                url,
                upload=len(body),
                body_limit=limits.body_bytes,
                scale=self._setting.clock.scale,
                proxied=route.proxy is not None,
                streamed=bool(stream),
            )
            return _run(self._protocol, config, (source,) if source else (), trace, limits, stream=stream)


def _run(
    protocol: str,
    config: str,
    files: tuple[int, ...],
    trace: Trace,
    limits: SendLimits,
    *,
    stream: bool | None,
) -> Outcome:
    stopped: list[str] = []
    with subprocess.Popen(
        ["curl", *_ARGUMENTS, protocol],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        pass_fds=files,
        text=True,
        encoding="latin-1",
    ) as process:

        def stop(why: str) -> None:
            stopped.append(why)
            process.kill()

        limits.on_stop(stop)
        said: list[str] = []
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = threading.Thread(target=lambda pipe: said.append(pipe.read()), args=(process.stderr,))
        errors.start()
        with suppress(BrokenPipeError):  # stopped before it could read
            process.stdin.write(config)
        with suppress(BrokenPipeError):
            process.stdin.close()
        for line in process.stdout:
            trace.line(line)
            if trace.over_limit:
                process.kill()
                break
        errors.join()
    recorded = trace.finish("".join(said), stopped[0] if stopped else None, process.returncode)
    complaint = re.search(r"curl: \(\d+\)[^\n{]*", "".join(said))
    left_alone = not (complaint or stopped or trace.over_limit)
    returned = f"Response: {recorded['status']}, {recorded['body_bytes']} bytes" if left_alone else None
    raised = Raised("curl", complaint[0].strip()) if complaint else None
    return Outcome((to_exchange(recorded, stream=stream),), returned, raised)


def _config(url: str, method: str, headers: Headers, body: int | None, route: Route, max_time: float) -> str:
    """A curl configuration file: one option a line, values quoted; `body` is the descriptor of an open file."""
    lines = [("url", url), ("request", method), ("max-time", f"{max_time:.3f}")]
    lines += [("header", _line(name, value)) for name, value in headers]
    if body is not None:
        lines.append(("data-binary", f"@/dev/fd/{body}"))
    if route.connect_to:
        lines.append(("connect-to", f"::{route.connect_to}"))
    if route.proxy:
        lines += [
            ("proxy", route.proxy),
            ("noproxy", ""),
        ]  # named for this route: no variable excepts from it
    elif not uses_env_proxy(route):
        lines.append(("noproxy", "*"))
    family = f"ipv{route.family}\n" if route.family is not None else ""
    return family + "".join(f'{option} = "{_quoted(value)}"\n' for option, value in lines)


def _certificate(cert: tuple[str, str | None] | None) -> str:
    if cert is None:
        return ""
    options = zip(("cert", "key"), cert, strict=True)
    return "".join(f'{option} = "{_quoted(path)}"\n' for option, path in options if path is not None)


def _line(name: str, value: str | None) -> str:
    """A header in curl's spelling, in which `name:` takes one away and `name;` sends one that is empty."""
    if value is None:
        return f"{name}:"
    return f"{name}: {value}" if value else f"{name};"


def _quoted(value: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r", "\v": "\\v"}
    return "".join(escapes.get(character, character) for character in value).encode().decode("latin-1")


def _only(headers: tuple[tuple[str, str], ...]) -> Headers:
    """To the byte: curl's own headers are taken away unless given."""
    given = {name.lower() for name, _ in headers}
    own = [name for name in ("User-Agent", "Accept", "Content-Type") if name.lower() not in given]
    return [*headers, *((name, None) for name in own)]
