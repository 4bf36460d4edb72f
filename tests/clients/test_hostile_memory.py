"""Does a run against a hostile server end in time, within memory, with a finding, and as harmless text?

Each run is one of every genuine client of an API, in a process of its own; the servers stand in this one.
"""

import json
import re
import subprocess
import sys
import zlib
from contextlib import ExitStack
from pathlib import Path

import pytest
from wire_server import CLIENTS, DECLARED, STREAM_HEAD, answer, chunk, delta, good, serving

pytestmark = pytest.mark.timeout(300)  # the first test of an API makes all its runs
HERE = Path(__file__).parent
DEADLINE, UNTIL_THE_END = 1.5, 0.4  # of what runs into the limit, and of what would go on for ever
ABOVE_IDLE = 200  # MiB
GIB = 1 << 30
JSON_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
EVIL = "<script>alert(1)</script> [red]x[/red] ::error::forged \x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp"


def gzipped(mib=512):
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(mib)) + packer.flush()


def bomb(coding, packed):
    headers = [("content-type", "application/json"), ("content-encoding", coding)]
    return lambda peer, _: peer.send(answer(packed, headers=headers))


def zstd_bomb():
    """1 GiB in 32 KiB: a frame (RFC 8878) of blocks that each repeat one byte 128 KiB long."""
    block = (131_072 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd" + b"\x00\x58" + block * 8191 + (1 << 1 | 1).to_bytes(3, "little") + b"\0"


def many_headers(peer, _):
    peer.send(
        answer(headers=[("content-type", "application/json"), *((f"x-{n}", "y") for n in range(10_000))])
    )


def short_headers(peer, _):
    peer.send(answer(headers=[("content-type", "application/json"), *[("a", "b")] * 10_000]))


def forever(piece, head=STREAM_HEAD):
    def script(peer, _):
        peer.send(head)
        while not peer.server.over.is_set():
            peer.send(piece)

    return script


def drip(peer, _):
    """A byte a second, as the deadline sees it."""
    peer.send(JSON_HEAD + b"content-length: 1000\r\n\r\n{")
    while not peer.server.over.is_set():
        peer.pause(UNTIL_THE_END / 10)
        peer.send(b" ")


def evil_body(where):
    fields = {"message": EVIL, "type": EVIL, "code": EVIL, "param": EVIL}
    body = {"error": fields, "id": EVIL, "model": EVIL, "detail": EVIL, "choices": EVIL, "usage": EVIL}
    plain = re.sub(r"[^ -~]", "", EVIL)  # of a header
    headers = [
        ("content-type", f"application/json; {plain}"),
        ("server", plain),
        ("cf-ray", plain),
        ("via", plain),
    ]
    status = {"error": f"403 {plain}", "answer": "200 OK"}[where]
    return lambda peer, _: peer.send(answer(json.dumps(body).encode(), status, headers))


BAD_UTF8 = b'{"error": {"message": "\xff\xfe\xc0\x80\xed\xa0\x80\xf5"}, "\xf0\x9f": "\xe2\x82"}'
# name → (what the server does, the question in which it shows, the deadline where it is another)
ANSWERS = {
    "gzip bomb": (bomb("gzip", gzipped()), "completion"),
    "zstd bomb": (bomb("zstd", zstd_bomb()), "completion"),
    "10,000 headers": (many_headers, "completion"),
    "10,000 headers of one letter": (short_headers, "streaming"),
    "endless stream": (forever(chunk(delta("word ") * 400)), "streaming", UNTIL_THE_END),
    "endless event": (forever(chunk(b"x" * 65_536), STREAM_HEAD + chunk(b"data: ")), "streaming"),
    "a byte a second": (drip, "completion", UNTIL_THE_END),
    "evil error": (evil_body("error"), "completion"),
    "evil answer": (evil_body("answer"), "streaming"),
    "invalid UTF-8": (lambda peer, _: peer.send(answer(BAD_UTF8, "500 Oops")), "completion"),
    "invalid UTF-8 in a stream": (
        lambda peer, _: peer.send(STREAM_HEAD + chunk(b"data: " + BAD_UTF8 + b"\n\n") + b"0\r\n\r\n"),
        "streaming",
    ),
    "2 GiB": (forever(b"x" * (1 << 20), JSON_HEAD + b"content-length: %d\r\n\r\n" % (2 * GIB)), "completion"),
    "2 GiB for a stream": (
        forever(b"x" * (1 << 20), JSON_HEAD + b"content-length: %d\r\n\r\n" % (2 * GIB)),
        "streaming",
    ),
}
HEAVY = ("gzip bomb", "endless event", "2 GiB")
CASES = [("openai", name) for name in ANSWERS] + [("anthropic", name) for name in HEAVY]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What `hostile_run.py` says of each case, made when the first is asked for."""
    folder = tmp_path_factory.mktemp("suites")
    for kind in ("completion", "streaming"):
        case = f"{{kind: {kind}, clients: genuine}}"
        (folder / f"{kind}.yaml").write_text(f"version: 1\nname: hostile\ncases:\n  - {case}\n")
    done = {}

    def of(api):
        if api not in done:
            done[api] = all_of(api, folder)
        return done[api]

    return of


def all_of(api, folder):
    names = [name for case_api, name in CASES if case_api == api]
    with ExitStack() as servers:
        job = {"api": api}
        friendly = next(name for name in CLIENTS if DECLARED[name].api == api)
        job["warm"] = servers.enter_context(serving(lambda peer, _: peer.send(good(friendly)))).url
        job["suites"] = {
            name: [
                str(folder / f"{kind}.yaml"),
                servers.enter_context(serving(script)).url,
                *(given or [DEADLINE]),
            ]
            for name, (script, kind, *given) in ANSWERS.items()
            if name in names
        }
        command = [sys.executable, str(HERE / "hostile_run.py")]
        ran = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stderr == ""
    first, *rest = [json.loads(line) for line in ran.stdout.splitlines()]
    return {run["name"]: {**first, **run} for run in rest}


@pytest.mark.parametrize(("api", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_a_hostile_answer_ends_as_a_finding_within_memory(runs, api, name):
    """Of every client at once, four at a time; the peak is counted from the process that has called each once."""
    run = runs(api)[name]
    assert run["findings"]
    assert not [found for found in run["findings"] if found[0].startswith("probe.") or found[1] == "error"]
    assert run["peak"] - run["idle"] < ABOVE_IDLE
    spoke = {client for client in CLIENTS if DECLARED[client].api in {None, api}}
    assert len(run["clients"]) >= min(4, len(spoke))


@pytest.mark.parametrize(("api", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_a_hostile_answer_is_shown_as_harmless_text(runs, api, name):
    """No control character, no markup and no command of a stranger's in any format."""
    shown = runs(api)[name]["shown"]
    for said in shown.values():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", said)
    assert "<script>alert" not in shown["html"]
    assert "<script>alert" not in shown["junit"]
    assert not re.search(r"(?m)^::error::forged", shown["annotations"])
