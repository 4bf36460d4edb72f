"""How much longer does a suite take than its longest chain of exchanges that wait for each other?

`uv run python tests/bench/smoke.py [RUNS [SUITE]]` prints JSON; the aim is a ratio of at most 1.3. The lab answers as a
healthy service does, in real time. The chain, by the run's own record: of each step of a case, whose trials go out side
by side, the exchange that took longest; of the short cases, which go one after the other, all; of long ones, which go
beside them, the longest. The start of the interpreter and the imports before the first request are told apart.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from statistics import median

from probes.kinds import KINDS

TPOT = 0.05
"""Seconds a token, as a service that is not busy has them."""
# A process of its own: what is imported once must be counted each time.
_CHILD = """
import json, os, sys, time
began = time.perf_counter()
from probes import lab
from probes.clients import curl, openai_sdk, raw_httpx
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.live import Live
imported = time.perf_counter()

steps, send = {}, Live.__call__
def noted(live, planned):
    calls = send(live, planned)
    longest = max((sum(e.timeline.end or 0.0 for e in call.exchanges) for call in calls), default=0.0)
    steps.setdefault(live.case.kind, []).append(longest)
    return calls
Live.__call__ = noted

with lab.serve((), clock=Clock(), tpot=float(sys.argv[2])) as served:
    target = target_from_flags(served.base_url, "openai", served.model, key_env="KEY", env_proxy=False)
    secrets = Secrets({**os.environ, "KEY": served.api_key})
    ready, cpu = time.perf_counter(), time.process_time()
    run = conduct(Order((sys.argv[1],), target, seed=1), secrets)
    ended, used = time.perf_counter(), time.process_time() - cpu
print(json.dumps([imported - began, ended - ready, used, steps, len(run.calls), run.verdict]))
"""


def once(suite: str) -> dict[str, float]:
    began = time.perf_counter()
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, suite, str(TPOT)], check=True, capture_output=True, text=True
    )
    whole = time.perf_counter() - began
    imports, run, cpu, steps, calls, verdict = json.loads(child.stdout)
    assert verdict == "pass", verdict
    chains = {kind: sum(longest) for kind, longest in steps.items()}
    short = sum(seconds for kind, seconds in chains.items() if not KINDS[kind].long)
    return {
        "whole": whole,
        "imports": imports,
        "run": run,
        "cpu": cpu,
        "chain": max(short, *chains.values()),
        "calls": calls,
        **{f"chain_{kind}": seconds for kind, seconds in chains.items()},
    }


def main(runs: int, suite: str = "smoke") -> dict[str, object]:
    seen = [once(suite) for _ in range(runs)]
    return {
        "bench": "smoke",
        "ratio": round(median(one["run"] / one["chain"] for one in seen), 3),
        "ratio_whole": round(median(one["whole"] / one["chain"] for one in seen), 3),
        "aim": 1.3,
        "n": runs,
        "seconds": {name: round(median(one[name] for one in seen), 3) for name in seen[0] if name != "calls"},
        "calls": seen[0]["calls"],
        "conditions": {
            "suite": suite,
            "lab": "healthy, in the same process",
            "tpot": TPOT,
            "time_scale": 1.0,
            "python": platform.python_version(),
            "statistic": "median",
            "ratio": "run to chain, imports done",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, *sys.argv[2:3])))
