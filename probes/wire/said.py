"""What did a model say, in whichever dialect: tokens, finish reason, end marker, usage, errors?"""

from __future__ import annotations

from typing import Any

from .damage import Damage
from .nesting import ToolCalls

_MAX_KEPT = 16
_REASONING = ("reasoning_content", "reasoning")
_TEXT_DELTAS = {
    "text_delta": ("text", "content"),
    "thinking_delta": ("thinking", "reasoning"),
    "input_json_delta": ("partial_json", "tool"),
}
_RESPONSE_DELTAS = {"response.output_text": "content", "response.refusal": "refusal"}
_RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_COUNTS = {"prompt_tokens": False, "completion_tokens": True}
"""Of a chat's usage, and whether it may grow."""
_ERROR_WORDS = ("detail", "message", "msg", "errors", "error_message", "error_msg")
LETTERS = {"content": "v", "reasoning": "r", "tool": "k", "refusal": "r"}
"""Channel → what a column of events calls a token of it."""


class Said:
    """`marks` are seconds from the start of the exchange, missing until seen; a `token` here is a chunk that holds text
    of any channel, since only the usage counts tokens.
    """

    def __init__(self) -> None:
        self.marks: dict[str, float] = {}
        self.dialect: str | None = None
        self.response_id: str | None = None
        self.terminal: str | None = None
        self.finish_reason: str | None = None
        self.usage: dict[str, Any] | None = None
        self.usage_start: dict[str, Any] | None = None
        self.usage_last: dict[str, Any] | None = None
        self.usages = 0
        self.errors: list[Any] = []
        self.tokens = 0
        self.channels: dict[str, int] = {}
        self.text_chars = 0
        self.after_end = self.repeats = 0
        self.usage_conflict: dict[str, list[int]] = {}
        self.damage = Damage()
        self.tools = ToolCalls()
        self._letter, self._text = "o", ""

    def event(self, kind: str, body: dict[str, Any], at: float) -> str:
        """Takes in one event of type `kind`; returns its letter: a token's channel, `e` an error, `p` a ping, else `o`."""
        self._letter = "o"
        error = body.get("error")
        if error or "error" in (kind, body.get("type"), body.get("object")) or _tells_of_error(body):
            self.error(error or body)
            return "e"
        if "choices" in body:
            self._chat(body, at)
        elif isinstance(named := body.get("type"), str):
            if named == "ping":
                return "p"
            if named.startswith("response."):
                self._responses(named, body, at)
            else:
                self._messages(named, body, at)
        return self._letter

    def error(self, error: Any) -> None:
        self._letter = "e"
        if len(self.errors) < _MAX_KEPT:
            self.errors.append(error)

    def merge_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.usages += 1
            self._compare(usage)
            self.usage_last = usage
            self.usage = {**(self.usage or {}), **usage}

    def _compare(self, usage: dict[str, Any]) -> None:
        """Counts of a chat stream may come again and again: of the prompt always the same, of the answer never fewer."""
        for name, grows in _COUNTS.items():
            before, now = _count((self.usage or {}).get(name)), _count(usage.get(name))
            if before and now and (now < before if grows else now != before):
                self.usage_conflict[name] = [before, now]

    def _token(self, channel: str, text: str, at: float) -> None:
        if self.terminal is not None:
            self.after_end += 1  # no client that stops at the end marker sees it
            return
        self.damage.text(channel, text)
        self.repeats += bool(text) and text == self._text
        self._text = text
        self.tokens += 1
        self.channels[channel] = self.channels.get(channel, 0) + 1
        self.marks.setdefault("first_token", at)
        self.marks["last_token"] = at
        self._letter = LETTERS[channel]
        if channel == "content":
            self.text_chars += len(text)
            self.marks.setdefault("first_content", at)

    def _chat(self, body: dict[str, Any], at: float) -> None:
        self.dialect = "openai.chat"
        self.merge_usage(body.get("usage"))
        for choice in dicts(body.get("choices")):
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._chat_delta(delta, choice.get("index"), at)
            if isinstance(reason := choice.get("finish_reason"), str):
                self.finish_reason = reason

    def _chat_delta(self, delta: dict[str, Any], index: object, at: float) -> None:
        content = delta.get("content")
        calls = delta.get("tool_calls")
        for call in dicts(calls):
            function = call.get("function")
            text = function.get("arguments") if isinstance(function, dict) else None
            self.tools.feed((str(index), str(call.get("index"))), text if isinstance(text, str) else "")
        if isinstance(content, str) and content:
            self._token("content", content, at)
        elif calls:
            self._token("tool", _arguments(calls), at)
        elif thought := next((delta[name] for name in _REASONING if delta.get(name)), None):
            self._token("reasoning", str(thought), at)
        elif delta.get("refusal"):
            self._token("refusal", str(delta["refusal"]), at)

    def _messages(self, kind: str, body: dict[str, Any], at: float) -> None:
        self.dialect = "anthropic.messages"
        if kind == "content_block_delta" and isinstance(delta := body.get("delta"), dict):
            field, channel = _TEXT_DELTAS.get(str(delta.get("type")), ("", ""))
            if isinstance(text := delta.get(field), str):
                if channel == "tool":
                    self.tools.feed(str(body.get("index")), text)
                if text:
                    self._token(channel, text, at)
        elif kind == "message_start" and isinstance(message := body.get("message"), dict):
            usage = message.get("usage")
            self.usage_start = usage if isinstance(usage, dict) else None
            self.merge_usage(usage)
        elif kind == "message_delta":
            self.merge_usage(body.get("usage"))
            if isinstance(delta := body.get("delta"), dict) and isinstance(
                reason := delta.get("stop_reason"), str
            ):
                self.finish_reason = reason
        elif kind == "message_stop":
            self.terminal = kind

    def _responses(self, kind: str, body: dict[str, Any], at: float) -> None:
        self.dialect = "openai.responses"
        if kind == "response.created" and isinstance(made := body.get("response"), dict):
            self.response_id = made["id"] if isinstance(made.get("id"), str) else None
        if kind.endswith(".delta") and isinstance(delta := body.get("delta"), str) and delta:
            source = kind.removesuffix(".delta")
            channel = "tool" if source.endswith("arguments") else _RESPONSE_DELTAS.get(source, "reasoning")
            if channel == "tool":
                self.tools.feed(str(body.get("item_id")), delta)
            self._token(channel, delta, at)
        elif kind in _RESPONSE_ENDS:
            self.terminal = kind
            response = body.get("response")
            if isinstance(response, dict):
                self.merge_usage(response.get("usage"))
                self.finish_reason = kind.removeprefix("response.")
                if response.get("error"):
                    self.error(response["error"])

    def document(self, body: dict[str, Any]) -> None:
        """Takes in an answer that is no stream."""
        self.merge_usage(body.get("usage"))
        if body.get("error"):
            self.error(body["error"])
        elif "choices" in body:
            self.dialect = "openai.chat"
            for choice in dicts(body["choices"]):
                self.finish_reason = choice.get("finish_reason") or self.finish_reason
                message = choice.get("message")
                self.text_chars += len(str(message.get("content") or "")) if isinstance(message, dict) else 0
        elif body.get("type") == "message":
            self.dialect = "anthropic.messages"
            self.finish_reason = body.get("stop_reason")
            self.text_chars = sum(len(str(block.get("text") or "")) for block in dicts(body.get("content")))
        elif body.get("object") == "response":
            self.dialect = "openai.responses"
            self.finish_reason = body.get("status")
            parts = [part for item in dicts(body.get("output")) for part in dicts(item.get("content"))]
            self.text_chars = sum(len(str(part.get("text") or "")) for part in parts)


def _arguments(calls: Any) -> str:
    functions = [function for call in dicts(calls) if isinstance(function := call.get("function"), dict)]
    return "".join(text for f in functions if isinstance(text := f.get("arguments"), str))


def _tells_of_error(body: dict[str, Any]) -> bool:
    """In the words of a framework, such as FastAPI's `{"detail": "Internal Server Error"}`: no dialect has such an event."""
    named = isinstance(body.get("type"), str) or "choices" in body
    return not named and any(body.get(name) for name in _ERROR_WORDS)


def _count(value: Any) -> int:
    """Zeros stand where nothing is counted yet."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
