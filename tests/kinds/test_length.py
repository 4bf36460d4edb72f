"""Long answers in pairs: who ended which side, and after how many seconds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import CURL, HTTPX, NO_EXCHANGE, OPENAI, answer, as_text, attributed, case, told
from exchanges import CLOUDFLARE, GOOD_CHAT, exchange, stream_facts
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.model import Factor, NotSent, Reason, Timeline, Verdict
from probes.runner import worst

TOKENS, PREFILL, TPOT = 690, 1.8, 0.273
USAGE = {"prompt_tokens": 9, "completion_tokens": TOKENS, "total_tokens": TOKENS + 9}
LASTS = PREFILL + (TOKENS - 1) * TPOT


def stream(lasts=LASTS, *, usage=USAGE, first=PREFILL, **more):
    """A whole stream of so many seconds."""
    made = exchange(
        200, b"data: {}\n\n", {"content-type": "text/event-stream"}, facts=stream_facts(usage=usage), stream=True, **more
    )  # fmt: skip
    timeline = Timeline(
        connect=0.01, upload_end=0.0, headers=PREFILL, first_byte=PREFILL, first_token=first,
        last_token=lasts if first is not None else None, last_byte=lasts, end=lasts,
    )  # fmt: skip
    return attributed(replace(made, timeline=timeline))


def cut_stream(at, how="closed"):
    found = stream(at)
    facts = stream_facts(terminal=None, finish_reason=None, complete=False)
    broken = exchange(
        200, b"data: {}\n\n", found.headers, facts=facts, stream=True, error=(how, "body")
    )  # fmt: skip
    return attributed(replace(broken, timeline=found.timeline))


def plain(at=LASTS):
    found = exchange(200, {**GOOD_CHAT, "usage": USAGE}, facts={"usage": USAGE})
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, headers=at, first_byte=at, end=at)))


def page(at, status=524):
    found = exchange(status, f"error code: {status}", {**CLOUDFLARE, "content-type": "text/plain"})
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, headers=at, first_byte=at, end=at)))


def ended(at, how):
    found = exchange(None, error=(how, "headers"))
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, end=at)))


def length(streamed, whole, clients=(OPENAI,), **params):
    """The findings of a server that answers with the two; a callable is asked for each pair."""

    def mind(asked):
        said = streamed if asked.trial.request.stream else whole
        return said(asked) if callable(said) else said

    return told(case("length", clients, tokens=TOKENS, **params), mind)


CUTS = {
    "answer": page,
    "close": lambda at: ended(at, "closed"),
    "reset": lambda at: ended(at, "reset"),
}


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("pairs, confidence", [(1, "medium"), (2, "medium"), (3, "high")])
def test_cut_before_the_first_byte(how, pairs, confidence):
    """One pair is enough where the other side outlived the measured time; three make it sure."""
    (found,), server = length(stream(), CUTS[how](125.3), pairs=pairs)
    assert (found.code, found.verdict, found.factor) == ("timeout.first_byte", Verdict.FAIL, Factor.STREAM)
    assert found.confidence == confidence
    assert (found.observed.k, found.observed.n) == (pairs, pairs)
    assert found.figures["cutoff"].value == pytest.approx(125.3)
    assert found.figures["tpot"].value == pytest.approx(TPOT)
    assert f"{int((125.3 - PREFILL) / TPOT) + 1} tokens" in dict(found.detail)["cliff"]
    assert server.sent == 2 * pairs


def test_cut_now_and_then():
    """A cut of one pair in two is told with its rate, and the factor is not claimed."""
    (found,), _ = length(stream(), lambda a: page(125.0) if a.repeat == 0 else plain(), pairs=2)
    assert found.verdict is Verdict.FAIL
    assert (found.factor, found.reason) == (None, Reason.MIXED)
    assert (found.observed.k, found.observed.n) == (1, 2)


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("pairs", [1, 3])
def test_both_ended_at_the_same_age(how, pairs):
    """A limit on the whole answer: streaming is not the cause."""
    (found,), _ = length(cut_stream(100.02, how), ended(100.0, how), pairs=pairs)
    assert (found.code, found.verdict, found.factor) == ("timeout.total", Verdict.FAIL, None)
    assert found.figures["cutoff"].value == pytest.approx(100.02)


@pytest.mark.parametrize(
    "times, code",
    [((77.0,), "unreachable.origin"), ((77.0, 77.1, 77.0), "timeout.first_byte"), ((77.0, 47.0, 88.0), "unreachable.origin")],
    ids=["once", "the same each time", "at any time"],
)  # fmt: skip
def test_a_gateways_failure_after_a_wait_that_no_list_knows(times, code):
    """Whatever the page says: once it may be chance, the same wait each time is a clock."""
    (found,), _ = length(stream(), lambda a: page(times[a.repeat % len(times)], status=502), pairs=len(times))
    assert found.code == code
    assert (found.factor is Factor.STREAM) == (code == "timeout.first_byte")


def test_both_ended_at_different_ages():
    """Two ends at two ages are no timer of the whole."""
    (found,), _ = length(cut_stream(60.0), ended(100.0, "closed"))
    assert found.verdict is Verdict.FAIL
    assert (found.code != "timeout.total", found.factor) == (True, None)


def test_not_cut():
    """Held as long as was asked for: a pass that says how far it reaches."""
    (found,), _ = length(stream(), plain())
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert found.figures["held"].value == pytest.approx(LASTS)


def test_the_answer_stopped_early():
    """An answer that ended before the time to be held proves nothing beyond."""
    (found,), _ = length(stream(30.0), plain(30.0))
    assert (found.code, found.verdict) == ("not_measured", Verdict.INCONCLUSIVE)
    assert found.reason is Reason.STOPPED_EARLY


def test_our_own_deadline_proves_nothing():
    """A side that we gave up on is not a side that was cut."""
    (found,), _ = length(stream(), ended(150.0, "deadline"))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.factor is None


@pytest.mark.parametrize(
    "missing", [{"first": None}, {"usage": None}, {"usage": {"completion_tokens": "many"}}]
)
def test_figures_that_cannot_be_had(missing):
    """Without a first token or a usage the cut stands; what hangs on them is left out."""
    (found,), _ = length(stream(**missing), page(125.0))
    assert (found.code, found.factor) == ("timeout.first_byte", Factor.STREAM)
    assert "tpot" not in found.figures
    assert "cliff" not in dict(found.detail)
    (found,), _ = length(stream(**missing), plain())
    assert found.verdict is Verdict.PASS


def test_a_refused_client_gives_way_to_the_next():
    """The SDK is refused at the door, so the next client holds the answer open."""

    def whole(asked):
        return answer("refused") if asked.client == "openai-py" else page(125.0)

    (found,), server = length(stream(), whole, (OPENAI, HTTPX, CURL))
    assert (found.code, found.client, found.factor) == ("timeout.first_byte", "httpx", Factor.STREAM)
    assert server.sent == 4


@pytest.mark.parametrize("said", ["refused", "challenged", "reset", "closed"])
def test_every_client_is_refused(said):
    """Nothing can be said of long answers, and the refusal is shown."""
    findings, server = length(said, said, (OPENAI, HTTPX, CURL))
    assert worst(findings) is Verdict.INCONCLUSIVE
    assert findings[0].reason is Reason.BLOCKED
    assert server.sent == 6


def test_no_client_would_send():
    """The client's own guard is a finding, not a cut."""
    (found,), _ = length(stream(), NO_EXCHANGE)
    assert (found.code, found.factor) == ("client.guard", None)


@pytest.mark.parametrize("why", NotSent)
def test_a_side_that_was_not_sent(why):
    """Half a pair proves nothing."""
    (found,), _ = length(stream(), why)
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason(why))


def test_the_bound_counts_every_client_that_may_be_refused():
    """A plan never announces less than what may be asked."""
    from probes.kinds import KINDS

    asked = case("length", (OPENAI, HTTPX, CURL), pairs=2)
    _, server = told(asked, lambda _: "refused")
    assert server.sent <= KINDS["length"].bound(asked).requests


sides = st.sampled_from(["plain", "page", "closed", "reset", "deadline", "good stream", "cut stream"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(sides, st.floats(0.01, 300), sides, st.floats(0.01, 300)), min_size=3, max_size=3), st.integers(1, 3))  # fmt: skip
def test_the_factor_is_only_claimed_where_every_pair_bears_it(rows, pairs):
    """Stream is named only where in each pair the plain side was ended, by another than us, in a good stream's life."""
    make = {
        "plain": plain, "page": page, "closed": lambda at: ended(at, "closed"), "reset": lambda at: ended(at, "reset"),
        "deadline": lambda at: ended(at, "deadline"), "good stream": stream, "cut stream": cut_stream,
    }  # fmt: skip

    def mind(asked):
        streamed, lasts, whole, at = rows[asked.repeat]
        return make[streamed](lasts) if asked.trial.request.stream else make[whole](at)

    findings, _ = told(case("length", (OPENAI,), tokens=TOKENS, pairs=pairs), mind)
    for found in findings:
        assert found.code != "probe.bug", as_text(findings)
        if found.factor is not None:
            assert found.factor is Factor.STREAM
            for streamed, lasts, whole, at in rows[:pairs]:
                assert streamed == "good stream"
                assert whole in {"page", "closed", "reset", "cut stream"}
                assert lasts > at
