"""What do the options of one curl line say of its request?

What curl adds of its own accord is part of it (https://curl.se/docs/manpage.html, and lib/http.c for the order).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.clients.curl import Sender
from probes.errors import UsageError
from probes.imports.curl_body import DATA, FORM, Body
from probes.imports.curl_options import IGNORED, NOTED, REFUSED, options
from probes.imports.plain import Plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from probes.imports.shell_words import Command

_VERBOSE = re.compile(r"^>\s*user-agent:\s*(curl/[\w.-]+)\s*$", re.IGNORECASE | re.MULTILINE)
_BROWSERS = ("sec-fetch-", "sec-ch-ua")
_FALLBACK = "curl/8.5.0"
_CODINGS = "deflate, gzip, br, zstd"
"""Of a curl with all of them, as distributions build it."""


class Line:
    """What the options of one line say."""

    def __init__(self, one: Command, folder: Path | None) -> None:
        self.line = one.line
        self.urls: list[str] = []
        self.custom: list[tuple[str, str | None]] = []  # None: taken away
        self.own: dict[str, str] = {}
        self.queries: list[str] = []
        self.flags: set[str] = set()
        self.method: str | None = None
        self.body = Body(folder, one.stdin, one.line)
        self.plain = Plain("curl", "", "", client="curl")

    def take(self, name: str, value: str) -> None:
        if name in NOTED:
            self.plain.notes.append(NOTED[name])
        elif name in {"", "url"}:
            self.urls.append(value)
        elif name == "header":
            self._header(value)
        elif name in DATA | FORM:
            (self.body.add if name in DATA else self.body.part)(name, value)
        elif name == "url-query":
            self.queries.append(value)
        elif name == "request":
            self.method = value
        elif name in {"user-agent", "referer", "cookie", "oauth2-bearer", "range"}:
            self._named(name, value)
        elif name in {"get", "head", "compressed", "path-as-is"}:
            self.flags.add(name)
        else:
            self._way(name, value)

    def _header(self, value: str) -> None:
        if value.startswith("@"):
            raise UsageError(f"line {self.line}: -H @FILE is not read; write the headers into the line")
        name, colon, rest = value.partition(":")
        if colon and re.fullmatch(r"[\x21-\x7e]+", name.strip()):
            self.custom.append((name.strip(), rest.strip() or None))
        elif not colon and value.rstrip().endswith(";"):
            self.custom.append((value.rstrip()[:-1].strip(), ""))
        else:
            self.plain.notes.append("a -H without a colon is left out, as curl leaves it out")

    def _named(self, name: str, value: str) -> None:
        if name == "cookie" and "=" not in value:
            self.plain.notes.append("the cookies of a file (-b FILE) are left out")
            return
        if name == "cookie" and "Cookie" in self.own:
            value = f"{self.own['Cookie']}; {value}"
        header, said = {
            "user-agent": ("User-Agent", value),
            "referer": ("Referer", value.removesuffix(";auto")),
            "cookie": ("Cookie", value),
            "range": ("Range", f"bytes={value}"),
            "oauth2-bearer": ("Authorization", f"Bearer {value}"),
        }[name]
        self.own[header] = said

    def _way(self, name: str, value: str) -> None:
        """How it is sent, and what says nothing of the request."""
        plain = self.plain
        if name == "user":
            plain.user = value
        elif name in {"ipv4", "ipv6"}:
            plain.family = 4 if name == "ipv4" else 6
        elif name in {"http1.1", "http2", "http2-prior-knowledge"}:
            plain.http_version = "1.1" if name == "http1.1" else "2"
            plain.client = "curl" if name == "http1.1" else "curl-h2"
        elif name == "proxy":
            plain.proxy = value or None
        elif name in {"resolve", "connect-to"}:
            self._dial(name, value)
        elif name == "max-time":
            plain.notes.append(f"curl gave up after {value} s" if _number(value) else "-m is left out")
        elif name not in IGNORED:
            plain.notes.append(f"--{name} is left out")

    def _dial(self, name: str, value: str) -> None:
        shape = (
            r"[+]?[^:]*:(\d+):(\[[0-9A-Fa-f:.]+\]|[^:,]+)(?:,.*)?"
            if name == "resolve"
            else r"[^:]*:\d*:(\[[0-9A-Fa-f:.]+\]|[^:]*):(\d*)"
        )
        found = re.fullmatch(shape, value)
        if found is None:
            raise UsageError(
                f"line {self.line}: --{name} can't be read; it is HOST:PORT:ADDRESS{':PORT' * (name != 'resolve')}"
            )
        port, host = (found[1], found[2]) if name == "resolve" else (found[2], found[1])
        if host:
            self.plain.connect_to = f"{host}:{port or '443'}"


def _number(text: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?", text) is not None


def request(one: Command, text: str, folder: Path | None) -> Plain:
    """`text`: the whole, in which a trace may show the customer's curl."""
    line = Line(one, folder)
    for option in options(one.words[1:], one.line):
        if option.name in REFUSED:
            raise UsageError(f"line {one.line}: {REFUSED[option.name]}")
        line.take(*option)
    if len(line.urls) > 1:
        raise UsageError(f"line {one.line}: names {len(line.urls)} URLs; keep one")
    plain, body = line.plain, line.body
    data = body.content
    plain.url = _url(line, data)
    posted = body.given and "get" not in line.flags
    plain.body = data if posted else b""
    plain.method = line.method or ("HEAD" if "head" in line.flags else "POST" if posted else "GET")
    if not re.fullmatch(r"[A-Za-z]+(?:-[A-Za-z]+)*", plain.method):
        raise UsageError(f"line {one.line}: -X names no method of HTTP")
    plain.headers = list(_headers(line, text, posted=posted))
    if (
        _VERBOSE.search(text)
        or "User-Agent" in line.own
        or any(n.lower() == "user-agent" for n, _ in line.custom)
    ):
        plain.version = _version(plain.headers)
    if any(name.lower() == "accept-encoding" and value == _CODINGS for name, value in plain.headers):
        plain.notes.append(
            f"--compressed: which codings their curl asks for is not told; {_CODINGS} are taken"
        )
    if any(name.lower().startswith(_BROWSERS) for name, _ in plain.headers):
        plain.notes.append(
            "a browser sent it: its TLS and HTTP/2 are not imitated here, only its headers are"
        )
    return plain


def _version(headers: list[tuple[str, str]]) -> str | None:
    agent = next((value for name, value in headers if name.lower() == "user-agent"), "")
    said = re.match(r"curl/([\d.]+)", agent)
    return said[1] if said else None


def _url(line: Line, data: bytes) -> str:
    if not line.urls:
        raise UsageError(f"line {line.line}: the curl line names no URL")
    url = line.urls[0].strip()
    if "://" not in url.partition("?")[0]:
        url = f"http://{url}"
    if "path-as-is" not in line.flags:
        url = _tidy(url)
    queries = [data.decode("utf-8", "surrogateescape")] if "get" in line.flags and line.body.given else []
    queries += line.queries
    if queries:
        bare, hash_sign, fragment = url.partition("#")
        url = f"{bare}{'&' if '?' in bare else '?'}{'&'.join(queries)}{hash_sign}{fragment}"
    return url


def _tidy(url: str) -> str:
    """Without `.` and `..` in its path, which curl resolves (RFC 3986, 5.2.4)."""
    found = re.match(r"([^:/?#]+://[^/?#]*)([^?#]*)(.*)", url, re.DOTALL)
    if found is None or not re.search(r"/\.{1,2}(?:/|$)", found[2]):
        return url
    kept: list[str] = []
    parts = found[2].split("/")[1:]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "..":
            kept = kept[:-1]
        if part not in {".", ".."}:
            kept.append(part)
        elif last:
            kept.append("")
    return f"{found[1]}/{'/'.join(kept)}{found[3]}"


def _headers(line: Line, text: str, *, posted: bool) -> Iterator[tuple[str, str]]:
    """In curl's order: its own, those of `-H`, and what it says of the body."""
    custom = list(line.custom)
    if line.body.json:
        named = {name.lower() for name, _ in custom}
        json = (("Content-Type", "application/json"), ("Accept", "application/json"))
        custom += [header for header in json if header[0].lower() not in named]
    replaced = {name.lower() for name, _ in custom}
    coding = {"Accept-Encoding": _CODINGS} if "compressed" in line.flags else {}
    own = {
        "Authorization": line.own.get("Authorization"),
        "Range": line.own.get("Range"),
        "User-Agent": line.own.get("User-Agent", _agent(text)),
        "Accept": "*/*",
        **coding,
        "Referer": line.own.get("Referer"),
        "Cookie": line.own.get("Cookie"),
    }
    for name, value in own.items():
        if value and name.lower() not in replaced:
            yield name, value
    host = line.plain.url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
    for name, said in custom:
        framing = name.lower() in {"content-length", "transfer-encoding"}
        if framing:
            line.plain.notes.append(f"{name} is set anew to fit the body")
        if said is not None and not framing and not (name.lower() == "host" and said.lower() == host):
            yield name, said
    if posted and line.body.content_type and "content-type" not in replaced:
        yield "Content-Type", line.body.content_type


def _agent(text: str) -> str:
    """The customer's curl where the text shows it, else the one that is installed."""
    shown = _VERBOSE.search(text)
    if shown is not None:
        return shown[1]
    version = Sender.version()
    return f"curl/{version}" if version else _FALLBACK
