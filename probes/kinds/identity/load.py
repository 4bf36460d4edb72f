"""What has been uploaded to ask about sizes, and may more be?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes import twins
from probes.kinds.identity.study import passed, refused, took
from probes.model import Ask

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Trial

SMALL = 1024
"""Bytes of the body that each large one is compared with."""
REQUESTS = 60
"""That may be sent about sizes, beside those of the screening."""
_AROUND = 1024
"""Bytes that the rest of a body and its head may take beside the filler."""


def failed_by_size(call: Call) -> bool | None:
    """Turned away, by whatever answer; an upstream that breaks over a large body counts, too. 429, time-outs and
    redirects say nothing.
    """
    if passed(call):
        return False
    if refused(call) or (call.last is not None and call.last.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
        return True
    broke = call.last is not None and (call.last.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
    return True if broke else None


def body_bytes(call: Call) -> int:
    """Of the request as it was meant; what was sent of it may be less where the server hung up before its end."""
    assert call.last is not None
    for name, value in call.last.request.headers:
        if name.lower() == "content-length" and value.isdecimal():
            return int(value)
    return filler_of(call)


def filler_of(call: Call) -> int:
    return call.trial.request.filler if isinstance(call.trial.request, Ask) else 0


def in_words(size: int) -> str:
    """As the settings of servers count: 1 KiB is 1024 bytes."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"


class Load:
    """All requests about sizes go through it."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._uploaded = 0
        self._asked = 0
        self._seconds = 0.0

    def trial(
        self, client: str, size: int, what: str, edits: Mapping[str, str | None] | None = None
    ) -> Trial:
        """With a text of its own, so that nothing on the way has seen it before."""
        plain = self.study.trial(f"size/{size}", client, what, edits)
        assert isinstance(plain.request, Ask)
        salt = f"{self.study.rng.getrandbits(64):016x}"
        ask = replace(plain.request, filler=size if what != "small" else SMALL)
        return replace(plain, request=ask, salt=salt, deadline=self.study.case.target.limits.deadline)

    @property
    def left(self) -> int:
        """Bytes that may still be uploaded."""
        return int(self.study.case.params["upload"]) - self._uploaded

    def affords(self, *sizes: int) -> bool:
        patient = self._seconds <= float(self.study.case.params["patience"])
        fits = sum(sizes) + _AROUND * len(sizes) <= self.left
        return patient and fits and self._asked + len(sizes) <= REQUESTS

    def together(self, trials: Sequence[Trial]) -> Generator[Sequence[Trial], list[Call], list[Call]]:
        """One round of cells, bought as one."""
        sides = yield from twins.cells(trials, failed_by_size, repeats=1)
        calls = [call for side in sides for call in side.calls]
        came = [call for call in calls if call.last is not None]
        self._asked += len(came)
        self._uploaded += sum(filler_of(call) + _AROUND for call in came)
        self._seconds += max(map(took, came), default=0.0)
        return calls
