"""What does a run look like as JSON?

The document is `edgeprobe.run/1`, the contract with the outside. What a replay needs beyond it stands under the one
key `replay`, and the chunk columns in each exchange, when asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from probes.body_text import to_text
from probes.errors import UsageError
from probes.recorded import call_extras, extras, restore
from probes.redact import safe_text

if TYPE_CHECKING:
    from probes.model import Call, Exchange, Figure, Finding, Run

SCHEMA = "edgeprobe.run/1"
TIMES = (
    "dns", "connect", "tls", "upload_start", "upload_end", "headers", "first_byte", "first_event", "first_token",
    "first_content", "last_byte", "end",
)  # fmt: skip
ATTRIBUTION = (
    "layer", "product", "code", "vendor_code", "signature", "confidence", "runner_up", "transit", "next_test",
)  # fmt: skip
_NOT_EVENTS = frozenset({"comment", "meta", "blank"})
_BEGAN = re.compile(r"\d{8}-\d{6}(?=-)", re.ASCII)
_MAX_DEPTH = 120  # deeper than what a redacted tree may be


def to_document(run: Run, *, chunks: bool = False) -> dict[str, Any]:
    """The run as JSON-like data; `chunks` adds the chunk columns and what a replay needs."""
    document = {
        "schema": SCHEMA,
        "id": run.id,
        "suites": list(run.suites),
        "target": {
            "name": run.target.name,
            "api": run.target.api,
            "model": run.target.model,
            "routes": {name: route.base_url for name, route in run.target.routes.items()},
        },
        "vantage": run.vantage,
        "started": time_of_day(run.started),
        "finished": time_of_day(run.finished),
        "versions": dict(run.versions),
        "seed": run.seed,
        "time_scale": run.time_scale,
        "verdict": run.verdict,
        "spend": _fields(run.spend),
        "skipped": [_fields(skipped) for skipped in run.skipped],
        "not_sent": [
            {"case": call.case, "label": call.trial.label, "reason": call.not_sent}
            for call in run.calls
            if call.not_sent is not None
        ],
        "findings": [_finding(finding) for finding in run.findings],
        "calls": [_call(call) for call in run.calls],
        "exchanges": [_exchange(call, ex, chunks=chunks) for call in run.calls for ex in call.exchanges],
    }
    if chunks:
        document["replay"] = extras(run)
    found: dict[str, Any] = plain(document)
    return found


def call_document(call: Call) -> dict[str, Any]:
    """What `to_document(run, chunks=True)` adds to `calls`, `exchanges` and `replay` for this one."""
    found: dict[str, Any] = plain(
        {
            "calls": [_call(call)],
            "exchanges": [_exchange(call, exchange, chunks=True) for exchange in call.exchanges],
            "replay": call_extras(call),
        }
    )
    return found


def from_document(document: object) -> Run:
    """The run that `to_document(run, chunks=True)` wrote; UsageError for any other document."""
    if not isinstance(document, Mapping) or "schema" not in document:
        raise UsageError(f"no report of edgeprobe: it has no schema, such as {SCHEMA}")
    if document["schema"] != SCHEMA:
        raise UsageError(f"its schema is {document['schema']!r}; this edgeprobe reads {SCHEMA}")
    if "replay" not in document:
        raise UsageError("written by --json, which leaves out what a replay needs; take the stored run")
    try:
        run = restore(dict(document))
        why = _out_of_order(run)
    except ValidationError as fault:
        raise UsageError(f"damaged: {misfit(fault)}") from None
    except KeyError as fault:
        raise UsageError(f"damaged: {safe_text(str(fault))} is missing") from None
    except (TypeError, ValueError, AttributeError, StopIteration):
        raise UsageError("damaged: its parts are not those of a stored run") from None
    if why is not None:
        raise UsageError(f"damaged: {why}")
    return run


def misfit(fault: ValidationError) -> str:
    """The first key that is not as it was written, which a stranger may have named."""
    error = fault.errors(include_url=False)[0]
    where = safe_text(".".join(map(str, error["loc"])))[:200]
    return f"{where}: {error['msg']}" if where else str(error["msg"])


def _out_of_order(run: Run) -> str | None:
    """The id of a run holds when it began; acceptances and what was found when hang on that day."""
    started, finished = time_of_day(run.started), time_of_day(run.finished)
    if run.finished < run.started:
        return f"started: {started} is after finished, {finished}"
    if not run.time_scale > 0:
        return f"time_scale: {run.time_scale:g}"
    if naive := next((call.id for call in run.calls if call.started and call.started.tzinfo is None), None):
        return f"calls: {naive}: started: has no time zone"
    by_id = _BEGAN.match(run.id)
    if by_id is not None and by_id[0] != f"{run.started.astimezone(UTC):%Y%m%d-%H%M%S}":
        return f"started: {started} is not when the run began by its id, {run.id}"
    return None


def _fields(noun: Any) -> dict[str, Any]:
    return {field.name: getattr(noun, field.name) for field in fields(noun)}


def plain(tree: Any, _depth: int = 0) -> Any:
    """`tree` in the types that JSON has; what it can't hold is null (NaN, endless depth) or U+FFFD (half a pair)."""
    if tree is None or isinstance(tree, bool | int) or (type(tree) is str and tree.isascii()):
        return tree  # most of it, and one server may send 10,000 headers
    if isinstance(tree, float):
        return tree if math.isfinite(tree) else None
    if not isinstance(tree, Mapping | list | tuple):
        return str(tree).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if _depth > _MAX_DEPTH:
        return None
    if isinstance(tree, Mapping):
        return {plain(str(key)): plain(value, _depth + 1) for key, value in tree.items()}
    return [plain(item, _depth + 1) for item in tree]


def _seconds(value: float | None) -> float | None:
    """To the microsecond: no clock of ours bears more."""
    return None if value is None else round(float(value), 6)


def time_of_day(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def span_in_words(since: datetime, until: datetime) -> str:
    """`2026-11-30 09:52 to 09:58 UTC`: with seconds within a minute, and the day again where it is another."""
    first, last = since.astimezone(UTC), until.astimezone(UTC)
    same = first != last and f"{first:%Y-%m-%d %H:%M}" == f"{last:%Y-%m-%d %H:%M}"
    clock = "%H:%M:%S" if same else "%H:%M"
    day = "" if first.date() == last.date() else "%Y-%m-%d "
    end = "" if first == last else f" to {last.strftime(day + clock)}"
    return f"{first.strftime(f'%Y-%m-%d {clock}')}{end} UTC"


# --- findings, calls, exchanges --------------------------------------------------------------------------


def finding_document(finding: Finding) -> dict[str, Any]:
    """One of the document's `findings`."""
    found: dict[str, Any] = plain(_finding(finding))
    return found


def _finding(finding: Finding) -> dict[str, Any]:
    return _fields(finding) | {
        "observed": finding.observed and _fields(finding.observed),
        "title": finding.title or None,
        "detail": _to_text(finding.detail) or None,
        "figures": {name: _figure(figure) for name, figure in finding.figures.items()},
        "advice": finding.advice or None,
        "reproduce": finding.reproduce and _fields(finding.reproduce),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    found = _fields(figure)
    if figure.unit.partition("/")[0] == "s":  # also s/token
        found |= {name: _seconds(found[name]) for name in ("value", "low", "high", "spread")}
    return found


def _to_text(rows: tuple[tuple[str, str], ...]) -> str:
    """A finding's rows, one a line, `word: sentence`; a line end in a sentence is followed by two blanks."""
    return "\n".join(f"{word}: {sentence}".replace("\n", "\n  ") for word, sentence in rows)


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "case": call.case,
        "label": call.trial.label,
        "repeat": call.repeat,
        "client": call.trial.client,
        "route": call.trial.route,
        "exchanges": [exchange.id for exchange in call.exchanges],
        "returned": call.returned,
        "raised": call.raised and _fields(call.raised),
        "not_sent": call.not_sent,
        "conditions": call.conditions,
        "own_lag": _seconds(call.own_lag),
        "started": call.started and time_of_day(call.started),
    }


def _exchange(call: Call, exchange: Exchange, *, chunks: bool) -> dict[str, Any]:
    answered = exchange.status is not None
    body = to_text(exchange.body_head, exchange.body_tail)
    attribution = exchange.attribution
    document = {
        "id": exchange.id,
        "case": call.case,
        "call": call.id,
        "label": call.trial.label,
        "repeat": call.repeat,
        "client": call.trial.client,
        "route": call.trial.route,
        "request": _fields(exchange.request),
        "status": exchange.status,
        "headers": exchange.headers if answered or exchange.headers else None,
        "body_head": body.head,
        "body_tail": body.tail,
        "body_encoding": body.encoding,
        "body_bytes": exchange.body_bytes if answered or exchange.body_bytes else None,
        "error": exchange.error and _fields(exchange.error),
        "timeline": {name: _seconds(getattr(exchange.timeline, name)) for name in TIMES},
        "chunks": exchange.chunks if answered or exchange.chunks else None,
        "events": _events(exchange.facts),
        "usage": exchange.facts.get("usage"),
        "max_gap": _seconds(_max_gap(exchange)),
        "facts": exchange.facts,
        "conditions": exchange.conditions,
        "attribution": attribution and {name: getattr(attribution, name) for name in ATTRIBUTION},
    }
    if chunks:
        document["chunk_times"] = [_seconds(at) for at in exchange.chunk_times]
        document["chunk_sizes"] = list(exchange.chunk_sizes)
        document["event_times"] = [_seconds(at) for at in exchange.event_times]
        document["event_kinds"] = exchange.event_kinds
    return document


def _events(facts: Mapping[str, Any]) -> int | None:
    """How many events a stream dispatched; comments and empty blocks are none."""
    seen = facts.get("events")
    if not facts.get("stream") or not isinstance(seen, Mapping):
        return None
    return sum(int(row["n"]) for name, row in seen.items() if name not in _NOT_EVENTS)


def _max_gap(exchange: Exchange) -> float | None:
    """Between two chunks; of the columns where the facts do not say, which count beyond the columns' cap."""
    found: float | None = exchange.facts.get("max_gap")
    if found is None:
        found = max((later - earlier for earlier, later in pairwise(exchange.chunk_times)), default=None)
    return found
