"""Does a day's budget bear what the schedule asks, and is it said where it does not?"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from entries import entry, hours, moment

from probes import starter
from probes.model import Budget
from probes.watch.config import Daily
from probes.watch.scheduled import overdrawn
from probes.watch.times import Timetable, times_a_day
from probes.watch.watched import load

SUITE = "version: 1\nname: one\ncases:\n  - {kind: completion, clients: [curl]}\n"
ONE = {"suite": "one", "every": "1h"}
REQUESTS, TOKENS = 9, 288
"""That a run of it may ask at the most, as `plan` says."""


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """The starter set, and beside it a suite that asks little."""
    monkeypatch.chdir(tmp_path)
    starter.write(tmp_path)
    Path("suites/one.yaml").write_text(SUITE)
    return load()


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_what_init_writes_bears_a_day_of_failures(canary, api):
    """With room to ask again what failed."""
    path = Path("configs/targets/prod.yaml")
    path.write_text(path.read_text().replace("api: openai", f"api: {api}"))
    assert list(overdrawn(load())) == []
    (daily,) = canary.canary.budgets.values()
    # Measured: a run of smoke that everybody fails asks up to 60 requests, of up to 2,700 tokens where each may have
    # been generated; a turn has three of them at the most.
    assert daily.requests_per_day >= 288 * 3 * 60
    assert daily.tokens_per_day >= 288 * 2 * 2700


DAY = 24
BORNE = {
    # entries, the day's budget → per ceiling: (turns borne, turns, the most)
    "all of it": ([ONE], Daily(DAY * REQUESTS, DAY * TOKENS), []),
    "a request too few": ([ONE], Daily(DAY * REQUESTS - 1), [("requests", 23, 24, DAY * REQUESTS)]),
    "tokens": ([ONE], Daily(None, 1000), [("tokens", 3, 24, DAY * TOKENS)]),
    "both": ([ONE], Daily(18, 2880), [("requests", 2, 24, DAY * REQUESTS), ("tokens", 10, 24, DAY * TOKENS)]),
    "none at all": ([ONE], Daily(), []),
    "of two entries": ([ONE, ONE | {"every": "2h"}], Daily(18 * REQUESTS), [("requests", 18, 36, 36 * REQUESTS)]),
    "of another target": ([ONE | {"target": "other"}], Daily(1, 1), []),
    "half of what is sampled": ([ONE | {"tier": "expensive", "sample": 0.5}], Daily(12 * REQUESTS), []),
    "at a time": ([{"suite": "one", "at": "03:10 15:10"}], Daily(2 * REQUESTS - 1), [("requests", 1, 2, 2 * REQUESTS)]),
}  # fmt: skip


@pytest.mark.parametrize(("entries", "daily", "told"), BORNE.values(), ids=BORNE)
def test_a_ceiling_that_the_schedule_may_exceed_is_noted(canary, entries, daily, told):
    """By the most that its runs may ask, at the line of the budget."""
    named = tuple(entry(f"e{n}", **said) for n, said in enumerate(entries))
    watched = replace(canary, canary=replace(canary.canary, entries=named, budgets={"prod": daily}))
    notes, line = list(overdrawn(watched)), canary.lines["budgets", "prod", "requests_per_day"]
    assert len(notes) == len(told)
    for note, (what, borne, turns, most) in zip(notes, told, strict=True):
        assert note.startswith(f"configs/canary.yaml:{line}: budgets.prod.{what}_per_day: ")
        assert f"used up after about {borne} of the day's {turns} turns" in note
        assert f"the most that the schedule asks is {most:,} {what} (" in note


def test_a_run_asks_no_more_than_its_own_budget(canary):
    """Whatever its cases could."""
    target = replace(canary.targets["prod"], budget=Budget(3, 100))
    few = replace(canary.canary, entries=(entry(**ONE),), budgets={"prod": Daily(24 * 3, 24 * 100)})
    assert list(overdrawn(replace(canary, canary=few, targets={"prod": target}))) == []


def test_validate_notes_it_and_refuses_nothing(edgeprobe, canary):
    """With every figure that it is reckoned from."""
    path = Path("configs/canary.yaml")
    path.write_text(re.sub(r"requests_per_day: \d+", "requests_per_day: 5000", path.read_text()))
    said = edgeprobe("validate")
    assert (said.code, said.err) == (0, "")
    assert re.search(
        r"^note     configs/canary\.yaml:\d+: budgets\.prod\.requests_per_day: 5,000 may be used up after about \d+ of the "
        r"day's 288 turns, and then nothing is seen until 00:00 UTC; the most that the schedule asks is [\d,]+ requests "
        r"\(288 x \d+ of smoke-prod\), and more where it asks again what failed$",
        said.out,
        re.MULTILINE,
    )


TIMES = {
    "every": ({"every": "5m"}, 288),
    "not a part of a day": ({"every": "7h"}, 4),
    "seldom": ({"every": "3d"}, 1),
    "every second": ({"every": "1s"}, 86400),
    "at": ({"at": "03:10 15:10"}, 2),
    "cron": ({"cron": "*/20 * * * *"}, 72),
    "on workdays": ({"cron": "0 * * * mon-fri"}, 24),
    "once a month": ({"cron": "0 3 31 * *"}, 1),
    "in its hours": ({"every": "30m", "active": hours("mon-fri", "08:00", "18:00")}, 20),
    "often in its hours": ({"every": "30s", "active": hours("mon-fri", "08:00", "18:00")}, 1200),
}


@pytest.mark.parametrize(("said", "times"), TIMES.values(), ids=TIMES)
def test_times_of_a_day(said, times):
    """On its fullest; counted for seconds as fast as for hours. A grid may lie so that one more or less is in the hours."""
    counted = times_a_day(entry(**said))
    slack = 0 if "active" not in said else max(1, times // 50)
    assert times - slack <= counted <= times + slack


def test_a_grid_is_counted_as_it_comes():
    """But for one, by which its jitter may change a day."""
    one, begin = entry(every="17m"), moment("2026-01-06 00:00")
    came = list(Timetable(one).between(begin, begin + timedelta(days=1)))
    assert abs(len(came) - times_a_day(one)) <= 1
