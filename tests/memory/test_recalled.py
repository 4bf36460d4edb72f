"""What an earlier run measured is found again, in a file or in the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

from memories import CASE, NOW, finding, record, run

from probes import recall, store, stored
from probes.kinds.spec import Recall
from probes.model import Figure

NIGHT = timedelta(days=1)


def measured(at, seconds, suffix="aaaa"):
    figure = Figure(seconds, "s", 1)
    return run(at, suffix=suffix, findings=(finding("curl", figures={"cutoff": figure}),))


def known(monkeypatch):
    """The parameter that a case gets which asks for the cutoff of `CASE`."""
    asks = Recall(CASE.id, "cutoff", "known", lambda *_: True)
    monkeypatch.setattr(recall, "KINDS", {CASE.kind: SimpleNamespace(recalls=lambda _: asks)})
    return recall.recalled(replace(CASE, id="smoke/completion/mode=known")).params.get("known")


def test_the_newest_run_counts_wherever_it_lies(memory, reports, monkeypatch):
    """One of last night in the database before a file of the night before, and the other way round."""
    assert known(monkeypatch) is None
    store.save(measured(NOW - NIGHT, 100.0))
    assert known(monkeypatch) == 100.0
    record(memory, measured(NOW, 125.0))
    assert known(monkeypatch) == 125.0
    store.save(measured(NOW + NIGHT, 90.0))
    assert known(monkeypatch) == 90.0


def test_a_run_in_both_is_read_once(memory, reports):
    """And those that cannot be read are passed over."""
    store.save(record(memory, measured(NOW, 125.0)))
    record(memory, measured(NOW - NIGHT, 100.0, "bbbb"))
    (reports / "20991231-000000-zzzz.json").write_text("{")
    found = [document["id"][-4:] for document in stored.documents(CASE.id)]
    assert found == ["aaaa", "bbbb"]


def test_a_database_that_cannot_be_read_leaves_the_files(reports, monkeypatch):
    """A plan does not fail for it."""
    store.save(measured(NOW, 125.0))
    store.database_file().write_bytes(b"no database, " * 99)
    assert known(monkeypatch) == 125.0
