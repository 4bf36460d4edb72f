"""Is it this key that is refused, or whoever asks?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.credentials import made_up_key
from probes.kinds.conclude import conclude
from probes.kinds.reproduction import words
from probes.kinds.reproduction.evidence import Tally
from probes.kinds.reproduction.failure import tells
from probes.kinds.reproduction.family import reached
from probes.kinds.reproduction.outcome import OUTCOME, REPRODUCED
from probes.kinds.reproduction.reply import paragraph
from probes.kinds.reproduction.rows import evidence, times
from probes.kinds.reproduction.study import KEYS, Question
from probes.kinds.words import named, shown
from probes.model import Confidence, Factor, Finding, Layer, Observed, Verdict, WhoActs

if TYPE_CHECKING:
    from probes.kinds.reproduction.draft import Draft
    from probes.kinds.reproduction.study import Study

LABEL = "control/made_up_key"
_TWICE = 2
"""Once may be chance, where a refusal lets some through."""
_BEARER = "Bearer "


def with_made_up_key(study: Study, draft: Draft) -> Question | None:
    """The same request with a key that nobody has; `None` where it has one already, or none in a place that is known."""
    if study.made_up_key:
        return None
    made = made_up_key(study.case.target.api)
    headers = draft.headers
    if study.adds_key and not study.case.target.routes[draft.route].headers:
        headers = (
            *headers,
            ("Authorization", _BEARER) if study.case.target.api == "openai" else ("x-api-key", ""),
        )
    changed = tuple((name, _instead(name, value, made)) for name, value in headers)
    return Question(LABEL, replace(draft, headers=changed)) if changed != draft.headers else None


def _instead(name: str, value: str, made: str) -> str:
    if name.lower() not in KEYS:
        return value
    if name.lower() != "authorization":
        return made
    return f"{_BEARER}{made}" if value.startswith(_BEARER) else value


def any_key(study: Study) -> bool | None:
    """Whether one that is made up is refused alike; `None` where that is not known."""
    if study.made_up_key:
        return True
    calls = next((c for q, c in study.calls.items() if isinstance(q, Question) and q.label == LABEL), [])
    said = [study.says(call) for call in calls]
    if said and all(one is True for one in said):
        return True
    return False if len(said) >= _TWICE and all(one is False for one in said) else None


def of_the_key(study: Study) -> Finding:
    """All that is asked with it fails alike, and what has a made-up one gets to the API."""
    answered = [call for call in study.every if tells(call) and reached(call)]
    own = [call for call in answered if call.trial.label != LABEL]
    failed = next(call.last for call in own if study.says(call))
    passed = next(call.last for call in answered if call.trial.label == LABEL)
    assert failed is not None
    assert passed is not None
    tally = Tally(sum(study.says(call) is True for call in own), len(own))
    rows = (
        (OUTCOME, f"{REPRODUCED} {words.score(tally)}"),
        ("seen", f"with this key: {shown(failed)}, {words.score(tally)}, however it is asked; with one that is made up: {shown(passed)}, {len(answered) - len(own)} times"),
        ("because", "the key: a made-up one gets to the API, which looks at it itself; this one is refused before"),
        ("so", "something in front of the API knows this key or its account, such as a list of keys that leaked, were withdrawn or used up what they may"),
        *named(failed),
        *times(study),
        ("customer", paragraph(failed, "auth.rejected", Layer.EDGE)),
    )  # fmt: skip
    return conclude(
        study.case, "auth.rejected", failed, verdict=Verdict.FAIL, detail=rows, factor=Factor.KEY,
        title="Reproduced: it is the key; this one is refused in front of the API, and a made-up one is not",
        observed=Observed(tally.k, tally.n), control=passed.id, variant=failed.id, confidence=Confidence.MEDIUM,
        who_acts=WhoActs.OPERATOR, evidence=evidence(study), next_test="the same request with another key of the same account",
        advice="Operator: find by its id and time what in front of the API refuses this key, and why. Customer: try a new key.",
    )  # fmt: skip
