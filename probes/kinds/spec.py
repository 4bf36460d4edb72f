"""What is declared of a kind of probe?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from probes.model import Case, Client, Kind
    from probes.parameters import Limits


class Bound(NamedTuple):
    """What a case can cost at the most; `seconds` of a short one are a guess for a server that answers at once."""

    requests: int
    tokens: int
    seconds: float


class Recall(NamedTuple):
    """`figure` of the newest stored run of the case `of`, which becomes the parameter `into`. `fits`: whether that of a
    stored finding, beside the run's exchanges by id, is what is asked about.
    """

    of: str
    figure: str
    into: str
    fits: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class KindSpec:
    """`defaults`: the parameters that a suite's `with` may set, with their default values; `limits`: the least and the
    most that a number of them may be, each item of a list for itself, or the words that a text may be.

    `foretells`: what a plan says of a case beyond its bound. `recalls`: what a case needs to know of an earlier run.

    `unfit`: why a case of this kind is not asked at all, such as of a target that is not owned; or `None`.
    `keyed`: its requests need the target's key. `converses`: they go to an endpoint that takes completions. `long`: runs in a lane of its own, beside the short cases.
    `asks_api`: a pass says something of the API, and not only of the way to it.
    `brings`: senders of its own, whichever clients its row names.
    """

    flow: Kind
    about: str
    bound: Callable[[Case], Bound]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Limits] = field(default_factory=dict)
    unfit: Callable[[Case], str | None] = lambda _case: None
    keyed: bool = True
    converses: bool = True
    asks_api: bool = True
    long: bool = False
    brings: tuple[Client, ...] = ()
    foretells: Callable[[Case], Sequence[str]] = lambda _case: ()
    recalls: Callable[[Case], Recall | None] = lambda _case: None
