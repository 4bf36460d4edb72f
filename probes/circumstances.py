"""Under which circumstances is each trial of a live case sent: its prompt, its place in the order, its connection?

Said in `Call.conditions` once, as it is sent; `sampling` only reads it.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.model import Ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Planned, Trial


class Under(NamedTuple):
    """What is known of a trial as its step is planned. `cache`: its arm; `cold` also where no prompt before had its salt."""

    cache: str
    concurrency: int


class Circumstances:
    """`nonce`: of the run. It goes into every salt, so that with the same `--seed` no run finds the prompts of another in a
    cache.
    """

    def __init__(self, nonce: str, limit: int) -> None:
        self._nonce = nonce
        self._limit = limit
        self._lock = threading.Lock()
        self._salts: set[str] = set()
        self._sessions: set[tuple[str, str, str]] = set()
        self._sent = 0

    def salted(self, planned: Sequence[Planned]) -> list[tuple[Planned, Under]]:
        """The trials of one step as they go on the wire."""
        together = min(len(planned), self._limit)
        trials = [self._salted(trial) for trial, _ in planned]
        times = Counter(trial.salt for trial in trials)
        fresh = [times[trial.salt] == 1 and trial.salt not in self._salts for trial in trials]
        self._salts |= set(times)
        return [
            ((trial, repeat), Under(_cache(trial, fresh=new), together))
            for trial, new, (_, repeat) in zip(trials, fresh, planned, strict=True)
        ]

    def _salted(self, trial: Trial) -> Trial:
        """One that was taken from a call already has it."""
        if not trial.salt or trial.salt in self._salts:
            return trial
        mixed = blake2b(trial.salt.encode(), key=self._nonce.encode()).hexdigest()
        return replace(trial, salt=mixed[: len(trial.salt)])

    def begin(self, trial: Trial, under: Under) -> dict[str, Any]:
        """As it is sent. `position`: how many of the case were sent before; `client`: whether its pool was used before."""
        with self._lock:
            self._sent += 1
            warm = _session(trial) in self._sessions
            return {
                "session": trial.session or "fresh",
                **({"retries": "the SDK's own"} if trial.retries else {}),
                "client": "warm" if warm else "cold",
                "cache": under.cache,
                "concurrency": under.concurrency,
                "position": self._sent - 1,
            }

    def end(self, call: Call) -> dict[str, Any]:
        """What came of it shows: which connection it had, and whether the probe ended it."""
        with self._lock:
            if call.trial.session is not None and call.exchanges:
                self._sessions.add(_session(call.trial))
        ours = {"ended_by_probe": call.ended_by_probe} if call.ended_by_probe is not None else {}
        return {
            "connection": call.last.conditions.get("connection") if call.last is not None else None,
            **ours,
        }


def _session(trial: Trial) -> tuple[str, str, str]:
    return trial.client, trial.route, trial.session or ""


def _cache(trial: Trial, *, fresh: bool) -> str:
    asked = trial.request
    if not isinstance(asked, Ask):
        return "unknown"
    return asked.arm or ("cold" if trial.salt and fresh and asked.given is None else "unknown")
