"""Is the wait that a rate limit asks for one that a client can keep to?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.model import WhoActs
from probes.response import retry_after

if TYPE_CHECKING:
    from probes.response import Response

LONGEST_QUOTA = 31 * 86400.0
"""Quotas are counted by the month at most: whoever is told to wait longer is told nothing."""
_LOST = "the same request straight to the origin: whether a wait that clients can keep to is named there and lost on the way"
_WAITED_FOR = 3600.0
"""Above it no customer waits: the quota has to be raised, or is not meant."""


def code(named: str, seen: Response) -> str:
    """A rate limit that does not say when to come back, or says what no client can read or keep to."""
    if named != "ratelimited":
        return named
    hints = seen.headers.get("retry-after", ())
    if not hints and not any("ratelimit" in name and "reset" in name for name in seen.headers):
        return "ratelimited.no_hint"
    return "ratelimited.bad_hint" if hints and not _believable(retry_after(hints[0])) else named


def next_test(wanted: str | None, named: str, seen: Response) -> str | None:
    """Nobody can be told to wait for what a response does not say."""
    return wanted if wanted is None or code(named, seen) == named else _LOST


def who_acts(named: str, seen: Response) -> WhoActs | None:
    hints = seen.headers.get("retry-after", ())
    long = bool(hints) and (retry_after(hints[0]) or 0.0) > _WAITED_FOR
    return WhoActs.OPERATOR if named == "ratelimited" and long else None


def _believable(seconds: float | None) -> bool:
    return seconds is not None and seconds <= LONGEST_QUOTA
