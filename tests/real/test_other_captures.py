"""Do HAProxy, Apache, Varnish and Squid still answer what the samples of their signatures were recorded from?"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import capture_others
import pytest

from probes.signatures import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from capture_nginx import Answer

    from probes.signature_rows import Sample

pytestmark = [pytest.mark.real, pytest.mark.realtime]
_PRODUCTS = ("haproxy", "apache", "varnish", "squid")
_SAMPLES = {
    (str(signature.product).lower(), str(sample.source).partition(", ")[2]): sample
    for signature in catalogue().signatures
    for sample in signature.row.samples
    if sample.origin == "capture" and str(signature.product).lower() in _PRODUCTS
}
_WHEN = re.compile(r"Generated \w+, .* GMT")
_DOCTYPE = re.compile(r"<!DOCTYPE [^>]*>")
recorded = cache(capture_others.record)


def _essence(answer: Answer | Sample) -> tuple[object, ...]:
    """What changes neither with the version nor with the request."""
    headers = {name: re.sub(r"\d+", "0", value) for name, value in answer.headers.items()}
    headers.pop("content-length", None)
    return answer.status, headers, re.sub(r"\d+", "0", _DOCTYPE.sub("", _WHEN.sub("", answer.body)))


@pytest.mark.parametrize("product, case", sorted(_SAMPLES))
def test_it_answers_as_recorded(product: str, case: str):
    """Status, headers and page are those of the sample, apart from versions, ports, numbers and times."""
    answer = recorded(product)[case]
    assert answer is not None
    assert _essence(answer) == _essence(_SAMPLES[product, case])


@pytest.mark.parametrize("product", _PRODUCTS)
def test_every_case_of_it_is_a_sample(product: str):
    """Nothing is recorded in vain, and no sample lacks its case."""
    answers: Mapping[str, Answer | None] = recorded(product)
    assert {(product, case) for case in answers} == {key for key in _SAMPLES if key[0] == product}
