"""Of which parts is a request that is written: what stands there as it is, what a variable holds?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from probes.complaint import Told

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110, 5.6.2


class Piece(NamedTuple):
    """`variable`: its name stands in `text`, and its value goes there."""

    text: str
    variable: bool = False


def pieces(said: str, told: Told) -> list[Piece]:
    """Other variables than the request's own are text like any other."""
    names = [name for name in told.secrets if _VARIABLE.fullmatch(name)]
    if not names:
        return [Piece(said)] if said else []
    found = re.split(r"\{env:(" + "|".join(sorted(names, key=len, reverse=True)) + r")\}", said)
    return [Piece(text, bool(n % 2)) for n, text in enumerate(found) if text or n % 2]


def body_pieces(told: Told) -> list[Piece]:
    """Each character stands for one byte."""
    return pieces(told.body.decode("latin-1"), told)


def names_variable(parts: list[Piece]) -> bool:
    return any(part.variable for part in parts)


class Line(NamedTuple):
    name: str
    value: list[Piece]


def headers(told: Told) -> list[Line]:
    """Those that go out, without the ones that frame the message; what is no header's name cannot be sent.

    Of a curl line also what it adds of its own accord.
    """
    lines = [Line(name, pieces(value, told)) for name, value in told.headers if _TOKEN.fullmatch(name)]
    given = {name.lower() for name, _ in told.headers}
    if told.form != "curl":
        return lines
    own = [
        ("User-Agent", f"curl/{told.version}" if told.version else ""),
        ("Accept", "*/*"),
        ("Content-Type", "application/x-www-form-urlencoded" if told.body else ""),
    ]
    added = [Line(name, [Piece(value)]) for name, value in own if value and name.lower() not in given]
    return [*added, *lines]


class Place(NamedTuple):
    """Where a request goes; `path` with its query, as written."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def authority(self) -> str:
        """As it stands in the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


def place(url: str) -> Place:
    parts = urlsplit(url)
    rest = url.partition("://")[2]
    at = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    path = rest[at:]
    return Place(parts.scheme, parts.hostname or "", parts.port, path if path.startswith("/") else f"/{path}")


def dialled(address: str) -> tuple[str, int | None]:
    """`HOST:PORT` of `connect_to`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port) if port.isdigit() else None
