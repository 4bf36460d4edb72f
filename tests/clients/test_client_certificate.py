"""A route's client certificate reaches the server through every client, and its path comes from the environment."""

from __future__ import annotations

import ssl
from functools import cache

import pytest
import trustme
from wire_server import CLIENTS, authority, good, send, serving, session, trial, warm

from probes.clients import SendLimits
from probes.errors import UsageError
from probes.model import EnvRef


@cache
def customers() -> trustme.CA:
    """Whose certificates the server takes."""
    return trustme.CA()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The environment of a client certificate: its file alone, and its key in another."""
    authority().cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    for other in ("CURL_CA_BUNDLE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)
    mine = customers().issue_cert("probe@example.com")
    mine.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    mine.private_key_pem.write_to_path(tmp_path / "key.pem")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    return {name.upper(): str(tmp_path / f"{name}.pem") for name in ("both", "cert", "key")}


@pytest.fixture
def demanding():
    """A server context that takes only clients with a certificate of `customers`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("localhost").configure_cert(context)
    context.verify_mode = ssl.CERT_REQUIRED
    customers().configure_trust(context)
    return context


WAYS = {
    "one file": {"client_cert": EnvRef("BOTH")},
    "two files": {"client_cert": EnvRef("CERT"), "client_key": EnvRef("KEY")},
}


@pytest.mark.parametrize("route", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_server_sees_it(client, route, files, demanding):
    """And answers, which it does for nobody without one."""
    warm(client)
    with (
        serving(lambda peer, _: peer.send(good(client)), demanding) as server,
        session(client, server.url, environ=files, **route) as opened,
    ):
        [exchange] = opened.send(trial(client), SendLimits(5.0, 1 << 20)).exchanges
    assert exchange.status == 200


@pytest.mark.parametrize("client", CLIENTS)
def test_without_it_there_is_no_answer(client, files, demanding):
    """The server is as strict as the test above needs it."""
    with serving(lambda peer, _: peer.send(good(client)), demanding) as server:
        [exchange] = send(client, server.url).exchanges
    assert exchange.status is None


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "BOTH is not set: it holds the path of the client_cert of route edge"),
        ({"BOTH": "/nowhere.pem"}, "BOTH: the client_cert of route edge cannot be read at /nowhere.pem"),
    ],
    ids=["not set", "no file"],
)
def test_a_certificate_that_is_not_there(environ, message):
    """Is the operator's mistake, said before anything is sent."""
    with (
        pytest.raises(UsageError, match=message),
        session("httpx", "https://localhost", environ=environ, **WAYS["one file"]),
    ):
        pass
