"""Another database by its URL: PostgreSQL does what SQLite does."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from labruns import refused_port
from memories import BLOCKED, NOW, alert, events, notice, pause, record, run, turn
from weeks import SINCE, UNTIL, filled

from probes.canary import Mark
from probes.errors import UsageError
from probes.memory import Memory

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def programs() -> Path | None:
    """Debian keeps them out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def missing(what: str) -> None:
    """A reason to skip, or to fail where all must be there."""
    if os.environ.get("EDGEPROBE_REQUIRE_REAL") == "1":
        pytest.fail(f"{what} is needed")
    pytest.skip(f"{what} is not there")


def quietly(folder: Path, *words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True, cwd=folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its URL; the server listens on a socket in a folder alone."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing("psycopg")
    bin_ = programs()
    if bin_ is None:
        missing("PostgreSQL")
    folder = Path("/tmp") / f"edgeprobe-pg-{os.getpid()}"  # a socket's path is short
    folder.mkdir()
    as_them: list[str] = []
    if os.getuid() == 0:  # it refuses to run as root
        shutil.chown(folder, "postgres")
        as_them = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    data = folder / "data"
    try:
        quietly(
            folder,
            *as_them,
            bin_ / "initdb",
            "-D",
            data,
            "-U",
            "me",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale",
            "C",
            "-N",
        )
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [*as_them, bin_ / "pg_ctl", "-D", data, "-w"]
        quietly(folder, *control, "-o", options, "-l", folder / "log", "start")
        yield f"postgresql+psycopg://me@/postgres?host={folder}"
        quietly(folder, *control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.mark.real
def test_postgresql_remembers_alike(server, reports, edgeprobe):
    """The same calls give the same answers, hostile texts included."""
    hostile = run(NOW + HOUR, BLOCKED, suffix="bbbb", versions={"curl": "a\0b\ud800"})
    with Memory.open(server, now=lambda: NOW) as memory:
        assert record(memory, run()) == memory.load(run().id)
        record(memory, hostile)
        assert memory.load(hostile.id).calls == hostile.calls
        memory.turn(turn(ended=NOW, conclusive=True, reason="a\0b"))
        memory.keep(alert(text="a\0b"))
        memory.keep(alert(text="b\0c"))
        memory.notice(notice())
        memory.pause(pause(hours=2))
        memory.pause(pause())
        memory.mark(Mark(NOW, "a\0b"))
        memory.mark(Mark(NOW, "a\0b"))
        assert memory.errors == 0
    with Memory.open(server, make=False, now=lambda: NOW) as memory:
        assert memory.alerts() == [alert(text="b\0c")]
        assert memory.turns("smoke-prod") == [turn(ended=NOW, conclusive=True, reason="a\0b")]
        assert memory.last_conclusive("smoke-prod") == NOW
        assert memory.undelivered() == [notice()]
        assert (memory.pauses(), memory.targets()) == ([pause()], ["prod"])
        assert memory.marks(NOW) == [Mark(NOW, "a\0b")]
        assert [o.verdict for o in memory.history("smoke/completion")] == ["fail", "pass", "pass", "pass"]
        assert memory.spent("prod", NOW - DAY).requests == 4
        assert memory.passed("prod", "here", ["curl"], NOW + DAY) == {"curl": NOW}
        assert [(r.client, r.n, r.good) for r in memory.figures(NOW - DAY, grain="day")] == [
            ("curl", 2, 2),
            ("openai-py", 2, 1),
        ]
        memory._writer = "elsewhere 1 gone"
        began, first, *_ = events(run(suffix="cccc"))
        sink = memory.recording()
        sink(began)
        sink(first)
        assert memory.recover(NOW + HOUR) == []  # of another machine: it may well be alive
        assert memory.recover(NOW + 2 * DAY) == [run(suffix="cccc").id]
        assert memory.prune(NOW + 40 * DAY).runs == 2
        assert (memory.stats().runs, memory.stats().bytes) == (1, None)
        assert memory.errors == 0
    said = edgeprobe("store", "stats", "--db", server)
    assert said.code == 0
    assert edgeprobe("report", hostile.id, "--db", server).code == 0


@pytest.mark.real
def test_many_make_the_tables_at_once(server):
    """They are made once; who comes beside waits."""
    faults = []
    together = threading.Barrier(6)
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE DATABASE many")

    def opened() -> None:
        together.wait()
        try:
            Memory.open(server.replace("/postgres?", "/many?")).close()
        except UsageError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=opened) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.real
def test_a_server_that_is_not_there(reports):
    """It is named, without its password."""
    pytest.importorskip("psycopg")
    with refused_port() as port, pytest.raises(UsageError) as said:
        Memory.open(f"postgresql+psycopg://me:hunter22@127.0.0.1:{port}/x")
    assert str(said.value).startswith(f"cannot open postgresql+psycopg://me:***@127.0.0.1:{port}/x: ")


@pytest.mark.real
def test_postgresql_tells_the_same_of_a_week(server, tmp_path):
    """Outcomes, speeds, cutoffs, cache, spend and what is wrong now."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE DATABASE week")
    told = []
    for url in (server.replace("/postgres?", "/week?"), f"sqlite:///{tmp_path}/week.db"):
        with filled(url, every=12 * HOUR, blocked_now=True) as memory:
            told.append(memory.span(SINCE, UNTIL))
            assert memory.errors == 0
    assert told[0] == told[1]
    assert [len(one.cutoffs) > 0 and len(one.figures[0].shares) > 0 for one in told[0].watched] == [True]
