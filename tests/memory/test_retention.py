"""What is kept for how long, and what `edgeprobe store` says and does."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest
from memories import BLOCKED, GOOD, NOW, alert, events, notice, pause, record, run, turn

from probes import store
from probes.canary import AlertState, Mark, Missed
from probes.memory import Memory, Stats
from probes.model import Verdict

DAY = timedelta(days=1)


def lived(days: int, step: int = 10, now: datetime = NOW) -> Memory:
    """A canary's memory of so many days: each `step` days a run that passed and one that failed."""

    class At:
        now = NOW

    memory = Memory.open(now=lambda: At.now)
    for ago in range(0, days, step):
        At.now = now - ago * DAY
        record(memory, run(At.now, suffix="good"))
        record(memory, run(At.now, BLOCKED, suffix="badd"))
        memory.turn(turn(At.now, missed=Missed.BUDGET))
        memory.mark(Mark(At.now, "deploy"))
    return memory


def ids(memory: Memory) -> list[tuple[int, str]]:
    rows = memory.history("smoke/completion", 10_000)
    return sorted({((NOW - row.at).days, row.run[-4:]) for row in rows})


@pytest.mark.parametrize(
    ("kept", "good", "bad"),
    [
        ({}, 30, 365),
        ({"raw_days": 10, "failed_days": 60}, 10, 60),
        ({"raw_days": 90, "failed_days": 5}, 90, 90),
    ],
    ids=["as it is", "shorter", "failures are never kept for less"],
)
def test_prune(reports, kept, good, bad):
    """Runs that passed go first, those with a failure later, each with all that belongs to it."""
    with lived(400) as memory:
        before = memory.stats()
        done = memory.prune(NOW, **kept)
        left = [(ago, "good") for ago in range(0, good + 1, 10)] + [
            (ago, "badd") for ago in range(0, bad + 1, 10)
        ]
        assert ids(memory) == sorted(left)
        after = memory.stats()
        assert (done.runs, after.runs) == (before.runs - len(left), len(left))
        assert (after.calls, after.exchanges, after.findings) == (2 * len(left),) * 3
        for ago, suffix in left:
            made = run(NOW - ago * DAY, BLOCKED if suffix == "badd" else GOOD, suffix=suffix)
            assert memory.load(made.id) == made
        assert memory.prune(NOW, **kept).runs == 0


def test_figures_stay(reports):
    """Those of the day for ever, of the hour for a year, of the minute for a month."""
    with lived(400) as memory:
        memory.prune(NOW)
        kept = {
            g: {(NOW - row.at).days // 10 for row in memory.figures(NOW - 999 * DAY, grain=g)}
            for g in ("minute", "hour", "day")
        }
        assert [max(kept[grain]) for grain in ("minute", "hour", "day")] == [2, 36, 39]
        day = memory.figures(NOW - 395 * DAY, grain="day", client="openai-py")[0]
        assert (day.n, day.good, day.availability) == (2, 1, 0.5)


def test_what_is_open_is_kept(reports):
    """An open alert and a message that nobody got stay however old they are."""
    with Memory.open() as memory:
        memory.keep(alert("open"))
        memory.keep(alert("over", AlertState.RESOLVED))
        memory.notice(notice("due"))
        memory.notice(notice("told", delivered=NOW))
        done = memory.prune(NOW + 999 * DAY)
        assert (done.alerts, done.notices) == (1, 1)
        assert memory.alerts(open_only=False) == [alert("open")]
        assert memory.undelivered() == [notice("due")]


def test_a_run_that_goes_on_is_not_pruned(reports):
    """However long ago it began."""
    with Memory.open(now=lambda: NOW) as memory:
        sink = memory.recording()
        *before, last = events(run())
        for event in before:
            sink(event)
        assert memory.prune(NOW + 999 * DAY).runs == 0
        sink(last)
        assert memory.prune(NOW + 999 * DAY).runs == 1


def test_the_room_is_given_back(reports):
    """The file is smaller afterwards."""
    with lived(400, step=2) as memory:
        memory.prune(NOW, raw_days=390)
        before = memory.stats().bytes
        memory.prune(NOW, raw_days=10, failed_days=10)
        assert memory.stats().bytes < before / 2


# --- the command -----------------------------------------------------------------------------------------


def test_store_stats(reports, edgeprobe):
    """For people, and for programs."""
    with Memory.open() as memory:
        record(memory, run(made=BLOCKED))
        memory.keep(alert())
        memory.notice(notice())
        memory.pause(pause(hours=365 * 24))
        memory.pause(pause("staging", hours=-1))
        stats = memory.stats()
    said = edgeprobe("store", "stats", "--json", "-")
    document = json.loads(said.out)
    assert document["schema"] == "edgeprobe.store/1"
    names = {field.name for field in fields(Stats)} - {"schema"}
    assert set(document) == names | {"schema", "revision"}
    assert document["paused"] == [
        {
            "target": "prod",
            "asked": "2026-11-29T17:43:12Z",
            "until": "2027-11-29T17:43:12Z",
            "why": "a 429 asked for it",
        }
    ]
    for name in names - {"bytes", "oldest", "newest", "database", "paused"}:
        assert document[name] == getattr(stats, name), name
    said = edgeprobe("store", "stats")
    assert said.code == 0
    assert "1 with a failure" in said.out
    assert "1 of 1 alerts open, 1 notices not delivered" in said.out
    assert said.out.endswith("paused    prod until 2027-11-29 17:43:12 UTC: a 429 asked for it\n")


def test_store_resume(reports, edgeprobe):
    """What is paused is told and ended; what is not is no mistake, and what nobody knows is one."""
    with Memory.open() as memory:
        record(memory, run())
        memory.pause(pause("staging", hours=365 * 24))
        began = datetime.now(UTC)
        said = edgeprobe("store", "resume", "staging")
        assert (said.code, said.err) == (0, "")
        assert said.out == (
            "staging was paused until 2027-11-29 17:43:12 UTC (a 429 asked for it); it is asked again from its next turn on\n"
        )
        (ended,) = memory.pauses()
        assert began <= ended.until <= datetime.now(UTC)
        assert memory.stats().paused == ()
    for name in ("staging", "prod"):
        said = edgeprobe("store", "resume", name)
        assert (said.code, said.out) == (0, f"{name} is not paused\n")
    said = edgeprobe("store", "resume", "stagin")
    assert (said.code, said.out) == (2, "")
    assert "'stagin' is no target that runs or pauses are stored of" in said.err
    assert "did you mean staging?" in said.err


def test_store_prune(reports, edgeprobe):
    """By the days that are said."""
    now = datetime.now(UTC).replace(microsecond=0)
    lived(100, now=now).close()
    said = edgeprobe("store", "prune", "--raw-days", "45", "--failed-days", "1000")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("deleted  5 runs, 5 turns, ")
    with Memory.open() as memory:
        assert memory.stats().runs == 15


CANARY = "version: 1\nretention: {raw_days: 45, failed_days: 1000}\nentries: [{name: e, suite: smoke, target: prod, every: 5m}]\n"
RETENTION = {
    "by nobody": ("", [], 13, "kept     runs for 30 days (default), with a failure for 365 (default)"),
    "by the canary's file": (CANARY, [], 15, "kept     runs for 45 days (configs/canary.yaml), with a failure for 1000 (configs/canary.yaml)"),
    "by a flag": (CANARY, ["--raw-days", "25"], 13, "kept     runs for 25 days (--raw-days), with a failure for 1000 (configs/canary.yaml)"),
    "failures as long as others": ("", ["--raw-days", "400"], 20, "kept     runs for 400 days (--raw-days), with a failure for 400 (--raw-days)"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "flags", "left", "said"), RETENTION.values(), ids=RETENTION)
def test_the_canary_s_retention_is_that_of_prune(
    reports, edgeprobe, monkeypatch, tmp_path, file, flags, left, said
):
    """Where its file lies where `watch` finds it; flags win, and it is said who decided."""
    monkeypatch.chdir(tmp_path)
    if file:
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs/canary.yaml").write_text(file)
    lived(100, now=datetime.now(UTC).replace(microsecond=0)).close()
    told = edgeprobe("store", "prune", *flags)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[1] == said
    with Memory.open() as memory:
        assert memory.stats().runs == left


def test_store_looks_into_the_canary_s_own_database(reports, edgeprobe, monkeypatch, tmp_path):
    """That its file names; one that is wrong deletes nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    Memory.open(f"sqlite:///{tmp_path / 'own.db'}").close()
    monkeypatch.setenv("OWN_DB", f"sqlite:///{tmp_path / 'own.db'}")
    (tmp_path / "configs/canary.yaml").write_text(CANARY.replace("entries", "database: $OWN_DB\nentries"))
    assert f"database  {tmp_path / 'own.db'}, " in edgeprobe("store", "stats").out
    (tmp_path / "configs/canary.yaml").write_text(CANARY.replace("45", "0"))
    wrong = edgeprobe("store", "prune")
    assert (wrong.code, wrong.out) == (2, "")
    assert "configs/canary.yaml:2: retention.raw_days: must be 1 or more, not 0" in wrong.err


WRONG = {
    "no database": (["stats"], "no database at .*edgeprobe.db; edgeprobe watch or edgeprobe mark makes it"),
    "another": (["stats", "--db", "sqlite:///nowhere.db"], "no database at nowhere.db"),
    "days": (["prune", "--raw-days", "-1"], "'-1' is not a number of days"),
    "no days": (["prune", "--failed-days", "nan"], "'nan' is not a number of days"),
    "action": (["purge"], "invalid choice: 'purge'"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_mistakes(edgeprobe, words, said):
    """Exit code 2, and what is wrong; nothing is made."""
    result = edgeprobe("store", *words)
    assert result.code == 2
    assert re.search(said, result.err), result.err


# --- a run in either place -------------------------------------------------------------------------------


def test_report_finds_a_run_in_the_database(reports, edgeprobe):
    """A file of the same id goes first."""
    with Memory.open() as memory:
        record(memory, run(made=BLOCKED))
    said = edgeprobe("report", run().id, "--json", "-")
    assert (said.code, json.loads(said.out)["verdict"]) == (0, "fail")
    url = f"sqlite:///{reports / 'edgeprobe.db'}"
    assert json.loads(edgeprobe("report", run().id, "--db", url, "--json", "-").out)["verdict"] == "fail"
    store.save(run())
    assert json.loads(edgeprobe("report", run().id, "--json", "-").out)["verdict"] == Verdict.PASS


def test_report_of_a_run_that_is_nowhere(reports, edgeprobe):
    """The nearest is named, wherever that is."""
    assert "no run x" in edgeprobe("report", "x").err
    with Memory.open() as memory:
        record(memory, run())
    said = edgeprobe("report", "20261129-174312-aaab")
    assert said.code == 2
    assert "did you mean 20261129-174312-aaaa?" in said.err
    assert not (reports / "20261129-174312-aaab.json").exists()
