"""Does a command that sends nothing load what it does not need?"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from probes import store
from probes.model import Route, Run, Spend, Target, Verdict

SDKS = {"openai", "anthropic", "httpx", "httpx2", "aiohttp"}
YAML = {"yaml"}
FILES = {"yaml", "pydantic"}
SHOWN = {"rich"}
_CHILD = (
    "import json, sys; from probes.cli import main; code = main(sys.argv[1:]); "
    "sys.stderr.write(json.dumps([code, sorted({name.partition('.')[0] for name in sys.modules})]))"
)
# words → what of the above it may load
COMMANDS = {
    ("--version",): set(),
    ("--help",): set(),
    ("run", "--help"): set(),
    ("explain", "ok"): YAML,
    ("classify", "pasted.txt"): YAML | SHOWN,
    ("classify", "pasted.txt", "--reply"): YAML,
    ("calibrate", "--help"): set(),
    ("store", "stats", "--help"): set(),
    ("watch", "--help"): set(),
    ("mark", "--help"): set(),
    ("during", "--help"): set(),
    ("repro", "--help"): set(),
    ("validate",): FILES,
    ("validate", "--schema", "target"): FILES,
    ("init", "new"): FILES,
    ("lab", "--list"): FILES,
    ("report", "20261129-174312-x7k2"): FILES | SHOWN,
}


@pytest.mark.parametrize(("words", "allowed"), COMMANDS.items(), ids=[" ".join(words) for words in COMMANDS])
def test_a_command_loads_no_more_than_it_needs(tmp_path, monkeypatch, words, allowed):
    """An SDK costs a second, which nobody waits for who asks what a code means."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path / "reports"))
    if words[0] == "report":
        store.save(stored())
    (tmp_path / "pasted.txt").write_text("HTTP/2 403\nserver: cloudflare\n\nerror code: 1010\n")
    child = [sys.executable, "-c", _CHILD, *words]
    ran = subprocess.run(
        child, capture_output=True, text=True, check=False, cwd=tmp_path, env=dict(os.environ)
    )
    code, loaded = json.loads(ran.stderr.splitlines()[-1])
    assert code == 0, ran.stderr
    assert (SDKS | FILES | SHOWN) & set(loaded) <= allowed


def stored():
    began = datetime(2026, 11, 29, 17, 43, 12, tzinfo=UTC)
    return Run(
        id="20261129-174312-x7k2",
        suites=("s",),
        target=Target("t", "openai", "m", {"edge": Route("edge", "https://api.example.com/v1")}),
        vantage="here",
        started=began,
        finished=began + timedelta(seconds=4),
        versions={"edgeprobe": "0.1.0"},
        seed=1,
        time_scale=1.0,
        verdict=Verdict.INCONCLUSIVE,
        spend=Spend(0, 0, 0),
        cases=(),
        calls=(),
        findings=(),
    )
