"""Do the programs for an SDK show what the finding says, run as their heads say, by the real uv and with npm's packages?"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile

import pytest
from sdk_cache import sdk_cache

from probes import lab
from probes.clients import environments
from probes.clock import Clock
from probes.lab.faults import Answer, Do, Fault
from probes.lab.when import HeaderTest, When
from probes.sdk_versions import sdk

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
SCALE = 0.02
CHAT = '{"model":"lab-model","messages":[{"role":"user","content":"Hi."}],"max_tokens":4%s}'
KEY = "sk-Abcdefghijklmnop0123456789"
OPENAI = ("/v1/chat/completions", f"-H 'Authorization: Bearer {KEY}'", CHAT % "")
STREAM = (*OPENAI[:2], CHAT % ',"stream":true')
ANTHROPIC = ("/v1/messages", f"-H 'X-Api-Key: {KEY}' -H 'Anthropic-Version: 2023-06-01'", CHAT % "")
CAUSES = {
    "an old openai in Python": (OPENAI, "OpenAI/Python 1.40.0", ("openai==1.40.0", "httpx<0.28")),
    "a newer one, streamed": (STREAM, "OpenAI/Python 2.54.0", ("openai==2.54.0",)),
    "one in JavaScript": (OPENAI, "OpenAI/JS 6.0.0", ("openai@6.0.0",)),
    "anthropic in Python": (ANTHROPIC, "Anthropic/Python 0.125.0", ("anthropic==0.125.0",)),
    "anthropic in JavaScript": (ANTHROPIC, "Anthropic/JS 0.70.0", ("@anthropic-ai/sdk@0.70.0",)),
    "no SDK": (STREAM, "Mozilla/5.0 (X11)", ()),
}


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    """One for all of the file."""
    with sdk_cache(tmp_path_factory.mktemp("sdks")):
        yield


def command(program):
    """As the head says; what npm is to install stands beside the program afterwards. With what it names for them."""
    head = [
        line.lstrip("#/ ") for line in program.read_text().splitlines() if re.match(r"(#|//) (uv|npm) ", line)
    ]
    [words] = map(shlex.split, head)
    if words[0] == "uv":
        wanted = [words[n + 1] for n, word in enumerate(words) if word == "--with"]
        return [program.name if word == "FILE" else word for word in words], wanted
    assert words[:2] == ["npm", "install"]
    line = {"openai": "openai@7.*", "@anthropic-ai/sdk": "@anthropic-ai/sdk@1.*"}.get(words[2], words[2])
    client = sdk(f"npm:{line}")
    environments.prepare([client])
    modules = program.parent / "node_modules"
    modules.unlink(missing_ok=True)
    modules.symlink_to(environments.of(client).folder / "node_modules")
    return ["node", program.name], words[2:]


def ran(program):
    words, wanted = command(program)
    environment = {**os.environ, "UV_PYTHON": sys.executable, "TOLD_KEY": KEY}
    done = subprocess.run(
        words, cwd=program.parent, env=environment, capture_output=True, timeout=300, check=False
    )
    return done.returncode, done.stdout.decode() + done.stderr.decode(), wanted


@pytest.mark.parametrize(("request_", "agent", "wanted"), CAUSES.values(), ids=CAUSES)
def test_it_is_refused_as_the_finding_says_and_passes_without_the_rule(
    request_, agent, wanted, edgeprobe, tmp_path
):
    """With the version that was told, where one was."""
    path, headers, body = request_
    rule = Fault(
        "planted",
        "",
        Do(answer=Answer(page="cf-block")),
        When(headers=(HeaderTest("user-agent", contains=agent),)),
    )
    with lab.serve([rule], clock=Clock(SCALE), keys=None, prefill=0.2, tpot=0.02) as running:
        complaint = tmp_path / "complaint.txt"
        url = running.base_url.removesuffix("/v1") + path
        complaint.write_text(
            f"curl '{url}' {headers} -H 'Content-Type: application/json' -A '{agent}' -d '{body}'"
        )
        said = edgeprobe(
            "repro", str(complaint), "--time-scale", str(SCALE), "--no-store", "--bundle", str(tmp_path / "b.zip")
        )  # fmt: skip
        assert said.out.splitlines()[-1].startswith("REPRODUCED"), said.out + said.err
        with zipfile.ZipFile(tmp_path / "b.zip") as archive:
            archive.extractall(tmp_path)
        programs = sorted((tmp_path / "reproducers").glob("*.sdk.*"))
        assert [one.name.partition(".sdk")[2] for one in programs] == [".mjs", ".py"]
        refused = {one: ran(one) for one in programs}
        for code, answer, _ in refused.values():
            assert code != 0
            assert re.search(r"(HTTP|status:) 403\b", answer), answer
        assert not wanted or list(wanted) in [each for _, _, each in refused.values()]
        running.arm([])
        for one in programs:
            code, answer, _ = ran(one)
            assert (code, "403" in answer) == (0, False), answer
