"""Does another canary keep this database?"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import text

from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from probes.memory.database import Database

_KEY = 0x65646765  # "edge"
_TOLD = (
    "another canary keeps this database{who}: both would tell everything twice; end it, or give this one a database "
    "of its own (database: in its file, or $EDGEPROBE_REPORTS)"
)


@contextmanager
def alone(database: Database) -> Iterator[None]:
    """Raises UsageError where one does. What is held ends with its process, however that ends."""
    keep = _beside(database.file) if database.file is not None else _advised(database)
    with keep:
        yield


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    try:
        import fcntl  # noqa: PLC0415 - not there on Windows
    except ImportError:
        yield
        return
    lock = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as fault:
        raise UsageError(f"cannot open {lock}: {fault.strerror}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(handle, 80).decode("ascii", "replace").strip()
            raise UsageError(_TOLD.format(who=f" ({who})" if who else "")) from None
        with suppress(OSError):  # of a full disk: held it is all the same
            os.truncate(handle, 0)
            os.write(handle, f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n".encode())
        yield
    finally:
        os.close(handle)


@contextmanager
def _advised(database: Database) -> Iterator[None]:
    """By PostgreSQL's advisory locks; other databases know none that ends with a connection."""
    if database.engine.dialect.name != "postgresql":
        yield
        return
    with database.engine.connect() as connection:
        if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": _KEY}).scalar():
            raise UsageError(_TOLD.format(who=""))
        connection.commit()
        yield
