"""What does a server-sent event stream say, byte for byte?

The parser of the WHATWG standard (https://html.spec.whatwg.org/multipage/server-sent-events.html), fed with
fragments of any size. Unlike the SDKs' own it also reports comments and blocks without data, which keep a socket
alive but dispatch nothing, and an event that the end of the stream cut off.
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
_SHOWN = 200
_MAX_META = 8
_MAX_DIGITS = 18  # int() refuses numbers of thousands of digits


class Event(NamedTuple):
    """`kind`: `event` (dispatched), `comment`, `meta` (a block of only `id`, `retry` or `event` lines, which stand in
    `data`), `blank` (an empty line that ends nothing).
    """

    kind: str
    type: str
    data: str


class Parser:
    def __init__(self) -> None:
        self._start: bytes | None = b""  # held back until it is known whether it is a byte order mark
        self._pending = bytearray()  # a line that has not ended
        self._skip_lf = False
        self._type = ""
        self._data: list[str] = []
        self._meta: list[str] = []
        self._block_open = False
        self._begun = False  # a line that is not empty came since the last one that is
        self._lines = 0
        self.marked = False
        """A byte order mark came first, which the standard has a reader drop."""
        self.invalid = 0
        """Lines that are no UTF-8: a character cut by a fragment's end is whole again by now."""
        self.last_id = ""
        self.retry: int | None = None

    @property
    def unfinished(self) -> str | None:
        """How the event that no blank line has ended begins, or the line that no line end has; else `None`."""
        rest = ((self._start or b"") + self._pending[:_SHOWN]).decode("utf-8", "replace")
        begun = [line[:_SHOWN] for line in self._data[:_SHOWN]]
        return "\n".join([*begun, rest])[:_SHOWN].strip("\n") if rest or begun else None

    @property
    def held(self) -> int:
        """Bytes of the event that no blank line has ended yet."""
        return self._lines + len(self._pending)

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes."""
        events: list[Event] = []
        data = self._without_mark(data)
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if not data:
            return events
        if b"\r" in data:
            # A CR may be the first half of a CRLF whose LF comes in the next fragment: it ends the line at once, and
            # the LF, should it come, is skipped.
            self._skip_lf = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *more = data.split(b"\n")
        if not more:
            self._pending += first
            return events
        if self._pending:
            first = bytes(self._pending + first)
            self._pending.clear()
        self._line(first, events)
        for line in more[:-1]:
            self._line(line, events)
        self._pending += more[-1]
        return events

    def _without_mark(self, data: bytes) -> bytes:
        if self._start is None:
            return data
        data = self._start + data
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._start = data
            return b""
        self._start = None
        self.marked = data.startswith(_BOM)
        return data.removeprefix(_BOM)

    def _line(self, raw: bytes, events: list[Event]) -> None:
        if not raw:
            self._dispatch(events)
            return
        self._begun = True
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            self.invalid += 1
            line = raw.decode("utf-8", "replace")
        if line[0] == ":":
            events.append(Event("comment", "", line[1:].removeprefix(" ")))
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        self._block_open = True
        self._lines += len(raw)
        if name == "data":
            self._data.append(value)
            return
        if len(self._meta) < _MAX_META:
            self._meta.append(line[:_SHOWN])
        if name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
            self.retry = int(value)

    def _dispatch(self, events: list[Event]) -> None:
        if self._data:
            events.append(Event("event", self._type or "message", "\n".join(self._data)))
        elif self._block_open:
            events.append(Event("meta", self._type, "\n".join(self._meta)))
        elif not self._begun:
            events.append(Event("blank", "", ""))
        self._begun = False
        if self._block_open:
            self._type, self._data, self._meta, self._block_open, self._lines = "", [], [], False, 0
