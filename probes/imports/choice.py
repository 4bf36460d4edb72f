"""Which of several requests is meant?"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
_MOST_SHOWN = 20


def choose(found: Mapping[int, T], shown: Mapping[int, str], entry: int | None, what: str) -> T:
    """The only one, or that of `--entry`, by its number; UsageError that lists those of `shown` where neither says it."""
    if entry is not None:
        if entry not in found:
            raise UsageError(
                f"--entry {entry}: it holds no such one among its {len(found)} {what}:{_listed(shown)}"
            )
        return found[entry]
    if len(found) != 1:
        raise UsageError(f"holds {len(found)} {what}; say which by --entry N:{_listed(shown)}")
    return next(iter(found.values()))


def _listed(shown: Mapping[int, str]) -> str:
    rows = [f"\n  {number:>3}  {row}" for number, row in list(shown.items())[:_MOST_SHOWN]]
    more = len(shown) - _MOST_SHOWN
    return "".join(rows) + (f"\n       and {more} more" if more > 0 else "")
