"""Does a client that is observed do exactly what it does alone?"""

import asyncio
import inspect
import os
import socket
import threading
from contextlib import ExitStack, closing

import anthropic
import httpx
import httpx2
import openai
import pytest
from wire_server import (
    AIOHTTP,
    CLIENTS,
    DECLARED,
    HTTPX_FAMILY,
    KEY,
    answer,
    api_of,
    ask,
    authority,
    good,
    proxying,
    send,
    server_context,
    serving,
    session,
    setting,
    trial,
    warm,
)

from probes.clients import SendLimits, dialect, sender_class
from probes.clients.observed import tls_context
from probes.model import Raw, Route
from probes.wire import recorder
from probes.wire.recorder import attach, recording

LIMITS = SendLimits(5.0, 1 << 20)
STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: keep-alive\r\n"
    b"content-length: 14\r\n\r\ndata: [DONE]\n\n"
)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def trusted(monkeypatch, tmp_path):
    """The tests' own authority is what this machine trusts."""
    authority().cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    for other in ("CURL_CA_BUNDLE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)


class Alone:
    """The client as its user makes it, on a loop of its own where it is async; nothing of ours is in it."""

    def __init__(self, client, url):
        self.run = lambda got: got
        self._runner = None
        if client.endswith(("-async", "-aiohttp")):
            self._runner = asyncio.Runner()
            self.run = lambda got: self._runner.run(awaited(got)) if inspect.isawaitable(got) else got
        if client == "httpx":
            self.http, self._create = httpx.Client(timeout=None), self._posting(url)
            return
        module = anthropic if api_of(client) == "anthropic" else openai
        kind = f"{'Async' if self._runner else ''}{'Anthropic' if module is anthropic else 'OpenAI'}"
        more = {"http_client": module.DefaultAioHttpClient()} if client in AIOHTTP else {}
        sdk = getattr(module, kind)(api_key=KEY, base_url=url, max_retries=0, **more)
        self.http = sdk._client
        self._create = sdk.messages.create if module is anthropic else sdk.chat.completions.create

    def _posting(self, url):
        made = setting("httpx", Route("edge", url))
        headers = dialect.headers(made.target, made.target.routes["edge"], ask("httpx"), made.secrets)

        def post(**body):
            sent = dialect.encoded(made.target, ask("httpx", stream=body.get("stream", False)), "salt")
            return self.http.post(url + "/chat/completions", content=sent, headers=headers)

        return post

    def call(self, body):
        got = self.run(self._create(**body))
        if hasattr(got, "__aiter__"):
            self.run(consumed(got))
        elif body.get("stream") and hasattr(got, "__iter__"):
            list(got)

    def close(self):
        self.run(self.http.aclose() if self._runner else self.http.close())
        if self._runner:
            self._runner.close()


async def awaited(got):
    return await got


async def consumed(stream):
    return [part async for part in stream]


def both(client, url, opened):
    """The HTTP client alone and the one observed, kept open by `opened`, and how each makes the same call."""
    lone = opened.enter_context(closing(Alone(client, url)))
    observed = opened.enter_context(session(client, url))

    def call_alone(stream):
        target = setting(client, Route("edge", url)).target
        lone.call(dialect.body(target, ask(client, stream=stream), "salt"))

    def call_observed(stream):
        planned = trial(client, ask(client, stream=stream))
        planned = type(planned)(**{n: getattr(planned, n) for n in planned.__slots__} | {"salt": "salt"})
        assert observed.send(planned, LIMITS).raised is None

    return (lone.http, call_alone), (observed._http, call_observed)


def inner(transport):
    return getattr(transport, "_inner", transport)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("client", HTTPX_FAMILY)
def test_the_bytes_on_the_wire_are_the_same(client, stream):
    """Request line, names, order, case, values and body, on a new and on a reused connection."""
    with (
        serving(lambda peer, _: peer.send(STREAM if stream else good(client))) as server,
        ExitStack() as opened,
    ):
        (_, call_alone), (_, call_observed) = both(client, server.url, opened)
        for call in (call_alone, call_alone):
            call(stream)
        connections = len(server.peers)
        for call in (call_observed, call_observed):
            call(stream)
        assert len(server.peers) == 2 * connections
        sent = server.requests
    assert len(sent) == 4
    assert len(set(sent)) == 1, sent


OPTIONS = [
    (level, getattr(socket, name))
    for level, name in (
        (socket.SOL_SOCKET, "SO_KEEPALIVE"),
        (socket.IPPROTO_TCP, "TCP_NODELAY"),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE"),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL"),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT"),
        (socket.SOL_SOCKET, "SO_RCVBUF"),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT"),
    )
    if hasattr(socket, name)
]


@pytest.mark.parametrize("client", HTTPX_FAMILY)
def test_the_socket_has_the_same_options(client):
    """As the kernel knows them: anthropic's keep-alive is lost where a transport is passed in."""
    found = []
    with serving(lambda peer, _: peer.send(good(client))) as server, ExitStack() as opened:
        for http, call in both(client, server.url, opened):
            call(False)
            found.append([socket_of(http).getsockopt(*option) for option in OPTIONS])
    assert found[0] == found[1]
    assert found[0][1] == 1
    assert (found[0][0] == 1) == (client in {"anthropic-py", "anthropic-py-async"})


def socket_of(http):
    """Of the one connection that is kept open."""
    transport = inner(http._transport)
    if hasattr(transport, "client"):
        (((protocol, _),),) = transport.client.connector._conns.values()
        return protocol.transport.get_extra_info("socket")
    return transport._pool.connections[0]._connection._network_stream.get_extra_info("socket")


LIMITS_OF_POOL = (
    "_max_connections", "_max_keepalive_connections", "_keepalive_expiry", "_retries", "_http1", "_http2",
    "_local_address", "_uds", "_socket_options", "_proxy_url", "_proxy_headers",
)  # fmt: skip


def tls_of(context):
    return (
        [cipher["name"] for cipher in context.get_ciphers()],
        context.options, context.verify_mode, context.check_hostname, context.minimum_version,
        context.maximum_version, context.verify_flags, len(context.get_ca_certs()),
    )  # fmt: skip


LIMITS_OF_SESSION = (
    "timeout",
    "headers",
    "trust_env",
    "auto_decompress",
    "raise_for_status",
    "skip_auto_headers",
)
LIMITS_OF_CONNECTOR = (
    "limit", "limit_per_host", "force_close", "use_dns_cache", "_keepalive_timeout", "_family", "_local_addr_infos",
    "_happy_eyeballs_delay", "_interleave", "_socket_factory", "_resolver_owner",
)  # fmt: skip


async def session_of(transport):
    """What a session that is made now would be."""
    async with transport.get_client() as made:
        seen = {name: getattr(made, name) for name in LIMITS_OF_SESSION}
        seen |= {name: getattr(made.connector, name) for name in LIMITS_OF_CONNECTOR}
        return type(made), type(made.connector), seen


def pool_of(transport):
    transport = inner(transport)
    if hasattr(transport, "get_client"):
        proxy = transport.proxy and (str(transport.proxy.url), transport.proxy.auth, transport.proxy.headers)
        seen = transport.limits, transport.retries, transport.socket_options, proxy
        return asyncio.run(session_of(transport)), seen, tls_of(transport.ssl_context)
    pool = transport._pool
    seen = {name: getattr(pool, name, None) for name in LIMITS_OF_POOL}
    if seen["_proxy_url"] is not None:
        seen["_proxy_url"] = bytes(seen["_proxy_url"])
    seen["tls"] = tls_of(pool._ssl_context)
    return type(pool), seen


ENVIRONMENTS = {
    "none": {},
    "one for all": {"ALL_PROXY": "http://127.0.0.1:3128"},
    "by scheme, with exceptions": {
        "HTTP_PROXY": "http://127.0.0.1:3128",
        "HTTPS_PROXY": "http://me:pw@127.0.0.1:3129",
        "NO_PROXY": "internal.test,10.0.0.0/8,127.0.0.2",
    },
}


@pytest.mark.parametrize("environ", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("client", HTTPX_FAMILY)
def test_pools_proxies_and_tls_are_the_same(client, environ, monkeypatch):
    """Limits, environment proxies with their exceptions, ciphers, verification: of the client and of every mount."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as opened:
        (lone, _), (observed, _) = both(client, "https://api.test/v1", opened)
        assert pool_of(lone._transport) == pool_of(observed._transport)
        mounts = [
            {pattern.pattern: t and pool_of(t) for pattern, t in http._mounts.items()}
            for http in (lone, observed)
        ]
        assert mounts[0] == mounts[1]
        assert bool(mounts[0]) == bool(environ)
        assert [str(p.pattern) for p in lone._mounts] == [str(p.pattern) for p in observed._mounts]
        assert lone.follow_redirects == observed.follow_redirects
        assert lone.timeout == observed.timeout


@pytest.mark.parametrize("client", HTTPX_FAMILY)
def test_each_request_has_the_same_time_outs(client):
    """What the library is asked to wait for at most."""
    found = []
    with serving(lambda peer, _: peer.send(good(client))) as server, ExitStack() as opened:
        for http, call in both(client, server.url, opened):
            http.event_hooks = {"request": [noting(found, asynchronous=hasattr(http, "aclose"))]}
            call(False)
    assert len(found) == 2
    assert found[0] == found[1]


def noting(found, *, asynchronous):
    def note(request):
        found.append(request.extensions["timeout"])

    async def later(request):
        note(request)

    return later if asynchronous else note


def hello_of(client, observed):
    """(ciphers, extension types in order, the ALPN extension) of the ClientHello."""
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as opened:
        url = f"https://localhost:{listener.getsockname()[1]}"
        (_, call_alone), (_, call_observed) = both(client, url, opened)

        def accept():
            sock, _ = listener.accept()
            with sock:
                seen.append(sock.recv(4096))

        thread = threading.Thread(target=accept)
        thread.start()
        with pytest.raises(
            (openai.APIConnectionError, anthropic.APIConnectionError, httpx.HTTPError, AssertionError)
        ):
            (call_observed if observed else call_alone)(False)
        thread.join()
    body = seen[0][5 + 4 + 2 + 32 :]
    body = body[1 + body[0] :]
    size = int.from_bytes(body[:2], "big")
    ciphers, rest = body[2 : 2 + size], body[2 + size :]
    rest = rest[1 + rest[0] + 2 :]
    types, alpn = [], b""
    while rest:
        kind, length = int.from_bytes(rest[:2], "big"), int.from_bytes(rest[2:4], "big")
        types.append(kind)
        alpn = rest[4 : 4 + length] if kind == 16 else alpn
        rest = rest[4 + length :]
    return ciphers, types, alpn


@pytest.mark.parametrize("client", HTTPX_FAMILY)
def test_the_tls_hello_is_the_same(client):
    """Ciphers, extensions in their order and ALPN are what a TLS fingerprint is made of."""
    lone, observed = hello_of(client, observed=False), hello_of(client, observed=True)
    assert lone == observed
    assert lone[2] == (b"" if client in AIOHTTP else b"\0\x09\x08http/1.1")


@pytest.mark.parametrize("client", HTTPX_FAMILY)
def test_a_failure_is_sent_once(client):
    """No retry of ours or of the SDK: one request, one exchange."""
    error = answer(b'{"error": {"message": "no"}}', "503 Service Unavailable")
    with serving(lambda peer, _: peer.send(error)) as server:
        outcome = send(client, server.url)
        assert len(server.requests) == 1
    assert [exchange.status for exchange in outcome.exchanges] == [503]


@pytest.mark.parametrize("client", CLIENTS)
def test_redirects_are_recorded_hop_by_hop(client):
    """The SDKs follow, plain httpx and curl do not; every hop is an exchange of the one call."""

    def moved(peer, raw):
        if b" /moved" in raw:
            peer.send(good(client))
        else:
            peer.send(answer(b"", "307 Temporary Redirect", [("location", "/moved")]))

    with serving(moved) as server:
        outcome = send(client, server.url)
    follows = DECLARED[client].api is not None
    assert [exchange.status for exchange in outcome.exchanges] == ([307, 200] if follows else [307])
    if follows:
        first, second = outcome.exchanges
        assert second.request.url == f"{server.url}/moved"
        assert (first.conditions["connection"], second.conditions["connection"]) == ("new", "reused")
        assert first.request.body_digest == second.request.body_digest


@pytest.mark.parametrize("environ", [False, True], ids=["of the route", "of the environment"])
@pytest.mark.parametrize("tls", [False, True], ids=["forward", "tunnel"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_proxy_is_used_and_said(client, tls, environ, trusted, monkeypatch):
    """Plain through a forward proxy, TLS through a tunnel; the request recorded is the client's own."""
    warm(client)
    context = server_context() if tls else None
    with serving(lambda peer, _: peer.send(good(client)), context) as server, serving(proxying) as proxy:
        route = {}
        if environ:
            monkeypatch.setenv("https_proxy" if tls else "http_proxy", proxy.url)
        else:
            route = {"proxy": proxy.url, "env_proxy": False}
            monkeypatch.setenv("NO_PROXY", "*")
        outcome = send(client, server.url, **route)
        assert len(proxy.requests) == 1
        assert proxy.requests[0].startswith(b"CONNECT " if tls else b"POST http://")
    exchange = outcome.exchanges[0]
    assert (exchange.error, exchange.status) == (None, 200)
    assert exchange.conditions["proxy"] is True
    assert exchange.request.method == "POST"
    assert exchange.request.body_bytes > 0
    assert "authorization" in {name.lower() for name, _ in exchange.request.headers}
    assert exchange.request.url.startswith(server.url)


@pytest.mark.parametrize("status", ["403 Forbidden", "407 Proxy Authentication Required"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_proxy_that_refuses_a_tunnel_is_the_proxys_error(client, status):
    """It must not be read as the service's own 403."""
    refusal = answer(b"<html>no</html>", status, [("content-type", "text/html")])
    with serving(lambda peer, _: peer.send(refusal)) as proxy:
        outcome = send(client, "https://api.test/v1", proxy=proxy.url)
    exchange = outcome.exchanges[0]
    assert (exchange.error.kind, exchange.error.phase) == ("proxy", "connect")
    assert status in exchange.error.text
    assert exchange.status is None
    assert exchange.conditions["proxy"] is True
    assert outcome.raised is not None


@pytest.mark.parametrize("client", CLIENTS)
def test_a_proxy_that_says_nothing_is_waited_for_until_the_deadline(client):
    """A tunnel that never opens is a connect that never ends."""
    with serving(lambda peer, _: peer.wait()) as proxy:
        outcome = send(client, "https://api.test/v1", proxy=proxy.url, deadline=0.4)
    assert (outcome.exchanges[0].error.kind, outcome.exchanges[0].error.phase) == ("deadline", "connect")


@pytest.mark.parametrize(
    "how", [{"env_proxy": False}, {"connect_to": True}], ids=["told not to", "connect_to"]
)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_environments_proxy_is_left_out(client, how, monkeypatch):
    """By the route's word, and where the route says itself where to connect."""
    warm(client)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(lambda peer, _: peer.send(good(client))) as server:
        route = {"connect_to": f"127.0.0.1:{server.port}"} if "connect_to" in how else how
        outcome = send(client, server.url, **route)
        assert len(server.requests) == 1
    assert outcome.exchanges[0].error is None
    assert outcome.exchanges[0].conditions["proxy"] is False


@pytest.mark.parametrize("client", CLIENTS)
def test_connect_to_keeps_host_and_server_name(client, trusted):
    """Only the address dialled changes: Host, SNI and the name on the certificate are those of the URL."""
    names = []
    context = server_context()
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    try:
        with serving(lambda peer, _: peer.send(good(client)), context) as server:
            outcome = send(client, "https://api.test:8443/v1", connect_to=f"127.0.0.1:{server.port}")
            host = next(
                line for line in server.requests[0].split(b"\r\n") if line.lower().startswith(b"host:")
            )
    finally:
        context.sni_callback = None
    assert outcome.exchanges[0].error is None, outcome.exchanges[0].error
    assert host.partition(b" ")[2] == b"api.test:8443"
    assert names == ["api.test"]
    assert outcome.exchanges[0].conditions["peer"] == f"127.0.0.1:{server.port}"
    assert outcome.exchanges[0].request.url.startswith("https://api.test:8443/v1/")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_route_of_one_address_family_has_no_way_round_it(client):
    """What a customer's client would fall back from is met."""
    with serving(lambda peer, _: peer.send(good(client))) as server:
        url = f"http://localhost:{server.port}/v1"
        there, nowhere = (send(client, url, family=family).exchanges[0] for family in (4, 6))
        assert len(server.requests) == 1
    assert (there.status, there.error) == (200, None)
    assert there.conditions["peer"] == f"127.0.0.1:{server.port}"
    assert nowhere.status is None
    assert nowhere.error.phase in {"dns", "connect"}


EDITS = {
    "replace": {"user-agent": "curl/8.0"},
    "drop": {"user-agent": None},
    "drop by prefix": {"x-stainless-*": None},
    "add": {"x-probe": "1"},
    "all at once": {"user-agent": "X", "x-stainless-*": None, "accept": None, "x-probe": "1"},
}


def lines(raw):
    return [tuple(line.split(b": ", 1)) for line in raw.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]]


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("client", CLIENTS)
def test_an_edit_changes_what_it_names_and_nothing_else(client, edits):
    """Order and case of all other headers stay; what was replaced keeps its place, what was added comes last."""
    with serving(lambda peer, _: peer.send(good(client))) as server:
        send(client, server.url)
        outcome = send(client, server.url, ask(client, edits=edits))
        plain, edited = (lines(raw) for raw in server.requests)
        bodies = {raw.partition(b"\r\n\r\n")[2] for raw in server.requests}
    named = {name.encode(): value for name, value in edits.items()}
    prefixes = tuple(name.removesuffix(b"*") for name in named if name.endswith(b"*"))
    expected = []
    for name, value in plain:
        key = name.lower()
        if key in named:
            if (new := named.pop(key)) is not None:
                expected.append((name, new.encode()))
        elif not (prefixes and key.startswith(prefixes)):
            expected.append((name, value))
    expected += [(n, v.encode()) for n, v in named.items() if v is not None]
    if client == "curl":  # puts what replaces a header of its own after its own
        expected, edited = (
            sorted((n.lower(), v) for n, v in expected),
            sorted((n.lower(), v) for n, v in edited),
        )
    assert edited == expected
    assert len(bodies) == 1
    recorded = [(n.encode(), v.encode()) for n, v in outcome.exchanges[0].request.headers]
    assert recorded == lines(server.requests[1])


@pytest.mark.parametrize("client", ["httpx", "curl"])
def test_a_raw_request_is_sent_to_the_byte(client):
    """Method, path, own headers, empty values, and a body of every byte there is."""
    body = bytes(range(256)) * 4
    headers = (("Content-Type", "text/plain"), ("X-Odd", "Ä".encode().decode("latin-1")), ("x-empty", ""))
    if client == "httpx":
        headers = (headers[0], headers[2])
    raw = Raw("PUT", "/a%2Fb?c=d", headers, body)
    with serving(lambda peer, _: peer.send(answer())) as server:
        outcome = send(client, server.url, raw)
        sent = server.requests[0]
    head, _, sent_body = sent.partition(b"\r\n\r\n")
    assert head.startswith(b"PUT /a%2Fb?c=d HTTP/1.1\r\n")
    assert sent_body == body
    names = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    assert names <= {b"host", b"content-length", b"content-type", b"x-odd", b"x-empty"}
    assert b"x-empty" in names
    assert outcome.exchanges[0].request.body_bytes == len(body)


def test_what_is_not_in_a_recording_passes_unseen():
    """An observed client works outside of a recording, and leaves no trace on the record before."""
    with serving(lambda peer, _: peer.send(answer())) as server, httpx.Client() as http:
        attach(http)
        http.get(server.url)
        with recording(lambda: 0.0) as record:
            http.get(server.url + "/seen")
        seen = record.results()
        http.get(server.url + "/unseen")
        assert len(server.peers) == 1
    assert len(seen) == 1
    assert record.results() == seen
    assert seen[0]["conditions"]["connection"] == "reused"


FAMILIES = {"httpx": httpx, "httpx2": httpx2}
SEAMS = {
    "Client._transport": lambda client: client._transport,
    "Client._mounts": lambda client: client._mounts,
    "HTTPTransport._pool": lambda client: client._transport._pool,
    "ConnectionPool._network_backend": lambda client: client._transport._pool._network_backend.connect_tcp,
}


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_private_attribute_is_still_there(family, seam, kind):
    """Fails by the name of what a library has moved; the recorder's docstring lists the same names."""
    assert f"`{seam}`" in recorder.__doc__.replace("\n", " ")
    assert SEAMS[seam](getattr(FAMILIES[family], kind)()) is not None


@pytest.mark.parametrize("sdk", [openai, anthropic])
def test_a_session_of_aiohttp_is_still_made_where_it_is_observed(sdk):
    """The aiohttp variants make theirs in `get_client`, and its list of traces can be added to."""
    client = sdk.DefaultAioHttpClient()
    attach(client)

    async def made():
        async with inner(client._transport).get_client() as session:
            return session.trace_configs

    (trace,) = asyncio.run(made())
    assert trace.on_request_headers_sent.frozen


def test_the_tls_context_is_made_once_for_the_same_certificates(monkeypatch, trusted):
    """It takes most of what a client costs, and follows the environment when that changes."""
    first = tls_context("httpx")
    assert tls_context("httpx") is first
    assert tls_context("httpx2") is not first
    monkeypatch.delenv("SSL_CERT_FILE")
    assert tls_context("httpx") is not first


@pytest.mark.parametrize("client", [name for name in HTTPX_FAMILY if name != "httpx"])
def test_the_family_is_the_one_the_sdk_rides_on(client):
    """Found from the SDK, not guessed."""
    made = setting(client, Route("edge", "http://127.0.0.1"))
    assert sender_class(made.client).family() == "httpx2"
    assert api_of(client) == made.target.api
