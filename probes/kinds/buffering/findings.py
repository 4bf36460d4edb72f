"""What is said of how a stream arrived?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.arrivals import How, made
from probes.kinds.buffering.knobs import advice
from probes.kinds.conclude import conclude
from probes.kinds.length.limits import conditions
from probes.kinds.streaming.by_route import ORIGIN
from probes.kinds.words import duration
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason, Verdict
from probes.twins import confounders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.buffering.growth import Growth
    from probes.kinds.buffering.trials import Looked
    from probes.model import Case, Exchange, Finding
    from probes.twins import Twin

TO_THE_ORIGIN = "the same stream straight to the origin: does it flow there?"
_WHEN = {
    Factor.ACCEPT_ENCODING: "where the client takes compressed answers",
    Factor.ROUTE: "on the edge route alone",
    Factor.HTTP_VERSION: "over HTTP/1.1 alone",
    Factor.SIZE: "where the request is large",
}
_BESIDE = {
    Factor.ACCEPT_ENCODING: "with Accept-Encoding: identity",
    Factor.ROUTE: f"over the route {ORIGIN}",
    Factor.HTTP_VERSION: "over HTTP/2",
    Factor.SIZE: "to a small request",
}
_AS_MADE = 2.0
"""Times its own generation that a stream may take to come, and still come as it was made."""
_PLAINLY = 3.0
_MOMENT = 0.25
"""Seconds: less is no hold that a reader would see."""
_SEVERED = 2


def fine(case: Case, looked: Looked, also: Looked | None) -> Finding:
    """`also`: the second stream, where it says the same."""
    last, seen = _last(looked), looked.arrivals
    rows = [("seen", in_words(looked))]
    if also is not None and also is not looked:
        rows.append(("also", f"to a large request: {in_words(also)}"))
    if (coding := last.body_encoding or "identity") != "identity":
        rows.append(("compressed", f"{coding}, and given out event by event all the same"))
    title = "The stream comes as it is made"
    if seen.how is not How.FLOWS:
        title = "The stream comes at once, and was made at once"
        rows.append(("because", _stamped(looked)))
    return conclude(
        case, "ok", last, title=title, detail=tuple(rows), next_test=None, **_measured(case, looked),
        observed=Observed(0, 1 if also in {None, looked} else 2),
    )  # fmt: skip


def untold(case: Case, looked: Looked) -> Finding:
    """What was too short or too fast to tell is not called good."""
    return unclear(
        case,
        looked,
        "The stream is too short or too fast to tell whether it is held back",
        looked.arrivals.why or in_words(looked),
        reason=Reason.TAINTED if looked.arrivals.ours else Reason.TOO_FEW,
    )


def twins(case: Case, looked: Looked, pairs: Sequence[tuple[Factor, Twin]]) -> Finding:
    """Of those factors that are proven the first is claimed; what flows on the origin route is held on the way."""
    proven = [(factor, pair) for factor, pair in pairs if pair.claimed]
    if not proven:
        _, pair = pairs[0]
        said = "; ".join(
            f"{_BESIDE[factor]}: {pair.control.k} of {pair.control.n} held" for factor, pair in pairs
        )
        return unclear(
            case, looked, "The stream is held now and then, and nothing that was tried makes the difference",
            f"{pair.variant.k} of {pair.variant.n} held as customers ask; {said}", reason=Reason.MIXED,
        )  # fmt: skip
    factor, pair = proven[0]
    control, variant = pair.control.calls[-1].last, pair.variant.calls[-1].last
    assert control is not None
    assert variant is not None
    by_route = any(factor is Factor.ROUTE for factor, _ in proven)
    flows = [_BESIDE[factor] for factor, _ in proven]
    fields = {
        "layer": Layer.EDGE if by_route else Layer.UNKNOWN,
        "factor": factor,
        "control": control.id,
        "variant": variant.id,
        "confounders": confounders(control, variant, meant(factor)),
        "observed": Observed(pair.variant.k, pair.variant.n),
        "confidence": Confidence.HIGH,
        "next_test": None if by_route else TO_THE_ORIGIN,
    }
    rows = (
        ("because", f"the same stream flows {' and '.join(flows)}, {pair.control.n} of {pair.control.n}"),
    )
    return held_back(case, looked, rows, when=_WHEN[factor], **fields)


def meant(factor: Factor) -> tuple[str, ...]:
    return {
        Factor.ACCEPT_ENCODING: ("accept-encoding",),
        Factor.ROUTE: ("host",),
        Factor.SIZE: ("content-length",),
        Factor.HTTP_VERSION: ("http_version",),
    }.get(factor, ())


def proof(looked: Looked) -> str | None:
    """That this one stream was held, by itself; `None` where it may as well have been made so."""
    seen, last = looked.arrivals, _last(looked)
    stamps = made(last)
    if stamps is not None and stamps[1] > max(_PLAINLY * seen.span, _MOMENT):
        return f"by its own {stamps[0]} the server made it over {stamps[1]:.1f} s or more, and it came within {duration(seen.span)}"
    if seen.how is How.WHOLE and last.header("content-length") is not None:
        return "it has a Content-Length, so somebody had it whole before its first byte was sent"
    if seen.how is How.STEPS and seen.severed >= _SEVERED:
        return (
            f"{seen.severed} of {len(seen.groups) - 1} steps end in the middle of an event: a buffer of bytes was full, "
            "and no event was over"
        )
    late = (last.facts.get("made") or {}).get("late")
    if seen.how is How.STEPS and late is not None and late > max(seen.pause / 2, _MOMENT):
        return f"by the server's own stamps one event was on its way {late:.1f} s longer than another"
    return None


def made_at_once(looked: Looked) -> bool:
    """By the server's own word it took no longer to make than to arrive."""
    stamps = made(_last(looked))
    return stamps is not None and stamps[2] <= max(_AS_MADE * looked.arrivals.span, _MOMENT)


def alone(case: Case, looked: Looked, why: str | None) -> Finding:
    """Held by its own evidence; or events in groups, of which nobody knows who gathers them."""
    fields: dict[str, Any] = {"layer": Layer.UNKNOWN, "next_test": TO_THE_ORIGIN, "observed": Observed(1, 1)}
    if why is not None:
        return held_back(case, looked, (("because", why),), confidence=Confidence.HIGH, **fields)
    so = "a server that writes several events at a time looks the same; whoever gathers them, users see it stutter"
    fields |= {"verdict": Verdict.WARN, "confidence": Confidence.LOW}
    return held_back(case, looked, (("so", so),), **fields)


def grown(case: Case, looked: Looked, grown: Growth) -> Finding:
    last = grown.pairs[-1]
    rows = (
        ("as long", f"{in_words(last.short)}"),
        ("longer", f"{in_words(last.long)}"),
    )  # fmt: skip
    if grown.held is None:
        return unclear(
            case, looked, "Whether the stream is held back can't be told: it is made too fast, or too unevenly",
            f"{in_words(last.short)}; longer: {in_words(last.long)}",
        )  # fmt: skip
    if not grown.held:
        return conclude(
            case, "ok", _last(looked), next_test=None, observed=Observed(0, len(grown.pairs)),
            title="The stream comes as it is made, and fast",
            detail=(("seen", in_words(looked)), *rows, ("so", "the first token does not wait for the last")),
            **_measured(case, looked),
        )  # fmt: skip
    n = len(grown.pairs)
    because = (
        f"a longer answer's first token came {last.wait:.1f} s later, {n} of {n}, and its tokens followed each other within "
        f"{duration(last.long.arrivals.span)}: the first waits for the last"
    )
    control, variant = last.short.call.last, last.long.call.last
    return held_back(
        case, looked, (*rows, ("because", because)), layer=Layer.UNKNOWN, next_test=TO_THE_ORIGIN,
        observed=Observed(n, n), confidence=Confidence.HIGH if n >= 3 else Confidence.MEDIUM,
        control=control.id if control else None, variant=variant.id if variant else None,
    )  # fmt: skip


def in_words(looked: Looked) -> str:
    seen = looked.arrivals
    if seen.how is How.WHOLE:
        how = f"all within {duration(seen.span)}"
    elif seen.how is How.STEPS:
        how = f"in {len(seen.groups)} goes with {duration(seen.pause)} of silence between them"
    else:
        how = f"spread over {duration(seen.span)}"
    return f"{seen.tokens} events with text, the first after {duration(seen.waited)}, {how}"


def held_back(
    case: Case, looked: Looked, rows: tuple[tuple[str, str], ...], *, when: str = "", **fields: Any
) -> Finding:
    """`when`: in the title; `fields` hold at least a layer and the next test."""
    seen, last = looked.arrivals, _last(looked)
    what = "held back until it is over" if seen.how is How.WHOLE else f"given out in steps{_of(looked)}"
    made_by = last.attribution
    products = made_by.transit if made_by is not None else ()
    return conclude(
        case,
        "stream.buffered",
        last,
        product=products[0] if fields["layer"] is Layer.EDGE and len(products) == 1 else None,
        vendor_code=None,
        title=f"The stream is {what}{f' {when}' if when else ''}",
        detail=(("seen", in_words(looked)), *rows, *_coded(last)),
        advice=advice(fields.get("factor"), products),
        **_measured(case, looked),
        **fields,
    )


def _of(looked: Looked) -> str:
    size, apart = looked.arrivals.step_bytes, looked.arrivals.step_seconds
    said = [f"about {size / 1024:.1f} KiB"] if size is not None else []
    said += [f"one every {duration(apart)}"] if apart is not None else []
    return f" of {', '.join(said)}" if size is not None else f", {said[0]}," if said else ""


def _coded(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    coding = exchange.body_encoding
    return (("compressed", f"content-encoding: {coding}"),) if coding and coding != "identity" else ()


def _stamped(looked: Looked) -> str:
    stamps = made(_last(looked))
    return f"by its own {stamps[0]} the server took {duration(stamps[2])} at the most" if stamps else ""


def unclear(case: Case, looked: Looked, title: str, seen: str, reason: Reason = Reason.TOO_FEW) -> Finding:
    return conclude(
        case,
        "not_measured",
        _last(looked),
        layer=Layer.UNKNOWN,
        product=None,
        reason=reason,
        title=title,
        detail=(("seen", seen),),
        advice="Ask for a longer answer (--set tokens=N) where the model gives one, or run it again at another hour.",
        next_test=TO_THE_ORIGIN,
        confidence=Confidence.HIGH,
        **_measured(case, looked),
    )


def _measured(case: Case, looked: Looked) -> dict[str, Any]:
    seen, call = looked.arrivals, looked.call
    figures = {
        "first_token": Figure(seen.waited, "s", 1),
        "first_to_last": Figure(seen.span, "s", 1),
        "late_bytes": Figure(seen.late, "share", 1),
        "events": Figure(seen.tokens, "events", 1),
        "arrivals": Figure(len(seen.groups), "groups", 1),
    }
    if seen.how is How.STEPS and seen.step_bytes is not None:
        figures["step"] = Figure(seen.step_bytes, "B", len(seen.groups))
    together = int(call.conditions.get("concurrency", 1))
    held = conditions(case, call.trial.client, _last(looked), call.trial.deadline, together)
    return {"client": call.trial.client, "figures": figures, "conditions": held}


def _last(looked: Looked) -> Exchange:
    assert looked.call.last is not None
    return looked.call.last
