"""What does `edgeprobe watch` do?"""

from __future__ import annotations

import io
import sys
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from probes.alerts import Alerting, confirmations
from probes.clock import Clock
from probes.credentials import Secrets
from probes.errors import UsageError, did_you_mean
from probes.log import log
from probes.memory import Memory
from probes.reporters.assets import policy
from probes.reporters.span.page import SCRIPT, report
from probes.sinks.metrics import Metrics
from probes.sinks.page import Page
from probes.sinks.served import serve
from probes.target_flags import refuse_scaled
from probes.vocabulary import vocabulary
from probes.watch.asking import Around
from probes.watch.chores import Chore
from probes.watch.dead_man import DeadMan
from probes.watch.looks import Looks
from probes.watch.loop import Watch
from probes.watch.marked import Marked
from probes.watch.must_fail import MustFail
from probes.watch.parts import Parts
from probes.watch.receivers import receivers
from probes.watch.times import interval
from probes.watch.turns import Turns
from probes.watch.wall import Wall
from probes.watch.watched import load

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from probes.watch.config import Canary
    from probes.watch.watched import Watched

_TELL, _RARELY = 2.0, 10.0
"""Machine seconds between two times of what is done beside the turns."""
_SHOWN = timedelta(days=7)
"""By the page that is served."""


def run(arguments: Namespace) -> int:
    """0 after a drain; with --once as `run`."""
    read = partial(_read, arguments)
    watched = read()
    names = arguments.entry or []
    known = [entry.name for entry in watched.canary.entries]
    for name in names:
        if name not in known:
            raise UsageError(f"--entry: {name!r} is no entry{did_you_mean(name, known)}")
    if names and not arguments.once:
        raise UsageError("--entry: goes with --once")
    wall = Wall(arguments.time_scale)
    with _parts(watched, wall) as parts:
        if arguments.once:
            return _once(Watch(watched, parts, wall, read), parts, wall, names)
        return _day(watched, parts, wall, read, arguments.listen or watched.canary.listen)


def _read(arguments: Namespace) -> Watched:
    watched = load(arguments.config)
    if arguments.time_scale != 1.0:
        for target in watched.targets.values():
            refuse_scaled(target)
    return watched


@contextmanager
def _parts(watched: Watched, wall: Wall) -> Iterator[Parts]:
    canary, secrets = watched.canary, Secrets()
    metrics = Metrics({name: code.verdict for name, code in vocabulary().items()})
    sinks = partial(receivers, secrets=secrets)
    heard = sinks(watched)
    with Memory.open(watched.database_url(secrets), now=wall.now) as memory, memory.alone():
        wall.go_on(memory.newest())
        for cut in memory.recover(wall.now()):
            log(f"run {cut} was cut off; what it has is kept")
        alerting = Alerting(
            memory, canary, wall, heard, interval=lambda entry: interval(parts.canary.entry(entry.name))
        )
        clock = Clock(wall.scale)
        around = Around(
            memory,
            alerting,
            metrics,
            clock,
            wall,
            confirmations,
            sinks=(metrics,),
            secrets=secrets,
            looks=Looks(memory, wall),
        )
        turns = Turns(canary, around)

        def listed(now: Canary, intervals: Mapping[str, timedelta]) -> None:
            metrics.entries(intervals, {entry.target for entry in now.entries})
            for name in intervals:
                metrics.last_success(name, memory.last_conclusive(name))

        marked = Marked(memory, alerting, metrics, wall)
        parts = Parts(
            canary, memory, alerting, metrics, turns, MustFail(around), marked, sinks, listed, wall.shown
        )
        listed(canary, {entry.name: interval(entry) for entry in canary.entries})
        try:
            yield parts
        finally:
            alerting.close()


def _once(watch: Watch, parts: Parts, wall: Wall, names: list[str]) -> int:
    code = watch.once(names)
    parts.tell(wall.now())
    return code


def _day(watched: Watched, parts: Parts, wall: Wall, read: Callable[[], Watched], listen: str | None) -> int:
    def second(seconds: float) -> timedelta:
        return timedelta(seconds=seconds / wall.scale)

    def reloaded(fault: str | None, at: datetime) -> None:
        parts.metrics.reload(fault is None, at)

    def last(entry: str) -> datetime | None:
        return next((turn.due for turn in parts.memory.turns(entry, 1)), None)

    def tell(now: datetime) -> None:
        parts.tell(now)
        for entry, at in watch.next_times().items():
            parts.metrics.due(entry, at)

    chores = [
        Chore("alerts and metrics", second(_TELL), tell),
        Chore("must fail", second(_RARELY), lambda now: parts.try_detection(now, watch.stop)),
        Chore("retention", second(_RARELY), parts.prune),
        Chore("marks", second(_RARELY), lambda now: parts.look_at_marks(now, watch.ask)),
    ]
    watch = Watch(watched, parts, wall, read, last=last, reloaded=reloaded, chores=chores)
    reloaded(None, wall.now())
    parts.note(watched)
    with ExitStack() as stack:
        where = "no metrics"
        if listen is not None:
            page = Page(lambda: _page(parts, wall), policy(plots=True, script=SCRIPT))
            served = stack.enter_context(
                serve(listen, parts.metrics, watch.ready, lambda: _unwell(watch, parts), page)
            )
            where = f"http://{served.address}/ and /metrics"
        _dead_man(watched, wall, lambda: _unwell(watch, parts), stack)
        targets = ", ".join(sorted({entry.target for entry in watched.canary.entries}))
        n = len(watched.canary.entries)
        sys.stdout.write(f"watching {n} {'entry' if n == 1 else 'entries'} on {targets}; {where}\n")
        sys.stdout.flush()
        return watch.run()


def _page(parts: Parts, wall: Wall) -> bytes:
    """What was seen in the last days."""
    now, out = wall.now(), io.StringIO()
    report(parts.memory.span(now - _SHOWN, now), out)
    return out.getvalue().encode("utf-8", "replace")


def _unwell(watch: Watch, parts: Parts) -> str | None:
    store = parts.memory.fault
    return watch.healthy() or (store and f"memory: {store}") or parts.must_fail.fault


def _dead_man(watched: Watched, wall: Wall, unwell: Callable[[], str | None], stack: ExitStack) -> None:
    said = watched.canary.dead_man
    if said is None:
        return
    url = said.url if said.url_env is None else watched.value_at(("dead_man", "url_env"), Secrets())
    assert url is not None
    dead_man = DeadMan(url, said.every, wall, unwell)
    stack.callback(dead_man.close)
    dead_man.start()
