"""What is told where nothing is known to pass beside the request that fails?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.reproduction import words
from probes.kinds.reproduction.evidence import Tally
from probes.kinds.reproduction.failure import tells
from probes.kinds.reproduction.family import nameless, reached
from probes.kinds.reproduction.family import said as said_of_family
from probes.kinds.reproduction.key import any_key
from probes.kinds.reproduction.outcome import CANNOT, OUTCOME, REPRODUCED
from probes.kinds.reproduction.reply import paragraph
from probes.kinds.reproduction.rows import evidence, times
from probes.kinds.reproduction.study import TOLD
from probes.kinds.words import listed, named, shown
from probes.model import Confidence, Finding, Layer, NotSent, Observed, Reason, Verdict
from probes.twins import wilson

if TYPE_CHECKING:
    from probes.kinds.reproduction.study import Study
    from probes.model import Call, Exchange

_ALIKE = (
    "not the request: every other way to ask the same endpoint fails alike, so it is the network that is asked from, "
    "the key, or everybody"
)
_ANY_KEY = (
    "not the request: with a made-up key it is refused alike, so it is refused before a key is looked at (the network that "
    "is asked from, or everybody), or this key counts no more than one that nobody has"
)
_OTHER = "there is nothing to compare it with: what came back to other requests is another failure, which says nothing of this one"

_ONCE = (
    "there is nothing to compare it with: what passed beside it did not pass again, or not as the same bytes; it may come and "
    "go, or hang on the key"
)


def source(study: Study) -> Finding:
    """It is not the request: beside it nothing passes, or now and then everything does."""
    failed = _failed(study)
    assert failed is not None
    answered = _answered(study)
    alike, passed = (sum(study.says(call) is said for call in answered) for said in (True, False))
    mixed = study.evidence.intermittent
    api = study.failure is not None and not study.failure.before_api
    code, tally = outcome_code(failed), Tally(alike, alike + passed if mixed else len(answered))
    title, said, more = _in_words(study, tally, passed, api=api)
    rows = (
        (OUTCOME, f"{REPRODUCED} {words.score(study.evidence.matched)}" if api else f"{CANNOT}: {said}"),
        ("seen", f"as told: {shown(failed)}; {words.score(tally)} requests failed so, {_ways(study)}"),
        ("because", said),
        *([("family", family)] if (family := said_of_family(study)) else []),
        *([("rate", f"it fails {words.rate(tally)}")] if mixed else []),
        *named(failed),
        *times(study),
        ("customer", paragraph(failed, code, None if api else Layer.UNKNOWN, again=True if mixed else None)),
    )  # fmt: skip
    if not api:
        more |= {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.MIXED if mixed else Reason.BLOCKED}
    return conclude(
        study.case, code, failed, detail=rows, observed=Observed(tally.k, tally.n), evidence=evidence(study),
        title=title, **({"verdict": Verdict.FAIL, "next_test": None} | more),
        **({} if api else {"confidence": Confidence.LOW}),
    )  # fmt: skip


def _in_words(study: Study, tally: Tally, passed: int, *, api: bool) -> tuple[str, str, dict[str, Any]]:
    """Title, why, and what else is to be told."""
    if study.evidence.intermittent:
        said = f"intermittent, whoever asks: the plain request fails now and then, too{_often(study)}; no part of the request is blamed"
        return (
            f"Intermittent, whoever asks: {words.score(tally)} requests fail",
            said,
            {"retryable": True, "advice": _SEARCH_FOR, "next_test": "the same request from another network"},
        )
    if api:
        said = "the API itself says so, to the plain request as well"
        return "The API refuses it, however it is asked", said, {}
    alike = tally.k == tally.n
    title = (
        "Not the request: from here every request fails alike"
        if alike
        else "Nothing passes beside it for certain"
    )
    more = {"next_test": "the same request from another network, and with another key"}
    if alike and any_key(study):
        more = {"next_test": "the same request from another network, and with a key that is known to work"}
        return f"{title}, with any key", _ANY_KEY, more
    return title, _ALIKE if alike else _ONCE if passed else _OTHER, more


_SEARCH_FOR = (
    "Look up these times in the logs of the edge and of the servers for what those that fail have in common: one of several "
    "servers or addresses, or a rule that counts or samples requests."
)


def _often(study: Study) -> str:
    """As told and otherwise, where the two are not alike."""
    sides = []
    for as_told in (True, False):
        said = [study.says(call) for call in study.every if _as_told(call) is as_told]
        sides.append(Tally(said.count(True), said.count(True) + said.count(False)))
    told, others = sides
    text = f" ({words.score(told)} as told, {words.score(others)} asked otherwise"
    if told.n and others.n and wilson(told.k, told.n)[0] > wilson(others.k, others.n)[1]:
        text += ", so something of the request may add to it"
    return f"{text})"


def _as_told(call: Call) -> bool:
    return call.trial.label.partition("/")[0] == TOLD


def _ways(study: Study) -> str:
    """What was asked beside the request as told."""
    others = [call.trial for call in study.every if not _as_told(call)]
    if not others:
        return "all of them as told"
    clients = list(dict.fromkeys(one.client for one in others))
    routes = list(dict.fromkeys(one.route for one in others))
    over = f" over the routes {listed(routes)}" if len(routes) > 1 else ""
    return f"as told and as plain requests to the same endpoint through {listed(clients)}{over}"


def _answered(study: Study) -> list[Call]:
    """What says something of who is refused: not where there is no such way from here."""
    told = [call for call in study.every if tells(call) and reached(call)]
    return [call for call in told if study.says(call) is not None or not nameless(call)]


def _failed(study: Study) -> Exchange | None:
    return next((call.last for call in study.every if study.says(call)), None)


_ENDED = {
    NotSent.PAUSED: "the server asks for a pause that is longer than a run waits, so nothing was asked beside it",
    NotSent.UNAVAILABLE: "two requests in a row got no first byte, so nothing more was asked",
}


def unanswered(study: Study, why: NotSent) -> Finding | None:
    """It failed, and asking ended before anything could be known beside it; `None` where it did not fail."""
    failed = _failed(study)
    if failed is None or failed.attribution is None:
        return None
    answered = _answered(study)
    tally = Tally(sum(study.says(call) is True for call in answered), len(answered))
    code = outcome_code(failed)
    said = _ENDED.get(why) or words.halted(study.ended(why))
    rows = (
        (OUTCOME, f"{CANNOT}: it fails here, too ({words.score(tally)}: {shown(failed)}), and {said}"),
        ("seen", f"as told: {shown(failed)}"),
        ("because", f"not isolated: {said}"),
        *([("family", family)] if (family := said_of_family(study)) else []),
        *named(failed),
        *times(study),
        # Whether it is the key was not asked.
        ("customer", paragraph(failed, code, Layer.UNKNOWN if code == "blocked" else None)),
    )
    return conclude(
        study.case, code, failed, verdict=Verdict.INCONCLUSIVE, reason=Reason(why), detail=rows,
        observed=Observed(tally.k, tally.n), confidence=Confidence.LOW, evidence=evidence(study),
        **({"next_test": "the same once more, when the pause is over"} if why is NotSent.PAUSED else {}),
    )  # fmt: skip
