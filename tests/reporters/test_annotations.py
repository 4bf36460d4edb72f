"""Annotations: one workflow command per trouble, and none of a stranger's."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hostile import FIELDS, FINE, FOUND, HARMS, hostile_run, run_of, told

from probes.model import Verdict
from probes.reporters import annotations


def commands(text: str) -> list[tuple[str, str, str]]:
    """(command, title, message) as the runner reads them: properties end at the next `::`, then all is data."""
    found = []
    for line in text.splitlines():
        command, properties, data = re.fullmatch(r"::(\w+) (.*?)::(.*)", line).groups()
        assert properties.startswith("title=")
        assert not re.search(r"[:,\r\n]", properties)
        found.append((command, decoded(properties.removeprefix("title=")), decoded(data)))
    return found


def decoded(text: str) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text


@pytest.mark.parametrize(
    ("verdict", "levels"),
    [
        (Verdict.FAIL, ["error"]),
        (Verdict.ERROR, ["error"]),
        (Verdict.INCONCLUSIVE, ["warning"]),
        (Verdict.WARN, ["warning"]),
        (Verdict.PASS, []),
    ],
)
def test_levels(verdict, levels):
    """Each verdict's level; what passed is not annotated."""
    assert [
        level
        for level, _, _ in commands(
            told(annotations, run_of(replace(FOUND, verdict=verdict), verdict=verdict))
        )
    ] == levels


def test_what_an_annotation_says():
    """The title, and then the rows, one a line."""
    [(_, title, message)] = commands(told(annotations, run_of(FINE, FOUND)))
    assert title == "edgeprobe fail: openai-py is refused at the edge"
    lines = message.split("\n")
    assert lines[0] == "s/identity/patience=9: blocked.client | edge | Cloudflare 1010"
    assert lines[1:3] == ["seen: 403 JSON in 67 ms", "and again, 3 of 3"]
    assert "do: operator: Let the API path skip the rule." in lines


def test_accepted_findings_are_not_annotated():
    """A person has dealt with them; but nothing measured is an error."""
    assert (
        commands(told(annotations, run_of(replace(FOUND, accepted=True), FINE, verdict=Verdict.PASS))) == []
    )
    assert (
        told(annotations, run_of(verdict=Verdict.INCONCLUSIVE))
        == "::error title=edgeprobe::nothing measured\n"
    )


def test_the_worst_first():
    """GitHub shows the first ten of each level."""
    warned = replace(FOUND, verdict=Verdict.WARN)
    levels = [level for level, _, _ in commands(told(annotations, run_of(warned, FINE, FOUND)))]
    assert levels == ["error", "warning"]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_hostile_text_gives_no_command(harm):
    """One line for one finding, in ASCII, whatever it says."""
    for field in FIELDS:
        text = told(annotations, hostile_run(field, harm))
        [(level, title, _)] = commands(text)
        assert (level, title.startswith("edgeprobe fail: ")) == ("error", True)
        assert re.fullmatch(r"[ -~]*\n", text)
