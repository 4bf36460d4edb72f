"""Which shift could a run show beside its baseline, before it is run?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from probes.change import statistics
from probes.change.answers import question, timed, worded
from probes.change.latency import FEW, METRICS, samples
from probes.change.part import times
from probes.change.shifts import percent
from probes.change.statistics import FAMILY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.change.latency import Samples
    from probes.model import Case, Run


def foretold(runs: Sequence[Run], cases: Sequence[Case], slower: float) -> list[tuple[str, str]]:
    """(Where, what its samples would show) for TTFT and TPOT of each client, by how the baseline scattered."""
    planned = Counter[tuple[str, str]]()
    for case in cases:
        for client in case.clients:
            planned[question(case.id), client.name] += int(case.params.get("repeats", 1))
    known = [
        (worded(key.where), METRICS[metric], samples(side, metric, None), planned[key.case, key.client])
        for key, side in timed(runs).items()
        if (key.case, key.client) in planned
        for metric in ("ttft", "tpot")
    ]
    measured = [row for row in known if row[2].n >= FEW and row[3] >= FEW]
    if not measured:
        most = max((min(one.n, n) for *_, one, n in known), default=0)
        return [("latency", f"nothing can be told of {times(most, 'sample')} a side; {FEW} are the fewest")]
    # `total` is tested beside the two, where there is one.
    level = FAMILY / (len(measured) * 3 / 2)
    return [(f"{what} of {where}", _said(side, n, slower, level)) for where, what, side, n in measured]


def _said(side: Samples, n: int, slower: float, level: float) -> str:
    scatter = statistics.spread(side.values)
    smallest = statistics.smallest(scatter, side.n, n, level)
    many = statistics.needed(scatter, 1 + slower, level, side.n)
    able = f"{percent(smallest)} or more" if smallest is not None else "nothing"
    said = f"{n} samples beside the baseline's {side.n} would show {able}"
    wanted = statistics.needed(scatter, 1 + slower, level)
    if many is not None:
        return f"{said}; {percent(1 + slower)} takes {many}"
    return f"{said}; {percent(1 + slower)} takes {f'{wanted:,} on both sides' if wanted else 'more than can be said'}"
