"""The bill of a month as JSON, `edgeprobe.bill/1`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from probes.bill import bill, savings
from probes.bill.words import notes

if TYPE_CHECKING:
    from probes.bill import Month, Range

SCHEMA = "edgeprobe.bill/1"


def to_document(month: Month) -> dict[str, Any]:
    traffic, prices = month.traffic, month.prices
    cost = bill(traffic, prices)
    return {
        "schema": SCHEMA,
        "target": month.target.name,
        "model": month.target.model,
        "requests": traffic.requests,
        "prompt_tokens": traffic.prompt,
        "cached_share": _range(traffic.cached, 6),
        "output_tokens": traffic.output,
        "prices": {
            "input": prices.input,
            "cached": prices.cached,
            "output": prices.output,
            "of": "list" if month.target.prices is None else "target",
        },
        "usd": {
            "prompt": _range(cost.prompt),
            "cached": _range(cost.cached),
            "output": round(cost.output, 2),
            "total": _range(cost.total),
            "without_cache": round(cost.uncached, 2),
        },
        "savings": [
            {"change": saving.name, "said": saving.change, "usd": _range(saving.usd)}
            for saving in savings(traffic, prices)
        ],
        "notes": notes(month),
    }


def text(month: Month) -> str:
    return json.dumps(to_document(month), indent=1, ensure_ascii=False) + "\n"


def _range(found: Range, digits: int = 2) -> dict[str, float]:
    return {"low": round(found.low, digits), "high": round(found.high, digits)}
