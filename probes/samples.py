"""What did one exchange measure that can be trusted, and under which conditions?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Exchange

_ROUNDING = 1e-6
_SLACK = 1.1
_MOST_TOKENS = 10**9
"""A count above it is no count, whatever a server says."""
Cache = Literal["hit", "miss", "unreported"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds, as `ttft` and `total` from the first byte of the request sent; `None` is not measured.

    `tainted`: what a stall of our own may have stamped late was left out. `connection`: `None` where it is not known.
    `prompt_tokens` and `cached_tokens` are set together, where the usage tells of a cache.
    """

    ttft: float | None
    tpot: float | None
    total: float | None
    tainted: bool
    connection: Literal["new", "reused"] | None
    cache: Cache
    prompt_tokens: int | None = None
    cached_tokens: int | None = None


def sample(exchange: Exchange) -> Sample:
    """Of an answer; whether it is a good one is for the caller to know."""
    line = exchange.timeline
    start = line.upload_start or 0.0
    ttft = None if line.first_token is None else line.first_token - start
    per_token = tpot(exchange, counted(exchange))
    total = None if line.end is None else line.end - start
    marks = {
        "ttft": (start, line.first_token),
        "tpot": (line.first_token, line.last_token),
        "total": (start, line.end),
    }
    late = {
        name for name, at in marks.items() if any(mark is not None and stalled(exchange, mark) for mark in at)
    }
    connection = exchange.conditions.get("connection")
    share = cached_share(exchange.facts.get("usage") or {})
    return Sample(
        ttft=_kept(ttft, "ttft", late),
        tpot=_kept(per_token, "tpot", late),
        total=_kept(total, "total", late),
        tainted=bool(late),
        connection=connection if connection in {"new", "reused"} else None,
        cache="unreported" if share is None else "hit" if share[0] else "miss",
        cached_tokens=None if share is None else share[0],
        prompt_tokens=None if share is None else share[1],
    )


def _kept(value: float | None, name: str, late: set[str]) -> float | None:
    """What came in one piece took no time between its tokens: that measures who read it, and not the service."""
    return None if value is None or value <= 0 or name in late else value


def stalled(exchange: Exchange, at: float) -> tuple[float, float] | None:
    """The stall of our own in which a mark was made: what it stamps may have come before."""
    for since, until in exchange.conditions.get("stalls") or ():
        if since - _ROUNDING <= at <= until + (until - since):
            return since, until
    return None


def counted(exchange: Exchange) -> int | None:
    """Output tokens in the server's usage."""
    return _output(exchange.facts.get("usage") or {})


def _output(usage: Mapping[str, Any]) -> int | None:
    return _count(usage, "completion_tokens", "output_tokens")


def outnumbered(exchange: Exchange, tokens: int | None) -> bool:
    """More chunks with text came than there are said to be tokens: chunks are parts of tokens, or the count is not
    theirs.
    """
    usage = exchange.facts.get("usage") or {}
    details = usage.get("completion_tokens_details") or {}
    # xAI counts them beside the others.
    apart = _count(details, "reasoning_tokens") if isinstance(details, dict) else None
    most = (tokens or 0) + (apart or 0)
    return tokens is not None and int(exchange.facts.get("tokens") or 0) > _SLACK * most + 2


def tpot(exchange: Exchange, tokens: int | None) -> float | None:
    """Seconds per output token of a stream of `tokens`: a chunk is not one."""
    line = exchange.timeline
    if tokens is None or tokens < 2 or outnumbered(exchange, tokens):
        return None
    if line.first_token is None or line.last_token is None:
        return None
    return (line.last_token - line.first_token) / (tokens - 1)


_OF_PROMPT = frozenset({
    "prompt_tokens", "input_tokens", "cached_tokens", "cache_write_tokens", "created_cache_tokens",
    "prompt_cache_hit_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
})  # fmt: skip
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Prompt:
    """Its tokens by usage, those of them that came from a cache, and those that went into one. `None` is not told, which is
    not 0.
    """

    tokens: int | None = None
    cached: int | None = None
    written: int | None = None


def prompt(usage: Mapping[str, Any]) -> Prompt:
    """In whichever dialect.

    OpenAI's `prompt_tokens` and `input_tokens` hold those of the cache already, Anthropic's `input_tokens` are what came
    neither from it nor went into it: https://platform.claude.com/docs/en/build-with-claude/prompt-caching. DeepSeek counts
    hits beside the details: https://api-docs.deepseek.com/guides/kv_cache. What went in is `cache_write_tokens` to OpenAI,
    `created_cache_tokens` to vLLM.
    """
    tokens = _count(usage, "prompt_tokens", "input_tokens")
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    details = details if isinstance(details, dict) else {}
    cached = _count(details, "cached_tokens")
    written = _count(details, "cache_write_tokens", "created_cache_tokens")
    if cached is None and "prompt_tokens" in usage:
        cached = _count(usage, "prompt_cache_hit_tokens")
    elif cached is None:
        cached, made = (_count(usage, f"cache_{what}_input_tokens") for what in ("read", "creation"))
        if tokens is not None and cached is not None:
            tokens += cached + (made or 0)
        written = made if written is None else written
    return Prompt(tokens, cached, written)


def cached_share(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    """(Prompt tokens that came from a cache, prompt tokens), where the usage tells of both and there was an answer: one
    of no token was often given up, and its repeat finds what it left in the cache.
    """
    said = prompt(usage)
    if said.tokens is None or said.cached is None or said.cached > said.tokens or _output(usage) == 0:
        return None
    return said.cached, said.tokens


def miscounted(usage: Mapping[str, Any]) -> tuple[str, ...]:
    """Counts of a prompt that are no counts, or hold more of a cache than there was of the prompt, as they came."""
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    named = [*usage.items(), *(details.items() if isinstance(details, dict) else ())]
    given = {name: value for name, value in named if name in _OF_PROMPT and value is not None}
    wrong = [name for name in given if _count(given, name) is None]
    said = prompt(usage)
    if not wrong and said.tokens is not None and said.cached is not None and said.cached > said.tokens:
        wrong = list(given)
    return tuple(f"{name} {json.dumps(given[name])[:_SHOWN]}" for name in wrong)


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    """The first of the names that is there; JSON's numbers may be anything."""
    value = next((usage[name] for name in names if name in usage), None)
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if known else None
