"""What does a run against a hostile server cost in memory? `python hostile_run.py` with a job on standard input.

The job is {"api", "warm": URL, "suites": {name: [suite file, URL, deadline]}}; each suite is run with every genuine
client and reported in every format, in this process, and gives a line of JSON.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.reporters import annotations, console, html, json_report, junit, markdown

FORMATS = (annotations, console, html, json_report, junit, markdown)


def resident(what: str) -> float:
    """MiB: `VmRSS` now, `VmHWM` at its highest."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def forget_the_peak() -> None:
    """proc(5): the highest is from now on counted anew."""
    Path("/proc/self/clear_refs").write_text("5")


def told(api: str, url: str, suite: str, deadline: float) -> dict[str, object]:
    base = url if api == "anthropic" else f"{url}/v1"
    target = target_from_flags(base, api, "m", no_key=True, env_proxy=False)
    target = replace(target, limits=replace(target.limits, deadline=deadline))
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what an earlier run freed is no memory of this one
    before = resident("VmRSS")
    forget_the_peak()
    began = time.monotonic()
    run = conduct(Order((suite,), target, seed=1), Secrets({}))
    took = time.monotonic() - began
    shown = {}
    for module in FORMATS:
        out = io.StringIO()
        module.report(run, out)
        shown[module.__name__.rpartition(".")[2]] = out.getvalue()
    return {
        "took": took,
        "before": before,
        "peak": resident("VmHWM"),
        "clients": sorted({call.trial.client for call in run.calls if call.exchanges}),
        "ends": sorted({call.last.error.kind for call in run.calls if call.last and call.last.error}),
        "longest": max((e.timeline.end or 0.0 for call in run.calls for e in call.exchanges), default=0.0),
        "findings": [[finding.code, finding.verdict, finding.layer] for finding in run.findings],
        "shown": shown,
    }


def main() -> None:
    job = json.load(sys.stdin)
    suite, *_ = next(iter(job["suites"].values()))
    told(job["api"], job["warm"], suite, 30.0)  # every client once, with all that it imports
    gc.collect()
    sys.stdout.write(f"{json.dumps({'idle': resident('VmRSS')})}\n")
    for name, (suite, url, deadline) in job["suites"].items():
        said = {"name": name, **told(job["api"], url, suite, deadline)}
        sys.stdout.write(f"{json.dumps(said)}\n")


if __name__ == "__main__":
    main()
