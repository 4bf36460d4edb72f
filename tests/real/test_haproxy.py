"""Does the probe tell what a real HAProxy does to an API behind it?"""

from __future__ import annotations

import pytest
from asking import GENUINE, an_api, at, certificate
from servers import free_port, haproxy

pytestmark = [pytest.mark.real, pytest.mark.realtime]


def test_a_healthy_edge_passes(told, origin, tmp_path):
    """Nothing is said of it: HAProxy leaves no mark on what it passes on."""
    with haproxy(tmp_path, origin) as base_url:
        run = told("smoke", base_url)
    assert (run.code, run.verdict, run.troubles()) == (0, "pass", [])


def test_http2_over_tls(told, origin, tmp_path, monkeypatch):
    """Those that offer HTTP/2 are given it, the others are not, and all pass."""
    with haproxy(tmp_path, origin, certificate=certificate(tmp_path, monkeypatch)) as base_url:
        run = told("smoke", base_url)
    assert (run.code, run.troubles()) == (0, [])
    versions = {e["client"]: e["conditions"].get("http_version") for e in run.exchanges if e["status"]}
    assert versions.pop("curl-h2") == "HTTP/2"
    assert versions == dict.fromkeys(GENUINE, "HTTP/1.1")


def test_a_user_agent_rule(told, origin, tmp_path):
    """`http-request deny` is named, and the word that it looks for."""
    rule = "http-request deny if { hdr(user-agent) -m sub -i openai }"
    with haproxy(tmp_path, origin, rule) as base_url:
        run = told("identity", base_url, "--client", "openai-py", "--client", "curl")
    [found] = run.troubles()
    assert (run.code, found["code"], found["client"]) == (1, "blocked.client", "openai-py")
    assert (found["layer"], found["product"], found["factor"]) == ("edge", "HAProxy", "user_agent")
    assert "the word 'OpenAI' suffices" in " ".join(found["detail"].split())


def test_no_server_is_up(told, tmp_path):
    """Its 503 is no error of the API, which never saw the requests."""
    with haproxy(tmp_path, f"127.0.0.1:{free_port()}") as base_url:
        run = told("smoke", base_url)
    assert run.code == 1
    assert run.codes() == {("unreachable.origin", "edge", "HAProxy")}
    assert {f["verdict"] for f in run.troubles("completion", "streaming")} == {"fail"}


def test_a_server_timer(told, tmp_path):
    """`timeout server 1s` cuts what is not streamed, and is measured."""
    with an_api(tpot=0.2) as slow, haproxy(tmp_path, at(slow), behind="timeout server 1s") as base_url:
        run = told("long", base_url, "--set", "hold=2", "--set", "tokens=14")
    [found] = run.troubles()
    assert (found["code"], found["layer"], found["product"]) == ("timeout.first_byte", "edge", "HAProxy")
    assert (found["factor"], found["verdict"]) == ("stream", "fail")
    assert found["figures"]["cutoff"]["value"] == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize(
    "rule, question, layer",
    [
        pytest.param(
            'http-response return status 401 content-type text/html string "<html><h1>401</h1></html>"'
            " if { status 401 }",
            "a key that nobody was given", "unknown", id="a page of its own",
        ),
        pytest.param(
            "http-response deny deny_status 502 if { status 404 }",
            "a model that does not exist", "edge", id="its 502",
        ),
    ],
)  # fmt: skip
def test_replaced_errors(told, origin, tmp_path, rule, question, layer):
    """The API's own error does not arrive, however good the rest is."""
    with haproxy(tmp_path, origin, behind=rule) as base_url:
        run = told("smoke", base_url)
    [found] = [f for f in run.troubles("error_format") if f["verdict"] == "fail"]
    assert (found["code"], found["layer"]) == ("error.replaced", layer)
    assert question in found["title"]
    assert run.troubles("completion", "streaming") == []
