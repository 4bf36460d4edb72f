"""Text that a hostile server could send, in every field that holds text, and what the formats are read with."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

from probes.model import (
    Confidence,
    Factor,
    Finding,
    Layer,
    Observed,
    Reason,
    Reproduce,
    Route,
    Run,
    Skipped,
    Spend,
    Target,
    Verdict,
    WhoActs,
)
from probes.reporters.words import ORDER

NOW = datetime(2026, 11, 29, 17, 43, 12, tzinfo=UTC)
TARGET = Target("t", "openai", "m", {"edge": Route("edge", "https://api.example.com/v1")})
FOUND = Finding(
    "blocked.client",
    Verdict.FAIL,
    "s/identity/patience=9",
    "identity",
    layer=Layer.EDGE,
    product="Cloudflare",
    vendor_code="1010",
    client="openai-py",
    route="edge",
    factor=Factor.USER_AGENT,
    confidence=Confidence.HIGH,
    observed=Observed(3, 3),
    confounders=("accept",),
    title="openai-py is refused at the edge",
    detail=(("seen", "403 JSON in 67 ms\nand again"), ("because", "the user agent alone")),
    reason=Reason.MIXED,
    next_test="more pairs",
    who_acts=WhoActs.OPERATOR,
    advice="Let the API path skip the rule.",
    reproduce=Reproduce("curl -sS https://api.example.com/v1 -A 'OpenAI/Python 3.57.0'", verified=True),
)
FINE = replace(
    FOUND, code="ok", verdict=Verdict.PASS, client=None, title="curl passes", detail=(("seen", "200"),)
)

HARMS = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "closing": "</code></pre></summary></details></td></style></title>--><!--",
    "attribute": "\" onmouseover=\"alert(1)' x='",
    "cdata": "]]></failure><testcase name='forged'/>&amp;&#x41;&bogus;<?xml?><!DOCTYPE x>",
    "link": "[click](https://evil.example) ![x](http://evil.example/x.png) <https://evil.example> www.evil.example",
    "mention": "@octocat #123 GH-12 owner/repo#7 a@b.example !5 $6 ~label &9 %20 :smile:",
    "emphasis": "*a* **b** _c_ ~~d~~ `e` ``f`` $g$ | x | y | \\",
    "fence": "```\n# forged\n~~~~\n`````` ````",
    "lines": "a\n\n# forged\n- [ ] x\n1. y\n| a | b |\n---\n===\r\n    code",
    "blocks": "# forged ##",
    "commands": "::error title=forged::x\n##[add-mask]a ::stop-commands::x\n  ::add-mask::b",
    "controls": "\x00\x01\x08\x0b\x0c\x1b[2J\x7f\x85\x9b\r",
    "not characters": "\ud800 \udfff \ufffe \uffff \U0001fffe",
    "bidi": "\u202egnp.exe\u2066 \u200b\u2028 \U000e0041",
    "percent": "50% %0A::error::forged,title=x:y",
}
FIELDS = ["code", "product", "vendor_code", "client", "route", "title", "advice", "next_test", "confounders"]
FIELDS += ["detail", "label", "reproduce", "case", "kind"]
AROUND = ["model", "base_url", "suite", "vantage", "skipped", "version", "id", "target"]


def run_of(*findings: Finding, **more) -> Run:
    verdicts = {finding.verdict for finding in findings if not finding.accepted}
    worst = next((verdict for verdict in ORDER if verdict in verdicts), Verdict.INCONCLUSIVE)
    told = {
        "id": "20261129-174312-x7k2", "suites": ("s",), "target": TARGET, "vantage": "fra", "started": NOW,
        "finished": NOW + timedelta(seconds=4.1), "versions": {"edgeprobe": "0.1.0"}, "seed": 1, "time_scale": 1.0,
        "verdict": worst, "spend": Spend(35, 100, 1410), "cases": (), "calls": (), "findings": findings,
    }  # fmt: skip
    return Run(**{**told, **more})


def hostile_run(field: str, harm: str) -> Run:
    """A run with `harm` in one field of a finding, or around the findings."""
    if field in AROUND:
        return run_of(FOUND, FINE, **around(field, harm))
    value: object = harm
    if field in {"detail", "label"}:
        field, value = "detail", ((("seen", harm),) if field == "detail" else ((harm, "text"),))
    elif field == "confounders":
        value = (harm,)
    elif field == "reproduce":
        value = Reproduce(f"curl {harm}")
    return run_of(replace(FOUND, **{field: value}), FINE)


def around(field: str, harm: str) -> dict[str, object]:
    return {
        "model": {"target": replace(TARGET, model=harm)},
        "target": {"target": replace(TARGET, name=harm)},
        "base_url": {"target": replace(TARGET, routes={harm: Route(harm, harm)})},
        "suite": {"suites": (harm,)},
        "vantage": {"vantage": harm},
        "skipped": {"skipped": (Skipped(harm, harm, harm), Skipped("s/x", None, harm))},
        "version": {"versions": {harm: harm}},
        "id": {"id": harm},
    }[field]


def told(reporter, run: Run) -> str:
    out = io.StringIO()
    reporter.report(run, out)
    return out.getvalue()


class Page(HTMLParser):
    """The tags with their attributes, and the text, of an HTML page."""

    VOID = frozenset({"meta", "br", "hr", "img", "link"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.odd: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.odd.append(tag)

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data):
        self.odd.append(f"<!--{data}-->")

    def handle_pi(self, data):
        self.odd.append(f"<?{data}")

    def unknown_decl(self, data):
        self.odd.append(f"<![{data}")

    @property
    def text(self) -> str:
        return "".join(text for tag, text in self.texts if tag not in {"style", "script"})
