"""How long does the command take to start, against an interpreter that does nothing?

`uv run python tests/bench/startup.py [RUNS]` prints JSON; the aim is a ratio of at most 3, of wall and of CPU time.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median


def timed(command: list[str]) -> tuple[float, float]:
    """(wall, CPU) seconds of a process."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system


def main(runs: int) -> dict[str, object]:
    edgeprobe = [str(Path(sys.executable).with_name("edgeprobe")), "--version"]
    nothing = [sys.executable, "-c", "pass"]
    timed(edgeprobe), timed(nothing)
    pairs = [(timed(nothing), timed(edgeprobe)) for _ in range(runs)]
    wall = [median(pair[side][0] for pair in pairs) for side in (0, 1)]
    # The kernel counts a process's CPU in ticks of up to 10 ms: only a sum says something.
    cpu = [sum(pair[side][1] for pair in pairs) / runs for side in (0, 1)]
    return {
        "bench": "startup",
        "ratio": round(wall[1] / wall[0], 2),
        "ratio_cpu": round(cpu[1] / cpu[0], 2) if cpu[0] else None,
        "aim": 3.0,
        "n": runs,
        "wall_ms": {"python": round(wall[0] * 1000, 1), "edgeprobe": round(wall[1] * 1000, 1)},
        "cpu_ms": {"python": round(cpu[0] * 1000, 1), "edgeprobe": round(cpu[1] * 1000, 1)},
        "conditions": {
            "command": "edgeprobe --version",
            "python": platform.python_version(),
            "order": "interleaved",
            "statistic": "median of wall, mean of CPU",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)))
