"""What comes of a turn: on a lab that is well, broken, limited or out of reach."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from turned import START, Canary, Daily, Entry, bed

from probes.canary import Missed
from probes.errors import UsageError
from probes.lab.faults import Answer, Do, Fault, When
from probes.model import Limits, Reason, Verdict
from probes.watch.turns import share

COMPLETIONS = Entry("chat", "completions", clients=("openai-py", "httpx"))


@pytest.fixture(autouse=True)
def suites(tmp_path, monkeypatch):
    """Short suites of one question each."""
    folder = tmp_path / "suites"
    folder.mkdir()
    for name, rows in {
        "completions": "  - {kind: completion, clients: genuine}\n",
        "lists": "  - {kind: models, clients: genuine}\n",
        "twice": "  - {kind: completion, clients: genuine}\n  - {kind: completion, clients: genuine, with: {cap: 9}}\n",
    }.items():
        (folder / f"{name}.yaml").write_text(f"version: 1\nname: {name}\ncases:\n{rows}")
    monkeypatch.chdir(tmp_path)


def limited(seconds, path=None, status=429):
    body = '{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}'
    headers = {"content-type": "application/json", "retry-after": str(seconds)}
    answer = Answer(status=status, headers=headers, body=body, proxied=True)
    return Fault("limited", "a rate limit", Do(answer=answer), When(path=path))


def test_a_healthy_turn_says_so_to_everybody():
    """It is conclusive, kept with its run, a success of its entry, and nobody is asked again."""
    with bed(canary=Canary((COMPLETIONS,))) as on:
        turn = on.take()
    assert (turn.verdict, turn.conclusive, turn.missed, turn.reason) == (Verdict.PASS, True, None, None)
    assert on.memory.turns == [turn]
    assert [(entry, run.id) for entry, run in on.memory.runs] == [("chat", turn.run)]
    assert turn.spend == on.memory.runs[0][1].spend
    assert ("last_success", "chat", turn.ended) in on.metrics.told
    assert on.alerting.paged == set()
    assert on.alerting.confirmed == []


def test_a_lasting_fault_is_confirmed_over_fresh_connections():
    """The failing case alone is asked again at once, through connections of its own."""
    with bed("ai-crawler-rule", canary=Canary((replace(COMPLETIONS, suite="twice"),))) as on:
        on.take()
        [(turn, run, findings, again)] = on.alerting.seen
    assert turn.conclusive
    assert turn.verdict is Verdict.FAIL
    assert on.alerting.paged == {"blocked.client"}
    assert len(again) == 1
    assert again[0].part
    assert {finding.case for finding in again[0].findings if finding.verdict is Verdict.FAIL} == {
        finding.case for finding in findings if finding.verdict is Verdict.FAIL
    }
    assert again[0].run.id != run.id
    connected = [e.timeline.connect for c in again[0].run.calls for e in c.exchanges]
    assert connected
    assert None not in connected
    assert turn.spend.requests == sum(asked.spend.requests for _, asked in on.memory.runs)


def test_only_the_cases_that_failed_are_asked_again():
    """A case that is well costs nothing more."""
    broken = Fault(
        "large", "caps of nine fail", Do(answer=Answer(status=500)), When(body_contains='"max_tokens":9')
    )
    with bed(broken, canary=Canary((replace(COMPLETIONS, suite="twice", clients=("httpx",)),))) as on:
        on.take()
    assert {call.case for _, call in on.memory.calls} == {"twice/completion", "twice/completion/cap=9"}
    again = on.alerting.seen[-1][3]
    assert {case.id for asked in again for case in asked.run.cases} == {"twice/completion/cap=9"}


def test_a_fault_that_is_gone_at_once_is_not_confirmed():
    """What was met is told, and that it was not met again."""
    with bed("ai-crawler-rule", canary=Canary((COMPLETIONS,))) as on:
        on.around.memory.recording = mending(on, on.memory.recording)
        on.take()
        assert on.alerting.paged == {"blocked.client"}
        assert on.alerting.confirmed == [set()]


def mending(on, recording):
    """The lab is whole again when the first run was judged."""

    def record_until_mended(entry=None):
        record = recording(entry)

        def record_and_mend(event):
            record(event)
            if on.memory.runs:
                on.lab.arm(())

        return record_and_mend

    return record_until_mended


# --- limits ----------------------------------------------------------------------------------------------


def test_a_rate_limit_of_our_own_key_pauses_every_entry_and_ends_by_itself():
    """No outage and nothing to page for: others of the target wait with it, then all go on as if nothing had been."""
    other = replace(COMPLETIONS, name="lists", suite="lists")
    apart = replace(COMPLETIONS, name="elsewhere", target="staging")
    with bed(limited(80), canary=Canary((COMPLETIONS, other, apart))) as on:
        first = on.take(COMPLETIONS)
        assert (first.conclusive, first.missed) == (False, None)
        assert first.reason.startswith("ratelimited: ")
        assert on.alerting.paged == set()
        sent = len(on.memory.calls)
        held = [on.take(COMPLETIONS), on.take(other)]
        assert [turn.missed for turn in held] == [Missed.PAUSED] * 2
        assert all("asked for a pause of 80 s" in turn.reason for turn in held)
        assert len(on.memory.calls) == sent
        on.lab.arm(())
        assert on.take(apart).verdict is Verdict.PASS  # its key is another's
        threading.Event().wait(80 * on.around.clock.scale)
        assert [on.take(COMPLETIONS).verdict, on.take(other).verdict] == [Verdict.PASS] * 2
        assert on.alerting.paged == set()


UNTIL = START + timedelta(seconds=400)


@pytest.mark.parametrize(
    ("after", "missed"),
    [(0, Missed.PAUSED), (399, Missed.PAUSED), (400, None), (-86400, Missed.PAUSED)],
    ids=["at once", "before its end", "after its end", "the clock was set back"],
)
def test_a_pause_outlives_the_process(after, missed):
    """The next one, or the next `--once`, asks nothing before its end."""
    with bed(limited(400), canary=Canary((COMPLETIONS,))) as on:
        on.take()
        on.lab.arm(())
        sent = len(on.memory.calls)
        on.wall.at += timedelta(seconds=after)
        on.restart()
        turn = on.take()
        assert turn.missed is missed
        assert (len(on.memory.calls) == sent) is (missed is not None)
    if missed is not None:
        assert turn.reason == (
            f"paused until {UNTIL:%Y-%m-%d %H:%M:%S} UTC: the 429 before it asked for a pause of 6.7 min, longer than a run waits"
        )
        assert on.memory.turns[-1] == turn


def test_a_clock_that_was_set_back_makes_no_pause_longer():
    """A process that begins then keeps to as much as was asked for."""
    with bed(limited(80), canary=Canary((COMPLETIONS,))) as on:
        on.take()
        on.lab.arm(())
        on.wall.at -= timedelta(days=30)
        on.restart()
        assert on.take().missed is Missed.PAUSED
        threading.Event().wait(80 * on.around.clock.scale)
        assert on.take().verdict is Verdict.PASS


def test_a_pause_that_a_person_ends_is_over_at_the_next_turn():
    """In the process that met it; another that the server asks for afterwards counts again."""
    with bed(limited(400), canary=Canary((COMPLETIONS,))) as on:
        on.take()
        assert on.take().missed is Missed.PAUSED
        (pause,) = on.memory.pauses()
        on.memory.pause(replace(pause, until=on.wall.at))
        assert on.take().run is not None
        assert on.take().missed is Missed.PAUSED
        (pause,) = on.memory.pauses()
        on.memory.pause(replace(pause, until=on.wall.at))
        on.lab.arm(())
        assert on.take().verdict is Verdict.PASS


def test_a_memory_that_cannot_be_read_ends_no_pause(capsys):
    """What this process was told still counts, and the fault is said."""

    def damaged():
        raise UsageError("edgeprobe.db: is damaged")

    with bed(limited(400), canary=Canary((COMPLETIONS,))) as on:
        on.take()
        on.memory.pauses = damaged
        assert on.take().missed is Missed.PAUSED
    assert "is damaged" in capsys.readouterr().err


def test_a_run_under_way_hears_of_a_pause_that_another_met():
    """Its requests to come are not sent."""
    with bed(canary=Canary((replace(COMPLETIONS, suite="twice"),))) as on:
        pace = on.turns._paces.of(on.named("prod"))
        on.around.memory.recording = pausing(pace, on.memory.recording)
        turn = on.take()
    unsent = {call.not_sent.value for _, call in on.memory.calls if call.not_sent is not None}
    assert unsent == {"paused"}
    assert turn.run is not None


def pausing(pace, recording):
    """A run beside it is told to wait when the first answer is there."""

    def record_and_pause(entry=None):
        record = recording(entry)

        def told(event):
            record(event)
            pace.pause(60.0, "another run was told to wait")

        return told

    return record_and_pause


OWN = {
    "no wait named (C63)": ("retry-after-renamed", "ratelimited.no_hint"),
    "the gateway's own limiter (C63)": ("local-rate-limit", "ratelimited.no_hint"),
    "for days (C63)": ("rate-limit-for-days", "ratelimited"),
    "a full queue (C69)": ("status-529", "overloaded"),
    "a proxy that parks its accounts (C69)": ("accounts-unavailable", "overloaded"),
}


@pytest.mark.parametrize(("fault", "code"), OWN.values(), ids=OWN)
def test_limited_or_overloaded_is_not_down(fault, code):
    """The turn is not conclusive and says why; nobody is paged, and nobody asks harder."""
    with bed(fault, canary=Canary((COMPLETIONS,))) as on:
        turn = on.take()
    assert not turn.conclusive
    assert turn.reason.startswith(f"{code}: ")
    assert on.alerting.paged == set()
    assert on.alerting.seen[-1][3] == ()
    assert len({call.trial.label for _, call in on.memory.calls}) == 2


def test_the_canary_repeats_nothing_on_the_wire():
    """C65: as many requests arrive as the turn says it spent, whatever the SDK would do by itself."""
    with bed("local-rate-limit", canary=Canary((COMPLETIONS,))) as on:
        turn = on.take()
        calls = [call for _, call in on.memory.calls if call.not_sent is None]
    assert turn.spend.requests == len(calls) == sum(len(call.exchanges) for call in calls)
    assert all(
        dict(e.request.headers).get("x-stainless-retry-count", "0") == "0" for c in calls for e in c.exchanges
    )


# --- what a day may cost -----------------------------------------------------------------------------------


def test_a_day_budget_survives_a_restart():
    """What was spent before counts; the day after there is a new one."""
    canary = Canary((COMPLETIONS,), budgets={"prod": Daily(requests_per_day=4)})
    with bed(canary=canary) as on:
        assert on.take().spend.requests == 2
        on.restart()
        assert on.take().spend.requests == 2
        on.restart()
        over = on.take()
        assert over.missed is Missed.BUDGET
        assert (
            over.reason == "the day's budget of prod is used up: 4 of 4 requests; until 2026-12-01 00:00 UTC"
        )
        assert len(on.memory.runs) == 2
        on.memory.runs.clear()  # of yesterday
        on.wall.at += timedelta(hours=12)
        assert on.take().verdict is Verdict.PASS


def test_a_run_cannot_overdraw_the_day():
    """It is cut off where the day's budget ends, and says that nothing was measured."""
    canary = Canary((COMPLETIONS,), budgets={"prod": Daily(requests_per_day=1)})
    with bed(canary=canary) as on:
        turn = on.take()
    assert turn.spend.requests == 1
    assert ("budget", "prod", "requests", 0.0) in on.metrics.told


def test_entries_beside_each_other_share_the_day():
    """Whichever come first: together never more than the day allows."""
    entries = tuple(replace(COMPLETIONS, name=f"e{number}") for number in range(4))
    with bed(canary=Canary(entries, budgets={"prod": Daily(requests_per_day=5)})) as on:
        takers = [threading.Thread(target=on.take, args=(entry,)) for entry in entries]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
    assert sum(len(call.exchanges) for _, call in on.memory.calls) == 5
    assert on.turns._paces.of(on.named("prod")).day.spend.requests == 5


# --- left out ----------------------------------------------------------------------------------------------


def test_expensive_entries_are_sampled_by_their_times():
    """The share that is wanted, the same in every process, and the rest is recorded."""
    dear = replace(COMPLETIONS, tier="expensive", sample=0.25)
    times = [START + timedelta(minutes=5 * n) for n in range(2000)]
    taken = [share(dear.name, due) < dear.sample for due in times]
    assert 0.2 < sum(taken) / len(taken) < 0.3
    left_out = times[taken.index(False)]
    with bed(canary=Canary((dear,))) as on:
        turn = on.take(due=left_out)
        assert (turn.missed, turn.run) == (Missed.SAMPLED, None)
        assert on.take(due=times[taken.index(True)]).verdict is Verdict.PASS
        cheap = replace(dear, tier="cheap")
        assert on.take(cheap, due=left_out).missed is None


def test_a_turn_after_the_drain_began_is_recorded_as_such():
    """Nothing is sent."""
    with bed(canary=Canary((COMPLETIONS,))) as on:
        on.stop("stopped")
        turn = on.take()
    assert turn.missed is Missed.DRAINED
    assert on.memory.calls == []


def test_a_missing_key_is_what_came_of_the_turn():
    """A mistake of configuration does not end the canary."""
    with bed(canary=Canary((COMPLETIONS,))) as on:
        on.turns._around = replace(on.around, secrets=type(on.around.secrets)({}))
        turn = on.take()
    assert turn.missed is Missed.ERROR
    assert "is not set" in turn.reason


def test_a_bug_of_ours_is_what_came_of_the_turn(capsys):
    """It is told with its traceback, and the canary goes on."""

    def broken(*_):
        raise RuntimeError("no such luck")

    with bed("ai-crawler-rule", canary=Canary((COMPLETIONS,))) as on:
        on.turns._around = replace(on.around, rule=broken)
        turn = on.take()
    assert (turn.missed, turn.reason) == (Missed.ERROR, "a bug of edgeprobe's: RuntimeError")
    assert "no such luck" in capsys.readouterr().err


def test_an_entry_that_cannot_be_is_refused_before_it_is_due():
    """And a reload with one changes nothing."""
    with bed(canary=Canary((COMPLETIONS,))) as on:
        with pytest.raises(UsageError, match="no case of completions has it"):
            on.turns.reload(Canary((replace(COMPLETIONS, overrides={"repeets": "3"}),)))
        assert on.take().verdict is Verdict.PASS


def test_a_reload_keeps_pauses_and_takes_new_limits():
    """A server that asked for a pause is not asked because a file was changed."""
    with bed(limited(400), canary=Canary((COMPLETIONS,))) as on:
        on.take()
        on.changes = {"limits": Limits(concurrency=2)}
        on.turns.reload(on.canary)
        assert on.take().missed is Missed.PAUSED
        assert on.turns._paces.of(on.named("prod")).limits.concurrency == 2


def test_an_entry_that_left_the_file_while_it_was_due_is_still_taken():
    """A reload and a turn do not wait for each other."""
    other = replace(COMPLETIONS, name="other", target="staging")
    with bed(canary=Canary((COMPLETIONS, other))) as on:
        on.turns.reload(Canary((COMPLETIONS,)))
        assert on.take(other).verdict is Verdict.PASS


def test_a_store_that_cannot_be_read_does_not_end_the_measuring(capsys):
    """What it knows is missing, and that is said."""

    def damaged(*_):
        raise UsageError("edgeprobe.db: is damaged")

    with bed("block-all", canary=Canary((COMPLETIONS,))) as on:
        on.memory.passed = damaged
        turn = on.take()
    assert (turn.verdict, turn.missed) == (Verdict.INCONCLUSIVE, None)
    assert "is damaged" in capsys.readouterr().err


# --- whose fault it may be ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "paged", "conclusive"),
    [(200, True, True), (503, True, True), ("no answer in 10 s", False, False)],
    ids=["answers", "answers with an error", "does not answer"],
)
def test_a_failure_is_the_services_only_where_our_network_works(control, paged, conclusive):
    """Where the control address is out of reach too, it says nothing, and the turn says that."""
    canary = Canary((COMPLETIONS,), control="https://control.example/")
    with bed("reset-all", canary=canary, knock=lambda _: control) as on:
        turn = on.take()
    assert bool(on.alerting.paged) is paged
    assert turn.conclusive is conclusive
    assert (turn.verdict is Verdict.FAIL) is paged
    assert ("control", isinstance(control, int)) in on.metrics.told
    if not paged:
        assert turn.reason == "our own network: the control address gave no answer in 10 s"
        assert not any(on.alerting.confirmed)
        assert all(
            f.reason is Reason.TAINTED for f in on.alerting.seen[-1][2] if f.code.startswith("unreach")
        )


def test_what_the_edge_signed_needs_no_control():
    """Its page came through our network."""
    canary = Canary((COMPLETIONS,), control="https://control.example/")
    with bed("ai-crawler-rule", canary=canary, knock=lambda _: "no answer") as on:
        on.take()
    assert on.alerting.paged == {"blocked.client"}
    assert not any(told[0] == "control" for told in on.metrics.told)


class StoodStill:
    """A process that was held up for two seconds in each run."""

    def __init__(self):
        from contextlib import nullcontext

        self.watched = nullcontext

    def since(self, began):
        return [(began, began + 2.0)]


@pytest.mark.parametrize(
    ("fault", "paged"), [("ua-hang", False), ("ai-crawler-rule", True)], ids=["by our clock", "by an answer"]
)
def test_our_own_lag_spoils_what_rests_on_a_clock(fault, paged):
    """A time-out while this process stood still is not the service's; a refusal is, however late it is read."""
    with bed(fault, canary=Canary((COMPLETIONS,)), lag=StoodStill()) as on:
        on.memory.served = {"openai-py": START - timedelta(days=365)}
        turn = on.take()
    assert bool(on.alerting.paged) is paged
    if not paged:
        spoilt = [f for f in on.alerting.seen[-1][2] if f.reason is Reason.TAINTED]
        assert spoilt
        assert all("stood still for 2.0 s" in dict(f.detail)["but"] for f in spoilt)
        assert turn.verdict is Verdict.INCONCLUSIVE


# --- health is no service (C85) ----------------------------------------------------------------------------


def test_a_list_that_fails_is_a_note_where_completions_are_served():
    """C85: confirmed by a second, different check before anybody is woken."""
    lists = replace(COMPLETIONS, name="lists", suite="lists")
    health = Fault(
        "red",
        "the list is not there",
        Do(answer=Answer(status=503, body="unhealthy")),
        When(path="/v1/models"),
    )
    with bed(health, canary=Canary((lists,))) as on:
        turn = on.take()
        assert on.alerting.paged == set()
        assert turn.verdict is Verdict.WARN
        assert turn.spend.requests == sum(run.spend.requests for _, run in on.memory.runs) > 2
        assert any("a completion, asked for at once, was served" in text for f in on.alerting.seen[-1][2] for _, text in f.detail)  # fmt: skip
        on.lab.arm([replace(health, when=When())])
        on.take()
        assert on.alerting.paged


def test_a_model_that_is_not_listed_wakes_nobody():
    """C85: a valid alias need not be in the list."""
    lists = replace(COMPLETIONS, name="lists", suite="lists")
    with bed("unlisted-model", canary=Canary((lists, COMPLETIONS))) as on:
        assert on.take(lists).verdict is Verdict.WARN
        assert on.alerting.paged == set()
        assert on.take(COMPLETIONS).verdict is Verdict.PASS
