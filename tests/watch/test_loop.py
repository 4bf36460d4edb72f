"""A canary's day: what it takes, how it ends, and how it takes over another file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from canaries import FAST, Turns, watching
from entries import entry

from probes.canary import Missed, Turn
from probes.errors import ConfigError, UsageError
from probes.model import Verdict
from probes.watch.chores import Chore
from probes.watch.config import Canary
from probes.watch.loop import Watch, exit_code
from probes.watch.wall import Wall
from probes.watch.watched import Watched

OFTEN = "5s"  # 0.1 s of this machine


class Running:
    """A day in a thread of this process, to which signals are told as the handler's thread tells them."""

    def __init__(self, watch):
        self.watch, self.code = watch, None
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        self.code = self.watch.run()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        if self.watch.ready() != "draining":
            self.watch.signalled("SIGTERM")
        self._thread.join(60)
        assert not self._thread.is_alive()

    def end(self):
        self.watch.signalled("SIGTERM")
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.code


def test_every_entry_is_taken_again_and_again():
    """And the first signal ends the day with 0."""
    turns = Turns()
    with Running(watching(entry("a", every=OFTEN), entry("b", every=OFTEN), turns=turns)) as day:
        turns.until(lambda t: t.taken.count("a") >= 3 and t.taken.count("b") >= 3)
        assert day.watch.ready() is None
        assert day.watch.healthy() is None
        assert set(day.watch.next_times()) == {"a", "b"}
        assert day.end() == 0
    assert day.watch.ready() == "draining"


def test_a_turn_that_has_not_ended_is_told_as_overlap():
    """Each time at which it is due again, with when that turn was due; nobody else is held up."""
    turns = Turns(holds=("long",))
    with Running(watching(entry("long", every=OFTEN), entry("a", every=OFTEN), turns=turns)) as day:
        turns.until(lambda t: len(t.missing) >= 2 and t.taken.count("a") >= 3)
        turns.held.set()
        assert day.end() == 0
    assert {(name, why) for name, why, _ in turns.missing} == {("long", Missed.OVERLAP)}
    assert set(turns.since) == {turns.dues[turns.taken.index("long")]}


def test_who_is_asked_beside_the_schedule_is_asked_once_at_a_time():
    """Not while its turn before has not ended, which is no turn that was missed, and not once the day ends."""
    turns, held = Turns(holds=("held",)), entry("held", every="1d")
    with Running(watching(held, turns=turns)) as day:
        assert day.watch.ask(held)
        turns.until(lambda t: t.taken == ["held"])
        assert not day.watch.ask(held)
        assert turns.missing == []
        day.watch.signalled("SIGTERM")
        turns.held.set()
        assert not day.watch.ask(held)


def test_the_first_signal_lets_turns_finish():
    """It ends when they did, not before."""
    turns = Turns(holds=("long",))
    with Running(watching(entry("long", every=OFTEN), turns=turns)) as day:
        turns.until(lambda t: t.taken == ["long"])
        day.watch.signalled("SIGTERM")
        turns.held.wait(0.3)
        assert day.code is None
        turns.held.set()
    assert (day.code, turns.interrupted) == (0, [])


def test_the_second_signal_ends_turns_at_once():
    """They are interrupted, and the exit code says that something is not proven."""
    turns = Turns(holds=("long",))
    with Running(watching(entry("long", every=OFTEN), turns=turns)) as day:
        turns.until(lambda t: t.taken == ["long"])
        day.watch.signalled("SIGTERM")
        day.watch.signalled("SIGINT")
    assert (day.code, turns.interrupted) == (3, ["long"])


def test_a_bug_in_a_turn_is_told_and_the_day_goes_on(capsys):
    """As a missed turn with its reason."""
    turns = Turns(raises=RuntimeError("a bug"))
    with Running(watching(entry("a", every=OFTEN), turns=turns)) as day:
        turns.until(lambda t: len(t.missing) >= 2)
        assert day.end() == 0
    assert turns.missing[0] == ("a", Missed.ERROR, "RuntimeError: a bug")
    assert "RuntimeError: a bug" in capsys.readouterr().err


def test_chores_are_done_beside_the_turns(capsys):
    """One that hangs holds up nothing, and one that breaks makes the canary unwell until it goes well."""
    turns, hang, times = Turns(), threading.Event(), []

    def breaks(_):
        times.append(1)
        if len(times) < 3:
            raise RuntimeError("a chore's bug")

    each = timedelta(seconds=1)
    chores = [Chore("hangs", each, lambda _: hang.wait(30)), Chore("breaks", each, breaks)]
    with Running(watching(entry("a", every=OFTEN), turns=turns, chores=chores)) as day:
        turns.until(lambda t: len(t.taken) >= 3 and len(times) >= 3)
        assert day.watch.healthy() is None
        hang.set()
        assert day.end() == 0
    assert capsys.readouterr().err.count("RuntimeError: a chore's bug") == 1


# --- reloads ---------------------------------------------------------------------------------------------


class File:
    """What a reload reads: a canary, or a mistake."""

    def __init__(self, *entries):
        self.now = self.of(*entries)

    @staticmethod
    def of(*entries):
        return Watched(Canary(entries=tuple(entries)), {}, (), "")

    def __call__(self):
        if isinstance(self.now, UsageError):
            raise self.now
        return self.now


def reloading(file, turns, told):
    return Watch(
        file.now,
        turns,
        Wall(FAST),
        file,
        reloaded=lambda fault, _: (told.append(fault), turns.until(lambda _: True)),
    )


def test_a_file_is_taken_over_while_turns_run():
    """Those under way go on, the new entries begin, those that are gone are due no more."""
    turns, told = Turns(holds=("long",)), []
    file = File(entry("long", every=OFTEN))
    with Running(reloading(file, turns, told)) as day:
        turns.until(lambda t: t.taken == ["long"])
        file.now = File.of(entry("new", every=OFTEN))
        day.watch.signalled("SIGHUP")
        turns.until(lambda t: t.taken.count("new") >= 2)
        assert "long" in day.watch._lanes.busy
        before = len(turns.missing)
        turns.held.set()
        turns.until(lambda t: t.taken.count("new") >= 4)
        assert len(turns.missing) == before
        assert turns.taken.count("long") == 1
        assert day.end() == 0
    assert told == [None]
    assert [one.entries[0].name for one in turns.canaries] == ["new"]


def test_a_file_with_a_mistake_changes_nothing(capsys):
    """It is told once, read again until it is mended, and then taken over without a further signal."""
    turns, told = Turns(), []
    file = File(entry("a", every=OFTEN))
    with Running(reloading(file, turns, told)) as day:
        turns.until(lambda t: len(t.taken) >= 1)
        file.now = ConfigError("unknown key", path="canary.yaml", line=3)
        day.watch.signalled("SIGHUP")
        seen = len(turns.taken)
        turns.until(lambda t: len(t.taken) >= seen + 3)
        assert day.watch.reload_fault == "canary.yaml:3: unknown key"
        file.now = File.of(entry("b", every=OFTEN))
        turns.until(lambda t: "b" in t.taken)
        assert day.watch.reload_fault is None
        assert day.end() == 0
    assert told == ["canary.yaml:3: unknown key", None]
    assert capsys.readouterr().err.count("canary.yaml:3: unknown key") == 1


def test_each_signal_is_answered_though_the_mistake_is_the_same(capsys):
    """Who sends it wants to know whether the file is good now; looks in between say nothing."""
    turns, told = Turns(), []
    file = File(entry("a", every=OFTEN))
    with Running(reloading(file, turns, told)) as day:
        turns.until(lambda t: len(t.taken) >= 1)
        file.now = ConfigError("unknown key", path="canary.yaml", line=3)
        for n in (1, 2, 3):
            day.watch.signalled("SIGHUP")
            turns.until(lambda _: len(told) >= n)  # noqa: B023 - waited for at once
            seen = len(turns.taken)
            turns.until(lambda t: len(t.taken) >= seen + 2)  # noqa: B023
            assert len(told) == n
        file.now = File.of(entry("b", every=OFTEN))
        turns.until(lambda t: "b" in t.taken)
        day.watch.signalled("SIGHUP")
        turns.until(lambda _: len(told) >= 5)
        assert day.end() == 0
    assert told == ["canary.yaml:3: unknown key"] * 3 + [None] * 2
    err = capsys.readouterr().err
    assert (err.count("wrong and not taken over"), err.count("taken over: b")) == (3, 2)
    assert all(re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d  edgeprobe: ", line) for line in err.splitlines())


def test_what_the_turns_refuse_changes_nothing():
    """A file is good only when all who have to work by it say so."""

    class Refusing(Turns):
        def reload(self, watched):
            raise UsageError("no such key")

    turns, told = Refusing(), []
    file = File(entry("a", every=OFTEN))
    with Running(reloading(file, turns, told)) as day:
        file.now = File.of(entry("b", every=OFTEN))
        day.watch.signalled("SIGHUP")
        turns.until(lambda t: len(t.taken) >= 3)
        assert day.end() == 0
    assert "b" not in turns.taken
    assert told[0] == "no such key"


# --- once ------------------------------------------------------------------------------------------------

ONCE = {
    "good": ([(Verdict.PASS, True), (Verdict.WARN, True)], 0),
    "a failure": ([(Verdict.PASS, True), (Verdict.FAIL, True)], 1),
    "a failure that is our own network's": ([(Verdict.FAIL, False)], 3),
    "a failure and an error": ([(Verdict.ERROR, False), (Verdict.FAIL, True)], 1),
    "inconclusive": ([(Verdict.PASS, True), (Verdict.INCONCLUSIVE, False)], 3),
    "one missed": ([(Verdict.PASS, True), Missed.BUDGET], 3),
    "one left out by its sample": ([(Verdict.PASS, True), Missed.SAMPLED], 0),
    "all left out by their sample": ([Missed.SAMPLED], 3),
    "nothing": ([], 3),
}


@pytest.mark.parametrize(("came", "code"), ONCE.values(), ids=ONCE)
def test_exit_codes_of_once(came, code):
    """As of `run`: 1 only for what customers feel, and never 0 where nothing was proven."""
    due = Wall().now()
    turns = [
        Turn("e", "t", due, missed=one)
        if isinstance(one, Missed)
        else Turn("e", "t", due, run="r", verdict=one[0], conclusive=one[1])
        for one in came
    ]
    assert exit_code(turns) == code


def test_once_takes_every_entry_in_order_whenever_it_is_due():
    """Or those that are named."""
    entries = [entry("c", at="03:10"), entry("a", every="1d"), entry("b", every="1d")]
    turns = Turns()
    assert watching(*entries, turns=turns).once() == 0
    assert turns.taken == ["c", "a", "b"]
    assert watching(*entries, turns=turns).once(["b"]) == 0
    assert turns.taken[3:] == ["b"]


def test_once_is_ended_by_a_signal():
    """What is under way ends, the rest is not begun, and that is not green."""
    turns = Turns(holds=("a",))
    watch = watching(entry("a", every="1d"), entry("b", every="1d"), turns=turns)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(watch.once()))
    thread.start()
    turns.until(lambda t: t.taken == ["a"])
    watch.signalled("SIGTERM")
    turns.held.set()
    thread.join(30)
    assert (codes, turns.taken) == ([3], ["a"])


# --- as a program ----------------------------------------------------------------------------------------

HERE = Path(__file__).parent
FILE = "version: 1\nentries:\n  - {{name: {name}, suite: smoke, target: prod, every: 10s}}\n"
TARGET = "version: 1\nname: prod\napi: openai\nmodel: m\nkey_env: null\nroutes:\n  edge:\n    base_url: http://127.0.0.1:9/v1\n"


@pytest.fixture
def program(tmp_path):
    """A canary in a process of its own that watches what `name` says; its output is read line by line."""
    (tmp_path / "configs/targets").mkdir(parents=True)
    (tmp_path / "configs/targets/prod.yaml").write_text(TARGET)
    file = tmp_path / "configs/canary.yaml"
    started = []

    def start(name):
        file.write_text(FILE.format(name=name))
        child = subprocess.Popen(
            [sys.executable, HERE / "canaries.py", "configs/canary.yaml"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
        )  # fmt: skip
        started.append(child)
        return child

    start.file = file
    yield start
    for child in started:
        child.kill()
        child.communicate()


def said(stream, line):
    """Reads on until it is said."""
    for one in stream:
        if line in one:
            return
    pytest.fail(f"ended without {line!r}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_a_program(program, number):
    """Exit 0."""
    child = program("a")
    said(child.stdout, "took a")
    child.send_signal(number)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert out.endswith("interrupted []\n")


def test_two_signals_stop_a_program_at_once(program):
    """Though what it does would take half a minute more."""
    child = program("held")
    said(child.stdout, "took held")
    child.send_signal(signal.SIGTERM)
    said(child.stderr, "draining: waits for held; a second signal stops at once")
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 3
    assert out.endswith("interrupted ['held']\n")


def test_a_program_takes_over_a_file_that_changed(program):
    """Without a signal, and with one; a file with a mistake is told by its line and not taken over."""
    child = program("a")
    said(child.stdout, "took a")
    program.file.write_text(FILE.format(name="b"))
    said(child.stdout, "took b")
    program.file.write_text(FILE.format(name="c").replace("every", "evry"))
    child.send_signal(signal.SIGHUP)
    said(child.stderr, "canary.yaml:3: entries[0].evry: unknown key; did you mean every?")
    said(child.stdout, "took b")
    fresh = program.file.with_suffix(".new")
    fresh.write_text(FILE.format(name="c"))
    fresh.replace(program.file)  # as an editor does it
    said(child.stdout, "took c")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == 0
