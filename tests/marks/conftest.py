"""A stand-in for the CDN's API, and a place where the command finds it."""

from __future__ import annotations

import time

import pytest
from cloudflare_stand_in import TOKEN, standing_in


@pytest.fixture(scope="session")
def _running():
    with standing_in() as running:
        yield running


@pytest.fixture
def cloudflare(_running, monkeypatch):
    _running.forget()
    monkeypatch.setenv("CLOUDFLARE_BASE_URL", _running.base_url)
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", TOKEN)
    return _running


@pytest.fixture
def berlin(monkeypatch):
    """The machine's own time zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
