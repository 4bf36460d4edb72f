"""What is known of a request that somebody told, and how is one of its kin asked?"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from probes.api_paths import endpoint
from probes.kinds.conclude import outcome_code
from probes.kinds.reproduction.draft import Composer, Draft, encoded
from probes.kinds.reproduction.evidence import Evidence, Halted
from probes.model import Ask, NotSent, Raw, Trial

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Sequence

    from probes.complaint import Told
    from probes.kinds.reproduction.evidence import Asking
    from probes.kinds.reproduction.failure import Failure
    from probes.model import Call, Case, Exchange

T = TypeVar("T")
RAW = ("raw_httpx", "curl", "raw_aiohttp", "raw_node")
"""Kinds of clients that send the bytes they are given; the first stands for an SDK of Python."""
SDKS = ("openai_sdk", "anthropic_sdk")
TOLD, PLAIN = "as_told", "control"
FEW = 3
"""How often something is asked where each answer is slow, or shows enough."""
PATIENCE = 300.0
"""Seconds of one case that are waited for answers that don't come."""
WIDER = 2.5
"""Times its budget, for what does not answer alike each time."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request by its label alone."""

    label: str
    draft: Draft = field(compare=False)
    session: str | None = None
    idle: float = 0.0


@dataclass
class Study:
    case: Case
    told: Told
    evidence: Evidence
    failure: Failure | None = None
    composer: Composer | None = None
    calls: dict[Hashable, list[Call]] = field(default_factory=dict)
    every: list[Call] = field(default_factory=list)
    """The same in the order in which they were asked."""
    halted: str | None = None
    adds_key: bool = False
    """Headers are without the key, such as those recorded below an SDK; it is put in on the wire."""
    made_up_key: bool = False
    """The failing request fails with a made-up key as well, so that what passes is answered by the API's 401 and costs
    nothing.
    """

    @classmethod
    def of(cls, case: Case, told: Told) -> Study:
        budget = int(case.params["budget"])
        return cls(case, told, Evidence(budget, int(WIDER * budget)))

    @property
    def raw(self) -> list[str]:
        """Clients that send bytes as they are, the plainest first."""
        able = [client for client in self.case.clients if client.kind in RAW]
        able.sort(key=lambda client: (RAW.index(client.kind), client.mode != "sync"))
        https = self.told.url.lower().startswith("https:")
        return [client.name for client in able if https or client.mode != "h2"]

    def of_question(self, question: Hashable) -> list[Call]:
        return self.calls.get(question, [])

    def failed(self, question: Hashable) -> Exchange | None:
        return next((c.last for c in self.of_question(question) if self.says(c)), None)

    def passed(self, question: Hashable) -> Exchange | None:
        assert self.failure is not None
        calls = self.of_question(question)
        return next((call.last for call in calls if self.failure.says(call) is False), None)

    def says(self, call: Call) -> bool | None:
        """Whether it failed as told; `None` where it says nothing of that."""
        return self.failure.says(call) if self.failure is not None else None

    def ended(self, why: NotSent) -> str:
        """Why nothing more was asked; of a budget which one it was, as far as that can be told from here."""
        budget, sent = self.case.target.budget, sum(call.not_sent is None for call in self.every)
        if why is not NotSent.BUDGET or (budget.requests is not None and sent >= budget.requests):
            return str(why)
        return "money" if budget.tokens is None else "tokens" if budget.usd is None else "tokens or money"

    def draft(self, question: Any) -> Draft:
        if isinstance(question, Question):
            return question.draft
        assert self.composer is not None
        return self.composer.draft(question)

    def label(self, question: Any) -> str:
        if isinstance(question, Question):
            return question.label
        assert self.composer is not None
        if question == frozenset(self.composer.names):
            return TOLD
        if not question:
            return PLAIN
        names = sorted(question)
        if len(names) == 1:
            return f"with/{names[0]}"
        digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:10]
        return f"with/{len(names)}/{digest}"

    def trial(self, question: Any) -> Trial:
        draft = self.draft(question)
        started = question if isinstance(question, Question) else Question("", draft)
        return Trial(
            self.label(question),
            draft.client,
            draft.route,
            self.request(draft),
            session=started.session,
            start=started.idle,
        )

    def request(self, draft: Draft) -> Ask | Raw:
        key: Literal["target", "made_up"] = (
            "target" if self.case.keyed and not self.made_up_key else "made_up"
        )
        if self.case.client(draft.client).kind in SDKS:
            fields = dict(draft.fields or {})
            return Ask(conversation_of(draft), stream=fields.get("stream") is True, given=fields, key=key)
        return Raw(
            draft.method,
            draft.path,
            draft.headers,
            encoded(draft, self.told),
            rooted=True,
            key=key if self.adds_key and not any(map(draft.header, KEYS)) else None,
            secrets=self.told.secrets,
        )

    def ask(self, question: Any) -> Generator[Sequence[Trial], list[Call], Call]:
        """Once, outside of a search."""
        [call] = yield [self.trial(question)]
        self.heard(question, call)
        return call

    def heard(self, question: Any, call: Call) -> None:
        self.calls.setdefault(question, []).append(call)
        self.every.append(call)

    def count(self, question: Any, failed: bool | None) -> None:
        """As evidence."""
        self.evidence.spent += 1
        self.evidence.note(question, failed)

    def _waited(self) -> float:
        """Seconds for answers that did not come."""
        ends = (call.last.timeline.end for call in self.every if call.last is not None and unanswered(call))
        return sum(end for end in ends if end is not None)

    def driven(self, search: Asking[T]) -> Generator[Sequence[Trial], list[Call], T | None]:
        """What a search finds, asked one request after the other; `None` where it ended early, see `halted`.

        What gets no answer is followed by the control, so that a server that went silent is left alone at once, and one that
        leaves a single request unanswered is not taken for it.
        """
        assert self.failure is not None
        try:
            question = next(search)
            while True:
                call = yield from self.ask(question)
                if call.not_sent is not None:
                    question = search.throw(Halted(self.ended(call.not_sent)))
                    continue
                if unanswered(call) and question != frozenset() and self.evidence.left > 1:
                    beside = yield from self.ask(frozenset())
                    self.count(frozenset(), self.failure.says(beside))
                said = self.failure.says(call)
                if self._waited() > PATIENCE:
                    self.evidence.note(question, said)
                    question = search.throw(Halted("time"))
                else:
                    question = search.send(said)
        except StopIteration as done:
            found: T = done.value
            return found
        except Halted as halted:
            self.halted = halted.why
            return None


def unanswered(call: Call) -> bool:
    """Connected, and without a byte until somebody's time was over."""
    last = call.last
    return last is not None and last.status is None and outcome_code(last) == "timeout.first_byte"


KEYS = ("authorization", "x-api-key", "api-key")
_ENDPOINTS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic.messages": "messages"}


def conversation_of(draft: Draft) -> str:
    """The endpoint that a path names, as an SDK's call."""
    known = endpoint(draft.path)
    return _ENDPOINTS.get(known.dialect or "" if known is not None else "", "chat")


def without_key(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """As recorded, without what frames the message, and the key, which a record does not hold."""
    dropped = {"host", "content-length", "transfer-encoding", *KEYS}
    return tuple(pair for pair in headers if pair[0].lower() not in dropped)


def swapped(draft: Draft, client: str) -> Draft:
    return replace(draft, client=client)
