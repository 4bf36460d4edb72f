"""A run as the JSON of the contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from probes.document import to_document

if TYPE_CHECKING:
    from probes.model import Run


def report(run: Run, out: TextIO) -> None:
    json.dump(to_document(run), out, indent=2, ensure_ascii=True, allow_nan=False)
    out.write("\n")
