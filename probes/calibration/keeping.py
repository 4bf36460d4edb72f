"""How are the pages of one's own zone kept?

As signatures in the target's own file, which belongs to whoever edits it: what stands there stays, new rows go to its end.
Of a page only the marks are kept. Every row is read back, as it will be, and tried before it is written.
"""

from __future__ import annotations

import os
import re
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from probes import own_signatures
from probes.calibration.asking import PRODUCT
from probes.calibration.fit import doubts, held, unfit
from probes.calibration.judging import Judged, Outcome, Proposal, code_of, wanted
from probes.errors import ConfigError, UsageError
from probes.response import Response

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from probes.calibration.asking import Asked
    from probes.signatures import Signature

_MEDIA = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
ON_REQUEST = (
    "these pages were shown on request; that a real error gets the same one is likely, and not documented"
)
_HEAD = """\
# Error pages of the zone's own, as `edgeprobe calibrate` found them; for target {target} alone, before the catalogue.
# Yours to edit: what stands here stays, and what is found later is added at the end.
# doubtful: {on_request}
version: 1
product: {product}
layer: edge
extract:
  ray: {{header: cf-ray, regex: "^([0-9a-f]{{16}})"}}
  colo: {{header: cf-ray, regex: "^[0-9a-f]{{16}}-([A-Z]{{3}})$"}}
  retry_after: {{header: retry-after}}

signatures:
"""


@dataclass(frozen=True, slots=True)
class Book:
    """The file of one target; `own` is what stood in it."""

    target: str
    path: Path
    text: str
    own: tuple[Signature, ...]

    @classmethod
    def of(cls, target: str) -> Book:
        """Raises ConfigError where the file is wrong, UsageError where it could not be written."""
        path = own_signatures.file_of(target)
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not os.access(there, os.W_OK) or there.is_dir() == (there == path):
            raise UsageError(f"{path}: cannot be written to")
        if not path.is_file():
            return cls(target, path, _HEAD.format(target=target, product=PRODUCT, on_request=ON_REQUEST), ())
        text = path.read_text("utf-8")
        return cls(
            target, path, text if text.endswith("\n") else f"{text}\n", own_signatures.read(path).signatures
        )


def keep(
    book: Book, proposals: Sequence[Proposal], asked: Asked, host: str, today: date
) -> tuple[list[Judged], list[str]]:
    """What became of each, and the ids that were written."""
    judged: list[Judged] = []
    rows: list[tuple[Proposal, dict[str, Any]]] = []
    taken = {one.id for one in book.own}
    for proposal in proposals:
        if (already := held(book.own, proposal)) is not None:
            judged += [Judged(shown, *already) for shown in proposal.shown]
            continue
        row = _row(proposal, _free_id(book.target, proposal, taken), host, today)
        taken.add(row["id"])
        rows.append((proposal, row))
    good: list[tuple[Proposal, dict[str, Any]]] = []
    for (proposal, row), signature in zip(rows, _read_back(book, rows), strict=True):
        why = unfit(signature, proposal, asked)
        outcome = (Outcome.UNUSABLE, why, None) if why else (Outcome.OWN, "kept", signature.id)
        judged += [Judged(shown, *outcome) for shown in proposal.shown]
        if not why:
            good.append((proposal, row))
    if good:
        _write(book.path, _with(book, good))
    return judged, [row["id"] for _, row in good]


# --- the file --------------------------------------------------------------------------------------------


def _free_id(target: str, proposal: Proposal, taken: set[str]) -> str:
    codes = proposal.codes
    what = str(codes[0]) if len(codes) == 1 else "1xxx" if codes[0] >= 1000 else "5xx"
    form = "json" if proposal.marks.json else "html" if proposal.marks.body[0].startswith("<") else "text"
    name = f"local.{target}.{what}.{form}"
    return next(one for one in (name, *(f"{name}.{n}" for n in range(2, len(taken) + 3))) if one not in taken)


def _row(proposal: Proposal, name: str, host: str, today: date) -> dict[str, Any]:
    known = wanted(proposal.codes[0])
    sources = [
        f"calibrated from {host} on {today}: /cdn-cgi/error/{one.code} with {one.accept} Accept"
        for one in proposal.shown
    ]
    media = Response.of(proposal.shown[0].answers[0]).media_type
    sample = {"status": proposal.status, "origin": "capture", "source": f"{sources[0]}, its marks alone"}
    row = {
        "id": name,
        "code": code_of(proposal),
        "vendor_code": str(proposal.codes[0]) if len(proposal.codes) == 1 else None,
        "strength": "strong" if proposal.sure else "supporting",
        "match": {"status": [proposal.status], **proposal.marks.match},
        "who_acts": known.who_acts and str(known.who_acts),
        "retryable": known.retryable,
        "next_test": known.next_test,
        "advice": known.advice,
        "verified": "capture",
        "source": sources,
        "samples": [
            {
                **sample,
                "headers": {"content-type": media} if _MEDIA.fullmatch(media) else {},
                "body": proposal.marks.sample,
            }
        ],
    }
    return {key: value for key, value in row.items() if value is not None}


def _with(book: Book, rows: Sequence[tuple[Proposal, dict[str, Any]]]) -> str:
    parts = [book.text]
    for proposal, row in rows:
        parts += [f"  # doubtful: {doubt}\n" for doubt in doubts(proposal)]
        dumped = yaml.safe_dump([row], sort_keys=False, width=10**6)
        parts.append(textwrap.indent(dumped, "  "))
    return "".join(parts)


def _read_back(book: Book, rows: Sequence[tuple[Proposal, dict[str, Any]]]) -> tuple[Signature, ...]:
    """The new ones as they will be read."""
    if not rows:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / book.path.name
        path.write_text(_with(book, rows), "utf-8")
        try:
            found = own_signatures.read(path, called=book.path).signatures
        except ConfigError:
            raise UsageError(
                f"{book.path}: nothing can be added at its end; `signatures` must be its last key, one row below the other"
            ) from None
    return found[len(book.own) :]


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(text, "utf-8")
        draft.replace(path)
    except OSError as fault:
        raise UsageError(f"{path}: {fault.strerror}") from None
