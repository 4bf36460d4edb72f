"""Of a request that was asked twice: is it fixed, still there, another failure, or can't it be told?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import TOLD, case, run_of, told

from probes.complaint import digest_of
from probes.repro.since import since, tries


def run(answer, *, differs=()):
    """`answer`: to the n-th request, or to all."""
    asked = case("reproduction")
    asked = replace(asked, params={**asked.params, "told": replace(TOLD, differs=differs)})
    turn = iter(range(1000))
    findings, server = told(asked, lambda _: answer(next(turn)) if callable(answer) else answer)
    return run_of(asked, server.calls, findings)


def now_and_then(n):
    return "refused" if n % 3 == 0 else "good"


SINCE = {
    "still there": ("refused", "refused", "CANNOT: not the request"),
    "gone": ("refused", "good", "FIXED: it failed on 2026-11-29, and now 5 of 5 pass"),
    "was now and then": (now_and_then, "good", "CANNOT: it failed on 2026-11-29 "),
}


@pytest.mark.parametrize("name", SINCE)
def test_what_is_said(name):
    """The word is never better than what was asked bears."""
    before, now, word = SINCE[name]
    assert since(run(before), run(now)).startswith(word)


def test_what_comes_and_goes_takes_more_passes():
    """As many as luck does not explain; what failed each time takes none beyond the usual."""
    before = run(now_and_then)
    assert 5 < tries(before) <= 20
    assert tries(run("refused")) is None
    said = since(before, run("good"))
    assert said.endswith("fails now can be chance; ask again"), said


def test_another_value_of_a_header_proves_nothing():
    """It may be the value that was refused."""
    said = since(run("refused"), run("good", differs=("X-Tenant",)))
    assert said.startswith("CANNOT: it failed on 2026-11-29, and not with another value of X-Tenant")


def test_a_digest_tells_values_apart_and_not_what_they_were():
    """The same value has the same, another has another, and one is shared by many."""
    assert digest_of("X-Tenant", "blue") == digest_of("x-tenant", "blue") != digest_of("x-tenant", "red")
    assert len(digest_of("X-Tenant", "blue")) == len("scrypt:0000")
