"""How does the model answer a request?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.lab.behaviour import WELL, Behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GREETING = ("Hello", "!", " How", " can", " I", " help", " you", "?")
UNBOUNDED = 1000
"""Tokens of a counting answer that nobody capped."""
WINDOW = 128_000
ARGUMENTS = (
    '{"notes":',
    ' ["Istanbul, Türkiye"',
    ', "Moscow"',
    ', "London"',
    ', "Berlin"',
    ', "Madrid"',
    "]}",
)
_LINE = re.compile(r"Repeat this line.*?: (.+)", re.DOTALL)
_CAPS = ("max_completion_tokens", "max_output_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Job:
    """An accepted request: `tokens` is the text still to be said, in the pieces it is said in. `counts`: whether the
    answer says how many they were. `finish`: why it ends, in OpenAI's words. `thinks`: how many of the tokens are
    reasoning. `tool`: the name of the tool that is called with the rest. `cached` and `written`: tokens of the prompt that are told to
    have come from a cache or gone into it, `None` where nothing is told; `spared`: those that took no time;
    `names` and `last` as of `Caching`.
    """

    id: str
    model: str
    tokens: tuple[str, ...]
    finish: str | None
    prompt_tokens: int
    stream: bool
    include_usage: bool
    counts: bool = True
    role: bool = True
    thinks: int = 0
    tool: str | None = None
    cached: int | None = None
    written: int = 0
    spared: int = 0
    names: str = "openai"
    last: bool = False

    @property
    def text(self) -> str:
        return "".join(self.tokens[self.thinks :])

    @property
    def thought(self) -> str:
        return "".join(self.tokens[: self.thinks])


def plan(body: Mapping[str, Any], job_id: str, behaviour: Behaviour = WELL) -> Job:
    """How the model answers: a prompt with "count" in it is counted for until the cap, a line is repeated, a tool that must
    be called is called, and any other prompt is greeted.

    A prompt has one token for every four bytes of its texts, rounded up, and three for every message.
    """
    texts = _said(body)
    cap = asked_cap(body) if behaviour.caps else None
    tool = _tool(body)
    finish: str | None
    if tool:
        said, finish = _within(ARGUMENTS, cap, "tool_calls")
    elif texts and (found := _LINE.search(texts[-1])):
        said, finish = _within(tuple(found[1]), cap, "stop")
    elif texts and "count" in texts[-1].lower():
        said, finish = tuple(f"{n} " for n in range(1, min(cap or UNBOUNDED, WINDOW) + 1)), "length"
    else:
        said, finish = _within(GREETING, cap, "stop")
    if (enough := behaviour.stops_after) is not None and enough < len(said):
        said, finish = said[:enough], "stop"
    size = sum(-(-len(text.encode(errors="replace")) // 4) + 3 for text in (*texts, *_system(body)))
    options = body.get("stream_options")
    return Job(
        id=job_id,
        model=body["model"],
        tokens=said,
        finish=finish if behaviour.reasons else None,
        prompt_tokens=size,
        stream=bool(body.get("stream")),
        include_usage=behaviour.usage and isinstance(options, dict) and options.get("include_usage") is True,
        counts=behaviour.usage,
        role=behaviour.role,
        thinks=behaviour.thinks,
        tool=tool,
    )


def pieces(tokens: Sequence[str], most: int) -> Iterator[tuple[int, int, str]]:
    """Tokens as chunks hold them, each with the numbers of its first and of its last, which it has to wait for."""
    for first in range(0, len(tokens), most):
        held = tokens[first : first + most]
        yield first, first + len(held) - 1, "".join(held)


def _within(whole: tuple[str, ...], cap: int | None, finish: str) -> tuple[tuple[str, ...], str]:
    return whole[:cap], finish if cap is None or len(whole) <= cap else "length"


def _tool(body: Mapping[str, Any]) -> str | None:
    """The name of the tool that a chat or a message must call."""
    choice = body.get("tool_choice")
    named = choice.get("function", choice) if isinstance(choice, dict) else {}
    return named.get("name") if isinstance(named, dict) and body.get("messages") else None


def asked_cap(body: Mapping[str, Any]) -> int | None:
    """The most tokens that the request asks for."""
    return next((body[name] for name in _CAPS if body.get(name)), None)


def _said(body: Mapping[str, Any]) -> list[str]:
    """The texts of a prompt: messages, or the input of a response, which may be one string."""
    said = body.get("messages", body.get("input"))
    return [said] if isinstance(said, str) else [_text(message) for message in said or ()]


def _text(message: Mapping[str, Any]) -> str:
    """The texts of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _system(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Anthropic's system prompt stands beside the messages."""
    return (_text({"content": body["system"]}),) if body.get("system") else ()
