"""What is known of a refused client, and what came of looking for the cause?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.model import Confidence
from probes.twins import confounders

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Factor, Reason, Reproduce, Trial
    from probes.twins import Side

    Edits = Mapping[str, str | None]
    Steps = Generator[Sequence[Trial], list[Call], "Isolation"]

SDK_HEADERS = "x-stainless-*"
UA = "user-agent"


@dataclass(frozen=True, slots=True)
class Isolation:
    """`factor` only where proven; `detail` rows for people; `control` and `variant` are exchange ids."""

    factor: Factor | None = None
    control: str | None = None
    variant: str | None = None
    confounders: tuple[str, ...] = ()
    detail: tuple[tuple[str, str], ...] = ()
    confidence: Confidence = Confidence.LOW
    reason: Reason | None = None
    next_test: str | None = None
    reproduce: Reproduce | None = None
    cure: Edits | None = None
    """With which the client was let pass."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """The refused client as it was recorded, and what the passing control announces instead."""

    study: Study
    name: str
    sent: tuple[tuple[str, str], ...]
    headers: dict[str, str]
    neutral: str | None
    accept: str | None
    encoding: str | None

    @property
    def agent(self) -> str:
        return self.headers.get(UA, "")

    @property
    def sdk_headers(self) -> list[str]:
        return [name for name in self.headers if name.startswith(SDK_HEADERS.removesuffix("*"))]

    def trial(self, what: str, edits: Edits) -> Trial:
        return self.study.trial("isolate", self.name, what, edits)


def differences(control: Side, variant: Side, factor: Sequence[str]) -> tuple[str, ...]:
    ours, theirs = control.calls[-1].last, variant.calls[-1].last
    return confounders(ours, theirs, factor) if ours is not None and theirs is not None else ()
