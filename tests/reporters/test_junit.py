"""JUnit XML: what each verdict becomes, the shape that CI servers read, and that no text breaks it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hostile import AROUND, FIELDS, FINE, FOUND, HARMS, hostile_run, run_of, told

from probes.model import Ask, Call, Exchange, Skipped, Timeline, Trial, Verdict, WireRequest
from probes.reporters import junit
from probes.reporters.console import plain

# Element → (attributes it must have, those it may have, its children). The least that all of these admit: Jenkins'
# schema (jenkinsci/xunit-plugin, junit-10.xsd), GitLab's parser (name, classname, time, failure, error, skipped,
# system-out), and pytest's own xunit2.
SHAPE = {
    "testsuites": ("", "name tests failures errors time", "testsuite"),
    "testsuite": ("name tests failures errors", "time skipped timestamp", "properties testcase system-out"),
    "properties": ("", "", "property"),
    "property": ("name value", "", ""),
    "testcase": ("name classname time", "", "failure error skipped system-out"),
    "failure": ("type message", "", ""),
    "error": ("type message", "", ""),
    "skipped": ("message", "", ""),
    "system-out": ("", "", ""),
}
SECONDS = re.compile(r"\d+\.\d{3}")


def read(run):
    root = ET.fromstring(told(junit, run).encode())
    assert_shape(root)
    return root


def assert_shape(root):
    """The names, the order within a testcase, the counts and the formats of figures."""
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may, children = (set(part.split()) for part in SHAPE[element.tag])
        assert must <= set(element.attrib) <= must | may, element.tag
        assert {child.tag for child in element} <= children, element.tag
        assert SECONDS.fullmatch(element.get("time", "0.000"))
    [suite] = root
    cases = suite.findall("testcase")
    for name, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(count)) == sum(case.find(name) is not None for case in cases)
    assert root.get("tests") == suite.get("tests") == str(len(cases))
    assert all(len({"failure", "error", "skipped"} & {child.tag for child in case}) <= 1 for case in cases)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))


def test_a_failure():
    """Suite and kind, a name that stays, the code as the type, and the text of the console."""
    [case] = read(run_of(FOUND)).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("s/identity", "patience=9 openai-py")
    [failure] = case
    assert failure.get("type") == "blocked.client"
    assert failure.get("message") == "openai-py is refused at the edge"
    assert failure.text.strip() == plain(FOUND).strip()


@pytest.mark.parametrize(
    ("verdict", "tag", "message"),
    [
        (Verdict.FAIL, "failure", "t"),
        (Verdict.ERROR, "error", "error: t"),
        (Verdict.INCONCLUSIVE, "error", "inconclusive: t"),
        (Verdict.WARN, "system-out", None),
        (Verdict.PASS, "system-out", None),
    ],
    ids=lambda value: value if isinstance(value, Verdict) else None,
)
def test_what_a_verdict_becomes(verdict, tag, message):
    """Unproven is an error; a warning passes, and says so."""
    [case] = read(run_of(replace(FOUND, verdict=verdict, title="t"))).iter("testcase")
    [result] = case
    assert (result.tag, result.get("message")) == (tag, message)
    assert "t" in result.text


def test_accepted_passes():
    """What was accepted does not count, and stays visible."""
    accepted = replace(FOUND, accepted=True)
    cases = read(run_of(accepted, FINE)).findall(".//testcase")
    assert [[child.tag for child in case] for case in cases] == [["system-out"], ["system-out"]]
    assert "(accepted)" in cases[0][0].text


def test_one_testcase_for_each_case_and_client():
    """Findings of one case and client are told together, the worst as the result."""
    warned = replace(FOUND, verdict=Verdict.WARN, code="leak.internal_address", title="leaks")
    other = replace(FOUND, case="s/streaming", kind="streaming", client=None)
    root = read(run_of(warned, FOUND, FINE, other))
    places = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert places == [
        ("s/identity", "patience=9 openai-py"),
        ("s/identity", "patience=9"),
        ("s/streaming", "streaming"),
    ]
    [failure] = root.findall(".//testcase[1]/failure")
    assert failure.get("type") == "blocked.client"
    assert failure.text.index("FAIL openai-py") < failure.text.index("WARN leaks")


def test_skipped():
    """What was left out is there with its reason."""
    run = run_of(FINE, skipped=(Skipped("s/x", "curl", "curl is not installed"), Skipped("s/y", None, "why")))
    skipped = {
        (case.get("classname"), case.get("name")): case.find("skipped").get("message")
        for case in read(run).iter("testcase")
        if case.find("skipped") is not None
    }
    assert skipped == {("s/x", "curl"): "curl is not installed", ("s/y", "y"): "why"}


@pytest.mark.parametrize(
    "run",
    [
        run_of(verdict=Verdict.INCONCLUSIVE),
        run_of(verdict=Verdict.INCONCLUSIVE, skipped=(Skipped("s/x", None, "why"),)),
        run_of(replace(FOUND, accepted=True), verdict=Verdict.INCONCLUSIVE),
    ],
    ids=["nothing", "all skipped", "all accepted"],
)
def test_nothing_measured_is_not_green(run):
    """A report without anything measured holds an error."""
    [error] = read(run).iter("error")
    assert error.get("type") == "not_measured"


def test_properties():
    """Whose run this is: its id, target, vantage and versions."""
    found = {p.get("name"): p.get("value") for p in read(run_of(FINE)).iter("property")}
    assert found == {
        "run": "20261129-174312-x7k2", "verdict": "pass", "target": "t", "api": "openai", "model": "m",
        "route.edge": "https://api.example.com/v1", "vantage": "fra", "seed": "1", "time_scale": "1",
        "version.edgeprobe": "0.1.0",
    }  # fmt: skip


def test_the_time_of_a_testcase():
    """The seconds of its own requests: those of the case, or of the client in it."""

    def call(client, case, seconds):
        request = WireRequest("POST", "https://h/v1", (), 0, None, None)
        timeline = Timeline(end=seconds)
        exchange = Exchange("e", request, 200, {}, b"", b"", 0, None, None, timeline, {})
        return Call("c", case, Trial("t", client, "edge", Ask("chat")), 0, (exchange,))

    calls = (call("openai-py", FOUND.case, 1.5), call("curl", FOUND.case, 0.25), call("curl", "s/x", 9.0))
    cases = read(run_of(FOUND, FINE, calls=calls)).findall(".//testcase")
    assert [case.get("time") for case in cases] == ["1.500", "1.750"]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text(harm):
    """Whatever stands in a field, the document is well-formed, of the same shape, and forges no testcase."""
    for field in FIELDS + AROUND:
        run = hostile_run(field, harm)
        text = told(junit, run)
        root = read(run)
        assert len(root.findall(".//testcase")) == len(run.findings) + len(run.skipped)
        assert not re.search(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]", text
        )
        assert all(case.get("name") != "forged" for case in root.iter("testcase"))
