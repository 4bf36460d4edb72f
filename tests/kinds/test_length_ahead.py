"""What can a long case cost at the most, which cutoff is asked about again, and what of an API without streams?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import CURL, HTTPX, OPENAI, Server, answer, case, told
from exchanges import exchange
from kinds.test_length import cap_of, cut_stream, ended, lasts_for, length, minded, page, plain, stream

from probes.budget import worst_case
from probes.document import to_document
from probes.errors import UsageError
from probes.kinds import KINDS
from probes.kinds.length.cliff import Speed, cliff
from probes.kinds.length.pace import hold_for, not_reached
from probes.model import Budget, Call, Confidence, NotSent, Prices, Reason, Verdict
from probes.runner import judge

# --- at the most -----------------------------------------------------------------------------------------


def seconds_of(calls):
    """As the steps of a flow take them: both sides of a pair at once."""
    steps = {}
    for number, call in enumerate(calls):
        at = (call.trial.pair, call.repeat) if call.trial.pair else number
        steps[at] = max(steps.get(at, 0.0), call.last.timeline.end if call.last else 0.0)
    return sum(steps.values())


SLOW = {
    "never": lambda a: ended(a.trial.deadline or 10.0, "deadline"),
    "far too fast, then never": lambda a: ended(a.trial.deadline, "deadline") if a.repeat else plain(1.0, tokens=cap_of(a)),
    "as asked": None,
}  # fmt: skip


@pytest.mark.parametrize("mind", SLOW)
@pytest.mark.parametrize(
    "params", [{}, {"pairs": 3}, {"tokens": 600}, {"mode": "known", "known": 125.0}], ids=str
)
def test_no_server_makes_it_last_longer_than_was_foretold(mind, params):
    """Its own deadlines are in the bound, and further pairs, means and clients keep to what is left of it."""
    asked = case("length", (OPENAI, HTTPX, CURL), **params)
    _, server = told(asked, minded(whole=SLOW[mind], streamed=SLOW[mind]))
    bound = KINDS["length"].bound(asked)
    assert seconds_of(server.calls) <= bound.seconds
    assert server.sent <= bound.requests
    assert sum(sum(worst_case(c.trial)) for c in server.calls if c.not_sent is None) <= bound.tokens


def test_clients_that_are_refused_late_share_the_time():
    """What the first ones used up is not there for the last one."""

    def late(a):
        return replace(
            answer("refused"), timeline=replace(answer("refused").timeline, headers=590.0, end=590.0)
        )

    asked = case("length", (OPENAI, HTTPX, CURL), tokens=600)
    _, server = told(asked, minded(whole=late))
    assert seconds_of(server.calls) <= KINDS["length"].bound(asked).seconds


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(tokens=5000), "by what the budget bears"),
        (Budget(usd=0.05), "by what the budget bears"),
        (Budget(), "30,000 tokens a side, by most_tokens"),
    ],
    ids=["tokens", "money", "enough"],
)
def test_a_plan_foretells_what_the_budget_bears(budget, said):
    """The ceiling of a side is what the run would really ask for."""
    asked = case("length", (OPENAI,))
    asked = replace(asked, target=replace(asked.target, budget=budget, prices=Prices(1.0, 10.0)))
    text = "\n".join(KINDS["length"].foretells(asked))
    assert said in text
    if budget.usd is not None:
        assert 0 < float(text.split("$")[1].split(" ")[0]) <= 0.05


def test_a_given_length_that_the_budget_does_not_bear():
    """The plan says so before anything is sent."""
    asked = case("length", (OPENAI,), tokens=9000)
    asked = replace(asked, target=replace(asked.target, budget=Budget(tokens=5000)))
    assert "more than the budget bears" in "\n".join(KINDS["length"].foretells(asked))


def test_each_mode_foretells_itself():
    """The nightly check tells of one answer and the cutoff, or that nothing is sent."""
    foretells = KINDS["length"].foretells
    assert "one answer that is not streamed, held 137.5 s" in foretells(case("length", (OPENAI,), mode="known", known=125.0))[0]  # fmt: skip
    unknown = case("length", (OPENAI,), mode="known")
    assert "nothing is sent" in foretells(unknown)[0]
    assert KINDS["length"].bound(unknown) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({"deadline": 6.0, "hold": 20.0}, "must be 22 or more"),
        ({"deadline": 20.0}, "give hold as well"),
        ({"deadline": 6.0, "hold": 20.0, "mode": "experience"}, "must be 22 or more"),
        ({"deadline": 22.0, "hold": 20.0}, None),
        ({"deadline": 6.0, "mode": "known"}, None),
    ],
    ids=str,
)
def test_a_deadline_that_ends_what_is_to_be_held(params, wrong):
    """Is the operator's mistake, told before anything is sent."""
    asked = case("length", (OPENAI,), **params)
    if wrong is None:
        assert KINDS["length"].unfit(asked) is None
        return
    with pytest.raises(UsageError, match=wrong):
        KINDS["length"].unfit(asked)


@pytest.mark.parametrize(
    ("products", "hold", "told_of"),
    [((), 137, None), (("nginx",), 66, None), (("Squid",), 330, "Squid's read_timeout"), (("LiteLLM",), 330, "LiteLLM")],
    ids=str,
)  # fmt: skip
def test_the_longest_that_is_held_by_itself(products, hold, told_of):
    """A timer beyond is named, and how to hold for it."""
    asked = case("length", (OPENAI,))
    assert hold_for(asked, products) == hold
    said = not_reached(asked, products)
    assert (said is None) if told_of is None else (told_of in said and "--set hold=" in said)


# --- which cutoff is asked about again -------------------------------------------------------------------


def recalled_from(streamed=None, whole=None, **params):
    """What the nightly check takes from the full measurement of such a server."""
    from canned import run_of

    full = case("length", (OPENAI,), **params)
    findings, server = told(full, minded(streamed, whole))
    at = [replace(call, exchanges=tuple(_at(e, call.trial) for e in call.exchanges)) for call in server.calls]
    stored = to_document(run_of(full, at, findings))
    exchanges = {e["id"]: e for e in stored["exchanges"]}
    wanted = KINDS["length"].recalls(replace(full, params={**full.params, "mode": "known"}))
    having = [f for f in stored["findings"] if "cutoff" in f["figures"]]
    return [f["figures"]["cutoff"]["value"] for f in having if wanted.fits(f, exchanges)], len(having)


def _at(exchange, trial):
    url = "http://a.example/v1/chat/completions"
    return replace(exchange, request=replace(exchange.request, url=url, stream=trial.request.stream))


@pytest.mark.parametrize(
    ("streamed", "whole", "taken"),
    [
        (None, page(125.0), [125.0]),
        (None, ended(60.0, "closed"), [60.0]),
        (cut_stream(115.0, silent_for=60.0), None, []),
        (cut_stream(115.0, silent_for=60.0), page(30.0, 504), [30.0]),
    ],
    ids=["an answer's", "a close", "a stream's silence", "each side its own"],
)
def test_only_what_one_plain_answer_can_test_is_asked_about(streamed, whole, taken):
    """The age at which something that is not streamed ended; never a stream's end or a silence."""
    found, measured = recalled_from(streamed, whole)
    assert found == pytest.approx(taken)
    assert measured >= 1


def test_a_cutoff_that_is_gone_wants_no_mending():
    """What is advised is the full measurement."""
    (found,), _ = told(
        case("length", (OPENAI,), mode="known", known=125.0), minded(whole=ended(138.9, "deadline"))
    )
    assert "full measurement" in found.advice
    assert "raise" not in found.advice


@pytest.mark.parametrize("faster", [1.0, 1.2, 1.35])
def test_a_server_that_is_faster_tonight_is_still_measured(faster):
    """The answer that is asked for has room for it."""
    fast = lambda a: plain(lasts_for(cap_of(a)) / faster, tokens=cap_of(a))  # noqa: E731
    (found,), _ = told(case("length", (OPENAI,), mode="known", known=125.0), minded(whole=fast))
    assert (found.code, found.verdict) == ("regression.cutoff", Verdict.WARN)


# --- without streams -------------------------------------------------------------------------------------


def no_streams(whole=None):
    said = {"error": {"message": "stream is not supported", "type": "invalid_request_error", "param": "stream", "code": "unsupported_parameter"}}  # fmt: skip
    refused = replace(exchange(400, said), timeline=answer("passed").timeline)

    def mind(asked):
        if asked.trial.request.stream:
            from canned import attributed

            return attributed(refused)
        if asked.trial.label.endswith("/whole"):
            return plain(lasts_for(cap_of(asked)), tokens=cap_of(asked))
        said = whole(asked) if callable(whole) else whole
        return plain(lasts_for(cap_of(asked)), tokens=cap_of(asked)) if said is None else said

    return mind


@pytest.mark.parametrize(
    ("whole", "code", "verdict"),
    [
        (page(125.0), "timeout.first_byte", Verdict.FAIL),
        (ended(60.0, "closed"), "timeout.first_byte", Verdict.FAIL),
        (None, "ok", Verdict.PASS),
        (lambda a: plain(20.0, tokens=9, finish="stop"), "not_measured", Verdict.INCONCLUSIVE),
        (lambda a: NotSent.BUDGET, "not_measured", Verdict.INCONCLUSIVE),
    ],
    ids=["cut", "closed", "not cut", "stopped early", "not sent"],
)
def test_an_api_without_streams_is_held_by_itself(whole, code, verdict):
    """Its clock tells, but nothing was compared: no factor, and never sure."""
    (found,), server = told(case("length", (OPENAI,)), no_streams(whole))
    assert (found.code, found.verdict, found.factor) == (code, verdict, None)
    assert found.confidence is not Confidence.HIGH or found.reason is Reason.BUDGET
    assert [c.trial.request.stream for c in server.calls[:3]] == [True, False, False]
    if code == "timeout.first_byte":
        assert "no streams" in dict(found.detail)["alone"]
        assert "Stream" not in found.advice


def test_without_streams_ends_at_any_time_are_no_clocks():
    """Three waits far apart have no middle that a timer could be matched with."""
    times = iter((20.0, 60.0, 100.0))
    findings, _ = told(case("length", (OPENAI,), pairs=3), no_streams(lambda _: ended(next(times), "closed")))
    assert findings
    for found in findings:
        words = dict(found.detail)
        assert (found.confidence, found.factor) == (Confidence.LOW, None)
        assert "20.0, 60.0 and 100.0 s: not one clock" in words["because"]
        assert not {"matches", "cliff"} & set(words)
        assert "cutoff" not in found.figures


@pytest.mark.parametrize(
    ("pace", "cap", "says", "keeps_quiet"),
    [
        (None, 300, "no more than 300 tokens", ("longer answer", "--set tokens")),
        (0.001, None, "--set most_tokens=N", ("--set tokens",)),
    ],
    ids=["by the server's 400", "by most_tokens"],
)
def test_what_was_refused_or_tried_in_vain_is_no_advice(pace, cap, says, keeps_quiet):
    """The prompt was filled already, and a longer answer is what was refused."""
    tpot = pace or 0.273

    def lowered(call):
        ask = replace(call.trial.request, cap=min(call.trial.request.cap, cap or 10**9))
        return replace(call, trial=replace(call.trial, request=ask))

    class Lowers(Server):
        def _call(self, trial, repeat):
            return lowered(super()._call(lowered(Call("", "", trial, 0)).trial, repeat))

    asked = case("length", (OPENAI,))
    mind = minded(
        streamed=lambda a: stream(lasts_for(cap_of(a), tpot), tokens=cap_of(a)),
        whole=lambda a: plain(lasts_for(cap_of(a), tpot), tokens=cap_of(a)),
        pace=lambda a: stream(lasts_for(cap_of(a), tpot), tokens=cap_of(a)),
    )
    (found,) = judge(asked, Lowers(asked, mind))
    assert found.reason is Reason.STOPPED_EARLY
    assert says in found.advice
    assert not [word for word in (*keeps_quiet, "fill the prompt") if word in found.advice]


@pytest.mark.parametrize(("tpot", "given"), [(0.1, None), (0.0999, 0.2), (0.273, 0.1)], ids=str)
def test_no_speed_stands_twice_in_the_table(tpot, given):
    """What is measured or asked about is not one of the few others as well."""
    rows = dict(cliff(case("length", (OPENAI,), tpot=given), Speed(1.0, tpot), 60.0))["cliff"].split(" · ")
    speeds = [row.removeprefix("at ").split(" ms")[0] for row in rows]
    assert len(speeds) == len(set(speeds))


def test_an_overrun_is_not_a_budget_that_is_used_up():
    """It says what ended the buying, and not to raise the budget."""
    from probes.kinds.conclude import not_sent
    from probes.model import unsent

    asked = case("length", (OPENAI,))
    _, server = told(asked, minded())
    call = unsent(asked, server.calls[0].trial, 0, NotSent.BUDGET)
    over = not_sent(asked, NotSent.BUDGET, "testing", [replace(call, conditions={"overran": True})])
    assert over.reason is Reason.BUDGET
    assert "not used up" in dict(over.detail)["seen"]
    assert "Raise" not in over.advice
    assert "Raise" in not_sent(asked, NotSent.BUDGET, "testing", [call]).advice


def test_streams_are_left_alone():
    """Where there are streams nothing short is asked for twice."""
    _, server = length(streamed=stream())
    assert not [c for c in server.calls if c.trial.label.endswith("/whole")]
