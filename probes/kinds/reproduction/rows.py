"""What stands in the rows of a finding about a request that fails here, too?"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.kinds.conclude import outcome_code
from probes.kinds.reproduction import words
from probes.kinds.reproduction.family import spoken
from probes.kinds.reproduction.parts import FAMILY
from probes.kinds.reproduction.rules import rule
from probes.kinds.reproduction.study import KEYS
from probes.kinds.words import shown
from probes.model import Raw
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from probes.kinds.reproduction.experiment import Found
    from probes.kinds.reproduction.study import Study
    from probes.model import Exchange, Factor

Rows = tuple[tuple[str, str], ...]

PROOF = (
    "edgeprobe repro again, with the same request: NOT REPRODUCED once the rule is changed, while a wrong key must still be "
    "refused by the API itself"
)


def evidence(study: Study) -> tuple[str, ...]:
    return tuple(call.last.id for call in study.every if call.last is not None)


def seen(study: Study, failed: Exchange, passed: Exchange | None) -> Rows:
    tally = study.evidence.of(frozenset())
    assert study.composer is not None
    how = f"asked plainly through {study.composer.passing.client}"
    if study.composer.names == [FAMILY]:
        how = f"the same over IPv{spoken(passed)}"
    beside = (
        f"; {how} beside it: {shown(passed)}, {tally.n - tally.k} of {tally.n} let pass"
        if passed is not None
        else ""
    )
    told = study.evidence.of(frozenset(study.composer.names))
    return (("seen", f"as told: {shown(failed)}{ended(failed)}, {words.score(told)} times{beside}"),)


def ended(failed: Exchange) -> str:
    """What is wrong with an answer that began well."""
    code = outcome_code(failed)
    if failed.status is None or failed.status >= HTTPStatus.BAD_REQUEST or not code.startswith("stream."):
        return ""
    events = sum(event["n"] for event in (failed.facts.get("events") or {}).values())
    return f": {vocabulary()[code].title.lower()} ({code}), {events} event{'' if events == 1 else 's'} came"


def because(study: Study, found: Found, causes: list[str]) -> Rows:
    rows: list[tuple[str, str]] = []
    for what, one in zip(causes, found.refined, strict=True):
        with_it = study.evidence.of(one.cause.parts)
        rows.append(
            ("because", f"{what}; with that alone the plain request fails {words.score(with_it)} times")
        )
        if one.halted:
            rows.append(("because", f"not narrowed further: {words.halted(one.halted)}"))
    without = found.result.without
    assert without is not None
    passes = f"{without.n - without.k} of {without.n}"
    rows.append(
        (
            "without",
            f"without {'them' if len(causes) > 1 else 'it'}, all else as told, it passes {passes} times",
        )
    )
    return tuple(rows)


def rated(study: Study) -> Rows:
    """Of a rule that lets some through; the passes that were repeated for it."""
    if not study.evidence.intermittent:
        return ()
    assert study.composer is not None
    tally = study.evidence.of(frozenset(study.composer.names))
    said = f"it fails {words.rate(tally)}; each pass that counts was repeated until chance explains it with much less than 1 %"
    return (("rate", said),)


def _one_key(study: Study) -> bool:
    """All of it was asked with the key told, so that a rule for that key as well would look the same."""
    assert study.composer is not None
    has = study.adds_key or any(map(study.composer.failing.header, KEYS))
    return has and study.case.keyed and not study.made_up_key


def key(study: Study) -> Rows:
    """With which one it was asked."""
    if _one_key(study):
        return (("key", "asked with this key alone; whether another is refused alike was not tried"),)
    if not study.made_up_key or not study.case.keyed:
        return ()
    sent = [call.trial.request for call in study.every if call.last is not None]
    made = sum(isinstance(one, Raw) and one.key == "made_up" for one in sent)
    said = f"{made} of {len(sent)} requests went with a made-up key, with which it is refused alike, so that nothing that passes is computed"
    return (("key", said),)


def times(study: Study) -> Rows:
    """When, for who looks it up; the first and last of what failed."""
    says = study.failure.says if study.failure is not None else lambda _call: None
    failed = [call.last for call in study.every if call.last is not None and says(call)]
    dates = [date for e in failed if (date := e.header("date"))]
    if not dates:
        return ()
    return (("times", dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}, by the answers"),)


def _host(url: str) -> str:
    """With its port, where the URL has one, and without who asks."""
    return urlsplit(url).netloc.rpartition("@")[2]


def changed(study: Study, failed: Exchange, code: str, factor: Factor | None, value: str) -> str:
    assert study.composer is not None
    failing = study.composer.failing
    by = failed.attribution
    product, vendor = (by.product, by.vendor_code) if by is not None else (None, None)
    said = {
        "method": failing.method,
        "path": failing.path.partition("?")[0],
        "host": _host(study.told.url),
        "value": value,
    }
    found = rule(product, factor, code, vendor, said)
    return found or "Find what answered so by its id and time, and leave this path and method out of it."
