"""A body in gzip beside the same body plain."""

from __future__ import annotations

import pytest
from canned import NO_EXCHANGE, as_text, attributed, case, told
from exchanges import exchange

from probes.model import Factor, NotSent, Verdict
from probes.runner import worst
from probes.twins import MORE


def error(status):
    body = {
        "error": {
            "message": "Body must be valid JSON",
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    }
    return attributed(exchange(status, body))


@pytest.mark.parametrize(
    "plain, packed, code, verdict, factor",
    [
        ("good", "good", "ok", Verdict.PASS, None),
        ("good", error(400), "request.encoding", Verdict.WARN, Factor.BODY),
        ("good", error(500), "request.encoding", Verdict.WARN, Factor.BODY),
        ("good", "refused", "request.encoding", Verdict.WARN, Factor.BODY),
        ("good", error(415), "ok", Verdict.PASS, None),
        ("good", "bad gateway", "unreachable.origin", Verdict.INCONCLUSIVE, None),
        ("good", "ratelimited", "ratelimited.no_hint", Verdict.INCONCLUSIVE, None),
        ("good", "timeout", "timeout.first_byte", Verdict.INCONCLUSIVE, None),
        (error(400), error(400), "request.rejected", Verdict.INCONCLUSIVE, None),
        ("refused", "good", "blocked.client", Verdict.INCONCLUSIVE, None),
        ("reset", "reset", "unreachable.reset", Verdict.INCONCLUSIVE, None),
        (NO_EXCHANGE, NO_EXCHANGE, "client.guard", Verdict.INCONCLUSIVE, None),
    ],
    ids=[
        "both", "400", "500", "403", "415", "a broken upstream", "a limit", "silence", "neither", "only compressed",
        "resets", "nothing was sent",
    ],
)  # fmt: skip
def test_what_a_pair_says(plain, packed, code, verdict, factor):
    """Only where the plain request is answered does a refusal of the compressed one say something of it."""
    findings, _ = told(
        case("request_encoding", keyed=True), lambda a: packed if a.trial.request.gzipped else plain
    )
    assert (code, verdict) in {(f.code, f.verdict) for f in findings}, as_text(findings)
    assert worst(findings) is verdict
    assert {f.factor for f in findings} == {factor}


def test_a_refusal_now_and_then_has_no_factor():
    """Where it is not the coding alone, none is claimed, and as many pairs are bought as the question bears."""
    asked = case("request_encoding", keyed=True)
    findings, server = told(
        asked, lambda a: error(400) if a.trial.request.gzipped and a.repeat == 1 else "good"
    )
    [finding] = findings
    assert (finding.code, finding.factor, finding.observed.k) == ("request.encoding", None, 1)
    assert server.asked["gzipped"] == MORE


def test_not_sent():
    """A pair that the budget does not allow is not measured."""
    findings, _ = told(case("request_encoding", keyed=True), lambda _: NotSent.BUDGET)
    assert [(f.code, f.verdict) for f in findings] == [("not_measured", Verdict.INCONCLUSIVE)]
