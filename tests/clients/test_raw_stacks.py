"""Do the same bytes leave through another program's TLS, and is what comes back told as it was?"""

import json

import pytest
from wire_server import (
    CHAT,
    DECLARED,
    KEY,
    STREAM_HEAD,
    answer,
    authority,
    black_hole,
    chunk,
    delta,
    good,
    send,
    server_context,
    serving,
)

from probes import clients, config
from probes.clients import raw_node
from probes.model import Ask, Raw, Route

STACKS = tuple(name for name, client in DECLARED.items() if client.kind in {"raw_aiohttp", "raw_node"})
HEADERS = (("User-Agent", "Made Up/1"), ("x-Tag", "1"), ("Accept", "a/b"), ("X-tag", "2"))
ASKED = Raw("POST", "/v1/x?a=%7e1", HEADERS, b'{"a": 1}', key="target")


@pytest.fixture
def trusted(monkeypatch, tmp_path):
    """The tests' own authority is what this machine trusts."""
    authority().cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
        monkeypatch.setenv(name, str(tmp_path / "ca.pem"))


def test_both_stacks_are_declared_and_asked_only_by_name():
    """Neither `all` nor `genuine` means them."""
    target = config.target_from_flags("https://a.example/v1", "openai", "m", no_key=True)
    assert set(STACKS) == {"aiohttp-py", "node"}
    for word in ("all", "genuine"):
        assert not {client.name for client in config.select(config.clients(), word, target)} & set(STACKS)
    assert [client.name for client in config.select(config.clients(), STACKS, target)] == list(STACKS)


@pytest.mark.parametrize("client", STACKS)
def test_the_head_is_the_trials_to_the_byte(client):
    """Names, case, order and repeats of headers, path and body; nothing of the program's own is added."""
    with serving(lambda peer, _: peer.send(good("httpx"))) as server:
        outcome = send(client, server.url, ASKED)
        host = server.url.removeprefix("http://")
    assert (
        server.requests[-1]
        == (
            f"POST /v1/x?a=%7e1 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 8\r\nUser-Agent: Made Up/1\r\nx-Tag: 1\r\n"
            f'Accept: a/b\r\nX-tag: 2\r\nauthorization: Bearer {KEY}\r\n\r\n{{"a": 1}}'
        ).encode()
    )
    [exchange] = outcome.exchanges
    sent = tuple(tuple(line.split(": ")) for line in server.requests[-1].decode().split("\r\n")[1:-2])
    assert exchange.request.headers == sent
    assert (exchange.request.method, exchange.request.url) == ("POST", f"{server.url}/v1/x?a=%7e1")
    assert (exchange.status, exchange.request.body_bytes) == (200, 8)
    assert exchange.conditions["peer"] == host


@pytest.mark.parametrize("client", STACKS)
def test_an_ask_goes_as_plain_http_with_its_edits(client):
    """The answer is read as any client's; a stream by its events."""

    def script(peer, _):
        peer.send(STREAM_HEAD + chunk(delta("Hi")) + chunk(b"data: [DONE]\n\n") + chunk(b""))

    edits = {"accept": None, "X-New": "1", "content-*": None}
    with serving(script) as server:
        outcome = send(client, server.url, Ask("chat", stream=True, edits=edits), stream=True)
    assert outcome.exchanges[0].facts["terminal"] == "[DONE]"
    assert outcome.exchanges[0].timeline.first_content is not None
    said = server.requests[-1].decode().lower()
    assert "x-new: 1\r\n" in said
    assert "accept:" not in said
    assert "content-type" not in said


@pytest.mark.parametrize("client", STACKS)
def test_tls_with_another_address_dialled(client, trusted):
    """The name asked for, the address that the route says."""
    with serving(lambda peer, _: peer.send(good("httpx")), tls=server_context()) as server:
        dialled = f"127.0.0.1:{server.port}"
        outcome = send(client, "https://api.test/v1", Raw("GET", "/x"), connect_to=dialled)
    [exchange] = outcome.exchanges
    assert (outcome.raised, exchange.status) == (None, 200)
    assert exchange.conditions["peer"] == dialled
    if client == "node":  # aiohttp has let go of its connection when the whole answer came at once
        assert exchange.conditions["tls"]["version"] == "TLSv1.3"
        assert exchange.conditions["tls"]["days_left"] > 0
    assert server.requests[-1].startswith(b"GET /v1/x HTTP/1.1\r\nHost: api.test\r\n")
    assert exchange.timeline.connect <= exchange.timeline.tls <= exchange.timeline.upload_start


def closes(peer, _):
    peer.close()


def part(peer, _):
    peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nabc")
    peer.close()


def part_of_chunks(peer, _):
    peer.send(STREAM_HEAD + chunk(delta("Hi")))
    peer.close()


def no_http(peer, _):
    peer.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    peer.close()


ENDS = {
    "closed": (closes, "closed", "headers"),
    "reset": (lambda peer, _: peer.reset(), "reset", "headers"),
    "short body": (part, "closed", "body"),
    "cut chunks": (part_of_chunks, "closed", "body"),
    "no http": (no_http, "protocol", "headers"),
    "silent": (lambda peer, _: peer.wait(), "deadline", "headers"),
}


@pytest.mark.parametrize(("script", "kind", "phase"), ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("client", STACKS)
def test_how_an_exchange_ends(client, script, kind, phase):
    """As of every other client: what the transport met, and when."""
    with serving(script) as server:
        outcome = send(client, server.url, ASKED, deadline=1.0)
    error = outcome.exchanges[-1].error
    assert (error.kind, error.phase) == (kind, phase)
    assert outcome.raised is not None


@pytest.mark.parametrize("client", STACKS)
def test_nothing_answers(client):
    """A port that is closed, a name that is none, a certificate that nobody trusts, a connect that never ends."""
    with serving(closes) as server:
        pass
    assert send(client, server.url, ASKED).exchanges[-1].error.kind == "connect"
    nowhere = send(client, "http://nobody.invalid", ASKED).exchanges[-1]
    assert (nowhere.error.kind, nowhere.error.phase) == ("dns", "dns")
    with serving(closes, tls=server_context()) as server:
        distrusted = send(client, server.url, ASKED).exchanges[-1]
    assert (distrusted.error.kind, distrusted.error.phase) == ("tls", "tls")
    with black_hole() as url:
        lost = send(client, url, ASKED, deadline=1.0).exchanges[-1]
    assert (lost.error.kind, lost.error.phase) == ("deadline", "connect")


@pytest.mark.parametrize("client", STACKS)
def test_a_body_is_read_up_to_the_limit(client):
    """More than is decoded ends the exchange."""
    with serving(lambda peer, _: peer.send(answer(b"x" * 300_000))) as server:
        outcome = send(client, server.url, ASKED, body_bytes=100_000)
    assert outcome.exchanges[-1].error.kind == "limit"
    assert outcome.exchanges[-1].status == 200


@pytest.mark.parametrize("client", STACKS)
def test_an_interim_answer_is_none(client):
    """100 and 103 stand before the answer, and an answer without a length ends with its connection."""

    def script(peer, _):
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + json.dumps(CHAT).encode())
        peer.close()

    with serving(script) as server:
        outcome = send(client, server.url, ASKED)
    [exchange] = outcome.exchanges
    assert (exchange.status, exchange.error, exchange.facts["complete"]) == (200, None, True)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", None], ids=["named", "of the environment"])
def test_node_is_left_out_behind_a_proxy(proxy, monkeypatch):
    """It knows none, and what it met instead would say nothing of its TLS."""
    if proxy is None:
        monkeypatch.setenv("https_proxy", "http://user:pass@127.0.0.1:9")
    route = Route("edge", "https://a.example/v1", proxy=proxy)
    said = clients.unsuited(DECLARED["node"], route)
    assert "knows no proxy" in said
    assert "pass" not in said
    assert clients.unsuited(DECLARED["aiohttp-py"], route) is None


def test_without_node_the_reason_is_told(monkeypatch, tmp_path):
    """A machine that lacks it leaves the client out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    raw_node.installed.cache_clear()
    assert clients.unavailable(DECLARED["node"]) == "Node is not installed"
    raw_node.installed.cache_clear()
