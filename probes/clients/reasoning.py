"""How is a model told to answer without reasoning first, or after more of it?

Only where its maker or its server documents it; to any other model `reasoning: off` sends nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probes.model import Ask, Target

_OFF: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = (
    # The hybrid models of the series on vLLM, https://docs.vllm.ai/en/v0.26.0/features/reasoning_outputs/; those that
    # say Instruct, Thinking or Coder cannot be switched.
    (
        re.compile(r"(?:.*/)?qwen3(?!.*(?:instruct|thinking|coder))(?:[.-].*)?", re.IGNORECASE),
        {"chat_template_kwargs": {"enable_thinking": False}},
    ),
    # By the docstring of `reasoning_effort` in https://github.com/openai/openai-python, types/shared/reasoning.py.
    (re.compile(r"gpt-5\.1(?:-\d{4}-\d\d-\d\d)?"), {"reasoning_effort": "none"}),
)
_NOT_AN_ARGUMENT = frozenset({"chat_template_kwargs", "ignore_eos", "min_tokens"})
_LEAST_THINKING = 1024
"""Tokens; the budget must also be below `max_tokens`: https://docs.claude.com/en/docs/build-with-claude/extended-thinking"""


def effort(target: Target, ask: Ask) -> dict[str, Any]:
    """What goes into the body to have the model reason for as long as it can; each dialect has a word of its own."""
    if ask.effort is None or ask.recipe == "invalid":
        return {}
    if target.api == "anthropic":
        budget = ask.cap - ask.cap // 4
        thinks = _LEAST_THINKING <= budget < ask.cap
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if thinks else {}
    if ask.endpoint == "responses":
        return {"reasoning": {"effort": ask.effort}}
    return {"reasoning_effort": ask.effort}


def off(target: Target, ask: Ask) -> dict[str, Any]:
    """What goes into the body of a request; nothing where the target does not ask for it or the model is not known."""
    if (
        target.reasoning != "off"
        or target.api != "openai"
        or ask.endpoint != "chat"
        or ask.recipe == "invalid"
    ):
        return {}
    return next((fields for models, fields in _OFF if models.fullmatch(target.model)), {})


def as_arguments(body: dict[str, Any]) -> dict[str, Any]:
    """The body as the arguments of an SDK's call: what is no argument of it goes in by its `extra_body`."""
    extra = {name: value for name, value in body.items() if name in _NOT_AN_ARGUMENT}
    if not extra:
        return body
    return {name: value for name, value in body.items() if name not in extra} | {"extra_body": extra}
