"""Where is a run: in a file of its own, or in the canary's database?"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from probes import store
from probes.errors import UsageError

if TYPE_CHECKING:
    from probes.model import Run


def load(id_or_path: str, url: str | None = None) -> Run:
    """The file first, then the database where there is one; UsageError as `store.load`."""
    if url is None and (store.path_of(id_or_path).exists() or not _named(id_or_path)):
        return store.load(id_or_path)
    if url is None and not store.database_file().is_file():
        return store.load(id_or_path)
    if find_spec("sqlalchemy") is None:
        raise UsageError(
            f"no run {id_or_path} in a file; to look into {store.database_file()}, too: pip install 'edgeprobe[watch]'"
        )
    from probes.memory import Memory  # noqa: PLC0415 - a run in a file needs none of it

    with Memory.open(url, make=False) as memory:
        return memory.load(id_or_path)


def _named(id_or_path: str) -> bool:
    """By its id, not by the path of a file."""
    return Path(id_or_path).suffix != ".json" and len(Path(id_or_path).parts) == 1
