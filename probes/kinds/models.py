"""Do clients find the target's model in the API's own list?"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.kinds.completion import asked_for
from probes.kinds.conclude import by_outcome, conclude, is_good
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import clients_of, listed
from probes.model import Ask, Confidence, Observed, Reason, Verdict
from probes.response import Response, at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Finding, Flow

_NONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
_SHOWN = 5


def models(case: Case) -> Flow:
    """A model that is not listed may work all the same, so this alone is never more than a warning."""
    calls = yield from asked_for(case, Ask("models", cap=0))
    absent = [call for call in calls if "models" not in case.target.endpoints and _no_list(call)]
    lists = [call for call in calls if is_good(call)]
    rest = [call for call in calls if call not in absent and call not in lists]
    failed = {call.trial.client for call in rest}
    told = by_outcome(case, [*rest, *lists], "the models list") if rest else []
    found = [finding for finding in told if finding.verdict is not Verdict.PASS]
    found += [_absent(case, absent)] if absent else []
    return found + _listed(case, [call for call in lists if call.trial.client not in failed])


def _no_list(call: Call) -> bool:
    return call.last is not None and call.last.status in _NONE


def _absent(case: Case, calls: Sequence[Call]) -> Finding:
    last = calls[-1].last
    assert last is not None
    return conclude(
        case, "models.unlisted", last,
        observed=Observed(len(calls), len(calls)),
        title="There is no models list, so no client finds the model in it",
        detail=(("seen", f"{last.status} at {last.request.url} through {listed(clients_of(calls))}"),),
        confidence=Confidence.HIGH,
        evidence=tuple(call.last.id for call in calls if call.last is not None),
    )  # fmt: skip


def _listed(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """One finding for each thing that the lists say of the model."""
    groups: dict[str, list[tuple[Call, Exchange]]] = {}
    for call in calls:
        if call.last is not None:
            groups.setdefault(_says(case, call.last), []).append((call, call.last))
    return [_said(case, said, members) for said, members in groups.items()]


def _says(case: Case, exchange: Exchange) -> str:
    if case.target.model in _ids(exchange):
        return "ok"
    seen = Response.of(exchange)
    return "goes on" if seen.elided or at(seen.document, ("has_more",)) is True else "unlisted"


def _said(case: Case, said: str, members: Sequence[tuple[Call, Exchange]]) -> Finding:
    last, names = members[-1][1], listed(clients_of([call for call, _ in members]))
    ids = _ids(last)
    known = ", ".join(ids[:_SHOWN]) + (f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else "")
    model = case.target.model
    evidence = tuple(exchange.id for _, exchange in members)
    if said == "ok":
        return conclude(
            case, "ok", last, observed=Observed(0, len(members)), evidence=evidence,
            title=f"The models list names {model}", detail=(("seen", f"{len(ids)} model{'s' if len(ids) != 1 else ''} through {names}"),),
        )  # fmt: skip
    further = said == "goes on"
    return conclude(
        case, "models.unlisted", last,
        verdict=Verdict.INCONCLUSIVE if further else Verdict.WARN,
        reason=Reason.TOO_FEW if further else None,
        observed=Observed(len(members), len(members)),
        title=f"{model} is not on the first page of the models list" if further else f"{model} is not in the models list",
        detail=(("seen", f"{known or 'an empty list'} through {names}"),),
        confidence=Confidence.LOW if further else Confidence.HIGH,
        next_test="a completion with the model: clients that don't look at the list may be served",
        evidence=evidence,
    )  # fmt: skip


def _ids(exchange: Exchange) -> list[str]:
    rows = at(Response.of(exchange).document, ("data",))
    return (
        [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]
        if isinstance(rows, list)
        else []
    )


def bound(case: Case) -> Bound:
    return Bound(3 * len(case.clients), 0, 1.0)


SPEC = KindSpec(
    flow=models, about="whether the models list names the target's model", bound=bound, converses=False
)
