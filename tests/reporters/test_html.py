"""The page: it holds every finding, loads and runs nothing, and no text in it becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import pytest
from hostile import AROUND, FIELDS, FINE, FOUND, HARMS, Page, hostile_run, run_of, told

from probes.model import Skipped, Verdict
from probes.redact import safe_text
from probes.reporters import html


def page_of(run) -> Page:
    return Page(told(html, run))


def policy(page: Page) -> dict[str, str]:
    [content] = [a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    return dict(part.strip().split(" ", 1) for part in content.split(";"))


def test_it_loads_and_runs_nothing():
    """No script, no resource and no form, and a policy that would forbid each."""
    page = page_of(run_of(FOUND, FINE))
    assert policy(page)["default-src"] == policy(page)["base-uri"] == policy(page)["form-action"] == "'none'"
    assert "unsafe" not in str(policy(page))
    assert not {"script", "link", "img", "iframe", "form", "object", "base"} & {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#"), tag
        assert "style" not in attributes
    assert "url(" not in told(html, run_of(FOUND))
    assert "@import" not in told(html, run_of(FOUND))


def test_the_policy_admits_its_own_style_alone():
    """By the digest of just what stands between the tags."""
    [style] = re.findall(r"<style>(.*?)</style>", told(html, run_of(FOUND)), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy(page_of(run_of(FOUND)))["style-src"] == f"'sha256-{digest}'"


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
