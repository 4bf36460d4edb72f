"""When did each piece of a body come, and each event of a stream, as columns?"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.model import Run


def columns(run: Run) -> str:
    """CSV: seconds from the start of the exchange; `bytes` of a chunk, `kind` of an event by its letter in the run."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["exchange", "what", "seconds", "bytes", "kind"])
    for call in run.calls:
        for exchange in call.exchanges:
            name = _harmless(exchange.id)
            for at, size in zip(exchange.chunk_times, exchange.chunk_sizes, strict=False):
                rows.writerow([name, "chunk", f"{at:.6f}", size, ""])
            for at, kind in zip(exchange.event_times, exchange.event_kinds, strict=False):
                rows.writerow([name, "event", f"{at:.6f}", "", kind])
    return out.getvalue()


def _harmless(text: str) -> str:
    """A spreadsheet takes a text that begins so for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
