"""Is a certificate read that nobody would trust?"""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from probes.wire.certificate import of_refused


def der_of(*names, **more):
    leaf = trustme.CA().issue_cert(*names, **more)
    return ssl.PEM_cert_to_DER_cert(leaf.cert_chain_pems[0].bytes().decode())


@pytest.mark.parametrize(
    "names",
    [
        ("api.example.com",),
        ("127.0.0.1", "::1", "*.example.com"),
        ("a" * 38 + ".example",),
        tuple(f"n{n}.{'b' * 60}.example" for n in range(9)),
    ],
    ids=["one", "addresses", "a length that looks like a tag", "long"],
)
def test_its_names(names):
    """DNS names and addresses, however long their list is."""
    assert set(of_refused(der_of(*names))["names"]) == set(names)


def test_of_many_names_the_first_ten():
    """A list of hundreds says no more."""
    assert len(of_refused(der_of(*(f"n{n}.example" for n in range(40))))["names"]) == 10


@pytest.mark.parametrize("days", [-400.0, 3.0, 365.0 * 40], ids=["past", "soon", "beyond 2050"])
def test_its_end(days):
    """In both forms that a time has."""
    until = datetime.now(UTC) + timedelta(days=days)
    began = datetime(2020, 1, 1, tzinfo=UTC)
    assert of_refused(der_of("a.example", not_before=began, not_after=until))["days_left"] == pytest.approx(
        days, abs=0.01
    )


@given(st.binary(max_size=80))
def test_any_bytes_are_read(data):
    """Whatever stands there, nothing is raised."""
    for around in (
        data,
        b"\x06\x03\x55\x1d\x11" + data,
        b"0\x1e\x17\r999999999999Z\x17\r" + data + b"999999999999Z",
    ):
        assert of_refused(around).keys() <= {"days_left", "names"}
