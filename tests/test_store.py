"""The store: a run is written whole, found by id or path, and explained when it is not there."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from probes import store
from probes.document import to_document
from probes.errors import UsageError
from probes.model import Ask, Call, Route, Run, Spend, Target, Trial, Verdict

NOW = datetime(2026, 11, 29, 17, 43, 12, tzinfo=UTC)
TARGET = Target("t", "openai", "m", {"edge": Route("edge", "https://a.example/v1")})
CALL = Call("c", "s/k", Trial("k/curl", "curl", "edge", Ask("chat")), 0, returned="héllo \x9b31m\u202e")
RUN = Run(
    "20261129-174312-x7k2", ("s",), TARGET, None, NOW, NOW, {}, 1, 1.0, Verdict.PASS, Spend(), (), (CALL,), ()
)  # fmt: skip


@pytest.fixture(autouse=True)
def reports(tmp_path, monkeypatch):
    """An own reports folder, not there yet."""
    folder = tmp_path / "deep" / "reports"
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(folder))
    return folder


def test_reports_dir(monkeypatch, reports):
    """`$EDGEPROBE_REPORTS`, else where the user stands."""
    assert store.reports_dir() == reports
    monkeypatch.setenv("EDGEPROBE_REPORTS", "")
    assert str(store.reports_dir()) == "reports"


def test_save_and_load(reports):
    """By id or by path the same run comes back; the file is its owner's, and nothing else is left behind."""
    path = store.save(RUN)
    assert path == reports / f"{RUN.id}.json"
    assert store.load(RUN.id) == store.load(str(path)) == RUN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(reports.iterdir()) == [path]
    assert path.read_bytes().isascii()


def test_saving_again_replaces(reports):
    """A run saved twice is the later one."""
    store.save(RUN)
    store.save(replace(RUN, seed=2))
    assert store.load(RUN.id).seed == 2


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """The operator is told which file and why."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path / "file"))
    with pytest.raises(
        UsageError, match=r"^cannot write .*/file/20261129-174312-x7k2\.json: (File exists|Not a dir)"
    ):
        store.save(RUN)


def test_a_failed_write_leaves_nothing(reports, monkeypatch):
    """No half file and no temporary one stay behind."""
    reports.mkdir(parents=True)
    (reports / f"{RUN.id}.json").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        store.save(RUN)
    assert [left.name for left in reports.iterdir()] == [f"{RUN.id}.json"]


@pytest.mark.parametrize(
    ("stored", "asked", "said"),
    [
        ([], "20261129-174312-x7k2", "no run 20261129-174312-x7k2; {folder} holds none"),
        (["20261129-174312-x7k2"], "20261129-174312-x7k3", "no run 20261129-174312-x7k3; did you mean 20261129-174312-x7k2?"),
        (["1", "2", "3", "4"], "last", "no run last; the latest in {folder}: 2, 3, 4"),
        ([], "./x.json", "no run ./x.json"),
        (["1"], "../x", "no run ../x: say its id, as in {folder}, or the path of its file, which ends in .json"),
        (["1"], "/etc/x", "no run /etc/x: say its id, as in {folder}, or the path of its file, which ends in .json"),
        (["1"], "secret/../../1.json", "no run secret/../../1.json"),
        (["1"], "deep/reports/x.json", "no run deep/reports/x.json; the latest in deep/reports: 1"),
    ],
    ids=["empty", "near", "far", "path", "above", "root", "path that leaves", "path in the folder"],
)  # fmt: skip
def test_a_run_that_is_not_there(reports, tmp_path, monkeypatch, stored, asked, said):
    """The nearest id is offered, else the latest; of what lies elsewhere nothing is listed."""
    monkeypatch.chdir(tmp_path)
    for name in ("elsewhere.json", "x"):
        (tmp_path / name).write_text("{}")
    for name in stored:
        store.save(replace(RUN, id=name))
    with pytest.raises(UsageError) as caught:
        store.load(asked)
    assert str(caught.value) == said.format(folder=reports)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no report of edgeprobe: it has no schema, such as edgeprobe.run/1"),
        (
            b'{"schema": "edgeprobe.run/9"}',
            "its schema is 'edgeprobe.run/9'; this edgeprobe reads edgeprobe.run/1",
        ),
        (
            json.dumps(to_document(RUN)).encode(),
            "written by --json, which leaves out what a replay needs; take the stored run",
        ),
    ],
    ids=["cut", "bytes", "deep", "other JSON", "other schema", "of --json"],
)
def test_files_that_are_no_run(tmp_path, content, said):
    """The file and what is wrong with it are named."""
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        store.load(str(path))
    assert str(caught.value) == f"{path}: {said}"


def test_a_folder_is_no_run(tmp_path):
    """What can't be read says why."""
    (tmp_path / "x.json").mkdir()
    with pytest.raises(UsageError, match=r"^cannot read .*: Is a directory$"):
        store.load(str(tmp_path / "x.json"))


def test_ids_sort_by_time():
    """UTC to the second, then four letters that two runs of one second do not share."""
    there = NOW.astimezone(timezone(timedelta(hours=5)))
    first, same_time, later = store.new_id(NOW), store.new_id(there), store.new_id(NOW + timedelta(seconds=1))
    assert first[:16] == same_time[:16] == "20261129-174312-"
    assert len(first) == 20
    assert first != same_time
    assert first < later
