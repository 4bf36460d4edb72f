"""Which requests does the experiment with the prompt cache ask?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import outcome_code
from probes.kinds.length.pace import endpoint_of
from probes.model import Ask, Trial
from probes.samples import cached_share, miscounted, prompt, sample
from probes.sampling import Sample, sampled
from probes.shared_cache import kept_by
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from probes.model import Arm, Call, Case, Client

SIZES = (1500, 3000, 5000)
"""Tokens of a prompt that are tried one after the other: the least that is cached is 1,024 tokens of most, up to 4,096 of
some: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
"""
LEAST_KNOWN = 4096
SOON = 1.0
"""Seconds from a write to the first try to read it."""
CAP = 16
KEPT = "kept"
KEEPS = "raw_httpx"
"""Kind of a client that keeps its connection after a stream."""
_HIT = 0.5
"""Of the prompt: a template that all prompts begin with is cached as well, and is no hit."""

_FEWEST = 0.1
"""Of the tokens that were asked for: no tokenizer counts so few."""


@dataclass(frozen=True, slots=True)
class Prefix:
    salt: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A call and its position in the order."""

    call: Call
    position: int

    @property
    def usage(self) -> dict[str, Any]:
        return (self.call.last.facts.get("usage") if self.call.last is not None else None) or {}

    @property
    def share(self) -> tuple[int, int] | None:
        """(cached, all) tokens of the prompt; `None` is not told."""
        return cached_share(self.usage)

    @property
    def hit(self) -> bool | None:
        share = self.share
        return None if share is None else share[0] >= _HIT * share[1] > 0

    @property
    def wrong(self) -> tuple[str, ...]:
        """Counts of the prompt that can't be so, with their values."""
        ask, tokens = self.call.trial.request, self.tokens
        size = (ask.prompt_tokens if isinstance(ask, Ask) else None) or 0
        # Anthropic's count leaves out what came from a cache, of which the usage may not speak.
        if "prompt_tokens" in self.usage and tokens is not None and tokens < _FEWEST * size:
            return (f"prompt_tokens {tokens} of a prompt of about {size:,}",)
        return miscounted(self.usage)

    @property
    def refused(self) -> bool:
        """By the API itself, which takes a short prompt."""
        return self.call.last is not None and outcome_code(self.call.last) == "request.rejected"

    @property
    def reused(self) -> bool:
        return self.call.last is not None and self.call.last.conditions.get("connection") == "reused"

    @property
    def written(self) -> bool:
        return bool(prompt(self.usage).written)

    @property
    def tokens(self) -> int | None:
        return prompt(self.usage).tokens

    @property
    def mark(self) -> str | None:
        """By which a cache of answers says that it gave this one."""
        return kept_by(self.call.last) if self.call.last is not None else None

    @property
    def answer(self) -> str | None:
        """The id that the answer bears."""
        return (self.call.last.facts.get("response_id") if self.call.last is not None else None) or None

    @property
    def trip(self) -> float:
        """Seconds that a connection took to open."""
        line = self.call.last.timeline if self.call.last is not None else None
        return (line.connect or 0.0) - (line.dns or 0.0) if line is not None else 0.0

    @property
    def ttft(self) -> Sample | None:
        """Where it is to be trusted."""
        value = sample(self.call.last).ttft if self.call.last is not None else None
        return None if value is None else sampled(self.call, value, self.position)


class Trials:
    """Of one client; one request at a time, each with a place in the order."""

    def __init__(self, case: Case, client: Client) -> None:
        self.case = case
        self.client = client.name
        self.asked: list[Asked] = []
        self.rng = case.rng

    def prefix(self, tokens: int) -> Prefix:
        """One that nobody has sent before."""
        return Prefix(f"{self.rng.getrandbits(64):016x}", tokens)

    def ask(self, trial: Trial) -> Generator[Sequence[Trial], list[Call], Asked]:
        call = yield from one(trial)
        return self.note(call)

    def note(self, call: Call) -> Asked:
        self.asked.append(Asked(call, len(self.asked)))
        return self.asked[-1]

    def control(self, what: str = "control") -> Trial:
        """Short, and always of the same length."""
        return self._trial(what, Ask(endpoint_of(self.case), stream=True, cap=CAP), self._nonce())

    def long(self, what: str, prefix: Prefix, arm: Arm, *, stream: bool = True) -> Trial:
        line = f"Request {self._nonce()}." if arm in {"broken", "moved"} else ""
        ask = Ask(
            endpoint_of(self.case),
            stream=stream,
            cap=CAP,
            prompt_tokens=prefix.tokens,
            arm=arm,
            line=line,
        )
        return self._trial(what, ask, prefix.salt)

    def keyed(self, what: str, prefix: Prefix, arm: Arm) -> Trial:
        """With a key for replicas to be chosen by."""
        trial = self.long(what, prefix, arm)
        assert isinstance(trial.request, Ask)
        return replace(trial, request=replace(trial.request, cache_key=f"edgeprobe-{prefix.salt}"))

    def _trial(self, what: str, ask: Ask, salt: str) -> Trial:
        return Trial(
            f"prompt_cache/{self.client}/{what}",
            self.client,
            self.case.route,
            ask,
            deadline=float(self.case.params["deadline"]),
            salt=salt,
        )

    def _nonce(self) -> str:
        return f"{self.rng.getrandbits(48):012x}"


def kept(trial: Trial) -> Trial:
    """On the connection of the trial before it that is kept, where the client and the server keep it."""
    return replace(trial, session=KEPT)
