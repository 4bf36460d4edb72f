"""A request that somebody told is asked again, and said to fail or not to fail here."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from canned import TOLD, as_text, attributed, case, exchange, run_of, told

from probes.complaint import from_document, to_document
from probes.document import from_document as run_from
from probes.document import to_document as run_to
from probes.kinds.reproduction.outcome import outcome
from probes.model import NotSent, Verdict
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
