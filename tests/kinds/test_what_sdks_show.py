"""What does each SDK show its user of a fault, and what do we say of the same bytes?

The verdict comes from the wire alone; what was raised stands beside it. Node's SDKs are no clients of ours.
"""

from __future__ import annotations

import os

import pytest
from labruns import FAST, KEY

from probes import clients, lab
from probes.attribution import attribute
from probes.clock import Clock
from probes.config import clients as known_clients
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.lab.faults import Answer, Cut, Do, Fault
from probes.model import Ask, Trial
from probes.signatures import catalogue

CLOCK = Clock(0.1)
LIMITS = clients.SendLimits(60.0, 1 << 22)
PAGE = "<html><body>Hello</body></html>"


def answers(status: int, body: str, kind: str, **headers: str) -> Do:
    return Do(
        answer=Answer(status=status, headers={"content-type": kind, **headers}, body=body, proxied=True)
    )


def said(kind: str, data: str) -> Do:
    words = (f"event: {kind}\n" if kind else "") + f"data: {data}\n\n"
    return Do(cut=Cut(how="clean", after_events=4, last_words=words))


BROKEN = {r'"(content|text|delta)":" can"': r'"\1":" can'}
ERROR = '{"error":{"message":"boom","type":"server_error","param":null,"code":null}}'
OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
FAULTS: dict[str, Do | str] = {
    "1010 as HTML": "ai-crawler-rule-html",
    "1010 as JSON": "ai-crawler-rule-json",
    "1010 for Anthropic": "anthropic-ua-rule",
    "524": "page-524",
    "529": answers(529, OVERLOADED, "application/json"),
    "429": answers(429, ERROR, "application/json", **{"retry-after": "1"}),
    "HTML": answers(200, PAGE, "text/html"),
    "no event": answers(200, "", "text/event-stream"),
    "broken JSON": "broken-json-200",
    "empty": "empty-200",
    "reset": "reset-all",
    "close": "close-all",
    "cut clean": "cut-clean",
    "cut in an event": "cut-mid-event",
    "FIN": "cut-close",
    "RST": "cut-reset",
    "no [DONE]": "no-done",
    "no message_stop": "no-message-stop",
    "no response.completed": "no-response-end",
    "error": said("", ERROR),
    "error, then [DONE]": "error-then-done",
    "event: error": said("error", OVERLOADED),
    "typed error": said("error", '{"type":"error","code":"server_error","message":"boom","param":null}'),
    "bad JSON in an event": Do(rewrite=BROKEN),
}
OK = None
ROWS = [
    # fault · client · endpoint · streamed · our code · what it raised
    ("1010 as HTML", "openai-py", "chat", False, "blocked.client", "openai.PermissionDeniedError"),
    ("1010 as JSON", "openai-py", "chat", False, "blocked.client", "openai.PermissionDeniedError"),
    ("1010 for Anthropic", "anthropic-py", "messages", False, "blocked.client", "anthropic.PermissionDeniedError"),
    ("524", "openai-py", "chat", False, "timeout.first_byte", "openai.InternalServerError"),
    ("524", "anthropic-py", "messages", False, "timeout.first_byte", "anthropic.InternalServerError"),
    ("529", "openai-py", "chat", False, "overloaded", "openai.InternalServerError"),
    ("529", "anthropic-py", "messages", False, "overloaded", "anthropic.OverloadedError"),
    ("429", "openai-py", "chat", False, "ratelimited", "openai.RateLimitError"),
    ("429", "anthropic-py", "messages", False, "ratelimited", "anthropic.RateLimitError"),
    ("HTML", "openai-py", "chat", False, "body.html", OK),
    ("HTML", "anthropic-py", "messages", False, "body.html", OK),
    ("HTML", "openai-py", "chat", True, "body.html", OK),
    ("HTML", "anthropic-py", "messages", True, "body.html", OK),
    ("no event", "openai-py", "chat", True, "body.empty", OK),
    ("no event", "anthropic-py", "messages", True, "body.empty", OK),
    ("broken JSON", "openai-py", "chat", False, "body.not_json", "json.JSONDecodeError"),
    ("broken JSON", "anthropic-py", "messages", False, "body.not_json", "json.JSONDecodeError"),
    ("empty", "openai-py", "chat", False, "body.empty", "json.JSONDecodeError"),
    ("reset", "openai-py", "chat", True, "unreachable.reset", "openai.APIConnectionError"),
    ("reset", "anthropic-py", "messages", True, "unreachable.reset", "anthropic.APIConnectionError"),
    ("close", "openai-py", "chat", True, "unreachable.reset", "openai.APIConnectionError"),
    ("cut clean", "openai-py", "chat", True, "stream.truncated", OK),
    ("cut clean", "openai-py", "responses", True, "stream.truncated", OK),
    ("cut clean", "anthropic-py", "messages", True, "stream.truncated", OK),
    ("cut in an event", "openai-py", "chat", True, "stream.truncated", OK),
    ("cut in an event", "anthropic-py", "messages", True, "stream.truncated", OK),
    ("no [DONE]", "openai-py", "chat", True, "stream.no_end", OK),
    ("no message_stop", "anthropic-py", "messages", True, "stream.no_end", OK),
    ("no response.completed", "openai-py", "responses", True, "stream.truncated", OK),
    ("FIN", "openai-py", "chat", True, "stream.truncated", "openai.APIConnectionError"),
    ("FIN", "anthropic-py", "messages", True, "stream.truncated", "httpx2.RemoteProtocolError"),
    ("RST", "openai-py", "chat", True, "stream.truncated", "openai.APIConnectionError"),
    ("RST", "anthropic-py", "messages", True, "stream.truncated", "httpx2.ReadError"),
    ("error", "openai-py", "chat", True, "stream.error_event", "openai.APIError"),
    ("error, then [DONE]", "openai-py", "chat", True, "stream.masked", "openai.APIError"),
    ("error, then [DONE]", "httpx", "chat", True, "stream.masked", OK),
    ("event: error", "anthropic-py", "messages", True, "stream.error_event", "anthropic.APIStatusError"),
    ("typed error", "openai-py", "responses", True, "stream.error_event", OK),
    ("bad JSON in an event", "openai-py", "chat", True, "stream.malformed", "json.JSONDecodeError"),
    ("bad JSON in an event", "openai-py", "responses", True, "stream.malformed", "json.JSONDecodeError"),
    ("bad JSON in an event", "anthropic-py", "messages", True, "stream.malformed", "json.JSONDecodeError"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "name", "endpoint", "stream", "code", "raised"),
    ROWS,
    ids=[f"{fault}-{name}-{endpoint}-{'stream' if s else 'plain'}" for fault, name, endpoint, s, *_ in ROWS],
)
def test_our_word_from_the_wire_beside_what_the_sdk_shows(fault, name, endpoint, stream, code, raised):
    """Half an answer that an SDK hands over as a whole one is a cut answer all the same."""
    planted = FAULTS[fault]
    planted = planted if isinstance(planted, str) else Fault("planted", "as the row says", planted)
    api = "anthropic" if endpoint == "messages" else "openai"
    client = known_clients()[name]
    with lab.serve((planted,), clock=CLOCK, **FAST) as served:
        target = target_from_flags(served.url(api), api, served.model, key_env=KEY, env_proxy=False)
        secrets = Secrets({**os.environ, KEY: served.api_key})
        setting = clients.Setting(client, target, secrets, CLOCK)
        route = target.routes["edge"]
        trial = Trial("t", name, "edge", Ask(endpoint, stream=stream, cap=32))
        with clients.sender_class(client)(setting).connect(route) as session:
            outcome = session.send(trial, LIMITS)
    made = attribute(outcome.exchanges[-1], catalogue())
    assert (made.code, outcome.raised and outcome.raised.type) == (code, raised), (made, outcome.raised)
