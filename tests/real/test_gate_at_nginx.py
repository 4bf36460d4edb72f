"""Is a change of a real nginx stopped by the gate, and blamed on the right thing?"""

from __future__ import annotations

import json

import pytest
from servers import nginx

from probes import lab
from probes.clock import Clock

pytestmark = [pytest.mark.real, pytest.mark.realtime]
SUITE = """\
version: 1
name: quick
cases:
  - {kind: completion, clients: [openai-py, httpx]}
  - {kind: streaming, clients: [httpx], with: {repeats: 16, cap: 12}}
"""
PLAIN = "proxy_http_version 1.1; proxy_buffering off;"
HELD = "proxy_http_version 1.0; proxy_buffering on;"
RULE = 'if ($http_user_agent ~ "OpenAI") { return 403; }'
CHANGES = {
    "nothing": ("", PLAIN, set()),
    "a rule against a user agent": (RULE, PLAIN, {("regression.outcome", "openai-py", "nginx")}),
    "streams are buffered": ("", HELD, {("regression.latency", "httpx", None)}),
}


@pytest.mark.parametrize(("rules", "proxy", "found"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed_as_what_it_is(edgeprobe, reports, tmp_path, monkeypatch, rules, proxy, found):
    """Against a run through nginx as it was before; where nothing changed, nothing is said to be worse."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.yaml").write_text(SUITE)

    def run(base_url, *flags):
        target = ("--base-url", base_url, "--api", "openai", "--model", lab.MODEL, "--no-key")
        return edgeprobe("run", "./quick.yaml", *target, *flags)

    with lab.serve(clock=Clock(), keys=None, prefill=0.3, tpot=0.04) as running:
        origin = f"127.0.0.1:{running.origin.server.port}"
        with nginx(tmp_path, origin, proxy=PLAIN) as base_url:
            assert run(base_url).code == 0
        [good] = reports.glob("*.json")
        with nginx(tmp_path, origin, rules, proxy=proxy) as base_url:
            for _ in range(5):
                said = run(base_url, "--baseline", good.stem, "--json", "-")
                told = json.loads(said.out)["findings"]
                worse = [one for one in told if one["code"].startswith("regression.")]
                if worse or "the probe itself was late" not in said.err:  # a busy machine spoils times
                    break
    assert {(one["code"], one["client"], one["product"]) for one in worse} == found, said.err
    assert (said.code == 1) is bool(found)
    if proxy == HELD:
        assert {one["title"].partition(" of ")[0] for one in worse} == {"TTFT"}
