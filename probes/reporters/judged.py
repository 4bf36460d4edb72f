"""What became of an exchange, where a finding knows more than the exchange shows?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Call, Exchange, Run


def as_judged(run: Run) -> tuple[Call, ...]:
    """The calls as the findings have them where those know more than one exchange shows: an endpoint that never gives a
    finish reason, an SDK that lost part of a good stream, chunks that came twice.
    """
    codes = {
        (name, old): finding.code
        for finding in run.findings
        if (old := _KNOWN_BETTER.get(finding.code))
        for name in finding.evidence
    }
    return tuple(
        replace(call, exchanges=tuple(_judged(each, codes) for each in call.exchanges)) for call in run.calls
    )


_KNOWN_BETTER = {"ok": "stream.masked", "client.parser": "ok", "stream.corrupted": "ok"}
"""Code of a finding → what its exchanges may have been attributed to before more was known."""


def _judged(exchange: Exchange, codes: Mapping[tuple[str, str], str]) -> Exchange:
    made = exchange.attribution
    code = codes.get((exchange.id, made.code)) if made is not None else None
    if made is None or code is None:
        return exchange
    return replace(exchange, attribution=replace(made, code=code))
