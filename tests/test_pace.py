"""What do runs against one target share, and what has each for itself?"""

from __future__ import annotations

import threading
import time

import pytest
from test_budget import SCALE, call, trial

from probes.budget import Governor
from probes.clock import Clock
from probes.ledger import Ledger
from probes.model import Budget, Limits, NotSent, Route, Spend, Target
from probes.pace import Pace
from probes.stop import Stop
from probes.wait_hints import LONGEST_QUOTA

PAUSED, BUDGET = NotSent.PAUSED, NotSent.BUDGET


def target(**limits) -> Target:
    routes = {"edge": Route("edge", "http://x/v1")}
    return Target("t", "openai", "m", routes, limits=Limits(**limits), budget=Budget(None, None))


def two(day=None, **limits) -> tuple[Pace, Governor, Governor]:
    clock, of = Clock(SCALE), target(**limits)
    pace = Pace(of.limits, clock)
    pace.day = day
    return pace, Governor(of, clock, pace=pace), Governor(of, clock, pace=pace)


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_long_pause_holds_back_every_run_and_ends_by_itself(status):
    """The run that met it sends nothing more; one that begins after its end does."""
    pace, first, second = two()
    one = trial()
    first.settle(one, call(one, status, headers=[("retry-after", "100")]))
    assert first.reserve([one]) == second.reserve([one]) == [PAUSED]
    assert second.pause == f"the {status} before it asked for a pause of 100 s, longer than a run waits"
    assert "pause" in second.hops()()
    assert 0 < pace.paused.until - Clock(SCALE).now() <= 100
    time.sleep(100 * SCALE)
    assert pace.paused is None
    assert first.reserve([one]) == [PAUSED]
    assert second.reserve([one]) == Governor(target(), Clock(SCALE), pace=pace).reserve([one]) == [None]


def test_a_wait_for_one_request_holds_back_no_other_run():
    """A 524 speaks of the one question."""
    pace, first, second = two()
    one = trial()
    first.settle(one, call(one, 524, headers=[("retry-after", "120")]))
    assert first.reserve([one]) == [PAUSED]
    assert pace.paused is None
    assert second.reserve([one]) == [None]


def test_a_wait_that_nobody_can_mean_ends_the_run_alone():
    """Else one such header would end the asking for ever."""
    pace, first, second = two()
    one = trial()
    first.settle(one, call(one, 429, headers=[("retry-after", f"{LONGEST_QUOTA + 1:.0f}")]))
    assert first.reserve([one]) == [PAUSED]
    assert second.reserve([one]) == [None]
    assert pace.paused is None
    pace, first, second = two()
    first.settle(one, call(one, 429, headers=[("retry-after", f"{LONGEST_QUOTA:.0f}")]))
    assert second.reserve([one]) == [PAUSED]


def test_a_shorter_pause_does_not_end_a_longer_one():
    """Whichever was told last."""
    pace, first, second = two()
    one = trial()
    first.settle(one, call(one, 429, headers=[("retry-after", "3000")]))
    second.settle(one, call(one, 429, headers=[("retry-after", "20")]))
    assert pace.paused.until - Clock(SCALE).now() > 1000


def test_a_short_wait_is_waited_out_by_every_run():
    """And is charged to the run that was told of it."""
    _, first, second = two()
    one = trial()
    began = time.monotonic()
    first.settle(one, call(one, 429, headers=[("retry-after", "4")]))
    with second.admitted(one) as why:
        assert why is None
    assert (time.monotonic() - began) / SCALE >= 3.9


def test_the_rate_is_of_all_runs():
    """The third of two a minute waits, whichever run it is of."""
    _, first, second = two(per_minute=2)
    began = time.monotonic()
    for guard in (first, second):
        with guard.admitted(trial()) as why:
            assert why is None
    with first.admitted(trial(), Clock(SCALE).now() + 10) as why:
        assert why is PAUSED  # it would have to wait for longer than it may
    with second.admitted(trial()) as why:
        assert why is None
    assert (time.monotonic() - began) / SCALE >= 59.9


def test_what_is_held_for_long_leaves_a_place_to_the_others():
    """Streams of minutes take all places but one, and a short probe is let in at once."""
    clock, of, stop = Clock(SCALE), target(concurrency=3), Stop()
    pace = Pace(of.limits, clock)
    long, short = Governor(of, clock, stop, pace, long=True), Governor(of, clock, stop, pace)
    inside, let_go = threading.Semaphore(0), threading.Event()
    came: list[NotSent | None] = []

    def hold() -> None:
        with long.admitted(trial()) as why:
            came.append(why)
            inside.release()
            let_go.wait(20)

    holders = [threading.Thread(target=hold) for _ in range(3)]
    for holder in holders:
        holder.start()
    assert inside.acquire(timeout=20)
    assert inside.acquire(timeout=20)
    with short.admitted(trial()) as why:
        assert why is None
        assert came == [None, None]
    let_go.set()
    for holder in holders:
        holder.join(20)
    assert came == [None] * 3


def test_where_there_is_one_place_long_ones_get_it():
    """A target that bears one request at a time is still asked for long answers."""
    of = target(concurrency=1)
    with Governor(of, Clock(SCALE), long=True).admitted(trial()) as why:
        assert why is None


def test_a_stop_ends_the_waiting_for_a_place():
    """Though whoever holds it does not let go."""
    clock, of, stop = Clock(SCALE), target(concurrency=1), Stop()
    pace = Pace(of.limits, clock)
    one, other = Governor(of, clock, pace=pace), Governor(of, clock, stop, pace)
    came = []

    def ask() -> None:
        with other.admitted(trial()) as why:
            came.append(why)

    with one.admitted(trial()):
        waiting = threading.Thread(target=ask)
        waiting.start()
        stop("drained")
        waiting.join(20)
        assert came == [NotSent.INTERRUPTED]
    with Governor(of, clock, pace=pace).admitted(trial()) as why:
        assert why is None


def test_new_limits_hold_from_then_on():
    """A file was changed while a run is under way."""
    pace, first, second = two(concurrency=1)
    with first.admitted(trial()):
        pace.limits = Limits(concurrency=2)
        with second.admitted(trial()) as why:
            assert why is None


def test_a_day_bounds_all_runs_together():
    """Each has its own budget, and what is left of the day's; what is given back can be bought by the other."""
    day = Ledger(Budget(3, None), None, Spend(1))
    _, first, second = two(day)
    one = trial()
    assert first.reserve([one]) == second.reserve([one]) == [None]
    assert first.reserve([one]) == second.reserve([one]) == [BUDGET]
    assert second.hops()() == "the budget of requests is used up"
    first.give_back(one)
    assert second.reserve([one]) == [None]
    assert (first.spend.requests, second.spend.requests, day.spend.requests) == (0, 2, 3)
    second.settle(one, call(one, usage={"prompt_tokens": 5, "completion_tokens": 1}))
    assert second.spend.requests == 2
    assert day.spend == Spend(3, 5 + 80, 1 + 16)


def test_threads_of_many_runs_cannot_overdraw_a_day():
    """Reservation and booking are one step, whichever run does it."""
    day = Ledger(Budget(50, None), None)
    clock, of = Clock(SCALE), target(concurrency=8)
    pace = Pace(of.limits, clock)
    pace.day = day
    bought: list[int] = []

    def run() -> None:
        guard = Governor(of, clock, pace=pace)
        bought.extend(1 for _ in range(40) if guard.reserve([trial()]) == [None])

    runs = [threading.Thread(target=run) for _ in range(6)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert len(bought) == day.spend.requests == 50
