"""What does a pool find of a connection that idled, and who gave it up?"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from wire_server import DECLARED, POOLED, good, serving, session, trial

from probes.clients import SendLimits

LIMITS = SendLimits(30, 1 << 20)
GOOD_BYE = b"HTTP/1.1 408 Request Time-out\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
ENDS = {
    "closed": lambda peer: peer.close(),
    "reset": lambda peer: peer.reset(),
    "data": lambda peer: peer.send(GOOD_BYE),
}


def two_calls(client, act):
    """Two calls on one named session; between them the server acts on the idle connection."""
    idle, acted = threading.Event(), threading.Event()

    def script(peer, _):
        peer.send(good(client))
        if len(peer.server.requests) == 1 and act:
            idle.wait(30)
            act(peer)
            acted.set()

    with serving(script) as server, session(client, server.url) as opened:
        first = opened.send(replace(trial(client), session="kept"), LIMITS)
        idle.set()
        assert act is None or acted.wait(30)
        second = opened.send(replace(trial(client), session="kept"), LIMITS)
    return first.exchanges[0], second.exchanges[0]


@pytest.mark.parametrize("client", POOLED)
@pytest.mark.parametrize("how", ENDS)
def test_the_peers_end_is_told(client, how):
    """The client opens another connection, and that is no error; how the old one ended stands beside it."""
    first, second = two_calls(client, ENDS[how])
    assert (first.status, second.status, second.error) == (200, 200, None)
    assert (second.conditions["connection"], second.conditions["idle_end"]) == ("new", how)
    assert "idle_end" not in first.conditions


@pytest.mark.parametrize("client", POOLED)
def test_one_that_lives_has_no_end(client):
    """It is used again."""
    _, second = two_calls(client, None)
    assert second.conditions["connection"] == "reused"
    assert "idle_end" not in second.conditions


@pytest.mark.parametrize("client", [name for name in POOLED if DECLARED[name].kind == "raw_httpx"])
def test_plain_httpx_keeps_what_is_to_be_used_again(client):
    """Its pool gives up idle connections after 5 s, but not those of a named session."""
    with serving(lambda peer, _: peer.send(good(client))) as server, session(client, server.url) as opened:
        opened.send(trial(client), LIMITS)
        assert opened._http._transport._inner._pool._keepalive_expiry == 5.0
        opened.send(replace(trial(client), session="kept"), LIMITS)
        assert opened._http._transport._inner._pool._keepalive_expiry is None
