"""Which runs a word on the command line means, and what it does not mean."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from runs import AT, run

from probes.canary import Mark, Turn
from probes.change.compare import compare
from probes.change.sides import Only, before_mark, side, sides
from probes.errors import UsageError
from probes.memory import Memory
from probes.model import Began, Called, Finished, Found
from probes.store import save
from probes.stored import Archive

NOW = AT + timedelta(hours=6)
HOUR = timedelta(hours=1)


@dataclass
class Kept:
    """An archive in memory: a run at each of these hours, and marks."""

    hours: tuple[float, ...] = (-3, -2, -1, 1, 2, 3)
    marked: list[Mark] = field(default_factory=lambda: [Mark(AT, "bot rule off")])
    target: str = "t"

    def __post_init__(self):
        self.runs = {
            made.id: made
            for made in (run([("openai-py", "good stream")], at=AT + h * HOUR) for h in self.hours)
        }

    def load(self, name):
        return self.runs[name]

    def names(self, since, until):
        return [name for name, made in sorted(self.runs.items()) if since <= made.started < until]

    def marks(self):
        return self.marked


def hours(told) -> list[float]:
    return [(made.started - AT) / HOUR for made in told[1]]


WORDS = {
    "a run and a run": (("20261129-110000-aaaa", "20261129-150000-aaaa"), [-3], [1]),
    "a mark alone": (("bot rule off", None), [-3, -2, -1], [1, 2, 3]),
    "part of its text": (("Bot Rule", None), [-3, -2, -1], [1, 2, 3]),
    "so long ago": (("-6h", None), [-3, -2, -1], [1, 2, 3]),
    "from so long ago": (("-8h30m..-6h30m", "-4h30m..-3h30m"), [-2, -1], [2]),
    "a baseline alone": (("good", None), [-3, -2, -1], [1, 2, 3]),
    "a time alone": (("2026-11-29T14:00:00Z", None), [-3, -2, -1], [1, 2, 3]),
    "a time of the zone here": (("2026-11-29T15:00", None), [-3, -2, -1], [1, 2, 3]),
    "a clock's time, the last one": (("15:00", None), [-3, -2, -1], [1, 2, 3]),
    "windows": (("2026-11-29T11:30Z..2026-11-29T13:30Z", "2026-11-29T15:30Z..2026-11-29T18:00Z"), [-2, -1], [2, 3]),
    "a run and a mark": (("20261129-110000-aaaa", "bot rule off"), [-3], [1, 2, 3]),
    "a baseline": (("good", "20261129-150000-aaaa"), [-3, -2, -1], [1]),
    "before one mark, after another": (("bot rule off", "cache on"), [-3, -2, -1], [3]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _an_hour_ahead(monkeypatch):
    """The zone of the machine."""
    monkeypatch.setenv("TZ", "Etc/GMT-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("words", "before", "after"), WORDS.values(), ids=WORDS)
def test_a_word_means_runs(words, before, after):
    """Those before and after it, up to the next mark."""
    marks = [Mark(AT, "bot rule off", baseline="good")]
    if "cache on" in words:
        marks.append(Mark(AT + 2.5 * HOUR, "cache on"))
    old, new = sides(*words, Kept(marked=marks), NOW)
    assert (hours(old), hours(new)) == (before, after)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bot rule on", None), "neither a run, a file, a time"),
        (("20261129-110000-aaaa", None), "with what?"),
        (("20261129-110000-aaaa", "20261129-110000-aaaa"), "both sides"),
        (("2026-11-20T10:00Z", None), "no run is kept from"),
        (("14:00..13:00", "x"), "ends before it begins"),
        (("14:00..later", "x"), "a window is FROM..TO"),
        (("rule", None), "several marks read so"),
    ],
    ids=["no such mark", "a run alone", "the same run", "nothing there", "backwards", "half a window", "two marks"],
)  # fmt: skip
def test_a_word_that_means_none_says_why(words, said):
    """A mistake, before anything is compared."""
    kept = Kept(marked=[Mark(AT, "bot rule off"), Mark(AT + HOUR, "size rule off")])
    with pytest.raises(UsageError, match=said):
        sides(*words, kept, NOW)


def test_a_mark_ends_where_the_next_one_is():
    """What came after another change is not the state before this one."""
    kept = Kept(
        marked=[Mark(AT - 1.5 * HOUR, "cache on"), Mark(AT, "bot rule off"), Mark(AT + 1.5 * HOUR, "size")]
    )
    old, new = sides("bot rule off", None, kept, NOW)
    assert (hours(old), hours(new)) == ([-1], [1])


def test_a_run_that_a_change_befell_is_of_neither_side():
    """It began before the mark and ended after it."""
    kept = Kept(marked=[Mark(AT - HOUR + timedelta(seconds=30), "bot rule off")])
    old, new = sides("bot rule off", None, kept, NOW)
    assert (hours(old), hours(new)) == ([-3, -2], [1, 2, 3])


def test_marks_of_other_targets_do_not_count():
    """A mark that hits one target divides the runs of that alone."""
    kept = Kept(marked=[Mark(AT, "bot rule off"), Mark(AT - 1.5 * HOUR, "elsewhere", target="other")])
    assert hours(side("bot rule off", kept, NOW, Only("t"))) == [-3, -2, -1]


# --- baselines -------------------------------------------------------------------------------------------


def pinned(kept: Kept, **more) -> Mark:
    """A baseline at `AT`, named when `kept` held what it holds."""
    mark = Mark(AT, "release 41", baseline="v41", **more)
    return replace(mark, runs=tuple(one.id for one in before_mark(mark, kept)[0]))


def test_a_later_mark_does_not_cut_a_baseline():
    """It is of the runs that it was given to, also where an import tells of a change in between."""
    kept = Kept(marked=[])
    kept.marked = [Mark(AT - 1.5 * HOUR, "imported"), pinned(kept), Mark(AT + 1.5 * HOUR, "later")]
    assert hours(side("v41", kept, NOW)) == [-3, -2, -1]
    old, new = sides("v41", None, kept, AT + 5 * HOUR)
    assert (hours(old), new[0].until) == ([-3, -2, -1], AT + 1.5 * HOUR)
    assert hours(sides("v41", "20261129-150000-aaaa", kept, NOW)[0]) == [-3, -2, -1]


def test_a_baseline_alone_is_held_against_what_came_since():
    """As a mark is."""
    kept = Kept(marked=[])
    kept.marked = [pinned(kept)]
    old, new = sides("v41", None, kept, NOW)
    assert (old[0].label, new[0].label) == ("baseline v41", "after baseline v41")
    assert (hours(old), hours(new)) == ([-3, -2, -1], [1, 2, 3])


def test_a_baseline_is_of_the_runs_between_two_marks():
    """What was there before the mark before it is another state; a mark of one target bounds that target's alone."""
    kept = Kept(
        marked=[Mark(AT - 1.5 * HOUR, "other", target="u"), Mark(AT - 2.5 * HOUR, "mine", target="t")]
    )
    assert [(one.started - AT) / HOUR for one in before_mark(Mark(AT, "x"), kept)[0]] == [-2, -1]
    assert before_mark(Mark(AT, "x", target="u"), kept)[0] == []


def test_a_baseline_that_had_no_runs_means_those_that_came_late():
    """A canary that was writing, or a file that was copied here."""
    kept = Kept(hours=(1, 2), marked=[])
    kept.marked = [pinned(kept)]
    assert kept.marked[0].runs == ()
    with pytest.raises(
        UsageError, match="baseline v41: no run is kept from 2026-11-28 14:00 to 2026-11-29 14:00 UTC"
    ):
        side("v41", kept, NOW)
    assert hours(side("v41", Kept(marked=kept.marked), NOW)) == [-3, -2, -1]


def test_a_baseline_outlives_some_of_its_runs():
    """Those that are forgotten are missed by nobody; without any it is told."""
    kept = Kept(marked=[])
    kept.marked = [pinned(kept)]

    def load(name, first="20261129-110000-aaaa"):
        if name == first or forgotten:
            raise UsageError("no such run")
        return kept.runs[name]

    kept.load, forgotten = load, False
    assert hours(side("v41", kept, NOW)) == [-2, -1]
    forgotten = True
    with pytest.raises(UsageError, match="baseline v41: none of its 3 runs is kept"):
        side("v41", kept, NOW)


def test_a_bound_that_is_a_mark_is_named():
    """By its text, with seconds where the minutes are the same."""
    kept = Kept(hours=(-2, 2), marked=[Mark(AT - timedelta(seconds=14), "oops"), Mark(AT, "bot rule off")])
    said = (
        r'before "bot rule off" \(2026-11-29 14:00:00 UTC\): no run is kept from 2026-11-29 13:59 to 14:00 UTC; '
        r'it is bounded by the mark "oops" \(2026-11-29 13:59:46 UTC\)'
    )
    with pytest.raises(UsageError, match=said):
        side("bot rule off", kept, NOW)


# --- vantages --------------------------------------------------------------------------------------------


def test_the_runs_of_one_vantage():
    """By its name, or none for those that name none; a run of another is refused."""
    kept = Kept()
    first, second = sorted(kept.runs)[:2]
    kept.runs[first] = replace(kept.runs[first], vantage="office")
    assert hours(side("bot rule off", kept, NOW, Only(vantage="office"))) == [-3]
    assert hours(side("bot rule off", kept, NOW, Only(vantage="none"))) == [-2, -1]
    with pytest.raises(UsageError, match="is from vantage none, not office"):
        side(second, kept, NOW, Only(vantage="office"))
    with pytest.raises(UsageError, match="of target t from vantage hotspot is kept from"):
        side("bot rule off", kept, NOW, Only("t", "hotspot"))


DIFFERENT = {
    "vantage": (
        {"vantage": "hotspot"},
        "different vantage can't be compared, a difference may be the network's",
    ),
    "time scale": ({"time_scale": 0.1}, "different time scale"),
}


@pytest.mark.parametrize(("changed", "said"), DIFFERENT.values(), ids=DIFFERENT)
def test_runs_of_two_places_are_refused(changed, said):
    """What differs there need not be the service; the difference is named with the runs."""
    old, new = sides("bot rule off", None, Kept(), NOW)
    with pytest.raises(UsageError, match=said):
        compare(old, (new[0], [replace(new[1][0], **changed), *new[1][1:]]))


def test_another_target_is_refused():
    """By its name."""
    old, new = sides("bot rule off", None, Kept(), NOW)
    other = replace(new[1][0], target=replace(new[1][0].target, name="other"))
    with pytest.raises(UsageError, match="different target"):
        compare(old, (new[0], [other]))


def test_another_address_of_the_target_is_said():
    """It may be the change itself: no failure, and not green either."""
    old, new = sides("20261129-110000-aaaa", "20261129-150000-aaaa", Kept(), NOW)
    target = new[1][0].target
    moved = replace(target, routes={"edge": replace(target.routes["edge"], base_url="http://new.example/v1")})
    compared = compare(old, (new[0], [replace(new[1][0], target=moved)]))
    assert [(row.what, row.after) for row in compared.rows if row.what == "route"] == [
        ("route", "http://new.example/v1")
    ]
    assert compared.verdict != "pass"


def test_runs_are_found_in_files_and_in_the_database(reports):
    """Each once; one that is damaged costs the others nothing."""
    in_file, in_both, in_database = (
        run([("openai-py", "good stream")], at=AT + h * HOUR) for h in (-2, -1, 1)
    )
    save(in_file)
    save(in_both)
    (reports / "20261129-123000-bbbb.json").write_text("{")
    with Memory.open() as memory:
        for made in (in_both, in_database):
            tell = memory.recording()
            tell(Began(replace(made, calls=(), findings=())))
            for call in made.calls:
                tell(Called(call))
            for finding in made.findings:
                tell(Found(finding))
            tell(Finished(made))
        began = list(memory.runs(AT - 99999 * HOUR, datetime.now(UTC) + HOUR).values())
        memory.mark(Mark(AT, "bot rule off"))
    with Archive() as archive:
        names = archive.names(AT - 9 * HOUR, datetime.now(UTC) + HOUR)
        assert {in_file.id, in_both.id, in_database.id} <= set(names)
        assert len(names) == len(set(names)) == 4
        assert [mark.text for mark in archive.marks()] == ["bot rule off"]
        assert archive.load(in_database.id).id == in_database.id
        assert hours(side("bot rule off", archive, NOW)) == [-2, -1]
    assert len(began) == 2


def test_a_mark_of_a_canary_in_lab_time(reports):
    """Its runs lie beside it as the canary's clock had them, which is ahead of that of the runs themselves."""
    clock = {"now": datetime.now(UTC) + 5 * HOUR}
    with Memory.open(now=lambda: clock["now"]) as memory:
        for n in range(4):
            made = run([("openai-py", "good stream")], at=AT + n * timedelta(minutes=1))
            made = replace(made, time_scale=0.1, finished=made.started + timedelta(seconds=2))
            tell = memory.recording("door")
            tell(Began(replace(made, calls=(), findings=())))
            clock["now"] += timedelta(seconds=20)
            tell(Finished(made))
            if n == 1:
                memory.mark(Mark(clock["now"] + timedelta(microseconds=1), "rule on"))
            clock["now"] += timedelta(minutes=10)
        memory.turn(Turn("door", "t", clock["now"], clock["now"], clock["now"], "r"))
    with Archive() as archive:
        now = archive.now(datetime.now(UTC))
        assert now > clock["now"]
        (before, old), (after, new) = sides("rule on", None, archive, now)
    assert [len(old), len(new)] == [2, 2]
    assert before.time_scale == after.time_scale == 0.1
    assert max(one.started for one in old) < min(one.started for one in new)
