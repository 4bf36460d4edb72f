"""The command line: what can be said, what it answers, and with which exit code."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from probes import __version__, lab, options, store
from probes.bundled import names
from probes.clock import Clock
from probes.model import Finding, Route, Run, Spend, Target, Verdict
from probes.runner import exit_code, worst

COMMAND = str(Path(sys.executable).with_name("edgeprobe"))
NOWHERE = ("--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--model", "m")

TARGET = {
    "--target", "--base-url", "--api", "--model", "--key-env", "--no-key", "--endpoint", "--route", "--connect-to",
    "--proxy", "--no-env-proxy", "--header", "--owned", "--vantage",
}  # fmt: skip
CHOICE = {
    "--client",
    "--sdk",
    "--set",
    "--max-requests",
    "--max-tokens-total",
    "--max-usd",
    "--seed",
    "--time-scale",
}
REPORTS = {"--json", "--junit", "--markdown", "--html"}
GATE = {"--baseline", "--slower", "--db"}
BILL = {"--requests-per-month", "--prompt-tokens", "--cached-share", "--output-tokens"}
FLAGS = {
    "demo": {"--json"},
    "run": TARGET | CHOICE | REPORTS | GATE | {"--no-store", "--allow-inconclusive", "--bundle"},
    "plan": TARGET | CHOICE | GATE | BILL | {"--monthly", "--json"},
    "compare": {"--target", "--vantage", "--slower", "--json", "--markdown", "--db"},
    "report": REPORTS
    | BILL
    | {"--cost"}
    | {"--bundle", "--rejudge", "--since", "--target", "--db", "--fired", "--zone", "--token-env"},
    "classify": {"--json", "--reply", "--target", "--fired", "--zone", "--token-env", "--since"},
    "calibrate": TARGET | {"--code", "--dry-run", "--json"},
    "explain": set(),
    "store": set(),
    "watch": {"--config", "--entry", "--listen", "--once", "--time-scale"},
    "mark": {
        "--at",
        "--baseline",
        "--author",
        "--list",
        "--remove",
        "--import",
        "--account",
        "--zone",
        "--since",
        "--target",
        "--token-env",
        "--db",
    },
    "during": TARGET
    | REPORTS
    | (CHOICE - {"--sdk", "--set", "--seed"})
    | {"--before", "--after", "--every", "--streams", "--tokens", "--bundle", "--no-store"},
    "repro": TARGET
    | REPORTS
    | (CHOICE - {"--client", "--sdk", "--set"})
    | {"--curl", "--har", "--request", "--sdk-call", "--entry", "--secret", "--bundle", "--no-store"},
    "clients": set(),
    "validate": {"--target", "--env", "--schema"},
    "init": set(),
    "lab": {"--fault", "--list", "--port", "--profile", "--no-key", "--time-scale"},
}


# --- what can be said ------------------------------------------------------------------------------------


def test_the_commands(edgeprobe):
    """`--help` names every command there is, and the exit codes."""
    said = edgeprobe("--help")
    commands = re.findall(r"^    (\w+)(?: |$)", said.out, re.MULTILINE)
    assert (said.code, set(commands)) == (0, set(FLAGS))
    assert "0 fine, 1 a failure was found, 2 a mistake in the call, 3 nothing proven" in " ".join(
        said.out.split()
    )


@pytest.mark.parametrize("command", FLAGS)
def test_the_flags(edgeprobe, command):
    """Each command takes just these flags, and says of each what it does."""
    said = edgeprobe(command, "--help")
    offered = re.findall(r"^  (?:-h, )?(--[a-z-]+)", said.out, re.MULTILINE)
    assert said.code == 0
    assert set(offered) == FLAGS[command] | {"--help"}


def test_a_mistake_that_is_quoted_is_harmless(edgeprobe):
    """What a name, a file or a mark holds moves nothing on the terminal."""
    said = edgeprobe("report", "x\x1b[31my")
    assert (said.code, "\x1b" in said.err, "x\\x1b[31my" in said.err) == (2, False, True)


def test_flags_are_not_guessed(edgeprobe):
    """A shortened flag is refused: it would change its meaning with the next one that starts alike."""
    assert edgeprobe("plan", "smoke", *NOWHERE, "--no-k").code == 2


def test_version(edgeprobe):
    """The version is the package's."""
    said = edgeprobe("--version")
    assert (said.code, said.out) == (0, f"edgeprobe {__version__}\n")


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_nothing_heavy_is_loaded_to_say_who_one_is(argument):
    """Neither an SDK nor YAML, pydantic, rich or httpx is imported."""
    code = (
        "import sys\nfrom probes.cli import main\n"
        f"try:\n    main(['{argument}'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({n.partition('.')[0] for n in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'(\w+)'", done.stderr))
    assert "probes" in loaded
    heavy = {"openai", "anthropic", "yaml", "pydantic", "rich", "httpx", "httpx2", "asyncio", "ssl"}
    assert not loaded & heavy


# --- mistakes in the call --------------------------------------------------------------------------------

MISTAKES = {
    "no command": ((), "COMMAND"),
    "unknown command": (("rnu",), "'rnu'"),
    "no suite": (("run",), "SUITE"),
    "unknown flag": (("run", "smoke", "--bas-url", "x"), "--bas-url x; did you mean --base-url?"),
    "unknown flag of lab": (("lab", "--prot", "1"), "did you mean --port?"),
    "unknown suite": (("run", "smok", *NOWHERE, "--no-key"), "suite 'smok' is not known; did you mean smoke?"),
    "a suite's file is not there": (
        ("run", "./no.yaml", *NOWHERE, "--no-key"),
        "suite ./no.yaml: no such file",
    ),
    "unknown client": (
        ("run", "smoke", *NOWHERE, "--no-key", "--client", "opnai-py"),
        "client 'opnai-py' is not known; did you mean openai-py?",
    ),
    "unknown parameter": (
        ("plan", "smoke", *NOWHERE, "--no-key", "--set", "cpa=1"),
        "--set cpa: no case of smoke has it; did you mean cap?",
    ),
    "parameter without a value": (("plan", "smoke", *NOWHERE, "--no-key", "--set", "cap"), "--set KEY=VALUE"),
    "parameter of the wrong kind": (("plan", "smoke", *NOWHERE, "--no-key", "--set", "cap=many"), "--set cap"),
    "no target": (("run", "smoke"), "no target: ./configs/targets holds none; make one with `edgeprobe init`, or name the API by --base-url URL"),
    "unknown target": (("run", "smoke", "--target", "exampel"), "make one with `edgeprobe init`"),
    "target and base URL": (("run", "smoke", "--target", "example", *NOWHERE), "exclude each other"),
    "no model": (("run", "smoke", *NOWHERE[:4]), "--model is missing"),
    "no api": (("run", "smoke", *NOWHERE[:2], "--model", "m"), "--api is missing"),
    "unknown api": (("run", "smoke", *NOWHERE[:2], "--api", "opena", "--model", "m"), "did you mean openai?"),
    "a flag without its base URL": (("run", "smoke", "--owned"), "--owned: goes with --base-url"),
    "base URL that is none": (
        ("run", "smoke", "--base-url", "host/v1", *NOWHERE[2:], "--no-key"),
        "--base-url: ",
    ),
    "unknown endpoint": (("run", "smoke", *NOWHERE, "--no-key", "--endpoint", "chta"), "--endpoint: "),
    "key and no key": (("run", "smoke", *NOWHERE, "--no-key", "--key-env", "K"), "exclude each other"),
    "key that is not set": (("run", "smoke", *NOWHERE, "--key-env", "NOT_SET"), "NOT_SET is not set: it holds"),
    "default key that is not set": (("run", "smoke", *NOWHERE), "OPENAI_API_KEY is not set"),
    "header that is not set": (
        ("run", "smoke", *NOWHERE, "--no-key", "--header", "x-a=NOT_SET"),
        "NOT_SET is not set: it holds the header x-a",
    ),
    "route named twice": (
        ("run", "smoke", *NOWHERE, "--no-key", "--route", "edge=http://127.0.0.1/v1"),
        "--route edge",
    ),
    "budget of nothing": (("run", "smoke", *NOWHERE, "--no-key", "--max-requests", "0"), "0 is not above 0"),
    "budget that is no number": (("run", "smoke", *NOWHERE, "--max-tokens-total", "many"), "--max-tokens-total"),
    "scaled time on a real host": (
        ("run", "smoke", "--base-url", "https://api.example.com/v1", *NOWHERE[2:], "--no-key", "--time-scale", "0.5"),
        "--time-scale is for the lab on this machine, not for api.example.com",
    ),
    "scaled time on another route": (
        ("run", "smoke", *NOWHERE, "--no-key", "--route", "o=https://10.0.0.1/v1", "--time-scale", "0.5"),
        "not for 10.0.0.1",
    ),
    "time that stands still": (("run", "smoke", *NOWHERE, "--time-scale", "0"), "above 0 and up to 1"),
    "JSON to a folder that is not there": (
        ("run", "smoke", *NOWHERE, "--no-key", "--json", "nowhere/run.json"),
        "--json nowhere/run.json: its folder is not there",
    ),
    "JSON of the demo to no folder": (("demo", "--json", "nowhere/run.json"), "--json nowhere/run.json"),
    "JSON to a folder": (("run", "smoke", *NOWHERE, "--no-key", "--json", "."), "--json .: is a folder"),
    "unknown run": (("report", "20261129-174312-x7k2"), "no run 20261129-174312-x7k2"),
    "unknown finding code": (("explain", "blockd.client"), "did you mean blocked.client?"),
    "unknown fault": (("lab", "--fault", "read-tmer"), "did you mean read-timer?"),
    "unknown profile": (("lab", "--profile", "cloudflar"), "did you mean cloudflare?"),
    "a port that is none": (("lab", "--port", "99999"), "'99999' is not a port, 0 to 65535"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_call(edgeprobe, tmp_path, monkeypatch, arguments, message):
    """Exit code 2, one line that says what is wrong and what would be right, and nothing else."""
    monkeypatch.chdir(tmp_path)
    said = edgeprobe(*arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert said.err.startswith("edgeprobe")
    assert said.err.count("\n") == 1


# --- the flags, by what they do --------------------------------------------------------------------------


@pytest.fixture
def run(edgeprobe, at_lab):
    """`edgeprobe run smoke` with one client against the lab: exit code and run as JSON."""

    def call(*flags: str, suite: str = "smoke"):
        said = edgeprobe("run", suite, *at_lab, "--client", "httpx", *flags, "--json", "-")
        return said.code, json.loads(said.out)

    return call


def test_client(run):
    """Only the clients named are asked with, beside those that a kind brings."""
    code, document = run("--client", "curl")
    assert code == 0
    brought = {"connection", "error_format"}
    asked = {call["client"] for call in document["calls"] if call["case"].split("/")[1] not in brought}
    assert asked == {"httpx", "curl"}


def test_seed_vantage_and_scale_are_kept(run):
    """The run says by which choices, from where and in which time it was made."""
    _, document = run("--seed", "5", "--vantage", "home", "--max-requests", "1")
    assert (document["seed"], document["vantage"], document["time_scale"]) == (5, "home", 0.02)


def test_the_same_seed_asks_the_same(run):
    """Two runs with one seed ask in one order, another seed in another."""
    others = [word for name in ("curl", "axios", "reqwest", "okhttp") for word in ("--client", name)]

    def asked(seed):
        _, document = run("--seed", seed, *others, suite="identity")
        return [(call["label"], call["repeat"]) for call in document["calls"]]

    assert asked("5") == asked("5") != asked("6")


def test_set(run):
    """A parameter reaches every case whose kind has it, and their ids."""
    _, document = run("--set", "cap=3")
    assert {call["case"] for call in document["calls"]} >= {"smoke/completion/cap=3", "smoke/streaming/cap=3"}
    usage = {
        exchange["usage"]["completion_tokens"]
        for exchange in document["exchanges"]
        if exchange["usage"] and "/cap=3" in exchange["case"]
    }
    assert usage == {3}


@pytest.mark.parametrize("flags", [("--max-requests", "1"), ("--max-tokens-total", "1")], ids=lambda f: f[0])
def test_budgets(run, served, flags):
    """A budget is never passed; what it did not allow is listed, and proves nothing."""
    code, document = run(*flags)
    assert code == 3
    assert {row["reason"] for row in document["not_sent"]} == {"budget"}
    assert sum(call["not_sent"] is None for call in document["calls"]) <= 1 or flags[0] != "--max-requests"
    assert document["spend"]["input_tokens"] + document["spend"]["output_tokens"] <= 1


def test_key_and_headers_come_from_the_environment(edgeprobe, at, monkeypatch):
    """Their values reach the server, and stand nowhere in what is written."""
    monkeypatch.setenv("A_KEY", lab.LAB_KEY)
    monkeypatch.setenv("A_BYPASS", "let-me-through-zq9x")
    with lab.serve(clock=Clock(0.02), prefill=0.2, tpot=0.02) as keyed:
        flags = [*at(keyed), "--key-env", "A_KEY", "--header", "X-Bypass=A_BYPASS"]
        flags.remove("--no-key")
        said = edgeprobe("run", "smoke", *flags, "--client", "httpx", "--json", "-")
        arrived = [{k.lower(): v for k, v in a.headers} for a in keyed.origin.requests]
    assert said.code == 0
    assert {headers["x-bypass"] for headers in arrived} == {"let-me-through-zq9x"}
    assert f"Bearer {lab.LAB_KEY}" in {headers["authorization"] for headers in arrived}
    [stored] = store.reports_dir().glob("*.json")
    for text in (said.out, said.err, stored.read_text()):
        assert lab.LAB_KEY not in text
        assert "zq9x" not in text


def test_the_proxies_of_the_environment(run, monkeypatch):
    """They are taken as the client takes them, unless told not to; one that is down leaves the service unknown."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert run()[0] == 3
    assert run("--no-env-proxy")[0] == 0


def test_plan_shows_the_target_and_sends_nothing(edgeprobe, served, at_lab):
    """Cases, clients, ceilings, routes and what is skipped; not one request."""
    said = edgeprobe(
        "plan", "smoke", "identity", *at_lab, "--connect-to", "10.0.0.1:80", "--route", "eu=http://127.0.0.1:1/v1",
        "--client", "curl", "--max-requests", "50", "--endpoint", "chat", "--owned",
    )  # fmt: skip
    assert said.code == 0
    assert said.err == ""
    for word in ("smoke/completion", "identity/identity", "eu ", "origin ", "at 10.0.0.1:80", "50 requests"):
        assert word in said.out
    assert said.out.endswith("nothing was sent\n")
    assert served.origin.requests == []


def test_a_target_file(edgeprobe, served, tmp_path, monkeypatch):
    """The only file in ./configs/targets is the default; --target names one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "configs" / "targets"
    folder.mkdir(parents=True)
    text = f"version: 1\nname: here\napi: openai\nmodel: {served.model}\nkey_env: null\nroutes:\n"
    (folder / "here.yaml").write_text(f"{text}  edge: {{base_url: '{served.base_url}'}}\n")
    flags = ("--time-scale", "0.02", "--client", "httpx", "--no-store")
    assert edgeprobe("run", "smoke", *flags).code == 0
    (folder / "there.yaml").write_text(f"{text}  edge: {{base_url: 'http://127.0.0.1:9/v1'}}\n")
    assert edgeprobe("run", "smoke", *flags, "--target", "here").code == 0
    said = edgeprobe("run", "smoke", *flags)
    assert said.code == 2
    assert "here, there" in said.err


# --- where it goes ---------------------------------------------------------------------------------------


def test_json_alone_on_standard_output(edgeprobe, at_lab):
    """With `--json -` people read on standard error, and standard output is one document."""
    said = edgeprobe("run", "smoke", *at_lab, "--client", "httpx", "--json", "-")
    assert json.loads(said.out)["schema"] == "edgeprobe.run/1"
    assert "pass | run " in said.err


def test_a_run_is_stored_shown_and_found_again(edgeprobe, at_lab, reports, tmp_path):
    """It lies in $EDGEPROBE_REPORTS; `report` shows the same by id or by path, as text and as JSON."""
    path = tmp_path / "run.json"
    first = edgeprobe("run", "smoke", *at_lab, "--client", "httpx", "--json", str(path))
    [stored] = reports.glob("*.json")
    for name in (stored.stem, str(stored)):
        again = edgeprobe("report", name, "--json", str(tmp_path / "again.json"))
        assert (again.code, again.out) == (0, first.out)
        assert json.loads((tmp_path / "again.json").read_text()) == json.loads(path.read_text())


def test_no_store(edgeprobe, at_lab, reports):
    """--no-store leaves no file."""
    assert edgeprobe("run", "smoke", *at_lab, "--client", "httpx", "--no-store").code == 0
    assert not reports.exists()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_cannot_hold_runs_is_found_before_anything_is_sent(
    edgeprobe, at_lab, tmp_path, monkeypatch, place
):
    """The mistake names both ways out; --no-store is one of them."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path / place))
    said = edgeprobe("run", "smoke", *at_lab, "--client", "httpx")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"edgeprobe: {tmp_path / 'file'} is not a folder: ")
    assert "$EDGEPROBE_REPORTS" in said.err
    assert "--no-store" in said.err
    assert edgeprobe("run", "smoke", *at_lab, "--client", "httpx", "--no-store").code == 0


def test_findings_are_shown_even_if_they_cannot_be_stored(edgeprobe, at_lab, monkeypatch):
    """The operator has paid for them; the exit code is the run's."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.tempfile, "mkstemp", full)
    said = edgeprobe("run", "smoke", *at_lab, "--client", "httpx")
    assert said.code == 0
    assert "edgeprobe: not stored: cannot write" in said.err
    assert "pass | run " in said.out


@pytest.mark.parametrize(
    ("code", "words"),
    [("blocked.client", ("do        ", "operator")), ("stream", ("stream.truncated", "stream.masked")), ("ok", ("pass",))],
    ids=["code", "family", "ok"],
)  # fmt: skip
def test_explain(edgeprobe, code, words):
    """A code is explained with whose move it is; a family lists its members."""
    said = edgeprobe("explain", code)
    assert said.code == 0
    assert all(word in said.out for word in words)


# --- exit codes ------------------------------------------------------------------------------------------

_NOW = datetime(2026, 11, 29, tzinfo=UTC)
_TARGET = Target("t", "openai", "m", {"edge": Route("edge", "http://127.0.0.1/v1")})


def made(*verdicts: Verdict, accepted: bool = False) -> Run:
    findings = tuple(Finding("ok", v, f"s/{n}", "k", accepted=accepted) for n, v in enumerate(verdicts))
    return Run(
        "r", ("s",), _TARGET, None, _NOW, _NOW, {}, 1, 1.0, worst(findings), Spend(), (), (), findings
    )  # fmt: skip


PASS, WARN, UNSURE, ERROR, FAIL = (
    Verdict.PASS, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.FAIL,
)  # fmt: skip
CODES = [
    ((PASS,), 0, 0),
    ((PASS, WARN), 0, 0),
    ((WARN,), 0, 0),
    ((), 3, 3),
    ((PASS, UNSURE), 3, 0),
    ((UNSURE,), 3, 3),
    ((UNSURE, WARN), 3, 3),
    ((PASS, ERROR), 3, 0),
    ((ERROR,), 3, 3),
    ((ERROR, UNSURE, FAIL, PASS), 1, 1),
    ((FAIL,), 1, 1),
]


@pytest.mark.parametrize(
    ("verdicts", "code", "allowing"), CODES, ids=[" ".join(map(str, row[0])) or "nothing" for row in CODES]
)
def test_exit_codes(verdicts, code, allowing):
    """fail > error > inconclusive > warn > pass, and nothing measured is never green."""
    assert exit_code(made(*verdicts)) == code
    assert exit_code(made(*verdicts), allow_inconclusive=True) == allowing


def test_accepted_findings_do_not_count():
    """A run of accepted failures alone has proven nothing; beside a pass it is fine."""
    assert exit_code(made(FAIL, accepted=True)) == 3
    accepted, fine = made(FAIL, accepted=True), made(PASS)
    findings = (*accepted.findings, *fine.findings)
    assert exit_code(replace(fine, findings=findings, verdict=worst(findings))) == 0


def test_a_fault_is_1(edgeprobe, at):
    """A refused client is a failure."""
    with lab.serve(["ai-crawler-rule"], clock=Clock(0.02), keys=None) as faulty:
        said = edgeprobe("run", "identity", *at(faulty))
    assert said.code == 1
    assert "blocked.client" in said.out


def test_inconclusive_is_3_and_can_be_allowed(edgeprobe, at_lab):
    """A budget that suffices for a part of the API: 3, or 0 where that is allowed, which is then said."""
    flags = ("run", "smoke", *at_lab, "--client", "httpx", "--max-requests", "8")
    assert edgeprobe(*flags).code == 3
    said = edgeprobe(*flags, "--allow-inconclusive")
    assert said.code == 0
    assert "--allow-inconclusive" in said.out


# --- as a process ----------------------------------------------------------------------------------------


def started(
    *arguments: str, folder: Path, stdin: int = subprocess.DEVNULL, **more: str
) -> subprocess.Popen[str]:
    own = {"EDGEPROBE_REPORTS": str(folder / "runs"), "PYTHONUNBUFFERED": "", **more}
    return subprocess.Popen(
        [COMMAND, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | own,
        cwd=folder,
    )


def test_all_skipped_is_3(at_lab, tmp_path):
    """Without any of its clients a run measures nothing, which nothing makes green."""
    arguments = ("run", "smoke", *at_lab, "--client", "curl", "--allow-inconclusive")
    with started(*arguments, folder=tmp_path, PATH=str(tmp_path)) as process:
        out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (3, "")
    assert "curl is not installed" in out
    assert "nothing measured" in out


@pytest.mark.parametrize(
    "arguments", [("lab", "--list"), ("explain", "ok"), ("--help",), ("--version",)], ids=" ".join
)
def test_a_reader_that_has_gone(arguments):
    """`edgeprobe … | head` ends without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        done = subprocess.run(
            [COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, env=environment, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


PRINTED = {
    "a run": ("run", "identity", *NOWHERE, "--no-key"),
    "a listing": ("explain", "ok"),
    "a mistake": ("explain", "nonsense"),
}
OWN = {"a run": 1, "a listing": 0, "a mistake": 2}


def in_shell(redirected: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command with its streams as a shell's redirections leave them."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirected}', COMMAND, *arguments],
        capture_output=True, text=True, timeout=60, check=False, cwd=folder,
        env={**os.environ, "EDGEPROBE_REPORTS": str(folder / "runs")},
    )  # fmt: skip


@pytest.mark.parametrize("redirected", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("what", PRINTED)
def test_a_closed_stream_is_the_null_device(tmp_path, what, redirected):
    """The command neither hangs nor breaks, its exit code is its own, and no file descriptor gets what it prints."""
    done = in_shell(redirected, *PRINTED[what], folder=tmp_path)
    assert done.returncode == OWN[what]
    assert "Traceback" not in done.stderr
    assert len(list(tmp_path.glob("runs/*.json"))) == (what == "a run")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("what", PRINTED)
def test_a_full_disk_is_told_in_one_line(tmp_path, what):
    """Its exit code is 2 only where the command has none of its own."""
    done = in_shell(">/dev/full", *PRINTED[what], folder=tmp_path)
    assert done.returncode == (OWN[what] or 2)
    full = "edgeprobe: cannot write to standard output: No space left on device\n"
    assert done.stderr == full if what != "a mistake" else full not in done.stderr
    assert in_shell("2>/dev/full", *PRINTED[what], folder=tmp_path).returncode == OWN[what]


def test_a_reader_that_leaves_a_run_does_not_change_its_code(tmp_path):
    """`edgeprobe run … | head -1`: the run is stored, and its exit code says what it found."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with subprocess.Popen(
            [COMMAND, *PRINTED["a run"]],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=os.environ | {"EDGEPROBE_REPORTS": str(tmp_path / "runs")},
        ) as process:
            _, err = process.communicate(timeout=60)
    finally:
        os.close(writer)
    assert (process.returncode, err) == (1, b"")
    assert len(list(tmp_path.glob("runs/*.json"))) == 1


def test_the_lab_serves_until_interrupted(tmp_path, edgeprobe):
    """It prints a command that works, and Ctrl-C ends it with 0."""
    with started(
        "lab", "--fault", "ai-crawler-rule", "--no-key", "--time-scale", "0.02", folder=tmp_path
    ) as process:
        lines = [process.stdout.readline() for _ in range(5)]
        words = lines[2].split()
        said = edgeprobe(*words[words.index("edgeprobe") + 1 :], "--client", "curl", "--max-requests", "1")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert [line.split()[0] for line in lines] == ["edge", "origin", "try", "break", "stop"]
    assert said.code == 3  # of one request nothing follows
    assert (process.returncode, out, err) == (0, "", "")


def test_the_lab_is_broken_by_a_line(tmp_path):
    """Lines of its input name the faults from then on; a name that is none changes nothing, and its end neither."""
    lines = "ai-crawler-rule, read-timer\nread-tmer\n\n"
    with started("lab", "--time-scale", "0.02", folder=tmp_path, stdin=subprocess.PIPE) as process:
        process.stdin.write(lines)
        process.stdin.close()
        said = [process.stdout.readline().strip() for _ in range(8)][5:]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
    assert said[0] == "broken   ai-crawler-rule, read-timer"
    assert said[1].startswith("as it was: ")
    assert "read-timer" in said[1]
    assert said[2] == "mended"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_on_a_silent_server(tmp_path, number):
    """A run that is interrupted ends at once, is stored, and has proven nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        base_url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        arguments = ("run", "smoke", "--base-url", base_url, *NOWHERE[2:], "--no-key")
        with started(*arguments, folder=tmp_path) as process:
            connection, _ = silent.accept()
            with connection:
                time.sleep(0.2)
                pressed = time.monotonic()
                process.send_signal(number)
                out, err = process.communicate(timeout=20)
                waited = time.monotonic() - pressed
    assert process.returncode == 3, (out, err)
    assert waited < 3
    assert "Traceback" not in err
    [stored] = (tmp_path / "runs").glob("*.json")
    document = json.loads(stored.read_text())
    assert document["verdict"] == "inconclusive"
    found = {finding["reason"] for finding in document["findings"] if finding["kind"] != "connection"}
    assert found == {"interrupted"}


# --- a job that cannot begin -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, says",
    [
        (("run", "smok", *NOWHERE), "smok"),
        (("run", "smoke", "--base-url", "api.example.com", *NOWHERE[2:]), "http"),
        (("run", "smoke", "--no-such-flag"), "the log says why"),
    ],
    ids=["suite", "URL", "flag"],
)
def test_a_mistake_stands_on_the_jobs_page(edgeprobe, monkeypatch, tmp_path, call, says):
    """In an annotation and in the summary of a GitHub job; the exit code stays 2."""
    page = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    said = edgeprobe(*call)
    assert said.code == 2
    [annotation] = [line for line in said.out.splitlines() if line.startswith("::")]
    assert annotation.startswith("::error title=edgeprobe::")
    assert says in annotation
    assert says in page.read_text()


def test_the_help_names_the_suites_there_are():
    """But for the demo's, which is for the lab."""
    assert set(options.SUITES.split(", ")) == {*names("suites")} - {"demo"}
