"""Is it said why no TLS session came about, in the words of whatever TLS library?"""

from dataclasses import replace

import pytest
from canned import attributed
from exchanges import exchange

from probes import handshakes
from probes.attribution import attribute
from probes.handshakes import distrusts, fault
from probes.model import WhoActs
from probes.signatures import catalogue

SAID = {
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1006)": "EXPIRED",
    "SSL certificate problem: certificate has expired": "EXPIRED",
    "SSL certificate problem: certificate is not yet valid": "NOT_YET",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for 'a.example'. (_ssl.c:1006)": "WRONG_NAME",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: IP address mismatch, certificate is not valid for '127.0.0.1'. (_ssl.c:1006)": "WRONG_NAME",
    "SSL: no alternative certificate subject name matches target host name 'a.example'": "WRONG_NAME",
    "SSL: certificate subject name 'b.example' does not match target host name 'a.example'": "WRONG_NAME",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)": "UNKNOWN_AUTHORITY",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1006)": "UNKNOWN_AUTHORITY",
    "SSL certificate problem: self signed certificate": "UNKNOWN_AUTHORITY",
    "SSL certificate problem: unable to get local issuer certificate": "UNKNOWN_AUTHORITY",
    "server certificate verification failed. CAfile: /etc/ssl/certs/ca-certificates.crt CRLfile: none": "UNKNOWN_AUTHORITY",
    "certificate verify failed: certificate revoked": "REVOKED",
    "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)": "NOT_TLS",
    "OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number": "NOT_TLS",
    "[SSL: RECORD_LAYER_FAILURE] record layer failure (_ssl.c:1006)": "NOT_TLS",
    "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required (_ssl.c:2580)": "CLIENT_CERTIFICATE",
    "[SSL: SSLV3_ALERT_HANDSHAKE_FAILURE] sslv3 alert handshake failure (_ssl.c:1006)": None,
    "no shared cipher": None,
    "The handshake operation timed out": None,
}  # fmt: skip


def failed(text, kind="tls"):
    made = exchange(None, error=(kind, "tls"))
    return attributed(replace(made, error=replace(made.error, text=text)))


@pytest.mark.parametrize(("text", "name"), SAID.items(), ids=[text[-50:] for text in SAID])
def test_what_each_library_says(text, name):
    """One fault, one title and one advice; what is not known keeps the code's own."""
    seen, expected = failed(text), name and getattr(handshakes, name)
    assert fault(seen) == expected
    made = attribute(seen, catalogue())
    assert (made.code, made.advice) == ("unreachable.tls", expected and expected.advice)
    assert fault(failed(text, "reset")) is None


def test_every_fault_is_told_apart():
    """By its title and by what is to be done."""
    faults = [each for each in vars(handshakes).values() if isinstance(each, handshakes.Fault)]
    assert len({each.title for each in faults}) == len({each.advice for each in faults}) == len(faults) == 7
    assert attribute(failed("tlsv13 alert certificate required"), catalogue()).who_acts is WhoActs.CUSTOMER


@pytest.mark.parametrize(
    ("text", "own"),
    [("certificate has expired", True), ("unable to get local issuer certificate", True),
     ("Hostname mismatch, certificate is not valid for 'a'", False), ("alert certificate required", False)],
    ids=["time", "authority", "name", "ours"],
)  # fmt: skip
def test_what_a_store_of_its_own_can_be_the_cause_of(text, own):
    """A name is the same to every client."""
    assert distrusts(failed(text)) is own
