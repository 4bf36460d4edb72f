"""Which row is it, of a run, a call, an exchange, a finding, an outcome?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.attempts import withheld
from probes.costs import charged
from probes.document import call_document, finding_document, to_document
from probes.kinds.conclude import is_good
from probes.memory.outcomes import clocks, counts, let_in, limited
from probes.prices import cost, prices

if TYPE_CHECKING:
    from datetime import datetime

    from probes.memory.outcomes import Outcome
    from probes.model import Call, Exchange, Finding, Run, Spend, Target


def shell(run: Run) -> dict[str, Any]:
    """The run without what stands in rows of its own."""
    bare = replace(run, calls=(), findings=())
    return {"verdict": run.verdict, "document": to_document(bare, chunks=True), **_spend(run.spend)}


def _spend(spend: Spend) -> dict[str, Any]:
    return {
        "requests": spend.requests,
        "input_tokens": spend.input_tokens,
        "output_tokens": spend.output_tokens,
        "usd": spend.usd,
    }


def finding_row(finding: Finding, run: str, n: int) -> dict[str, Any]:
    return {
        "run": run,
        "n": n,
        "case_id": finding.case,
        "client": finding.client,
        "code": finding.code,
        "verdict": finding.verdict,
        "layer": finding.layer,
        "product": finding.product,
        "vendor_code": finding.vendor_code,
        "accepted": finding.accepted,
        "document": finding_document(finding),
    }


def call_row(call: Call, run: Run, seq: int, at: datetime) -> dict[str, Any]:
    """`seq` counts the calls as they came; where it stands among the run's is known when that ends."""
    times, trial, asked = clocks(call), call.trial, counts(call, run.target)
    return {
        "run": run.id,
        "seq": seq,
        "id": call.id,
        "case_id": call.case,
        "at": at,
        "target": run.target.name,
        "vantage": run.vantage or "",
        "client": trial.client,
        "route": trial.route,
        "not_sent": call.not_sent,
        "asks": asked,
        "good": is_good(call) if asked else let_in(call),
        "limited": asked and limited(call),
        "rolled": False,
        "ttft": times.ttft,
        "tpot": times.tpot,
        "total": times.total,
        "document": call_document(call),
        **_cost(call, run.target),
    }


def _cost(call: Call, target: Target) -> dict[str, Any]:
    """What the Governor settles it with."""
    sent = sum(not withheld(exchange) for exchange in call.exchanges)
    input_tokens, output_tokens = charged(call.trial, call)
    price = prices(target)
    usd = None if price is None else cost(price, input_tokens, output_tokens)
    return {"requests": sent, "input_tokens": input_tokens, "output_tokens": output_tokens, "usd": usd}


def exchange_row(exchange: Exchange, run: str, seq: int, hop: int) -> dict[str, Any]:
    made = exchange.attribution
    return {
        "run": run,
        "seq": seq,
        "hop": hop,
        "id": exchange.id,
        "status": exchange.status,
        "error": exchange.error.kind if exchange.error else None,
        "code": made.code if made else None,
        "layer": made.layer if made else None,
        "product": made.product if made else None,
        "vendor_code": made.vendor_code if made else None,
        "first_byte": exchange.timeline.first_byte,
        "total": exchange.timeline.end,
        "body_bytes": exchange.body_bytes,
    }


def outcome_row(one: Outcome, run: Run, n: int) -> dict[str, Any]:
    return {
        "run": run.id,
        "n": n,
        "at": one.at,
        "case_id": one.case,
        "target": run.target.name,
        "client": one.client,
        "route": one.route,
        "code": one.code,
        "verdict": one.verdict,
        "layer": one.layer,
        "product": one.product,
        "vendor_code": one.vendor_code,
        "ttft": one.ttft,
        "tpot": one.tpot,
        "total": one.total,
    }
