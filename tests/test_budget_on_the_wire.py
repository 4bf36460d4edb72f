"""A budget on the wire: nothing arrives that was not bought before, whatever ends the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from labruns import bench_for, target_at

from probes.clock import Clock
from probes.conduct import Order, conduct, plan
from probes.credentials import Secrets
from probes.model import Budget, Limits, NotSent, Prices, Verdict
from probes.runner import run_cases

COMMAND = str(Path(sys.executable).with_name("edgeprobe"))


@pytest.fixture
def server():
    """Gives a chat API that calls `on_request(number, body)` for the usage it reports, and its base URL."""
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(on_request):
        count = iter(range(1_000))
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    number = next(count)
                usage = on_request(number, body)
                message = {"role": "assistant", "content": "hi"}
                answer = {
                    "id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                }  # fmt: skip
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        running.append((http, thread))
        return f"http://127.0.0.1:{http.server_port}/v1"

    yield start
    for http, thread in running:
        http.shutdown()
        thread.join()
        http.server_close()


def usage(prompt: int = 9, completion: int = 2) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text(
        "version: 1\nname: one\ncases:\n  - {kind: completion, clients: genuine, with: {cap: 32}}\n"
        "  - {kind: completion, clients: genuine, with: {cap: 9}}\n"
    )
    return str(path)


def order(suite: str, url: str, **changes) -> Order:
    return Order((suite,), replace(target_at(url, key_env=None, no_key=True), **changes), seed=1)


def test_nothing_is_sent_before_it_is_bought(server, suite):
    """When a request arrives its worst case already stands in the books: a kill then costs what is in flight, no more."""
    seen: list[tuple[int, int]] = []
    bought = threading.Event()

    def on_request(number, _body):
        assert bought.wait(10)
        seen.append((number + 1, bench.governor.spend.requests))
        return usage()

    one = order(suite, server(on_request), prices=Prices(1.0, 2.0))
    bench = bench_for(one.target, Secrets({}), Clock())
    bought.set()
    run_cases(plan(one, Secrets({})).cases, bench)
    assert len(seen) == 10  # two completions through each genuine client
    assert all(arrived <= booked for arrived, booked in seen)


@pytest.mark.parametrize(
    ("prompt", "completion", "blamed", "cause"),
    [
        (9, 4000, "honour the cap on output tokens", None),
        (9000, 4000, "honour the cap on output tokens", None),
        (9000, 16, "how many tokens such a prompt has", "the prompts were counted as longer"),
    ],
    ids=["the answer", "both", "the prompt alone"],
)
def test_usage_above_the_cap_ends_the_run_and_is_found(server, suite, prompt, completion, blamed, cause):
    """The first answer that was counted too high is the last, and what was counted too high is told."""
    arrived: list[int] = []

    def on_request(number, _body):
        arrived.append(number)
        return usage(prompt=prompt, completion=completion)

    run = conduct(order(suite, server(on_request)), Secrets({}))
    assert len(arrived) <= Limits().concurrency  # those in flight at the time
    assert run.spend.requests == len(arrived)
    assert run.spend.output_tokens == completion * len(arrived)
    [told] = [finding for finding in run.findings if finding.code == "usage.over_cap"]
    assert told.verdict is Verdict.WARN
    assert blamed in told.advice
    assert (cause is None) is ("because" not in dict(told.detail))
    assert cause is None or cause in dict(told.detail)["because"]
    assert NotSent.BUDGET in {call.not_sent for call in run.calls}


@pytest.mark.parametrize("most", [3, 6, 40])
def test_redirects_are_bought_like_any_request(suite, most):
    """A loop of redirects never costs more than the budget, and the spend is what the server saw."""
    arrived: list[str] = []

    class Loop(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            arrived.append(self.path)
            self.send_response(307)
            self.send_header("location", self.path)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Loop) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever).start()
        url = f"http://127.0.0.1:{http.server_port}/v1"
        run = conduct(order(suite, url, budget=Budget(requests=most)), Secrets({}))
        http.shutdown()
    assert run.spend.requests == len(arrived) <= most
    assert any(exchange.error for call in run.calls for exchange in call.exchanges)


def test_a_budget_of_money_is_kept(server, suite):
    """No more is sent than the worst cases that fit, and the run says what it cost."""
    arrived: list[int] = []

    def on_request(number, _body):
        arrived.append(number)
        return usage(80, 32)

    price = Prices(1.0, 2.0)
    worst = (80 * 1.0 + 32 * 2.0) / 1e6
    run = conduct(order(suite, server(on_request), prices=price, budget=Budget(usd=2.5 * worst)), Secrets({}))
    assert len(arrived) == 2
    assert run.spend.usd == pytest.approx(2 * worst)
    assert run.spend.usd <= 2.5 * worst


def test_a_kill_costs_no_more_than_what_is_in_flight(server, suite, tmp_path):
    """kill -9 amid the requests: the server saw no more of them than the budget, and none after it."""
    most, arrived = 4, []
    hit = threading.Event()
    over = threading.Event()

    def on_request(number, body):
        arrived.append(body)
        hit.set()
        over.wait(20)
        return usage()

    url = server(on_request)
    words = ["--base-url", url, "--api", "openai", "--model", "m", "--no-key", "--max-requests", str(most)]
    environment = {**os.environ, "EDGEPROBE_REPORTS": str(tmp_path)}
    with subprocess.Popen(
        [COMMAND, "run", suite, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        assert hit.wait(60)
        process.kill()
        process.wait()
    over.set()
    assert 1 <= len(arrived) <= most


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--max-usd", "1"), "--max-usd: cannot be kept: no price of m is known; give the target prices"),
        (("--max-usd", "0"), "--max-usd: 0 is not above 0"),
        (("--max-usd", "nan"), "--max-usd: nan is not above 0"),
        (("--max-usd", "much"), "argument --max-usd: invalid float value: 'much'"),
    ],
    ids=["no price", "nothing", "no number", "no number at all"],
)
def test_money_that_cannot_be_kept(edgeprobe, flags, message):
    """Is refused before anything is sent, with what to do."""
    said = edgeprobe("run", "smoke", "--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--model", "m", "--no-key", *flags)  # fmt: skip
    assert said.code == 2
    assert message in said.err


def test_the_plan_says_money_and_time(edgeprobe):
    """At the most, at the dearer price; and where no price is known, that."""
    where = ("--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--no-key", "--client", "curl")
    said = edgeprobe("plan", "smoke", *where, "--model", "gpt-4o-mini", "--max-usd", "0.5")
    tokens = int(
        next(line for line in said.out.splitlines() if line.startswith("at most")).split()[3].replace(",", "")
    )
    assert (
        f"money    at most ${tokens * 0.6 / 1e6:.4f} ($0.15 input, $0.6 output per million tokens)"
        in said.out
    )
    assert "minutes where the server answers at once; of a slow one longer" in said.out
    assert "200,000 tokens, $0.5" in said.out
    assert "no price of m is known" in edgeprobe("plan", "smoke", *where, "--model", "m").out
