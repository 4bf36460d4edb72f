"""Does the way in which an answer came change who made it?"""

from __future__ import annotations

import gzip
import zlib
from random import Random
from typing import TYPE_CHECKING

from exchanges import exchange
from heldout import answers
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attribution import attribute
from probes.model import Confidence
from probes.signatures import catalogue
from probes.wire.content import Content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Attribution

ANSWERS = [
    *(sample for one in catalogue().signatures for sample in one.row.samples),
    *answers(),
]
OF_ONE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length", "proxy-connection"}
BLANKS = st.text(" \t", min_size=1, max_size=4)


def told(status: int | None, body: str | bytes, headers: Mapping[str, str | list[str]]) -> Attribution:
    return attribute(exchange(status, body, headers, url=""), catalogue())


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ANSWERS), st.integers(0, 2**32))
def test_order_and_case_of_headers(one, seed):
    """Shuffled, and in whatever case."""
    rng = Random(seed)
    headers = list(one.headers.items())
    rng.shuffle(headers)
    varied = {"".join(rng.choice((c.lower(), c.upper())) for c in name): value for name, value in headers}
    assert told(one.status, one.body, varied) == told(one.status, one.body, one.headers)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ANSWERS), BLANKS, st.sampled_from(["", "\r\n"]))
def test_white_space_in_header_values(one, blanks, fold):
    """Around a value, and wherever a blank or a folded line stands in it."""
    varied = {
        name: f"{blanks}{value.replace(' ', f'{fold}{blanks}')}{blanks}"
        for name, value in one.headers.items()
    }
    assert told(one.status, one.body, varied) == told(one.status, one.body, one.headers)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ANSWERS))
def test_http_2(one):
    """It has names in lower case, no reason phrase, and no headers that speak of one connection."""
    varied = {
        name.lower(): value for name, value in one.headers.items() if name.lower() not in OF_ONE_CONNECTION
    }
    assert told(one.status, one.body, varied) == told(one.status, one.body, one.headers)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ANSWERS), st.sampled_from(["gzip", "deflate"]), st.integers(1, 700))
def test_compressed_and_in_parts(one, coding, size):
    """What is judged is the decoded body, however it was packed and cut up on the way."""
    raw = one.body.encode()
    packed = gzip.compress(raw) if coding == "gzip" else zlib.compress(raw)
    read = Content("", coding, 1 << 20)
    for at in range(0, len(packed), size):
        read.feed(packed[at : at + size], float(at))
    body = read.result(complete=True)["body_head"]
    varied = dict(one.headers) | {"content-encoding": coding, "vary": "accept-encoding"}
    assert told(one.status, body, varied) == told(one.status, one.body, one.headers)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ANSWERS), st.floats(0, 1))
def test_a_cut_body_names_nobody_else(one, share):
    """Less of a body proves the same or less: never another product."""
    raw = one.body.encode()
    whole, cut = (
        told(one.status, raw, one.headers),
        told(one.status, raw[: int(len(raw) * share)], one.headers),
    )
    assert cut.product in {whole.product, None}
    if cut.confidence is not Confidence.LOW:
        assert cut.layer is whole.layer


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ANSWERS), st.binary(min_size=1, max_size=300))
def test_noise_in_place_of_the_body(one, noise):
    """What stood in the headers may still name the product that they named; noise adds none."""
    made = {told(one.status, one.body, one.headers).product, None}
    assert told(one.status, b"\x00" + noise, one.headers).product in made
