"""Are the timers of real servers measured, and each put down to the server that has it?

The servers keep to the machine's clock, the probe and the slow API to one that is 20 times as fast: three seconds are the
minute that these timers have where nobody touches them. Several are measured at once, since they do no more than wait;
a machine that is busy with something else is late now and then, so the best of three counts.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from asking import KEY, at
from servers import apache, haproxy, nginx, varnish

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.lab.behaviour import Behaviour, Pause
from probes.lab.faults import Do, Fault, When
from probes.model import Factor, Layer, Run, Verdict

pytestmark = [pytest.mark.real, pytest.mark.realtime, pytest.mark.timeout(300)]
CLOCK = Clock(1 / 20)
TIMER, OFF = 60.0, 4.0
"""Seconds; 0.2 of the machine's, since Varnish was seen to be 0.13 s late between two bytes."""
AT_ONCE = "option http-no-delay"
"""Else HAProxy holds each token back for the 200 ms that the kernel waits for more (MSG_MORE)."""
SERVERS = {
    "nginx": lambda folder, origin: nginx(folder, origin, "proxy_read_timeout 3s;"),
    "HAProxy": lambda folder, origin: haproxy(folder, origin, behind=f"{AT_ONCE}\n  timeout server 3s"),
    "Varnish": lambda _, origin: varnish(
        origin, behind=".first_byte_timeout = 3s; .between_bytes_timeout = 3s;"
    ),
    "Apache": lambda _, origin: apache(origin, "ProxyTimeout 3"),
}
STATUS = {"nginx": 504, "HAProxy": 504, "Varnish": 503, "Apache": 502}
PAUSE = Fault("pause", "", Do(model=Behaviour(pause=Pause(after=1, seconds=90))), When(stream=True))
# nginx does not set a timer anew within 0.3 s of the last time (ngx_event_timer.h), so its silence starts later than that.
QUESTIONS = {
    "first byte": ((), 1.0, {"hold": "66", "tokens": "80"}),
    "between two bytes": ((PAUSE,), 24.0, {"hold": "35", "tokens": "30"}),
    "none": ((), 1.0, {"hold": "40", "tokens": "45"}),
}
"""Faults, seconds to the first token, and what the suite is told."""


def run(server: str, question: str) -> Run:
    faults, prefill, overrides = QUESTIONS[question]
    with (
        tempfile.TemporaryDirectory() as folder,
        lab.serve(faults, clock=CLOCK, prefill=prefill, tpot=1.0) as api,
        SERVERS[server](Path(folder), at(api.origin)) as base_url,
    ):
        target = target_from_flags(base_url, "openai", api.model, key_env=KEY, env_proxy=False, owned=True)
        secrets = Secrets({**os.environ, KEY: lab.LAB_KEY})
        return conduct(Order(("long",), target, overrides=overrides, seed=7, clock=CLOCK), secrets)


@cache
def first_runs():
    with ThreadPoolExecutor(4) as pool:
        asked = [(server, question) for question in QUESTIONS for server in SERVERS]
        made = [pool.submit(run, *row) for row in asked]
        return dict(zip(asked, made, strict=True))


def measured(server: str, question: str) -> Run:
    made = first_runs()[server, question].result()
    for _ in range(2):
        if question == "none" or any(near(finding) for finding in made.findings):
            break
        made = run(server, question)
    return made


def near(finding) -> bool:
    cutoff = finding.figures.get("cutoff")
    return cutoff is not None and abs(cutoff.value - TIMER) <= OFF


def told(made: Run) -> str:
    return "\n".join(f"{f.code} {f.title} {f.detail}" for f in made.findings)


@pytest.mark.parametrize("server", SERVERS)
def test_a_timer_of_the_first_byte(server):
    """Only what is not streamed is cut, after the timer's time, by the server, whatever its page says."""
    made = measured(server, "first byte")
    [found] = made.findings
    assert (found.code, found.verdict, found.factor) == ("timeout.first_byte", Verdict.FAIL, Factor.STREAM), (
        told(made)
    )
    assert (found.layer, found.product) == (Layer.EDGE, server)
    assert near(found), told(made)
    by_id = {exchange.id: exchange for call in made.calls for exchange in call.exchanges}
    cut, lived = by_id[found.variant], by_id[found.control]
    assert (cut.request.stream, cut.status) == (False, STATUS[server])
    assert (lived.request.stream, lived.status) == (True, 200)
    assert lived.timeline.end > TIMER
    if server != "HAProxy":  # it has no timer where nobody set one
        assert f"{server} " in dict(found.detail)["matches"]


@pytest.mark.parametrize("server", SERVERS)
def test_a_timer_between_two_bytes(server):
    """A stream that falls silent in the middle is closed after the timer's time of silence; the whole answer is not.

    Nothing of what is left says whose timer it was, so no layer is claimed, and only what was seen on the way is said to match.
    """
    made = measured(server, "between two bytes")
    [found] = made.findings
    assert (found.code, found.verdict, found.factor) == ("timeout.idle", Verdict.FAIL, None), told(made)
    assert (found.layer, found.product) == (Layer.UNKNOWN, None)
    assert near(found), told(made)
    cut = next(e for c in made.calls for e in c.exchanges if e.id in found.evidence and e.request.stream)
    assert (cut.status, cut.error.kind) == (200, "closed")
    assert cut.timeline.end > 24 + TIMER - OFF
    rows = dict(found.detail)
    if server == "nginx":  # it names itself in what passes through it; Apache hands on the origin's name
        assert "nginx " in rows["matches"]
    if server == "Apache":
        assert "matches" not in rows
        assert "Apache" in rows["no match"]


@pytest.mark.parametrize("server", SERVERS)
def test_no_timer_is_met(server):
    """An answer that is whole before the timer passes, and says how far that was."""
    [found] = measured(server, "none").findings
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert 40 <= found.figures["held"].value < TIMER
