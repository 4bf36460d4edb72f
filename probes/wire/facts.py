"""What can be said of an answer's content: its dialect, events and their times, end marker, usage and errors?

Computed while the bytes pass, so that a cut at the end of a long stream stays judgeable after the middle is gone.
"""

from __future__ import annotations

import json
from array import array
from typing import Any

from . import sse
from .said import Said
from .stamps import Stamps

VERSION = 3
MAX_JSON = 4 * 1024 * 1024
MAX_COLUMNS = 65_536
_MAX_KEPT = 16  # event types
_MAX_NAME = 64
_SHOWN = 200
_raw_decode = json.JSONDecoder().raw_decode
_BOM = b"\xef\xbb\xbf"
_STARTS = (b"data:", b"event:", b"retry:", b"id:", b":")
_LETTERS = {"comment": "c", "meta": "b", "blank": "b"}
_HEARTBEATS = {"c": "comment", "p": "ping", "b": "blank"}


class Facts:
    """`streamed`: a stream was asked for, so a body of another type or of none is one if it begins like one.

    `event_kinds` has a letter for each event, at the time of the same place in `event_times`: `v` visible text, `r`
    reasoning or a refusal, `k` a tool call, `o` another event of the dialect (role, finish, usage), `e` an error, `d` the
    end marker, `x` malformed; and heartbeats: `c` a comment, `p` a ping, `b` a blank (no data, or no line at all).
    """

    def __init__(self, content_type: str, *, streamed: bool = False) -> None:
        self.stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._sniffing: list[tuple[bytes, float]] | None = [] if streamed and not self.stream else None
        self._sniffed = False
        self._parser = sse.Parser()
        self._json = bytearray()
        self._json_whole = True
        self._whole = 0
        self.said = Said()
        self.marks = self.said.marks
        self._stamps = Stamps()
        self.events: dict[str, dict[str, Any]] = {}
        self.heartbeats: dict[str, dict[str, Any]] = {}
        self.forms: dict[str, dict[str, Any]] = {}
        self.event_times = array("d")
        self.event_kinds = bytearray()
        self._seen = 0
        self.malformed: str | None = None

    @property
    def held(self) -> int:
        """Bytes of the event that has not ended: of all that is no stream it is one."""
        return self._parser.held if self.stream else self._whole

    def feed(self, data: bytes, at: float) -> None:
        if self._sniffing is not None:
            self._sniffing.append((data, at))
            if (found := _sniffed(b"".join(part for part, _ in self._sniffing))) is not None:
                self._decide(stream=found)
        elif self.stream:
            self._events(data, at)
        else:
            self._plain(data)

    def _decide(self, *, stream: bool) -> None:
        held, self._sniffing = self._sniffing or [], None
        self.stream = self._sniffed = stream
        for data, at in held:
            self.feed(data, at)

    def _plain(self, data: bytes) -> None:
        self._whole += len(data)
        if len(self._json) + len(data) <= MAX_JSON:
            self._json += data
        else:
            self._json_whole = False

    def _events(self, data: bytes, at: float) -> None:
        found = self._parser.feed(data)
        if self._parser.marked and "bom" not in self.forms:
            self._form("bom", "\ufeff")
        for event in found:
            if event.kind == "event":
                letter = self._event(event, at)
                name = event.type
            else:
                letter, name = _LETTERS[event.kind], event.kind
                if event.kind == "meta":
                    self._form("meta", event.data)
            _count(self.events, name, at)
            if beat := _HEARTBEATS.get(letter):
                _count(self.heartbeats, beat, at)
            self._seen += 1
            if self._seen <= MAX_COLUMNS:
                self.event_times.append(at)
                self.event_kinds.append(ord(letter))

    def result(self, *, complete: bool | None) -> dict[str, Any]:
        """`complete`: the body's own framing said it was whole; `None` when the client closed before that."""
        if self._sniffing is not None:
            self._decide(stream=False)
        if not self.stream and self._json_whole and complete:
            self._document()
        said = self.said
        return {
            "parser": VERSION,
            "dialect": said.dialect,
            "stream": self.stream,
            "sniffed": self._sniffed,
            "events": self.events,
            "heartbeats": self.heartbeats,
            "forms": self.forms,
            "terminal": said.terminal,
            "finish_reason": said.finish_reason,
            "usage": said.usage,
            "usage_start": said.usage_start,
            "usage_last": said.usage_last,
            "usages": said.usages,
            "usage_conflict": said.usage_conflict,
            "after_end": said.after_end,
            "repeats": said.repeats,
            "errors": said.errors,
            "response_id": said.response_id,
            "tool_calls": said.tools.result(),
            "malformed": self.malformed,
            "unfinished": self._parser.unfinished or None,
            **said.damage.result(),
            "invalid_utf8": self._parser.invalid,
            "complete": complete,
            "tokens": said.tokens,
            "channels": said.channels,
            "text_chars": said.text_chars,
            "made": self._stamps.result(),
        }

    def _event(self, event: sse.Event, at: float) -> str:
        self.marks.setdefault("first_event", at)
        text = event.data
        if not text:
            # It dispatches an event, but one that says nothing: a heartbeat, and what a JSON parser fails on.
            self._form("empty", "data:")
            return "b"
        if text[0] != "{" and text.strip() == "[DONE]":
            self.said.terminal = self.said.terminal or "[DONE]"  # gateways add it to other dialects' own ends
            return "d"
        try:
            body, end = _raw_decode(text)  # half the price of json.loads, which is kept for blanks around
            if end != len(text):
                body = json.loads(text)
        except (ValueError, RecursionError):
            return self._malformed(text)
        if not isinstance(body, dict):
            return self._malformed(text)
        if body.get("choices") == []:
            self._form("usage_only" if body.get("usage") else "no_choices", text)
        self._stamps.event(body, at)
        letter = self.said.event(event.type, body, at)
        if self.said.dialect == "anthropic.messages" and event.type == "message":
            self._form("unnamed", text)
        return letter

    def _malformed(self, line: str) -> str:
        if self.malformed is None:
            self.malformed = line[:_SHOWN]
        return "x"

    def _form(self, name: str, line: str) -> None:
        """Counts a form that keeps to the standard, and that not every client reads."""
        self.forms.setdefault(name, {"n": 0, "line": line[:_SHOWN]})["n"] += 1

    def _document(self) -> None:
        try:
            body = json.loads(bytes(self._json))
        except (ValueError, RecursionError):
            return
        if isinstance(body, dict):
            self.said.document(body)


def _sniffed(start: bytes) -> bool | None:
    """Whether a body that starts so is a stream of events; `None` while that can't be known."""
    if _BOM.startswith(start):
        return None
    start = start.removeprefix(_BOM).lstrip(b"\r\n ")
    if start.startswith(_STARTS):
        return True
    return None if any(known.startswith(start) for known in _STARTS) else False


def _count(seen: dict[str, dict[str, Any]], name: str, at: float) -> None:
    row = seen.get(name)
    if row is None:
        name = name[:_MAX_NAME] if len(seen) < _MAX_KEPT else "other"
        row = seen.setdefault(name, {"n": 0, "first": at, "last": at})
    row["n"] += 1
    row["last"] = at
