"""Do the two tables say what they may, and nothing else?"""

import re
from pathlib import Path

import pytest

from probes.bundled import bundled
from probes.errors import ConfigError
from probes.lab.expectations import expectations
from probes.lab.faults import Faults, catalogue
from probes.lab.http1 import Request, parse_head
from probes.lab.pages import pages
from probes.strict_yaml import check

LAB = bundled("configs", "lab")
LATER = {"backtick-rule"}
"""Faults whose finding no kind of the first version can reach."""


def request(raw_head, body=b""):
    return Request(parse_head(raw_head.encode() + b"\r\n\r\n"), body, body)


def read(row):
    return check({"faults": [row]}, Faults, path="f.yaml").faults[0]


def test_every_fault_has_its_expectation():
    """A fault nobody expects anything of is named here."""
    assert set(catalogue()) - {row.fault for row in expectations()} == LATER


def test_expectations_do_not_contradict_each_other():
    """One code for each fault, suite, API, kind, client, profile, and what is set."""
    keys = [
        (row.fault, row.suite, row.api, row.kind, row.client, row.profile, row.sets) for row in expectations()
    ]
    assert len(keys) == len(set(keys))


ELSEWHERE = {
    "C05": "real/test_tls_stack.py::test_a_rule_by_the_tls_hello",
    "C24": "kinds/test_long_cases.py::test_the_sdk_refuses_before_it_sends",
    "C65": "clients/test_arrivals.py::test_every_arrival_is_a_call_of_the_run",
    "C73": "real/test_families.py::test_one_family_is_broken",
    "C87": "sinks/test_metrics.py::test_the_share_from_the_cache_is_weighed_by_tokens",
    "C74": "kinds/test_connection.py::test_a_far_host",
}
"""What a row for a lab of plain HTTP on one address cannot be: two TLS stacks, what an SDK does by itself, families, a
far host, figures over many runs.
"""


def test_every_field_case_of_the_door_is_rebuilt():
    """In a row, or in the test that is named."""
    wanted = [
        "01",
        "02",
        "05",
        "06",
        "12",
        "13",
        "14",
        "15",
        "17",
        "18",
        "19",
        "21",
        "23",
        "24",
        "44",
        "47",
        "49",
        "51",
        "52",
        "53",
        "54",
        "55",
        "57",
        "59",
        "60",
        "61",
        "63",
        "65",
        "68",
        "69",
        "70",
        "71",
        "73",
        "74",
        "85",
        "87",
        "88",
    ]
    rows = {row.case for row in expectations() if row.case}
    for number in wanted:
        name = f"C{number}"
        if name in ELSEWHERE:
            file, test = ELSEWHERE[name].split("::")
            assert f"def {test}(" in (Path(__file__).parent.parent / file).read_text()
        else:
            assert name in rows


def test_faults_do_not_give_the_answer_away():
    """No finding code stands in the faults' table."""
    text = (LAB / "faults.yaml").read_text()
    codes = {row.expect.code for row in expectations()} - {"ok"}
    assert not [code for code in codes if re.search(rf"(?<![\w.-]){re.escape(code)}(?![\w.-])", text)]


def test_every_page_is_used():
    """By a fault or by a profile."""
    text = (LAB / "faults.yaml").read_text() + (LAB / "profiles.yaml").read_text()
    assert not [page for page in pages() if page not in text]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": "x", "about": "", "do": {"anwser": {}}}, "did you mean answer"),
        ({"id": "x", "about": "", "do": {}, "when": {"every": 0}}, "every must be 1 or more"),
        ({"id": "x", "about": "", "do": {}, "when": {"path": "("}}, "path is no regular expression"),
        ({"id": "x", "about": "", "do": {}, "when": {"body_score": {"(": 1}}}, "body_score is no regular"),
        ({"id": "x", "about": "", "do": {}, "when": {"passes": 1.0}}, "a share below 1"),
        ({"id": "x", "about": "", "do": {"cut": {"how": "cleen"}}}, "did you mean clean"),
    ],
)
def test_mistakes_are_refused(row, says):
    """A misspelt fault is a configuration error, not a healthy lab."""
    with pytest.raises(ConfigError, match=says):
        read(row)


HEAD = "POST /v1/messages?a=1 HTTP/1.1\r\nUser-Agent: OpenAI/Python\r\nX-Two: a\r\nx-two: b"


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({}, True),
        ({"headers": [{"name": "USER-AGENT", "contains": "openai/"}]}, True),
        ({"headers": [{"name": "user-agent", "equals": "openai"}]}, False),
        ({"headers": [{"name": "x-two", "equals": "B"}]}, True),
        ({"headers": [{"name": "x-three"}]}, False),
        ({"headers": [{"name": "x-three", "present": False}]}, True),
        ({"headers": [{"name": "x-two"}, {"name": "x-three"}]}, False),
        ({"method": "GET"}, False),
        ({"path": "/v1/messages"}, False),
        ({"path": r"/v1/messages\?.*"}, True),
        ({"stream": True}, True),
        ({"stream": False}, False),
        ({"body_contains": "stream"}, True),
        ({"body_score": {'"': 1, "true": 3}, "score_min": 5}, True),
        ({"body_score": {'"': 1, "true": 3}, "score_min": 6}, False),
        ({"body_min": 15, "body_max": 15}, True),
        ({"body_min": 16}, False),
        ({"body_max": 14}, False),
    ],
)
def test_when_looks_at_the_request(when, holds):
    """Each condition alone; names of headers and what they contain in any case."""
    fault = read({"id": "x", "about": "", "do": {}, "when": when})
    assert fault.when.holds(request(HEAD, b'{"stream":true}')) == holds


def test_a_share_is_let_through():
    """As large as was said, and the same requests in every lab."""
    when = read({"id": "x", "about": "", "do": {}, "when": {"passes": 0.3}}).when
    hit = [when.turn(number, "x") for number in range(1, 1001)]
    assert hit == [when.turn(number, "x") for number in range(1, 1001)]
    assert 650 < sum(hit) < 750
