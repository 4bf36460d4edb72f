"""What are people told of a mark?"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import canned
import numpy as np
import pytest
from runs import AT, run, streamed

from probes.alerts.news import alert_of
from probes.alerts.text import clock, words_of_look
from probes.canary import Mark, Missed, Turn
from probes.change import told
from probes.change.differences import compared as looked_at
from probes.change.fingerprint import fingerprint
from probes.errors import UsageError
from probes.model import Verdict
from probes.watch.compared import compared
from probes.watch.sides import Marks, Sides, news_of

SAMPLES = Path(__file__).parents[2] / "reports" / "samples"
MARK = Mark(AT + timedelta(minutes=65), "bot_management: ai_bots_protection disabled -> block", "Cloudflare audit log", "ops@example.com")  # fmt: skip
LATER = Mark(AT + timedelta(minutes=67), "cache purged")


def stream(seed, n, times=1.0, headers=None):
    values = np.random.default_rng(seed).lognormal(-1, 0.1, n)
    made = [streamed(times * float(one)) for one in values]
    return [replace(one, headers={**one.headers, **(headers or {})}) for one in made]


def of(*turns, marks=(MARK,), left=()):
    """The sides of turns, each (minutes after the first, what was asked): those of the first hour are before."""
    sides = [], []
    for minutes, asked in turns:
        at = AT + timedelta(minutes=minutes)
        one = run(asked, at=at)
        turn = Turn(
            "smoke-prod", "prod", at, at, at + timedelta(minutes=1), one.id, one.verdict, conclusive=True
        )
        sides[minutes > 65].append((turn, one))
    before, after = (tuple(turn for turn, _ in side) for side in sides)
    told = Marks("prod", tuple(marks), AT - timedelta(days=1), AT + timedelta(hours=3))
    return Sides(told, before, after, ("smoke-prod",), tuple(left)), *sides


def broken():
    good = [("openai-py", "good stream"), ("curl", "good stream")] * 2
    bad = [("openai-py", "refused"), ("curl", "good stream")] * 2
    return of((0, good), (30, good), (60, good), (66, bad), (71, bad))


def slower():
    return of(
        (0, [("httpx", one) for one in stream(1, 30)]),
        (60, [("httpx", one) for one in stream(2, 30)]),
        (66, [("httpx", one) for one in stream(3, 30, 1.6, {"x-policy": ["1"]})]),
        (71, [("httpx", one) for one in stream(4, 30, 1.6, {"x-policy": ["1"]})]),
    )


def nothing():
    turns = [(minutes, [("httpx", one) for one in stream(minutes, 20)]) for minutes in (0, 60, 68, 72)]
    return of(*turns, marks=(MARK, LATER), left=(f"long-prod: {Missed.BUDGET}: the day's budget is used up",))


def mended():
    good = [("openai-py", "good stream"), ("curl", "good stream")] * 2
    bad = [("openai-py", "refused"), ("curl", "good stream")] * 2
    return of((0, bad), (60, bad), (66, good), (71, good))


def few():
    good, one = [("httpx", "good stream")] * 2, [("httpx", "good stream"), ("httpx", "bad gateway")]
    return of((0, good), (66, one))


STORIES = {
    "broken": (broken, Verdict.FAIL),
    "slower": (slower, Verdict.FAIL),
    "mended": (mended, Verdict.INCONCLUSIVE),
    "nothing": (nothing, Verdict.PASS),
    "few": (few, Verdict.INCONCLUSIVE),
}


@pytest.mark.parametrize("story", STORIES)
def test_the_texts_are_those_of_the_samples(story):
    """Word by word; EDGEPROBE_UPDATE_SAMPLES=1 writes them anew."""
    make, expected = STORIES[story]
    now = AT + timedelta(minutes=75)
    news, verdict = compared(*make(), lambda at: clock(at, now))
    assert verdict is expected
    held(f"marked-{story}", alert_of(news, now, news.read_on))


def test_a_look_that_changed_is_told_side_by_side():
    """With whose doing it may be, and that it is told once."""
    old = [run([("httpx", "good stream")] * 3, at=AT + timedelta(minutes=n)) for n in (0, 10, 20)]
    new = [
        run([("httpx", one) for one in stream(n, 3, headers={"x-policy": ["1"], "server": ["nginx"]})], at=AT + timedelta(minutes=n))
        for n in (30, 40)
    ]  # fmt: skip
    [found] = told.findings(looked_at(fingerprint(old), fingerprint(new)), "smoke/baseline")
    sides = Sides(Marks("prod", (MARK,), AT, AT), (), (), ("smoke-prod",))
    news = replace(
        news_of(sides, words_of_look(found), found), read_on="edgeprobe report 20261129-144000-aaaa"
    )
    held("look", alert_of(news, AT, news.read_on))


def held(name, alert):
    path, text = SAMPLES / f"alert-{name}.txt", f"{alert.title}\n{alert.text}\n"
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def test_one_sentence_is_told_once():
    """Two clients that meet one thing in one case and another in a second: what each is stands in its line."""
    cases = [
        canned.case("streaming", keyed=True),
        replace(canned.case("completion", keyed=True), id="s/completion"),
    ]

    def asked(name, *got):
        made = [
            run(
                [(client, one) for client in ("curl", "openai-py")] * 4,
                at=AT + timedelta(minutes=name),
                case=case,
            )
            for case, one in zip(cases, got, strict=True)
        ]
        parts = {
            part: sum((getattr(one, part) for one in made), ()) for part in ("cases", "calls", "findings")
        }
        return replace(made[0], **parts)

    def side(minutes, *got):
        at = AT + timedelta(minutes=minutes)
        turn = Turn(
            "smoke-prod", "prod", at, at, at + timedelta(minutes=1), "r", Verdict.PASS, conclusive=True
        )
        return turn, asked(minutes, *got)

    sides, _, _ = of((0, []), (66, []))
    before, after = [side(0, "good stream", "good stream")], [side(66, "refused", "bad gateway")]
    news, _ = compared(sides, before, after, str)
    worse = [said for label, said in news.words.rows if label == "worse"]
    assert len(worse) == len(set(worse)) == 2, worse
    assert [word in " ".join(worse) for word in ("blocked.client", "1010")] == [True, True], worse


def test_a_side_that_is_not_kept_is_no_comparison():
    """Nor does it become a good one."""
    sides, before, _ = broken()
    with pytest.raises(UsageError, match="no run after it is kept"):
        compared(sides, before, [], str)
