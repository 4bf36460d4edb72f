"""Where is a run: in a file of its own, or in the canary's database?"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from probes import store
from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.canary import Mark
    from probes.memory import Memory
    from probes.model import Run

FILE = "edgeprobe.db"
_BEGAN = re.compile(r"(\d{8}-\d{6})-[0-9a-z]+")


def database_file() -> Path:
    """Of the database that needs no URL; it may not be there."""
    return store.reports_dir() / FILE


def load(id_or_path: str, url: str | None = None) -> Run:
    """The file first, then the database where there is one; UsageError as `store.load`."""
    if url is None and (store.path_of(id_or_path).exists() or not _named(id_or_path)):
        return store.load(id_or_path)
    if url is None and not database_file().is_file():
        return store.load(id_or_path)
    if find_spec("sqlalchemy") is None:
        raise UsageError(
            f"no run {id_or_path} in a file; to look into {database_file()}, too: pip install 'edgeprobe[watch]'"
        )
    from probes.memory import Memory  # noqa: PLC0415 - a run in a file needs none of it

    with Memory.open(url, make=False) as memory:
        return memory.load(id_or_path)


def _memory(url: str | None) -> Memory | None:
    """`None` where runs are in files alone."""
    if url is None and not (database_file().is_file() and find_spec("sqlalchemy") is not None):
        return None
    from probes.memory import Memory  # noqa: PLC0415 - a run in a file needs none of it

    return Memory.open(url, make=False)


def _named(id_or_path: str) -> bool:
    """By its id, not by the path of a file."""
    return Path(id_or_path).suffix != ".json" and len(Path(id_or_path).parts) == 1


class Archive:
    """All runs that are kept, in files and in the database, and the marks; close it after use."""

    def __init__(self, url: str | None = None) -> None:
        self._memory = _memory(url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.close()

    def load(self, id_or_path: str) -> Run:
        """As `load`."""
        in_file = store.path_of(id_or_path).exists() or not _named(id_or_path)
        return store.load(id_or_path) if in_file or self._memory is None else self._memory.load(id_or_path)

    def names(self, since: datetime, until: datetime) -> Sequence[str]:
        """Ids of the runs that began in that time, the oldest first; of a file its name says when, to the second."""
        files = {path.stem: at for path in store.newest_first() if (at := _began(path.stem)) is not None}
        found = {name: at for name, at in files.items() if since.replace(microsecond=0) <= at < until}
        stored = self._memory.runs(since, until) if self._memory is not None else {}
        both = stored | found
        return sorted(both, key=lambda name: (both[name], name))

    def marks(self) -> Sequence[Mark]:
        """In the order of time; none without a database."""
        return [] if self._memory is None else self._memory.marks(datetime.min.replace(tzinfo=UTC))


def _began(name: str) -> datetime | None:
    found = _BEGAN.fullmatch(name)
    try:
        return datetime.strptime(found[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC) if found else None
    except ValueError:
        return None
