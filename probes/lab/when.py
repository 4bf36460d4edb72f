"""For which requests is something broken?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, ClassVar

from probes.model import STRICT

if TYPE_CHECKING:
    from probes.lab.http1 import Request


@dataclass(frozen=True, slots=True)
class HeaderTest:
    """One header of the request, `name` in any case unless it is `spelt` so. Without `contains` or `equals`: `present` or
    not. `before`: it stands before the one of that name.
    """

    __pydantic_config__: ClassVar = STRICT

    name: str
    contains: str | None = None
    equals: str | None = None
    present: bool = True
    spelt: bool = False
    before: str | None = None

    def holds(self, request: Request) -> bool:
        fields = request.head.fields
        if self.before is not None:
            names = [name.lower() for name, _ in fields]
            both = (self.name.lower(), self.before.lower())
            return all(name in names for name in both) and names.index(both[0]) < names.index(both[1])
        values = [
            value
            for name, value in fields
            if (name == self.name if self.spelt else name.lower() == self.name.lower())
        ]
        if self.contains is not None:
            return any(self.contains.lower() in value.lower() for value in values)
        if self.equals is not None:
            return any(self.equals.lower() == value.lower() for value in values)
        return bool(values) == self.present


@dataclass(frozen=True, slots=True)
class When:
    """All that is said must hold; nothing said means every request.

    `path`: a regular expression for the whole request target. `body_score`: regular expression → points for each place in
    the body that matches; they add up to `score_min` or more. `after` requests that hold are let through, then
    `every` n-th is hit; of those a share of `passes` is let through, by a chance that is the same in every lab. `idle`: seconds since the answer before on the same connection, so never its first request.
    `beside`: other requests that are under way here at the same time.
    """

    __pydantic_config__: ClassVar = STRICT

    headers: tuple[HeaderTest, ...] = ()
    method: str | None = None
    path: str | None = None
    body_contains: str | None = None
    body_min: int | None = None
    body_max: int | None = None
    body_score: Mapping[str, int] = field(default_factory=dict)
    score_min: int = 1
    stream: bool | None = None
    after: int = 0
    every: int = 1
    passes: float = 0.0
    idle: float | None = None
    beside: int = 0

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError("every must be 1 or more")
        if not 0 <= self.passes < 1:
            raise ValueError("passes must be a share below 1")
        for key, pattern in (("path", self.path or ""), *(("body_score", one) for one in self.body_score)):
            try:
                re.compile(pattern)
            except re.error as fault:
                raise ValueError(f"{key} is no regular expression: {fault}") from None

    def timely(self, idled: float | None, beside: int) -> bool:
        """By what the request does not say itself: how long its connection idled, and what is under way beside it."""
        return (self.idle is None or (idled is not None and idled >= self.idle)) and beside >= self.beside

    def holds(self, request: Request) -> bool:
        """By what the request says, and apart from the counting."""
        body = request.body
        return (
            all(test.holds(request) for test in self.headers)
            and (self.method is None or self.method == request.method)
            and (self.path is None or re.fullmatch(self.path, request.target) is not None)
            and (self.body_contains is None or self.body_contains.encode() in body)
            and (self.body_min is None or len(body) >= self.body_min)
            and (self.body_max is None or len(body) <= self.body_max)
            and (not self.body_score or self._score(body) >= self.score_min)
            and (self.stream is None or self.stream == _asks_stream(body))
        )

    def _score(self, body: bytes) -> int:
        return sum(
            points * len(re.findall(pattern.encode(), body)) for pattern, points in self.body_score.items()
        )

    def turn(self, number: int, name: str) -> bool:
        """Whether it is hit, of the requests that hold the one of that number; `name` is the fault's."""
        beyond = number - self.after
        chance = Random(f"{name}/{number}").random()  # noqa: S311 - not for secrets
        return beyond > 0 and beyond % self.every == 0 and chance >= self.passes


def _asks_stream(body: bytes) -> bool:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, dict) and parsed.get("stream") is True
