"""Is a read timer of 125 s measured in unscaled time, as it is in front of customers?"""

from __future__ import annotations

import pytest
from asking import an_api, ask, at
from servers import nginx

pytestmark = [pytest.mark.real, pytest.mark.realtime, pytest.mark.slow, pytest.mark.timeout(300)]
TIMER, TOLD = 125, 270


def test_a_read_timer_of_125_seconds(edgeprobe, monkeypatch, tmp_path):
    """To the second, on the side that is not streamed, by the server that has it; the streamed side is whole."""
    with (
        an_api(tpot=0.5) as origin,
        nginx(tmp_path, at(origin), f"proxy_read_timeout {TIMER}s;") as base_url,
    ):
        run = ask(edgeprobe, monkeypatch, "long", base_url, "--set", "hold=130", "--set", f"tokens={TOLD}")
    [found] = run.troubles()
    assert (run.code, found["code"], found["verdict"]) == (1, "timeout.first_byte", "fail")
    assert (found["layer"], found["product"], found["factor"]) == ("edge", "nginx", "stream")
    cutoff = found["figures"]["cutoff"]
    assert cutoff["value"] == pytest.approx(TIMER, abs=1)
    assert cutoff["low"] <= TIMER <= cutoff["high"]
    by_id = {exchange["id"]: exchange for exchange in run.exchanges}
    cut, lived = by_id[found["variant"]], by_id[found["control"]]
    assert (cut["request"]["stream"], cut["status"]) == (False, 504)
    assert (lived["request"]["stream"], lived["status"]) == (True, 200)
    assert lived["timeline"]["end"] > TIMER + 1
    assert lived["usage"]["completion_tokens"] == TOLD
