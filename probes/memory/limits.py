"""At which age was an answer cut, as each case last measured it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, and_, or_, select, type_coerce

from probes.kinds.length.moved import MODE, of_plain
from probes.memory.schema import calls, exchanges, findings, runs
from probes.model import Verdict
from probes.span import Cutoff

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy.engine import Connection

_PROVEN = (Verdict.PASS, Verdict.WARN, Verdict.FAIL)
_GONE = "regression.cutoff"
_MOST = 500


def cutoffs(
    connection: Connection, target: str, vantage: str, since: datetime, until: datetime
) -> tuple[Cutoff, ...]:
    """In the order of time, the newest ones; those that say that there was none, too."""
    told = type_coerce(findings.c.document, Text)
    query = (
        select(runs.c.at, findings.c.run, findings.c.document)
        .select_from(findings.join(runs, findings.c.run == runs.c.id))
        .where(
            and_(runs.c.target == target, runs.c.vantage == vantage, runs.c.at >= since, runs.c.at < until),
            findings.c.verdict.in_(_PROVEN),
            or_(told.like('%"cutoff": {%'), told.like('%"held": {%'), findings.c.code == _GONE),
        )
        .order_by(runs.c.at.desc(), findings.c.n)
        .limit(_MOST)
    )
    found = [one for row in connection.execute(query).all() if (one := _cutoff(connection, row)) is not None]
    return tuple(reversed(found))


def _cutoff(connection: Connection, row: Any) -> Cutoff | None:
    finding = row.document
    figures: Mapping[str, Any] = finding["figures"]
    cut, held = figures.get("cutoff"), figures.get("held")
    if cut is None and held is None and finding["code"] != _GONE:
        return None
    case = "/".join(part for part in finding["case"].split("/") if part != MODE)
    return Cutoff(
        at=row.at,
        case=case,
        route=finding["route"],
        seconds=cut["value"] if cut else None,
        low=cut["low"] if cut else None,
        high=cut["high"] if cut else None,
        n=(cut or held or {"n": 0})["n"] or 0,
        held=held["value"] if held else None,
        plain=_is_plain(finding, _seen(connection, row.run, finding["evidence"])),
        run=row.run,
    )


def _is_plain(finding: Mapping[str, Any], seen: Mapping[str, Any]) -> bool:
    """A limit that only streams meet, or got past, says nothing of other answers."""
    if "cutoff" in finding["figures"]:
        return of_plain(finding, seen)
    return finding["code"] == _GONE or any(not one["request"]["stream"] for one in seen.values())


def _seen(connection: Connection, run: str, names: list[str]) -> dict[str, Any]:
    """The exchanges that it was read from, by their ids."""
    this = and_(exchanges.c.run == run, exchanges.c.id.in_(names))
    seqs = connection.scalars(select(exchanges.c.seq).where(this).distinct()).all()
    documents = connection.scalars(select(calls.c.document).where(calls.c.run == run, calls.c.seq.in_(seqs)))
    return {each["id"]: each for document in documents for each in document["exchanges"]}
