"""What the tests of real servers share: an API behind them, and what is said of it."""

from __future__ import annotations

import pytest
from asking import an_api, ask, at


@pytest.fixture(scope="module")
def origin():
    """A healthy model API that wants a key; as host:port."""
    with an_api() as running:
        yield at(running)


@pytest.fixture
def told(edgeprobe, monkeypatch):
    """Gives a suite's run against a base URL."""

    def call(*arguments, **more):
        return ask(edgeprobe, monkeypatch, *arguments, **more)

    return call
