"""Long pairs that ended in odd ways: is a clock only named where one is known, and advice only given that is true?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import OPENAI, as_text, attributed
from exchanges import CLOUDFLARE, HTML, exchange
from test_length import cap_of, cut_stream, ended, lasts_for, length, page, plain, stream, used

from probes.model import Confidence, Factor, Reason, Timeline, Verdict, WhoActs

NGINX_504 = "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
ENVOY_503 = "upstream connect error or disconnect/reset before headers. reset reason: connection termination"


def nginx(at):
    return page(at, 504, NGINX_504, {"server": "nginx"})


def answered(at, status, body, headers=None):
    found = exchange(status, body, headers)
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, headers=at, first_byte=at, last_byte=at, end=at)))  # fmt: skip


def blanks_then_closed(every, at):
    """White space every so many seconds, then nothing more."""
    times = tuple(float(each) for each in range(every, int(at), every))
    found = exchange(200, b" " * len(times), {"content-type": "application/json"}, error=("closed", "body"))
    line = Timeline(upload_end=0.0, headers=times[0], first_byte=times[0], last_byte=times[-1], end=at)
    return attributed(replace(found, timeline=line, chunk_times=times, chunks=len(times)))


def said(found):
    return dict(found.detail)


# --- not one clock ---------------------------------------------------------------------------------------

ENDS = {"nginx's 504": nginx, "a close": lambda at: ended(at, "closed"), "Cloudflare's 524": page}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize(("times", "factor"), [((20.0, 60.0, 100.0), Factor.STREAM), ((20.0, 60.0), None)])
def test_ends_at_different_ages_are_no_timers(how, times, factor):
    """Their mean is nobody's time: nothing is matched, no length is called safe, and only the failing side is proven."""
    (found,), _ = length(whole=lambda a: ENDS[how](times[a.repeat]), pairs=len(times))
    assert (found.verdict, found.confidence, found.factor) == (Verdict.FAIL, Confidence.LOW, factor)
    assert "at 20.0" in found.title
    assert "60.0" in found.title
    assert "not one clock" in found.title
    assert not {"matches", "cliff"} & set(said(found))
    assert "cutoff" not in found.figures
    assert "proxy_read_timeout" not in found.advice
    assert "logs" in found.advice


def test_streams_that_end_at_different_ages():
    """As for the other side; streaming is no factor in it."""
    times = (190.0, 260.0, 320.0)
    (found,), _ = length(lambda a: cut_stream(times[a.repeat], silent_for=20.0 * (a.repeat + 6)), plain(400.0), pairs=3)  # fmt: skip
    assert (found.verdict, found.confidence, found.factor) == (Verdict.FAIL, Confidence.LOW, None)
    assert "not one clock" in found.title


def test_both_sides_end_together_but_each_pair_at_another_age():
    """A restart ends both at once: no limit on the whole answer is measured."""
    times = (20.0, 60.0, 100.0)
    (found,), _ = length(
        lambda a: cut_stream(times[a.repeat]), lambda a: ended(times[a.repeat], "closed"), pairs=3
    )
    assert "not one clock" in found.title
    assert (found.confidence, found.factor) == (Confidence.LOW, None)
    assert "cutoff" not in found.figures


@pytest.mark.parametrize("times", [(125.0, 124.2, 125.9), (60.0, 60.3, 59.9)], ids=["Cloudflare", "another"])
def test_the_ends_of_one_clock_may_be_a_second_apart(times):
    """As those of a timer that is counted in seconds are."""
    (found,), _ = length(whole=lambda a: page(times[a.repeat]), pairs=3)
    assert (found.code, found.confidence) == ("timeout.first_byte", Confidence.HIGH)
    assert found.figures["cutoff"].value == pytest.approx(sum(times) / 3)


def test_how_far_apart_ends_were_makes_no_timer_match():
    """What each was measured to counts, not the distance between two."""
    (found,), _ = length(whole=lambda a: ended((46.1, 47.4)[a.repeat], "closed"), pairs=2)
    assert "unknown timer" in said(found)["matches"]
    assert found.confidence == Confidence.LOW


# --- silences that did not end it ------------------------------------------------------------------------


@pytest.mark.parametrize("every, at", [(5, 60.0), (10, 100.0), (10, 93.0)])
def test_white_space_until_the_cut(every, at):
    """A silence as long as those that were survived ended nothing: it is the whole that was cut, at its age."""
    (found,), _ = length(whole=blanks_then_closed(every, at))
    assert (found.code, found.factor) == ("timeout.total", Factor.STREAM)
    assert found.figures["cutoff"].value == pytest.approx(at)
    assert f"cut after {at:.1f} s" in found.title


def test_a_silence_longer_than_all_before_it_is_what_ended_it():
    """Then it is an idle timer, of the silence alone."""
    one = blanks_then_closed(10, 41.0)
    late = replace(one, timeline=replace(one.timeline, end=100.0))
    (found,), _ = length(whole=late)
    assert (found.code, found.figures["cutoff"].value) == ("timeout.idle", pytest.approx(60.0))


@pytest.mark.parametrize("known_by", ["columns", "statistics"])
def test_a_stream_that_survived_a_longer_silence(known_by):
    """70 s were survived, so the 30 s before the end are no idle timer."""
    found = cut_stream(141.0, silent_for=30.0)
    times = (1.8, 21.0, 91.0, 111.0)
    more = {"chunk_times": times} if known_by == "columns" else {"facts": {**found.facts, "max_gap": 70.0}}
    (told,), _ = length(attributed(replace(found, **more)), plain(150.0))
    assert told.code == "stream.truncated"
    assert "after 141.0 s" in said(told)["because"]
    assert told.figures["cutoff"].value == pytest.approx(141.0)


# --- products --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [20.0, 60.0, 300.0, 10.0, 600.0])
def test_a_suspect_is_no_advice_and_a_library_no_suspect(at):
    """Where no answer shows a product, none is named in the advice, and no timer of a client's library is listed."""
    (found,), _ = length(stream(max(at + 50, 150.0)), ended(at, "closed"))
    assert "raise the read timer of the layer that cut" in found.advice
    for library in ("OpenAI SDK", "undici", "OkHttp", "httpx", "aiohttp"):
        assert library not in str(found.detail)
    assert said(found).get("matches", "unknown timer").startswith("unknown timer")


def test_the_products_that_the_headers_show_are_named():
    """nginx's page that came through Cloudflare: the timer is nginx's, and the way is told."""
    (found,), _ = length(whole=page(60.0, 504, NGINX_504, {**CLOUDFLARE, **HTML}))
    assert (found.product, said(found)["matches"]) == ("nginx", "nginx proxy_read_timeout (60 s)")
    assert "Cloudflare" in said(found)["through"]


@pytest.mark.parametrize(
    "shown, label", [(CLOUDFLARE, "matches"), ({}, "no match")], ids=["seen", "not seen"]
)
def test_only_a_product_that_was_seen_matches(shown, label):
    """A connection that was closed unanswered shows nobody; the streams beside it may show who is on the way."""
    beside = stream(150.0)
    (found,), _ = length(
        attributed(
            replace(beside, headers={**beside.headers, **{name: [value] for name, value in shown.items()}})
        ),
        ended(125.0, "closed"),
    )
    assert "Cloudflare proxy read timeout (125 s)" in said(found)[label]
    assert len({"matches", "no match"} & set(said(found))) == 1


def test_a_proven_product_has_no_other_ones_timers():
    """A page of nginx's after a time that is not nginx's default: its own timer was set, nobody else's fired."""
    (found,), _ = length(whole=nginx(100.0))
    assert "unknown timer of nginx" in said(found)["matches"]
    assert "Cloudflare" not in said(found)["matches"]


def test_what_envoy_says_of_a_lost_connection_is_no_timer_of_others():
    """At 60.0 s, where many have one, but not Envoy: its own words and the second are told."""
    (found,), _ = length(whole=page(60.0, 503, ENVOY_503, {"server": "envoy"}))
    assert (found.code, found.product) == ("unreachable.origin", "Envoy")
    assert "matches" not in said(found)
    assert "after 60.0 s: not known whether a timer" in said(found)["because"]


@pytest.mark.parametrize("at", [60.0, 90.0])
def test_a_limit_on_the_whole_is_not_a_read_timers(at):
    """A read timer ends no stream that flows, so whose page the other side got is not whose limit it is."""
    (found,), _ = length(cut_stream(at), nginx(at))
    assert (found.code, found.product, str(found.layer)) == ("timeout.total", None, "unknown")
    assert found.advice.startswith("Cap answers at ")
    assert "streaming is no way out" in found.advice
    assert "read" not in found.advice
    assert "nginx" not in found.advice


# --- what failed otherwise -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_only_the_stream_broke(how):
    """Once, at no known time: the second is told, how far the other side was held, and what would tell more."""
    (found,), _ = length(cut_stream(90.0, how), plain(150.0))
    assert (found.code, found.verdict, found.factor) == ("stream.truncated", Verdict.FAIL, None)
    assert said(found)["because"] == "only what was streamed broke, after 90.0 s, while the same request that was not streamed was answered: not known whether a timer did it"  # fmt: skip
    assert "no cut below 150.0 s" in said(found)["held"]
    assert (found.figures["cutoff"].value, found.figures["held"].value) == (90.0, 150.0)
    assert "--set pairs=3" in str(found.next_test)


COSTUMES = {
    "a page": lambda at: answered(at, 200, "<html><body>Please wait</body></html>", HTML),
    "an error under 200": lambda at: answered(at, 200, {"error": {"message": "upstream gave up"}}),
    "nothing": lambda at: answered(at, 200, b"", {"content-type": "application/json"}),
    "a 500": lambda at: answered(at, 500, {"error": {"message": "oops", "type": "server_error"}}),
}  # fmt: skip


@pytest.mark.parametrize("costume", COSTUMES)
@pytest.mark.parametrize("at", [60.0, 100.0, 77.0])
def test_a_cut_in_another_costume(costume, at):
    """Once it may be chance, whatever timers there are; the same second each time is a clock, whatever it wears."""
    (once,), _ = length(whole=COSTUMES[costume](at))
    assert not once.code.startswith("timeout.")
    assert said(once)["because"] == f"only what was not streamed failed, after {at:.1f} s: not known whether a timer did it"  # fmt: skip
    assert once.figures["cutoff"].value == at
    (thrice,), _ = length(whole=COSTUMES[costume](at), pairs=3)
    assert (thrice.code, thrice.factor) == ("timeout.first_byte", Factor.STREAM), as_text([thrice])
    assert thrice.figures["cutoff"].value == at


def test_an_error_under_200_that_speaks_of_a_timeout():
    """Its own words are enough."""
    (found,), _ = length(whole=answered(60.0, 200, {"error": {"message": "timeout waiting for backend"}}))
    assert (found.code, found.factor) == ("timeout.first_byte", Factor.STREAM)


def test_a_stream_that_never_streams():
    """It is told by itself, and streaming is not the advice about what the other side met."""
    never = lambda a: plain(200.0, tokens=cap_of(a))  # noqa: E731
    whole = lambda a: replace(never(a), request=replace(never(a).request, stream=True))  # noqa: E731
    found, _ = length(lambda a: attributed(whole(a)), nginx(60.0), pace=lambda a: attributed(whole(a)))
    assert [f.code for f in found] == ["timeout.first_byte", "body.shape"], as_text(found)
    assert not found[0].advice.startswith("Stream;")
    assert found[0].advice.startswith("Cap answers that are not streamed")


@pytest.mark.parametrize("said_of_it", ["`max_tokens` too big", "the value is out of range"])
def test_a_cap_that_is_refused_without_a_number(said_of_it):
    """The probe chose it, so no fault is the service's: its message, and what to give instead."""
    refused = answered(0.1, 400, {"error": {"message": said_of_it, "type": "invalid_request_error"}})
    (found,), _ = length(refused, refused)
    assert (found.verdict, found.who_acts) == (Verdict.INCONCLUSIVE, WhoActs.PROBE)
    assert said_of_it in said(found)["it says"]
    assert "--set tokens=N" in found.advice
    assert "the API refused the request" in said(found)["because"]


def test_what_is_refused_without_streaming_alone_is_the_services():
    """Customers would see the same."""
    refused = answered(0.1, 400, {"error": {"message": "this model supports stream mode only", "type": "invalid_request_error"}})  # fmt: skip
    (found,), _ = length(whole=refused)
    assert (found.code, found.verdict) == ("request.rejected", Verdict.FAIL)
    assert "only what was not streamed failed" in said(found)["because"]


# --- held, though not whole ------------------------------------------------------------------------------


def given_up_stream(at):
    return cut_stream(at, "deadline")


HELD = {
    "the stream was too slow": (given_up_stream(599.0), plain(140.9), "No cut below 140.9 s", Verdict.PASS),
    "both were too slow": (given_up_stream(600.0), ended(600.0, "deadline"), "No cut below 600.0 s", Verdict.PASS),
    "one just not there yet": (stream(150.0), ended(151.0, "deadline"), "No cut below 151.0 s", Verdict.PASS),
    "too short, beside a stream that went on": (given_up_stream(599.0), plain(0.6), "No cut below 0.6 s", Verdict.INCONCLUSIVE),
    "given up before the goal": (given_up_stream(20.0), ended(20.0, "deadline"), "No cut below 20.0 s", Verdict.INCONCLUSIVE),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_how_long_it_was_held_counts_whoever_ended_it(name):
    """Our own limit, on either side, is no cut; up to it nothing was cut."""
    streamed, whole, title, verdict = HELD[name]
    (found,), _ = length(streamed, whole, engine="other", means="output")
    assert (found.title, found.verdict) == (f"{title}; not tested beyond", verdict)
    assert "limits.deadline" not in found.advice
    if name == "given up before the goal":
        assert "--set deadline=" in found.advice
    if name.startswith("too short"):
        assert "599.0 s" in said(found)["beside"]


def test_an_answer_that_never_came_was_not_just_held():
    """The streamed one was there long before we gave up the other."""
    (found,), _ = length(stream(150.0), ended(600.0, "deadline"))
    assert (found.verdict, found.factor) == (Verdict.INCONCLUSIVE, None)
    assert "--set deadline=" in found.advice
    assert "the probe itself ended" in said(found)["because"]


@pytest.mark.parametrize("where", ["in the hold", "in the short stream"])
def test_an_interruption_is_told_as_one(where):
    """Not as a limit of the probe's."""
    stopped = ended(9.3, "interrupted")
    if where == "in the hold":
        (found,), _ = length(cut_stream(9.3, "interrupted"), stopped)
        assert "interrupted" in said(found)["because"]
    else:
        (found,), _ = length(pace=stopped)
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason.INTERRUPTED)
    assert "interrupted" in found.title
    assert found.advice == "Run it again and let it end."


def test_a_cut_that_was_seen_before_an_interruption_stands():
    """The stream had outlived it."""
    (found,), _ = length(cut_stream(80.0, "interrupted"), nginx(60.0))
    assert (found.code, found.product, found.factor) == ("timeout.first_byte", "nginx", Factor.STREAM)
    assert found.advice.startswith("Stream; or cap")


def test_a_count_does_not_overrule_the_finish_reason():
    """`length` says that the cap was reached: the model did not end by itself, and that both disagree is told."""
    (found,), server = length(
        whole=lambda a: plain(60.0, tokens=cap_of(a), usage=used(7)), engine="other", means="output"
    )
    assert "ended by itself" not in said(found).get("because", "")
    assert "they disagree" in said(found)["usage"]
    assert server.calls[0].trial.client == OPENAI.name


def test_a_stream_that_counts_too_few_is_as_long_as_its_cap():
    """Its chunks were more than its usage says, so its pace is that of the cap."""

    def wrong(asked):
        found = stream(lasts_for(cap_of(asked), 0.1, 1.0), usage=used(7), first=1.0)
        return attributed(replace(found, facts={**found.facts, "tokens": cap_of(asked)}))

    (found,), _ = length(wrong, lambda a: plain(lasts_for(cap_of(a), 0.1, 1.0), usage=used(7)), pace=wrong)
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert found.figures["tpot"].value == pytest.approx(0.1)
