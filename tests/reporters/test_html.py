"""The page: it holds every finding and call, loads nothing, runs its own script alone, and no text in it becomes markup.

What a browser makes of it: tests/real/test_page.py.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from dataclasses import replace

import pytest
from reporters.hostile import AROUND, FIELDS, FINE, FOUND, HARMS, Page, hostile_run, run_of, told
from reporters.test_picture import CALL, STREAM, ended
from reporters.test_tracks import events

from probes.model import Raised, Skipped, Timeline, Verdict
from probes.redact import safe_text
from probes.reporters import assets, html
from probes.reporters.calls import MOST
from probes.reporters.figures import arrivals, group, phases
from probes.reporters.tracks import Track


def page_of(run) -> Page:
    return Page(told(html, run))


def policy(page: Page) -> dict[str, str]:
    [content] = [a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    return dict(part.strip().split(" ", 1) for part in content.split(";"))


def digest(inline: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


def cut_stream(**more):
    """A call whose stream was cut after a silence."""
    shown = replace(events("vvvvccc", error=("closed", "body"), end=38.0), id=STREAM, **more)
    return replace(CALL, exchanges=(shown,))


CUT = replace(FOUND, code="stream.truncated", evidence=(STREAM,), factor=None)
PLOTTED = run_of(CUT, FINE, calls=(cut_stream(),))


@pytest.mark.parametrize("run", [run_of(FOUND, FINE), PLOTTED], ids=["without a plot", "with plots"])
def test_it_loads_nothing(run):
    """No resource and no form, and a policy that would forbid each."""
    page = page_of(run)
    assert policy(page)["default-src"] == policy(page)["base-uri"] == policy(page)["form-action"] == "'none'"
    assert "unsafe" not in str(policy(page))
    assert not {"link", "img", "iframe", "form", "object", "base"} & {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#"), tag
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in told(html, run)
    assert "@import" not in told(html, run)


def test_the_policy_admits_its_own_style_alone():
    """By the digest of just what stands between the tags."""
    for run in (run_of(FOUND), PLOTTED):
        [style] = re.findall(r"<style>(.*?)</style>", told(html, run), re.DOTALL)
        assert policy(page_of(run))["style-src"] == digest(style)


def test_the_policy_admits_its_own_scripts_alone():
    """The chart library, what all plots share, and what draws them; without a plot there is neither, and nothing may run."""
    assert policy(page_of(run_of(FOUND)))["script-src"] == "'none'"
    assert "<script" not in told(html, run_of(FOUND))
    ours = re.findall(r"<script>(.*?)</script>", told(html, PLOTTED), re.DOTALL)
    assert policy(page_of(PLOTTED))["script-src"].split() == [digest(script) for script in ours]
    assert len(ours) == 3
    assert ours[0].startswith("/*! https://github.com/leeoniya/uPlot (v1.6.32) */")


def test_the_library_is_the_one_that_was_published():
    """By the digests of its files in the package of that version; its licence goes along."""
    for name, published in assets.UPLOT.items():
        assert hashlib.sha256(assets.asset(f"uplot/{name}").encode()).hexdigest() == published
    assert assets.asset("uplot/LICENSE").startswith("The MIT License (MIT)")


def test_what_the_script_reads_is_numbers():
    """No text of a run is in what it parses."""
    [data] = re.findall(r'<script type="application/json" id="columns">(.*?)</script>', told(html, PLOTTED))
    assert re.fullmatch(r'[\[\]{}",:0-9.e-]*', re.sub(r'"(unit|at|tokens|beats|gaps|lags|end)"', '""', data))
    assert [len(stream["at"]) for stream in json.loads(data)] == [4]


def test_a_call_is_shown():
    """What one saw in a sentence, where its time went, the plot as a table, and what came last; with a link from its finding."""
    page = page_of(PLOTTED)
    text = page.text
    assert (
        "then 34.0 s of silence but for 3 heartbeats" in text
        or "34.0 s of silence but for 3 heartbeats" in text
    )
    for said in (
        "Where 38.0 s went",
        "wait for headers",
        "rest of the body",
        "The plot as a table",
        "What came last",
    ):
        assert said in text
    assert "#c1" in [a.get("href") for _, a in page.tags]
    assert {"id": "c1"} in [a for t, a in page.tags if t == "div"]
    assert page.open == page.odd == []


def test_the_wait_for_the_first_token_is_a_silence_in_the_table():
    """A user waits then as he does later."""
    late = replace(
        events("vv"),
        event_times=(30.0, 40.0),
        timeline=Timeline(upload_end=0.0, first_token=30.0, last_byte=40.0, end=40.0),
    )
    table = Page("\n".join(arrivals(Track("x", 0.0, late)))).text.split("\n")
    cells = [line for line in table if " to " in line]
    assert cells[0] == "0 ms to 4.0 s004.0 s"
    assert cells[-1] == "36.0 s to 40.0 s104.0 s"


def test_what_we_did_not_read_is_no_silence_in_the_table():
    """While this process stood still, tokens may have come."""
    late = replace(
        events("vvv"),
        event_times=(1.0, 19.0, 20.0),
        timeline=Timeline(upload_end=0.0, first_token=1.0, last_byte=20.0, end=20.0),
        conditions={"stalls": [(1.5, 18.9)]},
    )
    table = Page("\n".join(arrivals(Track("x", 0.0, late)))).text.split("\n")
    assert [line for line in table if "4.0 s to 6.0 s" in line] == ["4.0 s to 6.0 s000 ms"]


def test_a_stream_that_was_begun_later_says_so():
    """Its sentence tells its age, its axis the time since the first request."""
    tracked = [Track("stream 1", 0.0, cut_stream().exchanges[0]), Track("stream 2", 5.0, cut_stream().exchanges[0])]  # fmt: skip
    text = Page("\n".join(group(tracked, {STREAM: 0}, "f1"))).text
    assert "stream 1: First token" in text
    assert "stream 2, begun 5.0 s after the first: First token" in text
    assert text.count("by the seconds since the first request") == 2


def test_no_two_parts_have_one_name():
    """Links lead where they say."""
    ids = [a["id"] for _, a in page_of(PLOTTED).tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_phases_follow_one_another():
    """Each begins where the one before ended; what the exchange waited for in vain comes last."""
    line = Timeline(
        dns=0.01, connect=0.03, tls=0.08, upload_start=0.09, upload_end=0.1, headers=0.5, first_byte=0.5, first_event=0.6,
        first_token=1.0, first_content=3.0, last_token=6.9, last_byte=7.0, end=38.0,
    )  # fmt: skip
    cut = replace(cut_stream().exchanges[0], timeline=line)
    assert [(p.name, round(p.begin, 2), round(p.end, 2)) for p in phases(cut)] == [
        ("name look-up", 0, 0.01),
        ("connect", 0.01, 0.03),
        ("TLS", 0.03, 0.08),
        ("request sent", 0.09, 0.1),
        ("wait for headers", 0.1, 0.5),
        ("to the first byte", 0.5, 0.5),
        ("to the first event", 0.5, 0.6),
        ("to the first token", 0.6, 1.0),
        ("to visible text", 1.0, 3.0),
        ("tokens", 3.0, 6.9),
        ("rest of the body", 6.9, 7.0),
        ("silence, then cut", 7.0, 38.0),
    ]


@pytest.mark.parametrize("phase, name", [("connect", "silence, connect in vain"), ("tls", "silence, TLS in vain"), ("headers", "silence, no headers")])  # fmt: skip
def test_what_was_waited_for_in_vain(phase, name):
    """A request that got no answer has no phase but those that ended, and that one."""
    failed = replace(ended(9.0, "timeout"), timeline=Timeline(dns=0.1, end=9.0))
    failed = replace(failed, error=replace(failed.error, phase=phase))
    assert phases(failed)[-1][:3] == (name, 0.1, 9.0)


def test_a_large_run_is_a_page_that_opens():
    """300 calls with streams of 2,000 events are a few megabytes; of more calls those with trouble are kept."""
    times = tuple(round(1.8 + n * 0.04, 6) for n in range(2000))
    cut = events("vvvv", error=("closed", "body"), end=times[-1])
    stream = replace(cut, event_times=times, event_kinds="vvvvc" * 400, body_head=b"x" * 60_000)
    calls = [replace(CALL, exchanges=(replace(stream, id=f"e{n}"),)) for n in range(400)]
    run = run_of(replace(CUT, evidence=("e399",)), calls=tuple(calls))
    text = told(html, run)
    assert len(text) < 2_500_000
    assert text.count('<details class="call">') == MOST
    assert "300 of 400 calls" in text
    assert '<a href="#c300">call 300</a>' in text


def test_light_dark_and_paper():
    """The page follows the reader's choice of colours, and has rules for print."""
    text = told(html, run_of(FOUND))
    assert "color-scheme: light dark" in text
    assert "@media print" in text


def test_every_finding_is_there():
    """The worst first, each with its rows, and reached from the table."""
    warned = replace(FOUND, verdict=Verdict.WARN, title="leaks")
    page = page_of(run_of(FINE, warned, FOUND, skipped=(Skipped("s/x", "curl", "not installed"),)))
    text = page.text
    assert [a["id"] for t, a in page.tags if t == "article"] == ["f1", "f2", "f3"]
    assert [a["href"] for t, a in page.tags if t == "a"] == ["#f1", "#f2", "#f3"]
    assert text.index("✗ fail openai-py") < text.index("▲ warn leaks") < text.index("✓ pass curl passes")
    for said in ("the user agent alone", "operator: Let the API path", "(ran: same answer)", "not installed"):
        assert said in text
    assert page.open == page.odd == []


def test_a_plot_says_what_it_counts_and_leads_to_how_it_is_read():
    """Beneath it, before anybody points at it; no link where there is no plot."""
    page = page_of(PLOTTED)
    assert "parts of the answer that had come, by the seconds since the request" in page.text
    assert ("details", {"id": "reading"}) in page.tags
    assert ("a", {"href": "#reading"}) in page.tags
    assert ("a", {"href": "#reading"}) not in page_of(run_of(FOUND)).tags


def test_a_row_of_several_lines():
    """A line end stays one."""
    assert "403 JSON in 67 ms\nand again" in page_of(run_of(FOUND)).text


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text_is_text(harm):
    """Whatever stands in a field, the page has the tags and attributes that harmless text gives."""
    for field in FIELDS + AROUND:
        page = page_of(hostile_run(field, harm))
        assert page.tags == page_of(hostile_run(field, "harmless")).tags
        assert page.open == page.odd == []
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\ufffe\uffff]", told(html, hostile_run(field, harm)))  # fmt: skip


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text_reads_as_it_was(harm):
    """A person sees what was sent, what can't be seen included."""
    assert safe_text(harm) in page_of(hostile_run("title", harm)).text


def hostile_call(harm):
    """A call with `harm` wherever a server, or an SDK that repeats it, can put text."""
    call = cut_stream(body_tail=harm.encode("utf-8", "surrogatepass"))
    facts = {"errors": [{"message": harm}], "terminal": harm, "dialect": harm, "finish_reason": harm}
    shown = replace(
        call.exchanges[0], facts={**call.exchanges[0].facts, **facts}, conditions={"http_version": harm}
    )
    made = replace(shown.attribution, code=harm)
    trial = replace(call.trial, label=harm, client=harm, route=harm)
    return replace(
        call, trial=trial, raised=Raised(harm, harm), exchanges=(replace(shown, attribution=made),)
    )


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_calls_are_text(harm):
    """What a server wrote into its stream makes no tag and no attribute, and what the script reads stays what it is."""
    found = replace(CUT, case="s/x")
    page = page_of(run_of(found, calls=(hostile_call(harm),)))
    harmless = page_of(run_of(found, calls=(hostile_call("harmless"),)))
    named = [(tag, {**attributes, "data-label": ""}) for tag, attributes in page.tags]
    assert named == [(tag, {**attributes, "data-label": ""}) for tag, attributes in harmless.tags]
    assert page.open == page.odd == []
    texts = [text for tag, text in page.texts if tag == "script"]
    assert texts == [text for tag, text in harmless.texts if tag == "script"]
    assert safe_text(harm.split("\n")[0]).strip() in page.text


def test_what_a_month_costs():
    """In a table where that is known, and else not a word of it; a model's name is text."""
    month = [
        ("monthly", "", "2,000,000 requests of <b>890</b> prompt tokens"),
        ("total", "$1,243", "without the cache $2,204"),
        ("saves", "$160", "10 points more of the prompt from the cache (60 → 70 %)"),
    ]
    out = io.StringIO()
    html.report(run_of(FINE), out, month)
    page = out.getvalue()
    assert "What a month costs" in page
    assert "&lt;b&gt;890" in page
    for figure in ("$1,243", "$2,204", "$160"):
        assert figure in page
    assert "What a month costs" not in told(html, run_of(FINE))
