"""How long does the memory take to tell the history of a case, and to write a call?

`uv run python tests/bench/memory.py [ROUNDS]` prints JSON: milliseconds of a history of 100 outcomes, of who passed and of
what was spent, and calls written in a second, each with 1,000 and with 100,000 exchanges in the database. `ratio` is
that of the two histories: 1 is one that does not grow.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "memory")]
# Kept as it is where the same statements stand in a migration's tables.
COPIED = ("runs", "calls", "exchanges", "findings", "outcomes")
SIZES = (1_000, 100_000)
CALLS = 50

from memories import CASE, NOW, call, events, record, run  # noqa: E402

from probes.memory import Memory  # noqa: E402
from probes.model import Called  # noqa: E402


def best(rounds: int, work) -> float:
    """Seconds of the fastest round: the rest is other people's work."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def grow(path: Path, exchanges: int) -> None:
    """As many copies of the one run as hold so many exchanges, a minute apart."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN")
        [[each]] = raw.execute("SELECT count(*) FROM exchanges")
        raw.execute("CREATE TEMP TABLE ago AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n "
                    f"WHERE k < {exchanges // each - 1}) SELECT k FROM n")  # fmt: skip
        for table in COPIED:
            names = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
            new = {"run": "run || k", "at": "at - k * 60000000"}
            if table == "runs":
                new["id"] = "id || k"
            values = ", ".join(new.get(name, name) for name in names)
            raw.execute(f"INSERT INTO {table} SELECT {values} FROM {table}, ago ORDER BY k DESC")
        raw.execute("COMMIT")


def figures(exchanges: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EDGEPROBE_REPORTS"] = folder
        with Memory.open(now=lambda: NOW) as memory:
            calls = tuple(call(client, n) for n in range(5) for client in ("openai-py", "curl"))
            record(memory, run(calls=calls))
            path = Path(folder) / "edgeprobe.db"
            grow(path, exchanges)
            memory.history(CASE.id)

            def write() -> None:
                began, *_ = events(run(suffix=f"w{time.perf_counter_ns()}"))
                sink = memory.recording()
                sink(began)
                for n in range(CALLS):
                    sink(Called(call("curl", n)))

            before = NOW + timedelta(days=1)
            found = {
                "history_ms": best(rounds, lambda: memory.history(CASE.id)) * 1000,
                "passed_ms": best(
                    rounds, lambda: memory.passed("prod", "here", ["openai-py", "curl"], before)
                )
                * 1000,
                "spent_ms": best(rounds, lambda: memory.spent("prod", NOW - timedelta(days=1))) * 1000,
                "calls_a_second": CALLS / best(rounds, write),
                "mib": path.stat().st_size / 2**20,
            }
            assert memory.errors == 0
            assert len(memory.history(CASE.id)) == 100
            assert memory.stats().exchanges >= exchanges
            assert replace(memory.load(run().id), calls=calls) == run(calls=calls)
            return {name: round(value, 2) for name, value in found.items()}


def main(rounds: int) -> dict[str, object]:
    small, large = (figures(size, rounds) for size in SIZES)
    return {
        "bench": "memory",
        "ratio": round(large["history_ms"] / small["history_ms"], 2),
        "n": rounds,
        "with": {f"{size} exchanges": found for size, found in zip(SIZES, (small, large), strict=True)},
        "conditions": {
            "history": "the last 100 outcomes of one case that every run holds",
            "written": f"runs of {CALLS} small calls, a transaction each, SQLite {sqlite3.sqlite_version} in WAL",
            "python": platform.python_version(),
            "statistic": "fastest round, warm",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))
