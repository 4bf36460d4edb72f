"""Is a held stream told from a fast one, and is the factor claimed that makes the difference, and no other?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, CURL, HTTPX, OPENAI, as_text, attributed, case, told
from exchanges import GOOD_CHAT, exchange, stream_facts

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
        (stream([0.3 + k * 0.008 + k // 30 * 1.0 for k in range(120)]), How.FLOWS),
        (stream([0.3 + k * 0.008 + k // 30 * 12.0 for k in range(120)]), How.STEPS),
        (steps(), How.STEPS),
        (steps(size=20 * len(EVENT)), How.STEPS),
        (flowing(n=8), How.UNTOLD),
        (stream([0.1 + k * 0.0003 for k in range(64)]), How.UNTOLD),
        (stream([0.5, 0.501, 5.5, 5.501], [64 * len(EVENT)] * 4), How.UNTOLD),
    ],
    ids=[
        "as made", "a slow model", "a pause in the middle", "eight tokens an event", "one-byte fragments", "held whole", "a fast model", "held whole, on a slow way",
        "a model that pauses every 30 tokens", "a buffer's steps on a slow way",
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
        ([(0.3 + k * 0.1, 0.39 + k * 0.1) for k in range(51)], How.FLOWS, False),
    ],
    ids=["once", "most of the time", "now and then", "always, and by little"],
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


def test_a_stream_that_is_whole_but_for_its_end_marker_flows_all_the_same():
    """What is missing behind it, another question tells."""
    seen = flowing()
    unmarked = attributed(replace(seen, facts={**seen.facts, "terminal": None}))
    found = told(case("buffering"), lambda _: unmarked)[0]
    assert [f.code for f in found] == ["ok"]


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


def test_a_longer_answer_that_comes_as_soon_was_not_held():
    """Three times the events, and the first of them no later: a hold would be a third of what that took."""
    findings, _ = told(case("buffering"), by_length(fast(), fast(n=768, each=0.00003)))
    assert (the(findings).code, findings[0].verdict) == ("ok", Verdict.PASS)


def by_cap(answer):
    """Of a model that answers with `answer(n)`, of as many tokens as the cap allows."""
    return lambda asked: answer(asked.trial.request.cap)


def ends_at(n, answer):
    """Of one that ends by itself after `n`, whatever it may."""
    return lambda asked: _stopped(answer(min(n, asked.trial.request.cap)), n < asked.trial.request.cap)


def _stopped(found, itself):
    return replace(found, facts={**found.facts, "finish_reason": "stop" if itself else "length"})


@pytest.mark.parametrize(
    "mind, code",
    [
        (by_cap(lambda n: whole(n, tpot=0.273, first=2.0)), "stream.buffered"),
        (by_cap(lambda n: fast(n, first=60.0)), "ok"),
        (ends_at(120, lambda n: whole(n, tpot=0.05)), "stream.buffered"),
        (ends_at(120, lambda n: fast(n, first=8.0)), "ok"),
    ],
    ids=["held, slow", "slow to begin", "held, ends by itself", "ends by itself"],
)
def test_a_longer_answer_that_cannot_be_had(mind, code):
    """It would take more than the deadline, or the model says no more: a shorter one tells as well."""
    asked = case("buffering")

    def within(request):
        found = mind(request)
        assert found.timeline.end < asked.params["deadline"]
        return found

    assert the(told(asked, within)[0]).code == code


def test_a_deadline_of_ours_is_named():
    """Where only a longer answer would tell, and we did not wait for it."""
    ours = exchange(200, b"", SSE, error=("deadline", "read"), facts={"stream": True}, stream=True)
    found = the(told(case("buffering"), by_length(fast(first=30.0), ours))[0])
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "own limit of 120 s" in dict(found.detail)["seen"]


def test_a_long_wait_before_a_stream_that_flows():
    """Comments for 20 s and then event by event: whether the first waited for the last is said to be open, no more."""
    found = the(told(case("buffering"), lambda _: flowing(n=120, tpot=0.01, first=20.0))[0])
    assert (found.verdict, found.confidence) == (Verdict.PASS, Confidence.LOW)
    assert "no answers of two lengths" in dict(found.detail)["not told"]


def test_a_long_wait_before_a_hold_on_a_slow_way():
    """What leaves in portions of the network's size is not taken for events."""
    size = 1448
    total = 120 * len(EVENT)
    sizes = [size] * (total // size) + [total % size]
    slow = stream([20.0 + k * 0.05 for k in range(len(sizes))], sizes)
    assert not arrivals(slow).apart
    assert the(told(case("buffering"), lambda _: slow)[0]).verdict is Verdict.INCONCLUSIVE


def opened(n=60, rest=60, waited=2.0, tpot=0.03):
    """`n` events at once and then the `rest` as they are made."""
    times = [waited + k * tpot for k in range(rest + 1)]
    found = stream(times, [n * len(EVENT)] + [len(EVENT)] * rest)
    return replace(found, event_times=(*[waited] * n, *times[1:]), event_kinds="v" * (n + rest))


@pytest.mark.parametrize(
    "found, code",
    [
        (opened(), "stream.buffered"),
        (opened(n=5), "ok"),
        (opened(waited=0.1), "ok"),
        (opened(waited=1.0, tpot=0.003), "ok"),
    ],
    ids=["held", "a few at first", "made at once", "made in a moment"],
)
def test_the_beginning_alone_is_held(found, code):
    """Many events at once, after as long a wait as they take at the pace of the others; nobody knows whose hold that is."""
    said = the(told(case("buffering"), lambda _: found)[0])
    assert said.code == code
    assert code == "ok" or (
        said.verdict is Verdict.WARN and "beginning of the stream is held back" in said.title
    )


def test_the_beginning_is_held_on_the_edge_route_alone():
    """The twin by route proves it as it does any other hold."""
    asked = origin(case("buffering"))
    said = the(told(asked, lambda a: flowing() if a.trial.route == "origin" else opened())[0])
    assert (said.code, said.verdict, said.layer) == ("stream.buffered", Verdict.FAIL, Layer.EDGE)


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

    assert the(told(case("buffering"), mind)[0]).code != "stream.buffered"


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
    "events, pause, verdict",
    [(5, 0.04, Verdict.PASS), (5, 0.1, Verdict.PASS), (10, 0.2, Verdict.WARN), (20, 0.4, Verdict.WARN)],
    ids=["40 ms", "100 ms", "a corked socket's 200 ms", "400 ms"],
)
def test_events_in_goes_that_nobody_sees(events, pause, verdict):
    """A server that writes some events at a time is in order while a reader sees them flow."""
    times = [0.1 + k * pause for k in range(40)]
    found = the(told(case("buffering"), lambda _: stream(times, [events * len(EVENT)] * 40))[0])
    assert found.verdict is verdict
    assert not found.title.endswith(",")


def test_a_busy_machine_reads_one_byte_writes_in_pieces_of_chance():
    """Pieces that end anywhere, of no one size and shortly after each other, are no buffer's."""
    sizes = [len(EVENT) * n + n % 7 + 1 for n in (25, 40, 31, 22, 37)]
    found = the(told(case("buffering"), lambda _: stream([0.1 + k * 0.09 for k in range(5)], sizes))[0])
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)


def silent(seconds):
    """Whole, with a finish reason and without any text."""
    found = replace(stream([seconds]), event_kinds="")
    line = replace(found.timeline, first_token=None, last_token=None)
    return replace(found, timeline=line, facts={**found.facts, "tokens": 0})


@pytest.mark.parametrize(
    "found, verdict",
    [
        (stream([0.1, 0.11], [20 * len(EVENT)] * 2), Verdict.PASS),
        (stream([0.1]), Verdict.PASS),
        (stream([0.02, 0.04], conditions={"stalls": [(0.0, 0.04)]}), Verdict.PASS),
        (silent(0.1), Verdict.PASS),
        (flowing(n=6, tpot=2.0), Verdict.PASS),
        (silent(9.0), Verdict.WARN),
        (stream([5.0, 5.001], [3 * len(EVENT)] * 2), Verdict.INCONCLUSIVE),
        (fast(), Verdict.INCONCLUSIVE),
    ],
    ids=["quick", "one event", "quick though we were late", "no text", "few, one by one", "no text, late", "few at once, late", "many at once, late"],
)  # fmt: skip
def test_what_no_longer_answer_tells(found, verdict):
    """What is over before a reader would notice, or came one by one, is fine; nothing measured is never green; and what came
    at once after a wait may have been held. Each says what was not told.
    """
    findings, _ = told(case("buffering"), lambda _: found)
    said = the(findings)
    assert said.verdict is verdict
    assert verdict is not Verdict.PASS or "whether" in dict(said.detail)["not told"]


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


@pytest.mark.parametrize("answer", ["cut stream", "server error", "refused"])
def test_a_failure_is_not_told_twice(answer):
    """The cases about streams tell it with its advice; here is only said that there was nothing to look at."""
    said = the(told(case("buffering"), lambda _: answer)[0])
    assert (said.code, said.reason) == ("not_measured", Reason.BLOCKED)
    assert "none came whole" in said.title


def unread(found):
    """As the SDK left it, at its first event."""
    facts = stream_facts(
        tokens=0, terminal=None, finish_reason=None, complete=None, forms={"meta": {"line": "retry: 3000"}}
    )
    return attributed(replace(found, facts=facts))


def test_a_client_that_cannot_read_it_is_not_asked_again():
    """The next one sees the bytes."""
    said = the(
        told(case("buffering"), lambda a: unread(flowing()) if a.client == "openai-py" else flowing())[0]
    )
    assert (said.code, said.client) == ("ok", "httpx")


def reasonless(found, proven):
    """A server that gives no finish reason: of what is not streamed, either, if `proven`."""

    def mind(asked):
        if not asked.trial.request.stream:
            facts = {"complete": True, "finish_reason": None if proven else "stop"}
            return attributed(exchange(200, GOOD_CHAT, facts=facts))
        return attributed(replace(found, facts={**found.facts, "finish_reason": None}))

    return mind


@pytest.mark.parametrize(
    "found, code", [(flowing(), "ok"), (steps(4096), "stream.buffered")], ids=["flows", "held"]
)
def test_an_endpoint_that_never_gives_a_reason(found, code):
    """Learnt as the other cases learn it; then its streams are looked at as any."""
    said = the(told(case("buffering"), reasonless(found, proven=True))[0])
    assert said.code == code
    assert "not streamed give none" in dict(said.detail)["no reason"]


def test_an_answer_without_a_reason_that_is_not_proven():
    """It stays one that may be cut."""
    said = the(told(case("buffering"), reasonless(flowing(), proven=False))[0])
    assert (said.code, said.verdict) == ("not_measured", Verdict.INCONCLUSIVE)


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
