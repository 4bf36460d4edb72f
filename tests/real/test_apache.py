"""Does the probe tell what a real Apache does to an API behind it?"""

from __future__ import annotations

import pytest
from asking import an_api, at
from servers import apache, free_port

pytestmark = [pytest.mark.real, pytest.mark.realtime]
USER_AGENT_RULE = """
RewriteEngine On
RewriteCond %{HTTP_USER_AGENT} openai [NC]
RewriteRule ^ - [F]
"""
OWN_ERRORS = """
ProxyErrorOverride On
ErrorDocument 401 "<html><body><h1>Please log in</h1></body></html>"
"""


def test_a_healthy_edge_passes(told, origin):
    """Streams come through mod_proxy as they are."""
    with apache(origin) as base_url:
        run = told("smoke", base_url)
    assert (run.code, run.verdict, run.troubles()) == (0, "pass", [])


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(USER_AGENT_RULE, id="mod_rewrite"),
        pytest.param(
            "SetEnvIfNoCase User-Agent openai ai\n<Location />\n<RequireAll>\nRequire all granted\n"
            "Require not env ai\n</RequireAll>\n</Location>",
            id="SetEnvIf",
        ),
    ],
)
def test_a_user_agent_rule(told, origin, rule):
    """Whichever module refuses, the word that it looks for is found."""
    with apache(origin, rule) as base_url:
        run = told("identity", base_url, "--client", "openai-py", "--client", "curl")
    [found] = run.troubles()
    assert (run.code, found["code"], found["client"]) == (1, "blocked.client", "openai-py")
    assert (found["layer"], found["product"], found["factor"]) == ("edge", "Apache", "user_agent")
    assert "the word 'OpenAI' suffices" in " ".join(found["detail"].split())


def test_nothing_behind_the_edge(told):
    """Its 503 is no error of the API, which never saw the requests."""
    with apache(f"127.0.0.1:{free_port()}") as base_url:
        run = told("smoke", base_url)
    assert run.code == 1
    assert run.codes() == {("unreachable.origin", "edge", "Apache")}


def test_replaced_errors(told, origin):
    """`ProxyErrorOverride On`: pages of its own in the place of every error that the API makes."""
    with apache(origin, OWN_ERRORS) as base_url:
        run = told("smoke", base_url)
    # The page for a 401 is the operator's own, the others are Apache's.
    found = {
        (f["code"], f["product"]): f["title"] for f in run.troubles("error_format") if f["verdict"] == "fail"
    }
    assert set(found) == {("error.replaced", None), ("error.replaced", "Apache")}
    assert "a key that nobody was given" in found["error.replaced", None]
    assert all(
        question in found["error.replaced", "Apache"]
        for question in ("broken JSON", "a model that does not exist")
    )
    assert {f["code"] for f in run.troubles("identity")} == {"error.replaced"}
    assert run.troubles("completion", "streaming") == []


def test_a_proxy_timer(told):
    """`ProxyTimeout` ends in a 502 that speaks of an invalid response: the clock is trusted over the words."""
    with an_api(tpot=0.2) as slow, apache(at(slow), "ProxyTimeout 1") as base_url:
        run = told("long", base_url, "--set", "hold=1.2", "--set", "tokens=8", "--set", "pairs=3")
    [found] = run.troubles()
    seen = (found["code"], found["layer"], found["product"])
    assert seen == ("timeout.first_byte", "edge", "Apache"), found["detail"]
    assert (found["factor"], found["confidence"]) == ("stream", "high")
    assert found["figures"]["cutoff"]["value"] == pytest.approx(1.0, abs=0.3)
