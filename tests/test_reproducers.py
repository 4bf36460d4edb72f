"""Does the command of a finding that fails show the same to somebody without edgeprobe?"""

import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from labruns import CLOCK, KEY, lab_run, refused_port, served, target_at

from probes.conduct import Order, conduct
from probes.credentials import Secrets
from probes.model import Ask, Call, Finding, Layer, Raised, Reproduce, Trial, Verdict
from probes.reporters.words import folded
from probes.reproducers import FOLDER, names, reproducible, told

FAULTS = {
    "refused by its user agent": ("ai-crawler-rule", "403"),
    "refused by the page of another product": ("nginx-ua-rule", "403"),
    "errors replaced by the edge": ("errors-as-502", "502"),
    "a page under status 200": ("html-200", "200"),
    "a broken answer under status 200": ("broken-json-200", "200"),
    "a stream that is cut": ("cut-mid-event", "200"),
    "an error in a stream": ("error-event", "200"),
}


def failing(run):
    return [finding for finding in run.findings if finding.verdict is Verdict.FAIL]


def by_bash(command, key):
    environment = {"PATH": os.environ["PATH"], KEY: key}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, timeout=60, check=False)  # fmt: skip
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


@pytest.mark.parametrize(("fault", "status"), FAULTS.values(), ids=FAULTS)
def test_the_command_meets_the_same(fault, status):
    """Run by bash, with the key in its variable, at the edge that the run was refused by."""
    with served(fault) as (lab, target, secrets):
        run = conduct(Order(("smoke",), target, seed=7, clock=CLOCK), secrets)
        commands = {finding.reproduce.command for finding in failing(run)}
        exchanges = {exchange.id: exchange for call in run.calls for exchange in call.exchanges}
        for finding in failing(run):
            seen = exchanges[finding.variant or finding.evidence[0]]
            if finding.reproduce.command.startswith("curl") and str(seen.status) == status:
                _, out, err = by_bash(finding.reproduce.command, lab.api_key)
                assert re.match(rf"HTTP/1.1 {status} ", out), (finding.reproduce.command, out, err)
        assert commands, [finding.title for finding in run.findings]
        assert all(secret not in command for command in commands for secret in (lab.api_key, "[redacted]"))


def test_nobody_at_the_door_is_shown_by_a_connection():
    """To the address that was tried; where nothing was asked there is nothing else to show."""
    with refused_port() as port:
        target = replace(target_at(f"http://127.0.0.1:{port}/v1"), key_env=None)
        run = conduct(Order(("smoke",), target, seed=7, clock=CLOCK), Secrets({}))
    found = failing(run)
    assert found
    for finding in found:
        code, _, err = by_bash(finding.reproduce.command, "")
        assert code == 7, (finding.reproduce.command, err)  # curl's word for a refused connection


def test_what_only_the_client_shows_is_its_own_call():
    """A client that refuses to send has no exchange; its call is made as it made it."""
    run = lab_run("smoke", "ai-crawler-rule")
    case = next(case for case in run.cases if case.kind == "completion")
    for client, said in {
        "openai-py": "openai.OpenAI(",
        "openai-py-async": "openai.AsyncOpenAI(",
        "openai-py-aiohttp": "DefaultAioHttpClient()",
    }.items():
        trial = Trial("x", client, "edge", Ask("chat", "invalid", key="made_up"))
        call = Call("c", case.id, trial, 0, raised=Raised("ValueError", "no"))
        finding = Finding("client.guard", Verdict.FAIL, case.id, case.kind, layer=Layer.CLIENT, client=client)
        [shown] = reproducible([finding], [call], [case])
        assert said in shown.reproduce.command
        with served("ai-crawler-rule") as (lab, _, _):
            command = shown.reproduce.command.replace(case.target.routes["edge"].base_url, lab.base_url)
            code, out, err = by_bash(command.replace("python", sys.executable, 1), "")
        assert code == 1
        assert "403" in out + err, (command, out, err)


def test_a_flows_own_command_stays():
    """It may have been run."""
    run = lab_run("smoke", "ai-crawler-rule")
    own = replace(failing(run)[0], reproduce=Reproduce("true", verified=True))
    assert reproducible([own], run.calls, run.cases) == [own]


def test_what_passes_needs_no_command():
    """Nor what was not proven."""
    run = lab_run("smoke", "ai-crawler-rule")
    others = [replace(finding, reproduce=None) for finding in run.findings if finding.verdict is not Verdict.FAIL]  # fmt: skip
    assert reproducible(others, run.calls, run.cases) == others


def test_a_command_that_is_too_long_lies_in_the_bundle():
    """By the name of the finding's file there."""
    run = lab_run("smoke", "ai-crawler-rule")
    finding = next(finding for finding in failing(run) if finding.kind == "completion")
    finding = replace(finding, reproduce=None)
    calls = [
        replace(call, trial=replace(call.trial, request=replace(call.trial.request, prompt_tokens=5000)))
        if isinstance(call.trial.request, Ask)
        else call
        for call in run.calls
    ]
    [shown] = reproducible([finding], calls, run.cases)
    assert shown.reproduce.command == f"sh {FOLDER}/{names([finding])[0]}.sh"
    assert len(told(finding, calls, run.cases).body) > 10_000


def test_a_flows_own_command_that_is_too_long_lies_in_the_bundle():
    """As the request of the finding, which nobody ran from there."""
    run = lab_run("smoke", "ai-crawler-rule")
    finding = next(finding for finding in failing(run) if finding.kind == "completion")
    own = replace(finding, reproduce=Reproduce("curl " + "x" * 2_000, verified=True))
    [shown] = reproducible([own], run.calls, run.cases)
    assert len(shown.reproduce.command) < 2_000
    assert not shown.reproduce.verified


def test_names_tell_findings_apart():
    """Alike ones are numbered, and a name holds nothing that a shell or a file system minds."""
    odd = Finding("blocked", Verdict.FAIL, "s/k/a=$(id) b/../c", "k", client="x y", route="edge")
    good = Finding("ok", Verdict.PASS, "s/k", "k")
    long = replace(odd, case="s/" + "long" * 100)
    other = replace(odd, case="s/" + "long" * 101)
    first, none, second, third, fourth = names([odd, good, odd, long, other])
    assert (first, none, second) == ("s-k-a-id-b-..-c-blocked-x-y-edge", None, f"{first}-2")
    assert third != fourth
    assert all(re.fullmatch(r"[A-Za-z0-9.-]{1,100}", name) for name in (first, second, third, fourth))


FOLDED = {
    "variables": """curl http://h -H "authorization: Bearer $KEY" -d '{"a": 1}'""",
    "mixed quotes": """curl http://h -H 'a: '"$KEY"' b' -H "x: \\"y z\\"" """.strip(),
    "a pipe": """{ printf %s 'a b'; head -c 9 /dev/zero | tr '\\0' a; } | curl http://h --data-binary @-""",
    "a backslash": r"curl http://h\ x -H a\'b",
}


@pytest.mark.parametrize("command", FOLDED.values(), ids=FOLDED)
def test_a_folded_command_is_the_same_command(command):
    """Its words are spelt as before: a variable stays one, and a quote stays shut."""
    lines = folded(command, 20)
    assert len(lines) > 1
    assert " ".join(line.removesuffix(" \\").strip() for line in lines) == command
    echoed = [
        subprocess.run(
            ["bash", "-c", f"curl() {{ printf '<%s>' \"$@\"; }}; KEY='k k'; {text}"],
            capture_output=True,
            check=True,
        ).stdout
        for text in (command, "\n".join(lines))
    ]
    assert echoed[0] == echoed[1]
    assert b"<" in echoed[0]


def test_what_is_no_shells_is_shown_as_it_is():
    """On one line."""
    assert folded("curl 'open", 5) == ["curl 'open"]
