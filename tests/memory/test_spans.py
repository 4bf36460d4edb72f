"""What a page is told of a week: outcomes, speeds, cutoffs, the cliff, the cache, spend, and what is wrong now."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from memories import BLOCKED, CASE, CLIENTS, NOW, TARGET, alert, call, events, finding, record, run
from weeks import CHANGED, NIGHT, SHORTENED, SINCE, UNTIL, filled

from probes.canary import AlertState, Mark
from probes.memory import Memory
from probes.memory.spans import step_of
from probes.model import Attribution, Figure, Finding, Layer, Raised, Spend, Timeline, Verdict, WireError
from probes.span import Cell, Cutoff, Share, State, bound

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """A week that ended with openai-py refused."""
    url = f"sqlite:///{tmp_path_factory.mktemp('week')}/week.db"
    with filled(url, every=timedelta(hours=4), blocked_now=True) as memory:
        yield memory.span(SINCE, UNTIL)


@pytest.fixture
def clocked(tmp_path):
    """A memory whose clock stands where it is put."""

    class At:
        now = NOW

    with Memory.open(f"sqlite:///{tmp_path}/m.db", now=lambda: At.now) as memory:
        yield memory, At


@pytest.mark.parametrize(
    ("length", "step", "most"),
    [
        (timedelta(hours=1), timedelta(minutes=1), 61),
        (timedelta(days=1), timedelta(minutes=15), 97),
        (timedelta(days=7), timedelta(hours=2), 85),
        (timedelta(days=30), timedelta(hours=12), 61),
        (timedelta(days=365), timedelta(days=4), 93),
    ],
    ids=["an hour", "a day", "a week", "a month", "a year"],
)
def test_intervals_are_as_long_as_people_count(length, step, most):
    """And no more than a phone can show."""
    assert step_of(length) == step
    assert length / step <= most


@pytest.mark.parametrize(
    ("minutes", "step"),
    [(1, 15), (10, 15), (20, 30), (60, 60), (24 * 60, 60)],
    ids=["often", "as often", "seldom", "hourly", "daily"],
)
def test_an_interval_holds_a_run(minutes, step):
    """So that what lies between two runs is no gap; but a day has two dozen of them."""
    wanted = timedelta(minutes=minutes)
    assert step_of(timedelta(days=1), None, timedelta(minutes=1), wanted) == timedelta(minutes=step)


def test_each_interval_has_its_outcomes(week):
    """Failed while the rule was on, limited while our key was, nothing in the night without runs, else good."""
    [one] = week.watched
    starts = week.starts()
    assert (one.target, one.vantage, one.cases) == ("prod", "here", 2)
    assert [strip.client for strip in one.strips] == ["anthropic-py", "curl", "openai-py"]
    states = dict(zip(starts, (cell.state for cell in one.strips[2].cells), strict=True))
    failed = [at for at, state in states.items() if state is State.FAILED]
    assert failed[0] == datetime(2026, 11, 26, 12, tzinfo=UNTIL.tzinfo)
    assert failed[-1] == datetime(2026, 11, 30, 6, tzinfo=UNTIL.tzinfo)
    assert {at for at, state in states.items() if state is State.LIMITED} == {
        datetime(2026, 11, 27, 6, tzinfo=UNTIL.tzinfo)
    }
    assert [at for at, state in states.items() if state is State.NOTHING] == [NIGHT[0] + HOUR]
    assert one.strips[0].whole.failed == 0


def test_percentiles_say_of_how_many(week):
    """None where nothing was measured, no p90 of a few, no p99 of less than a hundred."""
    [of] = week.watched[0].figures
    assert len(of.ttft) == len(of.tpot) == len(week.starts())
    known = [point for point in of.tpot if point.n]
    assert known
    assert {point.p50 is None for point in known} == {False}
    assert all(point.p50 is None for point in of.tpot if not point.n)
    assert all((point.p90 is None) is (point.n < 10) for point in (*of.ttft, *of.tpot))
    assert all((point.p99 is None) is (point.n < 100) for point in (*of.ttft, *of.tpot))


def test_the_cutoff_and_what_it_cuts(week):
    """By the newest measurement, at the hour at which a token takes longest; hours with too few samples say nothing."""
    [one] = week.watched
    assert [round(each.seconds) for each in one.cutoffs] == [125] * 5 + [100] * 2
    assert bound(one.cutoffs, "edge") == one.cutoffs[-1]
    assert one.cutoffs[-1].at > SHORTENED
    [of] = one.figures
    slowest = of.slowest()
    assert slowest.hour == 16
    assert slowest.tokens == pytest.approx((99.8 - slowest.ttft.p50) / slowest.tpot.p50, abs=1.1)
    assert [hour.tokens is not None for hour in of.hours] == [hour.tpot.n >= 10 for hour in of.hours]


def test_the_share_of_the_cache(week):
    """Before and after a change, by the usage of the answers."""
    shares = dict(zip(week.starts(), week.watched[0].figures[0].shares, strict=True))
    of = {at > SHORTENED: share.cached / share.prompt for at, share in shares.items() if share.n}
    assert of == {False: 0.6, True: 0.1}
    assert shares[NIGHT[0] + HOUR] == Share()


def test_what_is_wrong_now(week):
    """Each case as it was last asked, and the alerts that are open."""
    [one] = week.watched
    assert week.verdict is Verdict.FAIL
    assert [(each.case, each.clients, each.code) for each in one.troubles] == [
        ("long/length/hold=130", ("curl",), "timeout.first_byte"),
        ("smoke/completion", ("openai-py",), "blocked.client"),
    ]
    assert one.troubles[1].title == "openai-py is refused at the edge"
    assert len(week.alerts) == 1
    assert [mark.at for mark in week.marks] == [CHANGED, CHANGED + 6 * HOUR, SHORTENED]


def test_what_was_spent_by_the_day(week):
    """All of it, and no day twice."""
    [one] = week.watched
    assert [day.hour for day, _ in one.spends] == [0] * 8
    assert one.spent.requests == sum(spend.requests for _, spend in one.spends)
    assert one.spent.usd == pytest.approx(sum(spend.usd for _, spend in one.spends))


def test_what_was_in_flight_is_paid_for(clocked):
    """A run that never ended is counted by its calls."""
    memory, _ = clocked
    made = run()
    sink = memory.recording()
    for event in list(events(made))[:-1]:
        sink(event)
    [one] = memory.span(NOW - HOUR, NOW + HOUR).watched
    assert one.spent.requests == 2
    assert one.cases == 0
    assert memory.span(NOW - HOUR, NOW + HOUR).verdict is Verdict.INCONCLUSIVE


NIGHTLY = "long/length"


def limits(*findings):
    """What a memory tells of cutoffs, of one finding a night."""
    return [
        run(NOW + n * timedelta(days=1), suffix=f"{n:04x}", findings=(each,), calls=())
        for n, each in enumerate(findings)
    ]


CUT = replace(
    finding("curl"), code="timeout.first_byte", verdict=Verdict.FAIL, case=NIGHTLY, figures={"cutoff": Figure(125.0, "s", 3, 124.6, 125.4)},
)  # fmt: skip
HELD = replace(CUT, code="ok", verdict=Verdict.PASS, figures={"held": Figure(150.0, "s", 2)})
GONE = replace(CUT, code="regression.cutoff", case=f"{NIGHTLY}/mode=known", figures={"before": Figure(125.0, "s", 1)})  # fmt: skip
UNSURE = replace(CUT, verdict=Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        ((CUT,), [125.0]),
        ((CUT, UNSURE), [125.0]),
        ((CUT, HELD), [125.0, None]),
        ((CUT, GONE), [125.0, None]),
        ((), []),
    ],
    ids=["cut", "not proven", "held", "moved away", "never measured"],
)
def test_a_cutoff_is_what_was_measured_last(clocked, found, seconds):
    """One that was not met again is said to be gone; without exchanges nobody knows that it was no stream's."""
    memory, at = clocked
    for made in limits(*found):
        at.now = made.started
        record(memory, made)
    span = memory.span(NOW - HOUR, NOW + timedelta(days=3))
    known = [each for one in span.watched for each in one.cutoffs]
    assert [each.seconds for each in known] == seconds
    assert {each.case for each in known} <= {NIGHTLY}
    assert all(bound(one.cutoffs, of.route) is None for one in span.watched for of in one.figures)


def test_what_is_accepted_is_no_trouble(clocked):
    """As in the verdict of its run; nor is a client without a finding of its own."""
    memory, _ = clocked
    made = run(
        findings=(replace(finding("openai-py", BLOCKED), accepted=True), finding("curl")),
        verdict=Verdict.PASS,
    )
    record(memory, made)
    span = memory.span(NOW - HOUR, NOW + timedelta(minutes=1))
    assert span.watched[0].troubles == ()
    assert span.verdict is Verdict.PASS


def test_a_client_counts_as_it_was_last_asked(clocked):
    """One that was asked again alone passes; the others are as they were."""
    memory, at = clocked
    record(memory, run(made=BLOCKED, findings=(finding("openai-py", BLOCKED), finding("curl", BLOCKED))))
    at.now = NOW + timedelta(minutes=1)
    case = run().cases[0]
    alone = run(
        at.now, suffix="bbbb", cases=(replace(case, clients=CLIENTS[:1]),), findings=(finding("openai-py"),)
    )
    record(memory, alone)
    [one] = memory.span(NOW - HOUR, NOW + timedelta(minutes=2)).watched
    assert [(each.clients, each.run) for each in one.troubles] == [(("curl",), run().id)]


def test_a_client_that_passed_is_not_named_for_others(clocked):
    """Though it alone was not asked again since, and the finding of all that failed names no client."""
    memory, at = clocked
    evidence = tuple(each.id for each in run().calls[0].exchanges)
    of_all = replace(finding("openai-py", BLOCKED), client=None, evidence=evidence)
    record(memory, run(made=BLOCKED, findings=(of_all, finding("curl"))))
    [one] = memory.span(NOW - HOUR, NOW + timedelta(minutes=2)).watched
    assert [each.clients for each in one.troubles] == [("openai-py",)]
    at.now = NOW + timedelta(minutes=1)
    case = replace(run().cases[0], clients=CLIENTS[:1])
    record(memory, run(at.now, suffix="bbbb", cases=(case,), findings=(finding("openai-py"),)))
    [one] = memory.span(NOW - HOUR, NOW + timedelta(minutes=2)).watched
    assert one.troubles == ()


def ended(kind, *, held=300.0, raised=None):
    """A call of curl's that ended so; `held`: its deadline, where the target's own is 10 s."""
    cut = None if kind is None else WireError(kind, "body", "the probe's own doing")
    code = "timeout.total" if kind == "deadline" else "not_measured"
    made = Attribution(Layer.PROBE, code) if kind else Attribution(Layer.ORIGIN, "server.error")
    one = call("curl", made=made, conditions={"deadline": held}, raised=raised)
    return replace(one, exchanges=(replace(one.exchanges[0], error=cut),))


LEFT = Raised("probes.Ended", "left waiting: interrupted")
CUT_SHORT = {
    "with its run": (ended("interrupted"), 0),
    "at a limit": (ended("limit"), 0),
    "sooner than customers give up": (ended("deadline", held=2.0), 0),
    "as late as customers give up": (ended("deadline", held=10.0), 1),
    "between two attempts": (ended(None, raised=LEFT), 0),
    "by the service": (ended(None), 1),
    "by the service, with an exception": (ended(None, raised=Raised("openai.APIConnectionError", "x")), 1),
}


@pytest.mark.parametrize(("one", "failures"), CUT_SHORT.values(), ids=CUT_SHORT)
def test_what_the_probe_ended_is_no_failure_of_the_service(clocked, one, failures):
    """It counts nowhere: neither in the strip nor as a case that came to nothing, where the run was judged."""
    memory, _ = clocked
    alone = replace(CASE, id="smoke/streams", clients=CLIENTS[1:])
    calls = (call("openai-py"), replace(one, id=f"{alone.id}:x#0", case=alone.id))
    record(memory, run(cases=(run().cases[0], alone), calls=calls, findings=(finding("openai-py"),)))
    span = memory.span(NOW - HOUR, NOW + timedelta(minutes=2))
    [seen] = span.watched
    assert sum(strip.whole.failed for strip in seen.strips) == failures
    assert (seen.cases, span.verdict) == ((2, Verdict.INCONCLUSIVE) if failures else (1, Verdict.PASS))


def test_good_answers_beside_one_that_the_probe_ended_are_good(clocked):
    """Of a case that nothing was said of."""
    memory, _ = clocked
    alone = replace(CASE, id="smoke/streams", clients=CLIENTS[1:])
    beside = [
        replace(each, case=alone.id)
        for each in (call("curl"), replace(ended("interrupted"), repeat=1, id="x#1"))
    ]
    record(
        memory,
        run(
            cases=(run().cases[0], alone),
            calls=(call("openai-py"), *beside),
            findings=(finding("openai-py"),),
        ),
    )
    span = memory.span(NOW - HOUR, NOW + timedelta(minutes=2))
    assert (span.watched[0].cases, span.watched[0].troubles, span.verdict) == (2, (), Verdict.PASS)


def beside(*verdicts, at=0, case="smoke/baseline", suffix="bbbb", suite="smoke"):
    """A run whose own case passes, `at` minutes, with what was found of it as a whole."""
    codes = {Verdict.PASS: "ok", Verdict.INCONCLUSIVE: "not_measured"}
    told = [
        Finding(
            codes.get(one, "regression.latency"),
            one,
            case,
            "baseline",
            client=None if n else "curl",
            title=f"{one} {n}",
        )
        for n, one in enumerate(verdicts)
    ]
    own = (finding("openai-py"), finding("curl"))
    return run(NOW + timedelta(minutes=at), suffix=suffix, findings=(*own, *told), suites=(suite,))


FAIL, PASS = Verdict.FAIL, Verdict.PASS
LOOK = "smoke/baseline/fingerprint/edge"
OF_A_RUN = {
    "worse than its baseline": ([beside(FAIL, FAIL)], FAIL, [(), ("curl",)]),
    "not told": ([beside(Verdict.INCONCLUSIVE)], Verdict.INCONCLUSIVE, [("curl",)]),
    "as its baseline": ([beside(PASS)], PASS, []),
    "mended": ([beside(FAIL), beside(PASS, at=1)], PASS, []),
    "a look that is as before again": ([beside(Verdict.WARN, case=LOOK), beside(PASS, at=1)], PASS, []),
    "not compared since": ([beside(FAIL), run(NOW + timedelta(minutes=1), suffix="cccc")], FAIL, [("curl",)]),
    "compared since, of another suite": (
        [beside(FAIL), beside(PASS, at=1, case="edge/baseline", suite="edge")], FAIL, [("curl",)],
    ),
    "passed before": ([beside(PASS), beside(FAIL, at=1)], FAIL, [("curl",)]),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "verdict", "clients"), OF_A_RUN.values(), ids=OF_A_RUN)
def test_what_was_found_of_a_run_as_a_whole_stands_until_it_is_asked_again(clocked, runs, verdict, clients):
    """As a comparison with a baseline, which is no case of the suite."""
    memory, at = clocked
    for one in runs:
        at.now = one.started
        record(memory, one)
    span = memory.span(NOW - HOUR, NOW + timedelta(minutes=5))
    assert (span.verdict, [each.clients for each in span.watched[0].troubles]) == (verdict, clients)


READINGS = {
    "on time": ({}, [], (1, 1)),
    "late between its marks": ({}, [[0.31, 0.32]], (1, 1)),
    "late at its first token": ({}, [[0.25, 0.31]], (0, 0)),
    "late at its last token": ({}, [[0.45, 0.51]], (1, 0)),
    "read in one piece": ({"last_token": 0.3}, [], (1, 0)),
}


@pytest.mark.parametrize(("marks", "stalls", "n"), READINGS.values(), ids=READINGS)
def test_only_readings_that_the_probe_stamped_late_are_left_out(clocked, marks, stalls, n):
    """Those of one answer that were on time count."""
    memory, _ = clocked
    one = call("curl")
    line = Timeline(upload_start=0.0, headers=0.2, first_token=0.3, last_token=0.5, last_byte=0.5, end=0.5)
    answer = replace(one.exchanges[0], timeline=replace(line, **marks), conditions={"stalls": stalls})
    record(memory, run(calls=(replace(one, exchanges=(answer,)),), findings=(finding("curl"),)))
    [one] = memory.span(NOW - HOUR, NOW + timedelta(minutes=2)).watched
    [seen] = one.figures
    assert (sum(point.n for point in seen.ttft), sum(point.n for point in seen.tpot)) == n


def test_a_target_that_is_asked_no_more_is_not_green(clocked):
    """However well it was."""
    memory, at = clocked
    for n in range(5):
        at.now = NOW + n * timedelta(minutes=10)
        record(memory, run(at.now, suffix=f"{n:04x}"))
    soon, late = (at.now + timedelta(minutes=n) for n in (5, 45))
    assert memory.span(NOW - HOUR, soon).verdict is Verdict.PASS
    assert memory.span(NOW - HOUR, late).verdict is Verdict.INCONCLUSIVE
    assert memory.span(late, late + HOUR).verdict is Verdict.INCONCLUSIVE


def test_a_young_memory_is_shown_from_its_first_run(clocked):
    """In short intervals; one whose runs were forgotten is not young, and its silence is shown."""
    memory, at = clocked
    record(memory, run())
    assert memory.span(NOW - timedelta(days=7), NOW + HOUR / 2).since == NOW.replace(minute=13, second=0)
    at.now = NOW + timedelta(hours=6)
    young = memory.span(NOW - timedelta(days=7), at.now)
    assert (young.since, young.step) == (NOW.replace(minute=40, second=0), timedelta(minutes=5))
    memory.prune(NOW + timedelta(days=40))
    assert memory.stats().runs == 0
    at.now = NOW + timedelta(days=40)
    record(memory, run(at.now, suffix="bbbb"))
    late = memory.span(NOW + timedelta(days=30), at.now + HOUR)
    assert late.since <= NOW + timedelta(days=30)


def test_alerts_that_ended_in_that_time(clocked):
    """Those that are open, apart from those that are over; suspicions are neither."""
    memory, _ = clocked
    record(memory, run())
    states = (AlertState.OPEN, AlertState.RESOLVED, AlertState.SUSPECTED, AlertState.DISMISSED)
    for state in states:
        memory.keep(alert(state.value, state))
    memory.keep(replace(alert("long ago", AlertState.RESOLVED), resolved=NOW - 9 * HOUR))
    span = memory.span(NOW - HOUR, NOW + HOUR)
    assert [each.id for each in span.alerts] == ["open"]
    assert [each.id for each in span.ended] == ["resolved"]


def test_only_what_was_asked_for(clocked):
    """One target, with its own marks, alerts and figures; each vantage apart."""
    memory, _ = clocked
    record(memory, run())
    record(memory, run(suffix="bbbb", vantage="there"))
    record(memory, run(suffix="cccc", target=replace(TARGET, name="other"), spend=Spend(7)))
    for target in (None, "prod", "other"):
        memory.mark(Mark(NOW, f"of {target}", target=target))
    every = memory.span(NOW - HOUR, NOW + HOUR)
    assert [(one.target, one.vantage) for one in every.watched] == [
        ("other", "here"),
        ("prod", "here"),
        ("prod", "there"),
    ]
    assert every.watched[1].strips[0].whole == Cell(1, 1)
    own = memory.span(NOW - HOUR, NOW + HOUR, "other")
    assert [one.spent.requests for one in own.watched] == [7]
    assert {mark.text for mark in own.marks} == {"of None", "of other"}


def over(route: str, *calls, suffix: str = "aaaa", at=NOW, **more):
    """A run of one case over a route."""
    case = replace(run().cases[0], route=route)
    asked = tuple(replace(each, trial=replace(each.trial, route=route)) for each in calls)
    return run(at, suffix=suffix, cases=(case,), calls=asked, **more)


def test_each_route_has_its_own_figures(clocked):
    """What is quick and good past the edge makes nothing better over it."""
    memory, _ = clocked
    slow = [call("curl", n, total=2.0) for n in range(4)]
    quick = [call("curl", n, total=0.1) for n in range(4)]
    record(memory, over("edge", *slow, call("curl", 4, BLOCKED)))
    record(memory, over("origin", *quick, suffix="bbbb"))
    rows = memory.figures(NOW - 24 * HOUR, grain="day")
    assert [(row.route, row.n, row.good, row.total.quantile(1)) for row in rows] == [
        ("edge", 5, 4, pytest.approx(2.0, rel=0.1)),
        ("origin", 4, 4, pytest.approx(0.1, rel=0.1)),
    ]
    [one] = memory.span(NOW - HOUR, NOW + HOUR).watched
    assert [(strip.route, strip.whole) for strip in one.strips] == [
        ("edge", Cell(5, 4)),
        ("origin", Cell(4, 4)),
    ]
    assert [(of.route, of.answers) for of in one.figures] == [("edge", 4), ("origin", 4)]


def test_answers_of_each_route_are_looked_into(clocked, monkeypatch):
    """However they take turns where they are many: a choice of every other one is of both."""
    memory, _ = clocked
    monkeypatch.setattr("probes.memory.shares._MOST", 3)
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 5}}
    calls = []
    for n in range(12):
        plain = call("curl", n)
        told = replace(plain.exchanges[0], facts={"usage": usage})
        trial = replace(plain.trial, route="origin" if n % 2 else "edge")
        calls.append(replace(plain, trial=trial, exchanges=(told,)))
    record(memory, run(calls=tuple(calls)))
    [one] = memory.span(NOW - HOUR, NOW + HOUR).watched
    assert {of.route: sum(of.shares, Share()) for of in one.figures} == dict.fromkeys(
        ("edge", "origin"), Share(3, 15, 30)
    )


def test_a_case_that_passes_past_the_edge_still_fails_over_it(clocked):
    """The same case, asked again later by another way."""
    memory, at = clocked
    record(memory, over("edge", call("curl", made=BLOCKED), findings=(finding("curl", BLOCKED),)))
    at.now = NOW + HOUR / 60
    good = over("origin", call("curl"), suffix="bbbb", at=at.now, findings=(finding("curl"),))
    record(memory, replace(good, findings=(replace(good.findings[0], route="origin"),)))
    span = memory.span(NOW - HOUR, NOW + HOUR / 30)
    [one] = span.watched
    assert [(each.route, each.code) for each in one.troubles] == [("edge", "blocked.client")]
    assert (span.verdict, one.cases) == (Verdict.FAIL, 1)


def test_a_limit_of_one_route_is_none_of_another():
    """Nor of answers of which it is not recorded how they came."""
    cut = Cutoff(NOW, NIGHTLY, "edge", 125.0, plain=True)
    unknown = replace(cut, route=None, seconds=60.0)
    assert bound((cut, unknown), "edge") == cut
    assert bound((cut, unknown), "origin") is bound((cut, unknown), None) is None
