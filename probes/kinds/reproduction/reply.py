"""What is the customer told whose request it was?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.classify import Answer
from probes.classify.replies import reply
from probes.model import Confidence, WhoActs
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from probes.model import Exchange, Layer


def paragraph(
    exchange: Exchange,
    code: str,
    layer: Layer | None = None,
    *,
    again: bool | None = None,
    who: WhoActs | None = None,
) -> str:
    """In the words of whoever runs the API; `code`, `layer`, `again` (whether to try again helps), `who` (acts): what was
    found out, which may be more than the answer says.
    """
    made = exchange.attribution
    assert made is not None
    row = vocabulary()[code]
    found = replace(made, code=code)
    if layer is not None:
        found = replace(found, layer=layer, confidence=Confidence.MEDIUM)
    answer = Answer(
        form="reproduction",
        exchange=exchange,
        attribution=found,
        title=row.title,
        advice=row.advice,
        who_acts=who or (made.code == code and made.who_acts) or WhoActs(row.who_acts),
        retryable=row.retryable if again is None else again,
    )
    return reply([answer]).replace("\n\n", " ")
