"""A database of any edgeprobe before this one is read; one of a later is refused."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from memories import BLOCKED, NOW, alert, notice, pause, record, run, turn

from probes.canary import Mark
from probes.errors import UsageError
from probes.memory import Memory
from probes.memory.schema import VERSION, metadata

DUMPS = sorted(Path(__file__).parent.glob("schema-*.sql"))


def filled(memory: Memory) -> None:
    record(memory, run())
    record(memory, run(made=BLOCKED, suffix="bbbb"))
    memory.turn(turn())
    memory.keep(alert())
    memory.notice(notice())
    memory.mark(Mark(NOW, "deploy"))
    memory.pause(pause())


def test_the_steps_lead_to_the_tables(memory):
    """An empty file goes through every step, and ends with what the code takes to be there."""
    with memory._database.reading() as connection:
        assert (
            compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)
            == []
        )
        assert MigrationContext.configure(connection).get_current_heads() == (VERSION,)


@pytest.mark.parametrize("dump", DUMPS, ids=[dump.stem for dump in DUMPS])
def test_a_database_of_each_schema_is_read(reports, dump):
    """As written by the edgeprobe of its time; what it holds comes back, and more can be written."""
    reports.mkdir()
    raw = sqlite3.connect(reports / "edgeprobe.db")
    raw.executescript(dump.read_text("utf-8"))
    raw.close()
    with Memory.open(now=lambda: NOW + timedelta(days=1)) as memory:
        assert memory.load(run().id) == run()
        assert memory.load(run(suffix="bbbb").id) == run(made=BLOCKED, suffix="bbbb")
        assert (memory.alerts(), memory.undelivered(), memory.turns("smoke-prod")) == (
            [alert()],
            [notice()],
            [turn()],
        )
        assert memory.marks(NOW) == [Mark(NOW, "deploy")]
        assert memory.pauses() == ([] if dump.stem < "schema-0002" else [pause()])
        assert len(memory.history("smoke/completion")) == 4
        record(memory, run(suffix="cccc"))
        assert memory.errors == 0
        figures = [(row.route, row.n) for row in memory.figures(NOW - timedelta(days=1), grain="day")]
        known = None if dump.stem < "schema-0003" else "edge"
        assert figures == [(known, 2), (known, 2), ("edge", 1), ("edge", 1)]


def test_each_schema_has_its_dump():
    """Whoever adds a step writes one: `python tests/memory/test_migrations.py`."""
    assert DUMPS[-1].stem == f"schema-{VERSION}"


def test_a_newer_schema_is_refused(reports):
    """It names both; nothing is changed."""
    Memory.open().close()
    raw = sqlite3.connect(reports / "edgeprobe.db")
    raw.execute("UPDATE alembic_version SET version_num = '0999'")
    raw.commit()
    with pytest.raises(
        UsageError, match=f"newer edgeprobe: its schema is 0999, this one knows up to {VERSION}"
    ):
        Memory.open()
    assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [("0999",)]
    raw.close()


def test_a_step_that_breaks_leaves_the_file_as_it_was(reports, monkeypatch):
    """All steps or none: the next edgeprobe can still read it."""
    from probes.memory import database

    def broken(connection, found, name):
        connection.exec_driver_sql("CREATE TABLE half (x)")
        raise UsageError("no")

    monkeypatch.setattr(database, "upgrade", broken)
    with pytest.raises(UsageError, match="no"):
        Memory.open()
    monkeypatch.undo()
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(reports))
    with Memory.open() as memory:
        filled(memory)
        assert memory.load(run().id) == run()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with Memory.open(f"sqlite:///{path}", now=lambda: NOW) as made:
            filled(made)
        raw = sqlite3.connect(path)
        text = "\n".join(raw.iterdump()) + "\n"
        Path(__file__).with_name(f"schema-{VERSION}.sql").write_text(text, "utf-8")
