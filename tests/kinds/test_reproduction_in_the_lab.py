"""From a request that somebody told to the one thing to change, over real sockets."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import log2
from typing import Any

import pytest
import yaml
from canned import as_text
from labruns import CLOCK, FAST, KEY, refused_port, served

from probes import lab
from probes.bundled import bundled
from probes.complaint import Told
from probes.kinds.reproduction.outcome import outcome
from probes.lab import LAB_KEY
from probes.lab.faults import Answer, Do, Fault, named
from probes.lab.when import HeaderTest, When
from probes.model import Factor, Verdict
from probes.repro import asking

PYTHON = "OpenAI/Python 3.57.0"
SDK = (
    ("X-Stainless-Lang", "python"),
    ("X-Stainless-OS", "Linux"),
    ("X-Stainless-Arch", "x64"),
    ("X-Stainless-Runtime", "CPython"),
)
PLAIN = (
    ("X-Request-Source", "batch"),
    ("Accept", "application/json"),
    ("Content-Type", "application/json"),
    ("Authorization", f"Bearer {{env:{KEY}}}"),
)


def body(*texts: str, **more: Any) -> bytes:
    roles = ["user", "assistant"]
    messages = [
        {"role": roles[turn % 2], "content": text} for turn, text in enumerate(texts or ["Hi there."])
    ]
    return json.dumps({"model": "lab-model", "messages": messages, "max_tokens": 16, **more}).encode()


def refusing(*, do: Do | None = None, **when: Any) -> Fault:
    return Fault("planted", "", do or Do(answer=Answer(page="cf-block")), When(**when))


def moved(to: str) -> Fault:
    return refusing(do=Do(answer=Answer(status=301, headers={"location": to})), path=".*/completions")


def page(product: str, name: str) -> Do:
    """An edge that answers as the first sample of one of its signatures."""
    rows = yaml.safe_load(bundled("configs", "signatures", f"{product}.yaml").read_text("utf-8"))[
        "signatures"
    ]
    sample = next(row for row in rows if row["id"] == name)["samples"][0]
    headers = {n: v for n, v in sample["headers"].items() if n not in {"content-length", "connection"}}
    return Do(answer=Answer(status=sample["status"], headers=headers, body=sample.get("body", "<html>")))


def header(name: str, **test: Any) -> HeaderTest:
    return HeaderTest(name, **test)


@dataclass(frozen=True)
class Row:
    """What is planted and told, and what must be said: the word, the code, the factor, and words of the rows by their
    names. `calls`: requests at the most.
    """

    faults: tuple[Any, ...]
    word: str = "REPRODUCED 6 of 6"
    code: str = "blocked.client"
    factor: Factor | None = None
    says: dict[str, str] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = (("User-Agent", PYTHON), *SDK, *PLAIN)
    body: bytes = field(default_factory=body)
    client: str | None = None
    seen: str | None = None
    path: str = "/v1/chat/completions"
    owned: bool = True
    verdict: Verdict = Verdict.FAIL
    confidence: str | None = "high"
    profile: str = "cloudflare"
    listens: bool = True
    calls: int = 60
    params: dict[str, Any] = field(default_factory=dict)


PROMPT = "Please list the files. " * 40
CODE = "Then read ../../etc/hosts and say what stands there. "
TURNS = [f"Turn {turn}: see `code` and `more`, please." for turn in range(9)]
ROWS = {
    "a header": Row(
        (refusing(headers=(header("x-request-source", equals="batch"),)),),
        code="blocked", says={"because": "the header x-request-source: 'batch'"}, calls=30,
    ),
    "a word of the user agent": Row(
        ("ai-crawler-rule",), factor=Factor.USER_AGENT, calls=32,
        says={"because": "the word 'OpenAI' in the user agent", "rule": "Browser Integrity Check", "customer": "the client software it announces"},
    ),
    "headers of the SDK": Row(
        ("sdk-headers-rule",), factor=Factor.SDK_HEADERS, says={"because": "header x-stainless-lang, of the headers x-stainless-*"}, calls=40,
    ),
    "a pair": Row(
        ("ua-and-sdk-headers-rule",), factor=Factor.USER_AGENT, says={"because": "together only"},
    ),
    "either of two": Row(
        (refusing(headers=(header("user-agent", contains="openai"),)),
         replace(refusing(headers=(header("x-request-source"),)), id="second")),
        code="blocked", says={"because": "the header x-request-source"},
    ),
    "a size": Row(
        ("body-limit-100k",), code="size.rejected", factor=Factor.SIZE, body=body("word " * 30_000),
        says={"because": "102,400 bytes pass, 102,401 don't", "rule": "client_max_body_size"},
    ),
    "a size of nobody's own target": Row(
        ("body-rule-100k",), code="blocked.size", factor=Factor.SIZE, body=body("word " * 30_000), owned=False,
        says={"because": "102,400 bytes pass, 102,401 don't"},
    ),
    "a text": Row(
        (refusing(body_contains="../../etc"),), code="blocked.content", factor=Factor.BODY,
        body=body(PROMPT + CODE + PROMPT), says={"because": "'../../etc' suffices", "rule": "Managed rules"},
    ),
    "a text of nobody's own target": Row(
        (refusing(body_contains="../../etc"),), code="blocked.content", factor=Factor.BODY, owned=False,
        body=body(PROMPT + CODE + PROMPT), says={"because": "not marked as owned"},
    ),
    "a stream": Row(
        (refusing(stream=True),), code="blocked", factor=Factor.STREAM, body=body(stream=True), says={"because": "the field stream: true (it passes without it and with false)"},
    ),
    "the order of headers": Row(
        (refusing(headers=(header("content-type", before="authorization"),)),), word="REPRODUCED 7 of 7", code="blocked", calls=36,
        says={"because": "the order of the headers: User-Agent, Accept, Content-Type, Authorization instead of Authorization, Content-Type"},
    ),
    "capitals of header names": Row(
        (refusing(headers=(header("content-type", spelt=True),)),), word="REPRODUCED 7 of 7", code="blocked", calls=36,
        headers=tuple((name.lower(), value) for name, value in (("User-Agent", PYTHON), *SDK, *PLAIN)),
        says={"because": "the capitals of the header names: user-agent, accept, content-type, authorization instead of User-Agent"},
    ),
    "a header, and its place": Row(
        (refusing(headers=(header("x-request-source", before="content-type"),)),), code="blocked", calls=40,
        says={"because": "the header x-request-source: 'batch', and that together with the order of the headers alone"},
    ),
    "a header, and its capitals": Row(
        (refusing(headers=(header("x-REQUEST-source", spelt=True),)),), code="blocked", calls=40,
        headers=(("User-Agent", PYTHON), *SDK, ("x-REQUEST-source", "batch"), *PLAIN[1:]),
        says={"because": "'batch', and that together with the capitals of the header names alone"},
    ),
    "a slash at the end": Row(
        (refusing(path=r".*/"),), code="blocked", path="//v1//chat/completions/", calls=30,
        says={"because": "a slash at the end of the path: '/v1/chat/completions/' instead of '/v1/chat/completions'"},
    ),
    "a doubled slash": Row(
        (refusing(path=r".+//.*"),), code="blocked", path="/v1//Chat/completions/",
        says={"because": "a doubled slash in the path: '/v1//chat/completions'"}, calls=30,
    ),
    "capitals": Row(
        (refusing(path=r".*Chat.*"),), code="blocked", path="/v1//Chat/completions/",
        says={"because": "capitals in the path: '/v1/Chat/completions'"}, calls=30,
    ),
    "percent-encoding": Row(
        (refusing(path=r".*%.*"),), code="blocked", path="/v1/%63hat/completions/",
        says={"because": "percent-encoding in the path: '/v1/%63hat/completions'"}, calls=30,
    ),
    "an encoded slash": Row(
        (refusing(path=r".*%.*"),), code="blocked", path="/v1%2Fchat/completions",
        says={"because": "the path '/v1%2Fchat/completions' instead of '/v1/chat/completions'"}, calls=30,
    ),
    "a doubled version": Row(
        (refusing(path=r"/v1/v1/.*"),), code="blocked", path="/v1/v1/chat/completions/",
        says={"because": "a doubled /v1 in the path: '/v1/v1/chat/completions'"}, calls=30,
    ),
    "without a version": Row(
        (refusing(path=r"/chat/.*"),), code="blocked", path="/chat/completions/",
        says={"because": "the path without /v1: '/chat/completions' instead of '/v1/chat/completions'"}, calls=35,
    ),
    "stream: false": Row(
        (refusing(body_contains='"stream": false'),), code="blocked", factor=Factor.STREAM, body=body(stream=False),
        says={"because": "the field stream: false (it passes without it and with true)"}, calls=32,
    ),
    "stream: false, and without": Row(
        (refusing(stream=False),), code="blocked", factor=Factor.STREAM, body=body(stream=False),
        says={"because": "the field stream: false (it passes with true; it fails without it, too)"}, calls=32,
    ),
    "no stream": Row(
        (refusing(stream=False),), code="blocked", factor=Factor.STREAM, says={"because": "no field stream (it passes with true; it fails with false, too)"},
        calls=32,
    ),
    "a query": Row(
        (refusing(path=r".*debug=1.*"),), code="blocked", path="/v1/chat/completions?debug=1", says={"because": "the query 'debug=1'"},
    ),
    "let through now and then": Row(
        (refusing(headers=(header("user-agent", contains="openai"),), passes=0.3),), word="REPRODUCED", factor=Factor.USER_AGENT,
        confidence="medium", calls=150,
        says={"because": "the word 'OpenAI'", "rate": "with 95 % confidence", "customer": "it can well succeed", "seen": "let pass"},
    ),
    "everybody, now and then": Row(
        (refusing(passes=0.5),), word="CANNOT: intermittent, whoever asks", code="blocked", verdict=Verdict.INCONCLUSIVE, confidence="low",
        says={"rate": "with 95 % confidence", "customer": "it can well succeed"}, calls=150,
    ),
    "everybody, seldom": Row(
        (refusing(passes=0.8),), word="CANNOT: intermittent, whoever asks", code="blocked", verdict=Verdict.INCONCLUSIVE, confidence="low",
        says={"because": "no part of the request is blamed"}, calls=150, params={"repeats": 20},
    ),
    "everybody": Row(
        ("block-all",), word="CANNOT", code="blocked", verdict=Verdict.INCONCLUSIVE, confidence="low", says={"because": "not the request: with a made-up key it is refused alike", "customer": "we cannot tell for certain"},
        calls=12,
    ),
    "the key, in front of the API": Row(
        (refusing(headers=(header("authorization", contains=LAB_KEY),)),), code="auth.rejected", word="REPRODUCED 10 of 10",
        factor=Factor.KEY, confidence="medium", calls=12,
        says={"because": "a made-up one gets to the API", "customer": "did not accept the key that came with your request"},
    ),
    "the key, through the SDK": Row(
        (refusing(headers=(header("authorization", contains=LAB_KEY),)),), code="auth.rejected", word="REPRODUCED", client="openai-py",
        factor=Factor.KEY, confidence="medium", calls=14, headers=(), says={"because": "a made-up one gets to the API"},
    ),
    "the key": Row(
        (), word="REPRODUCED", code="auth.rejected", confidence=None, headers=(("User-Agent", PYTHON), *PLAIN[:-1], ("Authorization", "Bearer sk-none")),
        says={"because": "to the plain request as well"}, calls=12,
    ),
    "nothing": Row((), word="NOT REPRODUCED in ", code="ok", verdict=Verdict.PASS, confidence=None, says={"may differ": "the time"}, calls=10),
    "through the SDK": Row(
        ("ai-crawler-rule",), factor=Factor.USER_AGENT, client="openai-py", headers=(), says={"because": "the word 'OpenAI'"}, calls=40,
    ),
    "accept-encoding": Row(
        (refusing(headers=(header("accept-encoding", contains="zstd"),)),), factor=Factor.ACCEPT_ENCODING,
        headers=(("User-Agent", PYTHON), ("Accept-Encoding", "gzip, zstd"), *PLAIN),
        says={"customer": "the protection in front of it refused it. That says nothing"}, calls=32,
    ),
    "a stream that is cut": Row(
        ("cut-clean",), code="stream.truncated", factor=Factor.STREAM, body=body(stream=True), verdict=Verdict.FAIL, confidence=None,
        says={"seen": "(stream.truncated)", "customer": "its answer began, and then it broke off", "rule": "compare its age and its last silence"},
    ),
    "a text that hangs": Row(
        (refusing(body_contains="Hi there", do=Do(end="hang")),), word="REPRODUCED 3 of 3", code="timeout.first_byte",
        confidence="medium",
        says={"because": "not narrowed further: waiting for answers that don't come", "seen": "let pass", "customer": "time limit"},
    ),
    "a header that hangs": Row(
        (refusing(headers=(header("x-request-source"),), do=Do(end="hang")),), word="REPRODUCED 3 of 3", code="timeout.first_byte",
        confidence="medium", says={"because": "the header x-request-source: 'batch'", "rule": "the first that waited"}, calls=50,
    ),
    "everything hangs": Row(
        (refusing(do=Do(end="hang")),), word="CANNOT: it fails here, too", code="timeout.first_byte", verdict=Verdict.INCONCLUSIVE,
        confidence="low", says={"because": "two requests in a row got no first byte"}, calls=2,
    ),
    "nothing listens": Row(
        (), word="CANNOT: it fails here, too", code="unreachable.connect", verdict=Verdict.INCONCLUSIVE, confidence="low", calls=2,
        says={"outcome": "refused", "because": "no first byte", "customer": "No connection came about"}, listens=False,
    ),
    "too many requests": Row(
        ("rate-limit-for-days",), word="CANNOT: it fails here, too (1 of 1: 429", code="ratelimited", verdict=Verdict.INCONCLUSIVE,
        confidence="low", calls=2, says={"because": "asks for a pause", "customer": "more requests came"},
    ),
    "a size, and too few requests to prove it": Row(
        ("body-rule-100k",), word="REPRODUCED", code="blocked.size", confidence="medium", factor=Factor.SIZE, body=body("word " * 30_000), params={"budget": 34},
        says={"because": "its limit lies between"},
    ),
    "C02": Row(
        ("urllib-1010-plain",), factor=Factor.USER_AGENT, headers=(("User-Agent", "Python-urllib/3.11"), *PLAIN),
        says={"because": "'Python-urllib'", "rule": "HTTP DDoS ruleset"}, calls=32,
    ),
    "C04": Row(
        (refusing(body_contains="`"),), code="blocked.content", factor=Factor.BODY, body=body(PROMPT + "Run `curl` now. " + PROMPT),
        says={"because": "'`' suffices", "rule": "skips this rule alone"},
    ),
    "C06": Row(
        ("ua-rule-large-bodies",), code="blocked.size", factor=Factor.SIZE, body=body("word " * 30_000),
        headers=(("User-Agent", "python-requests/2.31.0"), *PLAIN), says={"because": "65,535 bytes pass, 65,536 don't"},
    ),
    "C08": Row(
        (refusing(body_contains="../../", do=page("aws-alb", "alb.403")),), code="blocked.content", factor=Factor.BODY,
        body=body(PROMPT + CODE + PROMPT * 4), says={"because": "'../../' suffices", "rule": "GenericLFI_BODY"}, profile="nginx",
    ),
    "C09": Row(
        (refusing(body_score={"`": 1}, score_min=18, do=page("azure-application-gateway", "appgateway.403")),), code="blocked.content",
        factor=Factor.BODY, body=body(*TURNS), says={"because": "from turn 5 on", "rule": "anomaly score adds up"}, profile="nginx",
    ),
    "C53": Row(
        ("redirect-301",), word="REPRODUCED 3 of 3", code="redirected", calls=8, confidence="high",
        says={"so": "repeat the POST as GET", "directly": "3 of 3 pass", "rule": "with 308", "customer": "Please compare the base URL"},
    ),
    "C53, kept": Row(
        ("redirect-307",), word="REPRODUCED 3 of 3", code="redirected", calls=8, confidence="high",
        says={"so": "repeat it as it is", "directly": "3 of 3 pass", "rule": "without a redirect.", "customer": "Please compare the base URL"},
    ),
    "C53, to where no API answers": Row(
        (moved("/moved"),), word="REPRODUCED 3 of 3", code="redirected", calls=8, confidence="medium",
        says={"directly": "0 of 3 pass; nothing is known to pass", "customer": "This is ours to change"},
    ),
    "C54": Row(
        ("redirect-to-https",), word="REPRODUCED 3 of 3", code="redirected", calls=8, confidence="medium",
        says={"key": "over plain http", "directly": "was not asked", "rule": "without a redirect.", "customer": "This is ours to change"},
    ),
    "C54, another host": Row(
        ("redirect-other-host",), word="REPRODUCED 3 of 3", code="redirected", calls=8, confidence="medium",
        says={"key": "leave the key behind", "directly": "was not asked"},
    ),
    "C54, nobody there": Row(
        ("redirect-elsewhere",), word="REPRODUCED 3 of 3", code="redirected", calls=8, confidence="medium",
        says={"directly": "was not asked", "customer": "This is ours to change"},
    ),
    "C70": Row(
        ("idle-reset",), word="REPRODUCED", code="connection.stale", factor=Factor.CONNECTION, seen="socket hang up (ECONNRESET)",
        says={"because": "the connection alone", "so": "no outage"}, params={"idle": [5.0, 30.0]}, calls=40,
    ),
    "C88": Row(
        ("security-policy-node",), factor=Factor.USER_AGENT, headers=(("User-Agent", "node"), *PLAIN), says={"because": "the user agent 'node'"},
        calls=30,
    ),
    "C88, everybody": Row(
        ("security-policy",), word="CANNOT", code="blocked", verdict=Verdict.INCONCLUSIVE, confidence="low", says={"because": "not the request: with a made-up key it is refused alike", "customer": "we cannot tell for certain"},
        calls=12,
    ),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """The run of one row."""

    def call(row: Row):
        made = asking._case
        monkeypatch.setattr(asking, "_case", lambda *given: _with(made(*given), row.params))
        with (
            served(*row.faults, clock=CLOCK, profile=row.profile) as (lab, target, secrets),
            refused_port() as port,
        ):
            base_url = lab.base_url
            if not row.listens:
                base_url = f"http://127.0.0.1:{port}/v1"
            told = Told(
                "POST", base_url.removesuffix("/v1") + row.path, row.headers, row.body, "sdk" if row.client else "http",
                client=row.client, secrets=(KEY,), seen=row.seen,
            )  # fmt: skip
            routes = {name: replace(route, base_url=base_url) for name, route in target.routes.items()}
            owned = replace(target, owned=row.owned, routes=routes)
            return asking.ask(told, owned, next(iter(target.routes)), secrets, clock=CLOCK, seed=1)

    return call


def _with(made, params):
    case, skipped = made
    return replace(case, params={**case.params, **params}), skipped


def of_kind(run):
    """The finding of the reproduction, and its rows by their words."""
    [found] = [finding for finding in run.findings if any(word == "outcome" for word, _ in finding.detail)]
    rows: dict[str, str] = {}
    for word, text in found.detail:
        rows[word] = f"{rows.get(word, '')} {text}"
    return found, rows


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_one_thing_is_named(asked, row):
    """What is planted is found within its budget, with the rule to change; what is not there is not claimed."""
    run = asked(row)
    found, rows = of_kind(run)
    said = as_text(run.findings)
    assert outcome(run.findings).startswith(row.word), said
    assert (found.code, found.verdict, found.factor) == (row.code, row.verdict, row.factor), said
    assert row.confidence is None or found.confidence == row.confidence, said
    for word, text in row.says.items():
        assert text in rows.get(word, ""), said
    assert sum(call.not_sent is None for call in run.calls) <= row.calls


@pytest.mark.parametrize("culprit", [0, 11, 23])
def test_one_header_of_many_costs_few_requests(asked, culprit):
    """From the first request to the finding no more than 2 log2 n + 6 different ones."""
    extra = tuple((f"X-Extra-{number}", "1") for number in range(24))
    row = Row((refusing(headers=(header(f"x-extra-{culprit}"),)),), headers=(*extra, *PLAIN[1:]))
    run = asked(row)
    _, rows = of_kind(run)
    assert f"the header x-extra-{culprit}: '1'" in rows["because"]
    assert len({call.trial.label for call in run.calls}) <= 2 * log2(len(row.headers)) + 6


LENIENT = (
    "a header",
    "a word of the user agent",
    "headers of the SDK",
    "a pair",
    "a size",
    "a text",
    "C09",
    "C70",
    "everybody",
)


@pytest.mark.parametrize("name", LENIENT)
def test_the_one_thing_is_named_though_some_are_let_through(asked, name):
    """Of a rule that lets 30 % through the same is said, less surely; of one that is for everybody, that no part is blamed."""
    strict = ROWS[name]
    row = replace(strict, faults=tuple(lenient(fault) for fault in strict.faults))
    run = asked(row)
    found, rows = of_kind(run)
    said = as_text(run.findings)
    assert (found.code, found.verdict, found.factor) == (row.code, row.verdict, row.factor), said
    assert found.confidence in {"medium", row.confidence}, said
    assert row.says["because"] in rows["because"] or "no part of the request is blamed" in rows["because"], (
        said
    )
    assert sum(call.not_sent is None for call in run.calls) <= 150


def lenient(fault):
    [known] = named([fault])
    return replace(known, when=replace(known.when, passes=0.3))


@pytest.mark.parametrize("name", ["a word of the user agent", "a pair", "a text", "C06"])
def test_both_sides_were_sent_as_they_are_shown(asked, name):
    """The smallest request that fails and the largest that passes stand there as commands, with what each got."""
    run = asked(ROWS[name])
    _, rows = of_kind(run)
    assert ("characters)" if name == "C06" else "curl -sS -i") in rows["fails"]  # a body of 150 kB is no line
    assert "ran: 403" in rows["fails"]
    assert "ran: 200" in rows["passes"] or "ran: 401" in rows["passes"]
    assert "EDGEPROBE_LAB_KEY" in rows["passes"] or "MadeUpKey" in rows["passes"]


def test_a_small_budget_ends_with_the_suspects(asked):
    """Nothing is claimed; what is left to suspect is said, and the command for more."""
    run = asked(replace(ROWS["a pair"], params={"budget": 16}))
    found, rows = of_kind(run)
    assert (found.verdict, found.factor, found.reason) == (Verdict.INCONCLUSIVE, None, "budget")
    assert "suspects left" in rows["because"]
    assert "--max-requests 120" in found.next_test
    assert sum(call.not_sent is None for call in run.calls) <= 16


def test_a_pause_ends_it(asked):
    """A server that asks for a longer pause than a run waits is left alone."""
    run = asked(replace(ROWS["a header"], faults=("rate-limit-for-days",)))
    found, _ = of_kind(run)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert outcome(run.findings).startswith("CANNOT")
    assert sum(call.not_sent is None for call in run.calls) <= 2


def test_a_rule_that_is_lifted_meanwhile_went_away(asked):
    """What fails at first and passes at the end is drift, and no part is blamed."""
    gone = Fault(
        "gone",
        "",
        Do(answer=Answer(page="cf-block")),
        When(headers=(header("user-agent", contains="openai"),)),
    )
    found = None
    with served(gone, clock=CLOCK) as (lab, target, secrets):
        told = Told(
            "POST",
            lab.base_url + "/chat/completions",
            ROWS["a header"].headers,
            body(),
            "http",
            secrets=(KEY,),
        )
        count = 0

        def lifted(event):
            nonlocal count
            count += type(event).__name__ == "Called"
            if count == 14:
                lab.arm([])

        run = asking.ask(
            told,
            replace(target, owned=True),
            next(iter(target.routes)),
            secrets,
            clock=CLOCK,
            seed=1,
            sinks=[lifted],
        )
        found, _ = of_kind(run)
    assert (found.verdict, found.factor, found.reason) == (Verdict.INCONCLUSIVE, None, "drift")


BLOCKED = refusing()


@pytest.mark.parametrize(
    ("first", "second", "word", "says"),
    [
        pytest.param((BLOCKED,), (), "REPRODUCED", {"because": "it fails over IPv4, and passes over IPv6", "fails": " -4 --data-raw", "passes": " -6 --data-raw"}, id="the one it takes"),
        pytest.param((), (BLOCKED,), "REPRODUCED", {"because": "it fails over IPv6, and passes over IPv4", "seen": "the same over IPv4 beside it"}, id="the other"),
        pytest.param((BLOCKED,), None, "CANNOT: not the request", {"family": "so nothing is known of it"}, id="the one that is there"),
        pytest.param((), None, "NOT REPRODUCED in 5", {"family": "over IPv6 no connection came about"}, id="the other is not there"),
        pytest.param((), (), "NOT REPRODUCED in 6", {"family": "over IPv6: 200 JSON"}, id="neither"),
    ],
)  # fmt: skip
def test_the_family_is_named(monkeypatch, first, second, word, says):
    """A host with both families is asked over both; of one that is not there nothing is concluded."""
    made = asking._case
    monkeypatch.setattr(asking, "_case", lambda *given: _in_process(made(*given)))
    with served(*first, clock=CLOCK) as (running, target, secrets), ExitStack() as opened:
        port, families = running.edge.server.port, ["127.0.0.1"]
        if second is not None:
            opened.enter_context(lab.serve(second, clock=CLOCK, host="::1", port=port, **FAST))
            families.append("::1")
        resolved = _resolving("both.test", families, socket.getaddrinfo)
        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        url = f"http://both.test:{port}/v1"
        routes = {name: replace(route, base_url=url) for name, route in target.routes.items()}
        told = Told(
            "POST", f"{url}/chat/completions", ROWS["a header"].headers, body(), "http", secrets=(KEY,)
        )
        run = asking.ask(told, replace(target, routes=routes), "edge", secrets, clock=CLOCK, seed=1)
    found, rows = of_kind(run)
    said_ = as_text(run.findings)
    assert outcome(run.findings).startswith(word), said_
    assert (found.factor is Factor.FAMILY) == (word == "REPRODUCED"), said_
    for name, text in says.items():
        assert text in rows.get(name, ""), said_


def _in_process(made):
    """With the clients that resolve names in this process."""
    case, skipped = made
    return replace(
        case, clients=tuple(c for c in case.clients if c.kind in {"raw_httpx", "openai_sdk"})
    ), skipped


def _resolving(name, addresses, real):
    def found(host, port, family=0, *rest, **more):
        if host != name:
            return real(host, port, family, *rest, **more)
        wanted = [
            each for each in addresses if family in {0, socket.AF_INET6 if ":" in each else socket.AF_INET}
        ]
        if not wanted:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [row for each in wanted for row in real(each, port, 0, socket.SOCK_STREAM)]

    return found
