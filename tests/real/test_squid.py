"""Is a real forward proxy on our own side used as a customer's client would, and told apart from the edge?"""

from __future__ import annotations

import pytest
from asking import GENUINE, an_api, at, certificate
from servers import free_port, haproxy, squid

pytestmark = [pytest.mark.real, pytest.mark.realtime]
VARIABLES = ("http_proxy", "HTTPS_PROXY")


@pytest.fixture(scope="module")
def origin():
    with an_api() as running:
        yield running


@pytest.fixture(scope="module")
def proxy():
    with squid() as running:
        yield running


@pytest.fixture
def secure(origin, tmp_path, monkeypatch):
    """The same API behind TLS."""
    with haproxy(tmp_path, at(origin), certificate=certificate(tmp_path, monkeypatch)) as base_url:
        yield base_url


def by_proxy(run):
    """Each client that asked, and whether all, some or none of its exchanges went through a proxy."""
    seen = {}
    for exchange in run.exchanges:
        seen.setdefault(exchange["client"], set()).add(exchange["conditions"]["proxy"])
    return seen


def everyone(clients, proxied):
    return {client: {proxied} for client in clients}


def anthropic(names):
    return {name.replace("openai", "anthropic") for name in names}


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_in_clear(told, origin, proxy, monkeypatch, api):
    """`http_proxy` is honoured by every genuine client, and each exchange says so."""
    monkeypatch.setenv("http_proxy", proxy.url)
    before, base_url = len(proxy.asked()), f"http://{at(origin)}" + ("/v1" if api == "openai" else "")
    run = told("smoke", base_url, api=api)
    assert (run.code, run.troubles()) == (0, [])
    assert by_proxy(run) == everyone(GENUINE if api == "openai" else anthropic(GENUINE), True)
    path = "/v1/chat/completions" if api == "openai" else "/v1/messages"
    asked = [line for line in proxy.asked()[before:] if line.endswith(path)]
    assert len(asked) == sum(e["request"]["url"].endswith(path) for e in run.exchanges)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_through_a_tunnel(told, secure, proxy, monkeypatch, api):
    """`HTTPS_PROXY` likewise: the proxy sees only CONNECT, and the dialling is left to it."""
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    before, base_url = len(proxy.asked()), secure if api == "openai" else secure.removesuffix("/v1")
    run = told("smoke", base_url, api=api)
    assert (run.code, run.troubles()) == (0, [])
    clients = {*GENUINE, "curl-h2"}
    assert by_proxy(run) == everyone(clients if api == "openai" else anthropic(clients), True)
    host = base_url.removeprefix("https://").removesuffix("/v1")
    assert set(proxy.asked()[before:]) == {f"CONNECT {host}"}


def test_named_on_the_command_line(told, secure, proxy):
    """`--proxy` is for every client what the variable is."""
    before = len(proxy.asked())
    run = told("smoke", secure, "--proxy", proxy.url)
    assert (run.code, run.troubles()) == (0, [])
    assert by_proxy(run) == everyone({*GENUINE, "curl-h2"}, True)
    assert len(proxy.asked()) > before


@pytest.mark.parametrize("how", ["--no-env-proxy", "NO_PROXY"])
def test_left_out(told, origin, proxy, monkeypatch, how):
    """By the flag, or by NO_PROXY as each client reads it, nothing goes that way."""
    monkeypatch.setenv("http_proxy", proxy.url)
    if how == "NO_PROXY":
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before = len(proxy.asked())
    run = told("smoke", f"http://{at(origin)}/v1", *([how] if how.startswith("--") else []))
    assert (run.code, run.troubles()) == (0, [])
    assert by_proxy(run) == everyone(GENUINE | {"dialer"}, False)
    assert len(proxy.asked()) == before


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_proxy_that_refuses(told, origin, secure, monkeypatch, variable):
    """Its 403 to CONNECT and its page in clear are the proxy's: nothing is said of an edge, and nothing is green."""
    with squid("http_access deny all") as refusing:
        monkeypatch.setenv(variable, refusing.url)
        run = told("smoke", secure if variable == "HTTPS_PROXY" else f"http://{at(origin)}/v1")
    assert run.code == 3
    assert {f["layer"] for f in run.document["findings"]} == {"proxy"}
    assert {e["attribution"]["layer"] for e in run.exchanges} == {"proxy"}
    assert {e["attribution"]["code"] for e in run.exchanges} == {"unreachable.connect"}
    assert {f["who_acts"] for f in run.troubles("completion")} == {"customer"}


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_proxy_that_does_not_reach_the_host(told, proxy, monkeypatch, variable):
    """503 in the host's name: it never answered."""
    monkeypatch.setenv(variable, proxy.url)
    scheme = "https" if variable == "HTTPS_PROXY" else "http"
    run = told("smoke", f"{scheme}://127.0.0.1:{free_port()}/v1")
    assert run.code == 1
    assert {f["layer"] for f in run.document["findings"]} == {"proxy"}


@pytest.mark.parametrize("variable", VARIABLES)
def test_no_proxy_there(told, monkeypatch, variable):
    """What could not be dialled is the proxy; the service is unknown."""
    monkeypatch.setenv(variable, f"http://127.0.0.1:{free_port()}")
    scheme = "https" if variable == "HTTPS_PROXY" else "http"
    run = told("smoke", f"{scheme}://127.0.0.1:{free_port()}/v1")
    assert run.code == 3
    assert {(f["layer"], f["verdict"]) for f in run.troubles()} == {("proxy", "inconclusive")}
