"""Is a client's own leaving behind the end marker an error of the stream?"""

from __future__ import annotations

import json

import pytest
from wire_server import CLIENTS, STREAM_HEAD, chunk, delta, send, serving

from probes.attribution import attribute
from probes.signatures import catalogue

LAST = {"index": 0, "delta": {}, "finish_reason": "stop"}
END = b"data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [LAST]}).encode() + b"\n\n"  # fmt: skip


@pytest.mark.parametrize("client", [name for name in CLIENTS if name.startswith("openai")])
def test_what_a_client_cancels_behind_the_end_marker_is_whole(client):
    """Its response's last chunk does not come before the client has left: that is no fault of the answer's."""

    def script(peer, _):
        peer.send(STREAM_HEAD + chunk(delta("Hi")) + chunk(END) + chunk(b"data: [DONE]\n\n"))
        peer.wait()

    with serving(script) as server:
        call = send(client, server.url, stream=True)
    seen = call.exchanges[0]
    assert (seen.error, call.raised) == (None, None)
    assert (seen.facts["terminal"], seen.facts["complete"]) == ("[DONE]", None)
    assert attribute(seen, catalogue()).code == "ok"
