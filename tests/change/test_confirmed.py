"""When is a changed look sure enough to tell people, and when is it told no more?"""

from __future__ import annotations

import pytest
from test_fingerprint import good, run

from probes.change.confirmed import KEPT, confirmed
from probes.change.differences import Outcome
from probes.change.fingerprint import fingerprint, merged

HOW = {
    "o": {},
    "n": {"x-policy": "1"},
    "v": {"x-policy": "1", "server": "other"},
}
"""The old look, a new one, and another new one, of each answer of a run."""


def told(day: str) -> list[list[str]]:
    """What each run of a day confirms: a run is a letter for all of its answers, or as many letters in brackets."""
    runs, rest = [], list(day.replace(" ", ""))
    while rest:
        letters = [rest.pop(0)]
        if letters == ["("]:
            end = rest.index(")")
            letters, rest = rest[:end], rest[end + 1 :]
        answers = letters if len(letters) > 1 else letters * 4
        runs.append(run([good(HOW[letter]) for letter in answers], len(runs)))
    looks = [fingerprint([one]) for one in runs]
    return [
        sorted(c.of for c in confirmed(looks[max(0, end - KEPT) : end]) if c.outcome is Outcome.CHANGED)
        for end in range(1, len(looks) + 1)
    ]


DAYS = {
    "a new header": ("ooooonnnnnnnn", {6: ["header x-policy"]}),
    "a header that is gone": ("nnnnnooooooooo", {6: ["header x-policy"]}),
    "two, one after the other": ("ooooonnnvvvv", {6: ["header x-policy"], 9: ["header server", "products on the way"]}),
    "one run alone": ("ooooonooooo", {}),
    "in the middle of a run": ("ooooo(oonn)nnnnn", {7: ["header x-policy"]}),
    "the last answers of a run": ("ooooo(ooon)nnnnn", {7: ["header x-policy"]}),
    "machines that take turns": ("onooonnonnoonnnonoooonnn", {}),
    "machines that share a run": ("(oonn)(onon)(oonn)(nnoo)(oooo)(nnnn)(oonn)", {}),
    "too few before": ("oonnnnnnn", {}),
    "back after it was the look for long": ("ooooonnnnnnnnnnoo", {6: ["header x-policy"], 16: ["header x-policy"]}),
    "back while the look before is remembered": ("ooooonnoooooo", {6: ["header x-policy"]}),
    "nothing": ("oooooooooo", {}),
}  # fmt: skip


@pytest.mark.parametrize(("day", "expected"), DAYS.values(), ids=DAYS)
def test_two_runs_in_a_row_confirm_it_once(day, expected):
    """By the number of the run that does, from 0 on."""
    assert {number: of for number, of in enumerate(told(day)) if of} == expected


def test_fingerprints_of_single_runs_are_together_that_of_all():
    """Whatever they are made of."""
    runs = [run([good(HOW[letter])] * 2, number) for number, letter in enumerate("ovn")]

    def values(traits):
        return {(t.of, t.where, t.route): sorted(map(repr, t.seen)) for t in traits}

    assert values(merged(fingerprint([one]) for one in runs)) == values(fingerprint(runs))
