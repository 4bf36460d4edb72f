"""How is the database opened, and what becomes of a write that fails?"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from probes.errors import UsageError
from probes.log import log
from probes.memory.schema import VERSION
from probes.store import database_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import URL, Connection, Engine

MIGRATIONS = Path(__file__).parent / "migrations"
_WAIT_MS, _WAIT_AGAIN_MS, _WAIT_FOR_MAKER_MS = 5000, 50, 60_000
"""For another process that writes; less once a write has failed, so that measuring isn't held up by each that follows;
longer for one that makes the database.
"""
_ROOM = 65_536
"""Bytes: less than SQLite needs beside its file to open it."""
_FULL = ": the disk is full; make room, or name another: `database:` of canary.yaml, or $EDGEPROBE_REPORTS"
_KEY = 0x6D616465  # "made"


class Database:
    """One writer at a time in this process, any number of readers. Once open no write raises for the disk's sake: `fault`
    is the last one's, for who made up for it to take away (a small row may still find room); `errors` counts them all.
    """

    def __init__(self, url: str | None = None, *, make: bool = True) -> None:
        """UsageError where it can't be opened, is none of ours, or was written by a newer edgeprobe."""
        self._url = _url(url)
        self.name = self._url.database if self._lite else self._url.render_as_string(hide_password=True)
        self.fault: str | None = None
        self.errors = 0
        self._writing = threading.Lock()
        if self._lite:
            self._touch(make=make)
        self.engine = self._engine()
        try:
            self._make()
        except SQLAlchemyError as fault:
            self.engine.dispose()
            full = _FULL if self._is_full() else ""
            raise UsageError(f"cannot open {self.name}: {_said(fault)}{full}") from None
        except BaseException:
            self.engine.dispose()
            raise

    @property
    def _lite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def file(self) -> Path | None:
        """Where it lies, if it is a file."""
        return Path(self._url.database) if self._lite and self._url.database else None

    def _touch(self, *, make: bool) -> None:
        path = self.file
        if path is None or str(path) == ":memory:":
            raise UsageError("a database in memory remembers nothing; name a file: sqlite:///FILE")
        if not make and not path.is_file():
            raise UsageError(
                f"no database at {path}; edgeprobe watch or edgeprobe mark makes it, --db URL names another"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(
                os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            )  # what was asked and answered is its owner's
        except OSError as fault:
            raise UsageError(f"cannot open {path}: {fault.strerror}") from None

    def _is_full(self) -> bool:
        """SQLite itself says "disk I/O error" where it finds no room for the files beside its own."""
        with suppress(OSError):
            return self.file is not None and shutil.disk_usage(self.file.parent).free < _ROOM
        return False

    def _engine(self) -> Engine:
        try:
            engine = create_engine(self._url)
        except (NoSuchModuleError, ArgumentError, ImportError) as fault:
            raise UsageError(f"database {self.name}: {fault}") from None
        if self._lite:
            event.listen(engine, "connect", _prepare)
            event.listen(engine, "begin", self._begun)
        return engine

    def _begun(self, connection: Connection) -> None:
        """The driver would begin by itself, but only at the first change: then what was read may be out of date."""
        options = connection.get_execution_options()
        how, wait_ms = options.get("begin", "DEFERRED"), options.get("wait_ms")
        connection.exec_driver_sql(
            f"PRAGMA busy_timeout = {wait_ms or (_WAIT_AGAIN_MS if self.fault else _WAIT_MS)}"
        )
        connection.exec_driver_sql(f"BEGIN {how}")

    @contextmanager
    def _begin(self, how: str, wait_ms: int | None = None) -> Iterator[Connection]:
        options = {"begin": how, "wait_ms": wait_ms}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """UsageError where the database can't be read."""
        try:
            with self._begin("DEFERRED") as connection:
                yield connection
        except DBAPIError as fault:
            raise UsageError(f"cannot read {self.name}: {_said(fault)}") from None

    def write(self, work: Callable[[Connection], None]) -> bool:
        """All of `work` is written, or nothing, and `fault` says why."""
        with self._writing:
            try:
                with self._begin("IMMEDIATE") as connection:
                    work(connection)
            except DBAPIError as fault:
                self.errors += 1
                before, self.fault = self.fault, f"cannot write {self.name}: {_said(fault)}"
                if before is None:
                    log(f"{self.fault}; measuring goes on")
                return False
            return True

    def tidy(self) -> None:
        """Gives the room of what was deleted back to the disk, where that takes an order of its own."""
        if not self._lite:
            return
        with self._writing, closing(self.engine.raw_connection()) as connection, suppress(sqlite3.Error):
            # A page for each step; of a statement without columns `execute` makes one alone.
            connection.cursor().executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

    def close(self) -> None:
        self.engine.dispose()

    def _make(self) -> None:
        """Who finds the tables as they should be writes nothing, and so waits for nobody."""
        with self._begin("DEFERRED") as connection:
            if _schema(connection)[1] == VERSION:
                return
        with self._begin("IMMEDIATE", _WAIT_FOR_MAKER_MS) as connection:
            if connection.dialect.name == "postgresql":  # where who begins doesn't wait for who writes
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _KEY})
            self._migrate(connection)

    def _migrate(self, connection: Connection) -> None:
        tables, found = _schema(connection)
        if found == VERSION:
            return
        if found is None and tables - {"alembic_version"}:
            raise UsageError(
                f"{self.name} holds tables that are not edgeprobe's: {', '.join(sorted(tables)[:3])}"
            )
        upgrade(connection, found, str(self.name))


def _schema(connection: Connection) -> tuple[set[str], str | None]:
    """Its tables, and their version if they are ours."""
    tables = set(inspect(connection).get_table_names())
    known = "alembic_version" in tables
    return tables, connection.scalar(text("SELECT version_num FROM alembic_version")) if known else None


def upgrade(connection: Connection, found: str | None, name: str) -> None:
    from alembic import command  # noqa: PLC0415 - a tenth of a second that only a new or old database takes
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    logging.getLogger("alembic").setLevel(logging.WARNING)
    setting = Config()
    setting.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    setting.set_main_option("path_separator", "os")
    setting.attributes["connection"] = connection
    steps = [step.revision for step in ScriptDirectory.from_config(setting).walk_revisions()]
    if found is not None and found not in steps:
        raise UsageError(
            f"{name} was written by a newer edgeprobe: its schema is {found}, this one knows up to {VERSION}"
        )
    command.upgrade(setting, "head")


def _url(url: str | None) -> URL:
    if url is None:
        return make_url(f"sqlite:///{database_file()}")
    try:
        return make_url(url)
    except ArgumentError:
        raise UsageError("the database is no URL such as sqlite:///reports/edgeprobe.db") from None


def _prepare(connection: Any, _: object) -> None:
    """WAL: readers and the writer don't wait for each other. NORMAL: a process that is killed loses nothing that was
    committed, a machine that loses power perhaps the last commits, neither the file (https://sqlite.org/wal.html).
    """
    connection.isolation_level = None
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
        if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _patiently(cursor, "PRAGMA auto_vacuum = INCREMENTAL")  # writes, also where it changes nothing
            _patiently(cursor, "PRAGMA journal_mode = WAL")
        for pragma in ("synchronous = NORMAL", "foreign_keys = ON", "journal_size_limit = 67108864"):
            cursor.execute(f"PRAGMA {pragma}")


def _patiently(cursor: sqlite3.Cursor, statement: str) -> None:
    """The change to WAL turns a read into a write. There SQLite itself never waits, as two who do would for each other:
    who comes beside another to a new file is refused at once.
    """
    until = time.monotonic() + _WAIT_FOR_MAKER_MS / 1000
    while True:
        try:
            cursor.execute(statement)
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _said(fault: SQLAlchemyError) -> str:
    """What the driver says, in one line."""
    said = str(fault.orig if isinstance(fault, DBAPIError) else fault).strip()
    return said.splitlines()[0] if said else type(fault).__name__
