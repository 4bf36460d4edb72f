"""What do the times and the counts of one exchange say of its pace and its silences?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.model import Exchange


def waited(exchange: Exchange, until: float | None) -> float | None:
    """Seconds since the request was sent whole: that is when an edge's first-byte timer starts."""
    since = exchange.timeline.upload_end
    return None if until is None or since is None else until - since


def counted(exchange: Exchange) -> int | None:
    """Output tokens in the server's usage."""
    usage = exchange.facts.get("usage") or {}
    tokens = usage.get("completion_tokens", usage.get("output_tokens"))
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def tpot(exchange: Exchange, tokens: int | None) -> float | None:
    """Seconds per output token of a stream of `tokens`: a chunk is not one."""
    line = exchange.timeline
    if tokens is None or tokens < 2 or line.first_token is None or line.last_token is None:
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
