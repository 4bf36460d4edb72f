"""What does a response say, in the forms that conditions look at?

Hostile input is ordinary here: random bytes, wrong UTF-8, JSON nested ten thousand deep. Nothing raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from probes.model import Exchange

Path = tuple[str | int, ...]
ABSENT: Final = object()
"""No JSON body, or no such key; `None` is JSON's null."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|[{}\[\],]', re.DOTALL)
_DELAY = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_EVENTS = re.compile(r"\s*(?:(?:data|event|id|retry):|:)")
_JSON = re.compile(r"\s*[\[{\"]")
_MARKUP = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Response:
    """`headers` are lower-case names → all values, white space folded; `document` is the parsed JSON or ABSENT.

    `elided`: the middle of a long body was not kept, so `document` comes from its beginning, closed where it was cut.
    """

    status: int | None
    headers: Mapping[str, tuple[str, ...]]
    media_type: str
    text: str
    document: Any
    decodable: bool
    elided: bool

    @classmethod
    def of(cls, exchange: Exchange) -> Response:
        head, tail, elided = exchange.body_head, exchange.body_tail, exchange.elided
        body = head if elided else head + tail
        text, decodable = _decoded(body, cut=elided)
        headers = _headers(exchange)
        media_type = next(iter(headers.get("content-type", ())), "").partition(";")[0].strip().lower()
        if elided:
            closed = tail.rstrip().endswith(b"}") and exchange.error is None
            document = _parsed(_closed(text)) if closed else ABSENT
        else:
            document = _parsed(text)
        return cls(exchange.status, headers, media_type, text, document, decodable, elided)

    @property
    def empty(self) -> bool:
        return not self.text.strip()

    @property
    def html(self) -> bool:
        return _MARKUP.match(self.text) is not None or (
            self.media_type == "text/html" and self.document is ABSENT and not self.empty
        )

    @property
    def markup(self) -> bool:
        return self.html or self.text.lstrip()[:1] == "<"

    @property
    def events(self) -> bool:
        """It begins as an event stream does, whatever its content type says."""
        return _EVENTS.match(self.text) is not None

    @property
    def data(self) -> bool:
        """JSON or an event stream, if only their beginning: what they hold is quoted, and is no page."""
        return self.document is not ABSENT or self.events or _JSON.match(self.text) is not None


def at(document: Any, path: Path) -> Any:
    """The value at `path`, or ABSENT."""
    for step in path:
        if isinstance(step, str) and isinstance(document, dict):
            document = document.get(step, ABSENT)
        elif isinstance(step, int) and isinstance(document, list) and step < len(document):
            document = document[step]
        else:
            return ABSENT
    return document


def _headers(exchange: Exchange) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, values in exchange.headers.items():
        found[name.lower()] = (*found.get(name.lower(), ()), *(" ".join(value.split()) for value in values))
    return found


def _decoded(body: bytes, *, cut: bool) -> tuple[str, bool]:
    try:
        return body.decode("utf-8-sig"), True
    except UnicodeDecodeError as fault:
        return body.decode("utf-8-sig", "replace"), cut and fault.start >= len(body) - 3


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ABSENT


def _closed(text: str) -> str:
    """The beginning of a JSON text, cut at its last comma, with what is open closed."""
    comma = max((m.start() for m in _TOKEN.finditer(text) if m.group() == ","), default=0)
    head = text[:comma]
    open_: list[str] = []
    for mark in _TOKEN.findall(head):
        if mark in "{[":
            open_.append("}" if mark == "{" else "]")
        elif mark in "}]" and open_:
            open_.pop()
    return head + "".join(reversed(open_))


def retry_after(value: str | None) -> float | None:
    """Seconds of a `Retry-After` header (a number, or an HTTP date); `None` where there is none or it is nonsense."""
    if value is None:
        return None
    if _DELAY.fullmatch(value.strip()):
        return float(value)
    import email.utils  # noqa: PLC0415 - loads sockets, and few servers give a date

    try:
        when = email.utils.parsedate_to_datetime(value)
        left = (when - email.utils.localtime()).total_seconds() if when.tzinfo else None
    except (ValueError, ArithmeticError, TypeError, LookupError):  # whatever a date can be wrong in
        return None
    return None if left is None else max(left, 0.0)


def in_words(seconds: float) -> str:
    """A wait that a server asks for, in the unit that people think of it in."""
    for unit, length, until in (
        ("s", 1, 180),
        ("min", 60, 7200),
        ("h", 3600, 2 * 86400),
        ("days", 86400, 5 * 31557600),
    ):
        if seconds < until:
            return (
                f"{seconds / length:.{0 if seconds >= 10 * length or seconds % length == 0 else 1}f} {unit}"
            )
    return "years"
