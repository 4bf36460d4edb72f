"""How does the model behind the edge behave, other than as it was asked to?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from probes.model import STRICT


@dataclass(frozen=True, slots=True)
class Pause:
    """`seconds` in which nothing is said, before the token after the first `after`."""

    __pydantic_config__: ClassVar = STRICT

    after: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Caching:
    """How prompts are cached. `minimum` tokens a prompt must have, `block` tokens are kept together. `delay`: seconds until
    what was written can be read; `lives`: seconds after its last use that it can. `replicas` have a cache each, and
    requests go to any of them, or by `key` to the same for the same `prompt_cache_key`. `saves`: whether a hit spares time. `reported`: in which
    answers usage tells of it: all, none, those that are no stream, or those with a hit. `names`: in whose words a chat does.
    `last`: a stream of Anthropic's dialect tells of its prompt behind its text.
    """

    __pydantic_config__: ClassVar = STRICT

    works: bool = True
    minimum: int = 1024
    block: int = 128
    delay: float = 0.0
    lives: float = 3600.0
    replicas: int = 1
    affinity: Literal["key"] | None = None
    saves: bool = True
    reported: Literal["always", "never", "answers", "hits"] = "always"
    names: Literal["openai", "deepseek"] = "openai"
    last: bool = False


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`stops_after` tokens an answer ends by itself. `caps`: whether the asked-for cap is kept to. `usage`: whether
    tokens are counted in the answer. `most`: the highest cap that is taken; above it the request is refused. `prefill`:
    seconds to the first token, in the place of the lab's. `tpot`: seconds for each after it. `opens_late`: a stream's
    headers leave with its first token. `role`: a stream opens with a chunk that says who speaks and nothing else, and at
    once. `thinks`: so many of its tokens are reasoning, first. `per_chunk`: tokens that a chunk of a stream holds.
    `comments`: seconds between comments while no token is due. `reasons`: whether an answer says why it ended.
    `stamps`: chunks of a chat say when they were made (`created`), or the last one how long all took (`timings`).
    `workers`: pairs of addresses, prefill and decode, that take turns and stand in the id of an answer.
    `prefill_per_token`: seconds for each token of a prompt that is read, in the place of the lab's, and `per_token_squared`
    for the square of their number, as attention takes them; `tpot_per_token`: that each token of the prompt adds to each of the answer's;
    `slows`: that each request adds to the first token of all after it. `cache`: of its prompts.
    """

    __pydantic_config__: ClassVar = STRICT

    stops_after: int | None = None
    caps: bool = True
    usage: bool = True
    most: int | None = None
    prefill: float | None = None
    tpot: float | None = None
    opens_late: bool = False
    role: bool = True
    thinks: int = 0
    per_chunk: int = 1
    comments: float | None = None
    reasons: bool = True
    pause: Pause | None = None
    stamps: Literal["created", "timings"] | None = None
    workers: tuple[tuple[str, str], ...] = ()
    prefill_per_token: float | None = None
    per_token_squared: float = 0.0
    tpot_per_token: float = 0.0
    slows: float = 0.0
    cache: Caching = Caching()

    def reading(self, tokens: int, per_token: float) -> float:
        """Seconds that so many tokens of a prompt take; `per_token` is the lab's own."""
        each = per_token if self.prefill_per_token is None else self.prefill_per_token
        return each * tokens + self.per_token_squared * tokens**2


WELL = Behaviour()
