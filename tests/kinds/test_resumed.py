"""A stored response that is fetched by GET: is it told when it is held back there, and only then?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, as_text, attributed, case, told
from exchanges import exchange, stream_facts

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.kinds.resumed import bound, unfit
from probes.model import Confidence, NotSent, Reason, Timeline, Verdict, WireError

URL = "https://a.example/v1/responses"
LEFT = WireError("deadline", "body", "the probe's own deadline")
OVER = {"dialect": "openai.responses", "terminal": "response.incomplete", "finish_reason": "incomplete"}


def stream(times, *, error=None, tokens=64, url=URL, **facts):
    said = stream_facts(tokens=tokens, response_id="resp_1", **{**OVER, **facts})
    found = exchange(
        200,
        b"data: {}\n\n",
        {"content-type": "text/event-stream"},
        facts=said,
        stream=True,
        url=url,
    )
    line = Timeline(
        upload_end=0.0, headers=0.01, first_byte=times[0], first_event=times[0], first_token=times[0],
        last_token=times[-1], last_byte=times[-1], end=times[-1],
    )  # fmt: skip
    return attributed(
        replace(found, timeline=line, chunk_times=tuple(times), chunk_sizes=(100,) * len(times), error=error)
    )


def spread(first=0.05, each=0.1, n=64):
    return stream([first + k * each for k in range(n)])


def at_once(after):
    return stream([after + k * 0.0001 for k in range(64)])


BEGUN = stream([0.2 + k * 0.1 for k in range(28)], error=LEFT, tokens=28, terminal=None, finish_reason=None, complete=False)  # fmt: skip


def at_once_then_left():
    """One burst in which all came, and no end."""
    return replace(BEGUN, chunk_times=tuple(2.9 + k * 0.0001 for k in range(28)))


SLOW = stream([0.2 + k * 0.9 for k in range(4)], error=LEFT, tokens=4, terminal=None, finish_reason=None, complete=False)  # fmt: skip
SILENT = stream([0.2], error=LEFT, tokens=0, terminal=None, finish_reason=None, complete=False)
SOON = at_once(0.02)


def server(get, *, post=BEGUN, over=SOON):
    """By what of the three is asked."""

    def mind(asked):
        label = asked.trial.label
        return post if label.endswith("/post") else over if label.endswith("/over") else get

    return mind


def asked(**params):
    made = case("resumed", stored=True, base_url="https://a.example/v1", **params)
    return replace(made, target=replace(made.target, endpoints=("chat", "responses")))


def the(findings):
    assert len(findings) == 1, as_text(findings)
    return findings[0]


def test_held_where_it_is_fetched():
    """By every client, and the one that made the answer flow is not blamed."""
    findings, sent = told(asked(), server(at_once(6.0)))
    found = the(findings)
    assert (found.code, found.verdict, found.confidence) == ("stream.buffered", Verdict.FAIL, Confidence.HIGH)
    assert (found.observed.k, found.observed.n, found.factor) == (3, 3, None)
    assert "by POST it flows" in found.title
    assert sent.sent == 3 * len(ALL) == bound(asked()).requests
    assert {c.trial.request.fetches for c in sent.calls} == {None, "resp_1"}
    assert [c.trial.request.kept for c in sent.calls] == [c.trial.label.endswith("/post") for c in sent.calls]


@pytest.mark.parametrize(
    "post, set_to, limit",
    [(BEGUN, None, 120.0), (SLOW, None, 540.0), (SLOW, 30.0, 30.0)],
    ids=["a usual model", "a slow one", "as it was set"],
)
def test_a_slow_model_is_waited_for(post, set_to, limit):
    """By the pace that was seen, so that what is slow is no failure."""
    _, sent = told(asked(**({"deadline": set_to} if set_to else {})), server(spread(), post=post))
    gets = [call.trial.deadline for call in sent.calls if call.trial.request.fetches]
    assert gets == [pytest.approx(limit, rel=0.2)] * len(gets)


def test_held_for_one_client_of_several():
    """Its own finding, and medium: what others get flows."""
    findings, _ = told(asked(), lambda a: server(at_once(6.0) if a.client == "curl" else spread())(a))
    found = the(findings)
    assert (found.client, found.confidence) == ("curl", Confidence.MEDIUM)
    assert (found.observed.k, found.observed.n) == (1, 3)


@pytest.mark.parametrize(
    "post, verdict",
    [(BEGUN, Verdict.WARN), (at_once_then_left(), Verdict.INCONCLUSIVE)],
    ids=["by POST it flows", "by POST it does not"],
)
def test_given_out_in_steps(post, verdict):
    """Events in groups may be the API's own way: a warning, and only where the same answer flowed before."""
    steps = stream([0.1 + k // 16 * 2.0 + k % 16 * 0.0001 for k in range(64)])
    found = the(told(asked(), server(steps, post=post))[0])
    assert found.verdict is verdict, as_text([found])


def test_what_comes_as_it_is_made():
    """What there was already comes at once, and the rest in its time."""
    found = the(told(asked(), server(spread()))[0])
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)


@pytest.mark.parametrize(
    "mind",
    [
        server(at_once(0.05)),
        server(at_once(6.0), over=at_once(5.5)),
        server(at_once(0.2), over=at_once(0.01)),
        server(stream([0.1, 0.2], tokens=4)),
    ],
    ids=["over already", "slow whenever it is fetched", "a moment", "a short answer"],
)
def test_what_tells_nothing(mind):
    """A hold is told by a wait that a finished answer does not have; else neither good nor bad is said."""
    found = the(told(asked(), mind)[0])
    assert (found.code, found.verdict, found.reason) == ("not_measured", Verdict.INCONCLUSIVE, Reason.TOO_FEW)


@pytest.mark.parametrize(
    "post, says",
    [(spread(), "was over within"), (SILENT, "had no text within")],
    ids=["over", "silent"],
)
def test_nothing_to_fetch(post, says):
    """An answer that was over, or had not begun: nothing is fetched."""
    findings, sent = told(asked(), server(at_once(6.0), post=post))
    assert (the(findings).verdict, findings[0].reason) == (Verdict.INCONCLUSIVE, Reason.TOO_FEW)
    assert says in findings[0].title
    assert sent.sent == len(ALL)


@pytest.mark.parametrize(
    "mind, reason",
    [
        (server("rejected", post="rejected"), Reason.BLOCKED),
        (server("not found"), Reason.BLOCKED),
        (server("server error"), Reason.BLOCKED),
        (server(NotSent.BUDGET), Reason.BUDGET),
        (server(at_once(6.0), post=NotSent.PAUSED), Reason.PAUSED),
        (server(at_once(6.0), over=NotSent.BUDGET), Reason.BUDGET),
    ],
    ids=["no background", "not kept", "an error", "no budget to fetch", "paused", "no budget for the other"],
)
def test_what_cannot_be_asked(mind, reason):
    """No fault of the service is made of it, and nothing is called good."""
    findings, _ = told(asked(), mind)
    assert {(f.verdict, f.reason) for f in findings} == {(Verdict.INCONCLUSIVE, reason)}, as_text(findings)


@pytest.mark.parametrize(
    "endpoints, stored, why",
    [
        (("chat",), True, "does not declare the endpoint responses"),
        (("chat", "responses"), False, "--set stored=true"),
        (("chat", "responses"), True, None),
    ],
    ids=["not offered", "not asked for", "asked for"],
)
def test_only_by_name(endpoints, stored, why):
    """It leaves an answer with the provider, so nobody gets it who did not ask for it."""
    made = case("resumed", stored=stored)
    said = unfit(replace(made, target=replace(made.target, endpoints=endpoints)))
    assert (said is None) if why is None else why in said


def test_what_reaches_the_api(tmp_path):
    """Through each genuine client one POST that is kept, then its stream by GET, twice; paid for once."""
    suite = tmp_path / "resumed.yaml"
    suite.write_text(
        "version: 1\nname: s\ncases: [{kind: resumed, with: {stored: true, tokens: 120, seconds: 4}}]\n"
    )
    clock = Clock(0.2)
    with lab.serve(clock=clock, tpot=0.1, prefill=0.2) as served:
        target = target_from_flags(
            served.url("openai"),
            "openai",
            served.model,
            key_env="K",
            env_proxy=False,
            endpoints=("responses",),
        )
        run = conduct(Order((str(suite),), target, seed=3, clock=clock), Secrets({"K": served.api_key}))
        seen = [(arrival.method, arrival.path) for arrival in served.origin.requests]
    posts = [path for method, path in seen if method == "POST"]
    fetched = [path for method, path in seen if method == "GET"]
    assert posts == ["/v1/responses"] * 5
    assert len(fetched) == 10
    assert len(set(fetched)) == 5
    assert all(path.startswith("/v1/responses/resp_") and path.endswith("?stream=true") for path in fetched)
    assert run.verdict is Verdict.PASS, as_text(run.findings)
    assert run.spend.output_tokens == 5 * 120
