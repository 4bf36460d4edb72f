"""A run made by hand: Cloudflare refused openai-py three times and asked curl to wait; the API itself said 403 once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from exchanges import exchange

from probes.model import (
    Ask,
    Attribution,
    Call,
    Finding,
    Layer,
    Route,
    Run,
    Spend,
    Target,
    Trial,
    Verdict,
)

NOW = datetime(2026, 11, 30, 14, 5, tzinfo=UTC)
TARGET = Target("prod", "openai", "m", {"edge": Route("edge", "https://api.example.com/v1")})
BLOCKED = Attribution(Layer.EDGE, "blocked.client", "Cloudflare", "1010")
LIMITED = Attribution(Layer.EDGE, "ratelimited", "Cloudflare", "1015")
OWN = Attribution(Layer.ORIGIN, "auth.rejected")
CASE = "identity/identity"
RAYS = [f"{n}f3a2b3c4d5e6f70" for n in range(5)]
"""Of the three refusals, of the limit, and of the API's own answer."""


def call(n, made, client):
    trial = Trial(f"identity/{client}/{n}", client, "edge", Ask("chat"))
    answer = exchange(403, b"no", {"cf-ray": f"{RAYS[n]}-FRA"})
    return Call(f"c{n}", CASE, trial, 0, (replace(answer, id=f"e{n}", attribution=made),))


def finding(made, client, evidence, verdict=Verdict.FAIL, **more):
    of = {"layer": made.layer, "product": made.product, "vendor_code": made.vendor_code, "client": client}
    return Finding(made.code, verdict, CASE, "identity", **of, evidence=evidence, **more)


def run(findings=None):
    told = (("seen", "403 in 12 ms"), ("look up", f"ray {RAYS[1]}, colo FRA"))
    whole = (
        finding(BLOCKED, "openai-py", ("e0", "e1", "e2"), title="openai-py is refused", detail=told),
        finding(LIMITED, "curl", ("e3",), Verdict.INCONCLUSIVE, title="curl is to wait"),
        finding(OWN, "httpx", ("e4",), title="The key is refused"),
        finding(BLOCKED, "curl", ("e0",), Verdict.PASS, title="curl passes"),
    )
    return Run(
        id="20261130-140500-aaaa",
        suites=("identity",),
        target=TARGET,
        vantage=None,
        started=NOW,
        finished=NOW + timedelta(seconds=4),
        versions={"edgeprobe": "0.1.0"},
        seed=1,
        time_scale=1.0,
        verdict=Verdict.FAIL,
        spend=Spend(5, 0, 0),
        cases=(),
        calls=(
            *(call(n, BLOCKED, "openai-py") for n in range(3)),
            call(3, LIMITED, "curl"),
            call(4, OWN, "httpx"),
        ),
        findings=whole if findings is None else tuple(whole[n] for n in findings),
    )
