"""What do the times of one exchange say of its silences?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.model import Exchange


def waited(exchange: Exchange, until: float | None) -> float | None:
    """Seconds since the request was sent whole: that is when an edge's first-byte timer starts."""
    since = exchange.timeline.upload_end
    return None if until is None or since is None else until - since


def survived(exchange: Exchange, until: float) -> float:
    """The longest silence before `until` that did not end it: no idle timer is shorter than that."""
    times = [
        at for at in (exchange.timeline.headers, *exchange.chunk_times) if at is not None and at <= until
    ]
    silences = [later - earlier for earlier, later in pairwise(times)]
    if not exchange.facts.get("errors"):
        silences.append(float(exchange.facts.get("max_gap") or 0.0))  # counts on where the columns end
    return max(silences, default=0.0)
