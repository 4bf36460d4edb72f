"""Does a call of an SDK make the JSON that was told?"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from serving import serving

from probes.complaint import Told
from probes.written import as_sdk

ANSWER = (
    b'{"id": "x", "object": "chat.completion", "type": "message", "content": [], "choices": [], "data": [{}]}'
)
GOOD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
    % (len(ANSWER), ANSWER)
)
MESSAGES = [{"role": "user", "content": "\"'`${x}\\ \n{env:OTHER} {env:MY_KEY}"}]
OPENAI = (("Authorization", "Bearer {env:MY_KEY}"), ("X-Tenant", "a'b"), ("x-stainless-lang", "python"))
CALLS = {
    "chat": ("/v1/chat/completions", {"model": "m", "messages": MESSAGES, "max_tokens": 1, "odd": {"a": [None, 1.5, True]}}),
    "invalid chat": ("/v1/chat/completions", {"model": "m", "messages": "edgeprobe"}),
    "completions": ("/v1/completions", {"model": "m", "prompt": "p", "min_tokens": 3}),
    "responses": ("/v1/responses", {"model": "m", "input": 0}),
    "embeddings": ("/v1/embeddings", {"model": "m", "input": ["a"], "encoding_format": "float"}),
    "messages": ("/v1/messages", {"model": "m", "messages": MESSAGES, "max_tokens": 1, "system": "s", "odd": 1}),
}  # fmt: skip


def told(path, body, port, headers=OPENAI, method="POST"):
    url = f"http://127.0.0.1:{port}{path}"
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Told(method, url, headers, data, "http", secrets=("MY_KEY",))


@pytest.mark.parametrize(("path", "body"), CALLS.values(), ids=CALLS)
def test_the_call_makes_the_same_json(path, body, tmp_path):
    """To the same path, with the key and the headers that are not the SDK's own; what it has no argument for, too."""
    headers = (*OPENAI, ("x-api-key", "{env:MY_KEY}"))
    with serving(GOOD) as server:
        code = as_sdk(told(path, body, server.port, headers))
        (tmp_path / "run.py").write_text(code)
        environment = {"PATH": os.environ["PATH"], "MY_KEY": "sk-not-a-real-key"}
        done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        head, _, sent = server.requests[0].partition(b"\r\n\r\n")
    assert json.loads(sent) == json.loads(json.dumps(body).replace("{env:MY_KEY}", "sk-not-a-real-key"))
    assert head.startswith(f"POST {path} HTTP/1.1\r\n".encode())
    assert b"sk-not-a-real-key" in head
    assert b"\r\nx-tenant: a'b\r\n" in head.lower()
    assert b"python\r\n" in head  # its own, sent by itself


def test_a_stream_is_read_event_by_event():
    """As its user would."""
    body = {"model": "m", "messages": [], "stream": True}
    assert "for event in client.chat.completions.create(" in as_sdk(told("/v1/chat/completions", body, 1))
    assert "for await (const event of await" in as_sdk(told("/v1/chat/completions", body, 1), "node")


@pytest.mark.parametrize(("path", "body"), CALLS.values(), ids=CALLS)
def test_node_takes_the_code(path, body, tmp_path):
    """It is JavaScript, whatever stands in the texts."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    (tmp_path / "run.mjs").write_text(as_sdk(told(path, body, 1), "node"))
    done = subprocess.run(["node", "--check", "run.mjs"], cwd=tmp_path, capture_output=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()


NONE = {
    "another path": ("/v1/other", {"model": "m"}, "POST"),
    "no JSON": ("/v1/chat/completions", b"\xff", "POST"),
    "no object": ("/v1/chat/completions", [1], "POST"),
    "an argument is missing": ("/v1/messages", {"model": "m", "messages": []}, "POST"),
    "what the SDK adds to": ("/v1/embeddings", {"model": "m", "input": ["a"]}, "POST"),
    "another method": ("/v1/chat/completions", {"model": "m", "messages": []}, "GET"),
    "a path that only ends so": ("/v1/messages/x/../messages", {"model": "m"}, "POST"),
}


@pytest.mark.parametrize(("path", "body", "method"), NONE.values(), ids=NONE)
def test_what_no_call_makes_is_not_written(path, body, method):
    """Rather than a call that sends something else."""
    assert as_sdk(told(path, body, 1, method=method)) is None
