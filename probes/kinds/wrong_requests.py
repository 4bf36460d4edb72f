"""Which requests must fail, and what is the right answer to each?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from probes.attribution import is_api_answer
from probes.clients import dialect
from probes.config import conversation
from probes.kinds import asking
from probes.kinds.conclude import outcome_code
from probes.kinds.in_its_place import in_its_place, same_words
from probes.model import Ask, Raw, Trial, Verdict
from probes.shared_cache import kept_by
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.model import Call, Case, Exchange, Request

    Headers = tuple[tuple[str, str], ...]

_DEADLINE = 3.0
_CLIENT_ERRORS = range(400, 500)
_TOO_MANY = 429
_ABOUT_THE_KEY = frozenset({401, 403})
_SEVERAL = 3
_NOWHERE = "edgeprobe-no-such-model"


@dataclass(frozen=True, slots=True)
class Question:
    """`strict`: the API itself must answer. `shown`: what was wrong with the request, for people."""

    shown: str
    strict: bool = False


QUESTIONS: Mapping[str, Question] = {
    "bad_key": Question("a key that nobody was given", strict=True),
    "unknown_model": Question("a model that does not exist", strict=True),
    "malformed": Question("a body that is broken JSON"),
    "wrong_path": Question("a path that does not exist"),
    "wrong_method": Question("a GET where a POST is due"),
}
CONTROL = "control"
"""The request that must not fail; what it meets else is the completion's to tell."""
API = frozenset({"bad_key", "unknown_model", "malformed"})
"""What the API answers in its own form."""


def opening(case: Case, sender: str) -> list[Trial]:
    """Whether a good request is let in, and what a wrong key meets; a keyless server has no wrong keys."""
    keyless = case.target.key_env is None
    good = _good(case)
    asked: dict[str, Request | None] = {
        CONTROL: good if case.keyed or keyless else None,
        "bad_key": None if keyless else replace(good, key="made_up"),
    }
    return _trials(case, sender, asked)


def others(case: Case, sender: str, agent: Headers) -> list[Trial]:
    """Without a key only what needs none; `agent` goes with what is sent to the byte."""
    good = _good(case)
    mine = case.keyed or case.target.key_env is None
    whose: Literal["target", "made_up"] = "target" if mine else "made_up"
    path = dialect.PATHS[case.target.api, good.endpoint]
    body = dialect.encoded(case.target, replace(good, recipe="invalid"), "")
    typed = (*agent, *dialect.JSON)
    asked: dict[str, Request | None] = {
        "malformed": Raw("POST", path, typed, body[: len(body) // 2], key=whose),
        "unknown_model": replace(good, model=_NOWHERE) if mine else None,
        "wrong_path": Raw("POST", "/edgeprobe/no-such-path", typed, body, key=whose),
        "wrong_method": Raw("GET", path, (*agent, *dialect.JSON[1:]), key=whose),
    }
    return _trials(case, sender, asked)


def _good(case: Case) -> Ask:
    return Ask(conversation(case.target), recipe="hello", cap=1, key="target")


def _trials(case: Case, sender: str, asked: Mapping[str, Request | None]) -> list[Trial]:
    return [
        Trial(asking.label(label, sender), sender, case.route, request, deadline=_DEADLINE)
        for label, request in asked.items()
        if request is not None
    ]


def question(call: Call) -> str:
    """The key of QUESTIONS that the call asked, or CONTROL."""
    return call.trial.label.partition("/")[0]


def judge(label: str, exchange: Exchange) -> tuple[str, Verdict]:
    """The finding code of one answer, `ok` for the right one."""
    code, status = outcome_code(exchange), exchange.status
    question = QUESTIONS[label]
    if status is None or status == _TOO_MANY or status not in _CLIENT_ERRORS:
        return _no_client_error(label, exchange, code)
    instead = in_its_place(exchange)
    if instead is None or (instead is Verdict.WARN and not question.strict):
        return "ok", Verdict.PASS  # frameworks answer so to what they don't route or can't parse
    return "error.replaced", instead if label in API else Verdict.WARN


def _no_client_error(label: str, exchange: Exchange, code: str) -> tuple[str, Verdict]:
    """Success where none was due, a server error, a redirect, a rate limit or no answer."""
    default = vocabulary()[code].verdict
    if exchange.error is not None and exchange.error.kind == "deadline":
        return code, Verdict.INCONCLUSIVE  # ours, and shorter than a completion's
    if code == "ok" and label == "bad_key":
        return "cached.private" if kept_by(exchange) else "auth.open", Verdict.FAIL
    if code == "ok" and is_api_answer(exchange):
        return "ok", Verdict.PASS  # some servers take any model's name
    strict = QUESTIONS[label].strict or exchange.status is None or default is not Verdict.FAIL
    return code, default if strict else Verdict.WARN


def proof(calls: Sequence[Call]) -> Exchange | None:
    """An answer of the API itself: the door is open and the path is right.

    An API says also in its own form that it has no such path, which proves nothing of the path.
    """
    said = (call.last for call in calls if call.last is not None and is_api_answer(call.last))
    return next((exchange for exchange in said if outcome_code(exchange) != "wrong_base_url"), None)


def independent(calls: Sequence[Call]) -> bool:
    """One client error to every request, a good one too, or where none was sent one that is not about the key."""
    said = {question(call): call.last for call in calls if call.last is not None}
    first = next(iter(said.values()), None)
    if first is None or first.status not in _CLIENT_ERRORS or len(said) < _SEVERAL:
        return False
    told = CONTROL in said or first.status not in _ABOUT_THE_KEY
    return told and all(same_words(first, other) for other in said.values())
