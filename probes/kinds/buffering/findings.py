"""What is said of how a stream arrived?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.arrivals import MOMENT, How, made
from probes.kinds.buffering.knobs import advice
from probes.kinds.conclude import conclude
from probes.kinds.length.limits import conditions
from probes.kinds.streaming.by_route import ORIGIN
from probes.kinds.words import duration
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason, Verdict
from probes.twins import confounders

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_GATHERED = (
    "a server that writes several events at a time looks the same; whoever gathers them, users see it stutter"
)
_SMALL_GOES = "The stream comes a few events at a time, too often for a reader to notice"
_NOT_TOLD = ("not told", "whether its maker gathers them, or somebody on the way")
_OPENED = "at the pace of the others they were made one after another; a server that gathers its first ones looks the same"


def fine(case: Case, looked: Looked, also: Looked | None) -> Finding:
    """`also`: the second stream, where it says the same."""
    last, seen = last_of(looked), looked.arrivals
    rows = [("seen", in_words(looked))]
    if also is not None and also is not looked:
        rows.append(("also", f"to a large request: {in_words(also)}"))
    if (coding := last.body_encoding or "identity") != "identity":
        rows.append(("compressed", f"{coding}, and given out event by event all the same"))
    title = "The stream comes as it is made"
    if seen.fluent:
        title = _SMALL_GOES
        rows.append(_NOT_TOLD)
    elif seen.how is not How.FLOWS:
        title = "The stream comes at once, and was made at once"
        rows.append(("because", _stamped(looked)))
    return conclude(
        case, "ok", last, title=title, detail=tuple(rows), next_test=None, **measured(case, looked),
        observed=Observed(0, 1 if also in {None, looked} else 2),
    )  # fmt: skip


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
    seen, last = looked.arrivals, last_of(looked)
    stamps = made(last)
    if stamps is not None and stamps[1] > max(_PLAINLY * seen.span, MOMENT):
        return f"by its own {stamps[0]} the server made it over {stamps[1]:.1f} s or more, and it came within {duration(seen.span)}"
    if seen.how is How.WHOLE and last.header("content-length") is not None:
        return "it has a Content-Length, so somebody had it whole before its first byte was sent"
    if seen.by_bytes:
        return (
            f"{seen.severed} of {len(seen.groups) - 1} steps end in the middle of an event: a buffer of bytes was full, "
            "and no event was over"
        )
    late = (last.facts.get("made") or {}).get("late")
    if seen.how is How.STEPS and late is not None and late > max(seen.pause / 2, MOMENT):
        return f"by the server's own stamps one event was on its way {late:.1f} s longer than another"
    return None


def made_at_once(looked: Looked) -> bool:
    """By the server's own word it took no longer to make than to arrive."""
    stamps = made(last_of(looked))
    return stamps is not None and stamps[2] <= max(_AS_MADE * looked.arrivals.span, MOMENT)


def alone(case: Case, looked: Looked, why: str | None) -> Finding:
    """Held by its own evidence; or events in groups, of which nobody knows who gathers them."""
    seen = looked.arrivals
    fields: dict[str, Any] = {"layer": Layer.UNKNOWN, "next_test": TO_THE_ORIGIN, "observed": Observed(1, 1)}
    if why is not None:
        return held_back(case, looked, (("because", why),), confidence=Confidence.HIGH, **fields)
    if seen.fluent:
        return _in_small_goes(case, looked)
    so = _OPENED if seen.opening else _GATHERED
    fields |= {"verdict": Verdict.WARN, "confidence": Confidence.LOW}
    return held_back(case, looked, (("so", so),), **fields)


def _in_small_goes(case: Case, looked: Looked) -> Finding:
    return conclude(
        case, "ok", last_of(looked), next_test=None, observed=Observed(0, 1),
        title=_SMALL_GOES, detail=(("seen", in_words(looked)), _NOT_TOLD),
        **measured(case, looked),
    )  # fmt: skip


def in_words(looked: Looked) -> str:
    seen = looked.arrivals
    if not seen.tokens:
        return "no text came"
    if seen.how is How.WHOLE:
        how = f"all within {duration(seen.span)}"
    elif seen.how is How.STEPS:
        how = f"in {len(seen.groups)} goes with {duration(seen.pause)} of silence between them"
    elif seen.opening:
        how = f"{seen.opening} at once with it, the others spread over {duration(seen.span)}"
    else:
        how = f"spread over {duration(seen.span)}"
    return f"{seen.tokens} events with text, the first after {duration(seen.waited)}, {how}"


def held_back(
    case: Case, looked: Looked, rows: tuple[tuple[str, str], ...], *, when: str = "", **fields: Any
) -> Finding:
    """`when`: in the title; `fields` hold at least a layer and the next test."""
    last = last_of(looked)
    made_by = last.attribution
    products = made_by.transit if made_by is not None else ()
    return conclude(
        case,
        "stream.buffered",
        last,
        product=products[0] if fields["layer"] is Layer.EDGE and len(products) == 1 else None,
        vendor_code=None,
        title=f"The {_what(looked, when)}",
        detail=(("seen", in_words(looked)), *rows, *_coded(last)),
        advice=advice(fields.get("factor"), products),
        **measured(case, looked),
        **fields,
    )


def _what(looked: Looked, when: str) -> str:
    seen, so = looked.arrivals, f" {when}" if when else ""
    if seen.how is How.WHOLE:
        return f"stream is held back until it is over{so}"
    if seen.opening:
        return f"beginning of the stream is held back{so}"
    size, apart = seen.step_bytes, seen.step_seconds
    every = [f"one every {duration(apart)}"] if apart is not None else []
    parts = [f" of about {size / 1024:.1f} KiB", *every] if size is not None else ["", *every]
    aside = "," if so and every and size is None else ""
    return f"stream is given out in steps{', '.join(parts)}{aside}{so}"


def _coded(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    coding = exchange.body_encoding
    return (("compressed", f"content-encoding: {coding}"),) if coding and coding != "identity" else ()


def _stamped(looked: Looked) -> str:
    stamps = made(last_of(looked))
    return f"by its own {stamps[0]} the server took {duration(stamps[2])} at the most" if stamps else ""


def unclear(
    case: Case, looked: Looked, title: str, seen: str, reason: Reason = Reason.TOO_FEW, **fields: Any
) -> Finding:
    return conclude(
        case,
        "not_measured",
        last_of(looked),
        layer=Layer.UNKNOWN,
        product=None,
        reason=reason,
        title=title,
        detail=(("seen", seen),),
        **{
            "advice": "Ask for a longer answer (--set tokens=N) where the model gives one, or run it again at another hour.",
            "next_test": TO_THE_ORIGIN,
            "confidence": Confidence.HIGH,
            **measured(case, looked),
            **fields,
        },
    )


def measured(case: Case, looked: Looked) -> dict[str, Any]:
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
    held = conditions(case, call.trial.client, last_of(looked), call.trial.deadline, together)
    return {"client": call.trial.client, "figures": figures, "conditions": held}


def last_of(looked: Looked) -> Exchange:
    assert looked.call.last is not None
    return looked.call.last
