"""Is every class of timer that an edge can have recovered, to the second and by its name, whoever made the edge?

Each planted timer takes the same time of the machine, whatever its seconds, so that one per cent of it is always as much
of the machine's time, and several are measured at once: what they do is wait. A machine that is busy with something else
is late now and then, so the best of three counts: what measures wrongly does so each time.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import pytest

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.kinds.length.clock import LIBRARIES
from probes.lab.behaviour import Behaviour, Pause
from probes.lab.faults import Answer, Do, Fault, Timer, When
from probes.model import Factor, Layer, Reason, Run, Verdict
from probes.timers import timers

pytestmark = pytest.mark.timeout(300)
KEY = "EDGEPROBE_LAB_KEY"
MACHINE = 2.5
"""Seconds of the machine that a planted timer takes: one per cent of them are 25 ms."""
TOKENS = 60
AT_ONCE = 6
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
    def unheard_of(self) -> bool:
        """A page that speaks of no time, after one that is none of its maker's own: three pairs make it a clock."""
        known = {timer.seconds for timer in timers() if timer.product == PRODUCTS[self.profile]}
        return (
            self.profile in {"apache", "varnish"} and self.kind == "first_byte" and self.seconds not in known
        )

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


def run(planted: Planted, faults=None, *, hold=None, lasts=None, tpot=None) -> Run:
    """Of a lab with the planted fault or others; an answer `lasts` as many seconds."""
    lasts = lasts or 1.4 * planted.seconds
    speed = {"prefill": 0.02 * lasts, "tpot": tpot or 0.98 * lasts / TOKENS}
    planting = (planted.fault,) if faults is None else faults
    with lab.serve(planting, clock=planted.clock, profile=planted.profile, **speed) as served:
        target = target_from_flags(
            served.base_url, "openai", served.model, key_env=KEY, env_proxy=False, owned=True
        )
        overrides = {"hold": str(hold or 1.2 * planted.seconds), "tokens": str(TOKENS)}
        overrides |= {"pairs": "3"} if planted.unheard_of else {}
        order = Order(("long",), target, overrides=overrides, seed=7, clock=planted.clock)
        return conduct(order, Secrets({**os.environ, KEY: served.api_key}))


TIMES = {
    "first_byte": (125, 60, 50, 77, 300, 15), "idle": (100, 300, 30, 75, 15, 47), "total": (90, 45, 20, 29, 33, 180),
    "upload": (30, 60, 10, 20, 41, 15),
}  # fmt: skip
"""Seconds by class, in the order of the products: some of them listed, some not."""
ALL = [
    Planted(kind, float(seconds), profile)
    for kind, times in TIMES.items()
    for profile, seconds in zip(PRODUCTS, times, strict=True)
]
SAYS_SO = {"haproxy", "apache", "envoy"}
"""Whose answer to a request that takes too long is 408; the others' looks like that of a silent upstream."""


HELD = [(hold, above) for hold in (20.0, 66.0, 137.0) for above in (False, True)]
"""Seconds, and whether there is a timer above them."""


def held(hold: float, above: bool) -> Run:
    planted = Planted("first_byte", 1.5 * hold, "cloudflare")
    return run(planted, (planted.fault,) if above else (), hold=hold, lasts=1.15 * hold)


@cache
def first_runs() -> dict[Planted | tuple[float, bool], Run]:
    """Of them all, the SDK having been loaded before."""
    run(Planted("first_byte", 5.0, "nginx"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {planted: pool.submit(run, planted) for planted in ALL}
        jobs |= {row: pool.submit(held, *row) for row in HELD}
        return {job: made.result() for job, made in jobs.items()}


@cache
def measured(planted: Planted) -> Run:
    made = first_runs()[planted]
    for _ in range(2):
        if near(planted, made):
            break
        made = run(planted)
    return made


def near(planted: Planted, made: Run) -> bool:
    """Within one per cent or 20 ms of the machine's time, with an error claimed that is below a tenth of it in all; pairs
    that a busy machine ended apart are no one clock's.
    """
    timed = [f for f in made.findings if f.code.startswith("timeout")]
    found = [f.figures["cutoff"] for f in timed if "cutoff" in f.figures]
    allowed = max(0.01 * planted.seconds, 0.02 / planted.clock.scale)
    return (
        len(found) == 1
        and abs(found[0].value - planted.seconds) <= allowed
        and found[0].high - found[0].low < 0.1 * planted.seconds
    )


def told(made: Run) -> str:
    return "\n".join(f"{f.code} {f.title} {f.figures} {f.detail}" for f in made.findings)


def code(planted: Planted) -> str:
    silent = planted.kind == "upload" and planted.profile not in SAYS_SO
    return "timeout.first_byte" if silent else f"timeout.{planted.kind}"


@pytest.mark.parametrize("planted", ALL, ids=lambda p: f"{p.kind}-{p.profile}-{p.seconds:g}")
def test_a_planted_timer_is_recovered(planted):
    """Its seconds, its class, and which side of the twin met it."""
    made = measured(planted)
    [found] = made.findings
    assert (found.code, found.verdict) == (code(planted), Verdict.FAIL), told(made)
    assert near(planted, made), told(made)
    assert (found.factor is Factor.STREAM) == (planted.kind == "first_byte")
    cutoff = found.figures["cutoff"]
    assert cutoff.low < cutoff.value < cutoff.high


@pytest.mark.parametrize("planted", ALL, ids=lambda p: f"{p.kind}-{p.profile}-{p.seconds:g}")
def test_whose_a_planted_timer_is(planted):
    """An answer names its maker; a bare close does not, whatever the way there was made of."""
    [found] = measured(planted).findings
    if planted.kind == "first_byte":
        assert (found.layer, found.product) == (Layer.EDGE, PRODUCTS[planted.profile])
    elif planted.kind in {"idle", "total"} or planted.profile in {"nginx", "varnish"}:
        assert (found.layer, found.product) == (Layer.UNKNOWN, None)
    elif planted.profile != "envoy":  # a 408 of few words that it is not known by
        assert (found.layer, found.product) == (Layer.EDGE, PRODUCTS[planted.profile])


@pytest.mark.parametrize("planted", ALL, ids=lambda p: f"{p.kind}-{p.profile}-{p.seconds:g}")
def test_the_timers_that_match_a_planted_one(planted):
    """That of the product that was seen alone, else all but libraries' that are listed at that time and of that class."""
    [found] = measured(planted).findings
    rows = dict(found.detail)
    words = rows.get("matches") or rows["no match"]
    kind = found.code.removeprefix("timeout.")
    listed = [t for t in timers() if t.kind == kind and abs(t.seconds - planted.seconds) <= 0.2]
    if "matches" in rows:
        listed = [t for t in listed if t.product == PRODUCTS[planted.profile]]
    listed = [t for t in listed if t.product not in LIBRARIES]
    assert all(f"{t.product} {t.timer} ({t.seconds:g} s)" in words for t in listed), words
    if not any(abs(t.seconds - planted.seconds) <= 0.1 * planted.seconds for t in timers()):
        assert words.startswith("unknown timer")


@pytest.mark.parametrize(
    "hold, above", HELD, ids=lambda v: {False: "nothing", True: "a timer above"}.get(v, str(v))
)
def test_no_cut_below(hold, above):
    """What was not met is not said not to be: the time that was held, and no second more."""
    made = first_runs()[hold, above]
    [found] = made.findings
    seconds = found.figures["held"].value
    assert (found.code, found.verdict) == ("ok", Verdict.PASS), told(made)
    assert hold <= seconds < 1.5 * hold
    assert found.title == f"No cut below {seconds:.1f} s; not tested beyond"


def test_a_model_that_stops_short_of_the_timer():
    """An answer that ends by itself before the hold hides the timer behind it: inconclusive, never a pass."""
    planted = Planted("first_byte", 60.0, "nginx")
    stops = Fault("stops", "", Do(model=Behaviour(stops_after=20)))
    made = run(planted, (planted.fault, stops), hold=66.0)
    [found] = made.findings
    assert (found.code, found.verdict, found.reason) == (
        "not_measured",
        Verdict.INCONCLUSIVE,
        Reason.STOPPED_EARLY,
    )
    assert found.figures["held"].value < planted.seconds
    assert "the model ended by itself after 20 of" in dict(found.detail)["because"]


def test_a_model_that_counts_nothing_hides_no_timer():
    """The cut is measured by the clock, not by tokens."""
    planted = Planted("first_byte", 60.0, "nginx")
    made = run(planted, (planted.fault, Fault("model", "", Do(model=Behaviour(usage=False)))))
    [found] = made.findings
    assert (found.code, found.product, found.factor) == ("timeout.first_byte", "nginx", Factor.STREAM)
    assert found.figures["cutoff"].value == pytest.approx(60, abs=3)


def test_a_model_that_minds_no_cap():
    """More was billed than was reserved, so nothing more is sent, and nothing is said of a cut."""
    planted = Planted("first_byte", 60.0, "nginx")
    made = run(planted, (planted.fault, Fault("model", "", Do(model=Behaviour(caps=False)))), tpot=0.01)
    assert {(f.code, f.verdict) for f in made.findings} == {
        ("not_measured", Verdict.INCONCLUSIVE),
        ("usage.over_cap", Verdict.WARN),
    }
    assert sum(call.not_sent is None for call in made.calls) == 1
