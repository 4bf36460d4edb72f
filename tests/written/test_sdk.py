"""Does a call of an SDK make the JSON that was told?"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

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
    "a query that names twice": (
        "/v1/embeddings?a=1&a=2",
        {"model": "m", "input": 1, "encoding_format": "float"},
        "POST",
    ),
    "a path that only ends so": ("/v1/messages/x/../messages", {"model": "m"}, "POST"),
}


@pytest.mark.parametrize(("path", "body", "method"), NONE.values(), ids=NONE)
def test_what_no_call_makes_is_not_written(path, body, method):
    """Rather than a call that sends something else."""
    assert as_sdk(told(path, body, 1, method=method)) is None


CHAT = {"model": "m", "messages": MESSAGES}
AGENT = ("User-Agent", "OpenAI/Python 1.40.0")
KEPT = {
    "a header of its own name and another value": [("Accept", "*/*"), ("Content-Type", "application/json; charset=utf-8")],
    "codings": [("Accept-Encoding", "deflate, zstd")],
    "a user agent of an SDK": [AGENT, ("X-Stainless-OS", "FreeBSD"), ("X-Stainless-Async", "async:asyncio")],
    "headers of an SDK in another language": [("User-Agent", "OpenAI/JS 4.0.0"), ("X-Stainless-Lang", "js")],
    "another key": [("X-Api-Key", "{env:MY_KEY}")],
    "a scheme": [("Authorization", "Basic {env:MY_KEY}")],
    "a secret in a header": [("Cookie", "a={env:MY_KEY}; b=1")],
    "a host": [("Host", "other.example")],
}  # fmt: skip
SECRET = "sk-not%2Fa+real-key"


def sent_by(code, tmp_path, server):
    (tmp_path / "run.py").write_text(code)
    environment = {"PATH": os.environ["PATH"], "MY_KEY": SECRET}
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return server.requests[0].partition(b"\r\n\r\n")[0].decode()


@pytest.mark.parametrize("headers", KEPT.values(), ids=KEPT)
def test_what_the_sdk_would_send_otherwise_is_sent_as_told(headers, tmp_path):
    """Whatever the version that runs it sends of its own accord."""
    with serving(GOOD) as server:
        head = sent_by(as_sdk(told("/v1/chat/completions", CHAT, server.port, headers)), tmp_path, server)
    said = dict(line.split(": ", 1) for line in head.lower().split("\r\n")[1:])
    for name, value in headers:
        assert said[name.lower()] == value.replace("{env:MY_KEY}", SECRET).lower()


def test_a_secret_in_the_query_is_a_variable(tmp_path):
    """Spelt on the wire as in the URL that was told; in JavaScript, too."""
    path = "/v1/chat/completions?api_key={env:MY_KEY}&trace=1"
    with serving(GOOD) as server:
        one = told(path, CHAT, server.port)
        head = sent_by(as_sdk(one), tmp_path, server)
    assert head.split()[1] == "/v1/chat/completions?api_key=sk-not%2Fa+real-key&trace=1"
    assert """"api_key": decodeURIComponent(process.env.MY_KEY.replaceAll('+', ' '))""" in as_sdk(one, "node")


def test_a_secret_in_the_path_is_a_variable(tmp_path):
    """Of the base URL, as everywhere."""
    with serving(GOOD) as server:
        head = sent_by(as_sdk(told("/{env:MY_KEY}/v1/chat/completions", CHAT, server.port)), tmp_path, server)
    assert head.split()[1] == f"/{SECRET}/v1/chat/completions"


VERSIONS = {
    "an old one of Python": ("OpenAI/Python 1.40.0", "# uv run --with openai==1.40.0 --with 'httpx<0.28' python FILE"),
    "a newer one of Python": ("AsyncOpenAI/Python 2.54.0", "# uv run --with openai==2.54.0 python FILE"),
    "another API's": ("Anthropic/Python 0.39.0", "# uv run --with openai python FILE"),
    "somebody's": ("OpenAI/Python 1.", "# uv run --with openai python FILE"),
}  # fmt: skip


@pytest.mark.parametrize(("agent", "head"), VERSIONS.values(), ids=VERSIONS)
def test_the_version_that_was_told_is_how_it_is_run(agent, head):
    """In the head of the program; what depends on an older HTTP library is given that."""
    headers = [("User-Agent", agent)]
    code = as_sdk(told("/v1/chat/completions", {"model": "m", "messages": []}, 1, headers))
    assert code.splitlines()[0] == head


def test_the_version_of_node_is_installed_first():
    """By npm."""
    code = as_sdk(told("/v1/chat/completions", CHAT, 1, [("User-Agent", "OpenAI/JS 4.50.0")]), "node")
    assert code.startswith("// npm install openai@4.50.0\n")


CANNOT = {
    "a header twice": ("python", {"headers": (("X-A", "1"), ("x-a", "2"))}),
    "a value that is not ASCII": ("python", {"headers": (("X-A", "\u00fc"),)}),
    "a version that has no such call": ("python", {"headers": (("User-Agent", "OpenAI/Python 0.28.1"),)}),
    "another host in Node.js": ("node", {"headers": (("Host", "other.example"),)}),
    "another way": ("python", {"connect_to": "127.0.0.1:1"}),
    "a proxy": ("python", {"proxy": "http://127.0.0.1:1"}),
    "a family of addresses": ("python", {"family": 6}),
}


@pytest.mark.parametrize(("language", "changed"), CANNOT.values(), ids=CANNOT)
def test_what_the_sdk_cannot_send_is_not_written(language, changed):
    """Rather than a program that shows something else."""
    one = told("/v1/chat/completions", CHAT, 1)
    assert as_sdk(one, language) is not None
    assert as_sdk(replace(one, **changed), language) is None
