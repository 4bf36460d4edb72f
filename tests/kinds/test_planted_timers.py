"""Is every class of timer that an edge can have recovered, to the second and by its name, whoever made the edge?

Each planted timer takes the same time of the machine, whatever its seconds, so that one per cent of it is always as much
of the machine's time, and several are measured at once: what they do is wait.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.lab.behaviour import Behaviour, Pause
from probes.lab.faults import Answer, Do, Fault, Timer, When

KEY = "EDGEPROBE_LAB_KEY"
MACHINE = 2.5
"""Seconds of the machine that a planted timer takes: one per cent of them are 25 ms."""
TOKENS = 60
AT_ONCE = 4
PRODUCTS = {
    "cloudflare": "Cloudflare", "nginx": "nginx", "haproxy": "HAProxy", "apache": "Apache", "varnish": "Varnish",
    "envoy": "Envoy",
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    kind: str
    seconds: float
    profile: str

    @property
    def clock(self) -> Clock:
        return Clock(MACHINE / self.seconds)

    @property
    def fault(self) -> Fault:
        timer = Timer(self.seconds, Answer(own="late"))
        if self.kind == "first_byte":
            return Fault("planted", "", Do(first_byte_timer=timer))
        if self.kind == "total":
            return Fault("planted", "", Do(total_timer=Timer(self.seconds)))
        if self.kind == "upload":
            slow = Timer(self.seconds, Answer(own="upload"))
            return Fault("planted", "", Do(uplink=50 / self.seconds, upload_timer=slow))
        gap = Behaviour(pause=Pause(after=5, seconds=2 * self.seconds))
        return Fault("planted", "", Do(idle_timer=Timer(self.seconds), model=gap), When(stream=True))


def run(planted: Planted):
    lasts = 1.4 * planted.seconds
    with lab.serve(
        (planted.fault,), clock=planted.clock, profile=planted.profile, prefill=0.02 * lasts, tpot=lasts / TOKENS
    ) as served:  # fmt: skip
        target = target_from_flags(
            served.base_url, "openai", served.model, key_env=KEY, env_proxy=False, owned=True
        )
        overrides = {"hold": str(1.2 * planted.seconds), "tokens": str(TOKENS)}
        order = Order(("long",), target, overrides=overrides, seed=7, clock=planted.clock)
        return conduct(order, Secrets({**os.environ, KEY: served.api_key}))


SECONDS = {
    "cloudflare": (125.0, 100.0, 90.0), "nginx": (60.0, 300.0, 45.0), "haproxy": (50.0, 30.0, 20.0),
    "apache": (60.0, 75.0, 29.0), "varnish": (60.0, 15.0, 33.0), "envoy": (15.0, 300.0, 180.0),
}  # fmt: skip
KINDS = ("first_byte", "idle", "total", "upload")
ALL = [
    Planted(kind, seconds, profile)
    for profile, times in SECONDS.items()
    for kind, seconds in (
        ("first_byte", times[0]),
        ("idle", times[1]),
        ("total", times[2]),
        ("upload", times[0]),
    )
]


@cache
def measured():
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(ALL, pool.map(run, ALL), strict=True))


if __name__ == "__main__":
    import time

    t = time.time()
    for planted, made in measured().items():
        for f in made.findings:
            c = f.figures.get("cutoff")
            print(
                planted.kind, planted.profile, planted.seconds, "|", f.code, f.verdict, f.layer, f.product, f.factor,
                c and f"{c.value:.2f} {100 * (c.value / planted.seconds - 1):+.2f}%", c and (c.low, c.high), f.title,
            )  # fmt: skip
    print(time.time() - t)
