"""What was recorded, and is it what is answered now?

`samples/<product>.yaml` holds every answer as it came, with the version that gave it. Two answers are alike when they
differ in nothing but ports, sizes, measured times, ids, dates and what follows from a version.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from captures.asked import Answer, Product, answer
from captures.origins import origins

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "samples"
_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Which of the two it is can hang on how soon a body ends."""
_DOCTYPE = re.compile(r"<!DOCTYPE [^>]*>")
_WHEN = re.compile(r"\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT")
_ID = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|[0-9A-Za-z]{24,})(?![0-9A-Za-z])")
_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:e-?\d+)?|\d+e-?\d+|\d{4,}|(?<=XID: )\d+")
"""Of a version, a port, a size or a measured time; a status, or seconds to wait, are short and whole."""
_COUNTED = frozenset({"x-varnish"})
"""Their numbers are those of the request."""
_RAGGED = re.compile(r"[\w.:/-]*\Z")


@dataclass(frozen=True, slots=True)
class Recorded:
    """`answer` is None where the server hung up without one."""

    answer: Answer | None
    passed_on: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    server: str
    cases: Mapping[str, Recorded]


def record(product: Product) -> Record:
    """Starts the product and asks it everything."""
    server = product.server()
    with origins() as ports, product.running(ports) as cases:
        return Record(server, {name: Recorded(answer(case), case.passed_on) for name, case in cases.items()})


@dataclass(frozen=True, slots=True)
class Essence:
    """What changes neither with the version nor with the moment."""

    status: str
    headers: tuple[str, ...]
    body: str
    cut: bool

    def alike(self, other: Essence) -> bool:
        """Of a body that broke off, as much as got through both times."""
        if (self.status, self.headers, self.cut) != (other.status, other.headers, other.cut):
            return False
        if not self.cut:
            return self.body == other.body
        shorter, longer = sorted((self.body, other.body), key=len)
        return longer.startswith(_RAGGED.sub("", shorter))


def essence(seen: Answer | None) -> Essence | None:
    """`None` where there was no answer."""
    if seen is None:
        return None
    headers = sorted(
        f"{name}: {re.sub(r'[0-9]+', '0', value) if name in _COUNTED else _plain(value)}"
        for name, values in seen.values.items()
        for value in values
        if name not in _FRAMING
    )
    return Essence(seen.status, tuple(headers), _plain(seen.body), seen.cut)


def alike(one: Answer | None, other: Answer | None) -> bool:
    first, second = essence(one), essence(other)
    return first is second if first is None or second is None else first.alike(second)


def _plain(text: str) -> str:
    for varies, same in ((_DOCTYPE, ""), (_WHEN, "then"), (_ID, "id"), (_NUMBER, "0")):
        text = varies.sub(same, text)
    return text


def load(name: str) -> Record:
    data: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return Record(data["server"], {case["case"]: _read(case) for case in data["cases"]})


def _read(case: Mapping[str, Any]) -> Recorded:
    if case["status"] is None:
        return Recorded(None)
    seen = Answer(case["status"], tuple(case["headers"]), case["body"], case.get("cut", False))
    return Recorded(seen, case.get("passed_on", False))


def save(name: str, now: Record) -> None:
    """What is alike stays as it was written, so that a new recording shows what changed."""
    path = FOLDER / f"{name}.yaml"
    before = load(name) if path.exists() else Record("", {})
    lines = ["# Written by tests/real/capture.py.", f"server: {now.server}", "cases:"]
    for case, told in now.cases.items():
        old = before.cases.get(case)
        same = before.server == now.server and old is not None and alike(old.answer, told.answer)
        lines += _written(case, Recorded(old.answer if same and old else told.answer, told.passed_on))
    path.write_text("\n".join(lines) + "\n")


def _written(case: str, told: Recorded) -> list[str]:
    seen = told.answer
    lines = [f"  - case: {json.dumps(case)}"]
    if told.passed_on:
        lines.append("    passed_on: true")
    if seen is None:
        return [*lines, "    status: null"]
    lines += [f"    status: {json.dumps(seen.status)}", "    headers:"]
    lines += [f"      - {json.dumps(line)}" for line in seen.headers]
    lines += ["    cut: true"] if seen.cut else []
    return [*lines, f"    body: {json.dumps(seen.body)}"]
