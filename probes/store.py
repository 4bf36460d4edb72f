"""Where do runs lie, and how is one found again?"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from contextlib import suppress
from datetime import UTC
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from probes.document import from_document, to_document
from probes.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from probes.model import Run

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # no 0/o, 1/l/i: ids are read aloud
_SHOWN = 3


def reports_dir() -> Path:
    """`$EDGEPROBE_REPORTS`, else `./reports`; it may not exist yet."""
    return Path(os.environ.get("EDGEPROBE_REPORTS") or "reports")


def database_file() -> Path:
    """Of the canary's database, where no URL names another; it may not be there."""
    return reports_dir() / "edgeprobe.db"


def new_id(now: datetime) -> str:
    """An id that sorts by time (UTC), such as `20261129-174312-x7k2`."""
    suffix = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{suffix}"


def save(run: Run) -> Path:
    """Write `<reports>/<id>.json`, whole or not at all, readable by its owner only."""
    path = reports_dir() / f"{run.id}.json"
    # ASCII, so that what a hostile server sent is harmless to `cat`, too.
    text = json.dumps(to_document(run, chunks=True), ensure_ascii=True, allow_nan=False)
    write(path, f"{text}\n".encode("ascii"))
    return path


def check() -> None:
    """Before anything is spent: raises UsageError where no run could be kept."""
    folder = reports_dir()
    there = next((path for path in (folder, *folder.absolute().parents) if os.path.lexists(path)), folder)
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        why = "cannot be written to" if there.is_dir() else "is not a folder"
        raise UsageError(
            f"{there} {why}: runs are kept there; say $EDGEPROBE_REPORTS for elsewhere, --no-store for not"
        )


def load(id_or_path: str) -> Run:
    """The stored run; UsageError when it is not there (with the nearest id), or is no run."""
    path = path_of(id_or_path)
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"no run {id_or_path}{nearest(path)}") from None
    except OSError as fault:
        raise UsageError(f"cannot read {path}: {fault.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON") from None
    try:
        return from_document(document)
    except UsageError as fault:
        raise UsageError(f"{path}: {fault}") from None


def newest_first() -> list[Path]:
    """The stored runs' files, by their ids, which sort by time."""
    return sorted(reports_dir().glob("*.json"), key=lambda path: path.stem, reverse=True)


def path_of(id_or_path: str) -> Path:
    """Where that run lies, if it does; raises UsageError for what is neither an id nor the path of a file."""
    if is_path(id_or_path):
        return Path(id_or_path)
    if len(Path(id_or_path).parts) != 1:
        raise UsageError(
            f"no run {id_or_path}: say its id, as in {reports_dir()}, or the path of its file, which ends in .json"
        )
    return reports_dir() / f"{id_or_path}.json"


def is_path(id_or_path: str) -> bool:
    """Else it is the id of a run that is kept."""
    return Path(id_or_path).suffix == ".json"


def nearest(path: Path) -> str:
    """What may have been meant by one that is not there, for a message."""
    if path.parent.absolute() != reports_dir().absolute():
        return ""  # what lies elsewhere is not ours to list
    stored = sorted(found.stem for found in path.parent.glob("*.json"))
    if near := get_close_matches(path.stem, stored, n=1, cutoff=0.6):
        return f"; did you mean {near[0]}?"
    if stored:
        return f"; the latest in {path.parent}: {', '.join(stored[-_SHOWN:])}"
    return f"; {path.parent} holds none"


def write(path: Path, data: bytes) -> None:
    """Whole or not at all, readable by its owner only, in a folder that is made; UsageError where that can't be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as fault:
        raise UsageError(f"cannot write {path}: {fault.strerror}") from None
