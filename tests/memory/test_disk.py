"""What a disk, another process and a sudden end do to the memory."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from memories import BLOCKED, NOW, alert, events, notice, pause, record, run, turn

from probes import memory as remembering
from probes.canary import Mark
from probes.errors import UsageError
from probes.memory import Memory, database
from probes.model import Spend

HERE = Path(__file__).parent
HOUR = timedelta(hours=1)


def child(script: str, *words: str, **more) -> subprocess.Popen:
    """With the tests' own modules, and the same place for runs."""
    paths = os.pathsep.join([str(HERE), str(HERE.parent)])
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *words],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}, **more,
    )  # fmt: skip


# --- a sudden end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", random.Random(7).sample(range(5, 200), 5))
def test_kill_9_loses_the_event_in_flight_alone(reports, lines):
    """Whenever it comes: what was told as written is there, the file is whole, and the run is marked."""
    with child("writes_forever.py") as writer:
        said = [writer.stdout.readline().split() for _ in range(lines)]
        writer.send_signal(signal.SIGKILL)
        said += [line.split() for line in writer.stdout if line.endswith("d\n")]
    with sqlite3.connect(reports / "edgeprobe.db") as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()
    with Memory.open() as memory:
        written = Counter((name, kind) for name, kind in said)
        cut_off = memory.recover(NOW + HOUR)
        assert memory.recover(NOW + HOUR) == []
        ids = sorted({name for name, _ in written})
        assert set(cut_off) <= {ids[-1]} | {memory.history("smoke/completion", 1)[0].run}
        for name in ids:
            loaded = memory.load(name)
            assert len(loaded.calls) >= written[name, "Called"]
            assert len(loaded.calls) <= 2
            ended = written[name, "Finished"] == 1
            assert not (ended and name in cut_off)
            assert loaded.verdict == ("inconclusive" if name in cut_off else "pass")
            assert name not in cut_off or loaded.skipped or len(loaded.findings) >= 1
        assert len(memory.alerts()) >= len(ids) - 1
        assert memory.stats().running == 0


def test_what_is_cut_off_says_so(reports):
    """The cases that were not judged are named, and what it bought is counted."""
    with Memory.open() as memory:
        memory._writer = "elsewhere 1 gone"
        began, first, *_ = events(run())
        sink = memory.recording()
        sink(began)
        sink(first)
        [name] = memory.recover(NOW + HOUR)
        loaded = memory.load(name)
    assert [(one.case, one.reason.partition(":")[0]) for one in loaded.skipped] == [
        ("smoke/completion", "interrupted")
    ]
    assert loaded.spend == Spend(1, 10, 5)
    assert loaded.finished >= loaded.started


@pytest.mark.parametrize("table", ["runs", "calls"])
def test_a_run_that_is_damaged_keeps_nobody_from_starting(reports, table):
    """It is marked all the same; who asks for it is told."""
    with Memory.open() as memory:
        memory._writer = "elsewhere 1 gone"
        began, first, *_ = events(run())
        sink = memory.recording()
        sink(began)
        sink(first)
        raw = sqlite3.connect(reports / "edgeprobe.db")
        raw.execute(f"UPDATE {table} SET document = x'00'")
        raw.commit()
        raw.close()
        assert memory.recover(NOW + HOUR) == [run().id]
        with pytest.raises(UsageError, match=f"run {run().id}: "):
            memory.load(run().id)


# --- a full disk -----------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path):
    """A file system of its own of 2 MiB: (fill it, empty it)."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    ballast = folder / "ballast"

    def fill(_: Memory) -> None:
        with ballast.open("ab", buffering=0) as file, suppress(OSError):
            while file.write(b"\0" * 4096):
                pass

    try:
        yield fill, lambda _: ballast.unlink()
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def small_file(folder: Path):
    """The database's own bound of its size; its error is the same one."""
    folder.mkdir()

    def bound(memory: Memory, pages: str) -> None:
        connection = memory._database.engine.raw_connection()
        connection.cursor().execute(f"PRAGMA max_page_count = {pages}")
        connection.close()

    yield (lambda memory: bound(memory, "1")), (lambda memory: bound(memory, "1000000"))


@pytest.mark.parametrize("disk", [small_disk, small_file])
def test_a_full_disk(tmp_path, monkeypatch, capsys, disk):
    """It is said once, what alerting needs goes on, and all of it is written when there is room again."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path / "disk"))
    long = "x" * 50_000
    with disk(tmp_path / "disk") as (fill, empty), Memory.open() as memory:
        before = record(memory, run(suffix="aaaa"))
        memory.keep(alert("a1"))
        fill(memory)
        number = 0
        while memory.fault is None:  # what room was left in the file
            memory.turn(turn(NOW + number * HOUR, entry="filler", reason=long))
            number += 1
            assert number < 200
        assert "disk is full" in memory.fault
        during = record(memory, run(NOW + HOUR, BLOCKED, suffix="bbbb"))
        memory.keep(alert("a1", text=long))
        memory.keep(alert("a2"))
        memory.notice(notice())
        memory.turn(turn(run=during.id, ended=NOW + HOUR, conclusive=True))
        memory.mark(Mark(NOW, "deploy"))
        memory.pause(pause())

        assert memory.alerts() == [alert("a1", text=long), alert("a2")]
        assert memory.undelivered() == [notice()]
        assert [one.run for one in memory.turns("smoke-prod")] == [during.id]
        assert memory.last_conclusive("smoke-prod") == NOW + HOUR
        assert memory.marks(NOW) == [Mark(NOW, "deploy")]
        assert memory.pauses() == [pause()]
        assert memory.spent("prod", NOW - 300 * 24 * HOUR).requests == 4
        assert memory.load(before.id) == before
        assert memory.fault is not None
        assert memory.errors > 3
        assert capsys.readouterr().err.count("disk is full") == 1

        empty(memory)
        memory.keep(alert("a3"))
        assert memory.fault is None
        with Memory.open() as other:
            assert [one.id for one in other.alerts()] == ["a1", "a2", "a3"]
            assert other.undelivered() == [notice()]
            assert other.load(during.id) == during
            assert len(other.turns("filler", 1000)) == number


def test_a_full_disk_at_the_start_is_called_full(tmp_path):
    """SQLite's own word for it is an I/O error."""
    with small_disk(tmp_path / "disk") as (fill, empty):
        url = f"sqlite:///{tmp_path}/disk/edgeprobe.db"
        with Memory.open(url) as memory:
            pass
        fill(memory)
        with pytest.raises(
            UsageError,
            match=r"cannot open .*/edgeprobe\.db: disk I/O error: the disk is full; make room, or ",
        ):
            Memory.open(url)
        empty(memory)
        Memory.open(url).close()


def test_a_disk_that_stays_full_costs_bounded_memory(reports, monkeypatch, capsys):
    """Beyond a bound the oldest runs are kept without their calls, and say so."""
    monkeypatch.setattr(remembering, "_MOST_CALLS", 4)
    with Memory.open() as memory:
        raw = sqlite3.connect(reports / "edgeprobe.db", isolation_level=None)
        memory.keep(alert())
        raw.execute("BEGIN IMMEDIATE")
        memory._database.fault = "locked"  # so that nobody waits for it
        runs = [record(memory, run(NOW + n * HOUR, suffix=f"aaa{n}")) for n in range(4)]
        assert sum(one.left for one in memory._recordings) <= 4 + 2
        raw.execute("ROLLBACK")
        raw.close()
        memory.keep(alert("a2"))
        assert memory.load(runs[-1].id) == runs[-1]
        first = memory.load(runs[0].id)
        assert (first.calls, first.findings, first.verdict) == ((), runs[0].findings, "pass")
        assert "could not be stored" in first.skipped[0].reason


@pytest.mark.parametrize("size", [0.3, 0.6, 0.95])
def test_a_damaged_file(reports, size):
    """It is an error that names the file, at the opening or at the reading; a write is a fault."""
    path = reports / "edgeprobe.db"
    with Memory.open() as memory:
        for n in range(20):
            record(memory, run(NOW + n * HOUR))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + os.urandom(int(len(whole) * size)))
    with pytest.raises(UsageError, match=r"edgeprobe\.db: "), Memory.open() as memory:  # noqa: PT012
        memory.stats()
        memory.load(run().id)


# --- others ----------------------------------------------------------------------------------------------


def test_another_process_looks_while_one_writes(reports, edgeprobe):
    """`store stats` beside a writer: neither waits for the other, nor fails."""
    seen = []
    with child("writes_forever.py") as writer:
        writer.stdout.readline()
        reader = threading.Thread(target=writer.stdout.read)
        reader.start()
        try:
            for _ in range(5):
                said = edgeprobe("store", "stats")
                assert (said.code, said.err) == (0, "")
                seen.append(int(re.search(r"^runs +(\d+)", said.out, re.MULTILINE)[1]))
        finally:
            writer.kill()
            reader.join()
    assert seen == sorted(seen)
    assert seen[-1] >= 1


def test_a_database_that_another_process_holds(reports, capsys, monkeypatch):
    """A write gives up after a while and is made up for later."""
    monkeypatch.setattr("probes.memory.database._WAIT_MS", 50)
    with Memory.open() as memory:
        other = sqlite3.connect(reports / "edgeprobe.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        memory.keep(alert())
        assert "locked" in memory.fault
        assert memory.alerts() == [alert()]
        other.execute("ROLLBACK")
        other.close()
        memory.turn(turn())
        assert memory.fault is None
    with Memory.open() as memory:
        assert memory.alerts() == [alert()]


def test_many_open_a_new_one_at_once(tmp_path):
    """Each finds the schema, which was made once."""
    faults = []

    def opened(url: str, together: threading.Barrier) -> None:
        together.wait()
        try:
            Memory.open(url).close()
        except UsageError as fault:
            faults.append(fault)

    for n in range(5):
        shared = (f"sqlite:///{tmp_path / str(n)}.db", threading.Barrier(8))
        threads = [threading.Thread(target=opened, args=shared) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []


def test_a_new_one_that_another_is_making(reports, monkeypatch):
    """It is tried again until that one is done: SQLite does not wait at every step."""
    reports.mkdir()
    other = sqlite3.connect(reports / "edgeprobe.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.execute("ROLLBACK")

    monkeypatch.setattr(database, "_WAIT_MS", 20)
    monkeypatch.setattr(database.time, "sleep", wait)
    Memory.open().close()
    other.close()
    assert len(waits) == 3


def test_a_new_one_that_another_never_lets_go(reports, monkeypatch):
    """The operator is told after a while."""
    monkeypatch.setattr(database, "_WAIT_MS", 20)
    monkeypatch.setattr(database, "_WAIT_FOR_MAKER_MS", 50)
    reports.mkdir()
    with closing(sqlite3.connect(reports / "edgeprobe.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match=r"cannot open .*edgeprobe\.db: database is locked"):
            Memory.open()


def test_who_opens_waits_for_no_writer(reports):
    """What is there as it should be is opened and read at once, however long another writes."""
    Memory.open().close()
    with closing(sqlite3.connect(reports / "edgeprobe.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Memory.open() as memory:
            assert memory.alerts() == []


REFUSED = {
    "no database": (lambda path: path.write_text("x" * 5000), None, "file is not a database"),
    "a folder": (lambda path: path.mkdir(), None, "Is a directory"),
    "another's": (
        lambda path: sqlite3.connect(path).executescript("CREATE TABLE t (x)").connection.close(),
        None,
        "holds tables that are not edgeprobe's: t",
    ),
    "no URL": (lambda _: None, "edgeprobe.db", "no URL such as sqlite:///"),
    "no such database": (lambda _: None, "nosuch://host/x", "nosuch"),
    "in memory": (lambda _: None, "sqlite://", "remembers nothing"),
}


@pytest.mark.parametrize(("prepare", "url", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_database_of_ours(reports, prepare, url, said):
    """The operator is told what and why."""
    reports.mkdir()
    prepare(reports / "edgeprobe.db")
    with pytest.raises(UsageError, match=said):
        Memory.open(url)


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    """A file stands where it should be."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot open .*file/edgeprobe\.db: Not a directory|File exists"):
        Memory.open()


def test_a_password_is_not_said():
    """That of a URL, in no error."""
    with pytest.raises(UsageError) as said:
        Memory.open("postgresql+psycopg://me:hunter22@127.0.0.1:1/x")
    assert "hunter22" not in str(said.value)
