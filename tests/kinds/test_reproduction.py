"""A request that somebody told is asked again, and said to fail or not to fail here."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from canned import TOLD, as_text, case, exchange, run_of, told

from probes.complaint import from_document, to_document
from probes.document import from_document as run_from
from probes.document import to_document as run_to
from probes.kinds.reproduction.outcome import outcome
from probes.model import Verdict
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
