"""What is told of streams: clocks and gaps, how they ended, which SDK can't read them, and what an endpoint never says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, HTTPX, OPENAI, Server, answer, as_text, attributed, case, told
from exchanges import exchange, stream_facts

from probes.kinds import KINDS
from probes.kinds.streaming.by_route import MOST_PAIRS
from probes.kinds.streaming.clocks import LEAST_FOR_P99, timed
from probes.kinds.streaming.seen import otherwise
from probes.model import (
    Ask,
    Call,
    Confidence,
    Factor,
    Layer,
    NotSent,
    Raised,
    Route,
    Slo,
    Timeline,
    Trial,
    Verdict,
    WhoActs,
    WireError,
)
from probes.runner import judge
from probes.samples import stalled

EVENTS = {"content-type": "text/event-stream"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}
LINE = Timeline(
    upload_start=0.1, upload_end=0.1, headers=0.2, first_byte=0.2, first_event=0.3, first_token=0.5, first_content=0.9,
    last_token=1.2, last_byte=1.3, end=1.3,
)  # fmt: skip


def stream(kinds="orvvvvovd", every=0.1, start=0.2, stalls=(), line=LINE, **facts):
    times = tuple(round(start + n * every, 6) for n in range(len(kinds)))
    seen = exchange(
        200, b"data: {}\n\n", EVENTS, facts=stream_facts(**{"usage": USAGE, **facts}), stream=True
    )
    conditions = {"stalls": [list(s) for s in stalls]} if stalls else {}
    seen = replace(seen, timeline=line, chunk_times=times, chunk_sizes=(9,) * len(times), event_times=times, event_kinds=kinds, conditions=conditions)  # fmt: skip
    return attributed(seen)


# --- clocks ----------------------------------------------------------------------------------------------


def taken(*exchanges, **conditions):
    """A call of each, all under the same conditions."""
    one = Trial("streaming/httpx", "httpx", "edge", Ask("chat", stream=True))
    known = {"connection": "new", "client": "cold", "cache": "cold", "concurrency": 1, **conditions}
    return [Call(f"c{n}", "s", one, n, (e,), conditions=known) for n, e in enumerate(exchanges)]


def test_five_clocks_each_from_the_first_byte_sent():
    """A role-only chunk stops the event clock, reasoning that of tokens, visible text the last; TPOT by the usage."""
    figures = timed(taken(stream())).figures
    seconds = {
        name: round(figures[name].value, 6)
        for name in ("headers", "first_byte", "first_event", "ttft", "first_content")
    }
    assert seconds == {
        "headers": 0.1,
        "first_byte": 0.1,
        "first_event": 0.2,
        "ttft": 0.4,
        "first_content": 0.8,
    }
    assert round(figures["tpot"].value, 6) == round(0.7 / 7, 6)
    assert (figures["tpot"].unit, figures["ttft"].n) == ("s/token", 1)


def test_no_time_per_token_without_a_usage():
    """Chunks are not tokens."""
    figures = timed(taken(stream(usage=None))).figures
    assert "tpot" not in figures
    assert "chunk_gap" in figures


def test_gaps_between_bytes_between_events_and_between_chunks():
    """Comments are bytes and no events, a ping is an event, a chunk gap is between chunks that hold tokens."""
    seen = stream("occcvccpccvd")
    figures = timed(taken(seen)).figures
    longest = {
        name: round(figures[f"{name}_max"].value, 6) for name in ("transport_gap", "event_gap", "chunk_gap")
    }
    assert longest == {"transport_gap": 0.1, "event_gap": 0.4, "chunk_gap": 0.6}
    assert (figures["transport_gap_max"].n, figures["event_gap_max"].n, figures["chunk_gap"].n) == (11, 4, 1)


@pytest.mark.parametrize("gaps", [LEAST_FOR_P99 - 1, LEAST_FOR_P99])
def test_no_p99_of_fewer_samples_than_it_takes(gaps):
    """Below a hundred it is the maximum by another name."""
    figures = timed(taken(stream("v" * (gaps + 1)))).figures
    assert ("chunk_gap_p99" in figures) == (gaps >= LEAST_FOR_P99)


def test_heartbeats_by_their_kind():
    """Of all streams together."""
    beats = {"comment": {"n": 2, "first": 0, "last": 1}, "ping": {"n": 1, "first": 0, "last": 0}}
    figures = timed(taken(stream(heartbeats=beats), stream(heartbeats=beats))).figures
    assert (figures["heartbeats_comment"].value, figures["heartbeats_ping"].value) == (4, 2)
    assert "heartbeats_blank" not in figures


def test_a_reading_during_a_stall_of_our_own_is_left_out_and_counted():
    """What is stamped while this process is late may have come before."""
    clean, late = stream(), stream(stalls=[(0.48, 0.52)])
    both = timed(taken(clean, late))
    assert both.figures["ttft"].n == 1
    assert both.figures["headers"].n == 2
    assert both.conditions["tainted"] >= 1
    assert [row for row in both.rows if row[0] == "tainted"]
    assert "ttft" not in timed(taken(late)).figures
    assert "tainted" not in timed(taken(clean)).conditions


@pytest.mark.parametrize(("at", "late"), [(0.9, False), (1.0, True), (1.2, True), (1.4, True), (1.5, False)])
def test_how_long_a_stall_taints(at, late):
    """As long again as it took, for what had piled up to be read."""
    assert bool(stalled(stream(stalls=[(1.0, 1.2)]), at)) == late


def test_streams_under_other_conditions_are_in_no_figure():
    """The commonest conditions are told, and how many streams had others."""
    calls = [*taken(stream(), stream()), *taken(stream(), connection="reused")]
    seen = timed(calls)
    assert {figure.n for name, figure in seen.figures.items() if name in {"ttft", "headers", "tpot"}} == {2}
    assert {figure.conditions.get("connection", "new") for figure in seen.figures.values()} == {"new"}
    assert "1 of 3 streams" in dict(seen.rows)["left out"]
    assert "left out" not in dict(timed(calls[:2]).rows)


def test_the_figures_carry_their_conditions():
    """Client, cache and concurrency stand beside them in the finding."""
    findings, _ = told(case("streaming"), lambda _: stream())
    (found,) = findings
    assert {"ttft", "tpot", "headers", "event_gap_max"} <= set(found.figures)
    assert {"client", "cache", "concurrency"} <= set(found.conditions)
    assert found.figures["ttft"].n == len(ALL)


def test_a_promise_is_not_judged_by_tainted_samples():
    """Where no other is left, that is said."""
    asked = case("streaming")
    asked = replace(asked, target=replace(asked.target, slo=Slo(ttft=0.1)))
    findings, _ = told(asked, lambda _: stream(stalls=[(0.48, 0.52)]))
    assert [f.code for f in findings] == ["ok", "probe.tainted"], as_text(findings)
    findings, _ = told(asked, lambda _: stream())
    assert [f.code for f in findings] == ["ok", "slo.missed"], as_text(findings)


# --- ends ------------------------------------------------------------------------------------------------


def ended(error=None, end=100.0, last_byte=99.9, **facts):
    line = replace(LINE, last_token=min(last_byte, end), last_byte=last_byte, end=end)
    cut = {"terminal": None, "finish_reason": None, "usage": None, "tokens": 100, "complete": not error}
    seen = stream(line=line, **{**cut, **facts})
    return attributed(
        replace(
            exchange(200, b"data: {}\n\n", EVENTS, facts=seen.facts, stream=True, error=error), timeline=line
        )
    )


def only(findings):
    (found,) = findings
    return found, dict(found.detail)


@pytest.mark.parametrize(
    ("seen", "how"),
    [
        (ended(("closed", "body")), "by a close without the end of its framing, 99.9 s after the request, while chunks were coming"),
        (ended(("reset", "body"), end=100.0, last_byte=10.0), "by a reset, 99.9 s after the request and after 90.0 s of silence"),
        (ended(), "tidily, without its end marker, 99.9 s after the request, while chunks were coming"),
    ],
    ids=["at an age", "after silence", "tidily"],
)  # fmt: skip
def test_how_and_when_a_stream_was_cut(seen, how):
    """With the age and the silence as figures, and that it was the same each time."""
    found, rows = only(told(case("streaming"), lambda _: seen)[0])
    assert found.code == "stream.truncated"
    assert rows["ended"] == how
    assert rows["each time"].startswith("3 streams ended")
    assert found.figures["age"].value == pytest.approx(99.9)


def test_streams_that_end_at_different_ages_name_no_timer():
    """Of ages far apart some known timer is always near."""
    ages = iter((20.0, 60.0, 100.0))
    found, rows = only(told(case("streaming"), lambda _: ended(("closed", "body"), end=next(ages)))[0])
    assert found.code == "stream.truncated"
    assert not {"matches", "each time"} & set(rows)


@pytest.mark.parametrize(
    "facts, timer",
    [
        ({}, True),
        ({"terminal": "[DONE]"}, False),
        ({"finish_reason": "abort"}, False),
        ({"errors": [{"message": "CUDA out of memory"}]}, False),
        ({"errors": [{"message": "upstream request timeout"}]}, True),
        ({"errors": [{"message": "Bad Gateway", "code": 502}]}, True),
    ],
    ids=[
        "nothing said",
        "a tidy marker at one token",
        "aborted",
        "out of memory",
        "a time-out",
        "a gateway's error",
    ],
)
def test_a_timer_is_named_where_nothing_else_explains_the_end(facts, timer):
    """Streams of one prompt that end by themselves, or fail at one token, are of one age, too."""
    found, rows = only(told(case("streaming"), lambda _: ended(("closed", "body"), **facts))[0])
    assert found.verdict is Verdict.FAIL
    assert ("each time" in rows) == timer
    assert "with 100 chunks, which each had come to" in rows.get(
        "each time", "with 100 chunks, which each had come to"
    )


@pytest.mark.parametrize(
    ("facts", "headers", "how"),
    [
        ({"tokens": 0, "errors": [{"message": "x"}]}, {}, "tidily, without its end marker, 99.8 s after the request, before any token"),
        ({}, {"http_version": "HTTP/1.0"}, "by a close, which is all that ends a body without framing"),
    ],
    ids=["no token", "HTTP/1.0"],
)  # fmt: skip
def test_an_end_is_told_by_what_came(facts, headers, how):
    """No chunks that were not coming, and nothing tidy of a bare close."""
    seen = replace(ended(**facts), conditions=headers)
    _, rows = only(told(case("streaming"), lambda _: seen)[0])
    assert rows["ended"].startswith(how)


@pytest.mark.parametrize(
    "facts, code, verdict, row",
    [
        ({"terminal": None}, "stream.no_end", Verdict.WARN, ("because", "its end marker did not come")),
        ({"complete": False}, "stream.no_end", Verdict.WARN, ("because", "the end of its framing did not come")),
        ({"terminal": "message_stop"}, "stream.no_end", Verdict.WARN, ("because", "(message_stop is none of it) did not come")),
        ({"terminal": "message_stop", "finish_reason": None}, "stream.masked", Verdict.FAIL, ("because", "no finish reason")),
        ({"terminal": None, "unfinished": "[DONE]"}, "stream.no_end", Verdict.WARN, ("because", "no blank line follows")),
        ({"after_end": 2}, "stream.malformed", Verdict.FAIL, ("because", "2 chunks with text came behind [DONE]")),
        ({"replacement_chars": 1, "replacement_tail": 0}, "stream.corrupted", Verdict.WARN, ("because", "stands once")),
        ({"replacement_chars": 2, "replacement_tail": 0, "replacement_seams": 1}, "stream.corrupted", Verdict.FAIL, ("because", "by halves")),
        ({"replacement_chars": 2, "replacement_tail": 0}, "stream.corrupted", Verdict.FAIL, ("because", "replaced characters")),
        ({"tool_calls": {"n": 1, "cut": 1}, "finish_reason": "tool_calls"}, "stream.masked", Verdict.FAIL,
         ("because", "but a tool call breaks off before it")),
        ({"errors": [{"detail": "Internal Server Error"}], "finish_reason": None, "terminal": None}, "stream.error_event", Verdict.FAIL,
         ("says", '{"detail": "Internal Server Error"}')),
    ],
    ids=["no marker", "no framing", "another API's marker", "another API's marker and no reason", "no blank line", "text behind the end", "one U+FFFD", "by halves", "replaced", "a tool call", "an error"],
)  # fmt: skip
def test_what_is_wrong_is_told_as_that(facts, code, verdict, row):
    """With the evidence itself, and no worse than it is."""
    found = told(case("streaming"), lambda _: stream(**facts))[0][0]
    assert (found.code, found.verdict) == (code, verdict)
    assert row[1] in dict(found.detail)[row[0]]


@pytest.mark.parametrize(
    "facts, codes, tpot",
    [
        ({"usage": {"completion_tokens": 3}, "tokens": 120, "text_chars": 400}, ["stream.usage_wrong"], False),
        ({"usage": {"completion_tokens": 30}, "tokens": 60, "text_chars": 200, "repeats": 30}, ["stream.corrupted"], False),
        ({"usage": {"completion_tokens": 40}, "tokens": 120, "text_chars": 120}, ["ok"], False),
        ({"usage": {"completion_tokens": 7}, "tokens": 7, "usage_conflict": {"prompt_tokens": [9, 99]}}, ["stream.usage_wrong"], True),
        ({"usage": {"completion_tokens": 30}, "tokens": 15, "text_chars": 100}, ["ok"], True),
        ({"usage": {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 100}}, "tokens": 100}, ["ok"], True),
    ],
    ids=["too few", "twice", "parts of tokens", "two prompts", "several a chunk", "reasoning beside"],
)  # fmt: skip
def test_a_count_that_cannot_be_right_gives_no_time_per_token(facts, codes, tpot):
    """More chunks than tokens may be parts of tokens; that many characters in three tokens may not."""
    found = told(case("streaming"), lambda _: stream(**facts))[0]
    assert sorted(f.code for f in found) == sorted(codes), as_text(found)
    assert ("tpot" in found[0].figures) == tpot
    assert "ttft" in found[0].figures


def test_an_error_in_place_of_an_answer_broke_nothing_off():
    """Where no token came."""
    facts = {
        "errors": [{"message": "no healthy upstream", "code": "503"}],
        "finish_reason": None,
        "tokens": 0,
    }
    found = told(case("streaming"), lambda _: stream(**facts))[0][0]
    assert found.code == "stream.masked"
    assert found.title.startswith("An error came in place of the answer")


def test_a_silence_that_was_survived_is_no_idle_timer():
    """A pause as long as the last one had not ended the stream: what did is a limit on its age."""
    seen = ended(("closed", "body"), end=100.1, last_byte=70.1, max_gap=40.0)
    _, rows = only(told(case("streaming"), lambda _: seen)[0])
    assert rows["each time"].startswith("3 streams ended at the same age")
    assert "30.0 s of silence" in rows["ended"]
    seen = ended(("closed", "body"), end=100.1, last_byte=70.1, max_gap=5.0)
    _, rows = only(told(case("streaming"), lambda _: seen)[0])
    assert rows["each time"].startswith("3 streams ended after the same silence")


def test_what_an_error_inside_a_stream_stands_for():
    """Its logical status, and whether a retry would pay for output again."""
    error = {"type": "overloaded_error", "message": "Overloaded"}
    seen = stream(errors=[error], terminal=None, finish_reason=None, tokens=0)
    found, rows = only(told(case("streaming"), lambda _: seen)[0])
    assert (found.code, found.retryable) == ("stream.error_event", True)
    assert "status 529 under HTTP 200" in rows["stands for"]
    assert "no output was delivered" in rows["stands for"]


# --- SDKs ------------------------------------------------------------------------------------------------

FORMS = {"meta": {"n": 1, "line": "retry: 3000"}}


class Sdk:
    """A server whose stream an SDK reads in its own way."""

    def __init__(self, asked, seen, returned=None, raised=None):
        self.case, self._seen, self._how = asked, seen, {"returned": returned, "raised": raised}

    def findings(self):
        server = Server(self.case, lambda _: self._seen)
        inner = server._call

        def call(trial, repeat):
            made = inner(trial, repeat)
            return replace(made, **self._how) if trial.client == OPENAI.name else made

        server._call = call
        return judge(self.case, server)


def test_a_good_stream_that_an_sdk_raised_on_is_the_sdks():
    """The others are good; the form that it fails on is named with its version, to the operator too."""
    seen = stream(forms=FORMS)
    findings = Sdk(
        case("streaming"), seen, raised=Raised("json.JSONDecodeError", "Expecting value")
    ).findings()
    codes = {f.code: f for f in findings}
    assert set(codes) == {"client.parser", "ok"}, as_text(findings)
    told = codes["client.parser"]
    assert (told.client, told.who_acts) == (OPENAI.name, WhoActs.OPERATOR)
    assert "OpenAI/Python 3.57.0" in dict(told.detail)["software"]
    assert "'retry: 3000'" in dict(told.detail)["because"]
    assert told.advice.startswith(
        "Leave a block of `id`, `retry` or `event` lines without data out of streams"
    )
    assert {f.verdict for f in findings} == {Verdict.PASS, Verdict.WARN}


def test_an_sdk_that_hands_over_nothing_has_failed_too():
    """Though it raised nothing."""
    findings = Sdk(case("streaming"), stream(), returned="0 chunks: ").findings()
    assert [f.code for f in findings] == ["client.parser", "ok"], as_text(findings)
    assert findings[0].who_acts is WhoActs.CUSTOMER


LOST = {
    "all but one": (
        stream(forms={"bom": {"n": 1, "line": "\ufeff"}}),
        "ovvvod",
        "4 chunks: ello",
        "1 of the events",
    ),
    "none": (stream(), "ovvvod", "5 chunks: Hello", None),
    "what comes after the marker": (stream(), "ovvvodv", "5 chunks: Hello", None),
    "heartbeats are not handed over": (stream(), "covvpbvod", "5 chunks: Hello", None),
    "more than were kept": (stream(columns_capped=True), "ovvvod", "4 chunks: ello", None),
}


@pytest.mark.parametrize(("seen", "kinds", "returned", "says"), LOST.values(), ids=LOST)
def test_an_sdk_that_loses_a_part(seen, kinds, returned, says):
    """It hands over fewer events than came, and raises nothing: its user has half a word less."""
    seen = replace(seen, event_kinds=kinds, event_times=tuple(n / 10 for n in range(len(kinds))))
    findings = Sdk(case("streaming"), seen, returned=returned).findings()
    assert [f.code for f in findings] == (["client.parser", "ok"] if says else ["ok"]), as_text(findings)
    if says:
        assert findings[0].title == "openai-py loses a part of a stream that keeps to the standard"
        assert says in dict(findings[0].detail)["caller"]
        assert "byte order mark" in dict(findings[0].detail)["because"]


def test_a_form_that_this_runs_sdk_reads_breaks_none():
    """What was seen elsewhere says nothing against it."""
    findings = Sdk(case("streaming"), stream(forms=FORMS), returned="9 chunks: Hello").findings()
    assert [f.code for f in findings] == ["ok"], as_text(findings)
    unseen, _ = told(case("streaming", clients=(HTTPX,)), lambda _: stream(forms=FORMS))
    assert [f.code for f in unseen] == ["ok", "stream.sdk_unsafe"], as_text(unseen)


def test_a_client_that_left_a_stream_was_not_cut_off():
    """What came is in order as far as it came."""
    seen = stream(complete=None, terminal=None, finish_reason=None, forms=FORMS)
    found = told(case("streaming", clients=(OPENAI,)), lambda _: seen)[0]
    assert [f.code for f in found] == ["client.parser"], as_text(found)


# --- finish reasons --------------------------------------------------------------------------------------

BARE = {"finish_reason": None, "usage": {"prompt_tokens": 9, "completion_tokens": 24}}


@pytest.mark.parametrize(
    ("plain", "again", "code"),
    [
        ({"finish_reason": None}, BARE, "ok"),
        ({"finish_reason": "stop"}, BARE, "ok"),
        ({"finish_reason": "stop"}, {**BARE, "usage": {"completion_tokens": 5}}, "stream.masked"),
        ({"finish_reason": "stop"}, {**BARE, "usage": None}, "stream.masked"),
        ({"finish_reason": "stop"}, {**BARE, "terminal": None}, "stream.masked"),
        ({"finish_reason": "stop"}, {**BARE, "finish_reason": "stop"}, "stream.masked"),
        ({"finish_reason": "stop"}, {**BARE, "errors": [{"code": 1}]}, "stream.masked"),
    ],
    ids=["never gives one", "whole by usage", "fewer tokens", "no usage", "no end", "gives one after all", "an error"],
)  # fmt: skip
def test_an_endpoint_that_never_gives_a_reason_is_learnt_only_when_proven(plain, again, code):
    """By its other answers, or by as many tokens as were asked for; else a missing reason is a masked cut."""

    def mind(asked):
        if asked.trial.label == "baseline/plain":
            good = answer("good")
            return attributed(replace(good, facts={**good.facts, "complete": True, **plain}))
        return stream(**(again if asked.trial.label.startswith("baseline") else BARE))

    findings, _ = told(case("streaming"), mind)
    assert findings[0].code == code, as_text(findings)


def test_a_missing_reason_beside_good_streams_is_a_cut():
    """One that gives a reason shows that the endpoint does; nothing is asked to learn."""
    findings, server = told(
        case("streaming"), lambda asked: stream(**(BARE if asked.client == "curl" else {}))
    )
    assert {f.code for f in findings} == {"stream.masked", "ok"}, as_text(findings)
    assert not [label for label in server.asked if label.startswith("baseline")]


# --- usage and tools -------------------------------------------------------------------------------------


def test_usage_that_was_asked_for_and_did_not_come():
    """A warning, with how often."""
    findings, _ = told(
        case("streaming"), lambda asked: stream(**({"usage": None} if asked.client == "curl" else {}))
    )
    assert [f.code for f in findings] == ["ok", "stream.no_usage"], as_text(findings)
    assert (findings[1].observed.k, findings[1].observed.n) == (1, 3)
    assert findings[0].title == "a stream is good through openai-py and httpx"


@pytest.mark.parametrize(
    ("start", "last", "codes"),
    [
        ({"input_tokens": 0, "output_tokens": 1}, {"input_tokens": 21, "output_tokens": 8}, ["stream.usage_differs"]),
        ({"input_tokens": 21, "output_tokens": 1}, {"input_tokens": 21, "output_tokens": 8}, ["ok"]),
        ({"input_tokens": 21, "output_tokens": 1}, {"output_tokens": 8}, ["ok"]),
    ],
    ids=["differ", "twice the same", "once"],
)  # fmt: skip
def test_usage_at_both_ends(start, last, codes):
    """Output differs by design; the same prompt twice is only noted."""
    findings, _ = told(
        case("streaming"), lambda _: stream(usage_start=start, usage_last=last, usage={**start, **last})
    )
    assert [f.code for f in findings] == codes, as_text(findings)
    noted = "input_tokens" in last and codes == ["ok"]
    assert bool([row for row in findings[0].detail if row[0] == "usage"]) == noted


def test_an_api_that_takes_no_tools_is_in_order_and_any_other_refusal_is_not():
    """It says so in its own words; a block page is none of them."""
    said = {
        "message": "tools are not supported",
        "type": "invalid_request_error",
        "param": "tools",
        "code": None,
    }
    findings, _ = told(case("streaming", recipe="tool"), lambda _: attributed(exchange(400, {"error": said})))
    assert [(f.code, f.verdict) for f in findings] == [("ok", Verdict.PASS)], as_text(findings)
    findings, _ = told(case("streaming", recipe="tool"), lambda _: "refused")
    assert Verdict.PASS not in {f.verdict for f in findings}, as_text(findings)


@pytest.mark.parametrize(("reason", "code"), [("tool_calls", "stream.masked"), ("length", "ok")])
def test_half_a_tool_call_is_a_cut_unless_the_cap_made_it_so(reason, code):
    """By its brackets, whatever the end looks like."""
    findings, _ = told(
        case("streaming", recipe="tool"),
        lambda _: stream(finish_reason=reason, tool_calls={"n": 1, "cut": 1}),
    )
    assert findings[0].code == code, as_text(findings)


# --- which way a stream breaks ---------------------------------------------------------------------------

CUT = {"terminal": None, "finish_reason": None, "usage": None}


def forked(**params):
    asked = case("streaming", (OPENAI,), **params)
    routes = {**asked.target.routes, "origin": Route("origin", "http://o.example/v1")}
    return replace(asked, target=replace(asked.target, routes=routes))


def by_way(edge, origin):
    """What `told` finds where each route answers so; a list is taken one by one."""

    def mind(asked):
        answers = origin if asked.trial.route == "origin" else edge
        answered = answers.pop(0) if isinstance(answers, list) else answers
        return answered if isinstance(answered, NotSent | str) else stream(**answered)

    return told(forked(), mind)[0]


def test_what_breaks_on_the_way_is_the_edges():
    """Whole straight to the origin, three of three, and broken over the edge: the way is the factor."""
    [found] = by_way(CUT, {})
    assert (found.code, found.layer, found.factor) == ("stream.truncated", Layer.EDGE, Factor.ROUTE)
    assert found.control
    assert found.variant
    assert found.confidence is Confidence.HIGH
    assert "0 of 3 straight to the origin, 3 of 3 over edge" in dict(found.detail)["by route"]


def test_what_breaks_without_the_edge_is_not_the_edges():
    """Broken on both ways: it is made behind the edge, and nothing is claimed of the way."""
    [found] = by_way(CUT, CUT)
    assert (found.layer, found.factor, found.confidence) == (Layer.ORIGIN, None, Confidence.MEDIUM)


@pytest.mark.parametrize(
    "origin", ["key", "unreachable", NotSent.BUDGET], ids=["refused", "no answer", "no budget"]
)
def test_a_way_that_says_nothing_leaves_the_layer_unknown(origin):
    """An origin that does not answer with a stream is no control."""
    found = by_way(CUT, {"key": "rejected", "unreachable": "timeout"}.get(origin, origin))[0]
    assert (found.code, found.layer, found.factor) == ("stream.truncated", Layer.UNKNOWN, None)
    assert "by route" in dict(found.detail)


def test_now_and_then_on_both_ways_tells_nothing():
    """Mixed sides prove no factor."""
    origin = [CUT, {}, CUT, {}, CUT, {}]
    [found] = by_way(CUT, origin)
    assert (found.layer, found.factor) == (Layer.UNKNOWN, None)
    assert "3 of 6 straight to the origin" in dict(found.detail)["by route"]


def test_a_good_stream_is_not_asked_for_by_another_way():
    """Twins are bought for what broke alone."""
    asked = []
    told(forked(), lambda a: asked.append(a.trial.route) or stream())
    assert set(asked) == {"edge"}


def test_a_case_with_two_routes_is_bounded_by_what_its_twins_cost():
    """A plan names the worst case."""
    one, two = (KINDS["streaming"].bound(each) for each in (case("streaming", (OPENAI,)), forked()))
    assert two.requests == one.requests + 2 * MOST_PAIRS
    assert two.tokens > one.tokens


RAISED = Raised("APIConnectionError", "Connection error.")


@pytest.mark.parametrize(
    "raised, fields",
    [
        (None, {}),
        (RAISED, {"verdict": Verdict.FAIL, "title": "The answer is whole, and its stream has no proper end: openai-py raises"}),
    ],
    ids=["taken", "raised"],
)  # fmt: skip
def test_a_whole_answer_without_an_end_hurts_whom_it_raises_for(raised, fields):
    """The bytes are the same; a customer whose library raises has no answer."""
    whole = exchange(200, b"", EVENTS, stream=True, facts=stream_facts(terminal=None, usage=USAGE))
    findings, server = told(case("streaming"), lambda _: attributed(whole))
    found = next(f for f in findings if f.code == "stream.no_end")
    call = next(call for call in server.calls if call.trial.client == OPENAI.name)
    assert otherwise(found, [replace(call, raised=raised)]) == fields


# --- nothing is told twice, and nothing good that is not -------------------------------------------------


@pytest.mark.parametrize(
    "facts, title, advice",
    [
        ({"usage": {"completion_tokens": 30}, "tokens": 60, "text_chars": 200, "repeats": 30}, "comes twice", "sends events again"),
        ({"replacement_chars": 2, "replacement_tail": 0}, "damaged", "decode them only across chunk borders"),
    ],
    ids=["twice", "cut characters"],
)  # fmt: skip
def test_what_is_damaged_is_told_with_what_mends_it(facts, title, advice):
    """One finding, with fitting advice."""
    [found] = told(case("streaming"), lambda _: stream(**facts))[0]
    assert found.code == "stream.corrupted"
    assert title in found.title
    assert advice in found.advice


def test_who_was_not_asked_is_told_where_no_stream_is_good():
    """With what is told of those that were asked."""
    slow = Timeline(upload_start=0.1, upload_end=0.1, headers=0.2, first_byte=0.2, first_event=0.3, first_token=0.5, last_token=99.0, last_byte=99.0, end=99.0)  # fmt: skip
    asked = case("streaming")
    asked = replace(asked, target=replace(asked.target, limits=replace(asked.target.limits, concurrency=1)))
    [found] = told(asked, lambda _: stream(usage=None, line=slow))[0]
    assert found.code == "stream.no_usage"
    assert "not asked" in dict(found.detail)


@pytest.mark.parametrize(
    "kind, title", [("text/html", "wrong content type"), (None, "no content type")], ids=["another", "none"]
)
def test_a_missing_content_type_is_not_a_wrong_one(kind, title):
    """What is to be done is the same."""
    seen = stream(sniffed=True)
    seen = attributed(replace(seen, headers={"content-type": [kind]} if kind else {}))
    [found] = told(case("streaming"), lambda _: seen)[0]
    assert found.code == "stream.content_type"
    assert title in found.title


@pytest.mark.parametrize(
    "form, line, alive",
    [("bom", "\ufeff", False), ("empty", "data:", True)],
    ids=["a byte order mark", "empty data"],
)
def test_only_what_keeps_a_connection_alive_has_comments_for_a_substitute(form, line, alive):
    """A byte order mark is sent for no such end."""
    seen = stream(forms={form: {"n": 1, "line": line}})
    found = Sdk(case("streaming"), seen, raised=Raised("json.JSONDecodeError", "")).findings()[0]
    assert found.code == "client.parser"
    assert ("comment" in found.advice) == alive
    assert ("BOM" in found.advice) == (form == "bom")


@pytest.mark.parametrize("kinds, said", [("occcc", "heartbeats (comments)"), ("ovvccp", "heartbeats (comments and pings)"), ("ocvvvv", None), ("o", None)])  # fmt: skip
def test_what_our_limit_ended_among_heartbeats_says_so(kinds, said):
    """Alive and silent: neither dead nor an answer; questions that meet it alike have one title."""
    seen = replace(stream(kinds, every=10.0, terminal=None, finish_reason=None, usage=None, complete=False), error=WireError("deadline", "body", "ours"))  # fmt: skip
    seen = attributed(replace(seen, timeline=replace(seen.timeline, end=60.2, last_byte=50.0)))
    found = told(case("streaming", deadline=60.0), lambda _: seen)[0][0]
    assert found.verdict is Verdict.INCONCLUSIVE
    assert (said in found.title) if said else "heartbeats" not in found.title
