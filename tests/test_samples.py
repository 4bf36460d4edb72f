"""What the usage of each dialect tells of a prompt; what it does not tell is not zero."""

from __future__ import annotations

import pytest

from probes.samples import Prompt, cached_share, prompt

USAGES = {
    "OpenAI chat": ({"prompt_tokens": 2006, "prompt_tokens_details": {"cached_tokens": 1920}}, Prompt(2006, 1920)),
    "OpenAI chat, written": (
        {"prompt_tokens": 2006, "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1920}},
        Prompt(2006, 0, 1920),
    ),
    "OpenAI responses": (
        {"input_tokens": 1376, "input_tokens_details": {"cached_tokens": 1280, "cache_write_tokens": 0}},
        Prompt(1376, 1280, 0),
    ),
    "Anthropic, written": (
        {"input_tokens": 93, "cache_creation_input_tokens": 1280, "cache_read_input_tokens": 0},
        Prompt(1373, 0, 1280),
    ),
    "Anthropic, read": (
        {"input_tokens": 93, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1280},
        Prompt(1373, 1280, 0),
    ),
    "Anthropic without a cache": ({"input_tokens": 93}, Prompt(93)),
    "DeepSeek": (
        {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
        Prompt(100, 64),
    ),
    "vLLM": (
        {"prompt_tokens": 1376, "prompt_tokens_details": {"cached_tokens": 0, "created_cache_tokens": 1280}},
        Prompt(1376, 0, 1280),
    ),
    "vLLM without details": ({"prompt_tokens": 1376, "prompt_tokens_details": None}, Prompt(1376)),
    "SGLang, zero left out": ({"prompt_tokens": 1376, "completion_tokens": 2}, Prompt(1376)),
    "not counted": ({}, Prompt()),
    "no numbers": ({"prompt_tokens": "9", "prompt_tokens_details": {"cached_tokens": True}}, Prompt()),
}  # fmt: skip


@pytest.mark.parametrize(("usage", "said"), USAGES.values(), ids=USAGES)
def test_a_prompt_by_its_usage(usage, said):
    """In whichever dialect: its tokens with those of the cache, those from it and those into it."""
    assert prompt(usage) == said


@pytest.mark.parametrize(
    ("usage", "share"),
    [
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 64}, (64, 100)),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 164}, None),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "completion_tokens": 0}, None),
        ({"prompt_tokens": 100}, None),
    ],
    ids=["told", "more than all", "no answer", "not told"],
)
def test_a_share_is_of_answers_that_tell_of_it(usage, share):
    """An answer of no token was given up, and its repeat finds what it left behind."""
    assert cached_share(usage) == share
