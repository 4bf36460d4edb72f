"""What does `edgeprobe store` do?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probes import outputs
from probes.credentials import Secrets
from probes.errors import UsageError, did_you_mean
from probes.memory import Memory
from probes.memory.retention import FAILED_DAYS, RAW_DAYS
from probes.watch.watched import FILE, Watched, read_canary

if TYPE_CHECKING:
    from argparse import Namespace

    from probes.memory import Pruned, Stats

SCHEMA = "edgeprobe.store/1"


def run(arguments: Namespace) -> int:
    """0; UsageError where there is no database, or where it can't be read or written."""
    watched = _watched()
    url = watched.database_url(Secrets()) if arguments.db is None and watched is not None else arguments.db
    with Memory.open(url, make=False) as memory:
        if arguments.action == "stats":
            _stats(memory.stats(), arguments)
            return 0
        if arguments.action == "resume":
            _resume(memory, arguments.target)
            return 0
        (raw, by), (failed, failed_by) = _kept(arguments, watched)
        done = memory.prune(datetime.now(UTC), raw_days=raw, failed_days=failed)
        if not done.whole:
            raise UsageError(f"{memory.fault}; deleted so far: {done.runs} runs")
        sys.stdout.write(f"deleted  {_counts(done)}\n")
        sys.stdout.write(
            f"kept     runs for {raw:g} days ({by}), with a failure for {failed:g} ({failed_by})\n"
        )
    return 0


def _watched() -> Watched | None:
    """The canary's file where `watch` would find it; UsageError where it is wrong: nothing is deleted by a guess."""
    if not FILE.is_file():
        return None
    canary, lines = read_canary(FILE)
    return Watched(canary, {}, (FILE,), "", FILE, lines)


def _kept(arguments: Namespace, watched: Watched | None) -> list[tuple[float, str]]:
    """Days, and who says so: a flag, else the canary's file, else nobody. Of runs, and of those with a failure."""
    found: list[tuple[float, str]] = []
    for key, most in (("raw_days", RAW_DAYS), ("failed_days", FAILED_DAYS)):
        if (days := getattr(arguments, key)) is not None:
            found.append((days, f"--{key.replace('_', '-')}"))
        elif watched is not None:
            found.append((getattr(watched.canary.retention, key), str(FILE)))
        else:
            found.append((most, "default"))
    return [found[0], max(found[::-1], key=lambda row: row[0])]


def _stats(stats: Stats, arguments: Namespace) -> None:
    if arguments.json is not None:
        rows = {field.name: getattr(stats, field.name) for field in fields(stats)}
        document = {"schema": SCHEMA} | {
            ("revision" if name == "schema" else name): _plain(value) for name, value in rows.items()
        }
        outputs.write_json(f"{json.dumps(document, indent=2)}\n", arguments.json)
    if arguments.json == "-":
        return
    size = "" if stats.bytes is None else f", {stats.bytes / 2**20:.1f} MiB"
    lines = [f"database  {stats.database}, schema {stats.schema}{size}"]
    span = ""
    if stats.oldest is not None and stats.newest is not None:
        span = f", from {stats.oldest:%Y-%m-%d %H:%M} to {stats.newest:%Y-%m-%d %H:%M} UTC"
    lines += [
        f"runs      {stats.runs}{span}: {stats.failed} with a failure, {stats.running} running, {stats.interrupted} cut off",
        f"holding   {stats.calls} calls, {stats.exchanges} exchanges, {stats.findings} findings",
        f"figures   {stats.rollups} rows by minute, hour and day",
        f"canary    {stats.turns} turns, {stats.alerts_open} of {stats.alerts} alerts open, {stats.undelivered} notices not delivered, {stats.marks} marks",
    ]
    lines += [
        f"paused    {one.target} until {one.until:%Y-%m-%d %H:%M:%S} UTC: {one.why}" for one in stats.paused
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _resume(memory: Memory, target: str) -> None:
    """Ends what its server asked for; that of a target which is not paused is no mistake."""
    known, now = memory.targets(), datetime.now(UTC)
    if target not in known:
        raise UsageError(
            f"{target!r} is no target that runs or pauses are stored of{did_you_mean(target, known)}"
        )
    pause = next((one for one in memory.pauses() if one.target == target and one.until > now), None)
    if pause is None:
        sys.stdout.write(f"{target} is not paused\n")
        return
    memory.pause(replace(pause, until=now))
    if memory.fault is not None:
        raise UsageError(memory.fault)
    sys.stdout.write(
        f"{target} was paused until {pause.until:%Y-%m-%d %H:%M:%S} UTC ({pause.why}); it is asked again from its next turn on\n"
    )


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [{name: _plain(each) for name, each in asdict(one).items()} for one in value]
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def _counts(done: Pruned) -> str:
    names = ("runs", "turns", "alerts", "notices", "marks")
    return f"{', '.join(f'{getattr(done, name)} {name}' for name in names)}, {done.rollups} rows of figures"
