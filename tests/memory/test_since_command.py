"""`edgeprobe report --since`: what it shows, what it writes, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from memories import BLOCKED, record, run

from probes.memory import Memory


@pytest.fixture
def seen(reports):
    """A run an hour ago in which openai-py was refused."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    with Memory.open(now=lambda: at) as memory:
        record(memory, run(at, made=BLOCKED))


def test_it_shows_and_writes(edgeprobe, seen, tmp_path):
    """A summary, a page and Markdown of the same; it is a report, so what was found is no failure of the command."""
    page, summary = tmp_path / "p.html", tmp_path / "p.md"
    said = edgeprobe("report", "--since", "7d", "--html", str(page), "--markdown", str(summary))
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1] == "fail: blocked.client"
    assert "openai-py: 0 % good (1 failed)" in said.out
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert summary.read_text("utf-8").startswith("## ✗ edgeprobe fail: blocked.client")


def test_nothing_measured_is_not_green(edgeprobe, seen):
    """In that time nobody asked."""
    said = edgeprobe("report", "--since", "-30m")
    assert (said.code, said.out.splitlines()[-1]) == (0, "inconclusive: nothing was measured")


def test_a_canary_in_lab_time_is_ahead_of_the_clock(edgeprobe, reports):
    """What it saw last is shown all the same."""
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=5)
    with Memory.open(now=lambda: at) as memory:
        record(memory, run(at))
    said = edgeprobe("report", "--since", "1h")
    assert said.out.splitlines()[-1] == f"pass: 1 case, nothing wrong, last asked {at:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "report: takes a RUN or --since TIME, such as --since 7d"),
        (["x", "--since", "7d"], "report: takes a RUN or --since TIME, such as --since 7d"),
        (["x", "--target", "prod"], "--target: goes with --since"),
        (["--since", "7d", "--json", "-"], "--json: goes with a RUN"),
        (["--since", "7d", "--junit", "x.xml"], "--junit: goes with a RUN"),
        (["--since", "7d", "--rejudge"], "--rejudge: goes with a RUN"),
        (["--since", "7d", "--fired"], "--fired: goes with a RUN"),
        (["--since", "7d", "--html", "-"], "--html -: only --json goes to standard output"),
        (["--since", "7d", "--target", "prd"], "--target prd: no run of it is stored; did you mean prod?"),
        (["--since", "yesterday"], "--since yesterday: no time; such as"),
        (["--since", "1s"], "--since 1s: shorter than a minute, or longer than ten years"),
        (["--since", "9999d"], "--since 9999d: shorter than a minute, or longer than ten years"),
        (["--since", "7d", "--db", "sqlite:///not-there.db"], "no database at not-there.db"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_mistake_in_the_call(edgeprobe, seen, arguments, told):
    """Is said by its flag, and nothing is written."""
    said = edgeprobe("report", *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
