"""In what do two judgements of the same calls differ?"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.document import finding_document
from probes.model import Attribution, NotSent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from probes.model import Exchange, Finding, Run

    Alike = Callable[[Finding, Finding], bool]

_JUDGED = (
    "code", "verdict", "layer", "product", "vendor_code", "signature", "factor", "client", "route", "who_acts", "retryable",
    "confidence", "reason", "accepted", "runner_up", "transit",
)  # fmt: skip
"""What is shown as it was and as it is; of the rest, that it is put otherwise."""


class Change(NamedTuple):
    """`rows` are (what, `before → after`)."""

    about: str
    rows: tuple[tuple[str, str], ...]


def changes(before: Run, after: Run) -> tuple[Change, ...]:
    """Nothing where each finding and each attribution says the same; stored figures to the microsecond."""
    verdict = _differences({"verdict": before.verdict}, {"verdict": after.verdict})
    return (
        *([Change("the run", verdict)] if verdict else []),
        *_findings(before, after),
        *_answers(before, after),
        *_missing(after),
    )


# --- findings --------------------------------------------------------------------------------------------


def _findings(before: Run, after: Run) -> Iterator[Change]:
    for case in dict.fromkeys(finding.case for finding in (*before.findings, *after.findings)):
        was = [finding for finding in before.findings if finding.case == case]
        now = [finding for finding in after.findings if finding.case == case]
        for old, new in _pairs(was, now):
            if rows := _differences(finding_document(old), finding_document(new)):
                yield Change(_name(old), rows)
        yield from (_alone("gone", old) for old in was)
        yield from (_alone("new", new) for new in now)


def _pairs(was: list[Finding], now: list[Finding]) -> Iterator[tuple[Finding, Finding]]:
    """Takes out of both each finding and the one in its place, by what they have in common: the most first."""
    for alike in _ALIKE:
        for old in list(was):
            new = next((one for one in now if alike(old, one)), None)
            if new is not None:
                was.remove(old)
                now.remove(new)
                yield old, new


_ALIKE: tuple[Alike, ...] = (
    lambda a, b: finding_document(a) == finding_document(b),
    lambda a, b: (a.code, a.client, a.route) == (b.code, b.client, b.route),
    lambda a, b: bool(set(a.evidence) & set(b.evidence)),
    lambda a, b: (a.client, a.route) == (b.client, b.route),
)


def _alone(word: str, finding: Finding) -> Change:
    made = " ".join(part for part in (finding.product, finding.vendor_code) if part)
    said = " · ".join(part for part in (finding.verdict, finding.layer, made, finding.title) if part)
    return Change(_name(finding), ((word, said),))


def _name(finding: Finding) -> str:
    return " · ".join(part for part in (finding.case, finding.code, finding.client, finding.route) if part)


# --- attributions ----------------------------------------------------------------------------------------


def _answers(before: Run, after: Run) -> Iterator[Change]:
    """Answers that changed in the same way are told as one."""
    was = {exchange.id: exchange for exchange in _exchanges(before)}
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for exchange in _exchanges(after):
        old = was.get(exchange.id)
        if old is not None and (rows := _differences(_row(old), _row(exchange))):
            groups.setdefault(rows, []).append(exchange.id)
    for rows, ids in groups.items():
        yield Change(f"{len(ids)} answer{'' if len(ids) == 1 else 's'}", (*rows, ("such as", ids[0])))


def _exchanges(run: Run) -> Iterator[Exchange]:
    return (exchange for call in run.calls for exchange in call.exchanges)


def _row(exchange: Exchange) -> dict[str, Any]:
    found = exchange.attribution
    return {field.name: getattr(found, field.name, None) for field in fields(Attribution)}


def _missing(after: Run) -> Iterator[Change]:
    """What today's flows ask and the stored run does not hold."""
    groups: dict[str, list[str]] = {}
    for call in after.calls:
        if call.not_sent is NotSent.NOT_RECORDED:
            groups.setdefault(call.case, []).append(f"{call.trial.label}#{call.repeat}")
    for case, labels in groups.items():
        yield Change(case, (("not recorded", f"{len(labels)} asked for today, such as {labels[0]}"),))


# --- both ------------------------------------------------------------------------------------------------


def _differences(was: dict[str, Any], now: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    differ = [name for name in (*_JUDGED, *was) if name in was and was[name] != now[name]]
    judged = [name for name in dict.fromkeys(differ) if name in _JUDGED]
    reworded = [_word(name) for name in dict.fromkeys(differ) if name not in _JUDGED]
    rows = [(_word(name), f"{_text(was[name])} → {_text(now[name])}") for name in judged]
    return (*rows, *([("put otherwise", ", ".join(reworded))] if reworded else ()))


def _word(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
