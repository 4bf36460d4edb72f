"""What are the error pages of one's own zone, and which of them would edgeprobe not know?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes import clients, config
from probes.budget import Governor
from probes.calibration.asking import ACCEPTS, CODES, ask, in_order, most
from probes.calibration.fit import beside, contradicted, doubts
from probes.calibration.judging import Judged, Outcome, sort
from probes.calibration.keeping import Book, keep
from probes.clock import Clock
from probes.conduct import bench_for
from probes.errors import UsageError
from probes.kinds.asking import HTTPX
from probes.live import Live
from probes.model import Case
from probes.runner import drive
from probes.signatures import catalogue
from probes.stop import Stop
from probes.suite import default_route

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from probes.credentials import Secrets
    from probes.model import Sink, Target

__all__ = ["ACCEPTS", "CODES", "Calibration", "Outcome", "calibrate", "in_order", "most", "to_document"]

SCHEMA = "edgeprobe.calibrate/1"


@dataclass(frozen=True, slots=True)
class Calibration:
    """`written`: the ids that are new in `path`; `dubious`: what is not certain, by id; `ended`: why less was asked."""

    target: str
    host: str
    day: date
    colo: str | None
    judged: tuple[Judged, ...]
    path: Path
    written: tuple[str, ...]
    dubious: dict[str, tuple[str, ...]]
    ended: str | None
    requests: int

    @property
    def measured(self) -> bool:
        """The edge showed its pages, all that were asked for."""
        shown = any(one.outcome is not Outcome.NONE for one in self.judged)
        return shown and self.ended is None


def calibrate(target: Target, codes: Sequence[int], secrets: Secrets, emit: Sink) -> Calibration:
    """Asks the target's edge for its own error pages, and keeps those that are the zone's own.

    Raises UsageError, before anything is sent, for what could not be kept or sent.
    """
    book = Book.of(target.name)
    case = _case(target)
    secrets.client_cert(target.routes[case.route])
    stop, clock = Stop(), Clock()
    governor = Governor(target, clock, stop)
    # By what came with the package: what a page of the zone's own is, must not hang on what was kept before.
    bench = replace(bench_for(target, secrets, clock, governor, stop, emit), catalogue=catalogue())
    live = Live(case, bench)
    try:
        asked = drive(ask(case, in_order(codes)), live)
    finally:
        live.close()
    judged, found = sort(asked)
    proposals = [beside(book.own, proposal) for proposal in found]
    host = urlsplit(target.routes[case.route].base_url).hostname or target.name
    more, written = keep(book, proposals, asked, host, bench.today)
    every = [contradicted(book.own, one) for one in (*judged, *more)]
    judged = sorted(every, key=lambda one: asked.shown.index(one.shown))
    names = {id(one.shown): str(one.signature) for one in more}
    dubious = {name: tuple(doubts(p)) for p in proposals if (name := names[id(p.shown[0])]) in written}
    return Calibration(
        target=target.name,
        host=host,
        day=bench.today,
        colo=asked.trace.get("colo"),
        judged=tuple(judged),
        path=book.path,
        written=tuple(written),
        dubious=dubious,
        ended=asked.ended,
        requests=governor.spend.requests,
    )


def _case(target: Target) -> Case:
    route = default_route(target)
    if (why := clients.unsuited(HTTPX, target.routes[route])) is not None:
        raise UsageError(f"calibrate asks through {HTTPX.name}, and {why}")
    sender = config.clients()[HTTPX.name]
    return Case("calibrate", "calibrate", "calibrate", target, (sender,), route, {}, seed=0)


def to_document(done: Calibration) -> dict[str, Any]:
    """`edgeprobe.calibrate/1`."""
    pages = [
        {
            "code": one.shown.code,
            "accept": ACCEPTS[one.shown.accept],
            "status": one.shown.answers[0].status,
            "content_type": one.shown.answers[0].header("content-type"),
            "outcome": one.outcome,
            "why": one.why,
            "signature": one.signature,
        }
        for one in done.judged
    ]
    return {
        "schema": SCHEMA,
        "target": done.target,
        "host": done.host,
        "day": done.day.isoformat(),
        "colo": done.colo,
        "pages": pages,
        "file": str(done.path) if done.written else None,
        "written": list(done.written),
        "doubtful": {name: list(doubts) for name, doubts in done.dubious.items()},
        "ended": done.ended,
        "requests": done.requests,
    }
