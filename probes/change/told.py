"""How is a changed look of the edge told, in findings and in lines of a table?

What changed together is one finding for each party whose doing it can be: TLS, the edge, the origin. A mark that falls
into the time in which it changed explains it: it was meant, and passes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from probes.change.differences import Outcome
from probes.change.traits import CLIENT, HEADER
from probes.change.wording import alike, counted, in_words, rank, side_by_side, where_of
from probes.comparison import Row
from probes.model import Confidence, Finding, Layer, Observed, Reason, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from probes.canary import Mark
    from probes.change.differences import Change

KIND = "fingerprint"
_CODE = "regression.fingerprint"
_ORIGIN = "origin"
"""The route that leaves the edge out."""
_SLACK = timedelta(minutes=10)
"""A person marks a change shortly before making it or after."""
_SHOWN = 12
_SURE = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def findings(looked_at: Sequence[Change], case: str, marks: Sequence[Mark] = ()) -> tuple[Finding, ...]:
    """Of `compared`; at least one. `case`: the id that the findings are filed under, such as `smoke/baseline`.
    `marks`: those that can be of this target, in whatever time.
    """
    changed = [change for change in looked_at if change.outcome is Outcome.CHANGED]
    if changed:
        parties = _by_party(changed, looked_at)
        return tuple(_changed(layer, told, looked_at, case, marks) for layer, told in parties)
    same = [change for change in looked_at if change.outcome is Outcome.SAME]
    return (_same(same, case) if same else _nothing(case),)


def rows(looked_at: Sequence[Change], marks: Sequence[Mark] = ()) -> tuple[Row, ...]:
    """One for each trait that changed, and one that counts the others."""
    made = []
    for group in alike([change for change in looked_at if change.outcome is Outcome.CHANGED]):
        meant = all(_explaining(change, marks) for change in group)
        first = group[0]
        made.append(
            Row(
                first.of, where_of(group), counted([change.before for change in group]), counted([change.after for change in group]),
                Verdict.PASS if meant else Verdict.WARN, f"{first.why}{'; as marked' if meant else ''}",
            )
        )  # fmt: skip
    same = sum(change.outcome is Outcome.SAME for change in looked_at)
    untold = sum(change.outcome is Outcome.UNTOLD for change in looked_at)
    if same or not made:
        verdict = Verdict.PASS if same else Verdict.INCONCLUSIVE
        made.append(
            Row("look of the edge", "", "", "", verdict, f"{same} traits as before, {untold} not compared")
        )
    return tuple(made)


# --- whose doing -----------------------------------------------------------------------------------------


def _by_party(changed: Sequence[Change], looked_at: Sequence[Change]) -> Iterator[tuple[Layer, list[Change]]]:
    """What may be the edge's goes with what is."""
    parties: dict[Layer, list[Change]] = {}
    for change in changed:
        parties.setdefault(_layer(change, looked_at), []).append(change)
    unsure = parties.pop(Layer.UNKNOWN, [])
    if unsure:
        parties.setdefault(Layer.EDGE if Layer.EDGE in parties else Layer.UNKNOWN, []).extend(unsure)
    for layer in sorted(parties):
        yield layer, sorted(parties[layer], key=rank)


def _layer(change: Change, looked_at: Sequence[Change]) -> Layer:
    """What the route past the edge shows as well is the origin's, what it shows unchanged the edge's."""
    beside = next(
        (o for o in looked_at if o.route == _ORIGIN and (o.of, o.where) == (change.of, change.where)), None
    )
    told = [
        seen.layer for seen in (*change.after.seen, *change.before.seen) if seen.layer is not Layer.UNKNOWN
    ]
    if Layer.TLS in told:
        return Layer.TLS
    if (
        beside is not None
        and beside.outcome is Outcome.CHANGED
        and beside.after.values == change.after.values
    ):
        return Layer.ORIGIN
    if beside is not None and beside.outcome is Outcome.SAME:
        return Layer.EDGE
    # An error that the edge answers in the origin's place now, or did before, is the edge's doing.
    return Layer.EDGE if Layer.EDGE in told else told[0] if told else Layer.UNKNOWN


def _product(changed: Sequence[Change], layer: Layer) -> str | None:
    """The one that all of them name."""
    named = {
        seen.product
        for change in changed
        for seen in (*change.before.seen, *change.after.seen)
        if seen.layer is layer and seen.product
    }
    return named.pop() if len(named) == 1 else None


# --- in words --------------------------------------------------------------------------------------------


def _changed(
    layer: Layer, changed: Sequence[Change], looked_at: Sequence[Change], case: str, marks: Sequence[Mark]
) -> Finding:
    unsure = [change for change in changed if _layer(change, looked_at) is Layer.UNKNOWN]
    row, groups = vocabulary()[_CODE], alike(changed)
    meant = [mark for mark in marks if any(_explains(mark, change) for change in changed)]
    explained = all(_explaining(change, marks) for change in changed)
    lead = groups[0][0]
    more = len(groups) - 1
    others = f", and {more} more trait{'s' if more > 1 else ''}" if more else ""
    title = f"{in_words(groups[0])}{_since(lead)}{others}"
    clients = {change.where for change in changed if change.of == CLIENT}
    routes = {change.route for change in changed}
    sure = min((change.confidence or Confidence.LOW for change in changed), key=_SURE.index)
    ours = vocabulary()["ok"] if explained else row
    return Finding(
        code="ok" if explained else _CODE,
        verdict=Verdict.PASS if explained else row.verdict,
        case=f"{case}/{KIND}/{layer}",
        kind=KIND,
        layer=layer,
        product=_product(changed, layer),
        client=clients.pop() if len(clients) == 1 and len(changed) == 1 else None,
        route=routes.pop() if len(routes) == 1 else None,
        observed=None if explained else Observed(lead.after.n, lead.after.n),
        title=f"As marked: {title}" if explained else title,
        detail=(
            *((_word(number), side_by_side(group)) for number, group in enumerate(groups[:_SHOWN])),
            *((("and", f"{len(groups) - _SHOWN} more traits"),) if len(groups) > _SHOWN else ()),
            ("sure", _surely(lead)),
            *((("whose", _anybodys(unsure)),) if unsure and layer is Layer.EDGE else ()),
            *(("marked", said) for said in _marked(meant)),
        ),
        confidence=sure,
        who_acts=ours.who_acts,
        retryable=ours.retryable,
        advice="" if explained else row.advice,
        next_test="the same suite straight to the origin: do its answers look like that, too?"
        if unsure
        else None,
        evidence=tuple(dict.fromkeys(name for change in changed for seen in change.after.seen for name in seen.evidence))[:_SHOWN],
    )  # fmt: skip


def _anybodys(unsure: Sequence[Change]) -> str:
    names = sorted({change.of for change in unsure})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}: may be the origin's doing as well"


def _word(number: int) -> str:
    return "and" if number else "changed"


def _since(change: Change) -> str:
    span = change.between
    return f", seen since {_clock(span[1])}" if span is not None else ""


def _surely(change: Change) -> str:
    span = change.between
    since, until = (None, None) if span is None else (_clock(span[0]), _clock(span[1]))
    when = (
        f"; it changed between {since} and {until}"
        if since != until
        else f"; it changed at {since}"
        if since
        else ""
    )
    one = (
        "; so few runs may have met one machine of several" if change.confidence is Confidence.MEDIUM else ""
    )
    return f"{change.why}{when}{one}"


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


# --- marks -----------------------------------------------------------------------------------------------


def _explaining(change: Change, marks: Sequence[Mark]) -> bool:
    return any(_explains(mark, change) for mark in marks)


def _explains(mark: Mark, change: Change) -> bool:
    span = change.between
    return span is not None and span[0] - _SLACK <= mark.at <= span[1] + _SLACK


def _marked(meant: Sequence[Mark]) -> Iterator[str]:
    """That one of several did it says nothing of each."""
    if not meant:
        yield "nothing in that time"
    elif len(meant) == 1:
        yield f"{_mark_in_words(meant[0])}; that it did this is likely, not proven"
    else:
        yield from map(_mark_in_words, meant[:_SHOWN])
        more = f" and {len(meant) - _SHOWN} more" if len(meant) > _SHOWN else ""
        yield (
            f"that one of these {min(len(meant), _SHOWN)}{more} did this is likely; which, these runs can't tell "
            "(edgeprobe compare TEXT: before and after one of them)"
        )


def _mark_in_words(mark: Mark) -> str:
    who = f" by {mark.author}" if mark.author else ""
    return f"{_clock(mark.at)}, '{mark.text}'{who} ({mark.source})"


# --- nothing changed -------------------------------------------------------------------------------------


def _same(same: Sequence[Change], case: str) -> Finding:
    row = vocabulary()["ok"]
    what = {change.of for change in same}
    headers = sum(of.startswith(HEADER) for of in what)
    named = [
        *sorted(of for of in what if not of.startswith(HEADER)),
        *([f"{headers} headers"] if headers else []),
    ]
    return Finding(
        code="ok", verdict=Verdict.PASS, case=f"{case}/{KIND}", kind=KIND, title="The edge looks as before",
        detail=(("compared", f"{len(same)} traits: {', '.join(named)}"),), confidence=Confidence.HIGH,
        who_acts=row.who_acts, retryable=row.retryable,
    )  # fmt: skip


def _nothing(case: str) -> Finding:
    row = vocabulary()["not_measured"]
    return Finding(
        code="not_measured", verdict=Verdict.INCONCLUSIVE, case=f"{case}/{KIND}", kind=KIND, layer=Layer.PROBE,
        title="Whether the edge looks as before can't be told", reason=Reason.TOO_FEW, confidence=Confidence.HIGH,
        detail=(("seen", "no trait has enough answers to the same questions on both sides"),),
        who_acts=row.who_acts, retryable=row.retryable,
        advice="Take the runs to compare from the same suite, and several of each side.",
    )  # fmt: skip
