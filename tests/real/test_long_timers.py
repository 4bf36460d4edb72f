"""Are the timers of real servers measured, and each put down to the server that has it?

The servers keep to the machine's clock, the probe and the slow API to one that is 30 times as fast: two seconds are the
minute that these timers have where nobody touches them.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from asking import ask, at
from servers import apache, haproxy, nginx, varnish

from probes import lab
from probes.clock import Clock
from probes.lab.behaviour import Behaviour, Pause
from probes.lab.faults import Do, Fault, When

pytestmark = [pytest.mark.real, pytest.mark.realtime]
SCALE = 1 / 30
TIMER, OFF = 60.0, 3.0
"""Seconds, and by how many a busy machine may be late: 0.1 of its own."""
TPOT = 1.0

SERVERS = {
    "nginx": lambda folder, origin: nginx(folder, origin, "proxy_read_timeout 2s;"),
    "HAProxy": lambda folder, origin: haproxy(folder, origin, behind="timeout server 2s"),
    "Varnish": lambda folder, origin: varnish(
        origin, behind=".first_byte_timeout = 2s; .between_bytes_timeout = 2s;"
    ),
    "Apache": lambda folder, origin: apache(origin, "ProxyTimeout 2"),
}
STATUS = {"nginx": 504, "HAProxy": 504, "Varnish": 503, "Apache": 502}


@contextmanager
def a_slow_api(*faults):
    with lab.serve(faults, clock=Clock(SCALE), prefill=1.0, tpot=TPOT) as running:
        yield at(running.origin)


@pytest.fixture
def told(edgeprobe, monkeypatch):
    def call(base_url, **params):
        sets = [word for key, value in params.items() for word in ("--set", f"{key}={value}")]
        return ask(edgeprobe, monkeypatch, "long", base_url, "--time-scale", str(SCALE), *sets)

    return call


def find(run, code):
    found = [f for f in run.troubles() if f["code"] == code]
    assert found, [(f["code"], f["title"], f["detail"]) for f in run.document["findings"]]
    return found[0]


@pytest.mark.parametrize("server", SERVERS)
def test_a_timer_of_the_first_byte(told, tmp_path, server):
    """Only what is not streamed is cut, after the timer's time, by the server, whatever its page says."""
    with a_slow_api() as origin, SERVERS[server](tmp_path, origin) as base_url:
        run = told(base_url, hold=66, tokens=80)
    found = find(run, "timeout.first_byte")
    assert (run.code, found["verdict"], found["factor"]) == (1, "fail", "stream")
    assert (found["layer"], found["product"]) == ("edge", server)
    assert found["figures"]["cutoff"]["value"] == pytest.approx(TIMER, abs=OFF)
    by_id = {exchange["id"]: exchange for exchange in run.exchanges}
    cut, lived = by_id[found["variant"]], by_id[found["control"]]
    assert (cut["request"]["stream"], cut["status"]) == (False, STATUS[server])
    assert (lived["request"]["stream"], lived["status"]) == (True, 200)
    assert lived["timeline"]["end"] > TIMER


@pytest.mark.parametrize("server", SERVERS)
def test_a_timer_between_two_bytes(told, tmp_path, server):
    """A stream that falls silent in the middle is closed after the timer's time of silence; the whole answer is not.

    Nothing of what is left says whose timer it was, so no layer is claimed, and those that match are suspects.
    """
    pause = Fault("pause", "", Do(model=Behaviour(pause=Pause(after=20, seconds=90))), When(stream=True))
    with a_slow_api(pause) as origin, SERVERS[server](tmp_path, origin) as base_url:
        run = told(base_url, hold=35, tokens=40)
    found = find(run, "timeout.idle")
    assert (run.code, found["verdict"], found["factor"]) == (1, "fail", None)
    assert (found["layer"], found["product"]) == ("unknown", None)
    assert found["figures"]["cutoff"]["value"] == pytest.approx(TIMER, abs=OFF)
    [cut] = [e for e in run.exchanges if e["id"] in found["evidence"] and e["request"]["stream"]]
    assert (cut["status"], cut["error"]["kind"]) == (200, "closed")
    assert cut["timeline"]["end"] == pytest.approx(20 + TIMER, abs=2 * OFF)
    if server != "HAProxy":  # it has no timer where nobody set one
        assert f"{server} " in found["detail"].split("matches: ")[1].splitlines()[0]


@pytest.mark.parametrize("server", SERVERS)
def test_no_timer_is_met(told, tmp_path, server):
    """An answer that is whole before the timer passes, and says how far that was."""
    with a_slow_api() as origin, SERVERS[server](tmp_path, origin) as base_url:
        run = told(base_url, hold=40, tokens=45)
    [found] = run.document["findings"]
    assert (run.code, found["code"]) == (0, "ok")
    assert 40 <= found["figures"]["held"]["value"] < TIMER
