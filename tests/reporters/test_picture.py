"""The picture of a twin: what it shows, that it fits, and that nothing a run holds can break it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from canned import attributed
from exchanges import CLOUDFLARE, GOOD_CHAT, exchange, stream_facts
from hypothesis import given, settings
from hypothesis import strategies as st
from reporters.hostile import FOUND, run_of

from probes.model import Ask, Call, Factor, Timeline, Trial, Verdict
from probes.reporters import console, html, markdown
from probes.reporters.picture import picture
from probes.reporters.tracks import Seen

STREAM, WHOLE = "s/length:length/control#0/0", "s/length:length/variant#0/0"
TWIN = replace(
    FOUND, code="timeout.first_byte", kind="length", factor=Factor.STREAM, control=STREAM, variant=WHOLE,
    evidence=(STREAM, WHOLE),
)  # fmt: skip
CALL = Call("c", "s/length", Trial("length", "openai-py", "edge", Ask("chat")), 0)


def streamed(first=1.8, last=190.3, chunks=(), error=None, **more):
    """A stream whose tokens flow from `first` to `last`."""
    ends = (None, None) if error else ("[DONE]", "stop")
    facts = stream_facts(complete=error is None, terminal=ends[0], finish_reason=ends[1])
    found = exchange(
        200, b"data: {}\n\n", {"content-type": "text/event-stream"}, facts=facts, stream=True, error=error
    )
    times = {
        "headers": 1.0,
        "first_byte": first,
        "first_token": first,
        "last_byte": last,
        "end": last,
        **more,
    }
    return attributed(
        replace(
            found,
            id=STREAM,
            timeline=Timeline(upload_end=0.0, **times),
            chunk_times=tuple(chunks),
            event_times=tuple(chunks),
            event_kinds="v" * len(chunks),
        )
    )


def page(at=125.1, status=524, **more):
    """An error of the edge after that many seconds."""
    found = exchange(
        status, f"error code: {status}", {**CLOUDFLARE, "content-type": "text/plain"}, stream=False
    )
    timeline = Timeline(upload_end=0.0, headers=at, first_byte=at, last_byte=at + 0.1, end=at + 0.1)
    return attributed(replace(found, id=WHOLE, timeline=timeline, **more))


def ended(at, how):
    found = exchange(None, error=(how, "headers"), stream=False)
    return attributed(replace(found, id=WHOLE, timeline=Timeline(upload_end=0.0, end=at)))


def answered(at):
    found = exchange(200, GOOD_CHAT, stream=False)
    timeline = Timeline(upload_end=0.0, headers=at, first_byte=at, last_byte=at, end=at)
    return attributed(replace(found, id=WHOLE, timeline=timeline))


def drawn(*exchanges, finding=TWIN, width=60, ascii_only=True):
    return picture(finding, {e.id: Seen(CALL, e) for e in exchanges}, width, ascii_only=ascii_only)


PICTURES = {
    "cut": (
        (streamed(), page()),
        """
streamed     |.#####################| complete after 190.3 s
not streamed |...............X 524 after 125.1 s
              0     50    100   150 s
              . waiting  # tokens  X cut""",
    ),
    "closed while tokens flow": (
        (streamed(last=100.0, error=("closed", "body")), ended(100.0, "closed")),
        """
streamed     |.#######################X closed after 100.0 s
not streamed |........................X closed after 100.0 s
              0           50 s
              . waiting  # tokens  X cut""",
    ),
    "a stream that falls silent": (
        (streamed(1.8, 60.0, chunks=(1.8, 10.0, 20.0, 30.0, 60.0), end=185.0, error=("closed", "body")), answered(98.5)),
        """
streamed     |.###...#...............X closed after 185.0 s
not streamed |............| complete after 98.5 s
              0     50    100    150 s
              . waiting  # tokens  X cut""",
    ),
    "blanks before the first token": (
        (streamed(first=100.0, last=150.0, first_byte=2.0, first_token=100.0), page(60.0, 504)),
        """
streamed     |.---------------######| complete after 150.0 s
not streamed |.........X 504 after 60.0 s
              0      50      100 s
              . waiting  - bytes, no token  # tokens  X cut""",
    ),
    "we gave up": (
        (streamed(), ended(150.0, "deadline")),
        """
streamed     |.####################| complete after 190.3 s
not streamed |.................? our limit after 150.0 s
              0          100 s
              . waiting  # tokens  ? our limit""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("exchanges, expected", PICTURES.values(), ids=PICTURES)
def test_a_picture(exchanges, expected):
    """Both sides on one axis: waiting, bytes, tokens, and how each ended."""
    found = replace(TWIN, factor=None, control=None, variant=None) if exchanges[1].status != 524 else TWIN
    assert "\n".join(["", *drawn(*exchanges, finding=found, width=60)]) == expected


def test_the_requests_of_one_call_follow_one_another():
    """With the pauses of the SDK between them."""
    attempts = [
        replace(page(60.0, 504), id=f"a/{n}", conditions={"paused": 20.0} if n else {}) for n in range(3)
    ]
    found = replace(
        TWIN, code="retry.amplified", factor=None, control=None, variant=None, evidence=("a/0", "a/1", "a/2")
    )
    assert drawn(*attempts, finding=found) == [
        "request 1 |........X 504 after 60.0 s",
        "request 2 |           .........X 504 after 60.0 s",
        "request 3 |                       ........X 504 after 60.0 s",
        "           0      50     100    150 s",
        "           . waiting  X cut",
    ]


NOT_DRAWN = {
    "another factor": replace(TWIN, factor=Factor.CLIENT, kind="identity"),
    "a pass": replace(TWIN, verdict=Verdict.PASS),
    "nothing was kept": replace(TWIN, evidence=()),
    "one request": replace(TWIN, code="retry.amplified", evidence=(WHOLE,)),
}


@pytest.mark.parametrize("finding", NOT_DRAWN.values(), ids=NOT_DRAWN)
def test_nothing_to_draw(finding):
    """What is no stream is drawn beside another alone."""
    assert drawn(page(), replace(page(), id=STREAM), finding=replace(finding, variant="gone")) == []


def through(client, number, *, shown):
    """A stream through that client; its call and its exchange."""
    seen = Seen(replace(CALL, trial=replace(CALL.trial, client=client)), replace(shown, id=f"s/{number}"))
    return seen.exchange.id, seen


def test_a_line_for_each_stream():
    """Of each client the first, also where all was well."""
    cut = streamed(2.0, 30.0, error=("closed", "body"))
    seen = dict(
        through(client, n, shown=cut if client == "curl" else streamed(2.0, 60.0))
        for n, client in enumerate(("curl", "httpx", "curl"))
    )
    for verdict in (Verdict.FAIL, Verdict.PASS):
        found = replace(FOUND, evidence=tuple(seen), verdict=verdict)
        assert picture(found, seen, 60, ascii_only=True) == [
            "curl  |..#############X closed after 30.0 s",
            "httpx |..############################| complete after 60.0 s",
            "       0         20        40 s",
            "       . waiting  # tokens  X cut",
        ]


def test_heartbeats_are_no_tokens():
    """A silence that heartbeats fill is told from one in which nothing came."""
    times = (1.0, 2.0, 3.0, 8.0, 13.0, 18.0, 30.0)
    stream = streamed(1.0, 30.0, chunks=times, error=("closed", "body"))
    stream = replace(stream, event_times=times, event_kinds="vvvcccx")
    [line, *_] = picture(
        replace(FOUND, evidence=(STREAM,)), {STREAM: Seen(CALL, stream)}, 60, ascii_only=True
    )
    assert line == "openai-py |.##....-....-....-..........X closed after 30.0 s"


def test_a_short_beginning_is_seen():
    """Tokens that came and ended within one column are drawn, and the silence after them."""
    times = (1.1, 1.3, 1.7)
    stream = replace(
        streamed(1.1, 1.7, times, error=("closed", "body"), end=61.7), event_times=times, event_kinds="vvv"
    )
    [line, *_] = picture(
        replace(FOUND, evidence=(STREAM,)), {STREAM: Seen(CALL, stream)}, 60, ascii_only=True
    )
    assert line == "openai-py |#...........................X closed after 61.7 s"


def alone(shown):
    """Its lines, as of the only stream of a finding."""
    found = replace(FOUND, evidence=(STREAM,))
    return picture(found, {STREAM: Seen(CALL, shown)}, 60, ascii_only=True)


def test_whole_without_its_end_is_not_cut():
    """A mark and words of its own."""
    shown = streamed(1.0, 20.0)
    shown = replace(shown, attribution=replace(shown.attribution, code="stream.no_end"))
    line, _, legend = alone(shown)
    assert line == "openai-py |..######################! faulty end after 20.0 s"
    assert legend.strip() == ". waiting  # tokens  ! whole, but faulty end"


@pytest.mark.parametrize("width", range(40, 90))
def test_a_mark_stands_beside_its_meaning(width):
    """Wherever the legend is broken into lines."""
    shown = streamed(100.0, 150.0, (100.0, 110.0, 140.0), first_byte=2.0)
    shown = replace(shown, conditions={"stalls": [(112.0, 138.0)]})
    lines = drawn(shown, page(60.0, 504), width=width)
    for meaning in (". waiting", "- bytes, no token", "# tokens", "X cut", "~ we ran late"):
        assert any(meaning in line for line in lines), lines


def test_our_own_lag_is_no_silence():
    """It has a mark of its own."""
    stream = streamed(1.0, 30.0, (1.0, 2.0, 16.0, 30.0))
    stream = replace(stream, conditions={"stalls": [(2.1, 15.9)]})
    line, _, legend = alone(stream)
    assert line == "openai-py |.#~~~~~~~~~~~~#...........| complete after 30.0 s"
    assert legend.strip() == ". waiting  # tokens  ~ we ran late"


def test_streams_that_died_at_one_moment():
    """Their ends stand below each other."""
    seen = {
        f"s/{n}": Seen(
            replace(CALL, case=FOUND.case, trial=replace(CALL.trial, start=5.0 * n)),
            replace(streamed(1.0, 20.0 - 5 * n, error=("closed", "body")), id=f"s/{n}"),
        )
        for n in range(3)
    }
    found = replace(FOUND, kind="lifetimes", code="stream.truncated", evidence=tuple(seen))
    assert picture(found, seen, 60, ascii_only=True)[:3] == [
        "stream 1 |..###########################X closed after 20.0 s",
        "stream 2 |       ..####################X closed after 15.0 s",
        "stream 3 |               ..############X closed after 10.0 s",
    ]


def test_tokens_within_the_last_column_are_seen():
    """Where all came with the end, which has a mark of its own, and where the stream is far shorter than another."""
    seen = dict([through("held", 1, shown=streamed(59.9, 60.0, [59.9, 60.0])), through("short", 2, shown=streamed(0.1, 0.2, [0.1]))])  # fmt: skip
    held, short, *_ = picture(replace(FOUND, evidence=tuple(seen)), seen, 60, ascii_only=True)
    assert held == "held  |.............................#| complete after 60.0 s"
    assert short == "short |#| complete after 200 ms"


def test_a_label_is_harmless():
    """Names come from files of a user, too."""
    seen = dict([through("\x1b[2J\u202e", 1, shown=streamed())])
    text = "".join(picture(replace(FOUND, evidence=tuple(seen)), seen, 80, ascii_only=False))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("width", [*range(70), 88, 200])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_it_fits(width, ascii_only):
    """No line is wider than there is room; below the least there is no picture, and nothing is lost but that."""
    lines = drawn(streamed(), page(), width=width, ascii_only=ascii_only)
    assert max(map(len, lines), default=0) <= width
    assert bool(lines) is (width >= 24)
    text = "\n".join(lines)
    assert not lines or ("190.3" in text and "524" in text)
    assert text.isascii() or not ascii_only


def told(reporter, *exchanges, finding=TWIN):
    call = replace(CALL, exchanges=exchanges)
    out = io.StringIO()
    reporter.report(run_of(finding, calls=(call,)), out)
    return out.getvalue()


@pytest.mark.parametrize("reporter", [console, markdown, html])
def test_each_report_has_it(reporter):
    """In its own form, beside what was seen; without the exchanges there is none."""
    text = told(reporter, streamed(), page())
    assert "complete after 190.3 s" in text
    assert "524 after 125.1 s" in text
    assert "complete after" not in told(reporter)


@pytest.mark.parametrize(
    "first, after", [(-5.0, 3.0), (float("nan"), 1.0), (float("inf"), 2.0), (1e300, 2.0), (0.0, 0.0)]
)
def test_times_that_cannot_be(first, after):
    """What a damaged run holds is drawn or left out, and breaks nothing."""
    lines = drawn(streamed(first=first, last=after), page(at=first))
    assert max(map(len, lines), default=0) <= 60


moments = st.floats(0, 2000, allow_nan=False) | st.none()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(moments, min_size=12, max_size=12),
    st.lists(st.floats(0, 2000), max_size=50),
    st.sampled_from(["closed", "reset", "deadline", "timeout", "new", None]),
    st.integers(24, 120),
)
def test_any_exchange_can_be_drawn(times, chunks, how, width):
    """Whatever is known of its times, and in whatever order."""
    names = ("upload_end", "headers", "first_byte", "first_token", "last_byte", "end")
    one, other = (Timeline(**dict(zip(names, half, strict=True))) for half in (times[:6], times[6:]))
    error = replace(ended(1.0, how), timeline=other) if how else replace(answered(1.0), timeline=other)
    lines = drawn(replace(streamed(chunks=sorted(chunks)), timeline=one), error, width=width)
    assert all(len(line) <= width for line in lines)
