"""A request that somebody told is asked again, and said to fail or not to fail here."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from canned import TOLD, answer, as_text, attributed, case, exchange, run_of, told

from probes.complaint import from_document, to_document
from probes.document import from_document as run_from
from probes.document import to_document as run_to
from probes.kinds.reproduction.family import with_families
from probes.kinds.reproduction.outcome import outcome
from probes.model import Factor, NotSent, Verdict
from probes.runner import judge, replay

WORDS = {
    "refused": ("CANNOT: not the request", Verdict.INCONCLUSIVE),
    "good": ("NOT REPRODUCED in 6", Verdict.PASS),
}


@pytest.mark.parametrize("answer", WORDS)
def test_it_says_whether_it_fails_here_too(answer):
    """Each answer to the request as told ends in its word."""
    findings, _ = told(case("reproduction"), lambda _: answer)
    word, verdict = WORDS[answer]
    assert outcome(findings).startswith(word), as_text(findings)
    assert findings[0].verdict is verdict


def test_a_wait_that_ended_while_the_probe_itself_was_late_is_no_failure():
    """Of a bound of ours alone: it waited for what may have been there, and the others decide."""
    ended = exchange(None, error=("deadline", "headers"))
    late = replace(ended, conditions={"stalls": [[0.0, ended.timeline.end or 1.0]]})

    def asked_first(answer):
        return told(case("reproduction"), lambda asked: answer if asked.repeat == 0 else "good")[0]

    assert outcome(asked_first(late)).startswith("NOT REPRODUCED in 4")
    findings, _ = told(case("reproduction"), lambda _: late)
    assert (outcome(findings), findings[0].reason) == (
        "CANNOT: this process itself ran late whenever it waited",
        "tainted",
    )
    assert not outcome(asked_first(ended)).startswith("NOT REPRODUCED")


CUT_SHORT = attributed(exchange(None, error=("interrupted", "headers")))


@pytest.mark.parametrize(
    ("answers", "said", "reason"),
    [
        pytest.param([CUT_SHORT, NotSent.INTERRUPTED], "CANNOT: it was interrupted before it was known", "interrupted", id="the first"),
        pytest.param(["refused", CUT_SHORT, NotSent.INTERRUPTED], "CANNOT: it fails here, too (1 of 1: 403", "interrupted", id="the second"),
        pytest.param(["good", CUT_SHORT, NotSent.INTERRUPTED], "CANNOT: it was interrupted before it was known", "interrupted", id="after a pass"),
        pytest.param(["our limit"], "CANNOT: the probe ended each answer at a bound of its own", "budget", id="all too long"),
        pytest.param(["our limit", "good"], "NOT REPRODUCED in 5", None, id="one too long"),
        pytest.param(["refused", "our limit", "refused"], "CANNOT: not the request", "blocked", id="too long beside it"),
    ],
)  # fmt: skip
def test_what_the_probe_itself_ended_is_no_failure(answers, said, reason):
    """An interrupt and a limit of ours count neither as a failure of the told request nor as an answer beside it; the last
    of `answers` goes on.
    """
    findings, _ = told(case("reproduction"), lambda asked: answers[min(asked.number, len(answers) - 1)])
    [finding] = findings
    assert (outcome(findings).startswith(said), finding.reason) == (True, reason), as_text(findings)
    assert finding.observed is None or finding.observed.k in {0, finding.observed.n}, as_text(findings)


@pytest.mark.parametrize("first", [1, 2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("over", ["curl", "a long body"])
def test_what_ends_for_everybody_went_away(first, over):
    """Where every failure came before every pass, the order in time says so, and no rate is told of it."""
    long = replace(TOLD, body=TOLD.body.replace(b"Hi.", b"word " * 5_000))
    asked = case("reproduction", told=TOLD if over == "curl" else long)
    findings, server = told(asked, lambda asked: "refused" if asked.number < first else "good")
    [finding] = findings
    assert outcome(findings).startswith("CANNOT: it went away by itself"), as_text(findings)
    assert (finding.verdict, finding.reason) == (Verdict.INCONCLUSIVE, "drift")
    assert server.sent <= 30


def test_what_was_told_is_stored_with_the_run():
    """A run comes back from JSON with the request that it is about, and is judged the same."""
    asked = case("reproduction")
    findings, server = told(asked, lambda _: "refused")
    text = json.dumps(run_to(run_of(asked, server.calls, findings), chunks=True))
    again = run_from(json.loads(text))
    assert again.cases[0].params["told"] == TOLD
    assert judge(again.cases[0], replay(again, again.cases[0])) == findings


def test_a_told_request_is_json():
    """What becomes JSON comes back as it was, with a body of any bytes."""
    assert from_document(json.loads(json.dumps(to_document(TOLD)))) == TOLD


@pytest.mark.parametrize(
    ("over_4", "said", "family"),
    [
        pytest.param("good", "REPRODUCED", None, id="the family"),
        pytest.param("refused", "CANNOT: not the request", "over IPv6 the name does not resolve for httpx", id="everybody"),
    ],
)  # fmt: skip
def test_a_family_that_another_client_finds_no_name_in_is_still_compared(over_4, said, family):
    """Of a request told over IPv6 the other family is asked, and what only found no name is no silence of the service's."""
    asked = case("reproduction", told=replace(TOLD, family=6, client="curl"))
    edge = replace(asked.target.routes["edge"], family=6)
    asked = replace(asked, target=with_families(replace(asked.target, routes={"edge": edge}), "edge"))

    def mind(asked):
        over = 4 if asked.trial.route == "edge-ipv4" else 6
        if over == 6 and asked.client != "curl":
            return "no name"
        peer = "[2001:db8::1]:80" if over == 6 else "192.0.2.1:80"
        return replace(answer("refused" if over == 6 else over_4), conditions={"peer": peer})

    findings, server = told(asked, mind)
    rows = dict(findings[0].detail)
    assert outcome(findings).startswith(said), as_text(findings)
    assert (findings[0].factor is Factor.FAMILY) is (said == "REPRODUCED")
    assert family is None or family in rows["family"]
    assert [call.trial.route for call in server.calls].count("edge-ipv4") >= 1
    assert sum(call.last.error is not None for call in server.calls) <= 1
