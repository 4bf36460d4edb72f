"""Who carries out what is due: never two turns of one entry, and no long one in the way of a short one."""

from __future__ import annotations

from canaries import Turns
from entries import entry, moment

from probes.stop import Stop
from probes.watch.lanes import Lanes

DUE = moment("2026-06-01 00:00")


def lanes(turns, **more):
    return Lanes(turns.take, Stop(), lambda *told: turns.missing.append(told), **more)


def test_an_entry_is_never_taken_twice_at_once():
    """While its turn lasts it is refused, afterwards not."""
    turns = Turns(holds=("a",))
    these = lanes(turns)
    assert these.offer(entry("a", every="5m"), DUE, long=False) is None
    turns.until(lambda t: t.taken == ["a"])
    assert these.offer(entry("a", every="5m"), DUE, long=False) == DUE
    turns.held.set()
    assert these.idle(20)
    assert these.offer(entry("a", every="5m"), DUE, long=False) is None
    assert these.idle(20)
    assert turns.taken == ["a", "a"]
    these.close()


def test_one_that_waits_is_refused_too():
    """A full lane makes no queue of one entry's turns."""
    turns = Turns(holds=("a",))
    these = lanes(turns, short=1)
    for name in ("a", "b"):
        assert these.offer(entry(name, every="5m"), DUE, long=False) is None
    assert these.offer(entry("b", every="5m"), DUE, long=False) == DUE
    turns.held.set()
    assert these.idle(20)
    assert turns.taken == ["a", "b"]
    these.close()


def test_long_entries_delay_no_short_one():
    """However many are held, and whoever came first."""
    names = [f"long{n}" for n in range(30)]
    turns = Turns(holds=tuple(names))
    these = lanes(turns, short=1)
    for name in names:
        assert these.offer(entry(name, every="5m"), DUE, long=True) is None
    turns.until(lambda t: len(t.taken) == 30)
    for name in ("a", "b"):
        assert these.offer(entry(name, every="5m"), DUE, long=False) is None
    turns.until(lambda t: t.taken[30:] == ["a", "b"])
    assert set(these.busy) - {"a", "b"} == set(names)
    turns.held.set()
    assert these.idle(20)
    these.close()


def test_short_lanes_are_bounded():
    """A hundred entries of a service that hangs are no hundred threads."""
    turns = Turns(holds=tuple(f"e{n}" for n in range(100)))
    these = lanes(turns, short=4)
    for n in range(100):
        assert these.offer(entry(f"e{n}", every="5m"), DUE, long=False) is None
    turns.until(lambda t: len(t.taken) == 4)
    assert these._workers == 4
    turns.held.set()
    assert these.idle(20)
    assert (len(turns.taken), turns.most_at_once) == (100, 4)
    these.close()


def test_what_waits_can_be_given_up():
    """It never begins; what is under way goes on."""
    turns = Turns(holds=("a",))
    these = lanes(turns, short=1)
    for name in ("a", "b", "c"):
        these.offer(entry(name, every="5m"), DUE, long=False)
    turns.until(lambda t: t.taken == ["a"])
    assert [one.name for one, _ in these.give_up_waiting()] == ["b", "c"]
    assert not these.idle(0.01)
    turns.held.set()
    assert these.idle(20)
    these.close()
    assert turns.taken == ["a"]


def test_a_bug_in_a_turn_ends_no_lane():
    """It is handed on, and the next one runs."""
    turns = Turns(raises=RuntimeError("a bug"))
    these = lanes(turns, short=1)
    for name in ("a", "b"):
        these.offer(entry(name, every="5m"), DUE, long=False)
    assert these.idle(20)
    assert [(one.name, str(bug)) for one, _, bug in turns.missing] == [("a", "a bug"), ("b", "a bug")]
    these.close()
