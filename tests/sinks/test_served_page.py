"""How is a page served: how often is it made, who waits, and what may it do in a browser?"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from measured import CODES
from test_served import ask, well

from probes.errors import UsageError
from probes.sinks import page as pages
from probes.sinks.metrics import Metrics
from probes.sinks.page import Page
from probes.sinks.served import serve

POLICY = "default-src 'none'"


class Maker:
    """Makes a page that says how many were made; `go` is what it waits for."""

    def __init__(self) -> None:
        self.made = 0
        self.begun = threading.Event()
        self.go = threading.Event()
        self.go.set()
        self.fault: str | None = None

    def __call__(self) -> bytes:
        self.made += 1
        self.begun.set()
        assert self.go.wait(10)
        if self.fault is not None:
            raise UsageError(self.fault)
        return b"page %d" % self.made


@pytest.fixture
def made():
    return Maker()


@pytest.fixture
def endpoint(made):
    with serve("127.0.0.1:0", Metrics(CODES), well, well, Page(made, POLICY)) as running:
        yield running


def test_a_browser_is_told_what_it_may_do(endpoint):
    """Nothing that the policy doesn't name, in no frame, guessed as nothing else, and kept nowhere."""
    status, body, headers = ask(endpoint, "/")
    assert (status, body) == (200, b"page 1")
    told = {name: value for name, value in headers.items() if name != "content-length"}
    assert told == {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", 200), ("POST", 405), ("PUT", 405), ("DELETE", 405), ("OPTIONS", 405)]
)
def test_it_is_read_only(endpoint, method, status):
    """And HEAD has no body."""
    told, body, headers = ask(endpoint, "/", method)
    assert told == status
    assert headers.get("allow") == (None if status == 200 else "GET, HEAD")
    assert b"page" not in body


def test_it_is_made_once_for_many(made):
    """While it is new, however many ask."""
    page = Page(made, POLICY)
    assert {page().body for _ in range(50)} == {b"page 1"}


def test_it_is_made_anew_when_it_is_old(made, monkeypatch):
    """And not before: a page that took long is kept for long."""
    monkeypatch.setattr(pages, "_KEPT", 0.0)
    monkeypatch.setattr(pages, "_SHARE", 0.0)
    page = Page(made, POLICY)
    assert [page().body for _ in range(3)] == [b"page 1", b"page 2", b"page 3"]
    monkeypatch.setattr(pages, "_SHARE", 1e9)
    assert [page().body for _ in range(3)] == [b"page 4"] * 3


def test_nobody_waits_long_for_one_that_is_being_made(made, monkeypatch):
    """They get the one before, and no second one is begun meanwhile."""
    monkeypatch.setattr(pages, "_KEPT", 0.0)
    monkeypatch.setattr(pages, "_SHARE", 0.0)
    page = Page(made, POLICY)
    page()
    monkeypatch.setattr(pages, "_WAIT", 0.001)
    made.go.clear()
    assert {page().body for _ in range(20)} == {b"page 1"}
    monkeypatch.setattr(pages, "_SHARE", 1e9)
    made.go.set()
    monkeypatch.setattr(pages, "_WAIT", 10.0)
    assert (page().body, made.made) == (b"page 2", 2)


def test_the_first_one_is_waited_for_so_long(made, monkeypatch):
    """Then it is said to try again, which a browser does by itself."""
    monkeypatch.setattr(pages, "_WAIT", 0.001)
    page = Page(made, POLICY)
    made.go.clear()
    answer = page()
    assert (answer.status, answer.headers) == (503, {"Retry-After": "5", "Refresh": "5"})
    made.go.set()
    monkeypatch.setattr(pages, "_WAIT", 10.0)
    assert page().body == b"page 1"


def test_many_at_once_make_one(made):
    """However many readers there are."""
    page = Page(made, POLICY)
    made.go.clear()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(page) for _ in range(8)]
        assert made.begun.wait(10)
        made.go.set()
        assert {each.result(10).body for each in asked} == {b"page 1"}
    assert made.made == 1


def test_what_cannot_be_read_is_said(endpoint, made):
    """In one line and as plain text, and tried no more often than a page is made."""
    made.fault = "cannot read edgeprobe.db:\r\nX: <b>\ud800"
    for _ in range(3):
        status, body, headers = ask(endpoint, "/")
        assert (status, body) == (503, b"no page: cannot read edgeprobe.db: X: <b>?\n")
        assert headers["content-type"].startswith("text/plain")
    assert made.made == 1
    assert ask(endpoint, "/healthz")[0] == 200


def test_without_a_page_there_is_none():
    """Where no memory is kept."""
    with serve("127.0.0.1:0", Metrics(CODES), well, well) as running:
        assert ask(running, "/")[0] == 404
