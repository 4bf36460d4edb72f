"""How does this server let its answers be capped, and which other parameters of the probe's own does it refuse?

`max_tokens` is what most servers take; some models refuse it with a 400 that names `max_completion_tokens`
(https://github.com/griptape-ai/ComfyUI-Griptape/issues/312 has one). Others want a cap of at least or at most a certain
size, or don't know `stream_options`, an effort of reasoning or `ignore_eos`. It is found once per run, from that 400.
"""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeGuard

from probes.model import Ask
from probes.response import ABSENT, Response, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.clock import Clock
    from probes.model import Call, Exchange, Request, Target, Trial
    from probes.model import OutputCap as Name

PATIENCE = 1.0
"""Seconds that the run's other first requests wait for the first of all: a parameter is refused before inference."""
_FIRST: Name = "max_tokens"
_OTHER: Name = "max_completion_tokens"
_OPTIONS = "stream_options"
_OURS = (_FIRST, _OTHER, "max_output_tokens", _OPTIONS)
ENOUGH = 512
"""Tokens for an answer of a model that reasons first, where the server only says that the cap was too low."""
_MOST = 4096
_AT_LEAST = re.compile(
    r"(?:at least|greater than or equal to|>=|≥|no less than|minimum(?: value)?(?: is| of)?|(greater than|>))[\s'\"`]*(\d{1,6})",
    re.IGNORECASE,
)
_MOST_SAID = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # https://github.com/opencode-ai/opencode/issues/140
        r"at most ([\d,]+) (?:completion |output |new )?tokens",
        # https://github.com/skapadia3214/groq-moa/issues/8, https://github.com/Gitlawb/openclaude/issues/331
        r"(?:less than or equal to|no (?:more|greater) than|(?:can|must )not exceed|<=|≤)[\s'\"`]*([\d,]+)",
        # https://github.com/anthropics/claude-code/issues/24451
        r"max_tokens: [\d,]+ > ([\d,]+)",
        # a range, as DeepSeek and DashScope give it
        r"\[\s*\d+\s*,\s*([\d,]+)\s*\]",
    )
)
_WINDOW = re.compile(r"maximum context length (?:is|of) ([\d,]+)", re.IGNORECASE)
_PROMPT = re.compile(
    r"([\d,]+) (?:tokens )?(?:in the messages|from the input|(?:in )?(?:the )?(?:input|prompt)\b)|(?:prompt|messages) (?:contains?|has|have) (?:at least )?([\d,]+)",
    re.IGNORECASE,
)
"""https://github.com/ChatGPTNextWeb/NextChat/issues/3195, and vLLM's and SGLang's own words."""
_SLACK = 16
"""Tokens by which a prompt with another salt may be longer."""
_EXTRAS = (
    ("effort", None, re.compile(r"\breasoning(?:[._]effort)?\b|\bthinking\b")),
    ("endless", False, re.compile(r"\bignore_eos\b|\bmin_tokens\b")),
)
"""What of an `Ask` is left out once a 400 names it."""
_TOO_SHORT = re.compile(r"limit was reached|(?:higher|larger|increase)\W+(?:\w+\W+){0,2}max_", re.IGNORECASE)
_REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


class OutputCap:
    """One per run. While the name is not known, requests that need it go out after the first has come back, so that
    one request at the most is sent in vain for it.
    """

    def __init__(self, target: Target, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tried = threading.Event()
        self._first_is_out = False
        self._known = target.output_cap != "auto" or target.api != "openai"
        self._name: Name = _FIRST if target.output_cap == "auto" else target.output_cap
        self._least = 0
        self._most: int | None = None
        self._usage = True
        self._refused: dict[str, Any] = {}
        if self._known:
            self._tried.set()

    @contextmanager
    def turn(self, trial: Trial) -> Iterator[Trial]:
        """The trial with the name that is known by now; its first request is alone while it is not."""
        if not self._concerns(trial):
            yield self.named(trial)
            return
        with self._lock:
            first = not self._first_is_out
            self._first_is_out = True
        if not first:
            self._tried.wait(self._clock.machine(PATIENCE))
        try:
            yield self.named(trial)
        finally:
            if first:
                self._tried.set()

    def named(self, trial: Trial) -> Trial:
        request = trial.request
        if not _capped(request):
            return trial
        ask = self._as_taken(request)
        ask = replace(ask, cap_name=self._name) if self._concerns(trial) else ask
        return trial if ask == request else replace(trial, request=ask)

    def _as_taken(self, ask: Ask) -> Ask:
        """Apart from the name."""
        cap = ask.cap if self._most is None else min(ask.cap, self._most)
        return replace(ask, cap=max(cap, self._least), usage=ask.usage and self._usage, **self._refused)

    def learns(self, trial: Trial, call: Call) -> bool:
        """Whether the call was refused for a parameter of ours alone, and is worth sending again without or otherwise."""
        if not _capped(trial.request):
            return False
        with self._lock:
            stale = _name(trial) != self._name
            renamed = self._concerns(trial) and (stale or not self._known) and _name(trial) == _FIRST
            if renamed and _refused_by_name(call):
                self._name, self._known = _OTHER, True
                again = True
            else:
                self._note(trial.request, call.last)
                again = self._as_taken(trial.request) != trial.request
        self._tried.set()
        return again

    def _note(self, ask: Ask, last: Exchange | None) -> None:
        """What a 400 says of the other parameters; the lock is held."""
        most = _most_allowed(ask, last)
        if most is not None:
            self._most = most if self._most is None else min(self._most, most)
        else:
            self._least = max(self._least, _least_wanted(last))
        self._usage = self._usage and not (ask.stream and _OPTIONS in ours_refused(last))
        self._refused |= extras_refused(ask, last)

    @staticmethod
    def _concerns(trial: Trial) -> bool:
        return _capped(trial.request) and trial.request.endpoint == "chat"


def _capped(request: Request) -> TypeGuard[Ask]:
    if not isinstance(request, Ask) or request.fetches is not None:
        return False
    return request.endpoint != "models" and request.recipe != "invalid"


def _name(trial: Trial) -> Name | None:
    return trial.request.cap_name if isinstance(trial.request, Ask) else None


def ours_refused(exchange: Exchange | None) -> list[str]:
    """The parameters that a 400 names and that no customer need send: the probe chose them."""
    if exchange is None or exchange.status not in _REFUSED:
        return []
    said = Response.of(exchange)
    return [] if said.document is ABSENT else [name for name in _OURS if name in said.text]


def extras_refused(ask: Ask, exchange: Exchange | None) -> dict[str, Any]:
    """Field of an `Ask` → its value without that, for those that a 400 names."""
    if exchange is None or exchange.status not in _REFUSED:
        return {}
    text = Response.of(exchange).text
    return {name: none for name, none, word in _EXTRAS if getattr(ask, name) != none and word.search(text)}


def _most_allowed(ask: Ask, last: Exchange | None) -> int | None:
    """The largest cap that a 400 leaves; `None` where it names none below the one that was sent."""
    if last is None or last.status not in _REFUSED or Response.of(last).document is ABSENT:
        return None
    text = Response.of(last).text
    window, prompt = _WINDOW.search(text), _PROMPT.search(text)
    if window and prompt:
        most = _number(window[1]) - _number(prompt[1] or prompt[2]) - _SLACK
    elif set(ours_refused(last)) - {_OPTIONS}:
        most = next((_number(found[1]) for said in _MOST_SAID if (found := said.search(text))), 0)
    else:
        most = 0
    return most if 0 < most < ask.cap else None


def _number(digits: str) -> int:
    return int(digits.replace(",", "") or 0)


def _least_wanted(last: Exchange | None) -> int:
    """The cap that a 400 asks for; 0 where it asks for none, or for one that would cost more than a probe should."""
    if last is None or not set(ours_refused(last)) - {_OPTIONS}:
        return 0
    text = Response.of(last).text
    if found := _AT_LEAST.search(text):
        least = int(found[2]) + (found[1] is not None)
    else:
        least = ENOUGH if _TOO_SHORT.search(text) else 0
    return least if least <= _MOST else 0


def _refused_by_name(call: Call) -> bool:
    """A 400 that names the other parameter, or calls this one unsupported; one that finds the number wrong does not."""
    last = call.last
    if last is None or last.status not in _REFUSED:
        return False
    seen = Response.of(last)
    code, param = (at(seen.document, ("error", key)) for key in ("code", "param"))
    if seen.document is ABSENT:
        return False
    return _OTHER in seen.text or (param == _FIRST and code == "unsupported_parameter")
