"""Does the code that is written send the very request, whatever stands in it?"""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from serving import serving

from probes.complaint import Told
from probes.written import as_curl, as_node, as_python

VARIABLES = {"MY_KEY": "sk-not-a-real-key", "Q": "a'b\"c $(id) `id`"}
PLAIN = (("content-type", "application/json"), ("Authorization", "Bearer {env:MY_KEY}"))


def told(**given):
    return replace(
        Told(
            "POST", "http://host/v1/chat/completions", PLAIN, b'{"model": "m"}', "http", secrets=("MY_KEY",)
        ),
        **given,
    )


TOLD = {
    "plain": told(),
    "without a body": told(method="GET", body=b"", headers=()),
    "a POST without a body": told(body=b""),
    "a method of its own": told(method="QUERY"),
    "a GET with a body": told(method="GET"),
    "no headers": told(headers=()),
    "as curl sends": told(headers=(("User-Agent", "curl/8.1"), ("Accept", "*/*"))),
    "order, case and repetition": told(headers=(("X-B", "1"), ("x-a", "2"), ("X-C", "3"), ("X-C", "4"))),
    "an empty value": told(headers=(("X-Empty", ""), ("X-Full", "1"))),
    "another host": told(headers=(("Host", "other.example"), ("X-A", "1"))),
    "quotes": told(headers=(("X-Q", "'\"\\ $HOME `id` $(id) !! ${Q} #"),), body=b"'\"\\ $HOME `id` $(id) !! %s %d"),
    "line ends in the body": told(body=b"a\nb\r\nc\n\n"),
    "every byte": told(body=bytes(range(256))),
    "a body that names a file": told(body=b"@/etc/hostname"),
    "a body that looks like an option": told(body=b"-n\x01"),
    "beyond ASCII": told(headers=(("X-U", "grüß 世界"),), body="Grüße, 世界 🙂".encode()),
    "what no person sees": told(headers=(("X-U", "a\u202eb\tc"),), body="\u200b\u202e".encode()),
    "closing marks of code": told(headers=(("X-U", "*/ </script> ${x} `"),), body=b"\"\"\"'''`${x}*/</script>"),
    "a header that is none": told(headers=(("@/etc/passwd", "x"), ("X: y\r\nX-Injected", "1"), ("X-A", "1"))),
    "a secret in the body": told(body=b'{"key": "{env:MY_KEY}", "q": "{env:Q}"}', secrets=("MY_KEY", "Q")),
    "a secret among bytes": told(body=b"\xff\x00{env:MY_KEY}%\\\xfe"),
    "a secret among what no person sees": told(headers=(("X-A", "a\t{env:MY_KEY}\u202e"),)),
    "a secret in the URL": told(url="http://host/v1/{env:MY_KEY}/x?key={env:MY_KEY}"),
    "a variable that is not its own": told(headers=(("X-A", "{env:HOME}"),), body=b"{env:HOME}"),
    "a name that is no variable's": told(body=b"{env:$(id)}", secrets=("$(id)", "MY_KEY")),
    "a path that libraries tidy": told(url="http://host/v1/../a/./b//c%2f?q=[1]{2}&r='x'&s=%41"),
    "a query alone": told(url="http://host?a=1"),
    "100 kB": told(body=b"x" * 100_001),
    "a MiB and more": told(body=b"y" * 1_100_000),
}  # fmt: skip


def run(command, cwd):
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | VARIABLES
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def by_bash(one, cwd, **given):
    (cwd / "run.sh").write_text(as_curl(one, **given))
    return run(["bash", "run.sh"], cwd)


def by_sh(one, cwd, **given):
    (cwd / "run.sh").write_text(as_curl(one, **given))
    return run(["sh", "run.sh"], cwd)


def by_python(one, cwd, **given):
    (cwd / "run.py").write_text(as_python(one, **given))
    return run([sys.executable, "run.py"], cwd)


def by_node(one, cwd, **given):
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    (cwd / "run.cjs").write_text(as_node(one, **given))
    return run(["node", "run.cjs"], cwd)


WAYS = {"bash": by_bash, "sh": by_sh, "python": by_python, "node": by_node}


def filled(text):
    for name, value in VARIABLES.items():
        text = text.replace(f"{{env:{name}}}", value)
    return text


def expected(one):
    """(request line, headers, body) as they must arrive; `Host` where it is not the URL's."""
    path = "/" + one.url.partition("://")[2].partition("/")[2] if "/" in one.url[8:] else "/?a=1"
    lines = [
        (name.encode(), filled(value).strip(" \t").encode())
        for name, value in one.headers
        if all(mark not in name for mark in "@:\r")
    ]
    body = one.body
    for name in one.secrets:
        body = body.replace(f"{{env:{name}}}".encode(), VARIABLES.get(name, f"{{env:{name}}}").encode())
    return f"{one.method} {filled(path)} HTTP/1.1".encode(), lines, body


def received(raw, port):
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *rest = head.split(b"\r\n")
    pairs = [tuple(line.split(b": ", 1)) if b": " in line else (line.rstrip(b":"), b"") for line in rest]
    framing = (b"content-length",)
    own = f"127.0.0.1:{port}".encode()
    kept = [
        (name, value.strip(b" \t"))
        for name, value in pairs
        if name.lower() not in framing and (name.lower(), value) != (b"host", own)
    ]
    return first, kept, body


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("one", TOLD.values(), ids=TOLD)
def test_the_very_request_is_sent(one, way, tmp_path):
    """Request line, names, case, order and values of the headers, and the body, to the byte; nothing is added."""
    with serving() as server:
        shown = replace(one, url=one.url.replace("http://host", f"http://127.0.0.1:{server.port}"))
        out = way(shown, tmp_path)
        [raw] = server.requests
    assert received(raw, server.port) == expected(one)
    assert "200" in out.splitlines()[0]
    assert "hello" in out


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_body_may_lie_in_a_file(way, tmp_path):
    """Beside the code; one that holds a secret is written out, so that the file need not hold it."""
    (tmp_path / "body.bin").write_bytes(b"from the file")
    for body, arrives in ((b"any", b"from the file"), (b"{env:MY_KEY}", b"sk-not-a-real-key")):
        with serving() as server:
            way(told(url=f"http://127.0.0.1:{server.port}/", body=body), tmp_path, body_file="body.bin")
            assert server.requests[0].partition(b"\r\n\r\n")[2] == arrives


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_it_goes_where_it_is_told_to_connect(way, tmp_path):
    """With the name of the URL in `Host`, and no name resolved."""
    with serving() as server:
        way(
            told(url="http://api.invalid/v1/x?y=1", connect_to=f"127.0.0.1:{server.port}", family=4), tmp_path
        )
        assert server.requests[0].lower().count(b"host: api.invalid\r\n") == 1
        assert server.requests[0].startswith(b"POST /v1/x?y=1 HTTP/1.1\r\n")


def test_a_curl_line_keeps_what_curl_adds(tmp_path):
    """Its own user agent, Accept and the type of a form; in Python and Node they are spelt out."""
    one = told(form="curl", version="8.1", headers=(("X-A", "1"),), body=b"a=1")
    for way in WAYS.values():
        with serving() as server:
            way(replace(one, url=f"http://127.0.0.1:{server.port}/"), tmp_path)
        sent = server.requests[0].lower()
        assert b"\r\nuser-agent: curl/" in sent
        assert b"\r\naccept: */*\r\n" in sent
        assert b"\r\ncontent-type: application/x-www-form-urlencoded\r\n" in sent
