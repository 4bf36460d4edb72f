"""How does a stored run come back as it was?

`extras` is what the contract of the document has no place for, `restore` joins the two again.
"""

from __future__ import annotations

import base64
import re
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from probes.body_text import BodyText, to_bytes, to_text
from probes.complaint import Told, from_document, to_document
from probes.model import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Call, Case, Exchange

_ATTRIBUTION = ("who_acts", "retryable", "extracted", "advice")


def extras(run: Run) -> dict[str, Any]:
    """In the order of the document's calls and exchanges."""
    return {
        "config_digest": run.config_digest,
        "target": asdict(run.target),
        "cases": [_case_extras(case) for case in run.cases],
        "calls": [_call_extras(call) for call in run.calls],
        "exchanges": [_exchange_extras(exchange) for call in run.calls for exchange in call.exchanges],
    }


def call_extras(call: Call) -> dict[str, Any]:
    """Those of one call."""
    return {
        "calls": [_call_extras(call)],
        "exchanges": [_exchange_extras(exchange) for exchange in call.exchanges],
    }


def restore(document: dict[str, Any]) -> Run:
    """Raises KeyError, TypeError or ValueError where the document is not what `to_document` wrote."""
    more = document["replay"]
    pairs = zip(document["exchanges"], more["exchanges"], strict=True)
    exchanges = iter([_exchange(stored, beyond) for stored, beyond in pairs])
    calls = [
        _call(stored, beyond, exchanges)
        for stored, beyond in zip(document["calls"], more["calls"], strict=True)
    ]
    run = document | {
        "target": more["target"],
        "config_digest": more["config_digest"],
        "cases": [_case(stored) | {"target": more["target"]} for stored in more["cases"]],
        "calls": calls,
        "findings": [_finding(stored) for stored in document["findings"]],
    }
    restored: Run = _adapter().validate_python(run)
    return restored


@cache
def _adapter() -> TypeAdapter[Run]:
    return TypeAdapter(Run)


def _case_extras(case: Case) -> dict[str, Any]:
    """Without the target, which is the run's."""
    found = {name: value for name, value in asdict(case).items() if name != "target"}
    told = {name: to_document(value) for name, value in case.params.items() if isinstance(value, Told)}
    return found | {"params": found["params"] | told}


def _case(stored: dict[str, Any]) -> dict[str, Any]:
    """With the request that it is about, where somebody told one."""
    told = stored["params"].get("told")
    read = {"told": from_document(told)} if isinstance(told, dict) else {}
    return stored | {"params": stored["params"] | read}


def _call_extras(call: Call) -> dict[str, Any]:
    trial = asdict(call.trial)
    if "body" in trial["request"]:
        trial["request"]["body"] = base64.b64encode(trial["request"]["body"]).decode("ascii")
    return {"trial": trial}


def _call(
    stored: dict[str, Any], beyond: dict[str, Any], exchanges: Iterator[dict[str, Any]]
) -> dict[str, Any]:
    trial = beyond["trial"]
    if "body" in trial["request"]:
        body = base64.b64decode(trial["request"]["body"])
        trial = trial | {"request": trial["request"] | {"body": body}}
    return stored | {"trial": trial, "exchanges": [next(exchanges) for _ in stored["exchanges"]]}


def _exchange_extras(exchange: Exchange) -> dict[str, Any]:
    pieces = to_text(exchange.body_head, exchange.body_tail).pieces
    attribution = exchange.attribution
    return {
        "body_digest": exchange.body_digest,
        "body_encoding": exchange.body_encoding,
        "body_pieces": [piece.hex() for piece in pieces] if any(pieces) else None,
        "last_token": exchange.timeline.last_token,
        "attribution": attribution and {name: getattr(attribution, name) for name in _ATTRIBUTION},
    }


def _exchange(stored: dict[str, Any], beyond: dict[str, Any]) -> dict[str, Any]:
    head_end, tail_start, tail_end = map(bytes.fromhex, beyond["body_pieces"] or ("", "", ""))
    text = (stored["body_head"], stored["body_tail"], stored["body_encoding"])
    head, tail = to_bytes(BodyText(*text, (head_end, tail_start, tail_end)))
    return stored | {
        "headers": stored["headers"] or {},
        "body_head": head,
        "body_tail": tail,
        "body_bytes": stored["body_bytes"] or 0,
        "body_digest": beyond["body_digest"],
        "body_encoding": beyond["body_encoding"],
        "chunks": stored["chunks"] or 0,
        "timeline": stored["timeline"] | {"last_token": beyond["last_token"]},
        "attribution": stored["attribution"] and stored["attribution"] | beyond["attribution"],
    }


def _finding(stored: dict[str, Any]) -> dict[str, Any]:
    return stored | {
        "title": stored["title"] or "",
        "detail": _rows(stored["detail"] or ""),
        "advice": stored["advice"] or "",
    }


def _rows(text: str) -> list[tuple[str, str]]:
    """`word: sentence` lines; one that begins with two blanks goes on the sentence before."""
    rows = re.split(r"\n(?!  )", text) if text else []
    parts = (row.replace("\n  ", "\n").partition(": ") for row in rows)
    return [(word, sentence) for word, _, sentence in parts]
