"""The files to copy into a repository: they parse, and what they call exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from probes.bundled import bundled
from probes.options import parser
from probes.ordered import order

FILES = {path.stem: path for path in bundled("configs", "ci").glob("*.yaml")}
OUTPUTS = ("junit", "markdown", "html")


def read(name):
    return yaml.safe_load(FILES[name].read_text("utf-8"))


def github_job():
    [job] = read("github-actions")["jobs"].values()
    return job


def step(key, word):
    [found] = [step for step in github_job()["steps"] if word in step.get(key, "")]
    return found


def scripts(name):
    """Every shell text of a file."""
    if name == "github-actions":
        return [step["run"] for step in github_job()["steps"] if "run" in step]
    job = read(name)["edgeprobe"]
    return [*job["before_script"], *job["script"]]


def variables(name):
    """What the file itself sets for its scripts."""
    if name == "github-actions":
        return read(name)["env"] | step("run", "edgeprobe run")["env"]
    return read(name)["edgeprobe"]["variables"]


def kept(name):
    """The artifacts."""
    if name == "github-actions":
        return step("uses", "upload-artifact")["with"]["path"].split()
    artifacts = read(name)["edgeprobe"]["artifacts"]
    return [*artifacts["paths"], artifacts["reports"]["junit"]]


def command(name):
    """The one edgeprobe line of a file, read by our own parser."""
    lines = [line for script in scripts(name) for line in script.splitlines()]
    [line] = [line for line in lines if line.startswith("edgeprobe ")]
    return parser().parse_args(shlex.split(line)[1:])


def test_every_file_is_read_here():
    """A file that is added is added above."""
    assert set(FILES) == {"github-actions", "gitlab-ci"}


@pytest.mark.parametrize("name", FILES)
def test_its_command_is_one(name):
    """It runs a suite that exists, with flags that exist, against a target that is complete."""
    arguments = command(name)
    values = variables(name)
    for flag in ("base_url", "model"):
        setattr(arguments, flag, values[getattr(arguments, flag).removeprefix("$")])
    ordered = order(arguments)
    assert arguments.command == "run"
    assert ordered.suites == ("smoke",)
    assert ordered.target.routes["edge"].base_url == values["BASE_URL"]
    assert bundled("suites", "smoke.yaml").is_file()


@pytest.mark.parametrize("name", FILES)
def test_variables_are_set_and_quoted(name):
    """Every variable of a command is in the file, and in quotes: a blank in it makes no two words."""
    for script in scripts(name):
        used = set(re.findall(r"\$(\w+)", script))
        assert used <= set(variables(name))
        assert set(re.findall(r'"\$(\w+)"', script)) == used


@pytest.mark.parametrize("name", FILES)
def test_the_key_stands_by_reference(name):
    """The variable of --key-env is a secret of the platform's, and no value of it is in the file."""
    arguments = command(name)
    assert arguments.key_env == "EDGEPROBE_KEY"
    if name == "github-actions":
        assert variables(name)["EDGEPROBE_KEY"] == "${{ secrets.EDGEPROBE_KEY }}"
    else:  # GitLab gives a job its CI/CD variables; one of the file would hide it
        assert "EDGEPROBE_KEY" not in variables(name)


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_is_kept(name):
    """Every report is an artifact, also of a job that failed, and so are the stored runs."""
    arguments = command(name)
    assert {getattr(arguments, flag) for flag in OUTPUTS} | {"reports/"} == set(kept(name))
    if name == "github-actions":
        assert "!cancelled()" in step("uses", "upload-artifact")["if"]
    else:
        assert read(name)["edgeprobe"]["artifacts"]["when"] == "always"


@pytest.mark.parametrize("name", FILES)
def test_the_exit_codes_are_explained(name):
    """In the file itself: whoever reads a red job looks there."""
    assert re.findall(r"^#   (\d)  ", FILES[name].read_text("utf-8"), re.MULTILINE) == ["0", "1", "2", "3"]


def test_github_needs():
    """Triggers, least rights, an end, and actions of a fixed version."""
    file = read("github-actions")
    assert set(file[True]) == {
        "deployment_status",
        "schedule",
        "workflow_dispatch",
    }  # YAML 1.1 reads `on` as true
    assert file["permissions"] == {"contents": "read"}
    assert github_job()["timeout-minutes"] <= 15
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", s["uses"]) for s in github_job()["steps"] if "uses" in s)


def test_gitlab_needs():
    """A stage that is declared, and the exit code that only warns."""
    file = read("gitlab-ci")
    assert file["edgeprobe"]["stage"] in file["stages"]
    assert file["edgeprobe"]["allow_failure"] == {"exit_codes": [3]}


def test_the_readme_says_what_works():
    """Its lines for CI are commands, its options pytest's, and the files it names are there."""
    root = Path(__file__).parent.parent
    section = (root / "README.md").read_text("utf-8").split("\n## In CI\n")[1].split("\n## ")[0]
    lines = re.findall(r"^    (?:- run: )?edgeprobe (.*)$", section, re.MULTILINE)
    assert [parser().parse_args(shlex.split(line)).command for line in lines] == ["run", "run"]
    options = (root / "probes" / "pytest_plugin.py").read_text("utf-8")
    assert all(f'"{option}"' in options for option in re.findall(r"--edgeprobe-[a-z-]+", section))
    for path in re.findall(r"\]\((.*?)\)", section):
        assert (root / path).exists(), path
