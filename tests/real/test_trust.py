"""Is it told who reads along, whose trust store is wrong, and whose certificate runs out?"""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta

import certifi
import pytest
import trustme
from asking import certificate
from servers import haproxy, program, squid

pytestmark = [pytest.mark.real, pytest.mark.realtime]


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted here", "not trusted"])
def test_something_reads_along(told, origin, tmp_path, monkeypatch, trusted):
    """A certificate by an inspecting product is named, whether this machine has been told to trust it or not."""
    product = trustme.CA(organization_name="Zscaler Inc.", organization_unit_name="Zscaler Inc.")
    file = certificate(tmp_path, monkeypatch, authority=product, trusted=trusted)
    with haproxy(tmp_path, origin, certificate=file) as base_url:
        run = told("smoke", base_url)
    [found] = [f for f in run.troubles("connection") if f["code"] == "proxy.intercepts"]
    assert (found["layer"], found["product"], found["verdict"]) == ("proxy", "Zscaler Inc.", "fail")
    assert run.code == 1
    assert (run.troubles("completion") == []) is trusted


def test_something_reads_along_where_a_proxy_dials(told, origin, tmp_path, monkeypatch):
    """Which is where it usually sits: the tunnel's own certificate shows it."""
    file = certificate(tmp_path, monkeypatch, authority=trustme.CA(organization_name="Fortinet"))
    with haproxy(tmp_path, origin, certificate=file) as base_url, squid() as proxy:
        run = told("smoke", base_url, "--proxy", proxy.url, "--client", "httpx")
    [found] = run.troubles("connection")
    assert (found["code"], found["layer"], found["product"]) == ("proxy.intercepts", "proxy", "Fortinet")


def test_only_the_system_trusts_it(told, origin, tmp_path, monkeypatch):
    """An authority that curl finds and the Python SDKs do not is their store's matter, not the host's."""
    file = certificate(tmp_path, monkeypatch)
    system = tmp_path / "system"
    system.mkdir()
    (tmp_path / "authority.pem").rename(system / "authority.pem")
    subprocess.run([program("openssl"), "rehash", str(system)], check=True)
    # Both are read by OpenSSL, and so by curl; httpx reads the first alone.
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    monkeypatch.setenv("SSL_CERT_DIR", str(system))
    with haproxy(tmp_path, origin, certificate=file) as base_url:
        run = told("smoke", base_url)
    found = {
        (f["kind"], f["code"], f["layer"], f["who_acts"]) for f in run.troubles() if f["verdict"] == "fail"
    }
    assert ("connection", "client.trust", "client", "customer") in found
    assert ("completion", "client.trust", "client", "customer") in found
    assert not {code for _, code, _, _ in found} - {"client.trust"}


@pytest.mark.parametrize(
    "left, codes",
    [(5.0, {"tls.expiring"}), (20.0, set()), (-1.0, {"unreachable.tls"})],
    ids=["5 days left", "20 days left", "expired"],
)
def test_how_long_a_certificate_is_good(told, origin, tmp_path, monkeypatch, left, codes):
    """Under 14 days is a warning, and what has run out lets nobody in."""
    until = datetime.now(UTC) + timedelta(days=left)
    file = certificate(tmp_path, monkeypatch, not_after=until)
    with haproxy(tmp_path, origin, certificate=file) as base_url:
        run = told("smoke", base_url)
    assert {f["code"] for f in run.troubles("connection")} == codes
    assert run.code == (1 if left < 0 else 0)
    if codes == {"tls.expiring"}:
        [found] = run.troubles("connection")
        assert found["figures"]["days_left"]["value"] == pytest.approx(5, abs=0.1)
        assert found["verdict"] == "warn"


def test_a_certificate_of_nobody(told, origin, tmp_path, monkeypatch):
    """Known to no store on this machine: whose fault it is stays open, and the issuer is named."""
    file = certificate(
        tmp_path, monkeypatch, trusted=False, authority=trustme.CA(organization_name="Example CA")
    )
    with haproxy(tmp_path, origin, certificate=file) as base_url:
        run = told("smoke", base_url)
    [found] = run.troubles("connection")
    assert (found["code"], found["layer"]) == ("unreachable.tls", "tls")
    assert "Example CA" in found["detail"]
