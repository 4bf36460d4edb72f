"""The text that people read: what it holds, that it fits, and that no server can do harm by it.

EDGEPROBE_UPDATE_SAMPLES=1 writes reports/samples/ anew.
"""

from __future__ import annotations

import io
import os
import pty
import re
import threading
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from probes import lab
from probes.clock import Clock
from probes.demo import demo
from probes.model import (
    Ask,
    Call,
    Called,
    Case,
    Exchange,
    Factor,
    Figure,
    Finding,
    Finished,
    Found,
    Layer,
    Observed,
    Reason,
    Reproduce,
    Route,
    Run,
    Skipped,
    Spend,
    Started,
    Target,
    Timeline,
    Trial,
    Verdict,
    WhoActs,
)
from probes.reporters import console, html, junit, markdown
from probes.reporters.words import told_once
from probes.sinks.progress import Progress

SAMPLES = Path(__file__).parent.parent / "reports" / "samples"
NOW = datetime(2026, 11, 29, 17, 43, 12, tzinfo=UTC)
TARGET = Target("t", "openai", "m", {"edge": Route("edge", "https://api.example.com/v1")})
FOUND = Finding(
    "blocked.client",
    Verdict.FAIL,
    "s/identity",
    "identity",
    layer=Layer.EDGE,
    product="cloudflare",
    vendor_code="1010",
    client="openai-py",
    factor=Factor.USER_AGENT,
    observed=Observed(3, 3),
    confounders=("accept",),
    title="openai-py is refused at the edge",
    detail=(("seen", "403 JSON in 67 ms"), ("because", "the user agent alone")),
    reason=Reason.MIXED,
    next_test="more pairs",
    who_acts=WhoActs.OPERATOR,
    advice="Let the API path skip the rule.",
    reproduce=Reproduce("curl -sS https://api.example.com/v1/chat/completions -A 'OpenAI/Python 3.57.0'", verified=True),
)  # fmt: skip


def run_of(*findings: Finding, **more) -> Run:
    told = {
        "id": "20261129-174312-x7k2", "suites": ("s",), "target": TARGET, "vantage": None, "started": NOW,
        "finished": NOW + timedelta(seconds=4.1), "versions": {}, "seed": 1, "time_scale": 1.0, "verdict": Verdict.FAIL,
        "spend": Spend(35, 1000, 510), "cases": (), "calls": (), "findings": findings,
    }  # fmt: skip
    return Run(**(told | more))


def plain(run: Run) -> str:
    out = io.StringIO()
    console.report(run, out)
    return out.getvalue()


def on_terminal(run: Run) -> str:
    """As a terminal receives it; how wide it is says COLUMNS."""
    main, sub = pty.openpty()
    received: list[bytes] = []

    def receive():
        try:
            while part := os.read(main, 65536):
                received.append(part)
        except OSError:  # Linux says so when the other end is closed
            pass

    reader = threading.Thread(target=receive)
    reader.start()
    with os.fdopen(sub, "w", encoding="utf-8") as out:
        console.report(run, out)
    reader.join(10)
    os.close(main)
    return b"".join(received).decode().replace("\r\n", "\n")


STYLE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """An ordinary terminal, whatever runs the tests."""
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


# --- samples ---------------------------------------------------------------------------------------------

# What differs from run to run, machine to machine and version to version → what stands in the sample.
VARIES = {
    r"127\.0\.0\.1:\d+": "127.0.0.1:8080",
    r"(?<= in )[\d.]+ m?s(?= through|,|;|$)": "60 ms",
    r"ray [0-9a-f]{16}": "ray 1fe68f0af33cb97a",
    r"OpenAI/Python [\d.]+": "OpenAI/Python 3.57.0",
    r"curl/[\d.]+": "curl/8.14.1",
    r"\[[0-9a-f]{12}\]": "[1fe68f0af33c]",
    r"x-stainless-package-version: [\d.]+": "x-stainless-package-version: 3.57.0",
    r"x-stainless-runtime-version: [\d.]+": "x-stainless-runtime-version: 3.11.7",
    r"x-stainless-os: \w+": "x-stainless-os: Linux",
    r"x-stainless-arch: \w+": "x-stainless-arch: x64",
    r"python-httpx/[\d.]+": "python-httpx/0.28.1",
    r"12[4-9]\.\d(?= s| ±)": "125.1",
    r"19\d\.\d s": "190.3 s",
    r"± \d\.\d s": "± 0.7 s",
    r"127\.0\.0\.1 [\d.]+ m?s": "127.0.0.1 3 ms",
    r"2[67]\d(?:\.\d)? ms a token": "273 ms a token",
    r"4[45]\d tokens": "452 tokens",
    r"streamed at [34]\d\d tokens": "streamed at 400 tokens",
    r"(?<=: )headers [\d.]+ m?s, first byte [\d.]+ m?s, first token [\d.]+ s": "headers 63 ms, first byte 63 ms, first token 1.9 s",
    r"117 ms: [\d,]+": "117 ms: 1,053",
    r"20\.6 ms: [\d,]+": "20.6 ms: 5,979",
    r'(?<= time=")[\d.]+': "4.100",
}
VERSIONS = {
    "edgeprobe": "0.1.0",
    "python": "3.13.9",
    "openai-py": "3.57.0",
    "httpx": "0.28.1",
    "curl": "8.14.1",
}
WHOLE = Timeline(
    upload_end=0.0, headers=1.8, first_byte=1.8, first_token=2.1, last_token=190.2, last_byte=190.3, end=190.3
)
CUT = Timeline(upload_end=0.0, headers=125.1, first_byte=125.1, last_byte=125.1, end=125.1)
STREAMED = {
    "timeline": WHOLE,
    "event_times": tuple(round(2.1 + n * 0.273, 3) for n in range(690)),
    "event_kinds": "v" * 690,
    "body_head": b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}\n\ndata: [DONE]\n\n',
}
MEASURED = {
    "cutoff": 125.1, "ttft": 2.1, "tpot": 0.273, "connect_ipv4": 0.003, "streamed_headers": 0.063, "streamed_first_byte": 0.063,
    "streamed_first_token": 1.9, "plain_headers": 125.1, "plain_first_byte": 125.1,
}  # fmt: skip
REFUSED = {"timeline": CUT, "event_times": (), "body_head": b"error code: 524"}
SAMPLES_OF_THE_DEMO = {"demo.txt": console, "junit.xml": junit, "summary.md": markdown, "report.html": html}


def steady(text: str) -> str:
    """`text` without what differs from run to run."""
    for pattern, sample in VARIES.items():
        text = re.sub(pattern, sample, text)
    return text


def without_lag(exchange: Exchange) -> dict[str, object]:
    """What held on that day, but how late this machine ran."""
    return {name: value for name, value in exchange.conditions.items() if name != "stalls"}


def steady_run(run: Run, spend: Spend) -> Run:
    """The run as if its measurements had been those of the sample; lines then break at the same places."""

    def told(finding: Finding) -> Finding:
        detail = tuple((word, steady(sentence)) for word, sentence in finding.detail)
        again = finding.reproduce and replace(finding.reproduce, command=steady(finding.reproduce.command))
        title, advice = steady(finding.title), steady(finding.advice)
        following = finding.next_test and steady(finding.next_test)
        figures = {name: measured(name, figure) for name, figure in finding.figures.items()}
        return replace(
            finding,
            title=title,
            advice=advice,
            detail=detail,
            next_test=following,
            reproduce=again,
            figures=figures,
        )

    def measured(name: str, figure: Figure) -> Figure:
        value = MEASURED.get(name, figure.value)
        return replace(figure, value=value, low=value - (1.5 if name == "cutoff" else 0.0), high=value)

    drawn = {
        name: known
        for f in run.findings
        if f.factor is Factor.STREAM
        for name, known in ((f.control, STREAMED), (f.variant, REFUSED))
    }
    calls = tuple(
        replace(call, exchanges=tuple(
            replace(e, **drawn[e.id], chunk_times=(), body_tail=b"", conditions=without_lag(e)) if e.id in drawn else e
            for e in call.exchanges))
        for call in run.calls
    )  # fmt: skip
    edge = run.target.routes["edge"]
    routes = {"edge": replace(edge, base_url=steady(edge.base_url))}
    return replace(
        run,
        id="20261129-174312-x7k2",
        started=NOW,
        finished=NOW + timedelta(seconds=4.1),
        target=replace(run.target, routes=routes),
        spend=spend,
        seed=7,
        versions=VERSIONS,
        calls=calls,
        findings=tuple(map(told, run.findings)),
    )


def compared(name: str, text: str) -> None:
    path = SAMPLES / name
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), (
        f"if this is meant: EDGEPROBE_UPDATE_SAMPLES=1 pytest {Path(__file__).name}"
    )


@cache
def demonstrated() -> Run:
    return steady_run(demo(), Spend(35, 100, 1410))


@pytest.mark.parametrize("name", SAMPLES_OF_THE_DEMO)
def test_the_sample_of_the_demo(name):
    """The demo reads as its samples do, in each format, but for what was measured."""
    out, run = io.StringIO(), demonstrated()
    if name == "report.html":  # of the calls, those of the twin: the others took as long as they took
        twin = {name for f in run.findings if f.factor is Factor.STREAM for name in (f.control, f.variant)}
        calls = (call for call in run.calls if twin & {exchange.id for exchange in call.exchanges})
        run = replace(run, calls=tuple(calls))
    SAMPLES_OF_THE_DEMO[name].report(run, out)
    compared(name, steady(out.getvalue()))
    if name == "demo.txt":
        assert_plain(out.getvalue())


def test_the_sample_of_a_fault_behind_the_edge():
    """So does a smoke run against an edge whose origin is gone."""
    from probes.conduct import Order, conduct
    from probes.config import target_from_flags
    from probes.credentials import Secrets

    clock = Clock(0.02)
    with lab.serve(["nginx-page-502"], clock=clock, keys=None, profile="nginx") as served:
        target = target_from_flags(served.base_url, "openai", served.model, no_key=True, env_proxy=False)
        run = conduct(Order(("smoke",), target, seed=1, clock=clock), Secrets())
    text = plain(steady_run(run, Spend(22, 110, 1914)))
    text = re.sub(r"\b1\d of 1\d\b", "15 of 15", text)  # a slow machine leaves some of them out
    compared("unreachable.txt", text)
    assert_plain(text)


# --- form ------------------------------------------------------------------------------------------------


def without_commands(text: str) -> list[str]:
    """The lines but those of a command that can be copied: a word of it is never broken."""
    lines, inside = [], False
    for line in text.split("\n"):
        inside = line.startswith("  repeat ") or (inside and not line.lstrip().startswith("("))
        if not inside:
            lines.append(line)
    return lines


def assert_plain(text: str) -> None:
    """Printable ASCII, 80 columns."""
    assert re.fullmatch(r"[\n -~]*", text)
    assert max(map(len, without_commands(text))) <= 80


@pytest.mark.parametrize("force", ["", "1"], ids=["as it is", "FORCE_COLOR"])
def test_plain_where_it_is_no_terminal(monkeypatch, force):
    """In a file or a pipe it is ASCII without escapes, 80 columns wide, whatever the environment wishes for."""
    if force:
        monkeypatch.setenv("FORCE_COLOR", force)
    monkeypatch.setenv("COLUMNS", "40")
    long = replace(FOUND, title="Größe " * 20, detail=(("seen", "wörter " * 40), ("because", "x" * 300)))
    text = plain(run_of(FOUND, long, vantage="düsseldorf"))
    assert_plain(text)
    assert "FAIL openai-py is refused at the edge" in text


@pytest.mark.parametrize(("columns", "most"), [(140, 100), (100, 100), (60, 60)])
def test_on_a_terminal(monkeypatch, columns, most):
    """Glyphs and colour, at most 100 columns, and no wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    long = replace(FOUND, title="words " * 30, detail=(("seen", "more words " * 40),), reproduce=None)
    text = on_terminal(run_of(replace(FOUND, reproduce=None), long))
    shown = STYLE.sub("", text)
    assert "✗ openai-py is refused" in shown
    assert " · " in shown
    assert STYLE.search(text)
    assert max(map(len, shown.split("\n"))) <= most


def test_a_terminal_without_utf_8(monkeypatch):
    """Words instead of glyphs where the terminal can't show them."""

    class Latin(io.StringIO):
        encoding = "latin-1"

        def isatty(self):
            return True

    out = Latin()
    console.report(run_of(FOUND), out)
    assert STYLE.sub("", out.getvalue()).isascii()
    assert "FAIL" in out.getvalue()


def test_trouble_that_cases_share_is_told_once():
    """With what each of them saw; what differs in anything but that is told for itself, and what passed is."""
    first = replace(FOUND, case="s/a", reproduce=None, observed=None, detail=(("seen", "HIT"),))
    same = replace(first, case="s/b", detail=(("seen", "age: 7"),), observed=Observed(2, 3))
    other = replace(first, case="s/c", client="another")
    fine = replace(first, code="ok", verdict=Verdict.PASS, case="s/d")
    told = told_once([fine, first, replace(fine, case="s/e"), same, other])
    assert [f.case for f in told] == ["s/a", "s/c", "s/d", "s/e"]
    assert dict(told[0].detail) == {"seen": "HIT", "also": "s/b: age: 7, 2 of 3"}
    ours = [replace(f, layer=Layer.PROXY) for f in (first, other)]
    assert [f.case for f in told_once(ours)] == ["s/a"]  # a proxy keeps every client back


def test_what_trouble_kept_from_being_asked_is_told_with_it():
    """One line, not two; alone, or where the trouble was met on another route, it is told for itself."""
    cut = replace(
        FOUND,
        code="stream.truncated",
        case="s/a",
        reproduce=None,
        observed=None,
        route="edge",
        detail=(("seen", "cut"),),
    )
    kept = replace(cut, code="not_measured", verdict=Verdict.INCONCLUSIVE, case="s/b", detail=(("seen", "none whole"), ("told as", cut.code)))  # fmt: skip
    (told,) = told_once([kept, cut])
    assert (told.case, dict(told.detail)["also"]) == ("s/a", "s/b: none whole")
    assert [f.case for f in told_once([kept])] == ["s/b"]
    assert [f.case for f in told_once([kept, replace(cut, route="other")])] == ["s/a", "s/b"]


def test_the_worst_first():
    """fail, error, inconclusive, warn, pass; what was accepted comes last."""
    findings = [replace(FOUND, verdict=v, title=f"title {v}") for v in reversed(Verdict)]
    accepted = replace(FOUND, accepted=True, title="title accepted")
    text = plain(run_of(accepted, *findings))
    assert re.findall(r"title (\w+)", text) == ["fail", "error", "inconclusive", "warn", "pass", "accepted"]
    assert "(accepted)" in text


def test_a_finding_in_order():
    """Seen, because, factor, do, next, repeat: in the order in which a person asks."""
    labels = re.findall(r"^  (\w+)  +\S", plain(run_of(FOUND)), re.MULTILINE)
    assert labels == ["seen", "because", "unproven", "factor", "do", "next", "repeat"]


@pytest.mark.parametrize(
    ("verdict", "observed", "said"),
    [
        (Verdict.FAIL, Observed(3, 6), "  seen      502 HTML page, 3 of 6\n"),
        (Verdict.FAIL, Observed(1, 1), "  seen      502 HTML page\n"),
        (Verdict.FAIL, None, "  seen      502 HTML page\n"),
        (Verdict.PASS, Observed(0, 6), "  seen      502 HTML page\n"),
    ],
    ids=["some", "once", "not counted", "fine"],
)
def test_what_was_seen_says_how_often(verdict, observed, said):
    """A trouble of one time in six does not read as one of each time; what is said already is not said twice."""
    finding = replace(FOUND, verdict=verdict, observed=observed, detail=(("seen", "502 HTML page"),))
    assert said in plain(run_of(finding))
    counted = replace(FOUND, observed=Observed(3, 6), detail=(("seen", "3 of 6 refused"), ("so", "no")))
    assert "  seen      3 of 6 refused\n" in plain(run_of(counted))


def test_two_questions_that_meet_the_same_trouble_are_told_apart():
    """Each block says which question it answers."""
    text = plain(run_of(replace(FOUND, kind="completion"), replace(FOUND, kind="streaming")))
    assert re.findall(r"(completion|streaming) \| ", text) == ["completion", "streaming"]


def test_a_pass_is_short():
    """What is well is not explained."""
    fine = replace(FOUND, code="ok", verdict=Verdict.PASS, detail=(("seen", "200 JSON"),))
    text = plain(run_of(fine))
    assert re.findall(r"^  (\w+)  +\S", text, re.MULTILINE) == ["seen"]
    assert "Let the API path" not in text


def test_a_label_too_long_for_its_column_begins_its_text():
    """What is behind it stays in line."""
    long = "gate/completion · openai-py-async"
    text = plain(
        run_of(replace(FOUND, detail=((long, "good each time before, failed each time now, " * 3),)))
    )
    at = text.index("gate/completion")
    lines = text[text.rindex("\n", 0, at) + 1 :].splitlines()[:3]
    assert lines[0].startswith(" " * 12 + "gate/completion | openai-py-async: good")
    assert all(line.startswith(" " * 12) and len(line) <= 80 for line in lines)


def test_the_last_lines():
    """What was found, what it cost, the verdict and where it lies; and what was skipped."""
    run = run_of(
        FOUND, skipped=(Skipped("s/x", "curl", "curl is not installed"), Skipped("s/y", None, "why"))
    )
    assert plain(run).endswith(
        "skipped  s/x with curl: curl is not installed\nskipped  s/y: why\n"
        "1 fail | 35 requests, 1,510 tokens | 4.1 s\nfail | run 20261129-174312-x7k2\n"
    )
    assert "\nnothing measured | " in plain(run_of(verdict=Verdict.INCONCLUSIVE))


def test_the_command_can_be_copied():
    """However long, the lines of a command are one command to a shell, a word never broken."""
    import shlex

    body = '{"model": "m", "messages": "' + "edgeprobe " * 30 + '"}'
    command = shlex.join(["curl", "-sS", "-H", "content-type: application/json", "-d", body, "https://h/v1"])
    text = plain(run_of(replace(FOUND, reproduce=Reproduce(command))))
    block = text[text.index("  repeat ") + 12 : text.index("(not run)")]
    assert shlex.split(block.replace("\\\n", " ")) == shlex.split(command)


SIDES = (
    ("fails", "curl http://h/v1 -H 'a: " + "b c " * 30 + "'  (ran: 403 HTML page in 7 ms, 3 times)"),
    ("passes", "curl http://h/v1 --data-raw '" + "x" * 90 + "… (100,244 characters)  (ran: 200 JSON in 7 ms, 4 times)"),
    ("as code", "from openai import OpenAI\nprint(\n    " + repr("x y " * 30) + ",\n)"),
    ("rule", "change it"),
)  # fmt: skip


def test_both_sides_can_be_copied():
    """As the command that repeats it; what was cut is no command, and says where it is; a program keeps its columns."""
    found = replace(FOUND, detail=SIDES)
    text = plain(run_of(found))
    assert "\n  fails     curl http://h/v1 \\\n              -H 'a: " in text
    assert "\n            (ran: 403 HTML page in 7 ms, 3 times)\n" in text
    assert "xxx" not in text
    said = " ".join(text.split())
    assert "passes (100,244 characters; its request is in exchanges.har of the bundle; ran: 200 JSON in 7 ms, 4 times)" in said  # fmt: skip
    assert f"\n  as code   (not run)\n{SIDES[2][1]}\n" in text
    for report in (markdown.report, html.report):
        out = io.StringIO()
        report(run_of(found), out)
        assert "curl http://h/v1 \\\n" in out.getvalue()
        assert "(not run)" in out.getvalue()


def test_a_command_that_is_none():
    """Odd quotes are shown as they are, not stumbled over."""
    assert "echo 'odd" in plain(run_of(replace(FOUND, reproduce=Reproduce("echo 'odd"))))


# --- harm ------------------------------------------------------------------------------------------------

HARMS = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "c1 escape": "\x9b2J",
    "bidi": "\u202egnp.exe\u2066",
    "line ends": "a\nFAIL forged\r\nfail | run forged\x85\u2028b",
    "markup": "[red]x[/red][link=https://evil]y[/link]:smiley:",
    "half a pair": "\ud800",
    "tags": "\U000e0041",
}
TEXTS = [
    "product",
    "vendor_code",
    "title",
    "advice",
    "next_test",
    "confounders",
    "detail",
    "label",
    "reproduce",
    "case",
]


def hostile(field: str, harm: str) -> Finding:
    value: object = harm
    if field == "confounders":
        value = (harm,)
    elif field in {"detail", "label"}:
        row = ("seen", harm) if field == "detail" else (harm, "text")
        return replace(FOUND, detail=(row,))
    elif field == "reproduce":
        value = Reproduce(f"curl '{harm}'")
    return replace(FOUND, **{field: value})


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text_is_harmless(field, harm):
    """Nothing in any field reaches the terminal but as visible text, and nothing can look like another finding."""
    run = run_of(hostile(field, harm))
    text = plain(run)
    assert re.fullmatch(r"[\n -~]*", text)
    shown = STYLE.sub("", on_terminal(run))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff\U000e0000-\U000e0fff]", shown)  # fmt: skip
    for line in (*text.split("\n"), *shown.split("\n")):
        assert not re.match(r"(FAIL|✗) forged|fail . run forged", line)
    if harm == HARMS["markup"] and field not in {"case", "reproduce"}:
        assert "[red]x[/red]" in re.sub(r"\n +", "", text)


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text_around_the_findings(harm):
    """Nor in what stands above and below them."""
    target = replace(TARGET, model=harm, routes={"edge": Route("edge", f"https://h/{harm}")})
    run = run_of(target=target, suites=(harm,), vantage=harm, skipped=(Skipped(harm, harm, harm),))
    assert re.fullmatch(r"[\n -~]*", plain(run))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", STYLE.sub("", on_terminal(run)))


def test_every_text_of_a_finding_is_tried():
    """A field that is added to findings, and shown, is added above."""
    text = {f.name for f in fields(Finding) if "str" in str(f.type)}
    shown = {"product", "vendor_code", "title", "advice", "next_test", "confounders", "detail", "case"}
    not_shown = {"code", "kind", "client", "route", "control", "variant", "evidence", "figures", "conditions"}
    assert text == shown | not_shown


# --- a finding always says what to do --------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [(), ("--max-requests", "2"), ("--max-tokens-total", "1"), ("--client", "curl", "--max-requests", "4")],
    ids=["healthy", "requests", "tokens", "one client"],
)
def test_every_trouble_says_what_to_do(edgeprobe, at_lab, flags):
    """Each finding that is not a pass has a line `do`."""
    said = edgeprobe("run", "smoke", *at_lab, *flags)
    findings = re.split(r"\n\n", said.out)[1:-1]
    assert findings
    for finding in findings:
        assert finding.startswith("ok ") or re.search(r"^  do  ", finding, re.MULTILINE), finding


@pytest.mark.parametrize("fault", ["silent", "reset-all", "block-all", "rate-limit", "page-530"])
def test_every_fault_says_what_to_do(edgeprobe, at, fault):
    """So does what is found of an edge that answers nobody."""
    with lab.serve([fault], clock=Clock(0.01), keys=None) as served:
        said = edgeprobe("run", "smoke", *at(served, scale=0.01))
    findings = re.split(r"\n\n", said.out)[1:-1]
    assert findings
    for finding in findings:
        assert finding.startswith("ok ") or re.search(r"^  do  ", finding, re.MULTILINE), finding


# --- while it runs ---------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A terminal that only remembers."""

    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize("out", [io.StringIO(), Terminal()], ids=["log", "terminal"])
def test_progress(out):
    """A terminal sees the cases under way, and is left as it was; a log gets no noise."""
    case = Case("s/completion", "s", "completion", TARGET, (), "edge", {}, 1)
    call = Call("c", case.id, Trial("t", "curl", "edge", Ask("chat")), 0)
    sink = Progress(out)
    for event in (Started(case), Called(call)):
        sink(event)
    if out.isatty():
        assert sink._status.status == "s/completion (1 sent) · 0 found"
    for event in (Found(replace(FOUND, case=case.id)), Finished(run_of(FOUND))):
        sink(event)
    sink.close()
    text = out.getvalue()
    if out.isatty():
        assert "1 found" in text
        assert text.count("\x1b[?25l") == text.count("\x1b[?25h") > 0  # the cursor is hidden, and shown again
    else:
        assert text == ""
