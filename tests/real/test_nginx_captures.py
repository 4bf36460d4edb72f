"""Does nginx still answer what the samples of `configs/signatures/nginx.yaml` were recorded from?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import capture_nginx
import pytest
from servers import program

from probes.signatures import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from capture_nginx import Answer

    from probes.signature_rows import Sample

pytestmark = [pytest.mark.real, pytest.mark.realtime]
_VERSION = re.compile(r"nginx/[\d.]+(?: \([^)]*\))?")
_SAMPLES = {
    str(sample.source).partition(", ")[2]: sample
    for signature in catalogue().signatures
    for sample in signature.row.samples
    if sample.origin == "capture" and signature.product == "nginx"
}
_UNANSWERED = {"return 408", "body never finished"}


@pytest.fixture(scope="module")
def recorded() -> Mapping[str, Answer | None]:
    """Every case, recorded now."""
    program("nginx")
    return capture_nginx.record()[1]


def _essence(answer: Answer | Sample) -> tuple[object, ...]:
    """What does not change with the version of nginx."""
    kept = {
        name: _VERSION.sub("nginx", value)
        for name, value in answer.headers.items()
        if name not in {"date", "content-length"}
    }
    return answer.status, kept, _VERSION.sub("nginx", answer.body)


@pytest.mark.parametrize("case", sorted(_SAMPLES))
def test_nginx_answers_as_recorded(recorded: Mapping[str, Answer | None], case: str):
    """Status, headers and page are those of the sample, apart from the version."""
    answer = recorded[case]
    assert answer is not None
    assert _essence(answer) == _essence(_SAMPLES[case])


@pytest.mark.parametrize("case", sorted(_UNANSWERED))
def test_nginx_closes_without_an_answer(recorded: Mapping[str, Answer | None], case: str):
    """Its page for 408 is never sent, hence no signature for it."""
    assert recorded[case] is None


def test_every_case_is_a_sample(recorded: Mapping[str, Answer | None]):
    """Nothing is recorded in vain, and no sample lacks its case."""
    assert set(recorded) == set(_SAMPLES) | _UNANSWERED
