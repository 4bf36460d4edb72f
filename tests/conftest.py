"""What no test may depend on, the settings of whoever runs it, and what many share: a lab, and the command."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from hypothesis import settings

from probes import lab as laboratory
from probes.cli import main
from probes.clock import Clock

SCALE = 0.02
# The same examples each time, so that a red run is red for everybody; look further with --hypothesis-profile=explore.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("repeatable")
_NAMES = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_LOG", "ANTHROPIC_LOG", "OPENAI_BASE_URL", "NO_PROXY",
    "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in os.environ:
        if name in _NAMES or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@dataclass(frozen=True)
class Said:
    """What a command left behind: its exit code, and what it wrote to standard output and error."""

    code: int
    out: str
    err: str


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """An own place for runs, not there yet."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(folder))
    return folder


@pytest.fixture
def edgeprobe(reports, capsys):
    """The command, in this process."""

    def call(*arguments: str) -> Said:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as left:
            code = left.code or 0
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def served():
    """A healthy lab that takes requests without a key, 50 times faster than the clock."""
    with laboratory.serve(clock=Clock(SCALE), keys=None, prefill=0.2, tpot=0.02) as running:
        yield running


@pytest.fixture
def at():
    """Gives the flags that make a running lab the target."""

    def flags(running: laboratory.Lab, *, scale: float = SCALE) -> list[str]:
        target = ["--base-url", running.base_url, "--api", "openai", "--model", running.model, "--no-key"]
        return [*target, "--time-scale", str(scale)]

    return flags


@pytest.fixture
def at_lab(at, served):
    """The flags that make `served` the target."""
    return at(served)
