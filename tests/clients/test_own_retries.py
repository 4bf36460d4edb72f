"""An SDK that is left its own retries: what goes on the wire, how long it pauses, and how it is ended nevertheless."""

from __future__ import annotations

import re
import threading
from dataclasses import replace

import pytest
from wire_server import DECLARED, answer, good, serving, session, trial

from probes.attempts import ATTEMPTS
from probes.client_rules import SDKS
from probes.clients import SendLimits, sender_class

SDK_CLIENTS = tuple(name for name, client in DECLARED.items() if client.kind in SDKS)
ENDED = {"probes.Ended", "asyncio.CancelledError"}
ASKS_A_MINUTE = answer(b"{}", "503 Service Unavailable", [("retry-after", "60")])


UNAVAILABLE = answer(b"{}", "503 Service Unavailable")


def failing(client, times, first=UNAVAILABLE):
    """A server that is well after so many requests."""
    left = iter(range(times))
    return lambda peer, _: peer.send(good(client) if next(left, None) is None else first)


def call(client, url, *, retries=True, deadline=30.0, **limits):
    with session(client, url) as opened:
        return opened.send(replace(trial(client), retries=retries), SendLimits(deadline, 1 << 20, **limits))


def numbers(server):
    found = [re.search(rb"(?im)^x-stainless-retry-count: (\d+)\r$", raw) for raw in server.requests]
    return [int(each[1]) for each in found]


def made(outcome):
    return [(exchange.status, exchange.error) for exchange in outcome.exchanges]


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_the_budget_bears_what_the_sdk_tries(client):
    """As many as it makes by default; when an SDK changes that, this fails by its name."""
    sender = sender_class(DECLARED[client])
    assert sender.module.DEFAULT_MAX_RETRIES + 1 == ATTEMPTS
    assert sender.client_class(api_key="k").max_retries + 1 == ATTEMPTS


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_each_attempt_is_an_exchange(client):
    """With its own number on the wire, and the pause before it; the user sees only the last."""
    with serving(failing(client, 2)) as server:
        outcome = call(client, server.url)
    assert made(outcome) == [(503, None), (503, None), (200, None)]
    assert numbers(server) == [0, 1, 2]
    assert outcome.returned == "str: Hi."
    first, *later = (exchange.conditions for exchange in outcome.exchanges)
    assert "paused" not in first
    assert all(0 < conditions["paused"] < 30 for conditions in later)


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_nothing_else_differs(client):
    """The first request is, byte for byte, the one of a measurement, which is not repeated."""
    with serving(failing(client, 9)) as server:
        outcome = call(client, server.url, retries=False)
        measured = server.requests.copy()
        assert made(outcome) == [(503, None)]
        with session(client, server.url) as opened:
            assert opened.send(replace(trial(client), retries=True), SendLimits(0.2, 1 << 20)).exchanges
    assert len(measured) == 1
    assert server.requests[1] == measured[0]


@pytest.mark.parametrize("how", ["deadline", "stop"])
@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_a_pause_is_not_waited_for(client, how):
    """However long the server has it pause; what it would have sent after that is not sent, and no exchange."""
    stopping = []

    def on_stop(stop):
        if how == "stop":
            stopping.append(threading.Timer(0.3, stop, ("interrupted",)))
            stopping[0].start()

    with serving(failing(client, 9, ASKS_A_MINUTE)) as server:
        outcome = call(client, server.url, deadline=0.3 if how == "deadline" else 30.0, on_stop=on_stop)
        assert made(outcome) == [(503, None)]
        assert outcome.raised.type in ENDED
        assert outcome.raised.text.endswith("deadline" if how == "deadline" else "interrupted")
        assert len(server.requests) == 1


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_an_attempt_that_outlasts_the_deadline_is_ended(client):
    """The deadline is for all of them together."""

    def script(peer, _):
        if len(peer.server.requests) > 1:
            peer.wait()
        peer.send(answer(b"{}", "503 Service Unavailable", [("retry-after-ms", "1")]))

    with serving(script) as server:
        outcome = call(client, server.url, deadline=0.6)
    assert [exchange.status for exchange in outcome.exchanges] == [503, None]
    assert outcome.exchanges[-1].error.kind == "deadline"


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_an_attempt_that_may_not_be_sent(client):
    """Is seen as such, and the server gets no more."""
    with serving(failing(client, 9)) as server:
        outcome = call(client, server.url, may_go_on=lambda: "the budget of requests is used up")
    assert len(server.requests) == 1
    assert outcome.exchanges[0].error is None
    assert {exchange.error.kind for exchange in outcome.exchanges[1:]} == {"limit"}


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_a_redirect_is_no_attempt(client):
    """It is followed at once, and nothing paused."""

    def script(peer, raw):
        moved = answer(b"", "307 Temporary Redirect", [("location", "/moved")])
        peer.send(good(client) if raw.startswith(b"POST /moved") else moved)

    with serving(script) as server:
        outcome = call(client, server.url)
    assert made(outcome) == [(307, None), (200, None)]
    assert all("paused" not in exchange.conditions for exchange in outcome.exchanges)
