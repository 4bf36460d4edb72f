"""Which request stands in a text as HTTP writes it: a request line, headers, an empty line, a body?"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from probes.errors import UsageError
from probes.imports import private
from probes.imports.choice import choose
from probes.imports.plain import Plain, cleaned
from probes.imports.whose import whose

if TYPE_CHECKING:
    from probes.complaint import Told
    from probes.imports.taken import Taken

_LINE = re.compile(
    r"^(>[ \t])?([A-Z]{3,10})[ \t]+(\S+)[ \t]+HTTP/(1\.[01]|2(?:\.0)?|3)[ \t]*\r?$", re.MULTILINE
)
_HEADER = re.compile(r"(:?[!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*\r?$")
_ANSWER = re.compile(r"^(?:< )?HTTP/\d", re.MULTILINE)
_CHUNK = re.compile(rb"([0-9A-Fa-f]+)[^\r\n]*\r?\n")


def holds_one(text: str) -> bool:
    return _LINE.search(text) is not None


def told(text: str, taken: Taken, entry: int | None = None) -> Told:
    """`entry`: which of several, from 1."""
    text = cleaned(text)
    found = dict(enumerate(_LINE.finditer(text), 1))
    if not found:
        raise UsageError("holds no request line, such as POST /v1/chat/completions HTTP/1.1")
    shown = {number: f"{match[2]} {private.shown_url(match[3])}" for number, match in found.items()}
    match = choose(found, shown, entry, "requests")
    later = [other.start() for other in found.values() if other.start() > match.start()]
    return private.told(_request(match, text[match.end() + 1 : min(later, default=len(text))], text), taken)


def _request(match: re.Match[str], rest: str, text: str) -> Plain:
    line = text.count("\n", 0, match.start()) + 1
    plain = Plain("http", match[2], "")
    headers, body = _parted(rest, match[1] or "", line)
    by_name = {name.lower(): value for name, value in reversed(headers)}
    host = by_name.get("host") or by_name.get(":authority")
    plain.url = _url(match[3], host, by_name.get(":scheme"), plain, line)
    own = plain.url.partition("://")[2].partition("/")[0].lower()
    plain.body = _body(body, by_name, plain)
    framing = {"content-length", "transfer-encoding"}
    plain.headers = [
        (name, value)
        for name, value in headers
        if not name.startswith(":")
        and name.lower() not in framing
        and not (name.lower() == "host" and value.lower() == own)
    ]
    plain.client, plain.version = whose(plain.headers)
    plain.http_version = "2" if match[4].startswith("2") else "1.1" if match[4].startswith("1") else None
    if match[4] in {"1.0", "3"}:
        plain.notes.append(f"HTTP/{match[4]} is not spoken here")
    return plain


def _parted(rest: str, prompt: str, line: int) -> tuple[list[tuple[str, str]], str]:
    """Headers and body. `prompt`: what stands before each line of a trace, which shows no body."""
    headers: list[tuple[str, str]] = []
    at = 0
    while at < len(rest):
        end = rest.find("\n", at)
        end = len(rest) if end < 0 else end
        written, at = rest[at:end].rstrip("\r"), end + 1
        line += 1
        if prompt and not written.startswith(prompt.strip()):
            return headers, ""
        said = written[1:].lstrip() if prompt else written
        if not said.strip():
            return headers, "" if prompt else rest[at:]
        found = _HEADER.fullmatch(said)
        if found is None:
            raise UsageError(f"line {line}: is no header, and no empty line stands before it")
        headers.append((found[1], found[2]))
    return headers, ""


def _url(target: str, host: str | None, scheme: str | None, plain: Plain, line: int) -> str:
    if target.startswith(("http://", "https://")):
        return target
    if not target.startswith("/"):
        raise UsageError(f"line {line}: what is asked for is neither a path nor an absolute URL")
    if not host:
        raise UsageError(f"line {line}: the request has no Host, and its path no host")
    if scheme not in {"http", "https"}:
        scheme = "http" if _plain_http(host) else "https"
        plain.notes.append(f"the request does not say whether it went over TLS; {scheme} is taken")
    return f"{scheme}://{host}{target}"


def _plain_http(host: str) -> bool:
    """On this machine, or at the port of plain HTTP."""
    name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
    try:
        return port == "80" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost"


def _body(text: str, headers: dict[str, str], plain: Plain) -> bytes:
    answer = _ANSWER.search(text)
    body = (
        text[: answer.start()].encode("utf-8", "surrogateescape")
        if answer
        else text.encode("utf-8", "surrogateescape")
    )
    if "chunked" in headers.get("transfer-encoding", "").lower() and (whole := _unchunked(body)) is not None:
        return whole
    length = headers.get("content-length", "")
    if not re.fullmatch(r"\d{1,12}", length):
        return re.sub(rb"\r?\n\s*\Z", b"", body)
    if len(body) < int(length):
        plain.notes.append(
            f"its Content-Length is {int(length):,}, and {len(body):,} bytes of a body are there"
        )
    return body[: int(length)]


def _unchunked(body: bytes) -> bytes | None:
    parts: list[bytes] = []
    at = 0
    while (head := _CHUNK.match(body, at)) is not None:
        size = int(head[1], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[head.end() : head.end() + size])
        at = head.end() + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1
    return None
