"""What does a pasted HTTP response say: raw, from `curl -i` or from `curl -v`?"""

from __future__ import annotations

import re
from typing import NamedTuple

from probes.classify.bodies import LIMIT, Body, body_at
from probes.wire import codings
from probes.wire.chunks import Dechunker

HEAD = re.compile(
    r"^(?P<indent>[ \t]{0,12})(?P<mark>< ?)?HTTP/(?P<version>\d(?:\.\d)?) (?P<status>[1-5]\d\d)(?![\w.])(?P<reason>[^\n]{0,200})$",
    re.MULTILINE,
)
_FIELD = re.compile(r"(?P<name>[!#$%&'*+.^_`|~\w-]{1,120}):(?P<value>[^\n]{0,16384})", re.ASCII)
_CURL = re.compile(r"(?:\* |> |[{}] \[\d|  % Total|[ \d]{3} [ \d.kMG]{4,6} |  0     0|={2} Info)")
_LEFT = re.compile(r"\* (?:Connection #\d+ to host|Closing connection|Connection #\d+ )")
_SIZE = re.compile(r"^[0-9a-fA-F]{1,8}[ \t]*(?:;[^\n]{0,80})?\n", re.MULTILINE)
_REQUEST = re.compile(
    r"^> (?P<method>[A-Z]{3,10}) (?P<path>\S{1,4000}) HTTP/[\d.]{1,3}\n(?P<fields>(?:> ?[^\n]{0,8000}\n){0,100})",
    re.MULTILINE,
)
_TUNNEL = re.compile(
    r"^\* (?:CONNECT tunnel established|Proxy replied 200|CONNECT phase completed)", re.MULTILINE
)
_NO_TUNNEL = re.compile(r"^\* CONNECT tunnel failed, response \d{3}", re.MULTILINE)
_BY_PROXY = re.compile(
    r"^\* (?:Uses proxy env variable|Establish HTTP proxy tunnel|CONNECT (?:tunnel|phase)|Proxy replied 200)"
    r"|^> CONNECT ",
    re.MULTILINE,
)
_GZIPPED = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
_MAX_FIELDS = 500
LONGER = 4_000


class Pasted(NamedTuple):
    """A response and, where curl showed it, the request before it."""

    end: int
    status: int
    headers: dict[str, list[str]]
    body: str | bytes
    method: str | None
    url: str
    sent: tuple[tuple[str, str], ...]
    tunnel: bool | None
    """Answered to CONNECT, by a proxy: True where the tunnel came about, False where not."""

    proxied: bool = False
    """curl shows that a proxy of the client's own side was asked."""

    longer: str = ""
    """All that may belong to a body of plain text, which need not end at an empty line."""


def response_at(text: str, head: re.Match[str], limit: int, since: int) -> Pasted:
    """The response whose status line is `head`; what curl asked is looked for from `since` on."""
    headers, at = _fields(text, head)
    verbose = bool(head["mark"])
    body, end = _verbose_body(text, at, limit) if verbose else _body(text, at, limit, headers)
    longer = _own(text, at, limit)[0] if verbose else text[at : max(at, min(limit, at + LONGER))]
    before = text[max(since, head.start() - LIMIT) : head.start()]
    method, url, sent = _request(before)
    around = text[head.end() : min(limit, end + 400)]
    tunnel = "onnection established" in head["reason"] or (verbose and bool(_TUNNEL.search(around)))
    refused = verbose and bool(_NO_TUNNEL.search(around))
    return Pasted(
        end,
        int(head["status"]),
        headers,
        _clear(body, headers),
        method,
        url,
        sent,
        tunnel or (False if refused else None),
        _is_proxied(url, sent) or (verbose and bool(_BY_PROXY.search(before))),
        longer.strip()[:LONGER],
    )


def whole(data: bytes) -> tuple[str, bytes] | None:
    """Head and decoded body of a file that is one response with a compressed body, which no text could hold."""
    if not data.startswith(b"HTTP/"):
        return None
    head, found, body = data.partition(b"\r\n\r\n")
    names = re.findall(rb"(?im)^content-encoding:[ \t]*([a-z-]{2,10})[ \t]*\r?$", head[:65536])
    if not found or not names or (coding := names[-1].decode().lower()) not in _GZIPPED:
        return None
    if re.search(rb"(?im)^transfer-encoding:[ \t]*chunked", head):
        body = Dechunker().feed(body)
    decoder = codings.decoder(coding)
    out = bytearray()
    try:
        for part in decoder.feed(body) if decoder is not None else ():
            out += part
            if len(out) >= LIMIT:
                break
    except codings.Garbled:
        return None
    return (head.decode("latin-1").replace("\r\n", "\n"), bytes(out)) if out else None


def _fields(text: str, head: re.Match[str]) -> tuple[dict[str, list[str]], int]:
    """The headers, folded lines joined, and where what follows them begins."""
    found: dict[str, list[str]] = {}
    at, last = head.end() + 1, None
    for _ in range(_MAX_FIELDS):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        raw = text[at:end][:16_400]
        line = raw.removeprefix(head["indent"])
        if head["mark"]:
            if not line.startswith("<"):
                if _CURL.match(line) and at < len(text):
                    at = end + 1
                    continue
                break
            line = line[1:].removeprefix(" ")
        if not line.strip():
            at = end + 1
            break
        if line[0] in " \t" and last is not None:
            found[last][-1] += f" {line.strip()}"
        elif (field := _FIELD.match(line)) is not None:
            last = field["name"].lower()
            found.setdefault(last, []).append(field["value"].strip())
        else:
            break
        at = end + 1
    return found, min(at, len(text))


def _body(text: str, at: int, limit: int, headers: dict[str, list[str]]) -> tuple[str, int]:
    if (size := _SIZE.match(text, at)) is not None and "chunked" in " ".join(
        headers.get("transfer-encoding", ())
    ):
        body = body_at(text, size.end(), limit)
        rest = _SIZE.match(text, body.end + 1) if text.startswith("\n", body.end) else None
        if body.form != "text":
            return body.text, rest.end() if rest else body.end
        region = text[size.end() : max(size.end(), limit)]
        return _SIZE.sub("", region).strip("\n"), limit
    body = body_at(text, at, limit)
    kind = headers.get("content-type", [""])[0].lower()
    if body.form == "text" and ("event-stream" in kind or "markdown" in kind):
        end = max(at, min(limit, at + LIMIT))
        return text[at:end].strip("\n") + "\n", end
    return _cut(body), body.end


def _cut(body: Body) -> str:
    """A body without line end ends in what curl -v says next."""
    left = _LEFT.search(body.text)
    return body.text[: left.start()] if left else body.text


def _verbose_body(text: str, at: int, limit: int) -> tuple[str, int]:
    said, end = _own(text, at, limit)
    body = body_at(said, 0, len(said))
    return (said.strip("\n") if body.form == "text" and "data:" in said else body.text), end


def _own(text: str, at: int, limit: int) -> tuple[str, int]:
    """The lines that curl did not write itself, up to what it says when the transfer is over."""
    kept: list[str] = []
    end = at
    for line in text[at : max(at, min(limit, at + LIMIT))].splitlines(keepends=True):
        left = _LEFT.search(line)
        if not left and line.startswith(("> ", "< ")) and kept:
            break
        end += len(line)
        if left:
            kept.append(line[: left.start()])
            break
        if not _CURL.match(line):
            kept.append(line)
    return "".join(kept), end


def _clear(body: str, headers: dict[str, list[str]]) -> str:
    return body if headers.get("content-type", [""])[0].startswith("text/markdown") else body.strip("\n")


def _request(text: str) -> tuple[str | None, str, tuple[tuple[str, str], ...]]:
    every = list(_REQUEST.finditer(text))
    if not every:
        return None, "", ()
    asked = every[-1]
    lines = (line[1:].strip() for line in asked["fields"].splitlines())
    pairs = tuple(
        (name.strip(), value.strip())
        for name, colon, value in (x.partition(":") for x in lines)
        if colon and name
    )
    host = next((value for name, value in pairs if name.lower() == "host"), "")
    path = asked["path"]
    return (
        asked["method"],
        path if path.startswith("http") else f"https://{host}{path}" if host else "",
        pairs,
    )


def _is_proxied(url: str, sent: tuple[tuple[str, str], ...]) -> bool:
    """A proxy is asked for the whole URL, or with a header of its own."""
    return url.startswith("http:") or any(name.lower() == "proxy-connection" for name, _ in sent)
