"""A canary in the place of every secret is in nothing that the probe shows, logs, raises or stores."""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import subprocess
import sys
import threading
import traceback
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

import pytest
from labruns import CLOCK, bench_for

from probes import cli, clients, lab, store
from probes.clients import Outcome
from probes.conduct import Order, conduct
from probes.config import clients as known_clients
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.model import Client, EnvRef, Raised
from probes.redact import Redactor
from probes.reporters import annotations, console, html, json_report, junit, markdown
from probes.runner import run_cases
from probes.sinks.progress import Progress
from probes.suite import cases, load_suite

KEY, HEADER, PROXY = (
    'sk-Canary/7q+Zx9"Kp2é'.replace("é", "~"),
    "bypass-canary-5f83ba91",
    "proxy-canary-77aa21",
)
SECRETS = {"the key": KEY, "a route's header": HEADER, "the proxy's password": PROXY}
ENVIRON = {"CANARY_KEY": KEY, "CANARY_HEADER": HEADER, "HTTPS_PROXY": f"http://me:{PROXY}@127.0.0.1:9"}


def spelt(secret):
    """The secret in every spelling that must not be found."""
    found = {secret, quote(secret, safe=""), quote(secret), quote(quote(secret, safe=""), safe="")}
    found |= {json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[1:-1].strip('\\"')}
    for before in range(3):
        whole = base64.b64encode(b"x" * before + secret.encode())
        found.add(whole[4 if before else 0 : -4].decode())
        found.add(base64.urlsafe_b64encode(b"x" * before + secret.encode())[4 if before else 0 : -4].decode())
    return found


def leaks(text):
    """Which secrets stand in a text, also where it is escaped once more."""
    forms = {text, unquote(text), text.replace("\\\\", "\\").replace('\\"', '"').replace("\\/", "/")}
    unfolded = {"".join(form.split()) for form in forms}
    return {
        name for name, secret in SECRETS.items() if any(s in form for s in spelt(secret) for form in forms | unfolded)
    }  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
def test_the_search_finds_what_it_looks_for(name):
    """A check that finds nothing proves nothing, so it is shown each spelling."""
    for text in spelt(SECRETS[name]):
        assert leaks(f"before {text} after") == {name}
        assert leaks(json.dumps({"a": [text]})) == {name}
    assert leaks("nothing of that kind") == set()


# --- a server that echoes --------------------------------------------------------------------------------


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent, in the spelling that its path names."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"] or 0))
        kind = self.path.split("/")[1]
        said = " ".join(
            [self.headers.get("authorization", "").removeprefix("Bearer "), self.headers.get("x-bypass", "")]
        )
        getattr(self, f"say_{kind.replace('-', '_')}")(said)

    def answer(self, status, body, content_type="application/json", headers=(), *, pieces=1):
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        data = body.encode()
        size = -(-len(data) // pieces)
        for at in range(0, len(data), size):
            part = data[at : at + size]
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def error(self, text, **more):
        error = {"message": text, "type": "invalid_request_error", "param": None, "code": text[-40:]}
        self.answer(400, json.dumps({"error": error}), **more)

    def say_plain(self, said):
        self.error(f"bad key {said}")

    def say_in_headers(self, said):
        self.error(
            "no", headers=[("x-echo", said), ("x-echo-too", quote(said)), ("set-cookie", f"k={quote(said)}")]
        )

    def say_url(self, said):
        self.error(quote(said, safe=""))

    def say_base64(self, said):
        texts = [base64.b64encode(b"x" * n + word.encode()) for n in range(3) for word in said.split()]
        self.error(" ".join(text.decode() for text in texts))

    def say_html(self, said):
        self.answer(403, f"<html><title>{said}</title>{said}</html>", "text/html")

    def say_text(self, said):
        self.answer(502, said, "text/plain")

    def say_in_pieces(self, said):
        self.error(f"bad key {said}", pieces=97)

    def say_location(self, said):
        self.answer(301, "", headers=[("location", f"https://elsewhere.example/?key={quote(said)}")])

    def say_good(self, said):
        message = {"role": "assistant", "content": f"You are {said}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        self.answer(200, json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}))  # fmt: skip

    def say_stream(self, said):
        delta = {"index": 0, "delta": {"content": said}, "finish_reason": None}
        chunk = json.dumps(
            {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [delta]}
        )
        self.answer(200, f"data: {chunk}\n\ndata: {said}\n\nevent: error\ndata: {json.dumps({'error': said})}\n\n", "text/event-stream", pieces=13)  # fmt: skip

    def say_garbage(self, said):
        self.wfile.write(f"HTTP/1.1 200 OK\r\nbad header {said}\r\n\r\n".encode())
        self.close_connection = True

    def log_message(self, *_):
        pass


WAYS = [name.removeprefix("say_").replace("_", "-") for name in vars(Echo) if name.startswith("say_")]


@contextmanager
def echo_server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def target_for(url):
    target = target_from_flags(url, "openai", "m", key_env="CANARY_KEY", env_proxy=False)
    edge = replace(target.routes["edge"], headers={"X-Bypass": EnvRef("CANARY_HEADER")})
    return replace(target, routes={"edge": edge})


@cache
def run_of(way):
    """One smoke run against the echo, with everything that was logged, emitted or raised on the way."""
    records, events = [], []
    handler = logging.Handler()
    handler.emit = records.append
    with echo_server() as root:
        logging.getLogger().addHandler(handler)
        try:
            run = conduct(
                Order(("smoke",), target_for(f"{root}/{way}/v1"), seed=1), Secrets({**os.environ, **ENVIRON}), (events.append,)
            )  # fmt: skip
        finally:
            logging.getLogger().removeHandler(handler)
    return run, events, records


@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_is_shown_or_stored(way, tmp_path, monkeypatch):
    """Whatever a server echoes and however: no report, stored file, event or `repr` holds a secret."""
    run, events, records = run_of(way)
    assert len(run.calls) >= 6
    assert any(e.status is not None or e.error for c in run.calls for e in c.exchanges)
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    document = io.StringIO()
    json_report.report(run, document)
    for text in (document.getvalue(), store.save(run).read_text(), repr(run), repr(events)):
        assert leaks(text) == set()
    for reporter in (console, junit, markdown, html, annotations):
        page = io.StringIO()
        reporter.report(run, page)
        assert leaks(unescape(page.getvalue()).replace("\u200b", "")) == set()
    for text in (
        json.dumps(json.loads(document.getvalue()), ensure_ascii=False),
        *(r.getMessage() for r in records),
    ):
        assert leaks(text) == set()


@pytest.mark.parametrize("way", [way for way in WAYS if way not in {"garbage", "location"}])
def test_the_echo_itself_is_a_finding(way):
    """It was really echoed, in this very spelling: a check against a server that is silent proves nothing."""
    run, _, _ = run_of(way)
    assert "leak.secret_echoed" in {f.code for f in run.findings}


def test_the_other_dialect(tmp_path, monkeypatch):
    """A key in `x-api-key` is a key, too."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    with lab.serve(("key-echo",), clock=CLOCK, keys=frozenset({KEY})) as served:
        target = target_from_flags(
            served.url("anthropic"), "anthropic", "m", key_env="CANARY_KEY", env_proxy=False
        )
        run = conduct(Order(("smoke",), target, clock=CLOCK), Secrets({**os.environ, **ENVIRON}))
    assert "leak.secret_echoed" in {f.code for f in run.findings}
    assert leaks(repr(run)) | leaks(store.save(run).read_text()) == set()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("way", ["plain", "in-headers"])
def test_the_progress_line(way):
    """What moves on a terminal while the run is under way."""
    out, lines = Terminal(), []
    progress = Progress(out)
    for event in run_of(way)[1]:
        progress(event)
        lines.append(str(progress._status.status))
    progress.close()
    assert any("smoke/identity" in line for line in lines)
    assert leaks(out.getvalue()) | leaks("".join(lines)) == set()


# --- logs ------------------------------------------------------------------------------------------------


def test_logs_are_quiet_by_default():
    """At the levels that stand without an operator's doing, nothing of ours or of the SDKs is logged."""
    for way in ("plain", "garbage"):
        _, _, records = run_of(way)
        assert [r.getMessage() for r in records if r.levelno >= logging.WARNING] == []


def test_logs_at_debug(caplog):
    """Even with everything turned on, what we send is not logged in clear by the SDK or the HTTP libraries.

    What a server echoes in a header is logged by them as received: only the operator can turn that on.
    """
    with echo_server() as root, caplog.at_level(logging.DEBUG):
        run = conduct(
            Order(("smoke",), target_for(f"{root}/text/v1"), seed=1), Secrets({**os.environ, **ENVIRON})
        )
    assert run.calls
    sent = [r for r in caplog.records if "esponse" not in r.getMessage()]
    assert [r.getMessage()[:300] for r in sent if leaks(r.getMessage())] == []


# --- errors ----------------------------------------------------------------------------------------------


class Telling:
    """A client that tells its key in whatever it raises."""

    def __init__(self, setting, where):
        self.key, self.where = setting.secrets.key(setting.target), where

    def connect(self, _):
        if self.where == "connect":
            raise ValueError(f"Illegal header value {self.key!r} via http://me:{PROXY}@127.0.0.1:9")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.where == "close":
            raise ValueError(f"could not close {self.key}")

    def send(self, _, __):
        if self.where == "send":
            raise ValueError(f"no such {HEADER}: {base64.b64encode(self.key.encode()).decode()}")
        return Outcome((), None, Raised("x.Y", f"refused {self.key}"))


@pytest.mark.parametrize("where", ["connect", "send", "close", "nowhere"])
def test_the_traceback_of_a_bug(monkeypatch, where):
    """What an exception says passes the redactor, too; the bug is told all the same."""
    monkeypatch.setattr(clients, "sender_class", lambda _: lambda setting: Telling(setting, where))
    target = target_for("http://127.0.0.1:9/v1")
    secrets = Secrets({**os.environ, **ENVIRON})
    (case, *_), _ = cases(load_suite("identity"), target, 1, clients=known_clients())
    calls, findings = run_cases([replace(case, clients=(Client("x", "x"),))], bench_for(target, secrets))
    assert leaks(repr((calls, findings))) == set()
    if where in {"connect", "send"}:
        assert findings[0].code == "probe.bug"
        assert "ValueError" in findings[0].detail[0][1]


MISTAKES = {
    "the key as its variable": {"key_env": KEY},
    "a header's value as its variable": {"headers": {"X-Bypass": HEADER}},
    "a password in the URL": {"base_url": f"http://me:{PROXY}@a.example/v1"},
    "a password in the proxy": {"proxy": f"http://me:{PROXY}@a.example:1"},
}


@pytest.mark.parametrize("wrong", MISTAKES.values(), ids=MISTAKES)
def test_usage_errors(wrong):
    """A secret put where its variable belongs is refused without being repeated."""
    given = {"base_url": "http://a.example/v1", **wrong}
    with pytest.raises(UsageError) as caught:
        target_from_flags(given.pop("base_url"), "openai", "m", **given)
    assert leaks(str(caught.value)) == set()
    assert leaks("".join(traceback.format_exception_only(caught.value))) == set()


@pytest.mark.parametrize("value", [f"{KEY}\n", f" {KEY}", f"{KEY}\x00", f"{KEY}é"])
def test_a_key_that_no_header_can_carry(value):
    """The operator is told which variable and what is wrong, not the value."""
    with pytest.raises(UsageError, match="CANARY_KEY") as caught:
        Secrets({"CANARY_KEY": value}).key(target_for("http://a.example/v1"))
    assert leaks(str(caught.value)) == set()


def test_repr():
    """Nothing that holds a secret shows it."""
    target = target_for("http://127.0.0.1:9/v1")
    secrets = Secrets(ENVIRON)
    bench = bench_for(target, secrets)
    held = [secrets, bench, Redactor(secrets.values(target)), Order(("smoke",), target)]
    for client in known_clients().values():
        if client.api == "anthropic":
            continue
        setting = clients.Setting(client, target, secrets, CLOCK)
        sender = clients.sender_class(client)(setting)
        with sender.connect(target.routes["edge"]) as session:
            held += [setting, sender, session]
            assert leaks(repr((session, sender))) == set()
    assert leaks(repr(held)) == set()


# --- the command, end to end -----------------------------------------------------------------------------


def test_the_command(tmp_path):
    """Standard output, standard error (with the SDK's own log turned on), every file and what is in the bundle, where the server
    echoes the key.
    """
    fault = ("key-echo",)
    with lab.serve(fault, clock=CLOCK, keys=frozenset({KEY})) as served:
        process = subprocess.run(
            [sys.executable, "-c", "import sys; from probes.cli import main; sys.exit(main())",
             "run", "smoke", "--base-url", served.base_url, "--api", "openai", "--model", "m", "--key-env", "CANARY_KEY",
             "--header", "X-Bypass=CANARY_HEADER", "--no-env-proxy", "--time-scale", str(CLOCK.scale),
             "--json", str(tmp_path / "run.json")],
            env={**os.environ, **ENVIRON, "EDGEPROBE_REPORTS": str(tmp_path / "reports"),
                 "OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (process.returncode, len(written)) == (1, 3), process.stderr
    assert "leak.secret_echoed" in process.stdout
    [bundle] = [path for path in written if path.suffix == ".zip"]
    with zipfile.ZipFile(bundle) as archive:
        members = [archive.read(name).decode() for name in archive.namelist()]
    texts = [path.read_text() for path in written if path != bundle]
    for text in (process.stdout, process.stderr, *texts, *members):
        assert leaks(text) == set()


@pytest.mark.parametrize("command", [["report"], ["report", "--json", "-"]], ids=" ".join)
def test_a_stored_run_shown_again(command, tmp_path, monkeypatch, capsys):
    """What comes back from the store is as clean as what went in."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    run, _, _ = run_of("plain")
    store.save(run)
    cli.main([command[0], run.id, *command[1:]])
    said = capsys.readouterr()
    assert leaks(said.out) | leaks(said.err) == set()
