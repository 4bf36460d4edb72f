"""Is the right thing said of a model gateway that knows nothing of us?"""

from __future__ import annotations

import json

import pytest
from servers import program, smg

from probes import lab
from probes.clock import Clock

pytestmark = [pytest.mark.real, pytest.mark.realtime]


@pytest.fixture(scope="module")
def worker():
    program("smg")
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.01) as running:
        yield running.origin


@pytest.fixture(scope="module")
def gateway(worker, tmp_path_factory):
    """smg 1.13.0 in front of a healthy worker."""
    with smg(tmp_path_factory.mktemp("smg"), f"127.0.0.1:{worker.server.port}") as base_url:
        yield base_url


def run(edgeprobe, suite, base_url, model, *flags):
    target = ("--base-url", base_url, "--api", "openai", "--model", model, "--no-key")
    said = edgeprobe("run", suite, *target, *flags, "--json", "-")
    return said.code, json.loads(said.out)


@pytest.mark.xdist_group("smg")
def test_a_healthy_gateway_passes(edgeprobe, gateway, worker):
    """Whole answers and whole streams come through, as each genuine client asks for them."""
    before = len(worker.requests)
    code, document = run(edgeprobe, "smoke", gateway, lab.MODEL)
    assert (code, document["verdict"]) == (0, "pass"), document["findings"]
    assert {finding["kind"] for finding in document["findings"]} == {
        "connection", "identity", "completion", "streaming", "error_format",
    }  # fmt: skip
    asked = [arrival for arrival in worker.requests[before:] if arrival.path == "/v1/chat/completions"]
    assert sum(arrival.status == 200 for arrival in asked) == 11


@pytest.mark.xdist_group("smg")
def test_a_model_that_no_worker_has(edgeprobe, gateway):
    """The gateway's own 404 is taken for what it says: no such model."""
    code, document = run(edgeprobe, "smoke", gateway, "no-such-model", "--client", "httpx")
    troubles = [f for f in document["findings"] if f["kind"] in {"completion", "streaming"}]
    assert code == 1
    assert {(finding["code"], finding["verdict"]) for finding in troubles} == {("model.not_found", "fail")}


@pytest.mark.xdist_group("smg")
def test_the_cache_behind_it_is_found(edgeprobe, gateway):
    """Hits and what usage tells of them come through it unchanged, on new connections and on kept ones."""
    code, document = run(edgeprobe, "cache", gateway, lab.MODEL)
    [found] = document["findings"]
    assert (code, found["code"]) == (0, "ok"), found
    reads = [e for e in document["exchanges"] if e["label"].endswith("/warm")]
    assert len(reads) >= 10
    assert all(e["usage"]["prompt_tokens_details"]["cached_tokens"] >= 1024 for e in reads)
