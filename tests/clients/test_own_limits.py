"""Limits that nobody asked for: none of a library's own ends a request of ours, and an SDK's own is told as the SDK's."""

from __future__ import annotations

import errno
import importlib

import httpx
import pytest
from wire_server import (
    CLIENTS,
    DECLARED,
    EMULATED,
    STREAM_HEAD,
    chunk,
    delta,
    good,
    send,
    serving,
    session,
    trial,
)

from probes.attribution import attribute
from probes.client_rules import SDKS
from probes.clients import SendLimits, sender_class
from probes.kinds.length.limits import SDK_CONNECT, SDK_READ
from probes.model import Layer, WhoActs
from probes.signatures import catalogue
from probes.wire.tape import classify

SHORT, LONGER = 0.3, 1.0
SDK_CLIENTS = tuple(name for name, client in DECLARED.items() if client.kind in SDKS)
FAMILIES = ("httpx", "httpx2")


@pytest.fixture
def short_defaults(monkeypatch, tmp_path):
    """What the libraries, and a user's own curlrc, set where nobody says otherwise, in a fraction of its time."""
    for family in FAMILIES:
        config = importlib.import_module(f"{family}._config").DEFAULT_TIMEOUT_CONFIG
        for name in ("read", "write", "pool"):
            monkeypatch.setattr(config, name, SHORT)
    client = pytest.importorskip("aiohttp.client")
    monkeypatch.setattr(client, "DEFAULT_TIMEOUT", client.ClientTimeout(total=SHORT))
    (tmp_path / ".curlrc").write_text(f"max-time = {SHORT}\n")
    monkeypatch.setenv("HOME", str(tmp_path))


def slow(client):
    def script(peer, _):
        peer.pause(LONGER)
        peer.send(good(client))

    return script


@pytest.mark.parametrize("client", [*CLIENTS, EMULATED[0]])
@pytest.mark.usefixtures("short_defaults")
def test_no_hidden_limit(client):
    """An answer that takes longer than any default of any library is waited for."""
    with serving(slow(client)) as server:
        outcome = send(client, server.url, deadline=30.0)
    [exchange] = outcome.exchanges
    assert (exchange.status, exchange.error, outcome.raised) == (200, None, None)


@pytest.mark.usefixtures("short_defaults")
def test_such_limits_would_be_met():
    """The libraries as they come do give up on the same server: the test above can fail."""
    with serving(slow("httpx")) as server, pytest.raises(httpx.ReadTimeout):
        httpx.get(server.url, trust_env=False)


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_the_sdks_keep_their_own(client):
    """As their customers have it, and as a plan says; when an SDK changes that, this fails by its name."""
    module = sender_class(DECLARED[client]).module
    with session(client, "http://127.0.0.1:9") as opened:
        assert opened._sdk.timeout == module.DEFAULT_TIMEOUT
    assert (module.DEFAULT_TIMEOUT.read, module.DEFAULT_TIMEOUT.connect) == (SDK_READ, SDK_CONNECT)


@pytest.fixture
def impatient(monkeypatch):
    """Gives an SDK a default of its own that is short."""

    def make(client):
        base = importlib.import_module(f"{sender_class(DECLARED[client]).module.__name__}._base_client")
        monkeypatch.setattr(base, "DEFAULT_TIMEOUT", type(base.DEFAULT_TIMEOUT)(SHORT, connect=5.0))

    return make


def silent(peer, _):
    peer.wait()


def silent_after_a_token(peer, _):
    peer.send(STREAM_HEAD + chunk(delta("word ")))
    peer.wait()


@pytest.mark.parametrize(
    "script, phase", [(silent, "headers"), (silent_after_a_token, "body")], ids=["plain", "stream"]
)
@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_what_the_sdk_itself_gives_up(impatient, client, script, phase):
    """Is the client's, by its own name, and the customer's to change; no edge has part in it."""
    impatient(client)
    with serving(script) as server:
        outcome = send(client, server.url, deadline=30.0, stream=phase == "body")
    [exchange] = outcome.exchanges
    assert (exchange.error.kind, exchange.error.phase) == ("timeout", phase)
    found = attribute(exchange, catalogue())
    product = SDKS[DECLARED[client].kind]
    assert (found.code, found.layer, found.product) == ("client.timeout", Layer.CLIENT, product)
    assert found.who_acts is WhoActs.CUSTOMER


@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_our_own_deadline_is_not_the_sdks(impatient, client):
    """Where ours comes first it is the probe's."""
    impatient(client)
    with serving(silent) as server, session(client, server.url) as opened:
        outcome = opened.send(trial(client), SendLimits(SHORT / 3, 1 << 20))
    assert outcome.exchanges[-1].error.kind == "deadline"


@pytest.mark.parametrize("wrapped", ["httpx.ReadError", "httpcore.ReadError"])
def test_a_connection_that_the_system_gave_up(wrapped):
    """Is nobody's limit: what was sent was not acknowledged, such as when a path is lost."""
    module, name = wrapped.split(".")
    error = getattr(importlib.import_module(module), name)("read failed")
    error.__cause__ = OSError(errno.ETIMEDOUT, "Connection timed out")
    assert classify(error)[0] == "lost"
    assert classify(TimeoutError("timed out"))[0] == "timeout"
