"""The parameter that caps an answer: found once per run, from the server's own refusal."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from exchanges import exchange
from labruns import target_at

from probes.clients import dialect
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.credentials import Secrets
from probes.model import Ask, Budget, Call, Route, Target, Trial, Verdict, WhoActs
from probes.output_cap import ENOUGH, OutputCap

NAMED = {
    "error": {
        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "type": "invalid_request_error",
        "param": "max_tokens",
        "code": "unsupported_parameter",
    }
}
TOO_MUCH = {
    "error": {"message": "max_tokens is too large: 99", "param": "max_tokens", "code": "invalid_value"}
}
UNSUPPORTED = {"error": {"message": "no", "param": "max_tokens", "code": "unsupported_parameter"}}
OTHER = {"error": {"message": "no", "param": "stream", "code": "unsupported_parameter"}}
FIRST, SECOND = "max_tokens", "max_completion_tokens"


def target(api="openai", output_cap="auto") -> Target:
    return Target("t", api, "m", {"edge": Route("edge", "http://a/v1")}, output_cap=output_cap)


def trial(**ask) -> Trial:
    return Trial("a", "curl", "edge", Ask(ask.pop("endpoint", "chat"), **ask))


def call(of: Trial, status: int, body) -> Call:
    return Call("c", "s/k", of, 0, (exchange(status, body),))


@pytest.mark.parametrize(
    ("status", "body", "again"),
    [
        (400, NAMED, True),
        (422, NAMED, True),
        (400, UNSUPPORTED, True),
        (400, TOO_MUCH, False),
        (400, OTHER, False),
        (400, "Use max_completion_tokens instead", False),
        (400, b"", False),
        (403, NAMED, False),
        (500, NAMED, False),
        (200, {"choices": [{"message": {"content": "max_completion_tokens"}}]}, False),
    ],
    ids=[
        "names the other", "as 422", "calls it unsupported", "the number is wrong", "another parameter", "no JSON", "empty",
        "another status", "server error", "an answer about it",
    ],
)  # fmt: skip
def test_what_the_server_says_of_the_parameter(status, body, again):
    """Only a 400 in the API's own JSON that refuses the name; then it holds for the rest of the run."""
    cap = OutputCap(target(), Clock())
    with cap.turn(trial()) as named:
        assert cap.learns(named, call(named, status, body)) is again
    with cap.turn(trial()) as named:
        assert named.request.cap_name == (SECOND if again else FIRST)


LEAST = {
    "at least": ("max_tokens must be at least 16", 16),
    "below": (
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
        16,
    ),
    "greater": ("max_tokens must be greater than 15", 16),
    "pydantic": ("body.max_tokens: Input should be greater than or equal to 32", 32),
    "reasoning": (
        "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.",
        ENOUGH,
    ),
    "dear": ("max_tokens must be at least 100000", 1),
    "too large": ("max_tokens is too large: 99", 1),
    "of another": ("n must be at least 16", 1),
}


@pytest.mark.parametrize(("said", "cap"), LEAST.values(), ids=LEAST)
@pytest.mark.parametrize("endpoint", ["chat", "messages", "responses"])
def test_a_cap_that_is_too_low_is_raised(endpoint, said, cap):
    """To what the server names, or to enough where it names nothing; a larger one stays as it is."""
    learnt = OutputCap(target(), Clock())
    with learnt.turn(trial(endpoint=endpoint, cap=1)) as sent:
        assert learnt.learns(sent, call(sent, 400, {"error": {"message": said}})) is (cap > 1)
    assert learnt.named(trial(endpoint=endpoint, cap=1)).request.cap == cap
    assert learnt.named(trial(endpoint=endpoint, cap=9999)).request.cap == 9999
    assert learnt.named(trial(recipe="invalid", cap=1)).request.cap == 1


MOST = {
    "OpenAI": (
        "max_tokens is too large: 50000. This model supports at most 32768 completion tokens, whereas you provided 50000.",
        32768,
    ),
    "Anthropic": (
        "max_tokens: 50000 > 8192, which is the maximum allowed number of output tokens for m",
        8192,
    ),
    "Groq": ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`", 8192),
    "a range": ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    "doubao": ("The parameter `max_tokens` is not valid: integer above maximum value, expected a value <= 12288, but got 50000", 12288),
    "thousands": ("max_tokens cannot exceed 16,384", 16384),
    "window": (
        ("This model's maximum context length is 8192 tokens. However, you requested 50064 tokens (64 in the messages, "
        "50000 in the completion). Please reduce the length of the messages or completion."),
        8192 - 64 - 16,
    ),
    "window, vLLM": (
        ("This model's maximum context length is 16384 tokens. However, you requested 50000 output tokens and your prompt "
        "contains at least 93 input tokens, for a total of at least 50093 tokens."),
        16384 - 93 - 16,
    ),
    "window, SGLang": (
        ("Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 50080 "
        "tokens: 80 tokens from the input messages and 50000 tokens for the completion."),
        4096 - 80 - 16,
    ),
    "no figure": ("max_tokens is too large: 50000", None),
    "a window that the prompt fills": (
        "This model's maximum context length is 100 tokens. However, you requested 50064 tokens (99 in the messages)",
        None,
    ),
    "of another": ("n must be less than or equal to 8", None),
    "more than was asked for": ("max_tokens must be less than or equal to 60000", None),
}  # fmt: skip


@pytest.mark.parametrize(("said", "most"), MOST.values(), ids=MOST)
@pytest.mark.parametrize("endpoint", ["chat", "messages", "responses"])
def test_a_cap_that_is_too_high_is_lowered(endpoint, said, most):
    """To what the server's 400 leaves, for the rest of the run; a smaller one stays as it is."""
    learnt = OutputCap(target(), Clock())
    big = trial(endpoint=endpoint, cap=50_000)
    with learnt.turn(big) as sent:
        assert learnt.learns(sent, call(sent, 400, {"error": {"message": said}})) is (most is not None)
    assert learnt.named(big).request.cap == (most or 50_000)
    assert learnt.named(trial(endpoint=endpoint, cap=16)).request.cap == 16
    again = learnt.named(big)
    assert not learnt.learns(again, call(again, 400, {"error": {"message": said}}))


EXTRAS = {
    "effort": ({"effort": "high"}, "Unsupported parameter: 'reasoning_effort' is not supported with this model."),
    "thinking": ({"effort": "high"}, "thinking: adaptive thinking is not supported on this model"),
    "endless": ({"endless": True}, "Unrecognized request argument supplied: ignore_eos"),
    "at least": ({"endless": True}, "min_tokens: Extra inputs are not permitted"),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "said"), EXTRAS.values(), ids=EXTRAS)
def test_what_only_some_engines_know_is_left_out_once_refused(ask, said):
    """And it is not taken for a parameter of one that did not send it."""
    learnt, refusal = OutputCap(target(), Clock()), {"error": {"message": said}}
    plain, extra = trial(cap=64), trial(cap=64, **ask)
    assert not learnt.learns(plain, call(plain, 400, refusal))
    assert learnt.learns(extra, call(extra, 400, refusal))
    assert learnt.named(extra).request == plain.request
    assert dialect.body(target(), extra.request, "") != dialect.body(target(), plain.request, "")


def test_usage_is_not_asked_for_where_it_is_not_known():
    """`stream_options` is ours, no customer need send it."""
    learnt = OutputCap(target(), Clock())
    refusal = {"error": {"message": "Unrecognized request argument supplied: stream_options"}}
    plain, streamed = trial(), trial(stream=True)
    assert not learnt.learns(plain, call(plain, 400, {"error": {"message": "no"}}))
    assert learnt.learns(streamed, call(streamed, 400, refusal))
    again = learnt.named(streamed)
    assert "stream_options" not in dialect.body(target(), again.request, "")
    assert "stream_options" in dialect.body(target(), streamed.request, "")
    assert not learnt.learns(again, call(again, 400, refusal))


@pytest.mark.parametrize(
    ("declared", "name"), [(FIRST, FIRST), (SECOND, SECOND), ("auto", FIRST)], ids=[FIRST, SECOND, "auto"]
)
def test_a_name_that_is_declared_is_used_from_the_start(declared, name):
    """And a server that refuses it is not asked again."""
    cap = OutputCap(target(output_cap=declared), Clock())
    with cap.turn(trial()) as named:
        assert named.request.cap_name == name
        assert cap.learns(named, call(named, 400, NAMED)) is (declared == "auto")


@pytest.mark.parametrize(
    ("api", "ask"),
    [("anthropic", {"endpoint": "messages"}), ("openai", {"endpoint": "models"}), ("openai", {"recipe": "invalid"})],
    ids=["anthropic", "models", "invalid by type"],
)  # fmt: skip
def test_requests_that_say_nothing_of_it(api, ask):
    """They neither teach nor wait."""
    cap = OutputCap(target(api), Clock())
    with cap.turn(trial(**ask)), cap.turn(trial(**ask)) as named:
        assert not cap.learns(named, call(named, 400, NAMED))
    with cap.turn(trial()) as named:
        assert named.request.cap_name == FIRST


def test_the_second_waits_for_the_first():
    """Until it has come back, and is sent with what was learnt."""
    cap = OutputCap(target(), Clock())
    names: list[str] = []

    def second() -> None:
        with cap.turn(trial()) as named:
            names.append(named.request.cap_name)

    with cap.turn(trial()) as first:
        waiting = threading.Thread(target=second)
        waiting.start()
        cap.learns(first, call(first, 400, NAMED))
        waiting.join(10)
    assert names == [SECOND]


def test_a_first_that_takes_long_holds_nobody_up():
    """A long answer is not refused for a parameter: the others go out meanwhile."""
    cap = OutputCap(target(), Clock(0.01))
    with cap.turn(trial()), cap.turn(trial()) as named:
        assert named.request.cap_name == FIRST


# --- on the wire -----------------------------------------------------------------------------------------


CLIENTS = 5
"""Genuine ones over plain http."""


@contextmanager
def strict(answers_only_to=SECOND, least=None, says=""):
    """A chat API that refuses every cap but one by its name, or below `least`; gives its URL and the bodies that arrived."""
    bodies: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bodies.append(body)
            good = answers_only_to in body if least is None else body[FIRST] >= least
            refusal = NAMED if least is None else {"error": {"message": says}}
            self._send(200 if good else 400, self._answer(body) if good else refusal)

        @staticmethod
        def _answer(body):
            return {
                "id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
            }  # fmt: skip

        def _send(self, status, answer):
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def completion(tmp_path):
    """Runs one completion through every genuine client."""
    suite = tmp_path / "one.yaml"
    suite.write_text("version: 1\nname: one\ncases: [{kind: completion, clients: genuine}]\n")

    def run(url: str, **changes):
        aimed = target_at(url, key_env=None, no_key=True)
        from dataclasses import replace

        return conduct(Order((str(suite),), replace(aimed, **changes), seed=1), Secrets({}))

    return run


def test_it_is_found_by_one_request_more(completion):
    """Clients side by side: one of them meets the refusal, all get their answer; the refusal stands among the calls."""
    with strict() as (url, bodies):
        run = completion(url)
    assert run.verdict is Verdict.PASS
    names = [next(name for name in (FIRST, SECOND) if name in body) for body in bodies]
    assert names == [FIRST, *[SECOND] * (len(bodies) - 1)]
    assert (len(bodies), run.spend.requests) == (CLIENTS + 1, CLIENTS + 1)
    [vain] = [call for call in run.calls if call.trial.label.startswith("output_cap/")]
    assert vain.last.status == 400
    assert vain.id != next(c.id for c in run.calls if c.trial.client == vain.trial.client and c is not vain)
    assert len({ex.id for call in run.calls for ex in call.exchanges}) == CLIENTS + 1


def test_the_request_more_is_bought_first(completion):
    """Where the budget has no room for it the refusal is the answer."""
    with strict() as (url, bodies):
        run = completion(url, budget=Budget(requests=1))
    assert len(bodies) == run.spend.requests == 1
    assert run.verdict is Verdict.INCONCLUSIVE
    assert {call.not_sent for call in run.calls} == {None, "budget"}


def test_a_server_that_takes_the_first_name_is_asked_no_more_than_that(completion):
    """The usual case costs nothing."""
    with strict(FIRST) as (url, bodies):
        run = completion(url)
    assert (run.verdict, len(bodies)) == (Verdict.PASS, CLIENTS)


def test_a_declared_name_is_sent_by_every_client(completion):
    """From the first request on."""
    with strict() as (url, bodies):
        run = completion(url, output_cap=SECOND)
    assert (run.verdict, len(bodies)) == (Verdict.PASS, CLIENTS)
    assert all(SECOND in body and FIRST not in body for body in bodies)


@pytest.mark.parametrize(
    "says", ["max_tokens must be at least 40", "Please try again with higher max_tokens."]
)
def test_a_cap_too_low_is_bought_anew(completion, says):
    """The refusals stand among the calls, the answers are good, and what they may cost was reserved."""
    with strict(least=40, says=says) as (url, bodies):
        run = completion(url)
    assert run.verdict is Verdict.PASS
    [vain] = [call for call in run.calls if call.trial.label.startswith("output_cap/")]
    assert vain.last.status == 400
    assert len(bodies) == run.spend.requests == CLIENTS + 1
    assert (run.spend.input_tokens, run.spend.output_tokens) == (9 * CLIENTS, 2 * CLIENTS)


def test_a_cap_that_no_budget_bears_is_the_probes_own_matter(completion):
    """Nothing is said against the service, and the advice names the parameter."""
    with strict(least=40, says="max_tokens must be at least 40") as (url, _):
        run = completion(url, budget=Budget(tokens=100))
    (found,) = [f for f in run.findings if f.verdict is not Verdict.PASS and "max_tokens" in f.title]
    assert (found.verdict, found.who_acts) == (Verdict.INCONCLUSIVE, WhoActs.PROBE)
    assert "--set cap" in found.advice
