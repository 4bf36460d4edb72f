"""Is a reload of a real nginx told by the canary that watches it, and named by the mark that was made of it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from servers import nginx, program, reload_nginx

from probes import lab
from probes.canary import About
from probes.clock import Clock
from probes.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.real, pytest.mark.realtime]
SUITE = """
version: 1
name: small
cases:
  - {kind: completion, clients: [openai-py, httpx, curl], with: {patience: 60}}
"""
TARGET = (
    "version: 1\nname: api\napi: openai\nmodel: MODEL\nkey_env: null\nroutes: {edge: {base_url: 'URL'}}\n"
)
CANARY = "version: 1\nlisten: null\nmust_fail: null\nentries: [{name: door, suite: small, target: api, every: 1h}]\n"
RULE = "add_header X-Edge-Rule 7 always; if ($http_user_agent ~* openai) { return 403; }"


@pytest.fixture
def origin() -> Iterator[str]:
    """A healthy keyless API, in real time; as host:port."""
    program("curl")
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.02) as running:
        yield f"127.0.0.1:{running.origin.server.port}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("marked", [False, True], ids=["unmarked", "marked"])
def test_a_new_user_agent_rule(edgeprobe, origin, tmp_path, monkeypatch, reports, marked):
    """The block is an alert, which names the mark; what else changed in the edge's look is told where no mark explains it,
    and before and after the mark can be compared.
    """
    monkeypatch.chdir(tmp_path)
    for folder in ("configs/targets", "suites"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "suites/small.yaml").write_text(SUITE)
    (tmp_path / "configs/canary.yaml").write_text(CANARY)
    with nginx(tmp_path, origin, reloads=True) as base_url:
        text = TARGET.replace("URL", base_url).replace("MODEL", lab.MODEL)
        (tmp_path / "configs/targets/api.yaml").write_text(text)
        assert [edgeprobe("watch", "--once").code for _ in range(3)] == [0, 0, 0]
        if marked:
            assert edgeprobe("mark", "user-agent rule").code == 0
        reload_nginx(tmp_path, base_url, origin, RULE)
        assert [edgeprobe("watch", "--once").code for _ in range(3)] == [1, 1, 1]
    with Memory.open() as memory:
        told = {alert.key.about: alert for alert in memory.alerts(open_only=False)}
    block = told[About.SERVICE]
    assert (block.key.product, block.clients) == ("nginx", ("openai-py",)), block
    assert ('"user-agent rule"' in block.text) == marked
    assert (About.CHANGE in told) == (not marked)
    if not marked:
        assert told[About.CHANGE].key.code == "regression.fingerprint"
        assert "x-edge-rule" in told[About.CHANGE].title
    else:
        compared = edgeprobe("compare", "user-agent rule")
        assert compared.code == 1
        assert "openai-py" in compared.out
        assert "edge | nginx" in compared.out
