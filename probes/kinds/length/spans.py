"""What do the times and the counts of one exchange say of its pace and its silences?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.model import Exchange

_SLACK = 1.1


def waited(exchange: Exchange, until: float | None) -> float | None:
    """Seconds since the request was sent whole: that is when an edge's first-byte timer starts."""
    since = exchange.timeline.upload_end
    return None if until is None or since is None else until - since


def counted(exchange: Exchange) -> int | None:
    """Output tokens in the server's usage."""
    usage = exchange.facts.get("usage") or {}
    tokens = usage.get("completion_tokens", usage.get("output_tokens"))
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def outnumbered(exchange: Exchange) -> bool:
    """More chunks with text came than the usage counts tokens: chunks are parts of tokens, or the count is not theirs."""
    tokens, usage = counted(exchange), exchange.facts.get("usage") or {}
    details = usage.get("completion_tokens_details") or {}
    apart = (
        details.get("reasoning_tokens") if isinstance(details, dict) else None
    )  # xAI counts them beside the others
    most = (tokens or 0) + (apart if isinstance(apart, int) else 0)
    return tokens is not None and int(exchange.facts.get("tokens") or 0) > _SLACK * most + 2


def tpot(exchange: Exchange, tokens: int | None) -> float | None:
    """Seconds per output token of a stream of `tokens`: a chunk is not one."""
    line = exchange.timeline
    if (
        tokens is None
        or tokens < 2
        or outnumbered(exchange)
        or line.first_token is None
        or line.last_token is None
    ):
        return None
    return (line.last_token - line.first_token) / (tokens - 1)


def survived(exchange: Exchange, until: float) -> float:
    """The longest silence before `until` that did not end it: no idle timer is shorter than that."""
    times = [
        at for at in (exchange.timeline.headers, *exchange.chunk_times) if at is not None and at <= until
    ]
    silences = [later - earlier for earlier, later in pairwise(times)]
    if not exchange.facts.get("errors"):
        silences.append(float(exchange.facts.get("max_gap") or 0.0))  # counts on where the columns end
    return max(silences, default=0.0)
