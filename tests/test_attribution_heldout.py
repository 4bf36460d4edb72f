"""Are answers judged rightly that no signature was written from, and how often is one product taken for another?

EDGEPROBE_UPDATE_SAMPLES=1 writes reports/samples/confusion.txt anew.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from exchanges import exchange
from heldout import answers

from probes.attribution import attribute
from probes.model import Confidence, Layer
from probes.signatures import catalogue

HELD_OUT = answers()
CONFUSION = Path(__file__).parent.parent / "reports" / "samples" / "confusion.txt"
NONE = "(none)"


@pytest.mark.parametrize("held", HELD_OUT, ids=[held.name for held in HELD_OUT])
def test_an_answer_that_no_signature_was_written_from(held):
    """It is its maker's, or nobody's; never another's, and never with confidence where nothing is known."""
    found = attribute(exchange(held.status, held.body, held.headers, url=""), catalogue())
    assert (found.product, found.layer, found.code.removesuffix(".no_hint")) == (
        held.product,
        held.layer,
        held.code,
    )
    if found.layer is Layer.UNKNOWN:
        assert found.confidence is Confidence.LOW
        assert found.next_test


def test_held_out_answers_are_no_samples():
    """Thirty or more, each from a place of its own that no signature names."""
    places = [url for held in HELD_OUT for url in re.findall(r"https://\S+", held.source)]
    assert len(HELD_OUT) >= 30
    assert len(places) == len(set(places))
    used = {
        url.rstrip(",;")
        for one in catalogue().signatures
        for text in (*one.row.source, *(sample.source or "" for sample in one.row.samples))
        for url in re.findall(r"https://\S+", text)
    }
    assert not used & set(places)


def confusion() -> str:
    """Of each product's samples and held-out answers: how many are named as which product."""
    cells: Counter[tuple[str, str]] = Counter()
    for one in catalogue().signatures:
        for sample in one.row.samples:
            found = attribute(exchange(sample.status, sample.body, sample.headers, url=""), catalogue())
            cells[one.product or NONE, found.product or NONE] += 1
    for held in HELD_OUT:
        found = attribute(exchange(held.status, held.body, held.headers, url=""), catalogue())
        cells[held.product or NONE, found.product or NONE] += 1
    makers = sorted({maker for maker, _ in cells}, key=lambda name: (name == NONE, name.lower()))
    rows = [f"{'made by':26} {'samples':>7}  named as"]
    for maker in makers:
        named = sorted((to, n) for (by, to), n in cells.items() if by == maker)
        total = sum(n for _, n in named)
        rows.append(f"{maker:26} {total:>7}  {', '.join(f'{to} {n}' for to, n in named)}")
    right = sum(n for (by, to), n in cells.items() if by == to)
    rows.append(f"{right} of {sum(cells.values())} as what they are; what is not listed is 0")
    return "\n".join(rows) + "\n"


def test_no_product_is_taken_for_another(capsys):
    """The confusion matrix of all samples has its diagonal alone, and is as committed."""
    text = confusion()
    with capsys.disabled():
        print(f"\n{text}")
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES") == "1":
        CONFUSION.write_text(text)
    for line in text.splitlines()[1:-1]:
        maker, named = line[:26].strip(), line[36:]
        assert re.sub(r" \d+$", "", named) == maker, line
    assert text == CONFUSION.read_text(), (
        f"if this is meant: EDGEPROBE_UPDATE_SAMPLES=1 pytest {Path(__file__).name}"
    )
