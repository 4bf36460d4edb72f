"""Is an answer told that a real Varnish should not have kept?"""

from __future__ import annotations

import pytest
from servers import free_port, varnish

pytestmark = [pytest.mark.real, pytest.mark.realtime]
KEEPS_GET = """
sub vcl_recv { if (req.method == "GET") { return (hash); } }
sub vcl_backend_response { set beresp.ttl = 1m; }
"""
KEEPS_POST = """
sub vcl_recv {
  if (req.method == "POST") { std.cache_req_body(1MB); set req.http.X-Method = "POST"; }
  return (hash);
}
sub vcl_backend_fetch {
  if (bereq.http.X-Method == "POST") { set bereq.method = "POST"; }
  return (fetch);
}
sub vcl_backend_response { set beresp.ttl = 1m; return (deliver); }
"""
KEEPS_GOOD_POSTS = KEEPS_POST.replace(
    "sub vcl_backend_response {",
    "sub vcl_backend_response { if (beresp.status != 200) { return (pass(0s)); }",
)
CLIENTS = ("--client", "openai-py", "--client", "httpx", "--client", "curl")


def test_a_cache_that_keeps_nothing_private(told, origin):
    """Varnish as it comes passes what carries a key: `age: 0` and one number in X-Varnish are no hit."""
    with varnish(origin) as base_url:
        run = told("edge", base_url, *CLIENTS)
    assert (run.code, run.verdict, run.troubles()) == (0, "pass", [])
    assert {tuple(e["attribution"]["transit"]) for e in run.exchanges if e["status"]} == {("Varnish",)}
    assert {e["headers"]["age"][0] for e in run.exchanges if e["status"]} == {"0"}


def test_a_list_that_is_kept(told, origin):
    """A GET with a key that the cache answered is a warning: no other user's answer was seen."""
    with varnish(origin, KEEPS_GET) as base_url:
        run = told("edge", base_url, *CLIENTS)
    [found] = run.troubles()
    assert (found["code"], found["verdict"], found["kind"]) == ("cached.private", "warn", "models")
    assert (found["layer"], run.code) == ("edge", 0)
    assert "x-varnish: " in found["detail"]


def test_completions_that_are_kept(told, origin):
    """One answer for every question and every key: the proof is the made-up key that was given it."""
    with varnish(origin, KEEPS_GOOD_POSTS) as base_url:
        run = told("smoke", base_url, *CLIENTS)
    found = {(f["kind"], f["code"], f["verdict"], f["layer"]) for f in run.troubles()}
    assert found >= {
        ("completion", "cached.private", "warn", "edge"),
        ("streaming", "cached.private", "fail", "edge"),
        ("error_format", "cached.private", "fail", "edge"),
    }
    assert {code for _, code, _, _ in found} == {"cached.private"}


def test_a_refusal_that_is_kept(told, origin):
    """The API's 401 to a made-up key is given to the good one: the cache's fault, not the key's."""
    with varnish(origin, KEEPS_POST) as base_url:
        run = told("smoke", base_url, *CLIENTS)
    assert run.code == 1
    found = {(f["code"], f["verdict"]) for f in run.troubles("completion", "streaming", "error_format")}
    assert ("cached.private", "fail") in found
    assert not any(code == "auth.rejected" for code, _ in found)
    assert not any(f["code"] == "ok" for f in run.document["findings"] if f["kind"] == "error_format")


def test_nothing_behind_the_cache(told):
    """Its guru meditation is known for what it is, and its Retry-After is kept to."""
    with varnish(f"127.0.0.1:{free_port()}") as base_url:
        run = told("identity", base_url, "--client", "curl")
    assert run.code == 3
    assert run.codes() == {("unreachable.origin", "edge", "Varnish")}
