"""Markdown: what a summary holds, and that no text in it has an effect.

It is read with a parser of CommonMark and GitHub's tables, and the page that this gives with one of HTML.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hostile import AROUND, FIELDS, FINE, FOUND, HARMS, Page, hostile_run, run_of, told
from markdown_it import MarkdownIt

from probes.model import Reproduce, Skipped, Verdict
from probes.reporters import markdown

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ZERO = "\u200b"
OURS = {
    "h2",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "details",
    "summary",
    "ul",
    "li",
    "strong",
    "br",
}
OURS |= {"pre", "code"}


def page_of(run) -> Page:
    return Page(READER.render(told(markdown, run)))


def shape(page: Page) -> list[str]:
    """The page's tags without those that come and go with line ends in a row."""
    return [tag for tag, _ in page.tags if tag != "br"]


def test_the_headline_first():
    """Verdict and the worst finding stand in the first line, then counts, then which run."""
    first, _, counts, _, run, *_ = told(markdown, run_of(FINE, FOUND)).split("\n")
    assert first == "## ✗ edgeprobe fail: openai-py is refused at the edge"
    assert counts == "1 fail, 1 pass · 35 requests, 1,510 tokens · 4.1 s"
    assert run.startswith("run 20261129-174312-x7k2 · s on https:")


def test_the_headline_of_a_green_run_says_what_passed():
    """Not the first of its answers, which may be the least of them."""
    opened = replace(FINE, kind="connection", title="1 address of the host takes connections")
    first = told(markdown, run_of(opened, FINE)).split("\n")[0]
    assert "2 passed: connection, identity" in first
    assert "address" not in first


def test_the_table_holds_every_finding():
    """The worst first, and what was skipped."""
    warned = replace(FOUND, verdict=Verdict.WARN, title="leaks", client=None)
    run = run_of(FINE, warned, FOUND, skipped=(Skipped("s/x", "curl", "not installed"),))
    rows = re.findall(r"^\| \S (\w+) \| (.*?) \| (.*?) \| (.*?) \|", told(markdown, run), re.MULTILINE)
    assert rows == [
        ("fail", "s/identity/patience=9", "openai-py", "openai-py is refused at the edge"),
        ("warn", "s/identity/patience=9", "", "leaks"),
        ("pass", "s/identity/patience=9", "", "curl passes"),
        ("skipped", "s/x", "curl", "not installed"),
    ]


def test_details_can_be_folded():
    """One block per trouble, the worst open; a pass has none."""
    page = page_of(run_of(FINE, FOUND, replace(FOUND, verdict=Verdict.INCONCLUSIVE)))
    assert [attributes for tag, attributes in page.tags if tag == "details"] == [{"open": None}, {}]
    assert page.open == page.odd == []


def test_the_reproducer_is_a_code_block():
    """With what is known of it beside it."""
    page = page_of(run_of(FOUND))
    code = "".join(text for tag, text in page.texts if tag == "code")
    assert code == "curl -sS https://api.example.com/v1 -A 'OpenAI/Python 3.57.0'\n"
    assert "Repeat (ran: same answer):" in page.text


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text_has_no_effect(harm):
    """The page has the tags that harmless text gives and no others, none with an attribute that harms."""
    for field in FIELDS + AROUND:
        page = page_of(hostile_run(field, harm))
        assert shape(page) == shape(page_of(hostile_run(field, "harmless")))
        assert {tag for tag, _ in page.tags} <= OURS
        assert all(
            not attributes or attributes in ({"open": None}, {"class": "language-sh"})
            for _, attributes in page.tags
        )
        assert page.open == page.odd == []


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_nothing_is_referred_to(harm):
    """What GitHub and GitLab look for in the finished page is not there outside of code: they make links of it."""
    for field in set(FIELDS + AROUND) - {"reproduce", "kind"}:
        page = page_of(hostile_run(field, harm))
        outside = "\n".join(text for tag, text in page.texts if tag not in {"code", "pre"})
        assert not re.search(r"@[\w-]|[#!$%&~^][\w\"]|\bGH-\d|www\.|://|:\w+:", outside, re.IGNORECASE)


@pytest.mark.parametrize("harm", ["link", "emphasis", "mention", "blocks", "percent"])
def test_hostile_text_reads_as_it_was(harm):
    """A person sees just what was sent."""
    page = page_of(hostile_run("title", HARMS[harm]))
    assert page.text.replace(ZERO, "").count(HARMS[harm]) == 3  # in the headline, the table and its block


@pytest.mark.parametrize("time", ["10:55:12", "09:55-10:05", "2026-11-30T09:55:01Z", "09:55Z-10:05Z"])
def test_a_time_can_be_copied(time):
    """Nothing that cannot be seen stands in it, as no smile is called so; what is called like one is still kept apart."""
    assert markdown.inert(f"at {time} it") == f"at {time} it"
    for smile in (":100:", ":1234:", "1:+1:", "10:55x:", "10:smile:", ":55:"):
        assert "&#8203;" in markdown.inert(f"at {smile} it")


@pytest.mark.parametrize("length", [1, 3, 4, 9])
def test_no_command_ends_its_block(length):
    """The fence is longer than any in it, be it a line of its own."""
    ticks = "`" * length
    page = page_of(run_of(replace(FOUND, reproduce=Reproduce(f"curl -d '{ticks} @octocat <b>x</b>'"))))
    assert [text for tag, text in page.texts if tag == "code"] == [f"curl -d '{ticks} @octocat <b>x</b>'\n"]
    block = Page(READER.render("\n".join(markdown._fenced([ticks, "<b>x</b>"]))))
    assert [text for tag, text in block.texts if tag == "code"] == [f"{ticks}\n<b>x</b>\n"]


@pytest.mark.parametrize("count", [40, 3000])
def test_it_fits_into_a_comment(count):
    """However much was found, GitHub takes it, the worst is there, and what was left out is said."""
    long = [replace(FOUND, title=f"warned {n} " + "x" * 900, verdict=Verdict.WARN) for n in range(count)]
    text = told(markdown, run_of(*long, FOUND))
    assert len(text) <= 65_536
    assert "<summary>✗ fail: openai-py is refused" in text
    assert re.search(r"\d+ more findings: edgeprobe report 20261129-174312-x7k2", text)
    assert Page(READER.render(text)).open == []


def test_nothing_measured():
    """Is said in the headline."""
    text = told(markdown, run_of(verdict=Verdict.INCONCLUSIVE))
    assert text.startswith("## ? edgeprobe inconclusive: nothing measured\n")
