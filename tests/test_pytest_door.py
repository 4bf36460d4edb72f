"""The pytest plugin: suites as tests, in a pytest of their own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from probes import lab
from probes.clock import Clock
from probes.config import target_from_flags
from probes.model import Budget, Limits
from probes.pytest_door import Door, share

pytest_plugins = ["pytester"]

COMPLETION = """\
version: 1
name: mine
cases:
  - {kind: completion, clients: [httpx]}
  - {kind: completion, clients: [httpx], with: {cap: 7}}
"""
IDENTITY = "version: 1\nname: who\ncases:\n  - {kind: identity, clients: [openai-py, curl]}\n"
NOWHERE = (
    "--edgeprobe-base-url",
    "http://127.0.0.1:9/v1",
    "--edgeprobe-api",
    "openai",
    "--edgeprobe-model",
    "m",
)


def served(*faults, **more):
    return lab.serve(faults, **{"clock": Clock(), "keys": None, "prefill": 0.001, "tpot": 0.0005, **more})


def at(running) -> tuple[str, ...]:
    url = ("--edgeprobe-base-url", running.base_url, "--edgeprobe-api", "openai")
    return (*url, "--edgeprobe-model", running.model, "--edgeprobe-no-key")


@pytest.fixture
def suite(pytester):
    """Writes a suite's file."""

    def write(text=COMPLETION, name="mine.yaml"):
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return name

    return write


@pytest.fixture
def run(pytester):
    """pytest in a process of its own, with `-p no:cacheprovider` and what is given."""
    return lambda *flags: pytester.runpytest_subprocess("-p", "no:cacheprovider", *flags)


@pytest.fixture
def collect(pytester):
    """The same in this process, for what sends nothing: a process costs a second."""
    return lambda *flags: pytester.runpytest_inprocess("-p", "no:cacheprovider", *flags)


# --- it costs nothing unless it is asked for -------------------------------------------------------------


def test_importing_it_loads_nothing_heavy(pytester, run):
    """A pytest that does not ask for edgeprobe imports no SDK, YAML, pydantic or rich, and nothing more of ours."""
    pytester.makepyfile(
        """
        import sys

        def test_it(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("edgeprobe")
            assert {n for n in sys.modules if n.split(".")[0] == "probes"} == {"probes", "probes.pytest_plugin"}
            heavy = {"openai", "anthropic", "yaml", "pydantic", "rich", "httpx", "httpx2", "ssl"}
            assert not heavy & set(sys.modules)
        """
    )
    # Other plugins of this environment import for themselves.
    run("-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:xdist", "-p", "no:timeout").assert_outcomes(
        passed=1
    )


@pytest.mark.parametrize("flags", [(), ("--edgeprobe-no-key",)], ids=["none", "no target"])
def test_yaml_is_left_alone(suite, collect, flags):
    """Without a target no suite is collected, whoever names it."""
    suite()
    assert "no tests ran" in collect(*flags).stdout.str()
    assert collect("mine.yaml", *flags).ret != 0


def test_only_what_is_named_is_collected(suite, collect, pytester):
    """A suite, or a folder `suites`; no other YAML, and nothing for pytest alone."""
    suite(name="suites/mine.yaml")
    suite("a: [not, a, suite]", "other.yaml")
    for named, wanted in (("suites", 2), ("suites/mine.yaml", 2), (".", 0), ("", 0)):
        said = collect(
            *filter(None, [named]), *NOWHERE, "--edgeprobe-no-key", "--collect-only", "-q"
        ).stdout.str()
        assert len(re.findall(r"^suites/mine.yaml::completion", said, re.MULTILINE)) == wanted, named


def test_items_are_named_as_cases_are(suite, collect):
    """One for each case, which can be picked by -k."""
    said = collect(suite(), *NOWHERE, "--edgeprobe-no-key", "--collect-only", "-q").stdout.str()
    assert re.findall(r"^mine.yaml::(.*)$", said, re.MULTILINE) == ["completion", "completion/cap=7"]
    picked = collect(
        "mine.yaml", *NOWHERE, "--edgeprobe-no-key", "--collect-only", "-q", "-k", "cap"
    ).stdout.str()
    assert re.findall(r"^mine.yaml::(.*)$", picked, re.MULTILINE) == ["completion/cap=7"]


# --- what comes of a case --------------------------------------------------------------------------------


def test_a_healthy_service_passes(suite, run):
    """Each case is a test that passed; pytest's own report holds the verdicts."""
    with served() as running:
        result = run(suite(), *at(running), "--junitxml", "pytest.xml")
    result.assert_outcomes(passed=2)
    assert result.ret == 0


def test_a_finding_is_the_failure(suite, run):
    """It reads as on the console, without a traceback."""
    with served("ai-crawler-rule") as running:
        result = run(suite(IDENTITY), *at(running))
    result.assert_outcomes(failed=1)
    said = result.stdout.str()
    assert re.search(
        r"^FAIL openai-py is refused at the edge\n +identity \| blocked.client", said, re.MULTILINE
    )
    assert re.search(r"^  do +operator: ", said, re.MULTILINE)
    assert "Traceback" not in said
    assert "pytest_plugin.py" not in said


def test_what_is_unproven_fails(suite, run):
    """And says so."""
    with served("rate-limit") as running:
        result = run(suite(), *at(running))
    result.assert_outcomes(failed=2)
    assert "inconclusive: this case has proven nothing" in result.stdout.str()


def test_what_is_unproven_can_be_allowed(suite, run, pytester):
    """Skipped then, which is green only beside something that was measured."""
    pytester.makepyfile("def test_of_somebody_else(): pass")
    with served("rate-limit") as running:
        result = run(
            suite(), "test_what_is_unproven_can_be_allowed.py", *at(running), "--edgeprobe-allow-inconclusive"
        )
    result.assert_outcomes(skipped=2, passed=1)
    assert result.ret == 1
    assert "edgeprobe: nothing measured" in result.stdout.str()
    few = "version: 1\nname: mine\ncases:\n  - {kind: completion, clients: [httpx]}\n  - {kind: identity, clients: [curl]}\n"
    targets = pytester.path / "configs" / "targets"
    targets.mkdir(parents=True)
    with served() as running:
        (targets / "small.yaml").write_text(
            f"version: 1\nname: small\napi: openai\nmodel: {running.model}\nkey_env: null\nendpoints: [chat]\n"
            f"routes: {{edge: {{base_url: {running.base_url}}}}}\nbudget: {{requests: 2, tokens: null, usd: null}}\n"
        )
        result = run(suite(few), "--edgeprobe-target", "small", "--edgeprobe-allow-inconclusive", "-rs")
    result.assert_outcomes(skipped=1, passed=1)
    assert result.ret == 0
    assert "inconclusive, by --edgeprobe-allow-inconclusive" in result.stdout.str()


def test_a_warning_passes_with_a_warning(suite, run):
    """It stands in pytest's own summary of warnings."""
    with served("redirect-307") as running:
        result = run(suite(COMPLETION.replace("httpx", "openai-py")), *at(running))
    result.assert_outcomes(passed=2, warnings=2)
    assert re.search(r"EdgeprobeWarning: .*\(redirected \| ", result.stdout.str())


def test_what_is_left_out_is_skipped(suite, run):
    """A client that does not speak the target's API, with the reason; alone it makes nothing green."""
    text = "version: 1\nname: mine\ncases:\n  - {kind: completion, clients: [httpx, anthropic-py]}\n"
    with served() as running:
        result = run(suite(text), *at(running), "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    assert "speaks anthropic, the target openai" in result.stdout.str()
    result = run(suite(text.replace("httpx, ", "")), *NOWHERE, "--edgeprobe-no-key")
    assert result.ret == 1
    assert "edgeprobe: nothing measured" in result.stdout.str()


MISTAKES = {
    "no suite": ("a: 1\n", NOWHERE, "mine.yaml:1: "),
    "unknown kind": (
        "version: 1\nname: m\ncases:\n  - {kind: streming}\n",
        NOWHERE,
        "did you mean streaming?",
    ),
    "unknown target": (COMPLETION, ("--edgeprobe-target", "exampel"), "target 'exampel' is not known"),
    "no model": (COMPLETION, NOWHERE[:4], "a base URL needs an api (openai or anthropic) and a model"),
    "two targets": (COMPLETION, (*NOWHERE, "--edgeprobe-target", "example"), "exclude each other"),
    "a flag without its URL": (
        COMPLETION,
        ("--edgeprobe-target", "example", "--edgeprobe-no-key"),
        "go with a base URL",
    ),
    "no key": (COMPLETION, (*NOWHERE, "--edgeprobe-key-env", "NOT_SET"), "NOT_SET is not set"),
}


@pytest.mark.parametrize(("text", "flags", "said"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(suite, collect, text, flags, said):
    """A line that says what is wrong and where, and no traceback."""
    result = collect(suite(text), *flags)
    assert result.ret != 0
    assert said in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_commands_to_githubs_runner(monkeypatch):
    """What a server says is not obeyed there, in whatever line it comes to stand."""
    from probes.pytest_plugin import _unheeded

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    text = _unheeded("seen ##[add-mask]a\n   ::error::x\n::stop-commands::y\na::b")
    assert text == "seen ## [add-mask]a\n   : :error::x\n: :stop-commands::y\na::b"
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert _unheeded("::a") == "::a"


def test_ctrl_c_ends_the_session(suite, pytester):
    """Not only the case under way."""
    suite()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        flags = ("--edgeprobe-base-url", url, *NOWHERE[2:], "--edgeprobe-no-key", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", "mine.yaml", *flags]
        with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, text=True) as process:
            connection, _ = silent.accept()
            with connection:
                time.sleep(0.2)
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=30)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "no tests ran" in out


# --- xdist -----------------------------------------------------------------------------------------------


def test_under_xdist(suite, run):
    """Each case runs once, in one worker, and the controller knows what was measured."""
    with served("rate-limit") as running:
        result = run(suite(), *at(running), "-n", "2", "--edgeprobe-allow-inconclusive")
    result.assert_outcomes(skipped=2)
    assert result.ret == 1
    assert "edgeprobe: nothing measured" in result.stdout.str()


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 400])
def test_workers_share_what_the_target_allows(workers):
    """All together they spend no more than one process would; each may send one request at a time."""
    from dataclasses import replace

    target = target_from_flags("http://h/v1", "openai", "m", no_key=True)
    target = replace(target, limits=Limits(4, 60), budget=Budget(300, 1000, 1.5))
    one = share(target, workers)
    assert workers * one.budget.requests <= 300
    assert workers * one.budget.tokens <= 1000
    assert workers * one.budget.usd == pytest.approx(1.5)
    assert one.limits.concurrency == max(1, 4 // workers)
    assert one.limits.per_minute == max(1, 60 // workers)
    assert one.limits.deadline == target.limits.deadline
    unlimited = share(replace(target, limits=Limits(4, None), budget=Budget(None, None, None)), workers)
    assert (unlimited.limits.per_minute, unlimited.budget) == (None, Budget(None, None, None))


def test_all_cases_of_a_process_keep_to_one_budget():
    """The second run of a process has what the first left; what each spent is its own."""
    with served() as running:
        given = {"base_url": running.base_url, "api": "openai", "model": running.model, "no_key": True}
        door = Door({}, workers=300)  # one request each
        first = door.run("smoke", clients=["httpx"], **given)
        second = door.run("smoke", clients=["httpx"], **given)
    assert (first.spend.requests, second.spend.requests) == (1, 0)
    assert {call.not_sent for call in second.calls} == {"budget"}


# --- the fixture -----------------------------------------------------------------------------------------


def test_the_fixture(pytester, run):
    """For assertions of one's own: a suite by name, a Run back."""
    pytester.makepyfile(
        """
        import os
        import pytest

        def test_it(edgeprobe):
            run = edgeprobe(
                "smoke", base_url=os.environ["URL"], api="openai", model=os.environ["MODEL"], no_key=True,
                clients=["httpx"], settings={"cap": 7},
            )
            assert run.verdict == "pass"
            assert {finding.code for finding in run.findings} == {"ok"}
            assert {call.trial.request.cap for call in run.calls if "/cap=7" in call.case} == {7}

        def test_a_mistake(edgeprobe):
            with pytest.raises(Exception, match="which suite"):
                edgeprobe()
        """
    )
    with served() as running:
        os.environ["URL"], os.environ["MODEL"] = running.base_url, running.model
        run().assert_outcomes(passed=2)
        again = run(*at(running), "-k", "test_a_mistake")
    again.assert_outcomes(passed=1, deselected=1)
    assert again.ret == 0  # no case was collected, so none had to be measured


def test_the_fixture_takes_the_target_of_the_command_line(pytester, run):
    """Where a call names none."""
    pytester.makepyfile(
        "def test_it(edgeprobe): assert edgeprobe('smoke', clients=['curl']).target.model == 'lab-model'"
    )
    with served() as running:
        run(*at(running)).assert_outcomes(passed=1)
