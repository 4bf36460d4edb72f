"""What does a request look like to the byte, for a client that sends what it is given?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.clients import dialect
from probes.model import Ask, Raw

if TYPE_CHECKING:
    from probes.clients import Setting
    from probes.model import Route, Trial


@dataclass(frozen=True, slots=True)
class Given:
    """`headers` in wire order and case, with those that frame the message."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    stream: bool | None

    @property
    def path(self) -> str:
        """With the query, as it stands in the request line."""
        parts = urlsplit(self.url)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.path or '/'}{query}"

    @property
    def message(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{n}: {v}" for n, v in self.headers), "", ""]
        return "\r\n".join(lines).encode("utf-8") + self.body


def given(setting: Setting, route: Route, trial: Trial) -> Given:
    """The trial's request: `Host` and `Content-Length` stand first where nobody gave them."""
    request, target, secrets = trial.request, setting.target, setting.secrets
    if isinstance(request, Ask):
        url, method = dialect.url(target, route, request), dialect.method(request)
        body = dialect.encoded(target, request, trial.salt) if method == "POST" else b""
        kept = edited(dialect.headers(target, route, request, secrets), request)
        headers = tuple((name, value) for name, value in kept if value is not None)
        return Given(method, url, _framed(url, method, headers, body), body, request.stream)
    assert isinstance(request, Raw)
    request = dialect.filled(request, secrets)
    url = dialect.raw_url(route, request)
    headers = dialect.raw_headers(target, route, request, secrets)
    return Given(request.method, url, _framed(url, request.method, headers, request.body), request.body, None)


def edited(headers: list[tuple[str, str]], ask: Ask) -> list[tuple[str, str | None]]:
    """The headers with the trial's edits, in their order; `None` is one that is not to be sent."""
    edits = {name.lower(): (name, value) for name, value in ask.edits.items()}
    prefixes = tuple(name.removesuffix("*") for name in edits if name.endswith("*"))
    kept: list[tuple[str, str | None]] = []
    for name, value in headers:
        if name.lower() in edits:
            kept.append((name, edits.pop(name.lower())[1]))
        elif not (prefixes and name.lower().startswith(prefixes)):
            kept.append((name, value))
    return kept + [edit for edit in edits.values() if not edit[0].endswith("*")]


def _framed(
    url: str, method: str, headers: tuple[tuple[str, str], ...], body: bytes
) -> tuple[tuple[str, str], ...]:
    named = {name.lower() for name, _ in headers}
    framing = [] if "host" in named else [("Host", urlsplit(url).netloc)]
    if "content-length" not in named and (body or method in {"POST", "PUT", "PATCH"}):
        framing.append(("Content-Length", str(len(body))))
    return (*framing, *headers)
