"""Where a run goes: the files asked for, and GitHub's page where a job of its runs."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from probes import outputs
from probes.errors import UsageError
from probes.model import Finding, Route, Run, Spend, Target, Verdict

NOW = datetime(2026, 11, 29, 17, 43, 12, tzinfo=UTC)
HARM = "x ##[add-mask]a\n::error::forged"
TROUBLE = Finding("blocked", Verdict.FAIL, "s/identity", "identity", title=HARM, detail=(("seen", HARM),))
RUN = Run(
    "id", ("s",), Target("t", "openai", "m", {"edge": Route("edge", "https://h/v1")}), None, NOW, NOW, {}, 1, 1.0,
    Verdict.FAIL, Spend(), (), (), (TROUBLE,),
)  # fmt: skip
FILES = {"junit": "<?xml", "markdown": "## ", "html": "<!doctype html>", "json": "{"}


def asked(**files) -> Namespace:
    return Namespace(**{**dict.fromkeys(outputs.REPORTERS), **files})


def test_every_format_at_once(edgeprobe, at_lab, tmp_path):
    """Each flag writes its file, of the same run, beside what is shown."""
    flags = [word for name in FILES for word in (f"--{name}", str(tmp_path / name))]
    said = edgeprobe("run", "smoke", *at_lab, "--client", "httpx", *flags)
    assert said.code == 0
    run = json.loads((tmp_path / "json").read_text())["id"]
    for name, start in FILES.items():
        text = (tmp_path / name).read_text("utf-8")
        assert text.startswith(start)
        assert run in text
    assert run in said.out
    assert ET.parse(tmp_path / "junit").getroot().get("failures") == "0"


def test_a_stored_run_in_every_format(edgeprobe, at_lab, reports, tmp_path):
    """`report` gives what `run` gave."""
    name = str(tmp_path / "first.xml")
    assert edgeprobe("run", "smoke", *at_lab, "--client", "httpx", "--junit", name).code == 0
    [stored] = reports.glob("*.json")
    assert edgeprobe("report", stored.stem, "--junit", str(tmp_path / "again.xml")).code == 0
    assert (tmp_path / "again.xml").read_text() == (tmp_path / "first.xml").read_text()


@pytest.mark.parametrize("flag", sorted(set(FILES) - {"json"}))
@pytest.mark.parametrize(
    ("name", "problem"),
    [("-", "only --json goes to standard output"), (".", "is a folder"), ("no/x", "its folder is not there")],
    ids=["standard output", "folder", "no folder"],
)
def test_mistakes_are_found_before_anything_is_sent(edgeprobe, at_lab, flag, name, problem, reports):
    """Exit code 2, and no run."""
    said = edgeprobe("run", "smoke", *at_lab, f"--{flag}", name)
    assert (said.code, said.out) == (2, "")
    assert f"--{flag} {name}: {problem}" in said.err
    assert not reports.exists()


def test_one_file_that_fails_keeps_no_other_from_being_written(tmp_path, capsys):
    """What was paid for is written wherever it can be, and shown."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match=r"--junit .*taken: Is a directory"):
        outputs.show(RUN, asked(junit=str(tmp_path / "taken"), html=str(tmp_path / "page.html")))
    assert (tmp_path / "page.html").read_text().startswith("<!doctype")
    assert "blocked" in capsys.readouterr().out


# --- GitHub Actions --------------------------------------------------------------------------------------


def obeyed(log: str) -> list[str]:
    """The commands that GitHub's runner takes from a log (actions/runner, ActionCommand.cs, ActionCommandManager.cs):
    `::name` at the begin of a line but for blanks, `##[name` anywhere; none between stop-commands and its token.
    """
    found, token = [], None
    for line in log.splitlines():
        match = re.match(r"\s*::(\S+?)(?: .*?)?::(.*)", line) or re.search(r"##\[(\S+?)\](.*)", line)
        if match is None:
            continue
        name, data = match.groups()
        if token is not None:
            token = None if name == token else token
        elif name == "stop-commands":
            token = data
        else:
            found.append(name)
    assert token is None
    return found


def test_the_reader_of_commands_finds_them():
    """A check that finds nothing proves nothing."""
    log = "a\n  ::error title=x::y\nb ##[warning]z\n::stop-commands::t\n::error::no\n::t::\n::notice::w\n"
    assert obeyed(log) == ["error", "warning", "notice"]


@pytest.mark.parametrize("json_there", [False, True], ids=["for people", "JSON"])
def test_only_our_commands_reach_the_runner(monkeypatch, capsys, json_there):
    """The findings are annotated; what a stranger wrote into them is shown, and is not obeyed."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    arguments = asked(json="-" if json_there else None)
    outputs.to_github(RUN, outputs.person(arguments))
    outputs.show(RUN, arguments)
    said = capsys.readouterr()
    log = said.err if json_there else said.out
    assert obeyed(log) == ["error"]
    assert "##[add-mask]a" in log.partition("stop-commands")[2]
    if json_there:
        assert json.loads(said.out)["id"] == "id"


def test_nothing_of_github_elsewhere(capsys, tmp_path):
    """Without its variables no command and no summary."""
    outputs.to_github(RUN, sys.stdout, {"GITHUB_ACTIONS": "false"})
    with outputs.without_commands(sys.stdout, {}):
        pass
    assert capsys.readouterr().out == ""


def test_the_summary_is_appended(tmp_path):
    """Another step may have written there before."""
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    outputs.to_github(RUN, io.StringIO(), {"GITHUB_STEP_SUMMARY": str(page)})
    assert page.read_text().startswith("before\n## ✗ edgeprobe fail: x ")


def test_a_summary_that_cannot_be_written(tmp_path, capsys):
    """A note, and the run goes on."""
    outputs.to_github(RUN, io.StringIO(), {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert capsys.readouterr().err == f"edgeprobe: no job summary, {tmp_path}: Is a directory\n"


def test_the_command_in_a_job(edgeprobe, at_lab, tmp_path, monkeypatch):
    """`run` does both by itself, and its exit code stays."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    said = edgeprobe("run", "smoke", *at_lab, "--client", "httpx", "--max-requests", "3")
    assert said.code == 3
    assert set(obeyed(said.out)) == {"warning"}
    assert (tmp_path / "summary.md").read_text().startswith("## ? edgeprobe inconclusive: ")


def test_annotations_where_only_ascii_can_be_written():
    """A container without a locale is no reason to end with a traceback."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_outputs import RUN, outputs\n"
        "outputs.to_github(RUN, sys.stdout, {'GITHUB_ACTIONS': 'true'})"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("::error title=edgeprobe fail%3A x ")
