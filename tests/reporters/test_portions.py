"""What comes in portions, and what only has pauses in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reporters.test_tracks import events

from probes.reporters.portions import portions
from probes.reporters.tracks import Track


def track(times, chunks=(), sizes=()):
    shown = replace(
        events("v" * len(times)),
        event_times=tuple(times),
        chunk_times=tuple(chunks),
        chunk_sizes=tuple(sizes),
    )
    return Track("x", 0.0, shown)


def goes(n, each, apart, spread=0.0):
    """`n` portions of `each` parts, which take `spread` seconds to come."""
    return [1.0 + apart * go + spread * part / each for go in range(n) for part in range(each)]


NONE = {
    "one by one": [1.0 + n * 0.1 for n in range(100)],
    "one by one, with a long silence": [*(1.0 + n * 0.1 for n in range(50)), *(66.0 + n * 0.1 for n in range(50))],
    "all at once": [9.0 + n * 0.0001 for n in range(100)],
    "too few parts": goes(5, 3, 2.0),
    "too few portions": goes(3, 20, 2.0),
    "portions that last": goes(9, 20, 2.0, spread=1.5),
    "a single part": [1.0],
}  # fmt: skip


@pytest.mark.parametrize("times", NONE.values(), ids=NONE)
def test_what_is_no_portion(times):
    """Nothing is said of it."""
    assert portions(track(times)) is None


def test_portions_that_are_read_in_pieces():
    """Their bytes count together, also those of a piece in which no part ended."""
    begins = [1.0 + 2.0 * go for go in range(6)]
    chunks = [at + piece for at in begins for piece in (-0.001, 0.0)]
    found = portions(track(goes(6, 20, 2.0), chunks, (3000, 1096) * 6))
    assert found is not None
    assert (found.n, found.size, found.apart, found.even) == (6, 4096, 2.0, True)


def test_no_size_is_said_where_none_is_known():
    """A run that kept no columns of its bytes."""
    found = portions(track(goes(6, 20, 2.0)))
    assert found is not None
    assert found.size is None
