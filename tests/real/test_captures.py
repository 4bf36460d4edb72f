"""Do real servers still answer what was recorded from them?"""

from __future__ import annotations

import pytest
from captures import records
from captures.table import PRODUCTS

pytestmark = [pytest.mark.real, pytest.mark.realtime, pytest.mark.timeout(240)]


@pytest.mark.parametrize("name", PRODUCTS)
def test_it_answers_as_recorded(name: str):
    """Status, headers and body of every case, apart from versions, ports, sizes, ids and times."""
    then, now = records.load(name), records.record(PRODUCTS[name])
    assert now.cases.keys() == then.cases.keys()
    other = [
        case for case in then.cases if not records.alike(then.cases[case].answer, now.cases[case].answer)
    ]
    assert {case: records.essence(now.cases[case].answer) for case in other} == {
        case: records.essence(then.cases[case].answer) for case in other
    }, f"if this is meant: python tests/real/capture.py {name}"
    assert [case for case, told in now.cases.items() if told.passed_on] == [
        case for case, told in then.cases.items() if told.passed_on
    ]
