"""Stretches of time made by hand: a week in which openai-py was refused for a while, and others."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from probes.canary import About, Alert, AlertKey, AlertState, Mark
from probes.model import Layer, Spend, Verdict
from probes.span import Cell, Cutoff, Figures, Hour, Point, Ran, Share, Span, Strip, Trouble, Watched

SINCE = datetime(2026, 11, 23, 12, tzinfo=UTC)
STEP = timedelta(hours=2)
UNTIL = SINCE + 84 * STEP
DAY = timedelta(days=1)


def cells(failed: range = range(0), limited: range = range(0), nothing: range = range(0)) -> tuple[Cell, ...]:
    bad = {
        **dict.fromkeys(failed, Cell(20, 5)),
        **dict.fromkeys(limited, Cell(20, 0, 20)),
        **dict.fromkeys(nothing, Cell()),
    }
    return tuple(bad.get(n, Cell(20, 20)) for n in range(84))


def point(n: int, scale: float) -> Point:
    middle = scale * (1 + math.sin(n / 84 * 14 * math.pi) ** 2)
    if n % 20 == 7:
        return Point()
    return Point(120 if n % 3 else 12, middle, middle * 1.4, middle * 2 if n % 3 else None)


BLOCKED = Trouble(
    UNTIL - STEP, "20261130-100000-abcd", "smoke/completion", ("openai-py",), "edge", "blocked.client", Verdict.FAIL,
    Layer.EDGE, "Cloudflare", "1010", "openai-py is refused at the edge",
)  # fmt: skip
UNSURE = replace(
    BLOCKED, verdict=Verdict.INCONCLUSIVE, code="ratelimited", title="Held back", clients=("curl",)
)
CUTOFFS = tuple(
    Cutoff(SINCE + n * DAY, "long/length", "edge", at, at - 0.4, at + 0.4, 3, plain=True, run=f"r{n}")
    for n, at in enumerate([125.1] * 5 + [100.2] * 2)
)
HOURS = tuple(
    Hour(
        n,
        Point(200, 0.5, 0.9, 1.2),
        Point(200 if n != 3 else 4, 0.02 + n / 100),
        9000 // (n + 2) if n != 3 else None,
    )
    for n in range(24)
)
FIGURES = Figures(
    "edge", ttft=tuple(point(n, 0.4) for n in range(84)), tpot=tuple(point(n, 0.02) for n in range(84)),
    hours=HOURS, shares=tuple(Share(4, 240, 400) for _ in range(84)), answers=4800,
)  # fmt: skip
GOOD = Watched(
    target="prod", vantage="fra",
    strips=(Strip("anthropic-py", "edge", cells()), Strip("curl", "edge", cells(limited=range(30, 32))), Strip("openai-py", "edge", cells(nothing=range(18, 21)))),
    figures=(FIGURES,), cutoffs=CUTOFFS,
    spends=tuple((SINCE.replace(hour=0) + n * DAY, Spend(700, 70_000, 35_000, 0.14)) for n in range(8)),
    spent=Spend(5600, 560_000, 280_000, 1.12), cases=2, asked=UNTIL - timedelta(minutes=10), usually=timedelta(minutes=30),
    ran=(*(Ran(f"r{n}", SINCE + n * STEP, "long" if n % 12 == 0 else "smoke") for n in range(84)), Ran("20261130-095000-x7k2", UNTIL - timedelta(minutes=10))),
)  # fmt: skip
BAD = replace(
    GOOD, strips=(*GOOD.strips[:2], Strip("openai-py", "edge", cells(failed=range(80, 84), nothing=range(18, 21)))), troubles=(BLOCKED,)
)  # fmt: skip
NOTHING = Watched("prod", None, (), (Figures(None, (Point(),) * 84, (Point(),) * 84),), (), (), Spend())
ORIGIN = replace(
    FIGURES, route="origin", ttft=tuple(point(n, 0.2) for n in range(84)), hours=(), shares=(), answers=90
)
TWO = replace(
    BAD, figures=(FIGURES, ORIGIN), strips=(*BAD.strips, Strip("openai-py", "origin", cells()))
)  # fmt: skip
"""Over its edge and past it."""
ALERT = Alert(
    "a1", AlertKey("prod", About.SERVICE, Layer.EDGE, "Cloudflare", "blocked.client"), AlertState.OPEN,
    UNTIL - 4 * STEP, UNTIL - 4 * STEP, UNTIL, title="openai-py is refused at the edge", vendor_code="1010",
    text="seen: 403 in 12 ms\nbecause: the user agent alone\ndo: operator: let it pass",
)  # fmt: skip
BLIND = replace(ALERT, key=replace(ALERT.key, about=About.BLIND, code="not_measured"), title="unknown")
MARKS = (Mark(SINCE + DAY, "bot rule on", author="ops@example.com"), Mark(SINCE + 4 * DAY, "timer", "Cloudflare audit log", "terraform", "Cloudflare", "proxy_read_timeout"))  # fmt: skip


def span(
    *watched: Watched,
    alerts: tuple[Alert, ...] = (),
    ended: tuple[Alert, ...] = (),
    marks: tuple[Mark, ...] = (),
) -> Span:
    return Span(SINCE, UNTIL, STEP, watched, alerts, ended, marks)


OVER = replace(ALERT, id="a0", state=AlertState.RESOLVED, since=SINCE + DAY, resolved=SINCE + 1.25 * DAY)
WEEK = span(BAD, alerts=(ALERT,), ended=(OVER,), marks=MARKS)


def hostile(harm: str) -> Span:
    """With `harm` in every field that holds text."""
    trouble = replace(
        BLOCKED,
        run=harm,
        case=harm,
        clients=(harm,),
        route=harm,
        code=harm,
        product=harm,
        vendor_code=harm,
        title=harm,
    )
    one = replace(
        BAD, target=harm, vantage=harm, strips=tuple(Strip(f"{n}{harm}", harm, each.cells) for n, each in enumerate(BAD.strips)),
        figures=(replace(FIGURES, route=harm), replace(FIGURES, route=f"2{harm}")),
        cutoffs=tuple(replace(each, case=harm, route=harm) for each in CUTOFFS), troubles=(trouble,),
        ran=(Ran(harm, SINCE, harm), Ran(harm, UNTIL)),
    )  # fmt: skip
    key = AlertKey(harm, About.SERVICE, Layer.EDGE, harm, harm)
    alert = replace(ALERT, key=key, title=harm, text=harm, vendor_code=harm)
    return span(
        one,
        alerts=(alert,),
        ended=(replace(alert, resolved=UNTIL),),
        marks=(Mark(SINCE + DAY, harm, harm, harm, harm, harm),),
    )
