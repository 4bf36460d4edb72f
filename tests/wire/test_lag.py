"""Does the probe notice when it runs late itself?"""

from __future__ import annotations

import sys
import threading
import time

import pytest

from probes.wire.lag import BOUND, LAG, Lag, Unread, longest
from probes.wire.recorder import recording


def hog(seconds):
    """Keeps every other thread of this process from running."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
    finally:
        sys.setswitchinterval(before)


def test_a_stall_is_told_with_its_time():
    """From when a tick was due until it came, however long that was."""
    lag = Lag()
    began = time.monotonic()
    with lag.watched():
        while not any(thread.name == "lag" for thread in threading.enumerate()):
            time.sleep(0.001)
        time.sleep(0.02)
        hog(0.2)
        time.sleep(0.05)
    stalls = lag.since(began)
    assert max(until - since for since, until in stalls) > 0.1
    assert all(until - since > BOUND for since, until in stalls)
    assert lag.since(time.monotonic() + 1) == []


def test_nobody_ticks_when_nobody_watches():
    """The thread ends with its last watcher."""
    lag = Lag()
    with lag.watched(), lag.watched():
        pass
    ours = [thread for thread in threading.enumerate() if thread.name == "lag"]
    for thread in ours:
        thread.join(5)
    assert not any(thread.is_alive() for thread in ours) or LAG._watchers


def test_only_streams_are_watched():
    """A plain answer has no clock that a stall of a few milliseconds would spoil."""
    for streamed in (False, True):
        with recording(time.monotonic, streamed=streamed):
            assert bool(LAG._watchers) == streamed


def test_one_thread_watches_however_often_it_is_asked():
    """Streams that follow at once, each too soon for the last tick to end, do not gather threads."""
    lag = Lag()
    before = threading.active_count()
    for _ in range(50):
        with lag.watched():
            assert threading.active_count() <= before + 1


def test_a_client_that_is_busy_does_not_read():
    """Between a read and the next one what comes is stamped late; the time that a read waits is nobody's lag."""
    unread = Unread()
    for asked, came in ((0.0, 1.0), (1.001, 2.0), (2.5, 2.5), (2.8, 4.0)):
        unread.asked(asked)
        unread.came(came)
    assert [(round(since, 3), until) for since, until in sorted(unread.stalls)] == [(2.0, 2.5), (2.5, 2.8)]


def test_the_longest_are_kept_however_many_there_are():
    """A stream of hours takes no more room than one of minutes."""
    unread = Unread()
    for n in range(10_000):
        unread.came(float(n))
        unread.asked(n + (0.5 if n == 7 else 0.2))
    assert len(unread.stalls) < 100
    assert max(until - since for since, until in unread.stalls) > 0.4


@pytest.mark.parametrize(
    "stalls, told",
    [
        ([(1.0, 1.5), (1.2, 1.4)], [[1.0, 1.5]]),
        ([(1.0, 1.5), (1.3, 1.9)], [[1.0, 1.5], [1.5, 1.9]]),
        ([(1.0, 1.001)], []),
        ([(-3.0, -2.0), (8.0, 9.0), (-1.0, 0.5)], [[-1.0, 0.5]]),
    ],
    ids=["one within another", "one into another", "too short", "of another exchange"],
)
def test_no_second_counts_twice(stalls, told):
    """Ticks that came late and a client that was busy see the same time."""
    assert longest(stalls, BOUND, 5.0) == told
