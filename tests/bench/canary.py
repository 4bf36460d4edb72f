"""How late do the turns of 100 entries in one process begin, and what do they cost?

`uv run python tests/bench/canary.py [ROUNDS]` prints JSON. Each entry asks a lab, in a process of its own, for a completion
every 10 s, with everything that `edgeprobe watch` does: the schedule, lanes, a run of its own, the database, alerts and
metrics. A turn's lag is from its due time to its beginning; `ratio` is its p99 to the aim, 1 s. The other aim is a tenth
of a core where each entry is asked every minute: `core_each_minute` is the CPU of 100 turns in 60 s.
"""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import tempfile
import threading
import time
from contextlib import chdir, redirect_stdout
from functools import partial
from pathlib import Path

from canary_beside_blackbox import memory_of, served

from probes.watch import command
from probes.watch.loop import Watch
from probes.watch.wall import Wall
from probes.watch.watched import load

ENTRIES, EVERY = 100, 10
AIM_LAG_S = 1.0
_SETTLE = 1.0
_SUITE = "version: 1\nname: plain\ncases:\n  - {kind: completion, clients: [httpx]}\n"
_TARGET = """\
version: 1
name: lab
api: openai
model: MODEL
key_env: LAB_KEY
limits: {concurrency: 16}
routes:
  edge: {base_url: URL}
"""
_CANARY = "version: 1\nlisten: null\nmust_fail: null\nentries:\n"


def written(url: str, model: str) -> None:
    for folder in ("configs/targets", "suites"):
        Path(folder).mkdir(parents=True)
    Path("suites/plain.yaml").write_text(_SUITE)
    Path("configs/targets/lab.yaml").write_text(_TARGET.replace("URL", url).replace("MODEL", model))
    rows = (
        f"  - {{name: e{number}, suite: plain, target: lab, every: {EVERY}s}}\n" for number in range(ENTRIES)
    )
    Path("configs/canary.yaml").write_text(_CANARY + "".join(rows))


def watched_for(seconds: float) -> dict[str, float]:
    """A day so long, and what it took."""
    read, wall = partial(load, None), Wall()
    with command._parts(read(), wall) as parts:
        watch = Watch(read(), parts, wall, read)
        threading.Timer(seconds, watch.signalled, ["SIGTERM"]).start()
        cpu, began = time.process_time(), time.monotonic()
        assert watch.run() == 0
        cpu, took = time.process_time() - cpu, time.monotonic() - began
        turns = [turn for number in range(ENTRIES) for turn in parts.memory.turns(f"e{number}", 10_000)]
        assert parts.memory.errors == 0
    taken = [turn for turn in turns if turn.began is not None and turn.missed is None]
    assert {turn.verdict for turn in taken} == {"pass"}
    lags = sorted((turn.began - turn.due).total_seconds() for turn in taken if turn.began is not None)
    return {
        "turns": len(taken),
        "missed": len(turns) - len(taken),
        "lag_p50_ms": round(lags[len(lags) // 2] * 1000, 1),
        "lag_p99_ms": round(lags[int(len(lags) * 0.99)] * 1000, 1),
        "cpu_ms_a_turn": round(cpu / len(taken) * 1000, 1),
        "core": round(cpu / took, 3),
        "core_each_minute": round(cpu / len(taken) * ENTRIES / 60, 3),
    }


def main(rounds: int) -> dict[str, object]:
    with (
        tempfile.TemporaryDirectory() as name,
        chdir(name),
        served(prefill=0.2, tpot=0.02) as (url, model, key),
    ):
        os.environ |= {"LAB_KEY": key, "EDGEPROBE_REPORTS": name}
        written(url, model)
        before = memory_of("self")
        with redirect_stdout(io.StringIO()):
            found = watched_for(rounds * EVERY + _SETTLE)
        size = sum(file.stat().st_size for file in Path(name).glob("edgeprobe.db*"))
    return {
        "bench": "canary",
        "ratio": round(found["lag_p99_ms"] / 1000 / AIM_LAG_S, 3),
        "n": rounds,
        **found,
        "mib": {"before": before, "after": memory_of("self")},
        "kib_stored_a_turn": round(size / 1024 / found["turns"], 1),
        "conditions": {
            "entries": f"{ENTRIES}, each every {EVERY} s: one completion by httpx over a fresh connection",
            "lab": "healthy, in a process of its own, 0.2 s to the first token, over loopback, without TLS",
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)))
