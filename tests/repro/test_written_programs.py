"""Does what `repro` writes show somebody else what its finding says?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile

import pytest

from probes.lab.faults import Answer, Do, Fault
from probes.lab.when import HeaderTest, When

QUERY = "?api_key=query-secret-0123456789"
BODY = '{"model":"lab-model","messages":[{"role":"user","content":"Hi."}],"max_tokens":4}'
SECRETS = {
    "key": "sk-Abcdefghijklmnop0123456789",
    "tenant": "acme-corporation",
    "cookie": "f00dcafe12345678",
    "query": "query-secret-0123456789",
}
TOLD = [f"-H 'Authorization: Bearer {SECRETS['key']}'", "-H 'Content-Type: application/json'"]
AGENT = "-A 'Mozilla/5.0 (X11)'"
CAUSES = {
    "a header whose value is secret": ([("x-tenant", None)], [*TOLD, AGENT, f"-H 'X-Tenant: {SECRETS['tenant']}'"]),
    "a cookie": ([("cookie", "theme=")], [*TOLD, AGENT, f"-b 'session={SECRETS['cookie']}; theme=dark-and-blue'"]),
    "codings": ([("accept-encoding", "zstd")], [*TOLD, AGENT, "-H 'Accept-Encoding: deflate, zstd'"]),
    "another version of the SDK": ([("user-agent", "OpenAI/Python 1.")], [*TOLD, "-A 'OpenAI/Python 1.40.0'"]),
    "a key that the SDK has in another header": (
        [("user-agent", "Mozilla"), ("x-api-key", None)], [*TOLD[1:], AGENT, f"-H 'X-Api-Key: {SECRETS['key']}'"],
    ),
    "user and password": ([("user-agent", "Mozilla"), ("authorization", "Basic")], [*TOLD[1:], AGENT, "-u bob:hunter2-hunter2"]),
    "a secret in the query": (r".*api_key=[^{%].*", ["QUERY", *TOLD, AGENT]),
}  # fmt: skip
RUNS = {".sh": ["sh"], ".py": [sys.executable], ".cjs": ["node"], ".sdk.py": [sys.executable]}


def planted(when) -> Fault:
    """`when`: headers with what they contain, or a pattern of the path."""
    if isinstance(when, str):
        return Fault("planted", "", Do(answer=Answer(page="cf-block")), When(path=when))
    tests = tuple(HeaderTest(name, contains=contains) for name, contains in when)
    return Fault("planted", "", Do(answer=Answer(page="cf-block")), When(headers=tests))


def ran(command, variables, cwd):
    environment = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, timeout=60, check=False)
    return done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")


def copied(out: str, label: str) -> str:
    """The command of a row, as it stands on the terminal, up to its note."""
    rows = out.split(f"\n  {label:<9} ", 1)[1]
    return rows.split("\n            (", 1)[0]


def program(out: str) -> str:
    """What stands from the first column on, below its label."""
    return out.split("\n  as code   (not run)\n", 1)[1].split("\n  repeat ", 1)[0]


@pytest.mark.parametrize(("when", "words"), CAUSES.values(), ids=CAUSES)
def test_each_program_is_refused_as_the_finding_says(served, edgeprobe, at_lab, tmp_path, when, words):
    """Those of the bundle, and what is copied from the terminal; what passes there passes."""
    served.arm([planted(when)])
    path = tmp_path / "complaint.txt"
    url = f"'{served.base_url}/chat/completions{QUERY if 'QUERY' in words else ''}'"
    told = [word for word in words if word != "QUERY"]
    path.write_text(" ".join(["curl", url, *told, f"-d '{BODY}'"]))
    said = edgeprobe(
        "repro", str(path), "--time-scale", at_lab[-1], "--no-store", "--bundle", str(tmp_path / "b.zip")
    )
    assert said.out.splitlines()[-1].startswith("REPRODUCED"), said.out + said.err
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        archive.extractall(tmp_path)
    needed = re.findall(r"TOLD_\w+", said.out.split("secrets  ", 1)[1].split(":", 1)[0])
    variables = {variable: f"value-of-{variable.lower()}" for variable in needed}
    for suffix, runner in RUNS.items():
        [made] = (
            one for one in (tmp_path / "reproducers").iterdir() if one.name.split("-edge")[-1] == suffix
        )
        assert "403" in (answer := ran([*runner, made.name], variables, made.parent)), (
            made.read_text(),
            answer,
        )
        assert suffix == ".sh" or "not run" in made.read_text()
    for label, refused in {"fails": True, "passes": False, "repeat": True}.items():
        answer = ran(["bash", "-c", copied(said.out, label)], variables, tmp_path)
        assert answer.startswith("HTTP/1.1 403") == refused, (copied(said.out, label), answer)
        assert answer.startswith("HTTP/1.1 ")
    (tmp_path / "copied.py").write_text(program(said.out))
    assert "403" in ran([sys.executable, "copied.py"], variables, tmp_path), program(said.out)
    assert all(secret not in said.out for secret in SECRETS.values())
