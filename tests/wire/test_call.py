"""Can a call be ended while it waits for what cannot be interrupted?"""

import threading
import time

import pytest

from probes.wire.call import CallRecord, Ended


@pytest.fixture
def call():
    made = CallRecord(time.monotonic, {"body_limit": 1 << 20})
    yield made
    made.close()


def test_work_beside_gives_its_result_or_raises_its_error(call):
    """As if it had been called."""
    assert call.beside(lambda: 7) == 7
    with pytest.raises(KeyError, match="x"):
        call.beside(lambda: {}["x"])


def test_a_stop_ends_the_wait_and_discards_what_comes_late(call):
    """A connection that is made after all must not stay open."""
    go, gone = threading.Event(), threading.Event()
    timer = threading.Timer(0.05, call.stop, ("interrupted",))
    timer.start()
    with pytest.raises(Ended):
        call.beside(lambda: go.wait(5), discard=lambda got: gone.set() if got else None)
    go.set()
    assert gone.wait(1)
    timer.join()


def test_after_a_stop_nothing_begins(call):
    """The first reason stands."""
    call.stop("deadline")
    call.stop("interrupted")
    with pytest.raises(Ended):
        call.beside(lambda: pytest.fail("begun"))
    assert call.stopped == "deadline"
