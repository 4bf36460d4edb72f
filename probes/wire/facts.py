"""What can be said of an answer's content: its dialect, tokens, end marker, usage and errors?

Computed while the bytes pass, so that a cut at the end of a long stream stays judgeable after the middle is gone.
"""

from __future__ import annotations

import json
from typing import Any

from . import sse

VERSION = 1
MAX_JSON = 4 * 1024 * 1024
_MAX_KEPT = 16  # error objects, and event types
_MAX_NAME = 64
_CHAT_REASONING = ("reasoning_content", "reasoning")
_REASONING = "response.reasoning"
_raw_decode = json.JSONDecoder().raw_decode
_TEXT_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class Facts:
    """`marks` are seconds from the start of the exchange, missing until seen."""

    def __init__(self, content_type: str) -> None:
        self.stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._parser = sse.Parser()
        self._json = bytearray()
        self._json_whole = True
        self._whole = 0
        self.marks: dict[str, float] = {}
        self.dialect: str | None = None
        self.events: dict[str, dict[str, Any]] = {}
        self.terminal: str | None = None
        self.finish_reason: str | None = None
        self.usage: dict[str, Any] | None = None
        self.errors: list[Any] = []
        self.malformed: str | None = None
        self.replacement_chars = 0
        self.tokens = 0
        self.reasoned = 0
        self.text_chars = 0

    @property
    def held(self) -> int:
        """Bytes of the event that has not ended: of all that is no stream it is one."""
        return self._parser.held if self.stream else self._whole

    def feed(self, data: bytes, at: float) -> None:
        if not self.stream:
            self._whole += len(data)
            if len(self._json) + len(data) <= MAX_JSON:
                self._json += data
            else:
                self._json_whole = False
            return
        for event in self._parser.feed(data):
            if event.kind == "event":
                self._count(event.type, at)
                self._event(event, at)
            else:
                self._count(event.kind, at)

    def result(self, *, complete: bool | None) -> dict[str, Any]:
        """`complete`: the body's own framing said it was whole; `None` when the client closed before that."""
        if not self.stream and self._json_whole and complete:
            self._document()
        return {
            "parser": VERSION,
            "dialect": self.dialect,
            "stream": self.stream,
            "events": self.events,
            "terminal": self.terminal,
            "finish_reason": self.finish_reason,
            "usage": self.usage,
            "errors": self.errors,
            "malformed": self.malformed,
            "unfinished": self._parser.unfinished or None,
            "replacement_chars": self.replacement_chars,
            "complete": complete,
            "tokens": self.tokens,
            "reasoned": self.reasoned,
            "text_chars": self.text_chars,
        }

    def _count(self, name: str, at: float) -> None:
        seen = self.events.get(name)
        if seen is None:
            name = name[:_MAX_NAME] if len(self.events) < _MAX_KEPT else "other"
            seen = self.events.setdefault(name, {"n": 0, "first": at, "last": at})
        seen["n"] += 1
        seen["last"] = at

    def _event(self, event: sse.Event, at: float) -> None:
        self.marks.setdefault("first_event", at)
        text = event.data
        if "�" in text:
            self.replacement_chars += text.count("�")
        if text == "[DONE]":
            self.terminal = text
            return
        try:
            body, end = _raw_decode(text)  # half the price of json.loads, which is kept for blanks around
            if end != len(text):
                body = json.loads(text)
        except (ValueError, RecursionError):
            self._malformed(text)
            return
        if not isinstance(body, dict):
            self._malformed(text)
            return
        error = body.get("error")
        if error or "error" in (event.type, body.get("type")):
            self._error(error or body)
        elif "choices" in body:
            self._chat(body, at)
        elif isinstance(kind := body.get("type"), str):
            if kind.startswith("response."):
                self._responses(kind, body, at)
            else:
                self._messages(kind, body, at)

    def _malformed(self, line: str) -> None:
        if self.malformed is None:
            self.malformed = line[:200] or "data:"

    def _error(self, error: Any) -> None:
        if len(self.errors) < _MAX_KEPT:
            self.errors.append(error)

    def _token(self, text: str, at: float, *, visible: bool, reasoned: bool = False) -> None:
        self.tokens += 1
        self.reasoned += reasoned
        self.marks.setdefault("first_token", at)
        self.marks["last_token"] = at
        if visible:
            self.text_chars += len(text)
            self.marks.setdefault("first_content", at)

    def _merge_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.usage = {**(self.usage or {}), **usage}

    def _chat(self, body: dict[str, Any], at: float) -> None:
        self.dialect = "openai.chat"
        self._merge_usage(body.get("usage"))
        for choice in _dicts(body.get("choices")):
            delta = choice.get("delta")
            if isinstance(delta, dict):
                content = delta.get("content")
                reasoned = any(delta.get(name) for name in _CHAT_REASONING)
                if isinstance(content, str) and content:
                    self._token(content, at, visible=True, reasoned=reasoned)
                elif reasoned or delta.get("tool_calls") or delta.get("refusal"):
                    self._token("", at, visible=False, reasoned=reasoned)
            if isinstance(reason := choice.get("finish_reason"), str):
                self.finish_reason = reason

    def _messages(self, kind: str, body: dict[str, Any], at: float) -> None:
        self.dialect = "anthropic.messages"
        if kind == "content_block_delta" and isinstance(delta := body.get("delta"), dict):
            field = _TEXT_DELTAS.get(str(delta.get("type")), "")
            if isinstance(text := delta.get(field), str) and text:
                self._token(text, at, visible=field == "text", reasoned=field == "thinking")
        elif kind == "message_start" and isinstance(message := body.get("message"), dict):
            self._merge_usage(message.get("usage"))
        elif kind == "message_delta":
            self._merge_usage(body.get("usage"))
            if isinstance(delta := body.get("delta"), dict) and isinstance(
                reason := delta.get("stop_reason"), str
            ):
                self.finish_reason = reason
        elif kind == "message_stop":
            self.terminal = kind

    def _responses(self, kind: str, body: dict[str, Any], at: float) -> None:
        self.dialect = "openai.responses"
        if kind.endswith(".delta") and isinstance(delta := body.get("delta"), str) and delta:
            self._token(
                delta, at, visible=kind == "response.output_text.delta", reasoned=kind.startswith(_REASONING)
            )
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            self.terminal = kind
            response = body.get("response")
            if isinstance(response, dict):
                self._merge_usage(response.get("usage"))
                self.finish_reason = kind.removeprefix("response.")
                if response.get("error"):
                    self._error(response["error"])

    def _document(self) -> None:
        try:
            body = json.loads(bytes(self._json))
        except (ValueError, RecursionError):
            return
        if not isinstance(body, dict):
            return
        self._merge_usage(body.get("usage"))
        if body.get("error"):
            self._error(body["error"])
        elif "choices" in body:
            self.dialect = "openai.chat"
            for choice in _dicts(body["choices"]):
                self.finish_reason = choice.get("finish_reason") or self.finish_reason
                message = choice.get("message")
                self.text_chars += len(str(message.get("content") or "")) if isinstance(message, dict) else 0
        elif body.get("type") == "message":
            self.dialect = "anthropic.messages"
            self.finish_reason = body.get("stop_reason")
            self.text_chars = sum(len(str(block.get("text") or "")) for block in _dicts(body.get("content")))
        elif body.get("object") == "response":
            self.dialect = "openai.responses"
            self.finish_reason = body.get("status")
            parts = [part for item in _dicts(body.get("output")) for part in _dicts(item.get("content"))]
            self.text_chars = sum(len(str(part.get("text") or "")) for part in parts)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
