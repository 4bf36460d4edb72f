"""What is not as it should be, as each case was last asked through each client over each route?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, select

from probes.memory.outcomes import NO_CLIENT
from probes.memory.schema import findings, outcomes, runs
from probes.model import Layer, Verdict
from probes.span import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection, Row

_WHOSE = ("case_id", "client", "route")
_ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN)


def troubles(
    sources: Iterable[Connection], target: str, vantage: str, since: datetime, until: datetime
) -> tuple[tuple[Trouble, ...], int]:
    """The worst first, without what is accepted; and how many cases there are, good ones too."""
    found = [(each, row) for each in sources for row in _newest(each, target, vantage, since, until)]
    last: dict[tuple[str, str, str], datetime] = {}
    for _, row in found:
        last[_key(row)] = max(row.at, last.get(_key(row), row.at))
    asked: defaultdict[tuple[Connection, str, str], list[Row[Any]]] = defaultdict(list)
    for connection, row in found:
        if row.at == last[_key(row)]:
            asked[connection, row.run, row.case_id].append(row)
    groups: defaultdict[Trouble, list[str]] = defaultdict(list)
    for (connection, run, case), rows in asked.items():
        for one, clients in _troubles(rows, _said(connection, run, case), _codes(connection, run, case)):
            groups[one] += clients
    wrong = [replace(one, clients=tuple(dict.fromkeys(clients))) for one, clients in groups.items()]
    wrong.sort(key=lambda one: (_ORDER.index(one.verdict), one.case, one.clients, one.route))
    return tuple(wrong), len({case for case, *_ in last})


def _key(row: Row[Any]) -> tuple[str, str, str]:
    """Of which the newest counts. What was found of a run as a whole stands until the same is asked again of its suite:
    a comparison with a baseline, whichever, takes the place of all that the one before it found.
    """
    if row.client == NO_CLIENT:
        return "/".join(row.case_id.split("/")[:2]), NO_CLIENT, row.route
    return row.case_id, row.client, row.route


def _newest(
    connection: Connection, target: str, vantage: str, since: datetime, until: datetime
) -> Sequence[Row[Any]]:
    """The last outcome of each case and client over each route."""
    mine = and_(
        outcomes.c.target == target, runs.c.vantage == vantage, outcomes.c.at >= since, outcomes.c.at < until
    )
    told = outcomes.join(runs, outcomes.c.run == runs.c.id)
    last = (
        select(*(outcomes.c[name] for name in _WHOSE), func.max(outcomes.c.at).label("at"))
        .select_from(told)
        .where(mine)
        .group_by(*(outcomes.c[name] for name in _WHOSE))
        .subquery()
    )
    same = and_(*(outcomes.c[name] == last.c[name] for name in (*_WHOSE, "at")))
    query = select(outcomes).select_from(told.join(last, same)).where(mine)
    return connection.execute(query.order_by(outcomes.c.case_id, outcomes.c.n)).all()


def _said(connection: Connection, run: str, case: str) -> Sequence[Row[Any]]:
    mine = and_(findings.c.run == run, findings.c.case_id == case)
    return connection.execute(select(findings).where(mine).order_by(findings.c.n)).all()


def _codes(connection: Connection, run: str, case: str) -> set[str]:
    """What came of it for any client, also for those that were asked again since."""
    mine = and_(outcomes.c.run == run, outcomes.c.case_id == case)
    return set(connection.scalars(select(outcomes.c.code).where(mine)))


def _troubles(
    rows: Sequence[Row[Any]], said: Sequence[Row[Any]], codes: set[str]
) -> Iterator[tuple[Trouble, list[str]]]:
    """Of one case in one run, for those clients that were not asked again since."""
    for row in rows if not said else ():  # cut off before anything was judged, or its own answers say it
        if row.verdict in _ORDER:
            yield _trouble(row, row, ""), [row.client]
    for finding in said:
        clients = _whose(finding, rows, codes)
        if finding.verdict in _ORDER and not finding.accepted and clients is not None:
            yield _trouble(rows[0], finding, finding.document["title"] or ""), clients


def _whose(finding: Row[Any], rows: Sequence[Row[Any]], codes: set[str]) -> list[str] | None:
    """`None` where it is of clients that were asked again since."""
    if rows[0].client == NO_CLIENT:
        return [finding.client] if finding.client else []
    if finding.client is None and finding.code in codes:  # then of those that it is the outcome of
        return [row.client for row in rows if row.code == finding.code] or None
    return [row.client for row in rows if finding.client in {None, row.client}] or None


def _trouble(outcome: Row[Any], told: Row[Any], title: str) -> Trouble:
    return Trouble(
        outcome.at,
        outcome.run,
        outcome.case_id,
        (),
        outcome.route,
        told.code,
        Verdict(told.verdict),
        Layer(told.layer),
        told.product,
        told.vendor_code,
        title,
    )
