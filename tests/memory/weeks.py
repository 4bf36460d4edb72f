"""A week of a canary, made by hand and told to a memory as a canary tells it.

Three clients ask every `every`. On the fourth day a rule is switched on at 14:05 that refuses openai-py for six hours;
our own key is held back for a while; one night nothing runs. Each night the cutoff is measured: 125 s, then 100 s.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from exchanges import exchange
from memories import BLOCKED, GOOD, TARGET, alert, record, run, turn

from probes.canary import Mark
from probes.memory import Memory
from probes.model import (
    Ask,
    Attribution,
    Call,
    Case,
    Client,
    Figure,
    Finding,
    Layer,
    Observed,
    Spend,
    Timeline,
    Trial,
    Verdict,
    call_id,
)

UNTIL = datetime(2026, 11, 30, 12, tzinfo=UTC)
SINCE = UNTIL - timedelta(days=7)
CHANGED = datetime(2026, 11, 26, 14, 5, tzinfo=UTC)
SHORTENED = datetime(2026, 11, 28, 16, 40, tzinfo=UTC)
NIGHT = (datetime(2026, 11, 24, 23, tzinfo=UTC), datetime(2026, 11, 25, 7, tzinfo=UTC))
HELD_BACK = (datetime(2026, 11, 27, 8, tzinfo=UTC), datetime(2026, 11, 27, 12, tzinfo=UTC))
CLIENTS = tuple(Client(name, "curl") for name in ("anthropic-py", "curl", "openai-py"))
SMOKE = Case("smoke/completion", "smoke", "completion", TARGET, CLIENTS, "edge", {}, 1)
LONG = Case("long/length/hold=130", "long", "length", TARGET, CLIENTS[1:2], "edge", {}, 1)
LIMITED = Attribution(Layer.GATEWAY, "ratelimited")
CUT = Attribution(Layer.EDGE, "timeout.first_byte", "Cloudflare", "524")


class Week:
    """A memory whose clock is set by hand."""

    def __init__(self, url: str | None = None) -> None:
        self.now = SINCE
        self.memory = Memory.open(url, now=lambda: self.now)


def filled(
    url: str | None = None, *, every: timedelta = timedelta(hours=2), blocked_now: bool = False
) -> Memory:
    """`blocked_now`: openai-py is refused at its end, too, and an alert is open."""
    week = Week(url)
    at, n = SINCE, 0
    while at < UNTIL:
        week.now = at + timedelta(seconds=1)
        refused = CHANGED <= at < CHANGED + timedelta(hours=6) or (
            blocked_now and at > UNTIL - timedelta(hours=5)
        )
        if not NIGHT[0] <= at < NIGHT[1]:
            one = _smoke(at, n, refused=refused)
            record(week.memory, one)
            week.memory.turn(
                turn(at, began=at, ended=week.now, run=one.id, verdict=one.verdict, conclusive=True)
            )
        if (at.hour, at.minute) == (0, 0):
            record(
                week.memory, _long(at + timedelta(minutes=7), 100.2 if at > SHORTENED else 125.1), "long-prod"
            )
        at, n = at + every, n + 1
    week.now = UNTIL
    for mark in MARKS:
        week.memory.mark(mark)
    if blocked_now:
        opened = UNTIL - timedelta(hours=4)
        title = "openai-py is refused at the edge"
        week.memory.keep(replace(alert(), since=opened, opened=opened, updated=UNTIL, title=title, text=TEXT))
    return week.memory


TEXT = """seen: 403 "error code: 1010" in 12 ms, 3 of 3; curl passes
because: the user agent alone
do: operator: Let the API path skip the bot rules for this hostname."""
MARKS = (
    Mark(CHANGED, "bot rule on", author="ops@example.com"),
    Mark(CHANGED + timedelta(hours=6), "bot rule off", author="ops@example.com"),
    Mark(SHORTENED, "proxy_read_timeout: 125 -> 100", "Cloudflare audit log", "terraform", "Cloudflare"),
)


def speed(at: datetime) -> float:
    """Seconds a token; slowest at 14:00 UTC."""
    busy = math.exp(-(((at.hour - 14) % 24 if at.hour >= 4 else at.hour + 10) ** 2) / 18)
    return 0.02 + 0.25 * busy * (1 if at.weekday() < 5 else 0.3)


def _smoke(at: datetime, n: int, *, refused: bool):
    limited = HELD_BACK[0] <= at < HELD_BACK[1]
    calls, found = [], []
    for client in CLIENTS:
        made = LIMITED if limited else BLOCKED if refused and client.name == "openai-py" else GOOD
        calls += [_call(client.name, k, made, at, n) for k in range(5)]
        found.append(_found(client.name, made))
    worst = Verdict.FAIL if refused else Verdict.INCONCLUSIVE if limited else Verdict.PASS
    return run(
        at, suffix=f"{n:04x}", cases=(SMOKE,), calls=tuple(calls), findings=tuple(found), verdict=worst,
        spend=Spend(15, 1500, 750, 0.0031),
    )  # fmt: skip


def _found(client: str, made: Attribution) -> Finding:
    verdicts = {"ok": Verdict.PASS, "blocked.client": Verdict.FAIL, "ratelimited": Verdict.INCONCLUSIVE}
    titles = {
        "ok": f"{client} is served",
        "blocked.client": f"{client} is refused at the edge",
        "ratelimited": "Held back on our own key",
    }
    return Finding(
        made.code, verdicts[made.code], SMOKE.id, SMOKE.kind, layer=made.layer, product=made.product,
        vendor_code=made.vendor_code, client=client, route="edge", title=titles[made.code],
    )  # fmt: skip


def _call(client: str, k: int, made: Attribution, at: datetime, n: int) -> Call:
    trial = Trial(f"completion/{client}", client, "edge", Ask("chat", stream=True))
    name = call_id(SMOKE, trial.label, k)
    tpot = speed(at) * (1 + 0.3 * ((n * 7 + k * 3) % 10) / 10)
    first = 0.25 + 4 * tpot * (1 + ((n * 5 + k) % 7) / 7)
    last = first + 49 * tpot
    line = Timeline(
        upload_start=0.0,
        upload_end=0.01,
        headers=0.2,
        first_byte=0.2,
        first_token=first,
        last_token=last,
        last_byte=last,
        end=last,
    )
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 60 if at < SHORTENED else 10},
    }
    short = Timeline(upload_end=0.01, headers=0.02, first_byte=0.02, last_byte=0.02, end=0.02)
    status = {"ok": 200, "blocked.client": 403, "ratelimited": 429}[made.code]
    answer = replace(
        exchange(status, b"{}", url="https://api.example.com/v1/chat/completions"),
        id=f"{name}/0", timeline=line if made is GOOD else short, attribution=made, facts={"usage": usage} if made is GOOD else {},
    )  # fmt: skip
    return Call(name, SMOKE.id, trial, k, (answer,))


def _long(at: datetime, seconds: float):
    """A plain answer that is cut."""
    trial = Trial("plain", "curl", "edge", Ask("chat"))
    name = call_id(LONG, trial.label, 0)
    line = Timeline(
        upload_start=0.0, upload_end=0.0, headers=seconds, first_byte=seconds, last_byte=seconds, end=seconds
    )
    answer = replace(
        exchange(524, b"error code: 524", url="https://api.example.com/v1/chat/completions"),
        id=f"{name}/0", timeline=line, attribution=CUT,
    )  # fmt: skip
    found = Finding(
        CUT.code, Verdict.FAIL, LONG.id, LONG.kind, layer=CUT.layer, product=CUT.product, vendor_code=CUT.vendor_code,
        client="curl", route="edge", title=f"Long answers without streaming are cut after {seconds:.1f} s",
        observed=Observed(1, 1), figures={"cutoff": Figure(seconds, "s", 3, seconds - 0.4, seconds + 0.4)}, evidence=(answer.id,),
    )  # fmt: skip
    return run(
        at, suffix="10ng", suites=("long",), cases=(LONG,), calls=(Call(name, LONG.id, trial, 0, (answer,)),),
        findings=(found,), verdict=Verdict.FAIL, spend=Spend(2, 50, 2000, 0.004),
    )  # fmt: skip
