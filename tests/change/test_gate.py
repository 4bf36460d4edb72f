"""A run beside its baseline, and two runs beside each other: over a real lab, by the command."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from probes import lab
from probes.canary import Mark
from probes.clock import Clock
from probes.memory import Memory

SCALE = 0.1
SUITE = """\
version: 1
name: quick
cases:
  - {kind: completion, clients: [openai-py, httpx]}
  - {kind: streaming, clients: [httpx], with: {repeats: 20, cap: 8}}
"""


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """A suite with enough streams to be compared."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.yaml").write_text(SUITE)
    return "./quick.yaml"


def served(prefill=1.0):
    return lab.serve(clock=Clock(SCALE), keys=None, prefill=prefill, tpot=0.05)


def newest(reports):
    return max(reports.glob("*.json"), key=lambda path: path.stat().st_mtime).stem


def baselined(said) -> list[dict]:
    return [one for one in json.loads(said.out)["findings"] if one["kind"] == "baseline"]


def test_a_gate_lets_pass_what_is_as_it_was_and_stops_what_is_not(edgeprobe, at, reports, quick):
    """Against a run of the healthy lab: again healthy, then with a rule against the SDK, then mended."""
    with served() as running:
        flags = at(running, scale=SCALE)
        assert edgeprobe("run", quick, *flags).code == 0
        good = newest(reports)
        healthy = edgeprobe("run", quick, *flags, "--baseline", good, "--json", "-")
        told = baselined(healthy)
        assert not [one for one in told if one["code"].startswith("regression.")]
        assert [
            one for one in told if one["title"].startswith("Nothing fails that worked before: 3 outcomes")
        ]
        untold = any(one["verdict"] == "inconclusive" for one in told)  # on a busy machine, which says so
        assert healthy.code == (3 if untold else 0)
        assert {one["case"] for one in baselined(healthy)} == {"quick/baseline"}
        running.arm(["ai-crawler-rule"])
        broken = edgeprobe("run", quick, *flags, "--baseline", good, "--json", "-")
        [worse] = [one for one in baselined(broken) if one["code"] == "regression.outcome"]
        assert (broken.code, worse["client"], worse["product"], worse["vendor_code"]) == (
            1, "openai-py", "Cloudflare", "1010",
        )  # fmt: skip
        assert "OpenAI/Python" in worse["reproduce"]["command"]
        refused = newest(reports)
        running.arm([])
        assert edgeprobe("run", quick, *flags).code == 0
        mended = edgeprobe("compare", refused, newest(reports))
        assert mended.code in {0, 3}
        assert "mended" in mended.out
        assert edgeprobe("compare", good, refused).code == 1


def test_a_slower_first_token_fails_the_gate(edgeprobe, at, reports, quick):
    """By its ratio with its interval; the same run is no faster lab's regression the other way round."""
    with served() as fast, served(prefill=2.5) as slow:
        assert edgeprobe("run", quick, *at(fast, scale=SCALE)).code == 0
        good = newest(reports)
        said = edgeprobe("run", quick, *at(slow, scale=SCALE), "--baseline", good, "--json", "-")
        slower = [one for one in baselined(said) if one["code"] == "regression.latency"]
        assert said.code == 1
        assert any(one["title"].startswith("TTFT of quick/streaming") for one in slower)
        assert all(one["figures"]["ratio"]["low"] > 1 for one in slower)
        assert all(one["reproduce"]["command"].startswith("curl ") for one in slower)
        over_time = edgeprobe("report", "--since", "1h")
        assert (over_time.code, "regression.latency" in over_time.out) == (1, True)
        assert edgeprobe("compare", newest(reports), good).code in {0, 3}


def test_a_plan_says_what_its_samples_would_show(edgeprobe, at, reports, quick):
    """Beside the baseline's, before anything is sent."""
    with served() as running:
        edgeprobe("run", quick, *at(running, scale=SCALE))
        said = edgeprobe("plan", quick, *at(running, scale=SCALE), "--baseline", newest(reports))
        more = edgeprobe(
            "plan", quick, *at(running, scale=SCALE), "--baseline", newest(reports), "--set", "repeats=60"
        )
    assert (said.code, more.code) == (0, 0)
    assert "TTFT of quick/streaming/cap=8 · httpx" in said.out
    assert "20 samples beside the baseline's" in said.out
    assert "+20% takes" in said.out
    assert "60 samples beside the baseline's" in more.out


def test_a_time_and_a_mark_divide_what_is_kept(edgeprobe, at, reports, quick):
    """Before and after, from the files and the database's marks."""
    with served() as running:
        flags = at(running, scale=SCALE)
        edgeprobe("run", quick, *flags)
        between = datetime.now(UTC)
        running.arm(["ai-crawler-rule"])
        edgeprobe("run", quick, *flags)
    by_time = edgeprobe("compare", between.isoformat())
    assert (by_time.code, "blocked.client" in by_time.out) == (1, True)
    with Memory.open() as memory:
        memory.mark(Mark(between, "bot rule on", author="ops", baseline="good"))
    by_mark = edgeprobe("compare", "bot rule on")
    assert (by_mark.code, "bot rule on by ops" in by_mark.out) == (1, True)
    gated = edgeprobe("run", quick, *flags, "--baseline", "good", "--no-store")
    assert "baseline" in gated.out


MISTAKES = {
    "a baseline that is not there": (["--baseline", "good"], "neither a run, a file"),
    "a file that is not there": (["--baseline", "good.json"], "no run good.json"),
    "a run that is not there": (["--baseline", "20261129-174312-x7k2"], "no run 20261129-174312-x7k2"),
    "no percent": (["--baseline", "good", "--slower", "0"], "is not a number of percent"),
}


@pytest.mark.parametrize(("flags", "said"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_wrong_baseline_is_told_before_anything_is_sent(edgeprobe, at, quick, command, flags, said):
    """Exit code 2, and the server was not asked."""
    with served() as running:
        got = edgeprobe(command, quick, *at(running, scale=SCALE), *flags)
    assert (got.code, said in got.err) == (2, True), got.err


def test_a_baseline_of_another_suite_is_none(edgeprobe, at, reports, quick):
    """Nothing of it could be compared."""
    with served() as running:
        edgeprobe("run", "identity", *at(running, scale=SCALE))
        said = edgeprobe("run", quick, *at(running, scale=SCALE), "--baseline", newest(reports))
    assert (said.code, "its runs asked identity, not quick" in said.err) == (2, True)


def test_nothing_in_common_is_never_green(edgeprobe, at, reports, quick, tmp_path):
    """Of two suites: exit code 3, and it is said what was left out."""
    with served() as running:
        edgeprobe("run", "identity", *at(running, scale=SCALE), "--client", "curl")
        first = newest(reports)
        edgeprobe("run", quick, *at(running, scale=SCALE))
    said = edgeprobe("compare", first, newest(reports))
    assert (said.code, "nothing could be compared" in said.out) == (3, True)
    assert "asked before only: identity/identity" in " ".join(said.out.split())


def test_without_scipy_it_says_what_to_install(quick, reports):
    """A mistake of the operator's, with the command that mends it; and nothing else needs it."""
    code = (
        "import sys\nsys.modules['scipy'] = None\nfrom probes.cli import main\n"
        "sys.exit(main(['compare', 'a', 'b']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, "pip install 'edgeprobe[compare]'" in done.stderr) == (2, True), done.stderr


def test_a_window_needs_runs(edgeprobe, reports):
    """An hour in which nobody asked is no baseline."""
    now = datetime.now(UTC)
    hours = [(now - timedelta(hours=n)).strftime("%Y-%m-%dT%H:%MZ") for n in (4, 3, 2, 1)]
    said = edgeprobe("compare", f"{hours[0]}..{hours[1]}", f"{hours[2]}..{hours[3]}")
    assert (said.code, "no run is kept from" in said.err) == (2, True)


def test_a_run_that_is_in_no_database_names_those_in_files(edgeprobe, at, reports, quick):
    """The database may hold none at all, made by a mark."""
    with served() as running:
        edgeprobe("run", quick, *at(running, scale=SCALE))
    edgeprobe("mark", "x")
    said = edgeprobe("compare", "20200101-000000-zzzz", newest(reports))
    assert said.code == 2
    assert newest(reports) in said.err, said.err
