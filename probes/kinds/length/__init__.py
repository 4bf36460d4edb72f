"""Is a long answer cut when it is not streamed, at which second, and from how many tokens on?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from probes.kinds.length import ahead, experience, moved
from probes.kinds.length.pace import unfit
from probes.kinds.length.twin import twin
from probes.kinds.spec import Bound, KindSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from probes.model import Case, Flow


class _Mode(NamedTuple):
    flow: Callable[[Case], Flow]
    bound: Callable[[Case], Bound]
    foretold: Callable[[Case], list[str]]
    unfit: Callable[[Case], str | None] = lambda _case: None


_MODES = {
    "twin": _Mode(twin, ahead.bound, ahead.foretold),
    "known": _Mode(moved.moved, moved.bound, moved.foretold),
    "experience": _Mode(experience.experience, experience.bound, experience.foretold, experience.unfit),
}


def _mode(case: Case) -> _Mode:
    return _MODES[case.params["mode"]]


def length(case: Case) -> Flow:
    return (yield from ahead.within(case, _mode(case).flow(case), bound(case).seconds))


def bound(case: Case) -> Bound:
    return _mode(case).bound(case)


SPEC = KindSpec(
    flow=length,
    about="a long answer, streamed and not, at the same time: is the second one cut, and when",
    bound=bound,
    foretells=lambda case: _mode(case).foretold(case),
    unfit=lambda case: unfit(case) or _mode(case).unfit(case),
    recalls=moved.recalls,
    defaults={
        "mode": "twin",
        "endpoint": "auto",
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
        "mode": tuple(_MODES),
        "endpoint": ("auto", "chat", "responses", "messages"),
        "means": ("auto", "reasoning", "output", "prefill"),
        "engine": ("auto", "vllm", "sglang", "other"),
        "hold": (1, 3600),
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
    converses=False,  # it looks for itself: it can ask for responses, too
    long=True,
)
