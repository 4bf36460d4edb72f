"""The next test as a command: the command line takes every one of them, and it tests what the words say."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from canned import case
from labruns import FAST
from next_test_sentences import sentences

from probes import lab, options, ordered
from probes.classify import classify, to_document
from probes.clock import Clock
from probes.kinds import KINDS
from probes.kinds.reproduction.family import with_families
from probes.model import Acceptance, Route, Target
from probes.next_tests import SUITES, TESTS, NextTest, of_answer, of_finding
from probes.suite import load_suite
from probes.target_flags import as_flags

FLAGS = "--base-url https://a.example/v1 --api openai --model m"
EVERY_FLAG = (
    f"{FLAGS} --key-env MY_KEY --endpoint chat --endpoint responses --route blue=https://b.example/v1 "
    "--connect-to 192.0.2.1:443 --proxy http://p.example:3128 --header X-A=HUSH --vantage here --no-env-proxy --owned"
)
TARGETS = {
    "flags": FLAGS,
    "keyless": "--base-url http://127.0.0.1:9 --api anthropic --model 'my model' --no-key",
    "every flag": EVERY_FLAG,
    "a route origin by URL": f"{FLAGS} --route origin=https://o.example/v1",
}
FILE = """\
version: 1
name: prod
api: openai
model: m
accepted: [{code: blocked.client, client: curl, reason: known}]
routes:
  edge: {base_url: https://a.example/v1}
"""
ORIGIN_TOO = '  origin: {base_url: https://a.example/v1, connect_to: "192.0.2.1:443"}\n'


def tried(shown: str) -> list[str]:
    """The words of the command that a page gives for the next test, as a shell takes it."""
    found = re.search(r"^  try +(edgeprobe run (?:.+\\\n)*.+)$", shown, re.MULTILINE)
    assert found is not None, shown
    return shlex.split(found[1].replace("\\\n", ""))


def target_of(words: str) -> Target:
    return ordered.target(options.parser().parse_args(["run", "smoke", *shlex.split(words)]))


def at(target: Target, kind: str = "completion", route: str = "edge"):
    return replace(case(kind), target=target, route=route)


FROM_FILE = Target(
    "prod", "openai", "m", {"edge": Route("edge", "https://a.example/v1")}, key_env="OPENAI_API_KEY",
    accepted=(Acceptance("blocked.client", "known"),),
)  # fmt: skip
WITH_ORIGIN = Target(
    "prod", "openai", "m",
    {"edge": Route("edge", "https://a.example/v1"), "origin": Route("origin", "https://a.example/v1", "192.0.2.1:443", family=4)},
)  # fmt: skip


# --- every sentence that there is ------------------------------------------------------------------------


SENTENCES = sentences()


def emitted() -> list[str]:
    """Every different command for whatever target, kind and sentence."""
    targets = [target_of(words) for words in TARGETS.values()] + [FROM_FILE, WITH_ORIGIN]
    asked = [at(target, kind) for target in targets for kind in KINDS]
    found = {of_finding(text, one).command for text in SENTENCES for one in asked}
    urls = ("https://a.example/v1/chat/completions", "http://a.example/v1/messages", "")
    found |= {of_answer(text, url).command for text in SENTENCES for url in urls}
    return sorted(command for command in found if command)


COMMANDS = emitted()
FILLED = {"HOST:PORT": "192.0.2.1:443", "YOUR-TARGET": "prod", "YOUR-MODEL": "m"}
URL = "https://api.example.com/v1/chat/completions"
TABLE = Path(__file__).parent.parent / "reports" / "samples" / "next-tests.txt"


def table() -> str:
    """Each sentence, and below it the command, for an answer to a completion."""
    found = {text: of_answer(text, URL) for text in SENTENCES}
    rows = [f"{text}\n    {told.command or 'words only'}\n" for text, told in found.items()]
    return "".join(rows)


def test_every_sentence_has_the_command_that_it_had():
    """What may be told as a next test, with the command that makes it, is as committed: a reworded sentence shows there."""
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES") == "1":
        TABLE.write_text(table(), "utf-8")
    assert table() == TABLE.read_text("utf-8"), (
        f"if this is meant: EDGEPROBE_UPDATE_SAMPLES=1 pytest {Path(__file__).name}"
    )


@pytest.mark.parametrize("word", FILLED)
def test_a_command_that_was_not_filled_in_is_not_sent(word, place, edgeprobe, monkeypatch):
    """What stands in capitals is refused as what it is."""
    monkeypatch.chdir(place)
    commands_with = [command for command in COMMANDS if word in shlex.split(command)]
    assert commands_with
    filled = {**FILLED, word: word}
    _, _, *words = shlex.split(commands_with[0])
    said = edgeprobe("plan", *(filled.get(one, one) for one in words))
    assert said.code == 2
    assert word in said.err


def test_a_target_that_was_never_made_is_told_how_to_make(edgeprobe, tmp_path, monkeypatch):
    """Where there is none the bundled example is no valid name; where there are some, they are."""
    monkeypatch.chdir(tmp_path)
    said = edgeprobe("run", "smoke", "--target", "YOUR-TARGET")
    assert (said.code, said.out) == (2, "")
    assert (
        "target 'YOUR-TARGET' is not known; ./configs/targets holds none; make one with `edgeprobe init`"
        in said.err
    )
    assert "example" not in said.err
    assert edgeprobe("init").code == 0
    said = edgeprobe("validate", "--target", "YOUR-TARGET")
    assert "target 'YOUR-TARGET' is not known; valid: prod\n" in said.err


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where the targets of the commands have their files."""
    folder = tmp_path_factory.mktemp("place")
    targets = folder / "configs" / "targets"
    targets.mkdir(parents=True)
    (targets / "prod.yaml").write_text(FILE + ORIGIN_TOO)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_takes_it(command, place, edgeprobe, monkeypatch):
    """Parsed as it stands; planned against the target it names, so that suite, parameter, route and flags are there."""
    name, *words = shlex.split(command)
    parsed = options.parser().parse_args(words)
    assert (name, parsed.command) == ("edgeprobe", "run")
    monkeypatch.chdir(place)
    filled = [FILLED.get(word, word) for word in words[1:]]
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_KEY", "HUSH"):
        monkeypatch.setenv(variable, "made-up")
    said = edgeprobe("plan", *filled)
    assert said.code == 0, said.err
    assert " 0 requests" not in said.out


def test_every_kind_has_the_suite_that_asks_it():
    """So that its own question can be asked again; a request that somebody told has a command of its own."""
    assert set(SUITES) == set(KINDS) - {"reproduction"}
    for kind, suite in SUITES.items():
        assert kind in {row.kind for row in load_suite(suite).rows}, kind


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.words[:30])
def test_no_row_of_the_table_is_idle(test):
    """Each stands in a sentence that somebody may be told, which then has a command."""
    mine = [text for text in SENTENCES if re.search(test.words, text)]
    assert any(of_answer(text, "http://a.example/v1/chat/completions").command for text in mine)


# --- what it is ------------------------------------------------------------------------------------------

DIRECT = "the same request straight to the origin"
STREAM = "the same prompt and length with stream on, in the same minute"
VARY = "vary client, body and source one at a time; the page does not say which rule refused"
SAME_STREAM = "the same stream straight to the origin: does it flow there?"
BY_PLAIN = "the same stream by plain httpx or curl, which read whatever comes"
CHOSEN = {
    "by flags, the address is to be filled in": (DIRECT, target_of(FLAGS), "completion", f"edgeprobe run smoke {FLAGS} --connect-to HOST:PORT --set route=origin"),
    "by flags that name it": (DIRECT, target_of(TARGETS["a route origin by URL"]), "models", f"edgeprobe run edge {FLAGS} --route origin=https://o.example/v1 --set route=origin"),
    "by a file that names it": (DIRECT, WITH_ORIGIN, "keepalive", "edgeprobe run keepalive --target prod --set route=origin"),
    "by a file that does not": (DIRECT, FROM_FILE, "length", "edgeprobe run long --target prod --set route=origin"),
    "the length twin": (STREAM, FROM_FILE, "completion", "edgeprobe run long --target prod"),
    "the length twin itself": (STREAM, FROM_FILE, "length", None),
    "a stream of smoke": (SAME_STREAM, FROM_FILE, "streaming", "edgeprobe run streams --target prod --set route=origin"),
    "a stream that may be held": (SAME_STREAM, WITH_ORIGIN, "buffering", "edgeprobe run streams --target prod --set route=origin"),
    "a stream of long": (SAME_STREAM, FROM_FILE, "length", "edgeprobe run long --target prod --set route=origin"),
    "a request of a stream's case": (DIRECT, WITH_ORIGIN, "streaming", "edgeprobe run smoke --target prod --set route=origin"),
    "a stream by clients that it has just come through": (BY_PLAIN, FROM_FILE, "streaming", None),
    "who is refused": (VARY, FROM_FILE, "streaming", "edgeprobe run identity --target prod"),
    "who is refused, told by itself": (VARY, FROM_FILE, "identity", None),
    "the first that can be made": ("the same request without the proxy, then straight to the origin", FROM_FILE, "completion", "edgeprobe run smoke --target prod --set route=origin"),
    "the first of two": ("bodies of half the size until one passes, then straight to the origin", FROM_FILE, "completion", "edgeprobe run identity --target prod --set sizes=65536,1048576"),
    "https": ("the same base URL with https", target_of("--base-url http://a.example/v1 --api openai --model m"), "completion", f"edgeprobe run smoke {FLAGS}"),
    "https of a file": ("the same base URL with https", FROM_FILE, "completion", None),
    "no proxy": ("the same request without the proxy", target_of(f"{FLAGS} --proxy http://p.example:3128 --owned"), "completion", f"edgeprobe run smoke {FLAGS} --owned --no-env-proxy"),
    "a parameter": ("more pairs (--set pairs=3)", FROM_FILE, "length", "edgeprobe run long --target prod --set pairs=3"),
    "nothing of ours": ("connect to the same address from another network", FROM_FILE, "connection", None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("suite", "command"), [("streams", "streams"), ("smoke", "smoke"), ("edge", "edge"), ("mine", "smoke")]
)
def test_the_suite_is_that_in_which_it_was_found(suite, command):
    """A fault that shows in long streams does not show in smoke's; a suite of one's own has another name everywhere."""
    asked = replace(at(WITH_ORIGIN, "streaming"), suite=suite)
    assert of_finding(DIRECT, asked).command == f"edgeprobe run {command} --target prod --set route=origin"


@pytest.mark.parametrize("name", CHOSEN)
def test_the_command_is_the_test_that_the_words_name(name):
    """Against the very target, with what is not known to be filled in; none where none of ours makes it."""
    words, target, kind, command = CHOSEN[name]
    found = of_finding(words, at(target, kind))
    assert found.command == command
    assert str(found) == (f"{found.words}: `{command}`" if command else words)


def test_what_a_file_lacks_is_said():
    """A target of a file without a route to its origin has to get one first; a parameter is said once."""
    assert of_finding(DIRECT, at(FROM_FILE)).words == f"{DIRECT}, once the target has a route origin"
    assert of_finding(DIRECT, at(WITH_ORIGIN)).words == DIRECT
    asked = of_finding(SAME_STREAM, at(FROM_FILE, "buffering")).words
    assert (
        asked
        == "the same stream straight to the origin, once the target has a route origin: does it flow there?"
    )
    assert of_finding("more pairs (--set pairs=3)", at(FROM_FILE, "length")).words == "more pairs"


def test_the_target_of_a_told_request_is_named_by_its_url():
    """The routes over one family that are asked of it are left out; where no flag says how it is reached, and it has no
    file, no command is shown.
    """
    made = target_of(FLAGS)
    asked = of_finding(VARY, at(with_families(made, "edge"), "reproduction")).command
    assert asked == f"edgeprobe run identity {FLAGS}"
    for way in ({"connect_to": "192.0.2.1:443"}, {"family": 6}):
        elsewhere = replace(made, routes={"edge": replace(made.routes["edge"], **way)})
        assert of_finding(VARY, at(with_families(elsewhere, "edge"), "reproduction")) == NextTest(VARY)


@pytest.mark.parametrize("scale, more", [(1.0, ""), (0.02, " --time-scale 0.02")])
def test_the_lab_is_asked_again_in_its_own_time(scale, more):
    """A scaled run's timers are of no use to a command at the clock's own pace."""
    asked = replace(at(FROM_FILE, "length"), time_scale=scale)
    assert of_finding("more pairs (--set pairs=3)", asked).command == f"edgeprobe run long --target prod --set pairs=3{more}"  # fmt: skip


def test_from_the_origin_nobody_is_sent_to_the_origin():
    """A case by the route `origin` was there already."""
    assert of_finding(DIRECT, at(WITH_ORIGIN, route="origin")).command is None


@pytest.mark.parametrize("name", TARGETS)
def test_flags_make_the_very_target(name):
    """What a command says of a target by flags is that target, with all that was said of it."""
    target = target_of(TARGETS[name])
    words = as_flags(target)
    assert words is not None
    assert target_of(shlex.join(words)) == target


@pytest.mark.parametrize("target", [FROM_FILE, WITH_ORIGIN], ids=["accepted", "family"])
def test_what_no_flag_can_say_is_not_said_by_flags(target):
    """A target that only a file can make is named, rather than asked for with less."""
    assert as_flags(target) is None


# --- pasted answers --------------------------------------------------------------------------------------

URLS = {
    "OpenAI's": ("https://a.example/v1/chat/completions?x=1#y", "--base-url https://a.example/v1 --api openai --model YOUR-MODEL"),
    "Anthropic's": ("https://a.example:8443/v1/messages", "--base-url https://a.example:8443 --api anthropic --model YOUR-MODEL"),
    "with a user": ("https://me:hush@a.example/v1/responses", "--base-url https://a.example/v1 --api openai --model YOUR-MODEL"),
    "not known": ("", "--target YOUR-TARGET"),
    "no API's": ("https://a.example/login", "--target YOUR-TARGET"),
    "another scheme": ("file:///v1/chat/completions", "--target YOUR-TARGET"),
    "a trick": ("https://a.example/$(id)/chat/completions", "--target YOUR-TARGET"),
    "a backtick": ("https://a`id`.example/chat/completions", "--target YOUR-TARGET"),
    "redacted": ("https://a.example/[redacted]/chat/completions", "--target YOUR-TARGET"),
    "no URL": ("https://[/chat/completions", "--target YOUR-TARGET"),
}  # fmt: skip


@pytest.mark.parametrize("name", URLS)
def test_a_pasted_url_names_the_target(name):
    """By what stands before the path of an endpoint, without user and query; else the target is to be filled in."""
    url, words = URLS[name]
    assert of_answer(VARY, url).command == f"edgeprobe run identity {words}"


PASTED = """\
> POST /v1/chat/completions HTTP/1.1
> Host: api.acme.example
>
< HTTP/1.1 403 Forbidden
< server: cloudflare
< cf-ray: 8f3a2b3c4d5e6f70-FRA
< content-type: text/plain
<
error code: 1010
"""


def test_classify_gives_the_command(edgeprobe, tmp_path):
    """To people on lines that can be copied, to scripts at the end of `next_test`."""
    (tmp_path / "paste").write_text(PASTED)
    said = edgeprobe("classify", str(tmp_path / "paste"))
    words = tried(said.out)
    assert words == shlex.split(
        "edgeprobe run identity --base-url https://api.acme.example/v1 --api openai --model YOUR-MODEL"
    )
    [block] = to_document(classify(PASTED.encode()))["blocks"]
    assert block["next_test"].endswith(f": `{shlex.join(words)}`")


def test_classify_names_the_target_that_it_is_told(edgeprobe, place, monkeypatch):
    """One with a file is named rather than the pasted URL; one without can't be."""
    monkeypatch.chdir(place)
    (place / "paste").write_text(PASTED)
    said = edgeprobe("classify", "paste", "--target", "prod")
    assert tried(said.out) == ["edgeprobe", "run", "identity", "--target", "prod"]
    assert of_answer(VARY, "", "gone").command == "edgeprobe run identity --target YOUR-TARGET"


def test_what_it_can_be_looked_up_by_ends_the_advice():
    """A script gets at the ray in the JSON, which has no key for it; where there is none, nothing is added."""
    [block] = to_document(classify(PASTED.encode()))["blocks"]
    assert re.search(r"Look up: ray ([0-9a-f]{16}); colo FRA$", block["advice"])[1] == "8f3a2b3c4d5e6f70"
    [alone] = to_document(classify(b"8f3a2b3c4d5e6f70-FRA"))["blocks"]
    assert alone["advice"].endswith(" Look up: ray 8f3a2b3c4d5e6f70; colo FRA")
    [openai] = to_document(classify(
        b'HTTP/1.1 401 Unauthorized\nx-request-id: req_0123456789abcdef0123456789abcdef\ncontent-type: application/json\n\n'
        b'{"error": {"message": "Incorrect API key provided: sk-x.", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}'
    ))["blocks"]  # fmt: skip
    assert openai["advice"].endswith("Look up: request id req_0123456789abcdef0123456789abcdef")
    [none] = to_document(classify(b"HTTP/1.1 503 Service Unavailable\ncontent-type: text/plain\n\nno"))[
        "blocks"
    ]
    assert "Look up:" not in none["advice"]


# --- that it answers the question ------------------------------------------------------------------------


def test_the_command_of_a_run_tells_whose_fault_it_is(edgeprobe):
    """An edge that answers 502 before a healthy origin: the command that the run gives, sent as it stands, passes."""
    with lab.serve(["page-502"], clock=Clock(0.05), keys=None, **FAST) as served:
        flags = [
            "--base-url",
            served.base_url,
            "--api",
            "openai",
            "--model",
            served.model,
            "--no-key",
            "--no-env-proxy",
        ]
        more = ["--client", "httpx", "--no-store"]
        route = f"origin={served.origin_url}"
        failed = edgeprobe("run", "smoke", *flags, "--route", route, *more, "--time-scale", "0.05")
        assert failed.code in {1, 3}, failed.out
        _, *words = tried(failed.out)
        assert words[-4:] == ["--set", "route=origin", "--time-scale", "0.05"]
        passed = edgeprobe(*words, *more)
        assert passed.code == 0, passed.out
