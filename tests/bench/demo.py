"""How much longer does the demo take than its longest chain of requests that wait for each other?

`uv run python tests/bench/demo.py [RUNS]` prints JSON; the aim is a ratio of at most 1.3. The chain is the longest
time that one case was waiting on the wire, by the run's own calls; the start of the interpreter, and the imports that
come before the first request, are told apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import groupby
from statistics import median

from probes.demo import SCALE

# A process of its own: what is imported once must be counted each time.
_CHILD = """
import json, time
began = time.perf_counter()
from probes.demo import demo
from probes.clients import openai_sdk, raw_httpx
imported = time.perf_counter()
run = demo()
ended = time.perf_counter()
from probes.model import Run
calls = [
    [call.case, call.trial.label, call.repeat, call.trial.pair,
     sum((exchange.timeline.end or 0.0) for exchange in call.exchanges)]
    for call in run.calls
]
print(json.dumps([imported - began, ended - imported, calls, run.verdict]))
"""


def chain(calls: list[list[object]]) -> float:
    """Real-world seconds of the case that waited longest; what was sent side by side counts once."""
    cases = []
    for _, of_case in groupby(calls, key=lambda call: call[0]):
        steps: dict[object, float] = {}
        for _, label, repeat, pair, seconds in of_case:
            step = (pair or label, repeat)
            steps[step] = max(steps.get(step, 0.0), float(seconds))
        cases.append(sum(steps.values()))
    return max(cases)


def once() -> dict[str, float]:
    began = time.perf_counter()
    child = subprocess.run([sys.executable, "-c", _CHILD], check=True, capture_output=True, text=True)
    whole = time.perf_counter() - began
    imports, run, calls, _ = json.loads(child.stdout)
    return {
        "whole": whole,
        "start_and_imports": whole - run,
        "imports": imports,
        "run": run,
        "chain": chain(calls) * SCALE,
    }


def main(runs: int) -> dict[str, object]:
    seen = [once() for _ in range(runs)]
    seconds = {name: round(median(one[name] for one in seen), 3) for name in seen[0]}
    return {
        "bench": "demo",
        "ratio": round(median(one["run"] / one["chain"] for one in seen), 3),
        "ratio_whole": round(median(one["whole"] / one["chain"] for one in seen), 3),
        "aim": 1.3,
        "n": runs,
        "seconds": seconds,
        "conditions": {"time_scale": SCALE, "statistic": "median", "ratio": "run to chain, imports done"},
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
