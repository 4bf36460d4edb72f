"""By which parameter does this server let its answers be capped?

`max_tokens` is what most servers take; some models refuse it with a 400 that names `max_completion_tokens`
(https://github.com/griptape-ai/ComfyUI-Griptape/issues/312 has one). It is found once per run, from that 400.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.model import Ask
from probes.response import ABSENT, Response, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.clock import Clock
    from probes.model import Call, Target, Trial
    from probes.model import OutputCap as Name

PATIENCE = 1.0
"""Seconds that the run's other first requests wait for the first of all: a parameter is refused before inference."""
_FIRST: Name = "max_tokens"
_OTHER: Name = "max_completion_tokens"
_REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


class OutputCap:
    """One per run. While the name is not known, requests that need it go out after the first has come back, so that
    one request at the most is sent in vain.
    """

    def __init__(self, target: Target, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tried = threading.Event()
        self._first_is_out = False
        self._known = target.output_cap != "auto" or target.api != "openai"
        self._name: Name = _FIRST if target.output_cap == "auto" else target.output_cap
        if self._known:
            self._tried.set()

    @contextmanager
    def turn(self, trial: Trial) -> Iterator[Trial]:
        """The trial with the name that is known by now; its first request is alone while it is not."""
        if not self._concerns(trial):
            yield trial
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
        if not isinstance(request, Ask) or request.cap_name == self._name:
            return trial
        return replace(trial, request=replace(request, cap_name=self._name))

    def learns(self, trial: Trial, call: Call) -> bool:
        """Whether the call was refused for the name of its cap alone, and is worth sending again under the other."""
        if not self._concerns(trial):
            return False
        with self._lock:
            stale = _name(trial) != self._name
            again = (stale or not self._known) and _name(trial) == _FIRST and _refused_by_name(call)
            if again:
                self._name, self._known = _OTHER, True
        self._tried.set()
        return again

    @staticmethod
    def _concerns(trial: Trial) -> bool:
        request = trial.request
        return isinstance(request, Ask) and request.endpoint == "chat" and request.recipe != "invalid"


def _name(trial: Trial) -> Name | None:
    return trial.request.cap_name if isinstance(trial.request, Ask) else None


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
