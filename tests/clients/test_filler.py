"""A large body: of the size asked for, fresh each time, and invalid by type all the same."""

from __future__ import annotations

import json

import pytest

from probes.clients import dialect
from probes.clients.filler import filler
from probes.config import target_from_flags
from probes.model import Ask


@pytest.mark.parametrize("size", [0, 1, 7, 1024, 65_536, 1_048_576])
@pytest.mark.parametrize("salt", ["a", "b"])
def test_the_size_is_that_asked_for(size, salt):
    """In bytes, on the wire as well: nothing in it is escaped."""
    text = filler(size, salt)
    assert len(text.encode()) == size
    assert json.dumps(text) == f'"{text}"'


def test_each_salt_has_a_text_of_its_own():
    """So that nothing on the way has seen it before; the same for the same salt."""
    assert filler(4096, "a") != filler(4096, "b")
    assert filler(4096, "a") == filler(4096, "a")


def test_nothing_that_a_content_rule_looks_for():
    """Letters and blanks alone."""
    assert set(filler(100_000, "a")) <= set("abcdefghijklmnopqrstuvwxyz ")


@pytest.mark.parametrize("api, endpoint", [("openai", "chat"), ("anthropic", "messages")])
def test_the_request_is_still_invalid(api, endpoint):
    """What is invalid is short: servers repeat it in their answer."""
    target = target_from_flags("http://a.example/v1", api, "m", no_key=True)
    plain = Ask(endpoint, recipe="invalid", cap=1)
    assert dialect.body(target, plain, "s")["messages"] == "edgeprobe"
    large = dialect.body(target, Ask(endpoint, recipe="invalid", cap=1, filler=5000), "s")
    first, second = large["messages"]
    assert (first["role"], len(first["content"]), second) == ("user", 5000, "edgeprobe")
    encoded = dialect.encoded(target, Ask(endpoint, recipe="invalid", cap=1, filler=5000), "s")
    assert 5000 < len(encoded) < 5200
