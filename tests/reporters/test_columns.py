"""The numbers of a plot: few, whole, and true to the stream they stand for."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reporters.test_picture import streamed
from reporters.test_tracks import events

from probes.reporters.columns import POINTS, columns
from probes.reporters.tracks import Track


def track(times, kinds=None, **more):
    times = tuple(times)
    stream = streamed(times[0], times[-1], times, **more)
    return Track("x", 0.0, replace(stream, event_times=times, event_kinds=kinds or "v" * len(times)))


def curve(found):
    """(seconds, tokens so far) of each point."""
    ticks, totals = accumulate(found["at"]), accumulate(found["tokens"])
    return [(tick * found["unit"], total) for tick, total in zip(ticks, totals, strict=True)]


def test_a_short_stream_is_kept_whole():
    """Each token is a step."""
    found = columns(track((1.0, 2.0, 3.5)))
    assert [(round(at, 6), n) for at, n in curve(found)] == [(1.0, 1), (2.0, 2), (3.5, 3)]
    assert round(found["end"] * found["unit"], 6) == 3.5


def test_a_long_stream_is_thinned():
    """To what a screen can show, and its sum and its gaps stay."""
    times = [1.0 + n * 0.01 for n in range(5000)]
    times += [times[-1] + 31.0 + n * 0.01 for n in range(5000)]
    found = columns(track(times))
    points = curve(found)
    assert len(points) <= 2 * POINTS
    assert points[-1][1] == 10_000
    [[begin, end]] = found["gaps"]
    assert round((end - begin) * found["unit"], 3) == 31.0
    # The line is flat in the silence, and climbs on both sides of it.
    before = max(at for at, n in points if n <= 5000)
    after = min(at for at, n in points if n > 5000)
    assert round(after - before, 2) == 31.0


def test_the_wait_for_an_answer_that_comes_at_once_is_a_gap():
    """Else the plot of a held answer is empty but for its end."""
    found = columns(track([9.0 + n * 0.001 for n in range(50)]))
    assert [[round(at * found["unit"], 3) for at in gap] for gap in found["gaps"]] == [[0.0, 9.0]]
    assert columns(track([9.0 + n * 0.1 for n in range(50)]))["gaps"] == []


def seconds(found, name):
    return [tuple(round(at * found["unit"], 3) for at in pair) for pair in found[name]]


@pytest.mark.parametrize("goes", [4, 14, 40, 60, POINTS // 2])
def test_silences_stand_between_goes(goes):
    """Of what is given out in steps each, and none within a go, however many there are."""
    times = [2.0 * go + n * 0.01 for go in range(1, goes + 1) for n in range(18)]
    found = columns(track(times))
    assert seconds(found, "gaps") == [(round(2.0 * go + 0.17, 3), 2.0 * go + 2) for go in range(1, goes)]


def test_stairs_too_small_to_shade():
    """Rather none of the silences than some."""
    times = [0.5 * go + n * 0.001 for go in range(1, POINTS) for n in range(18)]
    assert columns(track(times))["gaps"] == []


def test_our_own_lag_is_marked_and_is_no_silence():
    """As far as it can be seen."""
    stalled = {"stalls": [(3.0, 5.0), (9.0, 9.001)]}
    stream = replace(streamed(1.0, 12.0), event_times=(1.0, 2.0, 7.0, 12.0), event_kinds="vvvv", conditions=stalled)  # fmt: skip
    found = columns(Track("x", 0.0, stream))
    assert seconds(found, "lags") == [(3.0, 7.0)]
    assert (2.0, 7.0) not in seconds(found, "gaps")


def test_heartbeats_are_thinned():
    """As many as can be told apart."""
    found = columns(Track("x", 0.0, events("v" + "c" * 20_000, step=0.01)))
    assert 10 < len(found["beats"]) <= POINTS + 1


moments = st.lists(st.floats(0, 1e5, allow_nan=False), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(moments, st.text("vrkoedxcpb", min_size=60, max_size=60))
def test_nothing_but_whole_numbers(times, kinds):
    """Whatever a run holds, the script reads numbers, and each token is among them."""
    found = columns(track(sorted(times), kinds[: len(times)]))
    numbers = [*found["at"], *found["tokens"], *found["beats"], found["end"], *chain(*found["gaps"])]
    assert all(type(number) is int and number >= 0 for number in numbers)
    assert sum(found["tokens"]) == sum(kind in "vrk" for kind in kinds[: len(times)])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
