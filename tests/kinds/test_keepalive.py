"""Idle connections: alive, closed in the open, given up by the client, or dead under a request."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import CURL, HTTPX, OPENAI, answer, as_text, case, told

from probes.kinds.keepalive.reuse import known_timers
from probes.model import Confidence, Factor, Layer, NotSent, Reason, Timeline, Verdict
from probes.runner import worst

STEPS = [1.0, 5.0, 30.0]


def seen(name, connection, **conditions):
    return replace(answer(name), conditions={"connection": connection, **conditions})


FRESH = seen("passed", "new")
ALIVE = seen("passed", "reused")
CLOSED = seen("passed", "new", idle_end="closed")


def idle(asked):
    """Seconds that the request's connection idled; `None` for a fresh one and for the first on a kept one."""
    return asked.trial.start if asked.trial.label.endswith("/variant") else None


def from_30_on(ending):
    """Connections bear less than 30 s."""

    def mind(asked):
        seconds = idle(asked)
        return FRESH if seconds is None else ending if seconds >= 30 else ALIVE

    return mind


def judged(mind, clients=(HTTPX,), **params):
    return told(case("keepalive", clients, **{"idle": STEPS, **params}), mind)


@pytest.mark.parametrize(
    "ending, confidence",
    [
        (seen("reset", "reused"), Confidence.HIGH),
        (seen("closed", "reused"), Confidence.HIGH),
        (seen("timeout", "reused"), Confidence.MEDIUM),
    ],
    ids=["reset", "closed", "silent"],
)
def test_a_connection_that_takes_a_request_and_is_dead(ending, confidence):
    """Three of three, with the bracket, and beside each the same request on a fresh connection."""
    findings, server = judged(from_30_on(ending))
    (found,) = findings
    assert (found.code, found.verdict, found.layer) == ("connection.stale", Verdict.FAIL, Layer.UNKNOWN)
    assert (found.factor, found.observed.k, found.observed.n) == (Factor.CONNECTION, 3, 3)
    assert found.confidence is confidence
    assert found.figures["survived"].value == 24
    assert (found.figures["cliff"].low, found.figures["cliff"].high, found.figures["cliff"].n) == (24, 30, 3)
    assert dict(found.detail)["cliff"] == "good after 24 s, dead after 30 s"
    assert "below 24 s" in found.advice
    assert {found.control, found.variant} <= {call.exchanges[0].id for call in server.calls}


def test_it_is_asked_again_on_connections_of_their_own():
    """Further samples idle side by side, each on another connection, and each request has its fresh twin."""
    _, server = judged(from_30_on(seen("reset", "reused")))
    last = [call for call in server.calls if idle_of(call) == 30]
    assert [call.trial.session for call in last] == ["kept", None, "kept.1", None, "kept.2", None]
    assert [call.repeat for call in last] == [0, 0, 1, 1, 2, 2]


def idle_of(call):
    return call.trial.start or None


def breaks(dead):
    """A reset after the idle times for which `dead` holds."""
    reset = seen("reset", "reused")
    return lambda asked: FRESH if (s := idle(asked)) is None else reset if dead(s) else ALIVE


def test_times_in_between_are_tried_beside_the_further_samples():
    """The bracket is as narrow as they make it, and a timer outside it is not named."""
    findings, _ = judged(breaks(lambda seconds: seconds >= 3), idle=[1.0, 5.0])
    rows = dict(findings[0].detail)
    assert rows["cliff"] == "good after 2 s, dead after 3 s"
    assert "lie between" not in rows
    findings, _ = judged(breaks(lambda seconds: seconds >= 5), idle=[1.0, 6.0])
    assert "uvicorn" in dict(findings[0].detail)["lie between"]


def test_times_in_between_that_contradict_each_other_narrow_nothing():
    """A longer idle was borne than one that was not: then it is no timer's doing alone."""
    findings, _ = judged(breaks(lambda seconds: seconds in {2, 5}), idle=[1.0, 5.0])
    assert dict(findings[0].detail)["cliff"] == "good after 1 s, dead after 5 s"


def test_nothing_longer_is_waited_for_once_it_broke():
    """Steps go up, and the first that breaks is the last."""
    findings, server = judged(
        lambda a: seen("reset", "reused") if (idle(a) or 0) >= 5 else from_30_on(FRESH)(a)
    )
    assert findings[0].figures["cliff"].value == 5
    assert max(call.trial.start for call in server.calls) == 5


def test_it_breaks_only_sometimes():
    """A failure is a fail with its rate; the factor is not claimed of one in three."""
    findings, _ = judged(lambda a: ALIVE if a.repeat and idle(a) else from_30_on(seen("reset", "reused"))(a))
    (found,) = findings
    assert (found.code, found.verdict, found.factor) == ("connection.stale", Verdict.FAIL, None)
    assert (found.observed.k, found.observed.n, found.confidence) == (1, 3, Confidence.LOW)
    assert found.reason is Reason.MIXED


def test_one_that_is_dead_at_once():
    """A server that closes after each answer without saying so."""
    findings, _ = judged(lambda a: FRESH if idle(a) is None else seen("closed", "reused"))
    (found,) = findings
    assert found.code == "connection.stale"
    assert dict(found.detail)["cliff"] == "dead after 0 s already"
    assert "survived" not in found.figures


@pytest.mark.parametrize("how", ["closed", "reset", "data"])
def test_a_close_that_the_client_sees_is_no_fault(how):
    """It is told, with its bracket."""
    findings, _ = judged(from_30_on(seen("passed", "new", idle_end=how)))
    (found,) = findings
    assert (found.code, found.verdict) == ("ok", Verdict.PASS), as_text(findings)
    assert "between 5 and 30 s" in found.title
    assert (found.figures["closed"].low, found.figures["closed"].high) == (5, 30)
    assert "less than 5 s" in dict(found.detail)["so"]


def test_one_that_bears_all():
    """Green says how far it goes."""
    findings, server = judged(lambda a: FRESH if idle(a) is None else ALIVE)
    (found,) = findings
    assert (found.code, found.verdict, found.figures["survived"].value) == ("ok", Verdict.PASS, 30)
    assert "not tested beyond" in found.title
    assert len(server.calls) == 1 + 2 * (1 + len(STEPS))


def test_a_pool_of_the_clients_own():
    """What it gives up itself is no finding of the service's, and green goes no further than what it kept."""
    findings, _ = judged(from_30_on(FRESH), clients=(OPENAI,))
    (found,) = findings
    assert (found.code, found.figures["survived"].value) == ("ok", 5)
    assert "closed" not in found.figures


@pytest.mark.parametrize(
    "answered, why",
    [
        (replace(FRESH, headers={**FRESH.headers, "connection": ["close"]}), "connection: close"),
        (seen("passed", "new", http_version="HTTP/1.0"), "HTTP/1.0"),
        (CLOSED, "the peer closed it"),
        (FRESH, "the client opened another"),
    ],
    ids=["connection: close", "HTTP/1.0", "closed", "the client"],
)
def test_nothing_is_used_twice(answered, why):
    """Then no idle time is waited for, and it is not green."""
    findings, server = judged(lambda _: answered, clients=(CURL,))
    (found,) = findings
    assert (found.code, found.verdict, found.reason) == ("not_measured", Verdict.INCONCLUSIVE, Reason.TOO_FEW)
    assert why in dict(found.detail)["seen"]
    assert max(call.trial.start for call in server.calls) == 0


def test_nothing_is_kept_beyond_a_second():
    """A pool that gives up its connection before the first step shows nothing."""
    findings, _ = judged(lambda a: ALIVE if idle(a) == 0 else FRESH)
    assert [(f.code, f.reason) for f in findings] == [("not_measured", Reason.TOO_FEW)]


@pytest.mark.parametrize("fresh, code", [("reset", "unreachable.reset"), ("timeout", "timeout.first_byte")])
def test_a_fresh_connection_that_fails_as_well(fresh, code):
    """Then idling is not the cause."""
    findings, _ = judged(
        lambda a: seen(fresh, "new") if a.trial.session is None and a.trial.start == 30 else from_30_on(seen("reset", "reused"))(a)
    )  # fmt: skip
    (found,) = findings
    assert (found.code, found.factor) == (code, None)
    assert found.verdict is (Verdict.INCONCLUSIVE if fresh == "timeout" else Verdict.FAIL)


@pytest.mark.parametrize("at", [0, 3, 8, 10])
def test_one_that_is_not_sent(at):
    """Never green, and what was found before it stays found."""
    mind = from_30_on(seen("reset", "reused"))
    findings, _ = judged(lambda a: NotSent.BUDGET if a.number >= at else mind(a))
    assert worst(findings) is (Verdict.FAIL if at >= 8 else Verdict.INCONCLUSIVE)
    assert Reason.BUDGET in {f.reason for f in findings}


def test_each_client_for_itself():
    """One whose connection broke does not stop the other."""
    dead = from_30_on(seen("reset", "reused"))
    findings, _ = judged(
        lambda a: dead(a) if a.client == "httpx" else FRESH if idle(a) is None else ALIVE, (HTTPX, OPENAI)
    )
    assert {f.client: f.code for f in findings} == {"httpx": "connection.stale", "openai-py": "ok"}


def test_no_token_is_bought():
    """Every request is refused before inference, with a made-up key where there is none."""
    for keyed in (True, False):
        _, server = told(case("keepalive", (HTTPX,), keyed=keyed, idle=STEPS), from_30_on(CLOSED))
        asked = {(call.trial.request.recipe, call.trial.request.key) for call in server.calls}
        assert asked == {("invalid", "target" if keyed else "made_up")}


@pytest.mark.parametrize(
    "above, until, named",
    [
        (
            60,
            80,
            "nginx keepalive_timeout (75 s) or Azure Application Gateway keep-alive to the client on v2 (75 s)",
        ),
        (4, 5, "uvicorn timeout-keep-alive (5 s)"),
        (5, 30, None),
    ],
)
def test_known_timers(above, until, named):
    """Those inside the bracket; what was borne can't be the timer."""
    assert dict(known_timers(above, until)).get("lie between") == (f"{named}; not proven" if named else None)


def test_times_are_those_of_the_call():
    """An answer that was begun and cut still came over the idle connection."""
    cut = replace(seen("cut json", "reused"), timeline=Timeline(upload_end=0.0, headers=0.1, end=0.2))
    findings, _ = judged(lambda a: FRESH if idle(a) is None else cut)
    assert findings[0].figures["survived"].value == 30
