"""Runs, alerts and turns made by hand, as a canary would see them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from exchanges import exchange

from probes.canary import About, Alert, AlertKey, AlertState, Notice, Pause, Told, Turn
from probes.model import (
    Ask,
    Attribution,
    Began,
    Call,
    Called,
    Case,
    Client,
    Finding,
    Finished,
    Found,
    Layer,
    Observed,
    Route,
    Run,
    Spend,
    Target,
    Timeline,
    Trial,
    Verdict,
    call_id,
)

NOW = datetime(2026, 11, 29, 17, 43, 12, tzinfo=UTC)
TARGET = Target(
    "prod", "openai", "m", {"edge": Route("edge", "https://api.example.com/v1")}, endpoints=("chat",)
)
CLIENTS = (Client("openai-py", "openai_sdk", "openai"), Client("curl", "curl"))
CASE = Case("smoke/completion", "smoke", "completion", TARGET, CLIENTS, "edge", {}, 1)
GOOD = Attribution(Layer.ORIGIN, "ok")
BLOCKED = Attribution(Layer.EDGE, "blocked.client", "Cloudflare", "1010")
USAGE = {"prompt_tokens": 10, "completion_tokens": 5}


def call(client: str, n: int = 0, made: Attribution = GOOD, total: float = 0.5, **more) -> Call:
    trial = Trial(f"completion/{client}", client, "edge", Ask("chat"))
    name = call_id(CASE, trial.label, n)
    status = 200 if made is GOOD else 403
    line = Timeline(upload_end=0.1, headers=0.2, first_byte=0.2, last_byte=total, end=total)
    answer = replace(
        exchange(status, b"{}", url="https://api.example.com/v1/chat/completions"),
        id=f"{name}/0", timeline=line, attribution=made, facts={"usage": USAGE} if made is GOOD else {},
    )  # fmt: skip
    return Call(name, CASE.id, trial, n, **{"exchanges": (answer,), **more})


def finding(client: str, made: Attribution = GOOD, **more) -> Finding:
    verdict = Verdict.PASS if made is GOOD else Verdict.FAIL
    fields = {"layer": made.layer, "product": made.product, "vendor_code": made.vendor_code, "client": client}
    return Finding(made.code, verdict, CASE.id, CASE.kind, **fields, route="edge", **more)


def run(
    at: datetime = NOW, made: Attribution = GOOD, suffix: str = "aaaa", target: Target = TARGET, **more
) -> Run:
    """openai-py meets `made`, curl is fine."""
    calls = (call("openai-py", made=made), call("curl"))
    findings = (finding("openai-py", made), finding("curl"))
    fields = {
        "id": f"{at:%Y%m%d-%H%M%S}-{suffix}",
        "suites": ("smoke",),
        "target": target,
        "vantage": "here",
        "started": at,
        "finished": at + timedelta(seconds=2),
        "versions": {"edgeprobe": "0.1.0"},
        "seed": 1,
        "time_scale": 1.0,
        "verdict": Verdict.PASS if made is GOOD else Verdict.FAIL,
        "spend": Spend(2, 20, 10, 0.5),
        "cases": (replace(CASE, target=target),),
        "calls": calls,
        "findings": findings,
    }
    return Run(**{**fields, **more})


def events(made: Run):
    """Those of a run, in the order in which they come."""
    ahead = replace(
        made, calls=(), findings=(), verdict=Verdict.INCONCLUSIVE, spend=Spend(), finished=made.started
    )
    yield Began(ahead)
    yield from map(Called, made.calls)
    yield from map(Found, made.findings)
    yield Finished(made)


def record(memory, made: Run, entry: str = "smoke-prod") -> Run:
    sink = memory.recording(entry)
    for event in events(made):
        sink(event)
    return made


def alert(name: str = "a1", state: AlertState = AlertState.OPEN, **more) -> Alert:
    key = AlertKey("prod", About.SERVICE, Layer.EDGE, "Cloudflare", "blocked.client")
    resolved = NOW if state is AlertState.RESOLVED else None
    fields = {
        "clients": ("openai-py",),
        "observed": Observed(6, 6),
        "memory": {"bad": "2"},
        "resolved": resolved,
    }
    return Alert(name, key, state, NOW, NOW, NOW, **{**fields, **more})


def notice(name: str = "n1", **more) -> Notice:
    return Notice(name, alert(), Told.OPENED, "ops", NOW, **more)


def pause(target: str = "prod", hours: float = 1) -> Pause:
    return Pause(target, NOW, NOW + timedelta(hours=hours), "a 429 asked for it")


def turn(due: datetime = NOW, entry: str = "smoke-prod", **more) -> Turn:
    return Turn(entry, "prod", due, **more)
