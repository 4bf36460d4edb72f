"""Does the lab's origin cache prompts as the products do?"""

from __future__ import annotations

import json

import pytest
from conftest import CLOCK, ask, send

from probes.lab import serve
from probes.lab.behaviour import Caching
from probes.lab.http1 import Request, parse_head
from probes.lab.jobs import plan
from probes.lab.prompt_cache import PromptCache
from probes.lab.request_body import with_last_line_first

LONG = "word " * 1200
ANTHROPIC = [("anthropic-version", "2026-10-21")]


def chat(text=LONG, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def explicit(text=LONG, question="Hello?"):
    marked = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    parts = [marked, {"type": "text", "text": question}]
    return {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": parts}]}


def met(bodies, *, unasked=True, every=1.0, **how):
    """(cached, written) of each body in turn."""
    cache = PromptCache()
    jobs = [
        cache.meet(plan(body, "id"), body, Caching(**how), every * n, number=n, unasked=unasked)
        for n, body in enumerate(bodies)
    ]
    return [(job.cached, job.written) for job in jobs]


@pytest.mark.parametrize(
    ("bodies", "how", "seen"),
    [
        ([chat(), chat()], {}, [(0, 1408), (1408, 0)]),
        ([chat(), chat("x" + LONG)], {}, [(0, 1408), (0, 1408)]),
        ([chat(), chat(LONG + " and more")], {}, [(0, 1408), (1408, 0)]),
        ([chat(LONG[:3000]), chat(LONG[:3000])], {}, [(0, 0), (0, 0)]),
        ([chat(), chat(), chat()], {"delay": 2.0}, [(0, 1408), (0, 1408), (1408, 0)]),
        ([chat(), chat(), chat()], {"lives": 0.5}, [(0, 1408), (0, 1408), (0, 1408)]),
        ([chat(), chat()], {"works": False}, [(0, 0), (0, 0)]),
        ([chat(), chat()], {"reported": "never"}, [(None, 1408), (None, 0)]),
        ([chat(), chat()], {"reported": "hits"}, [(None, 1408), (1408, 0)]),
        ([chat(), chat(stream=True)], {"reported": "answers"}, [(0, 1408), (None, 0)]),
        ([explicit(), explicit(question="Well?")], {}, [(0, 1500), (1500, 0)]),
    ],
    ids=[
        "again", "another first byte", "more behind it", "below the minimum", "not at once", "gone again", "off", "untold",
        "told of hits", "told in answers", "up to the breakpoint",
    ],
)  # fmt: skip
def test_what_a_prompt_finds(bodies, how, seen):
    """By whole blocks of 128 tokens from the first byte on, or up to a breakpoint."""
    assert met(bodies, **how) == seen


def test_nothing_is_cached_unasked_where_it_has_to_be_asked_for():
    """Anthropic's messages without a breakpoint have no counts of a cache at all."""
    assert met([chat(), chat()], unasked=False) == [(None, 0), (None, 0)]


def test_replicas_know_what_they_took_themselves():
    """One of three finds what another wrote only by chance; the same key goes to the same one."""
    bodies = [chat(f"{n} {LONG}") for n in range(60) for _ in range(2)]
    hits = sum(bool(cached) for cached, _ in met(bodies, replicas=3)[1::2])
    assert 10 <= hits <= 30
    keyed = [body | {"prompt_cache_key": str(n // 2)} for n, body in enumerate(bodies)]
    assert all(cached for cached, _ in met(keyed, replicas=3, affinity="key")[1::2])


def test_usage_of_messages_counts_the_cache_apart():
    """What was read and written is not among the input tokens."""
    with serve(clock=CLOCK) as lab:
        said = [
            json.loads(send(lab.origin_url, explicit() | {"model": lab.model}, path="/v1/messages", headers=ANTHROPIC).body)
            for _ in range(2)
        ]  # fmt: skip
    counts = [
        [said["usage"][f"{name}input_tokens"] for name in ("", "cache_creation_", "cache_read_")]
        for said in said
    ]
    assert counts == [[5, 1500, 0], [5, 0, 1500]]


def test_the_edge_puts_a_line_in_front():
    """Each time another one, so that no prefix is met again; the rest arrives as it was."""
    with serve(["prompt-line"], clock=CLOCK) as lab:
        send(lab.base_url, ask(said="hello"))
        send(lab.base_url, ask(said="hello"))
        first, second = lab.origin.requests
    assert first.digest != second.digest
    assert first.body_bytes == second.body_bytes


def asked(body):
    data = json.dumps(body).encode()
    return Request(parse_head(b"POST /v1/chat/completions HTTP/1.1\r\n\r\n"), data, data)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": [{"role": "user", "content": "hello\nRequest 1."}]}, "Request 1.\nhello"),
        ({"messages": [{"role": "user", "content": "hello"}]}, "hello"),
        ({"input": "hello\nRequest 1."}, "Request 1.\nhello"),
        (explicit("long", "hello\nRequest 1."), "Request 1.\nlonghello"),
    ],
    ids=["chat", "one line", "responses", "parts"],
)
def test_the_last_line_is_put_first(body, says):
    """And the rest stays as it was."""
    made = json.loads(with_last_line_first(asked(body)).body)
    said = made.get("input") or made["messages"][0]["content"]
    assert (said if isinstance(said, str) else "".join(part["text"] for part in said)) == says


def test_deepseek_counts_beside_the_details():
    """Hits and misses, which are the prompt's tokens together."""
    with serve(["cache-deepseek"], clock=CLOCK) as lab:
        usages = [
            json.loads(send(lab.base_url, chat() | {"model": lab.model}).body)["usage"] for _ in range(2)
        ]
    assert [usage["prompt_cache_hit_tokens"] for usage in usages] == [0, 1408]
    assert all(
        usage["prompt_cache_hit_tokens"] + usage["prompt_cache_miss_tokens"] == usage["prompt_tokens"]
        for usage in usages
    )


def test_a_stream_whose_events_are_rewritten_ends_once():
    """With one last chunk: a second one would be the head of the next answer on that connection."""
    with serve(["usage-estimated"], clock=CLOCK) as lab:
        body = explicit() | {"model": lab.model, "stream": True}
        got = send(lab.base_url, body, path="/v1/messages", headers=ANTHROPIC)
    assert got.wire.endswith(b"\r\n0\r\n\r\n")
    assert not got.wire.endswith(b"\r\n\r\n0\r\n\r\n")
    assert b'"input_tokens":1400' in got.wire
