"""`edgeprobe watch`, as a program, beside a lab that breaks and is mended, and a webhook that hears of it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from probes import lab as laboratory
from probes.canary import Missed
from probes.clock import Clock
from probes.memory import Memory

SCALE = 0.02
OFTEN = "  - {name: short, suite: short, target: lab, every: 30s}\n"
EDGEPROBE = (sys.executable, "-c", "import sys; from probes.cli import main; sys.exit(main())")


@pytest.fixture
def lab():
    with laboratory.serve(clock=Clock(SCALE), keys=None, prefill=0.2, tpot=0.02) as running:
        yield running


@pytest.fixture
def webhook():
    """What it heard: (told, code) in order; `until` waits for something to be heard.

    A sender that was killed before it noted the answer sends the same notice again, which receivers know by its id.
    """
    heard, ids, news = [], set(), threading.Condition()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            said = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()
            with news:
                if said["id"] not in ids:
                    ids.add(said["id"])
                    heard.append((said["told"], said["alert"]["key"]["code"]))
                news.notify_all()

        def log_message(self, *_):
            pass

    def until(true, patience=90):
        with news:
            assert news.wait_for(lambda: true(heard), patience), heard

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", heard, until
    server.shutdown()
    server.server_close()


@pytest.fixture
def watch(tmp_path, lab, webhook):
    """Starts the command in a folder with a target `lab`; what it says can be read line by line."""
    for folder in ("configs/targets", "suites"):
        (tmp_path / folder).mkdir(parents=True)
    target = f"version: 1\nname: lab\napi: openai\nmodel: {lab.model}\nkey_env: null\nroutes:\n  edge: {{base_url: {lab.base_url}}}\n"
    (tmp_path / "configs/targets/lab.yaml").write_text(target)
    suite = "version: 1\nname: short\ncases:\n  - {kind: completion, clients: [openai-py, httpx]}\n"
    (tmp_path / "suites/short.yaml").write_text(suite)
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"EDGEPROBE_REPORTS": str(tmp_path / "reports"), "HOOK": webhook[0], "HOOK_KEY": "k"}
    started = []

    def start(*arguments, more="", entries="  - {name: short, suite: short, target: lab, every: 2m}\n"):
        told = "sinks: [{name: hook, webhook_env: HOOK, secret_env: HOOK_KEY}]\nlisten: 127.0.0.1:0\n"
        file = f"version: 1\n{told}{more}entries:\n{entries}"
        (tmp_path / "configs/canary.yaml").write_text(file)
        child = subprocess.Popen(
            [*EDGEPROBE, "watch", "--time-scale", str(SCALE), *arguments], cwd=tmp_path, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(child)
        return child

    start.folder = tmp_path
    yield start
    for child in started:
        child.kill()
        child.communicate()


def until_said(child, pattern):
    for line in child.stdout:
        if found := re.search(pattern, line):
            return found
    pytest.fail(f"ended without {pattern!r}: {child.stderr.read()}")


def end(child):
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def test_it_alerts_and_resolves_over_kills(watch, lab, webhook):
    """A fault that comes is told once, whatever becomes of the process, and once that it is gone."""
    _, heard, until = webhook
    first = watch(more="must_fail: null\n")
    until_said(first, "short  pass")
    lab.arm(["ai-crawler-rule"])
    until(lambda told: told)
    first.kill()
    first.communicate()
    second = watch(more="must_fail: null\n")
    until_said(second, "short  fail")
    lab.arm([])
    until(lambda told: len(told) >= 2)
    until_said(second, "short  pass")
    code, _, err = end(second)
    assert (code, "Traceback" in err) == (0, False)
    assert heard == [("opened", "blocked.client"), ("resolved", "blocked.client")]
    with Memory.open(f"sqlite:///{watch.folder / 'reports' / 'edgeprobe.db'}") as memory:
        assert memory.alerts() == []
        assert {turn.entry for turn in memory.turns("short")} == {"short"}


LONG = """\
  - {name: short, suite: short, target: lab, every: 1m}
  - {name: long, suite: length, target: lab, every: 1m}
"""


def test_long_runs_overlap_and_hold_nobody_up(watch, lab, webhook):
    """What is due while an answer is held is told as missed; the short ones go on, and the cut is told and resolved."""
    _, heard, until = webhook
    rows = "version: 1\nname: length\ncases:\n  - {kind: length, clients: [httpx], with: {hold: 40, tokens: 3000}}\n"
    (watch.folder / "suites/length.yaml").write_text(rows)
    lab.arm(["read-timer-30"])
    child = watch(more="must_fail: null\n", entries=LONG)
    until(lambda told: ("opened", "timeout.first_byte") in told)
    lab.arm([])
    until(lambda told: ("resolved", "timeout.first_byte") in told)
    code, _, err = end(child)
    assert (code, "Traceback" in err) == (0, False)
    service = [told for told in heard if told[1] != "not_measured"]
    assert service == [("opened", "timeout.first_byte"), ("resolved", "timeout.first_byte")]
    with Memory.open(f"sqlite:///{watch.folder / 'reports' / 'edgeprobe.db'}") as memory:
        short, long = memory.turns("short"), memory.turns("long")
    assert {turn.missed for turn in long} - {Missed.LATE} == {
        None,
        Missed.OVERLAP,
    }  # late by this machine, if at all
    held = [turn for turn in long if turn.missed is None]
    taken = [turn for turn in short if turn.missed is None]
    assert any(one.began < other.began and other.ended < one.ended for one in held for other in taken)


def test_kill_9_at_any_moment_tells_nothing_twice(watch, lab, webhook):
    """Of one fault, over five processes, of which four are killed; the database stays whole. That nothing was measured
    for a while may be told beside it.
    """
    _, heard, until = webhook
    moments = random.Random(7)
    lab.arm(["ai-crawler-rule"])
    for _ in range(4):
        child = watch(more="must_fail: null\n", entries=OFTEN)
        until_said(child, "watching")
        with suppress(subprocess.TimeoutExpired):
            child.wait(moments.uniform(0.0, 1.5))
        child.kill()
        child.communicate()
    child = watch(more="must_fail: null\n", entries=OFTEN)
    opened, resolved = ("opened", "blocked.client"), ("resolved", "blocked.client")
    until(lambda told: opened in told)
    lab.arm([])
    until(lambda told: resolved in told)
    assert end(child)[0] == 0
    assert [told for told in heard if told[0] != "updated" and told[1] != "not_measured"] == [
        opened,
        resolved,
    ]
    path = watch.folder / "reports" / "edgeprobe.db"
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Memory.open(f"sqlite:///{path}") as memory:
        assert memory.alerts() == []
        assert memory.undelivered() == []
        assert memory.stats().running == 0


def test_it_says_how_it_is(watch):
    """Over HTTP: that it is well, that it watches, and what came of its turns; for people on a page."""
    child = watch()
    at = until_said(child, r"on lab; (http://\S+)/ and /metrics")[1]
    until_said(child, "short  pass")

    def page(path):
        with urllib.request.urlopen(f"{at}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()

    assert page("/healthz") == page("/readyz") == (200, "ok\n")
    shown = page("/metrics")[1]
    assert 'edgeprobe_turns_total{conclusive="yes",entry="short",verdict="pass"}' in shown
    assert "edgeprobe_config_last_reload_successful 1.0" in shown
    title = re.search("<title>edgeprobe (.*)</title>", page("/")[1])[1]
    assert re.match("(pass|warn): .*last asked", title)
    assert end(child)[0] == 0


@pytest.mark.parametrize(("faults", "code"), [([], 0), (["ai-crawler-rule"], 1)], ids=["good", "refused"])
def test_once(watch, lab, webhook, faults, code):
    """For a cron job: the exit code says how it went, an alert is delivered before it ends."""
    lab.arm(faults)
    child = watch("--once", more="must_fail: null\n")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (code, "")
    assert out.count("short  ") == 1
    assert [told for told, _ in webhook[1]] == (["opened"] if faults else [])


def test_a_pause_outlives_the_process_until_a_person_ends_it(watch, lab, edgeprobe, monkeypatch):
    """A second `--once` asks nothing and says so; a canary that runs heeds `store resume`."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(watch.folder / "reports"))
    lab.arm(["rate-limit-for-days"])
    out, _ = watch("--once", more="must_fail: null\n").communicate(timeout=60)
    assert "short  inconclusive, not conclusive: ratelimited" in out
    lab.arm(())
    again = watch("--once", more="must_fail: null\n")
    out, err = again.communicate(timeout=60)
    assert (again.returncode, err) == (3, "")
    assert re.search(
        r"short  not run: paused until 20\d\d-.* UTC: the 429 before it asked for a pause of 3.3 days", out
    )
    with Memory.open() as memory:
        assert {turn.missed for turn in memory.turns("short")} == {Missed.PAUSED, None}
    assert re.search(r"^paused    lab until 20\d\d-", edgeprobe("store", "stats").out, re.MULTILINE)
    child = watch(more="must_fail: null\n", entries=OFTEN)
    until_said(child, "short  not run: paused until ")
    assert edgeprobe("store", "resume", "lab").code == 0
    until_said(child, "short  pass")
    assert end(child)[0] == 0


WRONG = {
    "no such file": (("--config", "no.yaml"), "", "edgeprobe: no.yaml: no such file\n"),
    "no such entry": (("--once", "--entry", "shrt"), "", "edgeprobe: --entry: 'shrt' is no entry; did you mean short?\n"),
    "no such entry of a day": (("--entry", "nope"), "", "edgeprobe: --entry: 'nope' is no entry; valid: short\n"),
    "entry without once": (("--entry", "short"), "", "edgeprobe: --entry: goes with --once\n"),
    "a variable that is not set": (
        (), "dead_man: {url_env: NOT_SET}\n", "edgeprobe: configs/canary.yaml:4: dead_man.url_env: NOT_SET is not set: it holds the dead man's address; set it\n",
    ),
    "an address that cannot be had": (("--listen", "192.0.2.1:1"), "", "edgeprobe: listen: 192.0.2.1:1"),
    "a mistake": ((), "mustfail: 1h\n", "edgeprobe: configs/canary.yaml:4: mustfail: unknown key; did you mean must_fail?\n"),
    "no database": ((), "database: sqlite:///suites/short.yaml\n", "edgeprobe: "),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "more", "said"), WRONG.values(), ids=WRONG)
def test_mistakes_end_it_before_it_begins(watch, arguments, more, said):
    """With exit code 2 and one line."""
    child = watch(*arguments, more=more)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_scaled_time_is_for_the_lab_alone(watch):
    """Figures of a real service would be wrong by the scale."""
    target = watch.folder / "configs/targets/lab.yaml"
    child = watch("--once")
    child.kill()
    target.write_text(re.sub(r"http://[^}]*", "https://api.example.com/v1", target.read_text()))
    again = watch("--once")
    assert (
        again.communicate(timeout=60)[1]
        == "edgeprobe: --time-scale is for the lab on this machine, not for api.example.com\n"
    )


def test_without_the_extra_it_says_what_to_install(tmp_path):
    """And the commands that need none of it work."""
    absent = ("alembic", "apprise", "cronsim", "prometheus_client", "schedule", "sqlalchemy")
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nfor name in {absent}: sys.modules[name] = None\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def call(*arguments):
        return subprocess.run(
            [*EDGEPROBE, *arguments],
            cwd=tmp_path,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )

    said = call("watch")
    assert (said.returncode, said.stderr) == (
        2,
        "edgeprobe: watch needs edgeprobe[watch]: pip install 'edgeprobe[watch]'\n",
    )
    assert call("validate").returncode == 0
    assert call("explain", "ok").returncode == 0
