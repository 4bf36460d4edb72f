"""Does a stop reach every call, and nobody wait for one that does not come back?"""

import os
import signal
import threading
import time

import pytest

from probes import stop as module
from probes.stop import Stop


def test_a_stop_ends_what_listens_with_its_reason():
    """Each end once, however often the run is stopped; the first reason stands."""
    stop, heard = Stop(), []
    with stop.listening() as first, stop.listening() as second:
        first(heard.append)
        second(heard.append)
        stop("interrupted")
        stop("again")
    assert heard == ["interrupted", "interrupted"]
    assert stop.reason == "interrupted"


def test_what_is_over_does_not_hear():
    """A call that has returned must not be ended when its connection serves another."""
    stop, heard = Stop(), []
    with stop.listening() as on_stop:
        on_stop(heard.append)
    with stop.listening() as on_stop:
        on_stop(lambda why: heard.append(f"second: {why}"))
        stop("interrupted")
    assert heard == ["second: interrupted"]


def test_who_comes_after_the_stop_is_ended_at_once():
    """Between the check and the call there may be a Ctrl-C."""
    stop, heard = Stop(), []
    stop("interrupted")
    with stop.listening() as on_stop:
        on_stop(heard.append)
        assert heard == ["interrupted"]


def test_an_end_that_registers_another_does_not_block():
    """Ends are called without the lock."""
    stop, heard = Stop(), []
    with stop.listening() as on_stop:
        on_stop(lambda _: on_stop(heard.append))
        stop("interrupted")
    assert heard == ["interrupted"]


@pytest.mark.parametrize("stopped", [False, True], ids=["to its end", "until stopped"])
def test_wait(stopped):
    """A wait ends with the run."""
    stop = Stop()
    timer = threading.Timer(0.05, stop, ("interrupted",))
    if stopped:
        timer.start()
    began = time.monotonic()
    stop.wait(60.0 if stopped else 0.1)
    assert 0.04 < time.monotonic() - began < 30
    if stopped:
        timer.join()


def test_no_wait_is_no_wait():
    """Nor is a negative one."""
    Stop().wait(-1)
    Stop().wait(0)


def test_after_a_stop_a_thread_that_hangs_is_left_behind(monkeypatch):
    """A look-up in the system's resolver can't be ended; the run can."""
    monkeypatch.setattr(module, "_GRACE", 0.1)
    stop, go = Stop(), threading.Event()
    hanging = threading.Thread(target=go.wait, args=(60,), daemon=True)
    hanging.start()
    timer = threading.Timer(0.05, stop, ("interrupted",))
    timer.start()
    began = time.monotonic()
    stop.join(hanging)
    assert time.monotonic() - began < 30
    assert hanging.is_alive()
    go.set()
    hanging.join()
    timer.join()


def test_without_a_stop_a_thread_is_waited_for():
    """However long it takes, beyond the ticks."""
    thread = threading.Thread(target=time.sleep, args=(0.3,))
    thread.start()
    Stop().join(thread)
    assert not thread.is_alive()


def test_the_first_ctrl_c_stops_the_run_and_the_second_is_not_held_back():
    """The main thread guards the lanes; a lane ends by itself after the first."""
    stop = Stop()

    def press(ended, then):
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        if then:
            ended.set()

    first, second = threading.Event(), threading.Event()
    lane = threading.Thread(target=press, args=(first, True))
    lane.start()
    stop.guard(first)
    assert stop.reason == "interrupted"
    assert first.is_set()
    lane.join()

    lane = threading.Thread(target=press, args=(second, False))
    lane.start()
    with pytest.raises(KeyboardInterrupt):
        stop.guard(second)
    lane.join()
