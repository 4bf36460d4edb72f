"""Does another program get the notice, signed, and is nothing but its yes taken for one?"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import sys
import time
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
from receiving import OK, receiving, status

from probes.canary import About, Alert, AlertKey, AlertState, Notice, Told, Undelivered
from probes.model import Layer, Observed
from probes.sinks.webhook import document, webhook

AT = datetime(2026, 11, 30, 14, 11, tzinfo=UTC)
SECRET = "whsec-0123456789"
ALERT = Alert(
    id="a1", key=AlertKey("prod", About.SERVICE, Layer.EDGE, "Cloudflare", "blocked.client"), state=AlertState.OPEN,
    since=AT, opened=AT, updated=AT, title="[edge · Cloudflare 1010] refused", text="seen: 403\ndo: …",
    vendor_code="1010", clients=("openai-py",), routes=("edge",), entries=("smoke-prod",), observed=Observed(6, 6),
    intervals=2, run="20261130-141100-abcd",
)  # fmt: skip
NOTICE = Notice("n1", ALERT, Told.OPENED, "ops", made=AT)


def verified(secret, headers, body, now):
    """As a receiver does it, by reports/README.md alone."""
    parts = dict(part.split("=", 1) for part in headers["edgeprobe-signature"].split(","))
    signed = hmac.new(secret.encode(), parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(signed, parts["v1"]) and abs(now - int(parts["t"])) <= 300


def test_it_is_posted_as_documented_and_signed():
    """By somebody who knows the secret, and the very bytes."""
    with receiving() as receiver:
        webhook(receiver.url, SECRET)(NOTICE)
    headers, body = receiver.headers(), receiver.bodies[0]
    assert receiver.heads[0].startswith(b"POST /hook/very-secret-path HTTP/1.1")
    assert headers["content-type"] == "application/json"
    assert headers["edgeprobe-notice"] == "n1"
    assert verified(SECRET, headers, body, time.time())
    assert not verified("another", headers, body, time.time())
    assert not verified(SECRET, headers, body.replace(b"open", b"shut"), time.time())
    assert not verified(SECRET, headers, body, time.time() + 301)
    assert json.loads(body) == document(NOTICE)


def test_the_document_holds_the_whole_alert():
    """All of it but what the rules remember; times in UTC, and every key is described."""
    told = document(NOTICE)
    assert told["schema"] == "edgeprobe.alert/1"
    assert set(told["alert"]) == {f.name for f in fields(Alert)} - {"memory"} | {"severity"}
    assert told["alert"]["key"]["code"] == "blocked.client"
    assert told["made"] == "2026-11-30T14:11:00Z"
    described = (Path(__file__).parents[2] / "reports" / "README.md").read_text("utf-8")
    names = {*told, *(f"alert.{key}" for key in told["alert"])} - {"alert"}
    assert {name for name in names if f"`{name}`" not in described} == set()


@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
def test_any_2xx_takes_it(code):
    """Whatever else the answer holds."""
    with receiving(status(code)) as receiver:
        webhook(receiver.url, SECRET)(NOTICE)
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize("code", [301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503])
def test_nothing_else_does(code):
    """A redirect is not followed: the notice would go to somebody whom nobody named."""
    with receiving() as elsewhere:
        location = f"location: {elsewhere.url}\r\n".encode()
        with (
            receiving(status(code, location)) as receiver,
            pytest.raises(Undelivered, match=f"answered {code}$"),
        ):
            webhook(receiver.url, SECRET)(NOTICE)
    assert (len(receiver.bodies), elsewhere.bodies) == (1, [])


def drips(connection):
    while True:
        connection.sendall(b"x")
        time.sleep(0.02)


def interim(connection):
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.02)


def silent(connection):
    connection.recv(1)


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (silent, "no answer within 0.5 s"),
        (interim, "no answer within 0.5 s"),
        (drips, "no answer"),
        (b"", "no answer"),
        (b"\x00\xff\r\n\r\n", "no answer"),
        (b"HTTP/1.1 abc\r\n\r\n", "no answer"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2_000_000 + b"\r\n\r\n", "no answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no answer"),
    ],
    ids=[
        "silent",
        "100 for ever",
        "dripping",
        "closed",
        "bytes",
        "no status",
        "endless head",
        "another protocol",
    ],
)
def test_a_hostile_answer_is_no_yes(answer, why):
    """It costs no more than the time-out, and its reason names neither address nor secret."""
    with receiving(answer) as receiver, pytest.raises(Undelivered, match=f"^{why}") as told:
        webhook(receiver.url, SECRET, timeout=0.5)(NOTICE)
    assert "very-secret" not in str(told.value)
    assert told.value.__cause__ is None


def test_an_endless_body_is_not_read():
    """The status is enough."""
    with receiving(endless) as receiver:
        webhook(receiver.url, SECRET)(NOTICE)
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/very-secret",
        "http://no-such-host.invalid/very-secret",
        "http://[::1/very-secret",
        "nonsense",
        "http://a b/very-secret",
    ],
    ids=["refused", "no such host", "no URL", "no scheme", "blank"],
)
def test_an_unreachable_receiver_is_told_without_its_address(url):
    """Which may be a secret."""
    with pytest.raises(Undelivered) as told:
        webhook(url, SECRET)(NOTICE)
    assert "very-secret" not in str(told.value)


HANGS = """\
import socket, time
from test_webhook import NOTICE, SECRET
from probes.canary import Undelivered
from probes.sinks.webhook import webhook

socket.getaddrinfo = lambda *_, **__: time.sleep(600)
try:
    webhook("http://receiver.example/very-secret", SECRET, timeout=2)(NOTICE)
except Undelivered as why:
    print(why)
"""


def test_a_resolver_that_hangs_keeps_no_process_from_its_end():
    """It is given up in time, and left behind."""
    here = Path(__file__).parent
    paths = os.pathsep.join(map(str, (here, here.parent, here.parent.parent)))
    said = subprocess.run(
        [sys.executable, "-c", HANGS], env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert (said.stdout, said.stderr) == ("no answer within 2 s\n", "")


def test_text_of_any_kind_survives():
    """What a server said may be anything, half a character too."""
    odd = Notice(
        "n2",
        Alert(**{f.name: getattr(ALERT, f.name) for f in fields(Alert)} | {"title": "\ud800\u2028é"}),
        Told.OPENED,
        "ops",
        made=AT,
    )
    with receiving(OK) as receiver:
        webhook(receiver.url, SECRET)(odd)
    assert json.loads(receiver.bodies[0])["alert"]["title"] == "\ud800\u2028é"
