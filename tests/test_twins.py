"""Is the factor claimed when, and only when, the two sides say so?"""

from dataclasses import replace
from math import comb

import pytest
from exchanges import exchange
from hypothesis import given
from hypothesis import strategies as st

from probes.model import Ask, Call, NotSent, Trial, WireRequest
from probes.twins import MORE, REPEATS, Side, Twin, cells, confounders, fisher, one, side, twin, wilson

CONTROL = Trial("k/control", "curl", "edge", Ask("chat"))
VARIANT = Trial("k/variant", "openai-py", "edge", Ask("chat"))


def came(trial, failed=False, not_sent=None):
    return Call(id="i", case="c", trial=trial, repeat=0, returned="no" if failed else "ok", not_sent=not_sent)


def has_failed(call):
    return call.returned == "no"


def drive(flow, answers):
    """Drives a flow; `answers(trial, n)` is true where the n-th repeat of its label fails, or a NotSent."""
    steps, counts = [], {}
    try:
        trials = next(flow)
        while True:
            steps.append(list(trials))
            calls = []
            for trial in trials:
                n = counts[trial.label] = counts.get(trial.label, -1) + 1
                said = answers(trial, n)
                unsent = said if isinstance(said, NotSent) else None
                calls.append(came(trial, failed=said is True, not_sent=unsent))
            trials = flow.send(calls)
    except StopIteration as done:
        return done.value, steps


# By hand from the hypergeometric distribution; the tea-tasting table is Fisher's own (The Design of Experiments, 1935).
@pytest.mark.parametrize(
    ("control", "variant", "p"),
    [
        ((1, 4), (3, 4), 0.4857142857),
        ((0, 3), (3, 3), 0.1),
        ((0, 4), (4, 4), 0.0285714286),
        ((0, 8), (4, 8), 0.0769230769),
        ((0, 8), (5, 8), 0.0256410256),
        ((1, 12), (9, 12), 0.0027594562),
        ((5, 5), (5, 5), 1.0),
        ((0, 5), (0, 5), 1.0),
        ((0, 0), (3, 3), 1.0),
        ((3, 3), (0, 0), 1.0),
    ],
    ids=lambda value: f"{value[0]}of{value[1]}" if isinstance(value, tuple) else "",
)
def test_fisher(control, variant, p):
    """Known values, the same both ways round."""
    assert fisher(Side(*control), Side(*variant)) == pytest.approx(p)
    assert fisher(Side(*variant), Side(*control)) == pytest.approx(p)


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_fisher_is_the_sum_of_all_tables_no_likelier(n, m, draws):
    """Against the definition, in fractions of the whole."""
    k, j = draws.draw(st.integers(0, n)), draws.draw(st.integers(0, m))
    ways = {i: comb(n, i) * comb(m, k + j - i) for i in range(n + 1) if 0 <= k + j - i <= m}
    expected = sum(w for w in ways.values() if w <= ways[k]) / sum(ways.values())
    assert fisher(Side(k, n), Side(j, m)) == pytest.approx(expected)


# Score intervals without continuity correction, as in R's prop.test(k, n, correct = FALSE).
@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 3, 0.0, 0.5615),
        (3, 3, 0.4385, 1.0),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),
        (0, 0, 0.0, 1.0),
    ],
    ids=str,
)
def test_wilson(k, n, low, high):
    """Known values; nothing measured leaves everything open."""
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("control", "variant", "claimed"),
    [
        ((0, 3), (3, 3), True),
        ((0, 2), (2, 2), False),
        ((0, 2), (3, 3), False),
        ((0, 1), (1, 1), False),
        ((3, 3), (0, 3), False),
        ((3, 3), (3, 3), False),
        ((0, 3), (0, 3), False),
        ((0, 8), (4, 8), False),
        ((0, 8), (5, 8), True),
        ((8, 8), (1, 8), False),
        ((1, 8), (8, 8), True),
        ((0, 0), (3, 3), False),
    ],
    ids=lambda value: f"{value[0]}of{value[1]}" if isinstance(value, tuple) else "",
)
def test_when_the_factor_is_claimed(control, variant, claimed):
    """Both sides pure and three each, or a test that says so; never the other way round."""
    assert Twin(Side(*control), Side(*variant)).claimed is claimed


def fails(control=(), variant=()):
    return lambda trial, n: n in (control if trial.label == CONTROL.label else variant)


@pytest.mark.parametrize(
    ("answers", "pairs", "observed"),
    [
        (fails(), REPEATS, ((0, 3), (0, 3))),
        (fails(variant=range(9)), REPEATS, ((0, 3), (3, 3))),
        (fails(range(9), range(9)), REPEATS, ((3, 3), (3, 3))),
        (fails(variant=[1]), MORE, ((0, MORE), (1, MORE))),
        (fails(control=[0], variant=range(MORE)), MORE, ((1, MORE), (MORE, MORE))),
    ],
    ids=["both pass", "pure", "both fail", "one failure", "control flickers"],
)
def test_more_pairs_are_taken_only_where_a_side_is_mixed(answers, pairs, observed):
    """Three suffice for a clear case, more are bought for an unclear one."""
    result, steps = drive(twin(CONTROL, VARIANT, has_failed), answers)
    assert ((result.control.k, result.control.n), (result.variant.k, result.variant.n)) == observed
    assert len(steps) == pairs
    assert result.unsent is None


def test_a_pair_is_one_step_and_one_purchase():
    """Both sides of every pair, side by side, under one name that the budget keeps together."""
    _, steps = drive(twin(CONTROL, VARIANT, has_failed), fails(variant=[1]))
    for step in steps:
        assert [trial.label for trial in step] == [CONTROL.label, VARIANT.label]
        assert {trial.pair for trial in step} == {CONTROL.label}


@pytest.mark.parametrize("why", [NotSent.BUDGET, NotSent.PAUSED, NotSent.UNAVAILABLE])
def test_what_was_not_sent_ends_the_twin_and_names_itself(why):
    """No failure is counted for it, and no further pair asked for."""

    def answers(trial, n):
        return why if n == 1 else trial.label == VARIANT.label

    result, steps = drive(twin(CONTROL, VARIANT, has_failed), answers)
    assert len(steps) == 2
    assert result.unsent is why
    assert (result.control.k, result.control.n, result.variant.k, result.variant.n) == (0, 1, 1, 1)
    assert not result.claimed


def test_cells_are_rounds_of_all_their_trials():
    """Each side is the calls of one trial, in order."""
    third = replace(VARIANT, label="k/third")
    sides, steps = drive(
        cells((CONTROL, VARIANT, third), has_failed, 2), lambda trial, n: trial is third or n == 1
    )
    assert [(s.k, s.n) for s in sides] == [(1, 2), (1, 2), (1, 2)]
    assert len(steps) == 2
    assert [call.trial.label for call in sides[2].calls] == ["k/third"] * 2


def test_one_is_a_step_of_one():
    """`yield from` gives its call."""
    call, steps = drive(one(CONTROL), fails())
    assert call.trial is CONTROL
    assert steps == [[CONTROL]]


def test_the_evidence_is_the_last_exchange_there_is():
    """A call without one has nothing to show."""
    shown = replace(came(CONTROL), exchanges=(replace(exchange(), id="e7"),))
    assert side([shown, came(CONTROL)], has_failed).evidence == "e7"
    assert side([came(CONTROL)], has_failed).evidence is None


HEADERS = (("Host", "a"), ("User-Agent", "curl"), ("Accept", "*/*"), ("Content-Length", "2"))


def sent(headers=HEADERS, digest="d", **conditions):
    request = WireRequest("POST", "http://a", tuple(headers), 2, digest, None)
    return replace(exchange(), request=request, conditions={"connection": "new", **conditions})


@pytest.mark.parametrize(
    ("control", "variant", "factor", "found"),
    [
        (sent(), sent(), (), ()),
        (sent(), sent([*HEADERS[:1], ("User-Agent", "x"), *HEADERS[2:]]), ("user-agent",), ()),
        (
            sent(), sent([*HEADERS[:1], ("User-Agent", "x"), *HEADERS[2:]]), (),
            ("header user-agent differs in value",),
        ),
        (sent(), sent([*HEADERS[:3], ("Content-Length", "9")]), (), ()),
        (sent(), sent([("Host", "b"), *HEADERS[1:]]), (), ()),
        (sent(), sent([*HEADERS, ("X-A", "1")]), (), ("header x-a only in the variant",)),
        (sent([*HEADERS, ("X-A", "1")]), sent(), (), ("header x-a only in the control",)),
        (sent(), sent([*HEADERS, ("x-stainless-lang", "1"), ("x-stainless-os", "2")]), ("x-stainless-*",), ()),
        (sent(), sent([HEADERS[0], HEADERS[2], HEADERS[1], HEADERS[3]]), (), ("headers differ in order",)),
        (
            sent(), sent([(n.lower(), v) for n, v in HEADERS]), (), ("header names differ in case",),
        ),
        (sent(), sent(digest="e"), (), ("the bodies differ",)),
        (sent(http_version="HTTP/1.1"), sent(http_version="HTTP/2"), (), ("http version differs",)),
        (
            sent(http_version="HTTP/1.1"), sent([(n.lower(), v) for n, v in HEADERS], http_version="HTTP/2"), ("http_version",), (),
        ),
        (sent(), sent(connection="reused"), (), ("connection differs",)),
        (sent(peer="10.0.0.1:443"), sent(peer="10.0.0.2:443"), (), ("peer differs",)),
        (sent(proxy=False), sent(proxy=True), (), ("proxy differs",)),
        (
            sent([*HEADERS, ("X-A", "1"), ("X-A", "2")]), sent([*HEADERS, ("X-A", "3"), ("X-A", "2")]), (),
            ("header x-a differs in value",),
        ),
    ],
    ids=[
        "none", "the factor", "a value", "length", "host", "one more", "one less", "by prefix", "order", "case",
        "body", "version", "a version that was meant", "reuse", "address", "proxy", "a repeated header",
    ],
)  # fmt: skip
def test_confounders(control, variant, factor, found):
    """What else differed on the wire; what was meant to, and what only frames the message, is none."""
    assert confounders(control, variant, factor) == found
