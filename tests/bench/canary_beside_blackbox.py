"""What does a plain HTTP check cost here, beside one of Prometheus' blackbox exporter, in the same run?

`uv run python tests/bench/canary_beside_blackbox.py [RUNS]` prints JSON; needs Debian's prometheus-blackbox-exporter. Both
ask the same lab, in a process of its own, for its list of models with a key, in turns of 20. Theirs: one scrape of
`/probe`. Ours: a whole run, as a canary's turn is one: planned, sent by httpx over a fresh connection and recorded, who
answered told by every signature, secrets taken out, concluded and counted in the metrics; and beside it the sending alone.
`ratio` is our wall time of a check to theirs, `ratio_cpu` the same of CPU; above 1 we cost more, and that is expected: a
check of theirs is a status and its times, in Go. The aim is that a canary of 100 entries, each asked every minute, stays
below a tenth of a core: 60 ms of CPU a check.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import chdir, contextmanager
from pathlib import Path
from statistics import median

from probes import clients, config
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.model import Ask, Trial
from probes.sinks.metrics import Metrics
from probes.vocabulary import vocabulary

TURN = 20
AIM_CPU_S = 0.06
_LAB = """
import json, sys
from probes import lab
from probes.clock import Clock
with lab.serve((), clock=Clock(), **json.loads(sys.argv[1])) as served:
    print(json.dumps([served.base_url, served.model, served.api_key]), flush=True)
    sys.stdin.read()
"""
_SUITE = "version: 1\nname: plain\ncases:\n  - {kind: models, clients: [httpx]}\n"
_TICK = os.sysconf("SC_CLK_TCK")


@contextmanager
def served(**speed):
    with subprocess.Popen(
        [sys.executable, "-c", _LAB, json.dumps(speed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as lab:
        try:
            yield json.loads(lab.stdout.readline())
        finally:
            lab.stdin.close()


@contextmanager
def blackbox(folder, key):
    """(Its process id, the URL of one check of a URL.)"""
    found = shutil.which("prometheus-blackbox-exporter")
    if found is None:
        sys.exit("prometheus-blackbox-exporter is not installed")
    module = {"prober": "http", "http": {"headers": {"Authorization": f"Bearer {key}"}}}
    (folder / "blackbox.yml").write_text(json.dumps({"modules": {"plain": module}}))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [found, f"--config.file={folder / 'blackbox.yml'}", f"--web.listen-address=127.0.0.1:{port}"],
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(f"{base}/-/healthy", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield (
                process.pid,
                lambda url: f"{base}/probe?{urllib.parse.urlencode({'module': 'plain', 'target': url})}",
            )
        finally:
            process.terminate()


def cpu_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def memory_of(pid):
    [line] = [x for x in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines() if x.startswith("VmRSS")]
    return round(int(line.split()[1]) / 1024, 1)


def theirs(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert b"\nprobe_success 1\n" in answer.read()


def in_turns(runs, checks, cpu):
    """Seconds of the wall of each check, and of CPU for each, by name; all warm, one kind after the other in turn."""
    wall = {name: [] for name in checks}
    used = dict.fromkeys(checks, 0.0)
    for check in checks.values():
        check()
    for _ in range(runs):
        for name, check in checks.items():
            before = cpu[name]()
            for _ in range(TURN):
                began = time.perf_counter()
                check()
                wall[name].append(time.perf_counter() - began)
            used[name] += cpu[name]() - before
    return {name: median(times) for name, times in wall.items()}, {
        name: spent / (runs * TURN) for name, spent in used.items()
    }


def main(runs: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name, chdir(name), served() as (base_url, model, key):
        folder = Path(name)
        (folder / "suites").mkdir()
        (folder / "suites/plain.yaml").write_text(_SUITE)
        target = target_from_flags(
            base_url, "openai", model, key_env="KEY", env_proxy=False, endpoints=("chat", "models")
        )
        secrets = Secrets({**os.environ, "KEY": key})
        metrics = Metrics({code: row.verdict for code, row in vocabulary().items()})
        client = config.clients()["httpx"]
        sender = clients.sender_class(client)(clients.Setting(client, target, secrets, Clock()))
        trial = Trial("a", "httpx", "edge", Ask("models", cap=0))

        def ours():
            run = conduct(Order(("plain",), target, seed=1), secrets, [metrics])
            assert run.verdict == "pass", run.findings

        def sent():
            with sender.connect(target.routes["edge"]) as session:
                [exchange] = session.send(trial, clients.SendLimits(10.0, 1 << 20)).exchanges
            assert exchange.status == 200

        with blackbox(folder, key) as (pid, check):
            url = check(f"{base_url}/models")
            wall, cpu = in_turns(
                runs,
                {"blackbox": lambda: theirs(url), "run": ours, "sending": sent},
                {"blackbox": lambda: cpu_of(pid), "run": time.process_time, "sending": time.process_time},
            )
            memory = {"blackbox": memory_of(pid), "edgeprobe": memory_of("self")}
    # A clock that ticks a hundred times a second may have missed all that they used in so few checks.
    least = max(cpu["blackbox"], 1 / _TICK / (runs * TURN))
    return {
        "bench": "canary_beside_blackbox",
        "ratio": round(wall["run"] / wall["blackbox"], 2),
        "ratio_sending": round(wall["sending"] / wall["blackbox"], 2),
        "ratio_cpu": round(cpu["run"] / least, 2),
        "ratio_cpu_sending": round(cpu["sending"] / least, 2),
        "of_aim": round(cpu["run"] / AIM_CPU_S, 2),
        "n": runs,
        "ms": {name: round(seconds * 1000, 2) for name, seconds in wall.items()},
        "cpu_ms": {name: round(seconds * 1000, 2) for name, seconds in cpu.items()},
        "mib": memory,
        "conditions": {
            "checks": f"{TURN} of each kind in turn, {runs} times",
            "lab": "healthy, in a process of its own, over loopback, without TLS",
            "blackbox": "its /probe, asked by us: the wall includes our asking, its CPU does not",
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "statistic": "median of the wall, mean of CPU",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)))
