"""`edgeprobe report --since`: what it shows, what it writes, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from memories import BLOCKED, GOOD, record, run

from probes import store
from probes.memory import Memory


@pytest.fixture
def seen(reports):
    """A run an hour ago in which openai-py was refused."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    with Memory.open(now=lambda: at) as memory:
        record(memory, run(at, made=BLOCKED))


def test_it_shows_and_writes(edgeprobe, seen, tmp_path):
    """A summary, a page and Markdown of the same; the exit code is that of what is wrong now."""
    page, summary = tmp_path / "p.html", tmp_path / "p.md"
    said = edgeprobe("report", "--since", "7d", "--html", str(page), "--markdown", str(summary))
    assert (said.code, said.err) == (1, "")
    assert said.out.splitlines()[-1] == "fail: blocked.client"
    assert "openai-py: 0 % good (1 failed)" in said.out
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert summary.read_text("utf-8").startswith("## ✗ edgeprobe fail: blocked.client")


def test_nothing_measured_is_not_green(edgeprobe, seen):
    """In that time nobody asked."""
    said = edgeprobe("report", "--since", "-30m")
    assert (said.code, said.out.splitlines()[-1]) == (3, "inconclusive: nothing was measured")


def test_a_canary_in_lab_time_is_ahead_of_the_clock(edgeprobe, reports):
    """What it saw last is shown all the same."""
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=5)
    with Memory.open(now=lambda: at) as memory:
        record(memory, run(at))
    said = edgeprobe("report", "--since", "1h")
    assert said.out.splitlines()[-1] == f"pass: 1 case, nothing wrong, last asked {at:%Y-%m-%d %H:%M}"


KEPT = {
    "a file alone": ([GOOD], [], 0, "pass: 1 case, nothing wrong", "1 by hand (FILE0)"),
    "a file that failed": ([BLOCKED], [], 1, "fail: blocked.client", "1 by hand (FILE0)"),
    "a file after what a canary saw": ([BLOCKED], [GOOD], 1, "fail: blocked.client", "1 by the canary (smoke-prod 1); 1 by hand (FILE0)"),
    "a canary that failed before": ([GOOD], [BLOCKED], 0, "pass: 1 case, nothing wrong", "1 by the canary (smoke-prod 1); 1 by hand (FILE0)"),
    "many files": ([GOOD] * 6, [], 0, "pass: 1 case, nothing wrong", "6 by hand (FILE5, FILE4, FILE3, FILE2 and 2 more)"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "seen", "code", "told", "ran"), KEPT.values(), ids=KEPT)
def test_all_runs_that_are_kept(edgeprobe, reports, tmp_path, files, seen, code, told, ran):
    """Those in files count like those of a canary, the newest of a case says how it is, and it is said which there are."""
    ago = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    for made in seen:
        with Memory.open(now=lambda: ago - timedelta(minutes=9)) as memory:
            record(memory, run(ago - timedelta(minutes=9), made=made))
    for n, made in enumerate(files):
        one = run(ago + n * timedelta(minutes=1), made=made)
        ran = ran.replace(f"FILE{n}", one.id)
        store.save(one)
    before = (reports / "edgeprobe.db").read_bytes() if seen else None
    said = edgeprobe("report", "--since", "7d", "--html", str(tmp_path / "p.html"))
    assert (said.code, said.err) == (code, "")
    assert said.out.splitlines()[-1].startswith(told)
    assert ran in " ".join(said.out.split())
    assert ran in (tmp_path / "p.html").read_text("utf-8")
    assert f"curl: 100 % good ({len(files) + len(seen)} good)" in said.out
    assert (reports / "edgeprobe.db").exists() == bool(seen)
    assert not seen or (reports / "edgeprobe.db").read_bytes() == before


def test_a_run_that_is_in_both_counts_once(edgeprobe, seen):
    """Whoever brought its file here."""
    with Memory.open(make=False) as memory:
        [name] = memory.runs(datetime.now(UTC) - timedelta(days=1), datetime.now(UTC))
        store.save(memory.load(name))
    assert "curl: 100 % good (1 good)" in edgeprobe("report", "--since", "7d").out


def test_a_file_that_cannot_be_read(edgeprobe, seen, reports):
    """Is named, and the others are shown."""
    name = f"{datetime.now(UTC) - timedelta(minutes=5):%Y%m%d-%H%M%S}-abcd.json"
    (reports / name).write_text("{")
    said = edgeprobe("report", "--since", "7d")
    assert (said.code, said.err) == (1, f"edgeprobe: left out: {reports / name}: not JSON\n")


def test_nothing_is_kept(edgeprobe, reports):
    """It says what keeps something."""
    said = edgeprobe("report", "--since", "7d")
    assert (said.code, said.out) == (2, "")
    assert "nothing is kept in" in said.err
    assert "edgeprobe run keeps a file there, edgeprobe watch and edgeprobe mark a database" in said.err


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
