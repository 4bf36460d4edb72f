"""How long does each command take before it can do anything, against an interpreter that does nothing?

`uv run python tests/bench/imports.py [RUNS]` prints JSON: for each command that sends nothing, its wall and CPU time and
the modules that it loads; `ratio` is that of the wall times of `explain`, which does the least that needs a YAML file.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

PLAN = ("plan", "smoke", "--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--model", "m", "--no-key")
COMMANDS = {
    "--version": ("--version",),
    "--help": ("--help",),
    "explain": ("explain", "ok"),
    "validate": ("validate",),
    "lab --list": ("lab", "--list"),
    "plan": PLAN,
    "clients": ("clients",),
}
_COUNT = (
    "import sys; from probes.cli import main; main(sys.argv[1:]); sys.stderr.write(f'\\n{len(sys.modules)}')"
)


def timed(command: list[str], folder: str) -> tuple[float, float]:
    """(wall, CPU) seconds of a process."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    wall, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system


def modules(words: tuple[str, ...], folder: str) -> int:
    child = [sys.executable, "-c", _COUNT, *words]
    ran = subprocess.run(child, check=True, capture_output=True, text=True, cwd=folder)
    return int(ran.stderr.split()[-1])


def main(runs: int) -> dict[str, object]:
    edgeprobe = str(Path(sys.executable).with_name("edgeprobe"))
    nothing = [sys.executable, "-c", "pass"]
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMMANDS.items():
            loaded = modules(words, folder)
            pairs = [(timed(nothing, folder), timed([edgeprobe, *words], folder)) for _ in range(runs)]
            wall = [median(pair[side][0] for pair in pairs) for side in (0, 1)]
            figures[name] = {
                "ratio": round(wall[1] / wall[0], 2),
                "wall_ms": round(wall[1] * 1000, 1),
                "cpu_ms": round(sum(pair[1][1] for pair in pairs) / runs * 1000, 1),
                "modules": loaded,
            }
    return {
        "bench": "imports",
        "ratio": figures["explain"]["ratio"],
        "n": runs,
        "commands": figures,
        "python_ms": round(wall[0] * 1000, 1),
        "conditions": {
            "python": platform.python_version(),
            "files": "compiled before",
            "order": "interleaved with an interpreter that does nothing",
            "statistic": "median of wall, mean of CPU",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)))
