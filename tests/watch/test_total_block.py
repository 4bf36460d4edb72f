"""Everybody is refused: what is said with and without a history (C13)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from turned import START, Canary, Entry, bed

from probes.canary import Missed
from probes.lab.faults import Do, Fault
from probes.lab.when import HeaderTest, When
from probes.model import Layer, Verdict


@pytest.fixture(autouse=True)
def suites(tmp_path, monkeypatch):
    """A suite of one question."""
    (tmp_path / "suites").mkdir()
    rows = "version: 1\nname: only\ncases:\n  - {kind: completion, clients: genuine}\n"
    (tmp_path / "suites" / "only.yaml").write_text(rows)
    monkeypatch.chdir(tmp_path)


BEFORE = START - timedelta(hours=2)
SMOKE = Entry()
BLOCKS = ["challenge-all", "block-all", "security-policy"]


@pytest.mark.parametrize("fault", BLOCKS)
def test_without_a_history_it_is_unknown(fault):
    """Our monitor is refused: no failure, no page, never that the service is down."""
    with bed(fault, canary=Canary((SMOKE,))) as on:
        turn = on.take()
    assert (turn.verdict, turn.conclusive, turn.missed) == (Verdict.INCONCLUSIVE, False, None)
    assert "probe.blocked" in turn.reason
    assert on.alerting.paged == set()
    assert "down" not in turn.reason.split()


@pytest.mark.parametrize("fault", BLOCKS)
def test_where_the_same_clients_were_served_before_it_is_a_regression(fault):
    """It names all clients of this vantage, since when, and whose refusal it is; it is confirmed at once, and stored."""
    with bed(fault, canary=Canary((SMOKE,))) as on:
        now = on.wall.at = on_the_clock()
        on.memory.served = {"openai-py": now - timedelta(hours=3), "httpx": now - timedelta(hours=2)}
        turn = on.take()
    assert (turn.verdict, turn.conclusive, turn.reason) == (Verdict.FAIL, True, None)
    assert on.alerting.paged == {"regression.outcome"}
    [found] = [f for f in on.alerting.seen[-1][2] if f.code == "regression.outcome"]
    since = now - timedelta(hours=2)
    assert found.title == (
        f"All clients of this vantage are refused since {since:%Y-%m-%d %H:%M} UTC, when one was last served"
    )
    assert found.client is None
    assert (found.layer, found.product) == ((Layer.UNKNOWN, None) if fault == "security-policy" else (Layer.EDGE, "Cloudflare"))  # fmt: skip
    told = " ".join(text for _, text in found.detail)
    assert "openai-py and httpx" in told or "httpx and openai-py" in told
    assert "whether the service is down cannot be seen from here" in told
    assert all(found.code in {f.code for f in run.findings} for _, run in on.memory.runs)
    assert [run.verdict for _, run in on.memory.runs] == [Verdict.FAIL] * 2
    assert len(on.alerting.confirmed) == 1
    assert all(on.alerting.confirmed)


@pytest.mark.parametrize("served", [True, False], ids=["served before", "never served"])
def test_a_list_that_everybody_is_refused_is_no_mere_warning(tmp_path, served):
    """Where the entry asks for nothing else, and completions are refused as well."""
    rows = "version: 1\nname: list\ncases:\n  - {kind: models, clients: [httpx]}\n"
    (tmp_path / "suites" / "list.yaml").write_text(rows)
    canary = Canary((Entry(suite="list", clients=()),))
    with bed("block-all", canary=canary, endpoints=("chat", "models")) as on:
        on.memory.served = {"httpx": BEFORE.replace(year=2025)} if served else {}
        turn = on.take()
    assert on.alerting.paged == ({"regression.outcome"} if served else set())
    assert turn.conclusive is served


def on_the_clock():
    from datetime import UTC, datetime

    return datetime.now(UTC)


def test_one_client_without_a_history_is_named_as_such():
    """Of it alone nothing can be said."""
    with bed("block-all", canary=Canary((SMOKE,))) as on:
        on.memory.served = {"httpx": BEFORE.replace(year=2025)}
        on.take()
    [found] = [f for f in on.alerting.seen[-1][2] if f.code == "regression.outcome"]
    assert ("not known", "openai-py was never served from here") in found.detail


@pytest.mark.parametrize(
    "fault", ["ai-crawler-rule", "rate-limit", "reset-all", "accounts-unavailable"], ids=str
)
def test_what_is_no_total_block_has_no_such_finding(fault):
    """One client is refused, all are limited, cut off or told of overload: each is called what it is."""
    with bed(fault, canary=Canary((SMOKE,))) as on:
        on.memory.served = {"openai-py": BEFORE.replace(year=2025), "httpx": BEFORE.replace(year=2025)}
        turn = on.take()
    assert turn.missed is not Missed.ERROR
    assert "regression.outcome" not in {f.code for _, run in on.memory.runs for f in run.findings}


# --- by whoever only knocks --------------------------------------------------------------------------------

WHO = Canary((Entry(suite="identity", clients=("openai-py", "httpx", "curl")),))
EVERYBODY = {
    "challenge-all": ("regression.outcome", "are refused since", "managed challenges", Layer.EDGE),
    "block-all": ("regression.outcome", "are refused since", "Look up the ray in Security Events", Layer.EDGE),
    "status-529": ("overloaded", "Overloaded, for all clients", "growing delay", Layer.ORIGIN),
    "page-522": ("unreachable.origin", "can't reach the origin, for all", "completes its answers", Layer.EDGE),
    "silent": ("timeout.first_byte", "No answer within", "which layer holds the requests", Layer.UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("fault", EVERYBODY)
def test_where_all_were_let_in_before_that_nobody_is_is_a_failure(fault):
    """Told as what it is: the layer, the advice and the id to look it up by are the answer's own; never "down"."""
    code, title, advice, layer = EVERYBODY[fault]
    with bed(fault, canary=WHO) as on:
        on.memory.knocked = dict.fromkeys(("openai-py", "httpx", "curl"), BEFORE.replace(year=2025))
        turn = on.take()
    assert on.alerting.paged == {code}
    assert (turn.verdict, turn.conclusive) == (Verdict.FAIL, True)
    [found] = [f for f in on.alerting.seen[-1][2] if f.verdict is Verdict.FAIL]
    assert title in found.title
    assert "since 2025-11-30 10:00 UTC, when one was last let in" in found.title
    assert ("clients asked from" if fault == "silent" else "clients of") + " this vantage" in found.title
    assert (found.layer, found.client) == (layer, None)
    assert advice in found.advice
    said = dict(found.detail)
    assert ("ray " in said.get("look up", "")) is (layer is Layer.EDGE)
    assert said["before"].startswith("let in at 2025-11-30 10:00 UTC: ")
    (_, run), *_ = on.memory.runs
    asked = sum(call.last is not None for call in run.calls)
    assert f"{asked} of {asked} requests" in said["seen"]
    assert (found.observed.k, found.observed.n) == (asked, asked)
    assert "down" not in found.title.split()
    assert len(on.alerting.confirmed) == 1
    assert all(on.alerting.confirmed)


@pytest.mark.parametrize("let_in", [True, False], ids=["let in before", "never let in"])
@pytest.mark.parametrize("fault", ["rate-limit", "rate-limit-unhinted"])
def test_a_rate_limit_of_the_edge_that_hits_all_is_named_and_stays_unclear(fault, let_in):
    """It may be our own rate: no failure; but whose limit it is, since when, and what to look at."""
    with bed(fault, canary=WHO) as on:
        on.memory.knocked = dict.fromkeys(WHO.entries[0].clients, BEFORE.replace(year=2025)) if let_in else {}
        turn = on.take()
    assert on.alerting.paged == set()
    assert (turn.verdict, turn.conclusive) == (Verdict.INCONCLUSIVE, False)
    since = " since 2025-11-30 10:00 UTC, when one was last let in" if let_in else ""
    (_, run), *_ = on.memory.runs
    asked = next(call.trial.client for call in run.calls if call.last is not None)
    one = f"{asked} away, the only client asked" + (
        "," if let_in else ""
    )  # what it is asked to wait for, it waits
    whom = one if fault == "rate-limit" else "all clients of this vantage away"
    assert turn.reason.endswith(f": The edge's rate limit (Cloudflare 1015) turns {whom}{since}")
    found = next(f for f in on.alerting.seen[-1][2] if f.code.startswith("ratelimited"))
    assert "limits.per_minute" in found.advice
    assert "rate limiting rules" in found.advice
    assert ("before" in dict(found.detail)) is let_in


def test_a_limit_of_the_api_is_not_the_edge_s():
    """It counts what our own key asks."""
    with bed("retry-after-renamed", canary=WHO) as on:
        on.memory.knocked = dict.fromkeys(WHO.entries[0].clients, BEFORE.replace(year=2025))
        turn = on.take()
    assert "The edge's rate limit" not in (turn.reason or "")


def test_in_scaled_time_what_was_before_is_told_by_the_clock_of_people():
    """And without a time where it is not known, as after a restart."""
    for known in (True, False):
        with bed("challenge-all", canary=WHO) as on:
            on.wall.shown = lambda at, known=known: at - timedelta(hours=1) if known else None
            on.memory.knocked = dict.fromkeys(WHO.entries[0].clients, BEFORE.replace(year=2025))
            on.take()
        [found] = [f for f in on.alerting.seen[-1][2] if f.verdict is Verdict.FAIL]
        since = (
            " since 2025-11-30 09:00 UTC, when one was last let in" if known else "; before, they were let in"
        )
        assert found.title.endswith(f"are refused{since}")
        row = dict(found.detail)["before"]
        assert row.startswith("let in at 2025-11-30 09:00 UTC: " if known else "let in: ")


def test_it_is_known_when_each_answer_came_and_when_one_was_let_in():
    """An outbreak begins with the first bad answer, not with the run."""
    with bed("challenge-all", canary=WHO) as on:
        let_in = BEFORE.replace(year=2025)
        on.memory.knocked = dict.fromkeys(WHO.entries[0].clients, let_in)
        on.take()
    first = on.alerting.first
    assert first.served == let_in
    assert set(first.heard) == {call.id for call in first.run.calls}


@pytest.mark.parametrize("fault", [*EVERYBODY, "rate-limit"])
def test_that_others_questions_were_answered_says_nothing_of_a_made_up_key(fault):
    """An edge may turn unknown keys away for ever; and a limit of our own is nobody's outage."""
    with bed(fault, canary=WHO) as on:
        names = dict.fromkeys(("openai-py", "httpx", "curl"), BEFORE.replace(year=2025))
        if fault == "rate-limit":
            on.memory.knocked = names
        else:
            on.memory.served = {**names, "curl": START}
        turn = on.take()
    assert on.alerting.paged == set()
    assert not turn.conclusive


def test_some_are_refused_and_some_get_no_answer():
    """Nobody is served all the same, and that is what is said."""
    with bed("python-challenge", "page-522", canary=WHO) as on:
        on.memory.knocked = dict.fromkeys(("openai-py", "httpx", "curl"), BEFORE.replace(year=2025))
        on.take()
    assert on.alerting.paged == {"regression.outcome"}
    [found] = [f for f in on.alerting.seen[-1][2] if f.verdict is Verdict.FAIL]
    assert found.title.startswith("All clients of this vantage are refused or get no answer since 2025-11-30")


def test_what_is_known_better_takes_the_place_of_what_was_unclear():
    """Of one thing a report says one thing."""
    with bed("status-529", canary=WHO) as on:
        on.memory.knocked = dict.fromkeys(("openai-py", "httpx", "curl"), BEFORE.replace(year=2025))
        turn = on.take()
    (_, first), *_ = on.memory.runs
    assert [(f.code, f.verdict) for f in first.findings] == [("overloaded", Verdict.FAIL)]
    assert first.verdict is turn.verdict is Verdict.FAIL


def test_a_user_agent_that_is_held_is_told_at_once_where_it_was_let_in():
    """Too few tries for a proof by the control alone: what to look for is the edge's rule, not our limit."""
    with bed("ua-hang", canary=WHO) as on:
        on.memory.knocked = {"openai-py": BEFORE.replace(year=2025)}
        on.take()
    assert on.alerting.paged == {"timeout.first_byte"}
    found = next(f for f in on.alerting.seen[-1][2] if f.verdict is Verdict.FAIL)
    assert "rule that holds up" in found.advice
    assert "limits.deadline" not in found.advice


# --- nobody answers ----------------------------------------------------------------------------------------


def test_of_a_client_that_need_not_pass_a_silence_is_a_warning():
    """As a refusal of it is: python-httpx is no SDK of this API."""
    held = Fault("held", "", Do(end="hang"), When(headers=(HeaderTest("user-agent", contains="httpx"),)))
    with bed(held, canary=Canary((Entry(suite="only"),))) as on:
        on.memory.served = dict.fromkeys(("openai-py", "httpx"), BEFORE.replace(year=2025))
        turn = on.take()
    assert on.alerting.paged == set()
    assert turn.verdict is Verdict.WARN


def test_who_is_let_in_was_not_served():
    """A long answer that was always waited for in vain is no news of a client whose made-up key is turned down."""
    with bed("silent", canary=Canary((Entry(suite="only"),))) as on:
        on.memory.knocked = dict.fromkeys(("openai-py", "httpx"), BEFORE.replace(year=2025))
        on.take()
    assert on.alerting.paged == set()


@pytest.mark.parametrize("served", [(), ("openai-py",), ("openai-py", "httpx")], ids=str)
@pytest.mark.parametrize("fault", ["silent", "ua-hang"])
def test_waiting_in_vain_is_a_failure_of_those_that_were_served(fault, served):
    """For as long as we wait: unknown without a history, and never one of a client that is served."""
    with bed(fault, canary=Canary((Entry(suite="only"),))) as on:
        on.memory.served = {name: BEFORE.replace(year=2025) for name in served}
        turn = on.take()
    failing = {name for name in served if fault == "silent" or name == "openai-py"}
    assert on.alerting.paged == ({"timeout.first_byte"} if failing else set())
    assert (turn.verdict is Verdict.FAIL) is bool(failing)
    assert turn.conclusive is (bool(failing) or fault == "ua-hang")
    told = [dict(f.detail)["before"] for f in on.alerting.seen[-1][2] if "before" in dict(f.detail)]
    assert [all(name in text for name in failing) for text in told] == ([True] if failing else [])
    for found in on.alerting.seen[-1][2]:
        if found.code == "timeout.first_byte" and fault == "ua-hang":
            assert "httpx is answered soon" in found.title
            assert "rule that holds up" in found.advice
    assert len(on.alerting.confirmed) == (1 if failing else 0)
    assert all(on.alerting.confirmed)
