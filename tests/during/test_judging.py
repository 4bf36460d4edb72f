"""Is what customers met while a command ran told from what they had met before it?"""

from __future__ import annotations

import pytest
from made import HOLDING, case, knock, knocks, stream, told

from probes.during.axis import AXIS
from probes.during.plan import STREAMS
from probes.model import Confidence, NotSent, Reason, Verdict

OPEN = [stream(1, 0.0, 20.0, "interrupted"), stream(2, 2.5, 17.5, "interrupted")]


def summary(findings):
    return [(found.code, found.verdict) for found in findings]


FAIL, UNKNOWN, WARN, PASS = Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS
RUNS = {
    "nothing happened": ([*knocks(), *OPEN], [("ok", PASS)]),
    "no long streams": (knocks(), [("ok", PASS)]),
    "a gap": ([*knocks(but=(9, 10)), *OPEN], [("unreachable.connect", FAIL)]),
    "one failure": (knocks(but=(9,)), [("unreachable.connect", FAIL)]),
    "bad gateways": (knocks(but=(9, 10), name="bad gateway"), [("unreachable.origin", FAIL)]),
    "never answered again": (knocks(but=range(9, 20)), [("unreachable.connect", FAIL)]),
    "broken before, too": (knocks(but=range(20)), [("unreachable.connect", UNKNOWN)]),
    "mended by it": (knocks(but=range(8)), [("unreachable.connect", UNKNOWN)]),
    "failing now and then, as before": (knocks(but=(2, 5, 11, 14)), [("unreachable.connect", UNKNOWN)]),
    "failing now and then, and then for good": (
        knocks(but=(2, *range(9, 20))),
        [("unreachable.connect", FAIL)],
    ),
    "limited, which is our own key's": (knocks(but=range(8, 20), name="ratelimited"), [("not_measured", UNKNOWN)]),
    "nothing asked before": (knocks()[8:], [("not_measured", UNKNOWN)]),
    "nothing asked at all": ([], [("not_measured", UNKNOWN)]),
    "out of budget on the way": (
        [*knocks(10), knock(10.0, NotSent.BUDGET), *OPEN],
        [("not_measured", UNKNOWN), ("ok", PASS)][:1],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "said"), RUNS.values(), ids=RUNS)
def test_what_is_said_of_short_requests(calls, said):
    """A failure is the command's where it was good before, and else nothing is said of the command."""
    found = told(calls)
    assert summary(found)[: len(said)] == said, found


def test_a_gap_has_its_bounds():
    """From the first failure to the next good answer, with what it lasted at the least and at the most."""
    found = told(knocks(but=(9, 10, 11)))[0]
    assert found.title == "No good answer for 3.0 s, from +1.0 s to +4.0 s: 3 of 12 requests failed"
    gap = found.figures["gap"]
    assert (gap.value, gap.low, gap.high, gap.n) == (3.0, 2.0, 4.0, 3)
    assert (found.observed.k, found.observed.n) == (3, 12)
    assert found.confidence is Confidence.HIGH
    assert dict(found.detail)["before"] == "8 of 8 requests were good before the command began"


def test_what_was_under_way_as_it_began():
    """It was good until then: the gap begins with the command."""
    calls = [*knocks(7), knock(7.5, "cut stream", took=0.7), *knocks(20)[9:]]
    found = told(calls)[0]
    assert "never two in a row" in found.title
    said = dict(found.detail)
    assert "as the command began" in said["gap"]
    assert said["before"] == (
        "7 of 7 requests were good before the command began; 1 that had been asked by then failed after it began"
    )
    assert [row.split()[0] for row in said[AXIS].splitlines()[1:-1] if "X" in row] == ["+0"]


def test_what_was_interrupted_is_not_called_fine():
    """What was seen until then stands where it is said, and what failed is still told."""
    [found] = told([*knocks(11), *OPEN], interrupted=True)
    assert (found.code, found.verdict) == ("not_measured", UNKNOWN)
    assert dict(found.detail)["until then"] == "failures: 0 of 5 since the command began"
    failed, unseen = told([*knocks(12, but=(9, 10)), *OPEN], interrupted=True)
    assert summary([failed, unseen]) == [("unreachable.connect", FAIL), ("not_measured", UNKNOWN)]
    [found] = told(knocks(3), interrupted=True, ended=None, code=None)[1:]
    assert "until then" not in dict(found.detail)


def test_what_is_not_measured_is_never_fine():
    """A command that did not begin, measuring that was interrupted, and a budget that was used up."""
    assert summary(told(knocks(), ended=None, code=126, fault="Exec format error")) == [
        ("not_measured", UNKNOWN)
    ]
    interrupted = told([*knocks(), *OPEN], interrupted=True)
    assert interrupted[0].verdict is UNKNOWN
    assert interrupted[0].reason is Reason.INTERRUPTED
    spent = told([*knocks(10), knock(10.0, NotSent.BUDGET)])
    assert spent[0].reason is Reason.BUDGET
    assert "Knocks were sent no more, 2.0 s after the command began" in spent[0].title


@pytest.mark.parametrize(("waited", "verdict"), [(5.0, UNKNOWN), (0.0, PASS)], ids=["asked", "by chance"])
def test_what_was_held_back_is_not_seen(waited, verdict):
    """While the server has asked for a pause nothing is known; that this machine was late is no such pause."""
    [found] = told([*knocks(9), knock(14.0, lag=5.0), *OPEN], waited=waited)
    assert (found.code, found.verdict) == ("ok", verdict)
    assert ("unseen" in dict(found.detail)) == bool(waited)


def test_streams_that_could_not_be_held_are_named():
    """With one place alone there are none, and the reason is said."""
    found = told(knocks(), holding=case(STREAMS, streams=0))[0]
    assert "limits.concurrency is 4" in dict(found.detail)["not tested"]


# --- slow ------------------------------------------------------------------------------------------------


def test_answers_that_began_late():
    """A warning with both medians, their ratio and how many there were."""
    calls = [
        *knocks(8),
        *(knock(float(at), ttft=3.0 if at in (9, 10) else 0.2, took=3.2) for at in range(8, 20)),
    ]
    [found] = told([*calls, *OPEN])
    assert (found.code, found.verdict) == ("regression.latency", WARN)
    assert found.title.startswith("2 of 12 answers began late, after up to 3.0 s")
    assert found.figures["ttft_before"].n == 8
    since = found.figures["ttft_since"]
    assert (since.n, since.value, since.conditions["concurrency"]) == (12, 0.2, 1)


@pytest.mark.parametrize("late", [(9,), ()], ids=["one alone", "none"])
def test_chance_is_not_called_slow(late):
    """One late answer of many is told by no name."""
    calls = [*knocks(8), *(knock(float(at), ttft=3.0 if at in late else 0.3) for at in range(8, 20))]
    assert summary(told([*calls, *OPEN])) == [("ok", PASS)]


# --- streams that were open ------------------------------------------------------------------------------

AT_ONCE = [stream(1, 0.0, 9.2), stream(2, 2.5, 6.7), stream(3, 5.0, 4.2)]
CUTS = {
    "at one moment": (AT_ONCE, [("stream.truncated", FAIL)], "All 3 open streams died at one moment, 1.2 s after the command began"),
    "one instance of several": (
        [*AT_ONCE[:2], stream(3, 5.0, 15.0, "interrupted")],
        [("stream.truncated", FAIL)],
        "2 of 3 open streams died at one moment",
    ),
    "at two moments": (
        [*AT_ONCE[:2], stream(3, 5.0, 9.0), stream(1, 10.0, 4.0)],
        [("stream.truncated", FAIL), ("stream.truncated", FAIL)],
        "All 2 open streams died at one moment, 6.0 s after the command began",
    ),
    "at one age": (
        [stream(1, 0.0, 9.0), stream(2, 2.5, 9.0), stream(3, 5.0, 9.1)],
        [("timeout.total", FAIL)],
        "Streams are cut at the age of 9.0 s",
    ),
    "at one age, before it, too": (
        [stream(1, 0.0, 6.0), stream(2, 2.5, 6.0), stream(3, 5.0, 6.1)],
        [("timeout.total", UNKNOWN)],
        "Streams are cut at the age of 6.0 s",
    ),
    "before the command": (
        [stream(1, 0.0, 7.0), stream(2, 2.5, 4.5)],
        [("stream.truncated", UNKNOWN)],
        "1.0 s before the command began",
    ),
    "one alone": ([stream(1, 0.0, 9.0), *OPEN[1:]], [("stream.truncated", FAIL)], "1 of 2 long streams was cut"),
    "by chance": (
        [stream(1, 0.0, 9.0), stream(2, 2.5, 9.8), stream(3, 5.0, 12.7)],
        [("stream.truncated", FAIL)],
        "3 of 3 long streams were cut, 1.0 s after the command began and later",
    ),
    "whole": ([stream(1, 0.0, 9.0, "whole"), *OPEN[1:]], [("ok", PASS)], "none refused, cut or slow"),
}  # fmt: skip


@pytest.mark.parametrize(("streams", "said", "title"), CUTS.values(), ids=CUTS)
def test_how_streams_died(streams, said, title):
    """At one moment by a restart, at one age by a limit; before the command it was not the command's doing."""
    found = told([*knocks(), *streams])
    assert summary(found) == said, found
    assert any(title in each.title for each in found), [each.title for each in found]
    assert all(each.factor is None for each in found)


def test_a_limit_says_whether_it_may_be_older():
    """No stream had come to that age before the command began, one had lived longer, or one had met it."""
    unknown = told([*knocks(), *CUTS["at one age"][0]])
    assert "it may be older: --before 10 tells" in str(unknown[0].detail)
    met = told([*knocks(), *CUTS["at one age, before it, too"][0]])
    assert "not the command's doing" in str(met[0].detail)
    longer = [stream(1, 0.0, 7.9, "whole"), stream(2, 2.5, 6.0), stream(3, 5.0, 6.0)]
    assert "the command may have set this limit" in str(told([*knocks(), *longer])[0].detail)


def test_the_times_of_streams_are_of_their_case():
    """What is drawn and counted comes from the long streams, not from the short ones."""
    found = told([*knocks(), *AT_ONCE])
    assert {each.case for each in found} == {HOLDING.id}
