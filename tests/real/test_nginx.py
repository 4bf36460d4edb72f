"""Does the probe tell what a real nginx does to an API behind it?"""

from __future__ import annotations

import json

import pytest
import trustme
from servers import free_port, nginx, program

from probes import lab
from probes.clock import Clock

pytestmark = [pytest.mark.real, pytest.mark.realtime]
GENUINE = {"openai-py", "openai-py-async", "openai-py-aiohttp", "httpx", "curl"}


@pytest.fixture
def origin():
    """A healthy keyless API, in real time; as host:port."""
    program("curl")
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.02) as running:
        yield f"127.0.0.1:{running.origin.server.port}"


@pytest.fixture
def slow_origin():
    """The same, at 5 tokens a second."""
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.2) as running:
        yield f"127.0.0.1:{running.origin.server.port}"


@pytest.fixture
def run(edgeprobe, tmp_path):
    """`edgeprobe run` against a base URL: its exit code, and the run as JSON."""

    def call(suite: str, base_url: str, *flags: str):
        path = tmp_path / "run.json"
        target = ("--base-url", base_url, "--api", "openai", "--model", lab.MODEL, "--no-key")
        said = edgeprobe("run", suite, *target, *flags, "--no-store", "--json", str(path))
        assert path.exists(), said.err
        return said.code, json.loads(path.read_text())

    return call


def troubles(document):
    return [finding for finding in document["findings"] if finding["verdict"] != "pass"]


def test_a_healthy_edge_passes(run, origin, tmp_path):
    """Every genuine client passes, and each answer is known to have come through nginx from the API."""
    with nginx(tmp_path, origin) as base_url:
        code, document = run("smoke", base_url)
    assert (code, document["verdict"]) == (0, "pass")
    assert troubles(document) == []
    assert {exchange["client"] for exchange in document["exchanges"]} == GENUINE | {"dialer"}
    made = [exchange["attribution"] for exchange in document["exchanges"] if exchange["status"]]
    assert {(tuple(m["transit"]), m["layer"]) for m in made if m["code"] == "ok"} == {(("nginx",), "origin")}


def test_a_healthy_edge_passes_over_tls(run, origin, tmp_path, monkeypatch):
    """With a private authority that the environment trusts, every client verifies the certificate and passes."""
    authority, certificate = trustme.CA(), tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    for stronger in ("SSL_CERT_DIR", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(stronger, raising=False)
    with nginx(tmp_path, origin, certificate=certificate) as base_url:
        code, document = run("smoke", base_url)
    assert (code, document["verdict"]) == (0, "pass")
    assert {exchange["client"] for exchange in document["exchanges"]} == GENUINE | {"curl-h2", "dialer"}
    assert all(exchange["timeline"]["tls"] is not None for exchange in document["exchanges"])


def test_a_user_agent_rule(run, origin, tmp_path):
    """The SDK is refused by nginx for its user agent, and the SDK's own headers are cleared of it."""
    with nginx(tmp_path, origin, "if ($http_user_agent ~* openai) { return 403; }") as base_url:
        code, document = run("identity", base_url)
    [found] = troubles(document)
    assert (code, document["verdict"]) == (1, "fail")
    assert (found["code"], found["verdict"], found["client"]) == ("blocked.client", "fail", "openai-py")
    assert (found["layer"], found["product"]) == ("edge", "nginx")
    assert (found["factor"], found["confidence"]) == ("user_agent", "high")
    assert "with or without x-stainless-* headers" in " ".join(found["detail"].split())
    assert found["reproduce"]["verified"] is True


def test_nothing_behind_the_edge(run, tmp_path):
    """nginx's 502 is not put down to the API, which never saw the requests."""
    with nginx(tmp_path, f"127.0.0.1:{free_port()}") as base_url:
        code, document = run("smoke", base_url)
    assert (code, document["verdict"]) == (1, "fail")
    found = {f["kind"]: f for f in troubles(document) if f["kind"] in {"completion", "streaming"}}
    assert set(found) == {"completion", "streaming"}
    for finding in found.values():
        assert (finding["code"], finding["layer"], finding["product"]) == (
            "unreachable.origin",
            "edge",
            "nginx",
        )


def test_a_read_timer(run, slow_origin, tmp_path):
    """A read timer of 2 s cuts an answer that takes 4 s, unless it is streamed; the timer is measured."""
    with nginx(tmp_path, slow_origin, "proxy_read_timeout 2s;") as base_url:
        code, document = run("long", base_url, "--set", "hold=3", "--set", "tokens=20")
    [found] = troubles(document)
    assert (code, found["code"], found["verdict"]) == (1, "timeout.first_byte", "fail")
    assert (found["layer"], found["product"], found["factor"]) == ("edge", "nginx", "stream")
    assert found["figures"]["cutoff"]["value"] == pytest.approx(2.0, abs=0.3)
    assert found["figures"]["cutoff"]["unit"] == "s"
    by_id = {exchange["id"]: exchange for exchange in document["exchanges"]}
    assert (by_id[found["variant"]]["status"], by_id[found["control"]]["status"]) == (504, 200)
    assert by_id[found["control"]]["timeline"]["end"] > 3
    assert "matches: " in found["detail"]


@pytest.mark.parametrize("secured", [False, True], ids=["http", "https"])
def test_a_keepalive_timer_is_bracketed(run, origin, tmp_path, monkeypatch, secured):
    """nginx closes what idles in the open, so that is no fault; the bracket holds its timer."""
    certificate = None
    if secured:
        authority, certificate = trustme.CA(), tmp_path / "server.pem"
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
        authority.cert_pem.write_to_path(tmp_path / "authority.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with nginx(tmp_path, origin, "keepalive_timeout 2s;", certificate=certificate) as base_url:
        code, document = run("keepalive", base_url, "--set", "idle=1,4")
    [found] = document["findings"]
    assert (code, found["code"]) == (0, "ok")
    closed = found["figures"]["closed"]
    assert (closed["low"], closed["high"]) == (1, 4)


def test_a_server_that_keeps_no_connection(run, origin, tmp_path):
    """Nothing is used twice, so nothing is proven of idle connections."""
    with nginx(tmp_path, origin, "keepalive_timeout 0;") as base_url:
        code, document = run("keepalive", base_url)
    [found] = document["findings"]
    assert (code, found["code"], found["reason"]) == (3, "not_measured", "too_few")
    assert "connection: close" in found["detail"]


def test_a_body_limit(run, origin, tmp_path):
    """The limit is nginx's, for the size alone, and the measured bracket holds it; no large body is kept."""
    limit = 100 * 1024
    with nginx(tmp_path, origin, "client_max_body_size 100k;") as base_url:
        code, document = run("identity", base_url, "--set", "sizes=65536,1048576")
    [found] = troubles(document)
    assert (code, found["code"], found["verdict"]) == (1, "size.rejected", "fail")
    assert (found["layer"], found["product"], found["factor"]) == ("edge", "nginx", "size")
    low, high = (found["figures"][name]["value"] for name in ("largest_passed", "smallest_refused"))
    assert low <= limit < high <= 1.15 * low
    assert "the size alone" in found["detail"]
    large = [e for e in document["exchanges"] if (e["request"]["body_bytes"] or 0) > 65_536]
    assert {e["client"] for e in large} == GENUINE
    assert (tmp_path / "run.json").stat().st_size < 2_000_000
