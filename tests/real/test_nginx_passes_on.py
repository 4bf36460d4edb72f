"""What do clients make of a real nginx that redirects, or compresses what it passes on?"""

from __future__ import annotations

import re

import pytest
from asking import an_api, ask, at, certificate
from servers import nginx

pytestmark = [pytest.mark.real, pytest.mark.realtime]
SDKS = {"openai": "openai-py", "anthropic": "anthropic-py"}


@pytest.mark.parametrize("api", SDKS)
@pytest.mark.parametrize(
    "status, loses",
    [(301, "the POST is repeated as GET, without its body"), (308, "the key is left behind")],
)
def test_a_redirect_to_https(edgeprobe, monkeypatch, tmp_path, api, status, loses):
    """What each client makes of it, and that the key had gone in clear before; nothing of it reaches the API whole."""
    plain, secure, path = tmp_path / "plain", tmp_path / "secure", "/v1" if api == "openai" else ""
    plain.mkdir()
    secure.mkdir()
    file = certificate(tmp_path, monkeypatch)
    with an_api() as origin, nginx(secure, at(origin), certificate=file) as final:
        rule = f"return {status} {final.removesuffix('/v1')}$request_uri;"
        with nginx(plain, at(origin), rule) as base_url:
            run = ask(edgeprobe, monkeypatch, "smoke", base_url.removesuffix("/v1") + path, api=api)
        arrived = [a for a in origin.requests if a.path != "/cdn-cgi/trace"]
    found = {f["code"]: f for f in run.troubles("completion") if f["client"] is None}
    assert run.code == 1
    assert set(found) == {"redirected", "leak.secret_in_clear"}
    assert found["leak.secret_in_clear"]["layer"] == "client"
    told = "\n".join(f["detail"] for f in run.troubles("completion") if f["code"] == "redirected")
    sdk = SDKS[api]
    row = next(line for line in told.splitlines() if line.endswith(f": {loses}"))
    assert all(name in row for name in (sdk, f"{sdk}-async", f"{sdk}-aiohttp"))
    assert re.search(r"others: (?:curl and httpx|httpx and curl) do not follow", told)
    assert {f["product"] for f in run.troubles("completion") if f["code"] == "redirected"} == {"nginx"}
    keyed = [name for a in arrived for name, _ in a.headers if name.lower() in {"authorization", "x-api-key"}]
    assert {a.status for a in arrived} == {405 if status == 301 else 401}
    assert keyed == [] or status == 301


@pytest.mark.parametrize("types", ["application/json", "application/json text/event-stream"])
def test_compression(edgeprobe, monkeypatch, tmp_path, types):
    """Whoever accepts gzip is given it, and answers and streams are as good as without."""
    rule = f"gzip on; gzip_types {types}; gzip_min_length 1; gzip_proxied any;"
    with an_api() as origin, nginx(tmp_path, at(origin), rule) as base_url:
        run = ask(edgeprobe, monkeypatch, "smoke", base_url)
    assert (run.code, run.troubles()) == (0, [])
    packed = {
        (e["request"]["stream"], (e["headers"].get("content-encoding") or [None])[0])
        for e in run.exchanges
        if e["status"] == 200 and e["client"] == "openai-py"
    }
    assert packed == {(False, "gzip"), (True, "gzip" if "event-stream" in types else None)}
