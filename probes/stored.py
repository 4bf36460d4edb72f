"""Where is a run: in a file of its own, or in the canary's database?"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from probes import store
from probes.document import to_document
from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.canary import Mark
    from probes.memory import Memory
    from probes.model import Run

_INSTANT = timedelta(microseconds=1)
_LOOKED_AT = 1000
"""Outcomes of a case, each of one client in one run."""
_BEGAN = re.compile(r"(\d{8}-\d{6})-[0-9a-z]+")


def load(id_or_path: str, url: str | None = None) -> Run:
    """The file first, then the database where there is one; UsageError as `store.load`."""
    if url is None and (store.path_of(id_or_path).exists() or store.is_path(id_or_path)):
        return store.load(id_or_path)
    if url is None and not store.database_file().is_file():
        return store.load(id_or_path)
    if find_spec("sqlalchemy") is None:
        raise UsageError(
            f"no run {id_or_path} in a file; to look into {store.database_file()}, too: pip install 'edgeprobe[watch]'"
        )
    with _memory(url) as memory:
        return _in_memory(memory, id_or_path)


def _in_memory(memory: Memory, name: str) -> Run:
    """What lies in files may have been meant as well."""
    try:
        return memory.load(name)
    except UsageError as fault:
        near = "" if "did you mean" in str(fault) else store.nearest(store.path_of(name))
        raise UsageError(f"{fault}{near}") from None


def documents(case_id: str) -> Generator[Any]:
    """What may be runs that tell of a case, newest first: those in files, and those in the database where there is one.
    What cannot be read is passed over.
    """
    files = {path.stem: path for path in store.newest_first()}
    with ExitStack() as opened:
        memory, kept = None, set[str]()
        if store.database_file().is_file() and find_spec("sqlalchemy") is not None:
            try:
                memory = opened.enter_context(_memory())
                kept = {outcome.run for outcome in memory.history(case_id, _LOOKED_AT)}
            except UsageError:  # damaged, or held by another: what lies in files may do
                kept = set()
        for name in sorted({*files, *kept}, reverse=True):  # ids sort by time
            try:
                if name in files:
                    document = json.loads(files[name].read_text("utf-8"))
                else:
                    assert memory is not None
                    document = to_document(memory.load(name))
            except (OSError, ValueError, RecursionError, UsageError):
                continue
            yield document


def _memory(url: str | None = None) -> Memory:
    from probes.memory import Memory  # noqa: PLC0415 - a run in a file needs none of it

    return Memory.open(url, make=False)


class Archive:
    """All runs that are kept, in files and in the database, and the marks; close it after use."""

    def __init__(self, url: str | None = None) -> None:
        there = url is not None or (store.database_file().is_file() and find_spec("sqlalchemy") is not None)
        self._memory = _memory(url) if there else None
        self._stored: dict[str, datetime] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.close()

    def load(self, id_or_path: str) -> Run:
        """As `load`."""
        in_file = store.path_of(id_or_path).exists() or store.is_path(id_or_path)
        if in_file or self._memory is None:
            return store.load(id_or_path)
        run = _in_memory(self._memory, id_or_path)
        at = self._stored.get(id_or_path)
        return run if at is None or run.time_scale == 1.0 else _by_its_canary(run, at)

    def names(self, since: datetime, until: datetime) -> Sequence[str]:
        """Ids of the runs that began in that time, the oldest first; of a file its name says when, to the second."""
        found = names_of_files(since, until)
        if self._memory is not None:
            self._stored = self._memory.runs(since, until)
        both = self._stored | found
        return sorted(both, key=lambda name: (both[name], name))

    def now(self, now: datetime) -> datetime:
        """Or later: what a canary in the lab's time has come to."""
        newest = self._memory.newest() if self._memory is not None else None
        return now if newest is None or newest < now else newest.astimezone(now.tzinfo) + _INSTANT

    def marks(self) -> Sequence[Mark]:
        """In the order of time; none without a database."""
        return [] if self._memory is None else self._memory.marks(datetime.min.replace(tzinfo=UTC))


def _by_its_canary(run: Run, at: datetime) -> Run:
    """In the lab's time, as its marks are: a run's own clock is the machine's."""
    return replace(run, started=at, finished=at + (run.finished - run.started) / run.time_scale)


def names_of_files(since: datetime, until: datetime) -> dict[str, datetime]:
    """Ids of the runs in files that began in that time, and when, as a file's name says it."""
    files = {path.stem: at for path in store.newest_first() if (at := _began(path.stem)) is not None}
    return {name: at for name, at in files.items() if since.replace(microsecond=0) <= at < until}


def _began(name: str) -> datetime | None:
    found = _BEGAN.fullmatch(name)
    try:
        return datetime.strptime(found[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC) if found else None
    except ValueError:
        return None
