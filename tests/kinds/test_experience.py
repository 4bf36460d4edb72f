"""What a customer feels of a long request that his SDK repeats: requests, seconds, bills, and nothing claimed beyond."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from canned import CURL, HTTPX, NO_EXCHANGE, OPENAI, Server, answer, as_text, attributed, case
from exchanges import GOOD_CHAT, HTML, exchange, stream_facts

from probes import config, lab
from probes.attempts import ATTEMPTS, LONGEST_PAUSE
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.kinds import KINDS
from probes.kinds.length.pace import PATIENCE
from probes.model import (
    Budget,
    Call,
    Factor,
    Layer,
    NotSent,
    Raised,
    Reason,
    Timeline,
    Verdict,
    WhoActs,
    call_id,
)
from probes.runner import judge, replay

HOLD = 66.0
ASYNC = replace(OPENAI, name="openai-py-async", mode="async")
GAVE_UP = Raised("openai.InternalServerError", "Error code: 504")
PAUSED = Raised("probes.Ended", "left waiting: deadline")
STOPPED = Raised("asyncio.CancelledError", "cancelled: interrupted")


def page(at=60.0, status=504, paused=None, headers=()):
    found = exchange(status, f"<html>{status}</html>", {**HTML, "server": "nginx", **dict(headers)})
    return _seen(found, at, paused)


def good(at=40.0, paused=None, tokens=200):
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": tokens + 9}
    return _seen(exchange(200, {**GOOD_CHAT, "usage": usage}, facts={"usage": usage}), at, paused)


def ended(at=90.0, how="deadline", paused=None):
    return _seen(exchange(None, error=(how, "headers")), at, paused)


def _seen(found, at, paused):
    answered = {"headers": at, "first_byte": at, "last_byte": at} if found.status is not None else {}
    timeline = Timeline(upload_start=0.0, upload_end=0.0, end=at, **answered)
    return attributed(
        replace(found, timeline=timeline, conditions={} if paused is None else {"paused": paused})
    )


def pace():
    facts = stream_facts(
        usage={"prompt_tokens": 9, "completion_tokens": 64, "total_tokens": 73}, finish_reason="length"
    )
    found = exchange(200, b"data: {}\n\n", {"content-type": "text/event-stream"}, facts=facts, stream=True)
    timeline = Timeline(upload_end=0.0, headers=1.0, first_byte=1.0, first_token=1.0, first_content=1.0, last_token=13.6,
                        last_byte=13.6, end=13.6)  # fmt: skip
    return attributed(replace(found, timeline=timeline))


@dataclass
class Repeated(Server):
    """Answers the call that has retries by these exchanges, one after the other, and ends it so."""

    attempts: tuple = ()
    raised: Raised | None = None
    retried: list[Call] = field(default_factory=list)

    def _call(self, trial, repeat):
        if not trial.retries:
            return super()._call(trial, repeat)
        name = call_id(self.case, trial.label, repeat)
        exchanges = tuple(replace(e, id=f"{name}/{n}") for n, e in enumerate(self.attempts))
        made = Call(
            name, self.case.id, trial, repeat, exchanges, raised=self.raised, conditions={"resolution": 0.01}
        )
        self.retried.append(made)
        return made


def told(*attempts, raised=None, clients=(OPENAI,), first=lambda _: pace(), **params):
    asked = case("length", clients, **{"mode": "experience", "hold": HOLD, **params})
    server = Repeated(asked, first, attempts=attempts, raised=raised)
    return judge(asked, server), server


def test_three_requests_for_one_call():
    """The customer waits three times as long as the edge does, and pays three times at the worst."""
    [found], server = told(page(), page(paused=0.5), page(paused=1.0), raised=GAVE_UP)
    assert (found.code, found.verdict, found.layer) == ("retry.amplified", Verdict.FAIL, Layer.CLIENT)
    assert (found.product, found.client, found.who_acts) == ("OpenAI SDK", "openai-py", WhoActs.CUSTOMER)
    assert found.factor is None
    assert (found.observed.k, found.observed.n) == (3, 3)
    figures = {name: figure.value for name, figure in found.figures.items()}
    assert figures == {
        "attempts": 3,
        "waited": pytest.approx(181.5),
        "paused": pytest.approx(1.5),
        "billed": 3,
    }
    assert (found.figures["billed"].low, found.figures["billed"].high) == (0, 3)
    assert found.conditions["retries"] == "the SDK's own"
    assert found.evidence == tuple(exchange.id for exchange in server.retried[0].exchanges)
    assert server.retried[0].trial.salt in dict(found.detail)["look up"]


def test_the_measurement_is_left_alone():
    """No trial of it has retries, and none of the figures here is a cutoff."""
    asked = case("length", (OPENAI,), hold=HOLD)
    server = Server(asked, lambda a: pace() if a.trial.request.stream else page())
    assert judge(asked, server)
    assert not any(call.trial.retries for call in server.calls)
    found, server = told(page(), page(), page(), raised=GAVE_UP)
    assert "cutoff" not in found[0].figures
    assert [call.trial.retries for call in server.calls] == [False, True]


def test_a_repeat_that_helped_is_a_warning():
    """The customer was served, but paid twice and waited for both."""
    [found], _ = told(page(), good(paused=0.5))
    assert (found.code, found.verdict) == ("retry.amplified", Verdict.WARN)
    assert (found.observed.k, found.observed.n) == (1, 2)
    assert found.figures["waited"].value == pytest.approx(100.5)
    assert (found.figures["billed"].low, found.figures["billed"].value) == (1, 2)


def test_a_refusal_costs_nothing():
    """A 429 of the door has nobody compute anything."""
    (found, *_), _ = told(page(0.1, 429), page(0.1, 429, 0.5), good(80.0, paused=1.0))
    assert found.figures["billed"].value == 1
    assert found.figures["attempts"].value == 3


def test_one_request_that_was_answered():
    """A pass where it was held as long as was asked for."""
    [found], _ = told(good(70.0))
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert "70.0 s" in found.title
    assert found.figures["attempts"].value == 1
    [found], _ = told(good(40.0))
    assert (found.code, found.verdict, found.reason) == (
        "not_measured",
        Verdict.INCONCLUSIVE,
        Reason.STOPPED_EARLY,
    )
    assert found.figures == {}


def test_a_failure_that_is_not_repeated():
    """Is told as what it is."""
    [found], _ = told(page(3.0, 404), raised=Raised("openai.NotFoundError", "Error code: 404"))
    assert found.code != "retry.amplified"
    assert "does not repeat" in dict(found.detail)["because"]


PAUSES = {
    "as the server asked": (page(125.0, 524, headers=[("retry-after", "120")]), "615 s"),
    "of its own": (page(125.0, 524), "paused to try again when"),
}


@pytest.mark.parametrize("last, says", PAUSES.values(), ids=PAUSES)
def test_a_pause_that_outlasts_the_probe(last, says):
    """The repeat is certain, its outcome is not; what it would come to is said as that."""
    [found], _ = told(last, raised=PAUSED)
    assert (found.code, found.verdict, found.reason) == (
        "retry.amplified",
        Verdict.INCONCLUSIVE,
        Reason.UNAVAILABLE,
    )
    assert says in dict(found.detail)["then"]
    assert found.figures["attempts"].high is None
    assert found.figures["waited"].high is None


def test_an_attempt_that_outlasts_the_probe():
    """At least so many requests and seconds; how it would have ended is not known."""
    [found], _ = told(page(), page(paused=0.5), ended(90.0, paused=1.0), raised=GAVE_UP)
    assert (found.code, found.verdict) == ("retry.amplified", Verdict.INCONCLUSIVE)
    assert "at least 3 requests" in found.title
    assert found.figures["waited"].high is None


def test_the_first_attempt_outlasts_the_probe():
    """Nothing was repeated as far as was seen."""
    [found], _ = told(ended(198.0), raised=GAVE_UP)
    assert found.code != "retry.amplified"
    assert found.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "attempts", [(page(), ended(3.0, "interrupted", 0.5)), (page(),)], ids=["waiting", "pausing"]
)
def test_somebody_ended_the_run(attempts):
    """That is no finding about the SDK."""
    [found], _ = told(*attempts, raised=STOPPED)
    assert (found.code, found.reason) == ("not_measured", Reason.INTERRUPTED)


def test_an_attempt_that_the_budget_kept_back():
    """One that was not sent is none."""
    kept = _seen(exchange(None, error=("limit", "connect")), 0.0, 0.5)
    kept = replace(kept, request=replace(kept.request, method=""), timeline=Timeline(end=0.0))
    [found], _ = told(page(), kept, raised=GAVE_UP)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert as_text([found]).count("504") >= 1


def test_a_redirect_within_an_attempt_is_none():
    """Two attempts, each led on once."""
    moved = _seen(exchange(307, b"", {"location": "/b"}), 0.1, None)
    (found, *_), _ = told(moved, page(), replace(moved, conditions={"paused": 0.5}), good())
    assert found.figures["attempts"].value == 2
    assert found.figures["billed"].value == 2


def test_a_refused_sdk_gives_way_to_the_next():
    """One that is turned away at the door can't show what a long request is."""

    def refused(asked):
        return answer("refused") if asked.client == "openai-py" else pace()

    [found], server = told(page(), page(), page(), raised=GAVE_UP, clients=(OPENAI, ASYNC), first=refused)
    assert found.client == "openai-py-async"
    [found], server = told(clients=(OPENAI, ASYNC), first=lambda _: answer("refused"))
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason.BLOCKED)
    assert server.sent == 2


def test_an_sdk_that_refuses_to_send():
    """Its guard, not an edge."""
    [found], _ = told(raised=Raised("anthropic.ValueError", "Streaming is required"))
    assert (found.code, found.layer) == ("client.guard", Layer.CLIENT)


@pytest.mark.parametrize("why", NotSent)
def test_what_was_not_sent(why):
    """Ends the case by its reason."""
    [found], _ = told(first=lambda _: why)
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason(why))


@pytest.mark.parametrize("first", ["server error", "html", "timeout", NO_EXCHANGE])
def test_a_server_that_has_no_short_stream(first):
    """Is told so, and nothing long is paid for."""
    found, server = told(first=lambda _: first)
    assert found[0].verdict is not Verdict.PASS
    assert server.retried == []


def test_clients_without_retries_are_not_asked():
    """curl and httpx repeat nothing."""
    mixed = case("length", (CURL, HTTPX, OPENAI), mode="experience")
    server = Repeated(mixed, lambda _: pace(), attempts=(page(),) * 3, raised=GAVE_UP)
    judge(mixed, server)
    assert {call.trial.client for call in server.calls} == {"openai-py"}
    assert KINDS["length"].unfit(mixed) is None
    assert "retries of its own" in KINDS["length"].unfit(case("length", (CURL, HTTPX), mode="experience"))


def test_the_plan_says_all_of_it():
    """Every attempt of every SDK that may be refused, and every limit."""
    asked = case("length", (OPENAI, ASYNC, CURL), mode="experience", hold=HOLD)
    _, server = told(page(0.1, 403), clients=(OPENAI, ASYNC))
    bound = KINDS["length"].bound(asked)
    assert bound.requests >= 2 * (1 + ATTEMPTS) >= server.sent
    assert bound.seconds == PATIENCE + ATTEMPTS * HOLD + (ATTEMPTS - 1) * LONGEST_PAUSE
    said = " ".join(KINDS["length"].foretells(asked))
    assert "the SDK's own retries" in said
    assert "198 s for all attempts" in said


# --- a gateway that repeats ------------------------------------------------------------------------------

SAYS = {
    "LiteLLM": ("x-litellm-attempted-retries", "2", 3),
    "Envoy": ("x-envoy-attempt-count", "3", 3),
}


@pytest.mark.parametrize("product, said", SAYS.items(), ids=SAYS)
def test_a_gateway_that_says_it_repeats(product, said):
    """Is told beside the SDK, with the number that it names, and whose it is to change."""
    header, value, times = said
    found, _ = told(page(180.0, headers=[(header, value)]), good(paused=0.5))
    by_gateway = found[1]
    assert (by_gateway.code, by_gateway.layer, by_gateway.product) == (
        "retry.amplified",
        Layer.GATEWAY,
        product,
    )
    assert by_gateway.who_acts is WhoActs.OPERATOR
    assert by_gateway.figures["attempts"].value == times
    assert by_gateway.observed.k == 1


@pytest.mark.parametrize(
    "header, value",
    [("x-litellm-attempted-retries", "0"), ("x-envoy-attempt-count", "1"), ("x-envoy-attempt-count", "many"),
     ("x-litellm-attempted-retries", "-3"), ("x-envoy-attempt-count", "9" * 30), ("x-envoy-attempt-count", "\u0663")],
)  # fmt: skip
def test_a_gateway_that_says_nothing_of_repeats(header, value):
    """One attempt, or no number, proves none."""
    found, _ = told(page(headers=[(header, value)]), good(paused=0.5))
    assert len(found) == 1


def test_a_gateway_that_repeats_is_told_of_by_the_measurement_too():
    """Beside the cutoff, which is another matter."""
    marked = page(60.0, headers=[("x-litellm-attempted-retries", "2")])
    asked = case("length", (OPENAI,), hold=HOLD)

    def mind(asked):
        if asked.trial.label.endswith("pace"):
            return pace()
        longer = {"last_token": 99.0, "last_byte": 99.0, "end": 99.0}
        return (
            replace(pace(), timeline=replace(pace().timeline, **longer))
            if asked.trial.request.stream
            else marked
        )

    found = judge(asked, Server(asked, mind))
    assert [f.code for f in found] == ["timeout.first_byte", "retry.amplified"]
    assert found[0].factor is Factor.STREAM


# --- a client's own limit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seconds, matches",
    [(600.4, "OpenAI SDK request timeout (600 s)"), (77.0, "another was set")],
    ids=["default", "another"],
)
def test_the_clients_own_limit_is_no_cutoff(seconds, matches):
    """600 s of the SDK are the SDK's, and named so; another number is one that somebody set."""
    agent = (("user-agent", "OpenAI/Python 3.57.0"),)
    gone = ended(seconds, "timeout")
    gone = attributed(replace(gone, request=replace(gone.request, headers=agent)))
    asked = case("length", (OPENAI,), hold=HOLD, deadline=2000.0)
    [found] = judge(asked, Server(asked, lambda a: pace() if a.trial.label.endswith("pace") else gone))
    assert (found.code, found.layer, found.product) == ("client.timeout", Layer.CLIENT, "OpenAI SDK")
    assert (found.who_acts, found.factor) == (WhoActs.CUSTOMER, None)
    assert found.figures["gave_up"].value == pytest.approx(seconds)
    assert matches in dict(found.detail)["matches"]


# --- in the lab ------------------------------------------------------------------------------------------

SDKS = (
    "openai-py",
    "openai-py-async",
    "openai-py-aiohttp",
    "anthropic-py",
    "anthropic-py-async",
    "anthropic-py-aiohttp",
)
QUICK = Clock(0.01)


def experienced(client, *faults, budget=None, clock=QUICK, **overrides):
    """A run of the case against a lab, and what arrived at its origin."""
    api = config.clients()[client].api
    with lab.serve(faults, clock=clock, keys=None) as served:
        target = target_from_flags(served.url(api), api, served.model, no_key=True, env_proxy=False)
        target = replace(target, budget=budget or target.budget)
        overrides = {"mode": "experience", "hold": "66", **overrides}
        order = Order(("long",), target, only=(client,), overrides=overrides, seed=1, clock=clock)
        return conduct(order, Secrets({})), list(served.origin.requests)


@pytest.mark.parametrize("client", SDKS)
def test_an_sdk_before_a_read_timer(client):
    """Three requests on the wire and at the origin; a wait of three timers and two pauses, which are no lab's."""
    run, arrived = experienced(client, "read-timer-60", tokens="400")
    [found] = run.findings
    assert (found.code, found.verdict, found.client) == ("retry.amplified", Verdict.FAIL, client)
    assert found.figures["attempts"].value == ATTEMPTS
    assert len(arrived) == 1 + found.figures["billed"].value  # and the short stream
    waited, paused = found.figures["waited"].value, found.figures["paused"].value
    assert waited - paused >= 3 * 60
    assert 0 < paused < 30
    assert run.spend.requests == 1 + ATTEMPTS
    assert judge(run.cases[0], replay(run, run.cases[0])) == [found]


def test_a_budget_that_does_not_bear_every_attempt():
    """Nothing of it is sent."""
    run, arrived = experienced("openai-py", "read-timer-60", budget=Budget(requests=3))
    [found] = run.findings
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason.BUDGET)
    assert len(arrived) == 1


def test_a_budget_of_tokens_lowers_the_cap():
    """To what it bears three times."""
    run, arrived = experienced("openai-py", budget=Budget(tokens=1000))
    assert run.spend.input_tokens + run.spend.output_tokens <= 1000
    assert len(arrived) == 2
    assert run.findings[0].reason is Reason.STOPPED_EARLY


@pytest.mark.parametrize("client", ["openai-py", "openai-py-async"])
def test_a_pause_that_a_lab_cannot_scale(monkeypatch, client):
    """`Retry-After: 120` of a scaled edge would be slept in full: pauses are bounded by the clock on the wall."""
    monkeypatch.setattr("probes.attempts._OWN_PAUSE", 0.2)
    run, arrived = experienced(client, "read-timer", hold="137", tokens="800", clock=Clock(0.005))
    [found] = run.findings
    assert (found.code, found.verdict) == ("retry.amplified", Verdict.INCONCLUSIVE)
    assert len(arrived) == 2
