"""How does `classify` fare with a support engineer's week of pasted errors?"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from probes import strict_yaml
from probes.classify import classify
from probes.classify.told import rows
from probes.model import STRICT, Confidence, Layer
from probes.signatures import catalogue

HERE = Path(__file__).parent
RIGHT = 0.95
"""Of all texts; the rest is unread or unsure."""


@dataclass(frozen=True, slots=True)
class Says:
    __pydantic_config__: ClassVar = STRICT

    layer: Layer
    product: str | None
    code: str


@dataclass(frozen=True, slots=True)
class Paste:
    __pydantic_config__: ClassVar = STRICT

    name: str
    source: str
    text: str
    says: tuple[Says, ...]
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Week:
    __pydantic_config__: ClassVar = STRICT

    pastes: tuple[Paste, ...]


PASTES = strict_yaml.read(HERE / "week.yaml", Week).pastes
COMPOSED = strict_yaml.read(HERE / "composed.yaml", Week).pastes


def told(paste):
    return [
        (found.layer, found.product, found.code.removesuffix(".no_hint"))
        for found in (answer.attribution for answer in classify(paste.text.encode()))
    ]


def truth(paste):
    return [(one.layer, one.product, one.code) for one in paste.says]


@pytest.mark.parametrize("paste", COMPOSED, ids=[paste.name for paste in COMPOSED])
def test_what_is_clear_is_told_whole(paste):
    """Each answer that the text holds, and no other."""
    assert told(paste) == truth(paste)


@pytest.mark.parametrize("paste", PASTES + COMPOSED, ids=[paste.name for paste in PASTES + COMPOSED])
def test_nothing_is_confidently_wrong(paste):
    """Each answer is the right one, or says that it is not sure of it."""
    expected = truth(paste)
    for answer in classify(paste.text.encode()):
        found = answer.attribution
        sure = found.layer is not Layer.UNKNOWN and found.confidence is not Confidence.LOW
        said = (found.layer, found.product, found.code.removesuffix(".no_hint"))
        assert said in expected or not sure
        if not sure:
            assert found.product in {None, *(product for _, product, _ in expected)}
        assert found.next_test or sure
        assert dict(rows(answer))["do"]


def test_most_are_right(capsys):
    """The answers are those that are in the text, in its order; what is not is unknown or unread."""
    outcome: Counter[tuple[str, str]] = Counter()
    misses = []
    for paste in PASTES:
        got, expected = told(paste), truth(paste)
        kind = next((one.product or str(one.layer) for one in paste.says), "nothing")
        how = "right" if got == expected else "unread" if not got else "unsure"
        outcome[kind, how] += 1
        if how != "right":
            misses.append(f"  {how:7} {paste.name}")
    kinds = sorted({kind for kind, _ in outcome})
    table = [f"{'what it is':14} {'right':>6} {'unsure':>7} {'unread':>7}"]
    table += [
        f"{kind:14} {outcome[kind, 'right']:>6} {outcome[kind, 'unsure']:>7} {outcome[kind, 'unread']:>7}"
        for kind in kinds
    ]
    right = sum(n for (_, how), n in outcome.items() if how == "right")
    unseen = [paste for paste in PASTES if paste.unseen]
    first = sum(told(paste) == truth(paste) for paste in unseen)
    with capsys.disabled():
        print(
            "\n"
            + "\n".join(
                [*table, f"{right} of {len(PASTES)} right; of those unseen, {first} of {len(unseen)}"]
            )
        )
        print("\n".join(misses))
    assert right / len(PASTES) >= RIGHT


def test_no_signature_was_written_from_the_week():
    """Sixty texts or more, each from a place of its own that the catalogue does not name."""
    assert len(PASTES) >= 60
    places = [paste.source for paste in PASTES]
    assert len(set(places)) == len(places)
    used = {
        url
        for one in catalogue().signatures
        for text in (*one.row.source, *(sample.source or "" for sample in one.row.samples))
        for url in re.findall(r"https://[^\s,\"]+", text)
    }
    assert not {place.partition("#")[0] for place in places} & used


def test_the_week_shows_no_secret():
    """What people pasted beside the error was left out."""
    text = (HERE / "week.yaml").read_text()
    assert not re.search(r"\bsk-[A-Za-z0-9]{12,}|Bearer [A-Za-z0-9._-]{12,}|[\w.]+@[\w.]+\.\w{2,}", text)
