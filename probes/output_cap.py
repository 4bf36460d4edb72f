"""How does this server let its answers be capped, and which other parameters of the probe's own does it refuse?

`max_tokens` is what most servers take; some models refuse it with a 400 that names `max_completion_tokens`
(https://github.com/griptape-ai/ComfyUI-Griptape/issues/312 has one). Others want a cap of a certain size, or don't know
`stream_options`. It is found once per run, from that 400.
"""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeGuard

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
        self._usage = True
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
        ask = replace(request, cap=max(request.cap, self._least), usage=request.usage and self._usage)
        ask = replace(ask, cap_name=self._name) if self._concerns(trial) else ask
        return trial if ask == request else replace(trial, request=ask)

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
                self._least = max(self._least, _least_wanted(call))
                self._usage = self._usage and _OPTIONS not in ours_refused(call.last)
                again = self._concerns_other(trial)
        self._tried.set()
        return again

    def _concerns_other(self, trial: Trial) -> bool:
        """What is known by now would be sent otherwise."""
        request = trial.request
        return _capped(request) and (
            request.cap < self._least or (request.stream and request.usage and not self._usage)
        )

    @staticmethod
    def _concerns(trial: Trial) -> bool:
        return _capped(trial.request) and trial.request.endpoint == "chat"


def _capped(request: Request) -> TypeGuard[Ask]:
    return isinstance(request, Ask) and request.endpoint != "models" and request.recipe != "invalid"


def _name(trial: Trial) -> Name | None:
    return trial.request.cap_name if isinstance(trial.request, Ask) else None


def ours_refused(exchange: Exchange | None) -> list[str]:
    """The parameters that a 400 names and that no customer need send: the probe chose them."""
    if exchange is None or exchange.status not in _REFUSED:
        return []
    said = Response.of(exchange)
    return [] if said.document is ABSENT else [name for name in _OURS if name in said.text]


def _least_wanted(call: Call) -> int:
    """The cap that a 400 asks for; 0 where it asks for none, or for one that would cost more than a probe should."""
    last = call.last
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
