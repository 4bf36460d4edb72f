"""What reaches the server of a run: no more than the run says."""

from __future__ import annotations

import os
import re

import pytest
from labruns import CLOCK, KEY, target_at
from wire_server import answer, serving

from probes.conduct import Order, conduct
from probes.credentials import Secrets


@pytest.mark.parametrize(
    "status, fields",
    [("429 Too Many Requests", [("llm_provider-retry-after", "30")]), ("529 Overloaded", [])],
    ids=["429", "529"],
)
def test_every_arrival_is_a_call_of_the_run(status, fields):
    """What invites retries gets none: as many requests arrive as the run shows, and no SDK counts a second attempt (C65)."""
    body = b'{"error":{"message":"Try again","type":"requests","param":null,"code":"rate_limit_exceeded"}}'
    always = answer(body, status, [("content-type", "application/json"), *fields])
    with serving(lambda peer, _: peer.send(always)) as server:
        secrets = Secrets({**os.environ, KEY: "sk-x"})
        made = conduct(Order(("smoke",), target_at(server.url), seed=7, clock=CLOCK), secrets)
        arrived = [request for request in server.requests if request]
    shown = [e for call in made.calls for e in call.exchanges if e.request.method]
    assert len(arrived) == len(shown)
    counts = [re.findall(rb"(?i)\r\nx-stainless-retry-count: *(\d+)", request) for request in arrived]
    assert {found[0] for found in counts if found} == {b"0"}
