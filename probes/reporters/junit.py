"""A run as JUnit XML, for the test view of GitLab, Jenkins and others.

One testcase per case, or per case and client where findings name one. What Jenkins' schema admits
(jenkinsci/xunit-plugin, junit-10.xsd) and GitLab reads: of several results of a testcase it shows one only.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC
from typing import TYPE_CHECKING, TextIO

from probes.model import Verdict
from probes.redact import safe_text
from probes.reporters.console import plain
from probes.reporters.words import nothing_measured, summary, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Finding, Run

_RESULTS = {Verdict.FAIL: "failure", Verdict.ERROR: "error", Verdict.INCONCLUSIVE: "error"}
Place = tuple[str, str | None]
"""(case id, client): what a testcase stands for."""


def report(run: Run, out: TextIO) -> None:
    cases = [*_measured(run), *_skipped(run), *_nothing(run)]
    counts = {name: sum(case.find(name) is not None for case in cases) for name in ("failure", "error")}
    seconds = max(0.0, (run.finished - run.started).total_seconds())
    name = safe_text(", ".join(run.suites))
    totals = {
        "name": f"edgeprobe {name}",
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals | {"name": name})
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.set("timestamp", f"{run.started.astimezone(UTC):%Y-%m-%dT%H:%M:%S}")
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(run):
        ET.SubElement(properties, "property", {"name": safe_text(key), "value": safe_text(value)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = safe_text(summary(run))
    ET.indent(root)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(ET.tostring(root, encoding="unicode") + "\n")


def _properties(run: Run) -> Iterator[tuple[str, str]]:
    yield "run", run.id
    yield "verdict", run.verdict
    yield "target", run.target.name
    yield "api", run.target.api
    yield "model", run.target.model
    for name, route in run.target.routes.items():
        yield f"route.{name}", route.base_url
    if run.vantage:
        yield "vantage", run.vantage
    yield "seed", str(run.seed)
    yield "time_scale", f"{run.time_scale:g}"
    for name, version in run.versions.items():
        yield f"version.{name}", version


def _testcase(place: Place, seconds: float = 0.0) -> ET.Element:
    """`classname` is suite/kind, `name` the rest of the case's id and the client: both the same in every run."""
    case, client = place
    parts = case.split("/", 2)
    name = " ".join([*parts[2:], *([client] if client else [])]) or parts[-1]
    attributes = {"classname": "/".join(parts[:2]), "name": name}
    safe = {key: safe_text(value) for key, value in attributes.items()}
    return ET.Element("testcase", safe | {"time": f"{seconds:.3f}"})


def _measured(run: Run) -> Iterator[ET.Element]:
    groups: dict[Place, list[Finding]] = {}
    for finding in run.findings:
        groups.setdefault((finding.case, finding.client), []).append(finding)
    for place, findings in groups.items():
        testcase = _testcase(place, _seconds(run, place))
        counted = worst_first(finding for finding in findings if not finding.accepted)
        told = worst_first(findings)
        if counted and counted[0].verdict in _RESULTS:
            _result(testcase, counted[0])
            told = [finding for finding in told if finding.verdict is not Verdict.PASS]
            testcase[0].text = _text(told)
        else:
            ET.SubElement(testcase, "system-out").text = _text(told)
        yield testcase


def _result(testcase: ET.Element, worst: Finding) -> None:
    said = worst.title if worst.verdict is Verdict.FAIL else f"{worst.verdict}: {worst.title}"
    ET.SubElement(testcase, _RESULTS[worst.verdict], type=safe_text(worst.code), message=safe_text(said))


def _text(findings: list[Finding]) -> str:
    return "\n" + "\n".join(map(plain, findings))


def _seconds(run: Run, place: Place) -> float:
    """What its requests took, added up; those side by side count each."""
    case, client = place
    calls = [c for c in run.calls if c.case == case and client in {None, c.trial.client}]
    return sum(exchange.timeline.end or 0.0 for call in calls for exchange in call.exchanges)


def _skipped(run: Run) -> Iterator[ET.Element]:
    for skipped in run.skipped:
        testcase = _testcase((skipped.case, skipped.client))
        ET.SubElement(testcase, "skipped", message=safe_text(skipped.reason))
        yield testcase


def _nothing(run: Run) -> Iterator[ET.Element]:
    if nothing_measured(run):
        testcase = _testcase(("edgeprobe/run", None))
        ET.SubElement(testcase, "error", type="not_measured", message="nothing measured")
        yield testcase
