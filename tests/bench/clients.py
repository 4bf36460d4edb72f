"""What does a client cost, in CPU and in memory?

`uv run python tests/bench/clients.py [CALLS]` prints JSON: for each client, in a process of its own, the CPU of its
first call (imports and all) and of one more on a fresh connection, and the memory that it holds. `ratio` is the dearest
client's further call against that of plain httpx.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
import resource
import socket
import sys
import threading
import time
from statistics import median
from typing import TYPE_CHECKING

from probes import clients, config
from probes.clock import Clock
from probes.credentials import Secrets
from probes.model import Ask, Client, Route, Target, Trial

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

BODY = (
    b'{"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}'
)
ANSWER = (
    b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY)
    + BODY
)
LIMITS = clients.SendLimits(30.0, 1 << 20)


def serve(ready: Connection) -> None:
    """In a process of its own, so that its CPU is not counted."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ready.send(listener.getsockname()[1])
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=answer, args=(sock,), daemon=True).start()


def answer(sock: socket.socket) -> None:
    with sock:
        asked = b""
        while not asked.endswith(b"}"):
            if not (data := sock.recv(65536)):
                return
            asked += data
        sock.sendall(ANSWER)


def cpu() -> float:
    """Of this process and of those it has waited for: curl is one."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(client: Client, port: int, calls: int, result: Connection) -> None:
    """`calls` sessions of one call each, after a first one."""
    api = client.api or "openai"
    target = Target("bench", api, "m", {"edge": Route("edge", f"http://127.0.0.1:{port}", env_proxy=False)})
    ask = Ask("messages" if api == "anthropic" else "chat", recipe="invalid", cap=1, key="made_up")
    trial = Trial("bench", client.name, "edge", ask)
    times = []
    for _ in range(calls + 1):
        began, clock = cpu(), time.perf_counter()
        sender = clients.sender_class(client)(clients.Setting(client, target, Secrets({}), Clock()))
        with sender.connect(target.routes["edge"]) as session:
            outcome = session.send(trial, LIMITS)
        assert [exchange.status for exchange in outcome.exchanges] == [401], outcome
        times.append((cpu() - began, time.perf_counter() - clock))
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first, *more = times
    result.send(
        {
            "first_cpu_ms": round(first[0] * 1000, 1),
            "cpu_ms": round(median(t[0] for t in more) * 1000, 2),
            "wall_ms": round(median(t[1] for t in more) * 1000, 2),
            "memory_mib": round(kib / 1024, 1),
        }
    )


def main(calls: int) -> dict[str, object]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    # One of the emulated rows stands for all: they differ in their headers alone.
    known = config.clients().values()
    chosen = [c for c in known if c.genuine and not c.apart and c.mode != "h2"] + [
        c for c in known if not c.genuine
    ][:1]
    figures = {}
    for client in chosen:
        process = context.Process(target=measure, args=(client, port, calls, theirs))
        process.start()
        figures[client.name] = ours.recv()
        process.join()
    server.terminate()
    server.join()
    dearest = max(figures.values(), key=lambda each: each["cpu_ms"])["cpu_ms"]
    return {
        "bench": "clients",
        "ratio": round(dearest / figures["httpx"]["cpu_ms"], 2),
        "n": calls,
        "clients": figures,
        "conditions": {
            "connection": "new, a session for each call",
            "answer": "401, whole at once",
            "process": "one a client, in turn",
            "python": platform.python_version(),
            "versions": {client.name: clients.announced(client)[0] for client in chosen},
            "statistic": "median of the further calls; memory is the process's peak",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)))
