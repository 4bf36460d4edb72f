"""Is a held stream told from a fast one, and is the factor claimed that makes the difference, and no other?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, CURL, HTTPX, OPENAI, as_text, attributed, case, told
from exchanges import exchange, stream_facts

from probes.arrivals import How, arrivals
from probes.kinds import KINDS
from probes.model import Confidence, Factor, Layer, NotSent, Reason, Route, Timeline, Verdict

EVENT = b'data: {"choices":[{"delta":{"content":"1 "}}]}' + b" " * 150 + b"\n\n"
SSE = {"content-type": "text/event-stream"}


def stream(times, sizes=None, *, tokens=None, coding=None, made=None, headers=None, **more):
    """One with these arrivals; a size that is no multiple of an event cuts one in two."""
    sizes = sizes or [len(EVENT)] * len(times)
    tokens = sum(sizes) // len(EVENT) if tokens is None else tokens
    coded = {"content-encoding": coding} if coding else {}
    body = EVENT * (sum(sizes) // len(EVENT) + 1)
    facts = stream_facts(tokens=tokens, made=made)
    found = exchange(200, body[: sum(sizes)], {**SSE, **coded, **(headers or {})}, facts=facts, stream=True)
    line = Timeline(
        upload_end=0.0, headers=0.01, first_byte=times[0], first_event=times[0], first_token=times[0],
        last_token=times[-1], last_byte=times[-1], end=times[-1],
    )  # fmt: skip
    return attributed(
        replace(found, timeline=line, chunk_times=tuple(times), chunk_sizes=tuple(sizes), body_encoding=coding, **more)
    )  # fmt: skip


def flowing(n=256, tpot=0.02, first=0.3, **more):
    return stream([first + k * tpot for k in range(n)], **more)


def whole(n=256, tpot=0.02, first=0.3, spread=0.001, **more):
    """Made as `flowing` is, and there at its end."""
    end = first + n * tpot
    return stream([end, end + spread], [n // 2 * len(EVENT)] * 2, **more)


def fast(n=256, first=2.0, each=0.0001):
    """Made in no time after a long wait."""
    return stream([first, first + n * each], [n // 2 * len(EVENT)] * 2)


def steps(size=4096, n=256, tpot=0.02, first=0.3, **more):
    total = n * len(EVENT)
    sizes = [size] * (total // size) + [total % size or size]
    return stream([first + (k + 1) * size / len(EVENT) * tpot for k in range(len(sizes))], sizes, **more)


# --- how one stream came ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "found, how",
    [
        (flowing(), How.FLOWS),
        (flowing(tpot=0.3), How.FLOWS),
        (stream([0.3 + k * 0.02 + (5.0 if k > 100 else 0.0) for k in range(256)]), How.FLOWS),
        (stream([0.3 + k * 0.16 for k in range(32)], [8 * len(EVENT)] * 32, tokens=32), How.FLOWS),
        (stream([0.3 + k // len(EVENT) * 0.02 for k in range(64 * len(EVENT))], [1] * 64 * len(EVENT)), How.FLOWS),
        (whole(), How.WHOLE),
        (fast(), How.WHOLE),
        (stream([9.0, 9.3, 9.6, 9.9], [64 * len(EVENT)] * 4), How.WHOLE),
        (steps(), How.STEPS),
        (steps(size=20 * len(EVENT)), How.STEPS),
        (flowing(n=8), How.UNTOLD),
        (stream([0.1 + k * 0.0003 for k in range(64)]), How.UNTOLD),
        (stream([0.5, 0.501, 5.5, 5.501], [64 * len(EVENT)] * 4), How.UNTOLD),
    ],
    ids=[
        "as made", "a slow model", "a pause in the middle", "eight tokens an event", "one-byte fragments", "held whole", "a fast model", "held whole, on a slow way",
        "steps of bytes", "steps of events", "a short answer", "within a moment", "two goes",
    ],
)  # fmt: skip
def test_how_a_stream_came(found, how):
    """By arrivals alone; a fast model looks like a buffer, and what is too short is nothing at all."""
    assert arrivals(found).how is how


def test_the_size_of_a_step_is_the_buffers():
    """Steps of one size that cut events in two; of whole events nothing is cut."""
    bytewise, eventwise = arrivals(steps(4096)), arrivals(steps(20 * len(EVENT)))
    assert bytewise.step_bytes == 4096
    assert bytewise.severed > 2
    assert eventwise.severed == 0
    assert eventwise.step_seconds == pytest.approx(0.4)


@pytest.mark.parametrize("changed", [{"coding": "gzip"}, {"body_head": EVENT}], ids=["coded", "taken out of"])
def test_a_body_that_cannot_be_read_is_not_said_to_be_cut(changed):
    """Where events end is seen in the body as it came, or not at all."""
    assert arrivals(steps(4096, **changed)).severed == 0


def test_the_header_of_gzip_is_no_first_byte():
    """Ten bytes at once and the rest at the end is held, not begun."""
    found = stream([0.1, 5.4, 5.401], [10, 400, 400], tokens=256, coding="gzip")
    line = replace(found.timeline, first_token=5.4, first_event=5.4)
    assert arrivals(replace(found, timeline=line)).how is How.WHOLE


@pytest.mark.parametrize(
    "stalls, how, ours",
    [
        ([(1.0, 1.5)], How.FLOWS, False),
        ([(0.5, 1.9), (2.0, 3.4), (3.5, 4.9)], How.UNTOLD, True),
        ([(0.4 + k * 0.5, 0.75 + k * 0.5) for k in range(6)], How.FLOWS, False),
    ],
    ids=["once", "most of the time", "now and then"],
)
def test_what_this_process_was_late_for(stalls, how, ours):
    """Bytes that waited for us alone were held by nobody else."""

    def late(at):
        return next((until for since, until in stalls if since <= at < until), at)

    found = flowing()
    seen = arrivals(
        replace(found, chunk_times=tuple(map(late, found.chunk_times)), conditions={"stalls": stalls})
    )
    assert (seen.how, seen.ours) == (how, ours)


# --- what the flow makes of it ---------------------------------------------------------------------------


def origin(asked):
    return replace(
        asked, target=replace(asked.target, routes={**asked.target.routes, "origin": Route("origin", "http://o.example/v1")})
    )  # fmt: skip


def by_identity(held, free):
    return lambda asked: free if asked.headers.get("accept-encoding") == "identity" else held


def by_length(short, long):
    return lambda asked: long if asked.trial.label.endswith("longer") else short


HELD, GZIPPED = whole(), whole(coding="gzip")


def the(found):
    [finding] = found
    return finding


def test_a_stream_that_flows_costs_two_requests():
    """A small one and a large one."""
    findings, server = told(case("buffering"), lambda _: flowing())
    assert (the(findings).code, server.sent) == ("ok", 2)
    assert findings[0].figures["first_token"].value == pytest.approx(0.3)
    assert findings[0].client == "openai-py"


def test_held_where_it_is_compressed():
    """Three of three beside three of three with identity."""
    findings, server = told(case("buffering"), by_identity(GZIPPED, flowing()))
    found = the(findings)
    assert (found.code, found.factor, found.verdict) == (
        "stream.buffered",
        Factor.ACCEPT_ENCODING,
        Verdict.FAIL,
    )
    assert (found.observed.k, found.observed.n, found.confidence) == (3, 3, Confidence.HIGH)
    assert found.layer is Layer.UNKNOWN
    assert "compression" in found.advice
    assert server.sent == 1 + 1 + 6


def test_held_on_the_edge_route_alone():
    """Where the origin route passes it on, the way is proven, and the layer with it."""
    held = replace(HELD, headers={**HELD.headers, "server": ["nginx"]})
    findings, _ = told(
        origin(case("buffering")),
        lambda asked: flowing() if asked.trial.route == "origin" else attributed(held),
    )
    found = the(findings)
    assert (found.factor, found.layer, found.product) == (Factor.ROUTE, Layer.EDGE, "nginx")
    assert "X-Accel-Buffering" in found.advice


def test_compressed_by_the_edge():
    """Both flow: the closer cause is the factor, and the layer is the edge."""
    asked = origin(case("buffering"))

    def mind(a):
        return flowing() if a.trial.route == "origin" else by_identity(GZIPPED, flowing())(a)

    found = the(told(asked, mind)[0])
    assert (found.factor, found.layer) == (Factor.ACCEPT_ENCODING, Layer.EDGE)


H2 = replace(CURL, name="curl-h2", mode="h2")


def over(version, found):
    return replace(found, conditions={**found.conditions, "http_version": version})


def by_version(rest, second, *, speaks="HTTP/2"):
    """What a server does of each version of HTTP, and which it agrees on where HTTP/2 is offered."""
    return lambda a: over(speaks, second) if a.client == "curl-h2" else over("HTTP/1.1", rest)


def secure(clients=(OPENAI, CURL, H2), base_url="https://a.example/v1"):
    return case("buffering", clients, base_url=base_url)


@pytest.mark.parametrize(
    "rest, second, when",
    [(HELD, flowing(), "over HTTP/1.1 alone"), (flowing(), HELD, "over HTTP/2 alone")],
    ids=["1.1", "2"],
)
def test_held_over_one_version_of_http(rest, second, when):
    """By curl, which speaks both; an SDK alone can't show it."""
    found = the(told(secure(), by_version(rest, second))[0])
    assert (found.code, found.factor, found.confounders) == ("stream.buffered", Factor.HTTP_VERSION, ())
    assert when in found.title
    assert "not tested" not in dict(found.detail)


@pytest.mark.parametrize(
    "found, code", [(steps(4096), "stream.buffered"), (flowing(), "ok")], ids=["held", "flows"]
)
def test_both_versions_of_http_alike(found, code):
    """Then neither is the factor, and it was tested."""
    said = the(told(secure(), by_version(found, found))[0])
    assert (said.code, said.factor) == (code, None)
    assert "not tested" not in dict(said.detail)


def test_held_over_http2_now_and_then():
    """A hold that did not come again is no factor, and nothing is called good."""
    asked = secure()
    found = the(told(asked, lambda a: by_version(flowing(), flowing() if a.repeat else HELD)(a))[0])
    assert (found.verdict, found.reason, found.factor) == (Verdict.INCONCLUSIVE, Reason.MIXED, None)


@pytest.mark.parametrize("found", [HELD, flowing()], ids=["held", "flows"])
@pytest.mark.parametrize(
    "asked, speaks, why",
    [
        (secure(base_url="http://a.example/v1"), "HTTP/2", "route edge is plain http"),
        (secure(clients=(OPENAI, CURL)), "HTTP/2", "it takes the clients curl and curl-h2"),
        (secure(), "HTTP/1.1", "the server agreed on HTTP/1.1 where HTTP/2 was offered"),
    ],
    ids=["no TLS", "no such client", "not agreed"],
)
def test_versions_that_could_not_be_compared(found, asked, speaks, why):
    """It is said that this was not tested, and why; what differs by chance is not put down to a version nobody spoke."""
    said = the(told(asked, by_version(found, flowing() if speaks == "HTTP/1.1" else found, speaks=speaks))[0])
    assert said.factor is None
    assert why in dict(said.detail)["not tested"]


def test_held_where_the_request_is_large():
    """A small request flows, the same with a long prompt does not."""
    found = the(told(case("buffering"), lambda a: HELD if a.trial.request.prompt_tokens else flowing())[0])
    assert (found.code, found.factor) == ("stream.buffered", Factor.SIZE)


def test_a_fast_model_is_not_taken_for_a_buffer():
    """The first token does not wait for the last: an answer three times as long begins as soon."""
    findings, _ = told(case("buffering"), by_length(fast(), fast(n=9000)))
    assert (the(findings).code, findings[0].verdict) == ("ok", Verdict.PASS)


def test_a_model_that_answers_at_once_is_not_judged():
    """Neither the wait nor the answer grows."""
    findings, _ = told(case("buffering"), by_length(fast(), fast(n=768, each=0.00003)))
    assert (the(findings).verdict, findings[0].reason) == (Verdict.INCONCLUSIVE, Reason.TOO_FEW)


def test_the_first_token_waits_for_the_last():
    """Three pairs in which it does are proof without any other way to ask."""
    findings, server = told(case("buffering"), by_length(whole(), whole(n=768)))
    found = the(findings)
    assert (found.code, found.factor, found.confidence) == ("stream.buffered", None, Confidence.HIGH)
    assert "the first waits for the last" in dict(found.detail)["because"]
    assert server.sent == 1 + 1 + 6


def test_a_wait_that_grew_once_is_no_hold():
    """A server that was slow once is not a buffer."""

    def mind(asked):
        longer = asked.trial.label.endswith("longer")
        return whole(n=768) if longer and asked.repeat == 0 else fast(n=768) if longer else whole()

    assert the(told(case("buffering"), mind)[0]).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "found, says",
    [
        (whole(made={"by": "created", "seconds": 5.0, "resolution": 1.0, "late": 4.0}), "by its own created"),
        (whole(made={"by": "timings.predicted_ms", "seconds": 5.1, "resolution": 0.0, "late": None}), "by its own timings"),
        (whole(headers={"content-length": "9999"}), "Content-Length"),
        (steps(4096), "in the middle of an event"),
        (steps(20 * len(EVENT), made={"by": "created", "seconds": 5.0, "resolution": 1.0, "late": 0.9}), "one event was on its way"),
    ],
    ids=["created", "timings", "a length", "severed events", "late by its stamps"],
)  # fmt: skip
def test_one_stream_is_proof_enough(found, says):
    """What only a buffer can have done is said after one stream, and whose it is, is left open."""
    finding = the(told(case("buffering"), lambda _: found)[0])
    assert (finding.code, finding.verdict, finding.layer) == ("stream.buffered", Verdict.FAIL, Layer.UNKNOWN)
    assert says in dict(finding.detail)["because"]


def test_what_was_made_at_once_may_come_at_once():
    """The server's own word acquits the way."""
    quick = replace(
        fast(),
        facts={**fast().facts, "made": {"by": "timings.predicted_ms", "seconds": 0.03, "resolution": 0.0}},
    )
    assert the(told(case("buffering"), lambda _: quick)[0]).code == "ok"


def test_a_wait_for_the_first_token_is_no_hold():
    """The role was stamped when the request came, the tokens seconds later, and each arrived as it was made."""

    def slow(n, each):
        made = {"by": "created", "seconds": 9.0, "resolution": 1.0, "late": 0.0}
        return replace(fast(n, first=9.0, each=each), facts={**fast().facts, "made": made, "tokens": n})

    found = the(told(case("buffering"), by_length(slow(256, 0.0001), slow(9000, 0.0001)))[0])
    assert found.code == "ok"


def test_stamps_of_the_one_who_held_it_prove_nothing():
    """A gateway that stamps anew what it releases is judged by arrivals."""
    released = whole(made={"by": "created", "seconds": 1.0, "resolution": 1.0, "late": 0.0})
    longer = whole(n=768, made={"by": "created", "seconds": 1.0, "resolution": 1.0, "late": 0.0})
    found = the(told(case("buffering"), by_length(released, longer))[0])
    assert (found.code, found.confidence) == ("stream.buffered", Confidence.HIGH)


def test_events_in_groups_are_put_down_to_nobody():
    """A server that writes several events at a time looks like a buffer: a warning without a cause."""
    finding = the(told(case("buffering"), lambda _: steps(20 * len(EVENT)))[0])
    assert (finding.code, finding.verdict, finding.confidence) == (
        "stream.buffered",
        Verdict.WARN,
        Confidence.LOW,
    )
    assert "20 " not in finding.title
    assert "one every 400 ms" in finding.title or "KiB" in finding.title


@pytest.mark.parametrize(
    "found", [flowing(n=6), stream([0.1, 0.11], [20 * len(EVENT)] * 2)], ids=["few", "quick"]
)
def test_what_is_too_short_is_not_called_good(found):
    """After a longer one was asked for."""
    findings, server = told(case("buffering"), lambda _: found)
    assert the(findings).verdict is Verdict.INCONCLUSIVE
    assert server.asked["buffering/openai-py/longer"] >= 1


def test_steps_that_only_a_longer_answer_shows():
    """After a long wait for the first token a short answer's steps look like one."""
    found = the(told(case("buffering"), by_length(steps(first=60.0), steps(first=60.0, n=768)))[0])
    assert (found.code, found.verdict) == ("stream.buffered", Verdict.FAIL)
    assert "in the middle of an event" in dict(found.detail)["because"]


def test_held_now_and_then():
    """No factor where the sides are mixed."""

    def mind(asked):
        return (
            flowing() if asked.headers.get("accept-encoding") == "identity" or asked.repeat == 1 else GZIPPED
        )

    finding = the(told(case("buffering"), mind)[0])
    assert (finding.verdict, finding.reason, finding.factor) == (Verdict.INCONCLUSIVE, Reason.MIXED, None)


def test_a_client_that_is_refused_is_not_asked_again():
    """The next one looks instead."""
    findings, _ = told(case("buffering"), lambda a: "refused" if a.client == "openai-py" else flowing())
    assert (the(findings).code, findings[0].client) == ("ok", "httpx")


@pytest.mark.parametrize("answer", ["cut stream", "server error", "timeout", "refused"])
def test_a_stream_that_fails_is_not_judged(answer):
    """Whose fault it is, other kinds say."""
    findings, _ = told(case("buffering"), lambda _: answer)
    assert {f.verdict for f in findings} == {Verdict.INCONCLUSIVE}, as_text(findings)


def test_a_large_request_that_could_not_be_afforded():
    """What was seen is told, and that the rest was not asked."""
    findings, _ = told(
        case("buffering"), lambda a: NotSent.BUDGET if a.trial.request.prompt_tokens else flowing()
    )
    assert [f.verdict for f in findings] == [Verdict.PASS, Verdict.INCONCLUSIVE]


def test_no_more_than_announced():
    """The dearest strategy stays within the bound."""
    asked = origin(case("buffering", ALL))
    _, server = told(asked, lambda a: HELD if not a.trial.request.edits else flowing())
    assert server.sent <= KINDS["buffering"].bound(asked).requests
    assert HTTPX in asked.clients
