"""What did one exchange measure that can be trusted, and under which conditions?"""

from __future__ import annotations

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
    cached = cached_share(exchange.facts.get("usage") or {})
    return Sample(
        ttft=_kept(ttft, "ttft", late),
        tpot=_kept(per_token, "tpot", late),
        total=_kept(total, "total", late),
        tainted=bool(late),
        connection=connection if connection in {"new", "reused"} else None,
        cache="unreported" if cached is None else "hit" if cached[0] else "miss",
        cached_tokens=None if cached is None else cached[0],
        prompt_tokens=None if cached is None else cached[1],
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


def cached_share(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    """(Prompt tokens that came from a cache, prompt tokens), where the usage tells of both and there was an answer: one
    of no token was often given up, and its repeat finds what it left in the cache.

    OpenAI's `prompt_tokens` and `input_tokens` hold those of the cache already, Anthropic's `input_tokens` are what came
    neither from it nor went into it: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
    """
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else None
    if cached is None and "prompt_tokens" not in usage:
        cached = _count(usage, "cache_read_input_tokens")
        if prompt is not None and cached is not None:
            prompt += cached + (_count(usage, "cache_creation_input_tokens") or 0)
    if prompt is None or cached is None or cached > prompt or _output(usage) == 0:
        return None
    return cached, prompt


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    """The first of the names that is there; JSON's numbers may be anything."""
    value = next((usage[name] for name in names if name in usage), None)
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if known else None
