"""What is said where no client was answered?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.handshakes import fault
from probes.kinds.by_proxy import kept_by_proxy
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.identity.study import Study, evidence
from probes.kinds.words import clients_of, in_title, shown
from probes.model import Layer, Observed, Reason, Verdict

if TYPE_CHECKING:
    from probes.model import Exchange, Finding

_TITLES = {
    "response.malformed": "What answers can't be read as HTTP",
    "response.headers_too_large": "What answers has more headers than a client takes",
}


def no_answer(study: Study) -> Finding:
    """The control and another client were asked, the other a moment later, and neither got an answer."""
    call = study.seen[-1]
    exchange = call.last
    code = outcome_code(exchange) if exchange is not None else "not_measured"
    reach = code.startswith("unreachable.")
    names = clients_of(study.seen)
    rows = [(c.trial.client, shown(c.last) if c.last is not None else "nothing") for c in study.seen]
    return conclude(
        study.case,
        code,
        exchange,
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(study.seen), len(study.seen)),
        detail=(("seen", "; ".join(f"{name}: {said}" for name, said in rows)),),
        evidence=evidence(study.seen),
        **{
            "verdict": Verdict.FAIL if reach else Verdict.INCONCLUSIVE,
            "reason": None if reach else Reason.UNAVAILABLE,
            "title": f"{_title(code, exchange)}, so nothing can be said of any client",
            **(kept_by_proxy(study.case, exchange) if exchange is not None else {}),
        },
    )


def _title(code: str, exchange: Exchange | None) -> str:
    why = fault(exchange) if exchange is not None else None
    return why.title if why is not None else _TITLES.get(code, "Nothing answers")


def hung_up_on_all(study: Study) -> Finding | None:
    """Every connection was new and ended before any byte, whoever asked: no rule against the probe is needed for that."""
    seen = [call.last for call in study.seen if call.last is not None]
    ended = [
        e
        for e in seen
        if outcome_code(e) == "unreachable.reset" and e.conditions.get("connection") != "reused"
    ]
    if not seen or len(ended) < len(seen):
        return None
    names = study.ranked(clients_of(study.seen))
    return conclude(
        study.case,
        "unreachable.reset",
        ended[-1],
        layer=Layer.NETWORK,
        observed=Observed(len(ended), len(seen)),
        title="Every new connection is ended before any answer, so nothing can be said of any client",
        detail=(("seen", f"{shown(ended[-1])} through {in_title(study.case, names)}"),),
        evidence=evidence(study.seen),
    )
