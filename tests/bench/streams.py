"""How far off is the clock of a stream, how much of it is our own lag, and what do many streams cost?

`uv run python tests/bench/streams.py [ROUNDS]` prints JSON: for each shape of stream and number of them side by side, how
much later than the lab's origin handed a chunk to its socket it was stamped here (ms; `tainted` readings, made while this
process itself ran late, are counted and left out; a stamp before the lab's own is the lab's lag), beside the error of a TTFT that stops at the first chunk with
`choices`; CPU per chunk; and the memory of a process with many streams open. `ratio` is the worst p99 against its aim:
1 ms for one stream, 5 ms for several with 500 chunks a second in all. With one round it is small, for its shape.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import platform
import resource
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import httpx

from probes import lab
from probes.clock import Clock
from probes.lab.behaviour import Behaviour
from probes.lab.faults import Do, Fault
from probes.samples import stalled
from probes.wire.recorder import attach, recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

PREFILL = 0.2
RATE = 500
"""Chunks a second, of all streams together."""
BEYOND = 4 * RATE
SHAPES = {
    "role first": Behaviour(),
    "no role": Behaviour(role=False),
    "comments first": Behaviour(role=False, comments=0.04),
    "reasoning first": Behaviour(thinks=5),
    "four a chunk": Behaviour(per_chunk=4),
}
AIMS = {1: 1.0}
AIM = 5.0
LAB_LATE = 0.001
"""The lab stamps a chunk once it is sent: what was stamped here so long before says how late the lab's stamp is."""
OPEN = 1000
MIB = 1024 * 1024


def serve(pipe: Connection, behaviour: Behaviour, tpot: float) -> None:
    """In a process of its own, whose lag is not ours; when asked, what was handed to each socket and when."""
    raise_limits()
    fault = Fault("bench", "as the shape says", Do(model=behaviour))
    with lab.serve((fault,), clock=Clock(), keys=None, prefill=PREFILL, tpot=tpot) as served:
        pipe.send(served.origin_url)
        pipe.recv()
        pipe.send({f"sha256:{arrival.digest}": arrival.sent for arrival in served.origin.requests})


@contextmanager
def served(behaviour: Behaviour, tpot: float) -> Iterator[tuple[str, Connection]]:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, behaviour, tpot), daemon=True
    )
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        process.terminate()
        process.join()


def raise_limits() -> None:
    """A stream takes two file descriptors: its socket, and a duplicate to end it by."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def client() -> httpx.Client:
    made = httpx.Client(timeout=None, limits=httpx.Limits(max_connections=None), trust_env=False)
    attach(made)
    return made


def asked(number: int, tokens: int) -> bytes:
    said = {"role": "user", "content": f"[{number}] count"}
    return json.dumps({"model": lab.MODEL, "messages": [said], "stream": True, "max_tokens": tokens}).encode()


class Taken:
    """A stream as the recorder took it, its marks in the seconds of `time.monotonic`."""

    def __init__(self, http: httpx.Client, url: str, body: bytes) -> None:
        with (
            recording(time.monotonic, streamed=True) as record,
            http.stream("POST", f"{url}/chat/completions", content=body) as response,
        ):
            for _ in response.iter_raw():
                pass
        (tape,) = record.tapes
        self._start = tape._start
        self._tape: Any = tape.result()
        self.digest = self._tape["request"]["body_digest"]
        columns = zip(self._tape["event_times"], self._tape["event_kinds"], strict=True)
        self.events = [(at, kind) for at, kind in columns if kind not in "cb"]

    @property
    def conditions(self) -> Any:
        return self._tape["conditions"]

    def errors(self, sent: list[float]) -> list[tuple[float, bool]]:
        """Of each chunk with tokens, seconds, and whether it is tainted."""
        stamped = [at for at, kind in self.events if kind in "vrk"]
        assert len(stamped) == len(sent), (len(stamped), len(sent))
        return [
            (self._start + at - true, bool(stalled(self, at))) for at, true in zip(stamped, sent, strict=True)
        ]

    def by_choices(self, sent: list[float]) -> float:
        """The error of a TTFT that stops at the first chunk that has `choices`."""
        return self._start + self.events[0][0] - sent[0]


def streams(shape: str, side_by_side: int, rate: float, tokens: int) -> dict[str, Any]:
    behaviour = SHAPES[shape]
    tpot = side_by_side / rate / behaviour.per_chunk
    with served(behaviour, tpot) as (url, pipe):
        taken, cpu = together(url, side_by_side, tokens * behaviour.per_chunk, apart=1 / rate)
        pipe.send(None)
        sent = pipe.recv()
    errors = [error for one in taken for error in one.errors(sent[one.digest])]
    clean = sorted(max(error, 0.0) for error, tainted in errors if not tainted)
    starts = [one.errors(sent[one.digest])[0] for one in taken]
    first = [max(error, 0.0) for error, tainted in starts if not tainted]
    return {
        "streams": side_by_side,
        "chunks_per_s": round(rate if side_by_side > 1 else 1 / tpot / behaviour.per_chunk),
        "chunks": len(errors),
        "tainted": len(errors) - len(clean),
        "error_ms": figures(clean),
        "error_with_tainted_ms": figures(sorted(max(error, 0.0) for error, _ in errors)),
        "lab_late": sum(error < -LAB_LATE for error, _ in errors),
        "ttft_error_ms": ms(median(first)) if first else None,
        "ttft_error_by_first_choices_ms": ms(median(one.by_choices(sent[one.digest]) for one in taken)),
        "cpu_us_per_chunk": round(cpu / len(errors) * 1e6),
    }


def together(url: str, number: int, tokens: int, apart: float) -> tuple[list[Taken], float]:
    """The streams and the seconds of CPU they took; begun one after another, so that their chunks are, too."""
    taken: list[Taken] = []
    http = client()

    def take(one: int) -> None:
        time.sleep(one * apart)
        taken.append(Taken(http, url, asked(one, tokens)))

    began = time.process_time()
    threads = [threading.Thread(target=take, args=(one,)) for one in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    used = time.process_time() - began
    http.close()
    return taken, used


def figures(values: list[float]) -> dict[str, float | int | None]:
    """No p99 of fewer than a hundred."""
    n = len(values)
    p99 = ms(values[math.ceil(0.99 * n) - 1]) if n >= 100 else None
    return {
        "n": n,
        "p50": ms(median(values)) if n else None,
        "p99": p99,
        "max": ms(values[-1]) if n else None,
    }


def ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def held_open(number: int) -> dict[str, Any]:
    """The memory of this process with so many streams open, each of them recorded."""
    raise_limits()
    seconds = 10.0 + number / 100
    with served(Behaviour(), seconds) as (url, _):
        before = resident()
        http = client()
        begun = threading.Semaphore(0)

        def hold(one: int) -> None:
            with recording(time.monotonic, streamed=True) as record:
                with http.stream("POST", f"{url}/chat/completions", content=asked(one, 2)) as response:
                    for _ in response.iter_raw():
                        begun.release()
                        stop.wait()
                        break
                record.stop("interrupted")

        stop = threading.Event()
        threads = [threading.Thread(target=hold, args=(one,)) for one in range(number)]
        for thread in threads:
            thread.start()
            time.sleep(0.002)
        for _ in threads:
            begun.acquire()
        after = resident()
        stop.set()
        for thread in threads:
            thread.join()
        http.close()
    return {
        "streams": number,
        "rss_mib": round(after / MIB),
        "kib_per_stream": round((after - before) / 1024 / number),
    }


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main(rounds: int) -> dict[str, object]:
    small = rounds == 1
    levels = ((1, 20), (8, 5)) if small else ((1, 150), (64, 12), (256, 6))
    result: dict[str, Any] = {shape: [] for shape in SHAPES}
    for shape in SHAPES:
        for side_by_side, tokens in levels:
            # One stream is one customer's: 50 chunks a second.
            rate = RATE if side_by_side > 1 else RATE / 10
            result[shape].append(streams(shape, side_by_side, rate, tokens))
    beyond = None if small else streams("role first", 256, BEYOND, 12)
    worst = [
        (row["error_ms"]["p99"] or row["error_ms"]["max"] or 0.0) / AIMS.get(row["streams"], AIM)
        for rows in result.values()
        for row in rows
    ]
    return {
        "bench": "streams",
        "ratio": round(max(worst), 3),
        "n": rounds,
        "clock": result,
        "beyond_our_speed": beyond,
        "open": held_open(20 if small else OPEN),
        "conditions": {
            "client": "httpx with the recorder, one thread a stream",
            "server": "the lab's origin, another process of the same machine",
            "cpus": multiprocessing.cpu_count(),
            "python": platform.python_version(),
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)))
