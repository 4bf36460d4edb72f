"""Long answers in pairs: who ended which side, after how many seconds, and what was done to have them last so long?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import CURL, HTTPX, NO_EXCHANGE, OPENAI, Server, answer, as_text, attributed, case, told
from exchanges import CLOUDFLARE, GOOD_CHAT, HTML, exchange, stream_facts
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.budget import worst_case
from probes.kinds import KINDS
from probes.kinds.length.cliff import Speed, safe
from probes.kinds.length.pace import TOKENS
from probes.model import Budget, Client, Factor, NotSent, Prices, Reason, Timeline, Verdict, unsent
from probes.runner import judge, worst

PREFILL, TPOT = 1.8, 0.273
HOLD = 137.0
ANTHROPIC = Client("anthropic-py", "anthropic_sdk", api="anthropic", edits=True)


def cap_of(asked):
    """Of what a server is asked, or of a call."""
    return asked.trial.request.cap


def lasts_for(tokens, tpot=TPOT, prefill=PREFILL):
    return prefill + (tokens - 1) * tpot


def used(tokens):
    return {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": tokens + 9}


def stream(
    lasts=None, *, tokens=546, usage=..., first=PREFILL, opens=None, headers=(), finish="length", **more
):
    """A whole stream of so many tokens, or of so many seconds; `opens`: its headers come so early."""
    lasts = lasts_for(tokens) if lasts is None else lasts
    usage = used(tokens) if usage is ... else usage
    made = exchange(
        200, b"data: {}\n\n", {"content-type": "text/event-stream", **dict(headers)},
        facts=stream_facts(usage=usage, finish_reason=finish), stream=True, **more,
    )  # fmt: skip
    opens = PREFILL if opens is None else opens
    timeline = Timeline(
        connect=0.01, upload_end=0.0, headers=opens, first_byte=opens, first_token=first, first_content=first,
        last_token=lasts if first is not None else None, last_byte=lasts, end=lasts,
    )  # fmt: skip
    return attributed(replace(made, timeline=timeline))


def cut_stream(at, how="closed", *, silent_for=0.0, first=PREFILL):
    found = stream(at - silent_for, first=first)
    facts = stream_facts(terminal=None, finish_reason=None, complete=False)
    broken = exchange(
        200, b"data: {}\n\n", found.headers, facts=facts, stream=True, error=(how, "body")
    )  # fmt: skip
    return attributed(replace(broken, timeline=replace(found.timeline, end=at)))


def plain(at=None, *, tokens=546, headers=None, body=b"", usage=..., finish="length", marks=()):
    at = lasts_for(tokens) if at is None else at
    usage = used(tokens) if usage is ... else usage
    found = exchange(
        200, {**GOOD_CHAT, "usage": usage}, dict(marks), facts={"usage": usage, "finish_reason": finish}
    )
    early = at if headers is None else headers
    found = replace(found, body_head=body + found.body_head)
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, headers=early, first_byte=early, last_byte=at, end=at)))  # fmt: skip


def page(at, status=524, body=None, headers=CLOUDFLARE):
    text = f"error code: {status}" if body is None else body
    found = exchange(status, text, {**headers, "content-type": "text/plain"})
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, headers=at, first_byte=at, end=at)))


def ended(at, how, phase="headers"):
    found = exchange(None, error=(how, phase))
    return attributed(replace(found, timeline=Timeline(upload_start=0.0, upload_end=0.0, end=at)))


def is_pace(asked):
    return asked.trial.label.endswith("/pace")


def minded(streamed=None, whole=None, pace=None):
    """A server that makes as many tokens as it may, but for what is said; a callable is asked for each request."""

    def mind(asked):
        if asked.trial.label.endswith("/models"):
            return "passed"
        if is_pace(asked) or asked.trial.label.endswith("/prefill"):
            said, default = pace, stream(tokens=cap_of(asked))
        elif asked.trial.request.stream:
            said, default = streamed, stream(tokens=cap_of(asked))
        else:
            said, default = whole, plain(tokens=cap_of(asked))
        said = said(asked) if callable(said) else said
        return default if said is None else said

    return mind


def length(streamed=None, whole=None, clients=(OPENAI,), pace=None, **params):
    """The findings of such a server."""
    return told(case("length", clients, **params), minded(streamed, whole, pace))


CUTS = {
    "answer": page,
    "close": lambda at: ended(at, "closed"),
    "reset": lambda at: ended(at, "reset"),
}


# --- cut -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("pairs, confidence", [(1, "medium"), (2, "medium"), (3, "high")])
def test_cut_before_the_first_byte(how, pairs, confidence):
    """One pair is enough where the other side outlived the measured time; three make it sure."""
    (found,), server = length(whole=CUTS[how](125.3), pairs=pairs)
    assert (found.code, found.verdict, found.factor) == ("timeout.first_byte", Verdict.FAIL, Factor.STREAM)
    assert found.confidence == confidence
    assert (found.observed.k, found.observed.n) == (pairs, pairs)
    assert found.figures["cutoff"].value == pytest.approx(125.3)
    assert found.figures["tpot"].value == pytest.approx(TPOT)
    assert "above 453 tokens" in dict(found.detail)["cliff"]
    rows = dict(found.detail)
    label, other = ("matches", "no match") if how == "answer" else ("no match", "matches")
    assert "Cloudflare proxy read timeout (125 s)" in rows[label]
    assert other not in rows
    assert server.sent == 1 + 2 * pairs


def test_cut_now_and_then():
    """A cut of one pair in two is told with its rate, and the factor is not claimed."""
    (found,), _ = length(whole=lambda a: page(125.0) if a.repeat == 0 else None, pairs=2)
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
    assert "limit on the whole answer" in dict(found.detail)["because"]
    assert found.advice.startswith("Cap answers at ")


SILENT = {
    "closed": lambda: ended(60.0, "closed"),
    "a page": lambda: page(60.0, 504, "<center><h1>504 Gateway Time-out</h1></center><hr><center>nginx</center>", {**HTML, "server": "nginx"}),
    "headers came": lambda: cut_stream(60.02, silent_for=59.9, first=None),
}  # fmt: skip


@pytest.mark.parametrize("streamed", SILENT)
@pytest.mark.parametrize("paced", [True, False], ids=["a pace", "no pace"])
def test_a_stream_that_is_silent_before_its_first_token(streamed, paced):
    """It dies at the same timer as the other side, so streaming is not the advice: early bytes are."""
    pace = None if paced else ended(60.0, "closed")
    (found,), _ = length(SILENT[streamed](), ended(60.0, "closed"), pace=pace)
    assert (found.code, found.verdict, found.factor) == ("timeout.first_byte", Verdict.FAIL, None)
    assert "silent before its first token" in dict(found.detail)["because"]
    assert not found.advice.startswith("Stream;")
    assert ": ping" in found.advice


@pytest.mark.parametrize(
    "streamed, code, cutoff, says",
    [
        (cut_stream(180.0), "stream.truncated", 180.0, "not known whether a timer"),
        (cut_stream(300.0), "timeout.total", 300.0, "Vercel function duration (300 s)"),
        (cut_stream(200.0, silent_for=125.0), "timeout.idle", 125.0, "Cloudflare proxy read timeout (between two reads) (125 s)"),
    ],
    ids=["at no known time", "at a known one", "after a silence"],
)  # fmt: skip
def test_the_stream_alone_is_ended(streamed, code, cutoff, says):
    """A silence before the end is what ended it; its clock is the silence, not the age."""
    (found,), _ = length(streamed, plain(350.0))
    assert (found.code, found.verdict, found.factor) == (code, Verdict.FAIL, None)
    assert found.figures["cutoff"].value == pytest.approx(cutoff)
    assert says in "; ".join(text for _, text in found.detail)
    assert "no cut below 350.0 s" in dict(found.detail)["held"]


def test_an_error_event_after_a_silence():
    """It is written by who waited: the silence before it is the clock's."""
    found = stream(129.0, usage=None)
    facts = stream_facts(errors=[{"code": 502, "message": "Network connection lost."}], finish_reason=None, terminal=None)  # fmt: skip
    line = replace(found.timeline, last_token=4.0)
    (said,), _ = length(attributed(replace(found, facts=facts, timeline=line)), plain(150.0))
    assert (said.code, said.figures["cutoff"].value) == ("timeout.idle", pytest.approx(125.0))


def test_each_side_at_a_clock_of_its_own():
    """The plain one at a first-byte timer, which the stream outlived before it met another."""
    found, _ = length(cut_stream(115.0, silent_for=60.0), page(30.0, 504), pairs=1)
    assert [f.code for f in found] == ["timeout.first_byte", "timeout.idle"]
    assert [f.factor for f in found] == [Factor.STREAM, None]
    assert "not ended before 115.0 s" in dict(found[0].detail)["seen"]


@pytest.mark.parametrize(
    "times, code",
    [((77.0,), "unreachable.origin"), ((77.0, 77.1, 77.0), "timeout.first_byte"), ((77.0, 47.0, 88.0), "unreachable.origin")],
    ids=["once", "the same each time", "at any time"],
)  # fmt: skip
def test_a_gateways_failure_after_a_wait_that_no_list_knows(times, code):
    """Whatever the page says: once it may be chance, the same wait each time is a clock."""
    (found,), _ = length(whole=lambda a: page(times[a.repeat % len(times)], status=502), pairs=len(times))
    assert found.code == code
    assert (found.factor is Factor.STREAM) == (code == "timeout.first_byte")
    if code == "timeout.first_byte":
        assert "unknown timer" in dict(found.detail)["matches"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("upstream timed out, timeout of 600 seconds exceeded", "600 s"),
        ('{"error": {"message": "Request timed out after 600000ms"}}', "600 s"),
        ("the deadline of 10 minutes has passed", "600 s"),
        ("timeout after 30 s", None),
        ("bad gateway", None),
    ],
)
def test_the_clock_is_trusted_over_the_message(text, said):
    """A 502 at 30.0 s whose text speaks of 600 s is a 30 s timer."""
    (found,), _ = length(whole=page(30.0, 502, text, {}))
    assert (found.code, found.figures["cutoff"].value) == ("timeout.first_byte", 30.0)
    assert "(30 s)" in dict(found.detail)["no match"]
    assert said in dict(found.detail).get("it says", "") if said else "it says" not in dict(found.detail)


def test_a_request_that_was_not_taken_in_time():
    """Ended while it was being sent, it is an upload's timer."""
    (found,), _ = length(whole=ended(30.0, "reset", "upload"))
    assert (found.code, found.figures["cutoff"].value) == ("timeout.upload", 30.0)
    assert "Cloudflare proxy write timeout" in dict(found.detail)["no match"]


def test_both_ended_at_different_ages():
    """Two ends at two ages are no timer of the whole."""
    found, _ = length(cut_stream(63.0), ended(100.0, "closed"))
    assert [(f.code, f.verdict, f.factor) for f in found] == [("stream.truncated", Verdict.FAIL, None)]
    assert "both failed, after 63.0 s and 100.0 s" in dict(found[0].detail)["because"]


def test_our_own_deadline_proves_nothing():
    """A side that we gave up on, long after the other was there, is neither cut nor held."""
    (found,), _ = length(whole=ended(300.0, "deadline"))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.factor is None


@pytest.mark.parametrize("missing", [{"first": None}, {"usage": None, "finish": "stop"}])
def test_figures_that_cannot_be_had(missing):
    """Without a first token or a usage the cut stands; what hangs on them is left out."""
    missing = {"usage": {"completion_tokens": "many"}, **missing}
    (found,), _ = length(stream(200.0, **missing), page(125.0), pace=stream(19.0, **missing))
    assert (found.code, found.factor) == ("timeout.first_byte", Factor.STREAM)
    assert "tpot" not in found.figures


def test_a_stream_that_counts_nothing_is_as_long_as_its_cap():
    """It ended at the cap, so its length is known without a usage."""
    (found,), _ = length(lambda a: stream(tokens=cap_of(a), usage=None), page(125.0))
    assert found.figures["tpot"].value == pytest.approx(TPOT)


# --- where the wait is, and the cliff --------------------------------------------------------------------


def test_where_the_wait_is():
    """Headers, first byte and first token are told apart; a comment before the first token is no token."""
    (found,), _ = length(lambda a: stream(tokens=cap_of(a), opens=0.1), page(125.0))
    figures = {name: found.figures[name].value for name in found.figures if "_" in name}
    assert figures == {
        "streamed_headers": 0.1, "streamed_first_byte": 0.1, "streamed_first_token": PREFILL,
        "plain_headers": 125.0, "plain_first_byte": 125.0,
    }  # fmt: skip
    assert "first token 1.8 s" in dict(found.detail)["waits"]


@pytest.mark.parametrize("body", [b"   \n", b""], ids=["white space", "headers"])
def test_an_answer_that_opens_long_before_it_is_there(body):
    """A leading blank is no answer: the first-byte timer is defeated, and that is said."""
    found, _ = length(whole=lambda a: plain(tokens=cap_of(a), headers=0.2, body=body))
    assert [(f.code, f.verdict) for f in found] == [("ok", Verdict.PASS), ("body.early_200", Verdict.WARN)]
    assert "no first-byte timer can end such an answer" in dict(found[1].detail)["so"]


def test_the_founding_numbers():
    """125 s at 273 ms a token are about 458 tokens."""
    assert Speed(0.0, 0.273).longest(125.0) == 458
    (found,), _ = length(whole=page(125.0), pace=stream(tokens=TOKENS, first=0.0), streamed=lambda a: stream(tokens=cap_of(a), lasts=200.0, first=0.0), tpot=0.273)  # fmt: skip
    assert "at 273 ms: 458" in dict(found.detail)["cliff"]


@given(st.floats(0, 100), st.floats(0.001, 10), st.floats(1, 600))
def test_the_longest_answer_just_survives(ttft, tpot, cutoff):
    """Its last token comes before the cutoff, and one more would not."""
    tokens = Speed(ttft, tpot).longest(cutoff)
    if tokens is None:
        assert cutoff <= ttft
    else:
        assert ttft + (tokens - 1) * tpot <= cutoff + 1e-6
        assert ttft + tokens * tpot > cutoff - 1e-6
        assert 1 <= safe(tokens) <= tokens


@pytest.mark.parametrize(
    "made, advice",
    [
        (page(125.3), "on the plan Enterprise only"),
        (page(60.0, 504, "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n", {"server": "nginx"}), "proxy_read_timeout in its configuration"),
        (ended(60.0, "closed"), "of the layer that cut"),
    ],
    ids=["Cloudflare", "nginx", "nobody knows"],
)  # fmt: skip
def test_what_can_be_done(made, advice):
    """Stream, a safe cap, or which timer is raised by what, and on which plan that is possible at all."""
    (found,), _ = length(whole=made)
    assert found.advice.startswith("Stream; or cap answers that are not streamed at ")
    assert advice in found.advice


# --- not cut ---------------------------------------------------------------------------------------------


def test_not_cut():
    """Held as long as was asked for: a pass that says how far it reaches."""
    (found,), _ = length()
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert HOLD <= found.figures["held"].value <= 1.1 * HOLD + TPOT
    assert found.title.endswith("; not tested beyond")
    assert "of 1,000 tokens from 149 ms" in dict(found.detail)["beyond"]
    assert found.conditions["deadline"] == 600.0
    assert (found.conditions["client_read_limit"], found.conditions["body_mib"]) == (600.0, 32.0)


EARLY = {
    "the model ends": ({"tokens": 40, "finish": "stop"}, "ended by itself after 40 of"),
    "uncounted": ({"tokens": 40, "usage": None, "finish": "stop"}, "ended by itself after fewer of"),
    "faster than before": ({"at": 60.0, "tokens": 545}, "before the 137 s"),
}


@pytest.mark.parametrize(("said", "because"), EARLY.values(), ids=EARLY)
def test_the_answer_stopped_early(said, because):
    """An answer that ended before the time to be held proves nothing beyond, and never passes."""
    (found,), _ = length(whole=lambda a: plain(**{"tokens": cap_of(a), **said}), engine="other")
    assert (found.code, found.verdict) == ("not_measured", Verdict.INCONCLUSIVE)
    assert found.reason is Reason.STOPPED_EARLY
    assert because in dict(found.detail)["because"]
    assert found.title.startswith("No cut below ")


def test_a_model_that_ends_early_after_a_cut_changes_nothing():
    """A cut that was seen counts as long as the other side outlived it."""
    (found,), _ = length(stream(130.0, tokens=40, finish="stop"), page(125.0))
    assert (found.code, found.verdict, found.factor) == ("timeout.first_byte", Verdict.FAIL, Factor.STREAM)


# --- how long, and by what means -------------------------------------------------------------------------

HOLDS = {
    "Cloudflare": (CLOUDFLARE, 137.0),
    "nginx": ({"server": "nginx"}, 66.0),
    "nobody": ({}, 137.0),
    "nginx behind Cloudflare": ({**CLOUDFLARE, "via": "1.1 varnish"}, 137.0),
}


@pytest.mark.parametrize(("headers", "hold"), HOLDS.values(), ids=HOLDS)
def test_how_long_it_is_held(headers, hold):
    """A tenth beyond the first-byte timer of what is recognised on the way, and as for Cloudflare where nothing is."""
    (found,), server = length(pace=stream(tokens=TOKENS, headers=headers))
    assert found.verdict is Verdict.PASS
    asked = cap_of(server.calls[-1])
    assert lasts_for(asked) == pytest.approx(1.1 * hold, abs=TPOT)
    (_, server) = length(pace=stream(tokens=TOKENS, headers=headers), hold=20.0)
    assert lasts_for(cap_of(server.calls[-1])) == pytest.approx(22.0, abs=TPOT)


@pytest.mark.parametrize("tpot", [0.02, 0.273, 1.0])
def test_the_cap_is_what_the_servers_own_speed_asks_for(tpot):
    """By tokens of the usage, whatever the speed."""
    timed = lambda a: stream(tokens=cap_of(a), lasts=lasts_for(cap_of(a), tpot))  # noqa: E731
    _, server = length(
        pace=timed, streamed=timed, whole=lambda a: plain(lasts_for(cap_of(a), tpot), tokens=cap_of(a))
    )
    assert lasts_for(cap_of(server.calls[-1]), tpot) == pytest.approx(1.1 * HOLD, abs=1.01 * tpot)


@pytest.mark.parametrize(
    ("clients", "api", "most"),
    [((OPENAI,), "openai", 30_000), ((ANTHROPIC,), "anthropic", 21_333), ((HTTPX,), "anthropic", 30_000)],
    ids=["as the parameter says", "as the SDK sends", "without that SDK"],
)
def test_the_most_that_the_probe_chooses_by_itself(clients, api, most):
    """A very fast server is held for as long as that takes, and the report says how far."""
    fast = lambda a: stream(tokens=cap_of(a), lasts=2.0, first=1.9)  # noqa: E731
    asked = case("length", clients)
    asked = replace(asked, target=replace(asked.target, api=api))
    found, server = told_by(asked, minded(fast, lambda a: plain(3.0, tokens=cap_of(a)), fast))
    twins = [call for call in server.calls if call.trial.pair]
    assert {cap_of(call) for call in twins} == {most}
    assert found[0].reason is Reason.STOPPED_EARLY
    assert f"the cap was lowered to {most:,} tokens" in dict(found[0].detail)["because"]


def told_by(asked, mind):
    server = Server(asked, mind)
    server.__class__ = _AnyClient
    return judge(asked, server), server


class _AnyClient(Server):
    """Of clients whose headers the canned server does not know."""

    def _call(self, trial, repeat):
        known = replace(trial, client="httpx")
        call = super()._call(known, repeat)
        return replace(call, trial=trial)


def test_a_server_that_is_faster_than_it_was():
    """Half as many seconds a token as the short stream showed: a longer answer is asked for once more, and held."""
    fast = lambda a: plain(lasts_for(cap_of(a), TPOT / 2), tokens=cap_of(a))  # noqa: E731
    (found,), server = length(whole=fast)
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    caps = [cap_of(call) for call in server.calls if call.trial.pair]
    assert caps[:2] == [546, 546]
    assert HOLD <= lasts_for(caps[2], TPOT / 2) < 1.3 * HOLD


def test_a_given_cap_is_taken():
    """Neither computed nor lowered."""
    _, server = length(tokens=33, hold=5.0)
    assert {cap_of(call) for call in server.calls if call.trial.pair} == {33}


def test_a_model_that_reasons_is_made_to_think():
    """Where the short stream showed that it reasons, the effort is raised; else it is asked to count."""
    seen = stream(tokens=TOKENS)
    seen = replace(seen, facts={**seen.facts, "channels": {"reasoning": 40}})
    _, server = length(pace=seen)
    assert {(c.trial.request.recipe, c.trial.request.effort) for c in server.calls if c.trial.pair} == {
        ("ponder", "high")
    }
    _, server = length()
    assert {(c.trial.request.recipe, c.trial.request.effort) for c in server.calls if c.trial.pair} == {
        ("count", None)
    }
    _, server = length(pace=seen, means="output")
    assert {c.trial.request.recipe for c in server.calls if c.trial.pair} == {"count"}


@pytest.mark.parametrize(
    ("usage", "reasons"),
    [
        ({}, False),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, False),
        ({"completion_tokens_details": {"reasoning_tokens": 7}}, True),
        ({"output_tokens_details": {"reasoning_tokens": 7}}, True),
    ],
    ids=["a call of a tool", "counted as none", "counted", "counted by responses"],
)
def test_a_model_without_visible_text_need_not_reason(usage, reasons):
    """Only reasoning that was sent or counted is reasoning: a model that calls tools shows no text either."""
    seen = stream(tokens=TOKENS, usage={**used(TOKENS), **usage})
    seen = replace(seen, timeline=replace(seen.timeline, first_content=None))
    _, server = length(pace=seen)
    assert {c.trial.request.effort for c in server.calls if c.trial.pair} == {"high" if reasons else None}


@pytest.mark.parametrize(
    ("engine", "endless"), [("vllm", True), ("sglang", True), ("other", False), ("auto", False)]
)
def test_no_end_before_the_cap_where_the_engine_knows_that(engine, endless):
    """As given; on its own it is only asked for where the server showed what it is."""
    _, server = length(engine=engine)
    assert {c.trial.request.endless for c in server.calls if c.trial.pair} == {endless}


def test_the_engine_is_asked_for_where_the_model_ended_by_itself():
    """A list of models that vLLM made; then the pair is tried once more, and held."""
    listed = attributed(exchange(200, {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "vllm", "root": "m", "parent": None, "max_model_len": 8192, "permission": [{"id": "p", "object": "model_permission", "created": 1}]}]}, url="https://a.example/v1/models"))  # fmt: skip
    lazy = lambda a: None if a.trial.request.endless else plain(tokens=40, finish="stop")  # noqa: E731

    def mind(asked):
        return listed if asked.trial.label.endswith("/models") else minded(whole=lazy)(asked)

    (found,), server = told(case("length", (OPENAI,)), mind)
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert [c.trial.request.endless for c in server.calls if c.trial.pair] == [False, False, True, True]


class Lowering(Server):
    most = 100

    def _call(self, trial, repeat):
        small = replace(trial, request=replace(trial.request, cap=min(trial.request.cap, self.most)))
        return super()._call(small, repeat)


def test_a_cap_that_the_server_lowers_is_told_and_a_long_prompt_makes_up_for_it():
    """Where a prompt takes long to read, it holds the rest; by its own usage, as much as is missing."""

    def prompted(asked):
        tokens = 9 + round(asked.trial.request.prompt_tokens * 1.2)
        return tokens, PREFILL + (tokens - 9) * 0.01

    def mind(asked):
        tokens, first = prompted(asked)
        usage = {"prompt_tokens": tokens, "completion_tokens": cap_of(asked)}
        whole = first + (cap_of(asked) - 1) * TPOT
        if asked.trial.request.stream:
            return stream(whole, usage=usage, first=first, opens=0.1)
        return plain(whole, usage=usage)

    asked = case("length", (OPENAI,))
    server = Lowering(asked, mind)
    (found,) = judge(asked, server)
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert "by a long prompt" in dict(found.detail)["seen"]
    assert found.figures["held"].value == pytest.approx(1.1 * HOLD, rel=0.01)
    assert len(server.calls) <= KINDS["length"].bound(asked).requests


def test_a_cap_that_the_server_lowers_where_prompts_are_read_at_once():
    """Then it stays at that, the report says how far was tested, and why not beyond."""
    asked = case("length", (OPENAI,))
    server = Lowering(asked, minded())
    (found,) = judge(asked, server)
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason.STOPPED_EARLY)
    assert "the server's 400 lowered the cap from 546 to 100 tokens" in dict(found.detail)["because"]
    assert "prompt" in dict(found.detail)["also"]
    assert found.title.startswith("No cut below 28.8 s")


@pytest.mark.parametrize("takes", [0.01, 0.0], ids=["it takes time", "it takes none"])
def test_a_prompt_alone_where_that_is_asked_for(takes):
    """Read by the server for as long as it is to be held, with a short answer; or said why that is not possible."""

    def mind(asked):
        tokens = 9 + asked.trial.request.prompt_tokens
        first, usage = PREFILL + takes * tokens, {"prompt_tokens": tokens, "completion_tokens": cap_of(asked)}
        whole = first + (cap_of(asked) - 1) * TPOT
        return (
            stream(whole, usage=usage, first=first)
            if asked.trial.request.stream
            else plain(whole, usage=usage)
        )

    (found,), server = told(case("length", (OPENAI,), means="prefill"), mind)
    pairs = [c for c in server.calls if c.trial.pair]
    assert {(cap_of(c), c.trial.request.prompt_tokens > 10_000) for c in pairs} == (
        {(16, True)} if takes else set()
    )
    assert found.verdict is (Verdict.PASS if takes else Verdict.INCONCLUSIVE)
    if not takes:
        assert "takes it no longer" in dict(found.detail)["because"]


class Poor(Server):
    """Bears so many tokens a request."""

    affords = 100

    def _call(self, trial, repeat):
        if trial.request.cap > self.affords:
            return unsent(self.case, trial, repeat, NotSent.BUDGET, affords=self.affords)
        return super()._call(trial, repeat)


@pytest.mark.parametrize(
    ("params", "reason"),
    [({}, Reason.BUDGET), ({"tokens": 500}, Reason.BUDGET), ({"hold": 20.0}, None)],
    ids=["lowered", "a given one is not", "enough"],
)
def test_a_cap_that_the_budget_does_not_bear(params, reason):
    """It is lowered to what is borne, and the report says how far was tested."""
    asked = case("length", (OPENAI,), **params)
    server = Poor(asked, minded())
    (found,) = judge(asked, server)
    assert found.reason is reason
    assert (found.verdict is Verdict.PASS) == (reason is None)
    sent = [call for call in server.calls if call.trial.pair and call.not_sent is None]
    assert {cap_of(call) for call in sent} == (
        set() if "tokens" in params else {74 if "hold" in params else 100}
    )


# --- who gets in -----------------------------------------------------------------------------------------


def test_a_refused_client_gives_way_to_the_next():
    """The SDK is refused at the door, so the next client holds the answer open."""

    def mind(asked):
        return answer("refused") if asked.client == "openai-py" else minded(whole=page(125.0))(asked)

    (found,), server = told(case("length", (OPENAI, HTTPX, CURL)), mind)
    assert (found.code, found.client, found.factor) == ("timeout.first_byte", "httpx", Factor.STREAM)
    assert server.sent == 4


def test_a_client_refused_without_streaming_gives_way_as_well():
    """The short stream passed, the plain side did not."""

    def whole(asked):
        return answer("refused") if asked.client == "openai-py" else page(125.0)

    (found,), server = length(whole=whole, clients=(OPENAI, HTTPX, CURL))
    assert (found.code, found.client) == ("timeout.first_byte", "httpx")
    assert server.sent == 6


@pytest.mark.parametrize("said", ["refused", "challenged", "reset", "closed"])
def test_every_client_is_refused(said):
    """Nothing can be said of long answers, and the refusal is shown."""
    findings, server = told(case("length", (OPENAI, HTTPX, CURL)), lambda _: said)
    assert worst(findings) is Verdict.INCONCLUSIVE
    assert findings[0].reason is Reason.BLOCKED
    assert server.sent == 3


@pytest.mark.parametrize("said", ["passed", "server error", "html", "timeout", "no name"])
def test_a_short_stream_that_fails(said):
    """Nothing long is paid for, and what came is told."""
    findings, server = told(case("length", (OPENAI,)), lambda _: said)
    assert worst(findings) in {Verdict.FAIL, Verdict.INCONCLUSIVE}
    assert server.sent == 1


def test_no_client_would_send():
    """The client's own guard is a finding, not a cut."""
    (found,), _ = length(whole=NO_EXCHANGE)
    assert (found.code, found.factor) == ("client.guard", None)


@pytest.mark.parametrize("why", NotSent)
@pytest.mark.parametrize("which", ["pace", "plain"])
def test_a_side_that_was_not_sent(which, why):
    """Half a pair proves nothing."""
    (found,), _ = length(**({"pace": why} if which == "pace" else {"whole": why}))
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason(why))


def test_a_second_pair_that_is_not_borne():
    """What the first one showed is known."""
    (found,), _ = length(whole=lambda a: page(125.0) if a.repeat == 0 else NotSent.BUDGET, streamed=lambda a: None if a.repeat == 0 else NotSent.BUDGET, pairs=3)  # fmt: skip
    assert (found.code, found.observed.n) == ("timeout.first_byte", 1)


# --- beforehand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [1, 2])
def test_the_bound_counts_every_client_that_may_be_refused(pairs):
    """A plan never announces less than what may be asked."""
    asked = case("length", (OPENAI, HTTPX, CURL), pairs=pairs)
    _, server = told(asked, minded(whole="refused"))
    bound = KINDS["length"].bound(asked)
    assert server.sent <= bound.requests
    assert sum(sum(worst_case(call.trial)) for call in server.calls) <= bound.tokens


def test_the_bound_keeps_to_the_budget():
    """What the probe chooses by itself is lowered to it; what is given is not."""
    asked = case("length", (OPENAI,))
    asked = replace(asked, target=replace(asked.target, budget=Budget(tokens=5000)))
    assert KINDS["length"].bound(asked).tokens == 5000
    assert KINDS["length"].bound(replace(asked, params={**asked.params, "tokens": 9000})).tokens > 18_000


def test_what_a_plan_foretells():
    """Means, seconds, tokens, money and every limit, before anything is sent."""
    asked = case("length", (OPENAI,), tpot=0.273)
    asked = replace(asked, target=replace(asked.target, prices=Prices(1.0, 10.0)))
    said = "\n".join(KINDS["length"].foretells(asked))
    for part in ("holds 137 s", "Cloudflare", "a long answer", "553 tokens at 273 ms", "$0.0112", "30,000 tokens a side", "600 s a request", "32 MiB", "600 s between two reads"):  # fmt: skip
        assert part in said
    assert "--set tpot" in "\n".join(KINDS["length"].foretells(case("length", (OPENAI,))))
    given = "\n".join(KINDS["length"].foretells(case("length", (CURL,), tokens=700, hold=70.0)))
    assert "up to 700 tokens, as given" in given
    assert "holds 70 s, as given" in given


# --- the cheap check -------------------------------------------------------------------------------------


def known(whole, **params):
    return told(case("length", (OPENAI,), mode="known", known=125.0, **params), minded(whole=whole))


@pytest.mark.parametrize(
    ("whole", "code", "verdict"),
    [
        (page(125.6), "ok", Verdict.PASS),
        (page(114.0), "ok", Verdict.PASS),
        (page(60.0), "regression.cutoff", Verdict.FAIL),
        (ended(30.0, "closed"), "regression.cutoff", Verdict.FAIL),
        (ended(138.9, "deadline"), "regression.cutoff", Verdict.WARN),
        (plain(140.0), "regression.cutoff", Verdict.WARN),
        (plain(90.0), "not_measured", Verdict.INCONCLUSIVE),
        (ended(90.0, "deadline"), "not_measured", Verdict.INCONCLUSIVE),
        ("server error", "server.error", Verdict.FAIL),
    ],
    ids=["the same", "within a tenth", "earlier", "a close", "gone, given up", "gone, answered", "too short", "given up too soon", "an error"],
)  # fmt: skip
def test_whether_the_cutoff_moved(whole, code, verdict):
    """One plain request held to a tenth beyond it, and no longer."""
    (found,), server = known(whole)
    assert (found.code, found.verdict) == (code, verdict)
    assert [c.trial.request.stream for c in server.calls] == [True, False]
    assert server.calls[-1].trial.deadline == pytest.approx(1.01 * 137.5)
    if code == "regression.cutoff":
        assert dict(found.detail)["before"] == "125.0 s"
        assert found.figures["before"].value == 125.0
    if code == "ok":
        assert found.figures["cutoff"].value == pytest.approx(whole.timeline.headers)


def test_a_moved_cutoff_speaks_of_the_product_that_answered():
    """Cloudflare has no timer of a minute, and another's is none of its."""
    (found,), _ = known(page(60.0))
    assert dict(found.detail)["matches"].startswith("unknown timer of Cloudflare")


def test_nothing_is_known_yet():
    """It says so, sends nothing and never passes."""
    (found,), server = told(case("length", (OPENAI,), mode="known"), minded())
    assert (found.code, found.verdict) == ("not_measured", Verdict.INCONCLUSIVE)
    assert "without mode=known" in found.advice
    assert server.sent == 0


# --- any pair --------------------------------------------------------------------------------------------

sides = st.sampled_from(["plain", "page", "closed", "reset", "deadline", "good stream", "cut stream"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(sides, st.floats(0.01, 300), sides, st.floats(0.01, 300)), min_size=3, max_size=3), st.integers(1, 3))  # fmt: skip
def test_the_factor_is_only_claimed_where_every_pair_bears_it(rows, pairs):
    """Stream is named only where in each pair the plain side was ended, by another than us, in the stream's life."""
    make = {
        "plain": plain, "page": page, "closed": lambda at: ended(at, "closed"), "reset": lambda at: ended(at, "reset"),
        "deadline": lambda at: ended(at, "deadline"), "good stream": stream, "cut stream": cut_stream,
    }  # fmt: skip

    def mind(asked):
        if is_pace(asked):
            return stream(tokens=TOKENS)
        streamed, lasts, whole, at = rows[asked.repeat]
        return make[streamed](lasts) if asked.trial.request.stream else make[whole](at)

    findings, _ = told(case("length", (OPENAI,), tokens=690, pairs=pairs), mind)
    for found in findings:
        assert found.code != "probe.bug", as_text(findings)
        if found.factor is not None:
            assert found.factor is Factor.STREAM
            for streamed, lasts, whole, at in rows[:pairs]:
                assert streamed in make  # whichever it was: it lived longer
                assert whole in {"page", "closed", "reset", "cut stream"}
                assert lasts > at


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 2), st.floats(0, 60), st.floats(5, 400))
def test_a_cut_that_is_planted_is_measured(tpot, prefill, cutoff):
    """Whatever the speed: where the answer is long enough, the cutoff is the one that is there, and the cliff its own."""
    made = lambda a: stream(tokens=cap_of(a), lasts=lasts_for(cap_of(a), tpot, prefill), first=prefill)  # noqa: E731

    def whole(asked):
        takes = lasts_for(cap_of(asked), tpot, prefill)
        return ended(cutoff, "closed") if takes > cutoff else plain(takes, tokens=cap_of(asked))

    found, _ = length(made, whole, pace=made)
    cuts = [f for f in found if "cutoff" in f.figures]
    if cuts:
        assert cuts[0].figures["cutoff"].value == cutoff
    else:
        assert worst(found) in {Verdict.PASS, Verdict.INCONCLUSIVE}, as_text(found)
        assert found[0].figures["held"].value <= cutoff
