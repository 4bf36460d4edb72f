"""Which requests must fail, and what is the right answer to each?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from probes.attribution import is_api_answer
from probes.clients import dialect
from probes.config import conversation
from probes.kinds.conclude import outcome_code
from probes.model import Ask, Client, Layer, Raw, Trial, Verdict
from probes.response import Response
from probes.shared_cache import kept_by
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.model import Call, Case, Exchange, Request

HTTPX = Client("httpx", "raw_httpx", edits=True)
_DEADLINE = 3.0
_CLIENT_ERRORS = range(400, 500)
_TOO_MANY = 429
_JSON = (("content-type", "application/json"), ("accept", "application/json"))
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


def trials(case: Case) -> list[Trial]:
    """Without a key only what needs none; a keyless server has no wrong keys."""
    endpoint = conversation(case.target)
    keyless = case.target.key_env is None
    mine = case.keyed or keyless
    good = Ask(endpoint, recipe="hello", cap=1, key="target")
    path = dialect.PATHS[case.target.api, endpoint]
    body = dialect.encoded(case.target, replace(good, recipe="invalid"), "")
    whose: Literal["target", "made_up"] = "target" if mine else "made_up"
    asked: dict[str, Request | None] = {
        CONTROL: good if mine else None,
        "bad_key": None if keyless else replace(good, key="made_up"),
        "malformed": Raw("POST", path, _JSON, body[: len(body) // 2], key=whose),
        "unknown_model": replace(good, model=_NOWHERE) if mine else None,
        "wrong_path": Raw("POST", "/edgeprobe/no-such-path", _JSON, body, key=whose),
        "wrong_method": Raw("GET", path, _JSON[1:], key=whose),
    }
    return [
        Trial(label, HTTPX.name, case.route, request, deadline=_DEADLINE)
        for label, request in asked.items()
        if request is not None
    ]


def judge(label: str, exchange: Exchange) -> tuple[str, Verdict]:
    """The finding code of one answer, `ok` for the right one."""
    code, status = outcome_code(exchange), exchange.status
    question = QUESTIONS[label]
    if status is None or status == _TOO_MANY or status not in _CLIENT_ERRORS:
        return _no_client_error(label, exchange, code)
    if is_api_answer(exchange):
        return "ok", Verdict.PASS
    made, seen = exchange.attribution, Response.of(exchange)
    if (made is not None and made.layer is Layer.EDGE) or seen.html:
        return "error.replaced", Verdict.FAIL if label in API else Verdict.WARN
    # Who made it is not known: frameworks answer so to what they don't route or can't parse.
    return ("error.replaced", Verdict.WARN) if question.strict else ("ok", Verdict.PASS)


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
