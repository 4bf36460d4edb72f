"""What worked and fails now: proven, not proven, mended, not compared."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import canned
import pytest
from runs import AT, cutoff, found, run, streamed

from probes.change.cached import compare as cached
from probes.change.cutoff import compare as cutoffs
from probes.change.outcomes import compare as outcomes
from probes.model import Acceptance, Figure, Layer, Observed, Reason, Skipped, Verdict

GOOD, CUT, REFUSED = "good stream", "cut stream", "refused"


def times(**answers: int):
    """`good stream` and others, so often each, of one client."""
    return [("openai-py", name.replace("_", " ")) for name, n in answers.items() for _ in range(n)]


FLIPS = {
    "a rule that is met each time, against one pass": (times(good_stream=1), times(refused=3), Verdict.FAIL, "failed each time now"),
    "by chance, against one pass": (times(good_stream=1), times(cut_stream=3), Verdict.INCONCLUSIVE, "1 before"),
    "by chance, always and never": (times(good_stream=3), times(cut_stream=3), Verdict.FAIL, "failed each time now"),
    "one failure of one": (times(good_stream=1), times(refused=1), Verdict.INCONCLUSIVE, "too few"),
    "one failure of one, after many": (times(good_stream=40), times(cut_stream=1), Verdict.INCONCLUSIVE, "too few"),
    "mixed, beyond chance": (times(good_stream=40), times(good_stream=20, cut_stream=20), Verdict.FAIL, "by chance"),
    "mixed, within chance": (times(good_stream=9, cut_stream=1), times(good_stream=8, cut_stream=2), Verdict.INCONCLUSIVE, "may be chance"),
    "mixed, and many": (times(good_stream=990, cut_stream=10), times(good_stream=989, cut_stream=11), Verdict.PASS, "chance"),
    "mended": (times(refused=3), times(good_stream=1), Verdict.PASS, "mended"),
    "good now, of few before": (times(cut_stream=1), times(good_stream=1), Verdict.PASS, "better: failed before, good now"),
    "good now, of many": (times(cut_stream=2), times(good_stream=40), Verdict.PASS, "mended: by chance in one of 861"),
    "fewer failures": (times(good_stream=8, cut_stream=2), times(good_stream=9, cut_stream=1), Verdict.PASS, "fewer failures, which may be chance"),
    "fails as before": (times(refused=3), times(refused=3), Verdict.WARN, "as before"),
    "fails otherwise": (times(refused=3), times(cut_stream=3), Verdict.WARN, "otherwise"),
    "good as before": (times(good_stream=3), times(good_stream=3), Verdict.PASS, "as before"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "verdict", "why"), FLIPS.values(), ids=FLIPS)
def test_a_flip_is_proven_or_not(before, after, verdict, why):
    """By a pure flip of enough requests, or the exact test; never by one failure."""
    [row] = [
        r
        for r in outcomes([run(before)], [run(after, at=AT + timedelta(hours=1))]).rows
        if r.what == "outcome"
    ]
    assert (row.verdict, why in row.why) == (verdict, True), row


def test_who_refuses_stands_in_the_finding():
    """Code, layer, product and vendor code of what it met, before and after."""
    part = outcomes([run(times(good_stream=3))], [run(times(refused=3))])
    [failed] = [one for one in part.findings if one.code == "regression.outcome"]
    assert (failed.verdict, failed.client, str(failed.layer), failed.product, failed.vendor_code) == (
        Verdict.FAIL, "openai-py", "edge", "Cloudflare", "1010",
    )  # fmt: skip
    assert failed.observed == Observed(3, 3)
    assert dict(failed.detail)["after"] == "3 of 3 failed: blocked.client · edge · Cloudflare 1010"


def test_one_cause_is_told_once():
    """What several clients meet alike is one finding, which lists each with its before and after."""
    both = ["openai-py", "httpx"]
    before = [(client, "good stream") for client in both for _ in range(3)]
    after = [(client, "refused") for client in both for _ in range(3)]
    part = outcomes([run(before)], [run(after)])
    [failed] = [one for one in part.findings if one.verdict is Verdict.FAIL]
    assert (failed.title, failed.client, failed.vendor_code, failed.observed) == (
        "openai-py and httpx worked before and fail now", None, "1010", Observed(6, 6),
    )  # fmt: skip
    assert [text for word, text in failed.detail if word == "in"] == [
        "s/streaming · openai-py, httpx: 3 of 3 good before, 3 of 3 failed now",
    ]
    assert dict(failed.detail)["now"] == "blocked.client · edge · Cloudflare 1010"
    apart = outcomes(
        [run(before)], [run([*after[:3], *[("httpx", "cut stream") for _ in range(3)]])]
    ).findings
    assert len([one for one in apart if one.verdict is Verdict.FAIL]) == 2


DEAD = {
    "two clients, too few of each": ({"openai-py": "cut stream", "httpx": "cut stream"}, Verdict.FAIL),
    "two that meet different things": ({"openai-py": "cut stream", "httpx": "refused"}, None),
    "one alone": ({"openai-py": "cut stream"}, None),
}


@pytest.mark.parametrize(("now", "verdict"), DEAD.values(), ids=DEAD)
def test_what_is_dead_for_all_is_proven_together(now, verdict):
    """A probe that gives up soon asks too little of each; alike in all it is an outage, not a doubt."""
    before = [(client, "good stream") for client in now for _ in range(3)]
    part = outcomes([run(before)], [run([(client, got) for client, got in now.items() for _ in range(2)])])
    failed = [one for one in part.findings if one.verdict is Verdict.FAIL]
    assert [one.verdict for one in failed] == ([verdict] if verdict else [])
    if failed:
        assert failed[0].title == "openai-py and httpx worked before and fail now"
        assert failed[0].observed == Observed(4, 4)
        assert "as in 1 other place" in dict(failed[0].detail)["because"]
        assert {row.verdict for row in part.rows} == {Verdict.FAIL}


def test_what_fails_on_both_sides_is_no_pass():
    """Nothing got worse, and nothing is said to be good."""
    part = outcomes([run(times(refused=3))], [run(times(refused=3))])
    assert ([row.verdict for row in part.rows], part.findings) == ([Verdict.WARN], ())


def test_everybody_refused_is_a_change_where_they_were_not():
    """Alone it proves nothing of the service; beside a state in which the same client was served it does."""
    before, after = run(times(good_stream=3)), run(times(refused=3))
    assert after.verdict is Verdict.INCONCLUSIVE
    assert [row.verdict for row in outcomes([before], [after]).rows] == [Verdict.FAIL]


def test_mended_is_told():
    """As good news, of what it was mended."""
    part = outcomes([run(times(refused=3))], [run(times(good_stream=3))])
    assert part.findings[0].verdict is Verdict.PASS
    assert (
        "mended: s/streaming · openai-py, blocked.client · edge · Cloudflare 1010" in part.findings[0].title
    )


@pytest.mark.parametrize(
    "silent",
    [
        [found(Verdict.INCONCLUSIVE, "not_measured", reason=Reason.BUDGET)],
        [found(Verdict.ERROR, "probe.bug")],
    ],
    ids=["inconclusive", "error"],
)
@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_what_was_not_told_is_no_flip(silent, after):
    """Whichever side it is on; it is said as not compared."""
    told, untold = run(times(refused=3)), run(findings=silent)
    part = outcomes(*([told], [untold]) if after else ([untold], [told]))
    assert not [row for row in part.rows if row.where.endswith("openai-py")]
    assert any("not concluded" in said and "openai-py" in said for said in part.left_out)


WHOLE, PARTLY = times(good_stream=41), times(good_stream=37, ratelimited=3)
IN_PART = {
    "now": ([WHOLE], [times(good_stream=1), PARTLY], Verdict.INCONCLUSIVE),
    "before, too": ([WHOLE, PARTLY], [WHOLE, PARTLY], Verdict.PASS),
    "before alone": ([times(good_stream=1), PARTLY], [WHOLE], Verdict.PASS),
    "one run of many": ([WHOLE], [WHOLE, WHOLE, times(good_stream=3, ratelimited=1)], Verdict.PASS),
    "beside a failure that is proven": ([WHOLE], [times(refused=3), PARTLY], Verdict.FAIL),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "verdict"), IN_PART.values(), ids=IN_PART)
def test_what_did_not_conclude_in_part_is_not_as_before(before, after, verdict):
    """Where it is more than before, and enough to matter: what is good beside it proves nothing of it."""
    sides = (
        [run(one, at=AT + n * timedelta(minutes=5)) for n, one in enumerate(each)] for each in (before, after)
    )
    part = outcomes(*sides)
    [row] = [row for row in part.rows if row.what == "outcome"]
    assert row.verdict is verdict, row
    assert ("did not conclude" in row.why) is (verdict is Verdict.INCONCLUSIVE)
    assert any(one.verdict is verdict for one in part.findings)


def test_a_limit_of_our_own_key_is_no_outage():
    """A rate limit is inconclusive, so not compared."""
    part = outcomes([run(times(good_stream=3))], [run(times(ratelimited=3))])
    assert all(row.verdict is not Verdict.FAIL for row in part.rows)


def test_what_one_side_did_not_ask_is_said():
    """A client that was skipped there."""
    before = run([*times(good_stream=3), ("httpx", GOOD)])
    after = replace(run(times(good_stream=3)), skipped=(Skipped("s/streaming", "httpx", "not installed"),))
    part = outcomes([before], [after])
    assert [row.where for row in part.rows] == ["s/streaming · openai-py"]
    assert any("httpx" in said and "before only" in said for said in part.left_out)


def test_a_finding_of_a_case_counts_as_often_as_it_was_observed():
    """What no single answer shows, such as that streams are held back."""
    held = found(Verdict.FAIL, "stream.buffered", client="openai-py", observed=Observed(3, 3))
    part = outcomes([run(times(good_stream=3))], [run(times(good_stream=3), findings=[held])])
    [row] = part.rows
    assert row.verdict is Verdict.FAIL
    assert "stream.buffered" in row.after


def test_a_new_warning_is_one():
    """No failure, yet not what it was."""
    leak = found(Verdict.WARN, "leak.internal_address", client="openai-py")
    [row] = outcomes([run(times(good_stream=3))], [run(times(good_stream=3), findings=[leak])]).rows
    assert (row.verdict, "leak.internal_address" in row.why) == (Verdict.WARN, True)


def test_what_is_accepted_is_no_regression():
    """A client whose refusal the operator lives with."""
    accepted = replace(found(Verdict.FAIL, "blocked.client", client="openai-py"), accepted=True)
    case = canned.case("streaming", keyed=True)
    target = replace(case.target, accepted=(Acceptance("blocked.client", "scrapers"),))
    after = run(findings=[accepted], case=replace(case, target=target))
    assert all(row.verdict is not Verdict.FAIL for row in outcomes([run(times(good_stream=3))], [after]).rows)


CUTOFFS = {
    "earlier": (125.0, 60.0, Verdict.FAIL),
    "where it was": (125.0, 124.6, Verdict.PASS),
    "later": (60.0, 125.0, Verdict.PASS),
}


@pytest.mark.parametrize(("before", "after", "verdict"), CUTOFFS.values(), ids=CUTOFFS)
def test_a_cutoff_that_comes_earlier_fails(before, after, verdict):
    """Beyond the tolerance of both."""
    part = cutoffs([cutoff(before)], [cutoff(after)])
    assert [row.verdict for row in part.rows] == [verdict]
    assert (part.findings[0].code == "regression.cutoff") is (verdict is Verdict.FAIL)


LONGER = {
    "new": (("held", 150.7), ("cutoff", 60.0), Verdict.FAIL, "are cut after 60.0 ± 0.5 s, and nothing cut them below 150.7 s"),
    "gone": (("cutoff", 60.0), ("held", 150.7), Verdict.PASS, "is gone: none below 150.7 s"),
    "on neither side": (("held", 150.7), ("held", 150.2), Verdict.PASS, "is met on neither side: none below 150.2 s"),
    "beyond what was held before": (("held", 30.0), ("cutoff", 60.0), None, "held for 30.0 s only before (60.0 ± 0.5 s now)"),
    "not held so long now": (("cutoff", 60.0), ("held", 30.0), None, "held for 30.0 s only now (60.0 ± 0.5 s before)"),
    "held for less": (("held", 150.7), ("held", 30.0), None, "held for 30.0 s only now (none below 150.7 s before)"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "verdict", "said"), LONGER.values(), ids=LONGER)
def test_what_was_held_is_a_measurement(before, after, verdict, said):
    """Nothing cut it for so long; beyond that it says nothing."""

    def measured(what, seconds):
        if what == "cutoff":
            return cutoff(seconds)
        made = cutoff(seconds)
        held = replace(
            made.findings[0], code="ok", verdict=Verdict.PASS, figures={"held": Figure(seconds, "s", 1)}
        )
        return replace(made, findings=(held,))

    part = cutoffs([measured(*before)], [measured(*after)])
    assert [row.verdict for row in part.rows] == ([verdict] if verdict else [])
    told = [*(one.title for one in part.findings), *part.left_out]
    assert [said in one for one in told] == [True], told


def test_who_cuts_stands_in_the_finding():
    """As each run says it; what they don't agree on is not said."""

    def ended(product: str, seconds: float = 60.0):
        made = cutoff(seconds)
        return replace(
            made, findings=tuple(replace(one, layer=Layer.EDGE, product=product) for one in made.findings)
        )

    [told] = cutoffs([ended("nginx", 125.0)], [ended("nginx")] * 2).findings
    assert (told.layer, told.product) == (Layer.EDGE, "nginx")
    [told] = cutoffs([ended("nginx", 125.0)], [ended("nginx"), ended("HAProxy")]).findings
    assert (told.layer, told.product) == (Layer.UNKNOWN, None)


def test_a_cutoff_on_one_side_is_not_compared():
    """That there is one at all is an outcome."""
    part = cutoffs([cutoff(125.0)], [run()])
    assert (part.rows, part.left_out) == ((), ("cutoff, measured before only: s/length · openai-py",))


def told(shares, **more):
    return run([("openai-py", streamed(cached=one)) for one in shares], **more)


SHARES = {
    "lost": ([80] * 40, [0] * 40, Verdict.FAIL),
    "as before": ([80] * 200, [80] * 200, Verdict.PASS),
    "gained": ([0] * 40, [80] * 40, Verdict.PASS),
    "too few": ([80] * 3, [0] * 3, Verdict.INCONCLUSIVE),
}


@pytest.mark.parametrize(("before", "after", "verdict"), SHARES.values(), ids=SHARES)
def test_the_cached_share(before, after, verdict):
    """By tokens, with as many samples as there are prompts."""
    part = cached([told(before)], [told(after)])
    assert [row.verdict for row in part.rows] == [verdict], part.rows
    assert [one.verdict for one in part.findings] == [verdict]


def test_a_share_that_is_not_told_is_not_zero():
    """Usage without a word of the cache says nothing of it, and is said."""
    part = cached([told([80] * 40)], [told([None] * 40)])
    assert (part.rows, part.left_out) == ((), ("cached share, told before only: s/streaming · openai-py",))


def test_how_often_it_was_asked_is_no_condition():
    """A run with more repeats is held against one with fewer, and rows that differ in it alone are one."""
    case = canned.case("streaming", keyed=True)
    often = replace(case, id=f"{case.id}/repeats=40")
    before = replace(run(times(good_stream=40), case=often), cases=(case, often))
    part = outcomes([before], [run(times(refused=3))])
    [row] = part.rows
    assert (row.verdict, row.before, row.where) == (
        Verdict.FAIL,
        "40 of 40 good",
        "s/streaming · openai-py",
    )
    assert not part.left_out


def test_what_is_good_now_is_called_better():
    """In the row, and in the one line of what did not get worse."""
    part = outcomes([run(times(cut_stream=1))], [run(times(good_stream=3))])
    assert [row.better for row in part.rows] == [True]
    [same] = part.findings
    assert same.title == "Nothing fails that worked before: 1 outcome compared"
    assert dict(same.detail)["of these"] == (
        "s/streaming · openai-py: better: failed before, good now: 3 of 3 good"
    )
