"""The memory: runs come back as they were, and what is asked of them is told as it was seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from labruns import lab_run
from memories import BLOCKED, CASE, CLIENTS, NOW, TARGET, USAGE, call, events, finding, notice, record, run
from sqlalchemy import select

from probes import store
from probes.errors import UsageError
from probes.lab import LAB_KEY
from probes.memory import Memory
from probes.memory.schema import metadata
from probes.model import Ask, Attribution, Called, Finished, Found, Layer, NotSent, Spend, Verdict

LIMITED = Attribution(Layer.GATEWAY, "ratelimited")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def clocked(reports):
    """A memory whose clock says what a test sets."""

    class At:
        now = NOW

    with Memory.open(now=lambda: At.now) as memory:
        yield memory, At
        assert memory.errors == 0


# --- runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("faults", [(), ("ai-crawler-rule",)], ids=["healthy", "blocked"])
def test_a_run_of_the_lab_comes_back(memory, faults):
    """Every call, exchange, finding and case, as a file of its own would bring it back."""
    there = lab_run("smoke", *faults)
    record(memory, there)
    store.save(there)
    loaded = memory.load(there.id)
    assert loaded == store.load(there.id)
    assert loaded.calls == there.calls
    assert (loaded.cases, loaded.spend, loaded.verdict) == (there.cases, there.spend, there.verdict)


def test_a_run_is_written_as_it_goes_on(memory):
    """Each call is there as soon as it was told, for whoever else reads the database."""
    made = run(made=BLOCKED)
    sink = memory.recording()
    seen = []
    with Memory.open() as other:
        for event in events(made):
            sink(event)
            there = other.load(made.id)
            seen.append((len(there.calls), len(there.findings), there.verdict))
    assert seen == [
        (0, 0, "inconclusive"), (1, 0, "inconclusive"), (2, 0, "inconclusive"), (2, 1, "inconclusive"),
        (2, 2, "inconclusive"), (2, 2, "fail"),
    ]  # fmt: skip


def test_the_order_is_that_of_the_run(memory):
    """Calls of lanes come mixed and findings as they are found; one that the run does not hold is left out."""
    made = run()
    began, *_ = events(made)
    sink = memory.recording()
    stray = call("curl", n=7)
    for event in (
        began,
        *map(Called, (made.calls[1], stray, made.calls[0])),
        Found(made.findings[1]),
        Finished(made),
    ):
        sink(event)
    sink(Called(call("curl", n=8)))  # left behind by a stop
    assert memory.load(made.id) == made


def test_a_run_that_is_not_there(memory):
    """The nearest is named."""
    record(memory, run())
    with pytest.raises(
        UsageError, match=r"no run 20261129-174312-aaab in .*; did you mean 20261129-174312-aaaa\?"
    ):
        memory.load("20261129-174312-aaab")


# --- what is asked of them -------------------------------------------------------------------------------


def test_history(clocked):
    """Newest first, a row for each client, with what was found of it and how fast it was."""
    memory, at = clocked
    for n, made in enumerate(({}, {"made": BLOCKED})):
        at.now = NOW + n * HOUR
        record(memory, run(at.now, suffix=f"aaa{n}", **made))
    rows = [
        (o.at, o.client, o.code, o.verdict, o.product, o.vendor_code, o.total)
        for o in memory.history(CASE.id)
    ]
    assert rows == [
        (NOW + HOUR, "openai-py", "blocked.client", "fail", "Cloudflare", "1010", None),
        (NOW + HOUR, "curl", "ok", "pass", None, None, 0.5),
        (NOW, "openai-py", "ok", "pass", None, None, 0.5),
        (NOW, "curl", "ok", "pass", None, None, 0.5),
    ]
    assert len(memory.history(CASE.id, 3)) == 3
    assert memory.history(CASE.id, target="prod") == memory.history(CASE.id)
    assert memory.history(CASE.id, target="other") == memory.history("smoke/other") == []


OUTCOMES = {
    "a finding of all": (
        [("openai-py", BLOCKED)],
        {"client": None, "evidence": ()},
        [("fail", "blocked.client")] * 2,
    ),
    "a finding of whose it is the evidence": (
        [("openai-py", BLOCKED)],
        {"client": None, "evidence": (call("openai-py").id + "/0",)},
        [("fail", "blocked.client"), ("pass", "ok")],
    ),
    "nothing found of it, and nothing good": (
        [("openai-py", BLOCKED)],
        {"client": "curl"},
        [("inconclusive", "not_measured"), ("fail", "blocked.client")],
    ),
    "accepted": (
        [("openai-py", BLOCKED)],
        {"client": "openai-py", "accepted": True},
        [("inconclusive", "not_measured"), ("pass", "ok")],
    ),
}


@pytest.mark.parametrize(("met", "said", "expected"), OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_is_no_better_than_what_was_seen(memory, met, said, expected):
    """Of a client of which nothing was found its own answers speak, and only good ones are a pass."""
    made = [call(client, made=answer) for client, answer in met] + [call("curl")]
    found = replace(finding("x", BLOCKED), **said)
    record(memory, run(calls=tuple(made), findings=(found,), verdict=Verdict.FAIL))
    assert [(o.verdict, o.code) for o in memory.history(CASE.id)] == expected


def test_who_passed_when(clocked):
    """From this vantage, on this target, before that time; a client that never passed is not named."""
    memory, at = clocked
    record(memory, run(NOW, suffix="aaaa"))
    at.now = NOW + HOUR
    record(memory, run(at.now, BLOCKED, suffix="bbbb"))
    asked = ("openai-py", "curl", "httpx")
    assert memory.passed("prod", "here", asked, NOW + DAY) == {"openai-py": NOW, "curl": NOW + HOUR}
    assert memory.passed("prod", "here", asked, NOW + HOUR) == {"openai-py": NOW, "curl": NOW}
    assert memory.passed("prod", "here", asked, NOW) == {}
    assert (
        memory.passed("prod", None, asked, NOW + DAY)
        == memory.passed("other", "here", asked, NOW + DAY)
        == {}
    )


INVALID, UNKNOWN_KEY = (
    Ask("chat", recipe="invalid", key="made_up"),
    Attribution(Layer.GATEWAY, "auth.rejected"),
)
KNOCKS = {
    "the API's own 401": (INVALID, 401, UNKNOWN_KEY, True),
    "its 400 to the configured key": (replace(INVALID, key="target"), 400, Attribution(Layer.ORIGIN, "request.rejected"), True),
    "a 403 in its form": (INVALID, 403, UNKNOWN_KEY, False),
    "an edge's page": (INVALID, 403, BLOCKED, False),
    "an overload": (INVALID, 529, Attribution(Layer.ORIGIN, "overloaded"), False),
    "a limit": (INVALID, 429, Attribution(Layer.GATEWAY, "ratelimited"), False),
    "another user agent": (replace(INVALID, edits={"user-agent": "curl"}), 401, UNKNOWN_KEY, False),
    "a large body": (replace(INVALID, filler=1000), 400, UNKNOWN_KEY, False),
    "a customer's question": (Ask("chat"), 401, UNKNOWN_KEY, False),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "status", "made", "let_in"), KNOCKS.values(), ids=KNOCKS)
def test_who_was_let_in_when(clocked, ask, status, made, let_in):
    """By the API's own refusal of what asks for one; that is no pass of a customer's question, nor the other way."""
    memory, _ = clocked
    knocked = call("openai-py", made=made)
    answer = replace(knocked.exchanges[0], status=status)
    knocked = replace(knocked, trial=replace(knocked.trial, request=ask), exchanges=(answer,))
    record(memory, run(calls=(knocked, call("curl"))))
    there = ("prod", "here", ("openai-py", "curl"), NOW + DAY)
    assert memory.let_in(*there) == ({"openai-py": NOW} if let_in else {})
    assert memory.passed(*there) == {"curl": NOW}
    (day,) = memory.figures(NOW - DAY, grain="day", client="curl")
    assert (day.n, day.good) == (1, 1)


def test_who_passed_is_known_when_the_run_is_forgotten(clocked):
    """By the figures of the day, which stay."""
    memory, _ = clocked
    record(memory, run())
    assert memory.prune(NOW + 40 * DAY).runs == 1
    assert memory.passed("prod", "here", ("curl",), NOW + 40 * DAY) == {"curl": NOW}


def test_what_was_spent(clocked):
    """Settled of a run that ended, by its calls and what was in flight of one that did not, by the time of day."""
    memory, at = clocked
    record(memory, run(NOW, spend=Spend(9, 90, 9, 0.25)))
    began, first, *_ = events(run(NOW + HOUR, suffix="bbbb"))
    at.now = NOW + HOUR
    sink = memory.recording()
    sink(began)
    sink(first)
    paid = USAGE["prompt_tokens"], USAGE["completion_tokens"]
    assert memory.spent("prod", NOW) == Spend(9 + 1 + 1, 90 + paid[0], 9 + paid[1], 0.25)
    assert memory.spent("prod", NOW + HOUR) == Spend(2, *paid)
    assert memory.spent("prod", NOW + HOUR + timedelta(seconds=1)) == memory.spent("other", NOW) == Spend()


def test_a_run_over_midnight_is_paid_by_both_days(clocked):
    """What it asked before midnight belongs to the day before."""
    memory, at = clocked
    sink = memory.recording()
    for n, event in enumerate(events(run())):
        at.now = NOW + n * HOUR
        sink(event)
    assert memory.spent("prod", NOW + 1.5 * HOUR).requests == 1


def test_figures(clocked):
    """By the minute, the hour and the day; what was held back on our own key is no outage, what was not sent is nothing."""
    memory, at = clocked
    unsent = call("curl", 3, exchanges=(), not_sent=NotSent.BUDGET)
    met = (call("curl", 0, total=0.5), call("curl", 1, BLOCKED), call("curl", 2, LIMITED), unsent)
    record(memory, run(calls=met))
    at.now = NOW + timedelta(minutes=1)
    record(memory, run(at.now, suffix="bbbb", calls=(call("curl", 0, total=2.0),)))
    for grain, expected in {
        "minute": [(3, 1, 1), (1, 1, 0)],
        "hour": [(4, 2, 1)],
        "day": [(4, 2, 1)],
    }.items():
        rows = memory.figures(NOW - DAY, grain=grain, target="prod")
        assert [(row.n, row.good, row.limited) for row in rows] == expected, grain
    [day] = rows
    assert day.availability == 2 / 3
    assert day.passed == at.now
    assert (day.total.n, day.ttft.n) == (2, 0)
    assert 0.5 <= day.total.quantile(0.5) <= 0.55
    assert 2.0 <= day.total.quantile(0.99) <= 2.2
    assert day.ttft.quantile(0.5) is None
    assert memory.figures(NOW - DAY, NOW - 18 * HOUR, grain="day") == []


def test_a_call_counts_once_in_the_figures(clocked):
    """Also where a run was taken for cut off and ended after all."""
    memory, _ = clocked
    memory._writer = "elsewhere 1 gone"
    sink = memory.recording()
    *before, last = events(run())
    for event in before:
        sink(event)
    assert memory.recover(NOW + HOUR) == [run().id]
    assert memory.recover(NOW + HOUR) == []
    assert [o.verdict for o in memory.history(CASE.id)] == ["pass", "pass"]
    sink(last)
    assert memory.load(run().id) == run()
    assert sum(row.n for row in memory.figures(NOW - DAY, grain="day")) == 2
    assert len(memory.history(CASE.id)) == 2


def test_a_run_of_a_living_process_is_not_cut_off(memory):
    """This one's is still going on."""
    began, first, *_ = events(run())
    sink = memory.recording()
    sink(began)
    sink(first)
    assert memory.recover(NOW + 9 * DAY) == []
    sink(Finished(run()))
    assert memory.load(run().id).verdict == "pass"


def test_the_lanes_may_all_write_at_once(memory):
    """Four runs from four threads, each whole afterwards."""
    import threading

    runs = [run(suffix=f"aaa{n}") for n in range(4)]
    threads = [threading.Thread(target=record, args=(memory, made)) for made in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [memory.load(made.id) for made in runs] == runs
    assert memory.stats().calls == 8
    [curl] = memory.figures(NOW - 300 * DAY, grain="day", client="curl")
    assert (curl.n, curl.good) == (4, 4)


# --- hostile values --------------------------------------------------------------------------------------

HOSTILE = {
    "NUL": "a\0b",
    "half a pair": "a\ud800b",
    "endless": "x" * 100_000,
    "SQL": "'; DROP TABLE runs; --",
    "controls": "\x1b[2J\u202e",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_kept(memory, text):
    """In every place that an answer reaches; the run comes back as a file of its own would bring it back."""
    made = Attribution(Layer.EDGE, "blocked", text, text, extracted={text[:20]: text})
    answer = call("curl", made=made)
    answer = replace(
        answer, returned=text, exchanges=(replace(answer.exchanges[0], headers={"server": [text]}),)
    )
    there = run(calls=(answer,), findings=(finding("curl", made, title=text),), versions={"curl": text})
    record(memory, there)
    store.save(there)
    assert memory.load(there.id) == store.load(there.id)
    assert memory.history(CASE.id)[0].verdict == "fail"


@pytest.mark.parametrize("tokens", [10**30, -5, 2**63, True, "many"])
def test_hostile_counts_are_kept(memory, tokens):
    """A usage that no database could hold is bounded, and sums of it go on."""
    answer = call("curl")
    usage = {"prompt_tokens": tokens, "completion_tokens": tokens}
    answer = replace(
        answer, exchanges=(replace(answer.exchanges[0], facts={"usage": usage}, body_bytes=2**70),)
    )
    began, *_ = events(run())
    for n in range(3):
        sink = memory.recording()
        sink(replace(began, run=replace(began.run, id=f"20261129-174312-aaa{n}")))
        sink(Called(answer))
    assert memory.spent("prod", NOW - 300 * DAY).requests == 6
    assert memory.load("20261129-174312-aaa0").calls == (answer,)


def test_no_secret_of_a_run_is_in_the_database(memory):
    """The key of the lab is in no byte of it: calls come redacted."""
    there = lab_run("smoke", "ai-crawler-rule")
    record(memory, there)
    held = [path.read_bytes() for path in memory._database.file.parent.iterdir()]
    with memory._database.reading() as connection:
        held += [
            str(row).encode() for table in metadata.sorted_tables for row in connection.execute(select(table))
        ]
    assert any(b"ai-crawler" in text or b"openai-py" in text for text in held)
    assert not any(LAB_KEY.encode() in text for text in held)


def test_only_the_owner_may_read_it(memory):
    """What was asked and answered is nobody else's."""
    record(memory, run())
    for path in memory._database.file.parent.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_cases_without_clients_that_asked_are_no_outcome(memory):
    """Nothing was seen of a client that was neither asked with nor named."""
    there = run(calls=(call("curl"),), findings=(finding("curl"),))
    record(memory, there)
    assert [o.client for o in memory.history(CASE.id)] == ["curl"]
    assert {client.name for client in CLIENTS} == {"curl", "openai-py"}
    assert TARGET.name == "prod"


def test_a_notice_that_was_dropped_is_sent_no_more(reports):
    """Here and after a restart; what it says of it stays."""
    dropped = notice(fault="answered 413", refused=True, dropped=NOW)
    with Memory.open() as memory:
        memory.notice(notice())
        assert memory.undelivered() == [notice()]
        memory.notice(dropped)
        assert memory.undelivered() == []
    with Memory.open() as memory:
        assert memory.undelivered() == []
        assert memory.stats().undelivered == 0
