"""How does the model behind the edge behave, other than as it was asked to?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from probes.model import STRICT


@dataclass(frozen=True, slots=True)
class Pause:
    """`seconds` in which nothing is said, before the token after the first `after`."""

    __pydantic_config__: ClassVar = STRICT

    after: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`stops_after` tokens an answer ends by itself. `caps`: whether the asked-for cap is kept to. `usage`: whether
    tokens are counted in the answer. `most`: the highest cap that is taken; above it the request is refused. `prefill`:
    seconds to the first token, in the place of the lab's. `opens_late`: a stream's headers leave with its first token.
    """

    __pydantic_config__: ClassVar = STRICT

    stops_after: int | None = None
    caps: bool = True
    usage: bool = True
    most: int | None = None
    prefill: float | None = None
    opens_late: bool = False
    pause: Pause | None = None


WELL = Behaviour()
