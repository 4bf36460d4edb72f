"""Calls as a server of a given mind would have answered them; nothing is sent."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from exchanges import CLOUDFLARE, GOOD_CHAT, HTML, JSON, exchange, stream_facts

from probes.attribution import attribute
from probes.circumstances import Circumstances
from probes.complaint import Told
from probes.kinds import KINDS
from probes.model import (
    Ask,
    Call,
    Case,
    Client,
    Dial,
    NotSent,
    Raised,
    Raw,
    Route,
    Run,
    Spend,
    Target,
    Timeline,
    Verdict,
    WireRequest,
    call_id,
    unsent,
)
from probes.runner import judge, worst
from probes.signatures import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from probes.model import Exchange, Finding, Planned, Trial

OPENAI = Client("openai-py", "openai_sdk", api="openai", edits=True)
HTTPX = Client("httpx", "raw_httpx", edits=True)
CURL = Client("curl", "curl", edits=True)
ALL = (OPENAI, HTTPX, CURL)
SENT = {
    "openai-py": {
        "Accept": "application/json",
        "Accept-Encoding": "gzip, deflate",
        "User-Agent": "OpenAI/Python 3.57.0",
        "X-Stainless-Lang": "python",
        "X-Stainless-Runtime": "CPython",
    },
    "openai-py-async": {"Accept": "application/json", "User-Agent": "AsyncOpenAI/Python 3.57.0"},
    "httpx": {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "python-httpx/0.28.1"},
    "curl": {"User-Agent": "curl/8.5.0", "Accept": "*/*"},
    "curl-h2": {"User-Agent": "curl/8.5.0", "Accept": "*/*"},
    "dialer": {},
}
"""What each client announces."""


TOLD = Told(
    "POST",
    "http://a.example/v1/chat/completions",
    (("Content-Type", "application/json"), ("User-Agent", "OpenAI/Python 1.40.0")),
    b'{"model":"m","messages":[{"role":"user","content":"Hi."}]}',
    "curl",
)
NEEDED = {"reproduction": {"told": TOLD}}
"""Parameters without which a case of that kind asks nothing."""


def case(kind="identity", clients=ALL, *, seed=1, keyed=False, base_url="http://a.example/v1", **params):
    target = Target("t", "openai", "m", {"edge": Route("edge", base_url)}, key_env="K" if keyed else None)
    given = {**KINDS[kind].defaults, **NEEDED.get(kind, {}), **params}
    brought = [client for client in KINDS[kind].brings if client not in clients]
    return Case(f"s/{kind}", "s", kind, target, (*clients, *brought), "edge", given, seed, keyed=keyed)


# --- answers ---------------------------------------------------------------------------------------------

KEY_ERROR = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "param": None,
                       "code": "invalid_api_key"}}  # fmt: skip
NGINX = "<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n<center><h1>403 Forbidden</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
_USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
ANSWERS: dict[str, Exchange] = {
    "passed": exchange(401, KEY_ERROR),
    "rejected": exchange(400, {"error": {**KEY_ERROR["error"], "code": None}}),
    "refused": exchange(403, "error code: 1010", {**CLOUDFLARE, "content-type": "text/plain"}),
    "refused by nginx": exchange(403, NGINX, {**HTML, "server": "nginx"}),
    "challenged": exchange(403, "<html>", {**CLOUDFLARE, **HTML, "cf-mitigated": "challenge"}),
    "reset": exchange(None, error=("reset", "headers")),
    "closed": exchange(None, error=("closed", "headers")),
    "ratelimited": exchange(429, "error code: 1015", {**CLOUDFLARE, "content-type": "text/plain"}),
    "bad gateway": exchange(502, "error code: 502", {**CLOUDFLARE, "content-type": "text/plain"}),
    "timeout": exchange(None, error=("deadline", "headers")),
    "no route": exchange(None, error=("connect", "connect")),
    "no name": exchange(None, error=("dns", "dns")),
    "our limit": exchange(200, b"x" * 99, error=("limit", "body")),
    "redirected": exchange(301, b"", {"location": "https://b.example/"}),
    "not found": exchange(404, "<html></html>", HTML),
    "html": exchange(200, "<html></html>", HTML),
    "empty": exchange(200, b"", JSON),
    "cut json": exchange(200, b'{"id":', JSON, error=("closed", "body")),
    "server error": exchange(500, {"error": {"message": "oops", "type": "server_error"}}),
    "good": exchange(200, GOOD_CHAT, facts={"usage": _USAGE}),
    "good stream": exchange(
        200,
        b"data: {}\n\n",
        {"content-type": "text/event-stream"},
        facts=stream_facts(usage=_USAGE),
        stream=True,
    ),
    "cut stream": exchange(
        200,
        b"data: {}\n\n",
        {"content-type": "text/event-stream"},
        facts=stream_facts(terminal=None, finish_reason=None, complete=False),
        error=("closed", "body"),
        stream=True,
    ),
}
NO_EXCHANGE = "would not send"
"""The client refused to send: a call without an exchange."""
OUTCOMES = (*ANSWERS, NO_EXCHANGE, *NotSent)


@cache
def answer(name: str) -> Exchange:
    """The exchange of that name, attributed as a run would."""
    found = replace(ANSWERS[name], timeline=Timeline(upload_end=0.0, headers=0.1, first_byte=0.1, end=0.2))
    return replace(found, attribution=attribute(found, catalogue()))


def dialled(found: Exchange, family: int) -> Exchange:
    """What opening a connection shows of a server that would give that answer."""
    reached = found.error is None or found.error.phase not in {"dns", "connect"}
    conditions = {
        "family": family,
        "address": f"a{family}" if not found.error or found.error.phase != "dns" else None,
    }
    return replace(
        found, request=WireRequest("", "http://a.example", (), 0, None, None), status=None, headers={}, body_head=b"",
        body_bytes=0, facts={}, timeline=Timeline(connect=0.01, end=0.01) if reached else Timeline(end=0.01),
        error=None if reached else found.error, conditions=conditions,
    )  # fmt: skip


def attributed(exchange: Exchange) -> Exchange:
    return replace(exchange, attribution=attribute(exchange, catalogue()))


# --- servers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A request as the server sees it; `headers` by lower-case name, with the trial's edits."""

    client: str
    headers: Mapping[str, str]
    trial: Trial
    repeat: int
    number: int
    """Requests before it."""

    def has(self, name: str, word: str = "") -> bool:
        return word.lower() in self.headers.get(name, "\0").lower() and name in self.headers


def announced(trial: Trial) -> dict[str, str]:
    """The headers of a trial's request as they leave: the client's own with the edits applied, or a raw request's."""
    if isinstance(trial.request, Raw):
        return {name.lower(): value for name, value in trial.request.headers}
    found = {name.lower(): value for name, value in SENT[trial.client].items()}
    edits = trial.request.edits if isinstance(trial.request, Ask) else {}
    for name, value in edits.items():
        if name.endswith("*"):
            found = {n: v for n, v in found.items() if not n.startswith(name[:-1])}
        elif value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


@dataclass
class Server:
    """A `send` that answers by `mind`: a request → the name of an answer, an exchange, or why it was not sent."""

    case: Case
    mind: Callable[[Asked], str | Exchange]
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.circumstances = Circumstances("canned", self.case.target.limits.concurrency)

    def __call__(self, planned: Sequence[Planned]) -> list[Call]:
        got = []
        for (trial, repeat), under in self.circumstances.salted(planned):
            known = self.circumstances.begin(trial, under)
            call = self._call(trial, repeat)
            if call.not_sent is None:
                call = replace(call, conditions={**call.conditions, **known, **self.circumstances.end(call)})
            got.append(call)
        self.calls += got
        return got

    def _call(self, trial: Trial, repeat: int) -> Call:
        headers = announced(trial)
        said = self.mind(Asked(trial.client, headers, trial, repeat, self.sent))
        name = call_id(self.case, trial.label, repeat)
        if isinstance(said, NotSent):
            return unsent(self.case, trial, repeat, said)
        if said == NO_EXCHANGE:
            raised = Raised("openai.ValueError", "Streaming is required")
            return Call(name, self.case.id, trial, repeat, raised=raised)
        found = answer(said) if isinstance(said, str) else said
        if isinstance(trial.request, Dial) and isinstance(said, str):
            found = attributed(dialled(found, trial.request.family))
        found = replace(found, id=f"{name}/0", request=replace(found.request, headers=tuple(headers.items())))
        return Call(name, self.case.id, trial, repeat, (found,), own_lag=0.0)

    @property
    def sent(self) -> int:
        return sum(call.not_sent is None for call in self.calls)

    @property
    def asked(self) -> Counter[str]:
        return Counter(call.trial.label for call in self.calls)


def told(case: Case, mind: Callable[[Asked], str | Exchange]) -> tuple[list[Finding], Server]:
    """What the case finds of a server with this mind."""
    server = Server(case, mind)
    return judge(case, server), server


def random_mind(outcomes: Sequence[str], seed: int) -> Callable[[Asked], str]:
    """Any of the outcomes for each (label, repeat), the same for the same seed."""
    return lambda asked: Random(f"{seed}/{asked.trial.label}/{asked.repeat}").choice(outcomes)


def run_of(case: Case, calls: Sequence[Call], findings: Sequence[Finding]) -> Run:
    now = datetime(2026, 11, 29, tzinfo=UTC)
    return Run(
        "20261129-000000-aaaa", ("s",), case.target, None, now, now, {}, case.seed, 1.0, worst(findings), Spend(),
        (case,), tuple(calls), tuple(findings),
    )  # fmt: skip


def as_text(findings: Sequence[Finding]) -> str:
    """For the message of an assertion."""
    rows = [(f.code, str(f.verdict), f.client, f.factor, f.reason, f.title, f.detail) for f in findings]
    return json.dumps(rows, indent=1, default=str)


def check_not_better(live: Sequence[Finding], again: Sequence[Finding]) -> None:
    """What a replay with calls missing may say beside what was said live."""
    before, after = worst(live), worst(again)
    shown = f"live {as_text(live)}\nreplay {as_text(again)}"
    if before is not Verdict.PASS:
        assert after is not Verdict.PASS, shown
    if before not in {Verdict.PASS, Verdict.WARN}:
        assert after is not Verdict.WARN, shown
    if before is Verdict.PASS:
        assert after in {Verdict.PASS, Verdict.INCONCLUSIVE}, shown
    if before is not Verdict.FAIL:
        assert after is not Verdict.FAIL, shown
    assert not [f for f in again if f.code == "probe.bug"], shown
    claimed = {(f.client, f.factor) for f in live} | {(None, None)}
    assert {(f.client, f.factor) for f in again if f.factor is not None} <= claimed, shown
