"""Is a long answer cut when it is not streamed, at which second, and from how many tokens on?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.length import ahead
from probes.kinds.length import known as by_night
from probes.kinds.length.twin import twin
from probes.kinds.spec import Bound, KindSpec

if TYPE_CHECKING:
    from probes.model import Case, Flow


def length(case: Case) -> Flow:
    return by_night.known(case) if case.params["mode"] == "known" else twin(case)


def bound(case: Case) -> Bound:
    return by_night.bound(case) if case.params["mode"] == "known" else ahead.bound(case)


SPEC = KindSpec(
    flow=length,
    about="a long answer, streamed and not, at the same time: is the second one cut, and when",
    bound=bound,
    foretells=ahead.foretold,
    recalls=by_night.recalls,
    defaults={
        "mode": "twin",
        "means": "auto",
        "engine": "auto",
        "hold": None,  # beyond the timer of the product that is recognised
        "tokens": None,  # as many as the server's own speed asks for
        "most_tokens": 30_000,
        "prompt_tokens": 0,
        "deadline": None,
        "pairs": 1,
        "at_least": 1.0,
        "tpot": None,
        "speeds": [0.2, 0.1, 0.05, 0.02],
        "known": None,
    },
    limits={
        "mode": ("twin", "known"),
        "means": ("auto", "reasoning", "output", "prefill"),
        "engine": ("auto", "vllm", "sglang", "other"),
        "hold": (0, 3600),
        "tokens": (1, 1_000_000),
        "most_tokens": (1, 1_000_000),
        "prompt_tokens": (0, 1_000_000),
        "deadline": (0.1, 7200),
        "pairs": (1, 100),
        "at_least": (0, 3600),
        "tpot": (0.0001, 60),
        "speeds": (0.0001, 60),
        "known": (0.1, 3600),
    },
    long=True,
)
