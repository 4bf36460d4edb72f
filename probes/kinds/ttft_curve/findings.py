"""What do the times of a curve come to, and can it be told?"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.ttft_curve import fit
from probes.kinds.ttft_curve.decode import at_once, decode, unwritten
from probes.kinds.ttft_curve.measured import LEAST, Measured, measured
from probes.kinds.words import duration, listed, median_of
from probes.model import Confidence, Figure, Layer, Reason
from probes.sampling import drift, figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from probes.model import Call, Case, Finding

LEAST_LENGTHS = 4
"""Without which there is no curve."""
_SURE = 2.0
"""Upper end of the slope's interval by its lower one, above which a speed is no figure but a guess."""
_STRAIGHT = 0.15
"""Off the line by less is straight enough to be told as such."""
GROWS = 0.25
"""Of the shortest prompt's TTFT, that it has to grow by to the longest."""
_FURTHER = "Ask with longer prompts (--set lengths=2048,4096,8192,16384,24576,32768 --max-tokens-total 900000) and more repeats, when the server is quiet."
_CACHE = (
    "every request had a text of its own; a cache that answers all the same, a wait that hides the reading of the prompt, or a "
    "model that reads far faster than these lengths show, is what is left"
)


def judged(case: Case, calls: Sequence[Call], rng: Random, refused: Sequence[int] = ()) -> Finding:
    """Of good calls, in the order in which they were asked; `refused`: lengths that the API does not take."""
    seen = measured(calls)
    found = _judged(case, calls, seen, rng)
    if not refused:
        return found
    row = (
        "not asked",
        f"prompts of some {listed([f'{n:,}' for n in refused])} tokens, which the API refuses",
    )
    return replace(found, detail=(*found.detail, row))


def _judged(case: Case, calls: Sequence[Call], seen: Measured, rng: Random) -> Finding:
    if (unfit := _unfit(case, calls, seen)) is not None:
        return unfit
    points = {n: [sample.value for sample in side.ttft] for n, side in seen.sides.items()}
    again, fitted = fit.resampled(points, rng), fit.line(points)
    sure = fit.interval(each.slope for each in again)
    off = fit.departure(points, fitted)
    bent = abs(off) > _STRAIGHT and fit.bent(points, fitted, rng)
    if bent and (last := fit.stops(points, rng)) is not None:
        return _unknown(
            case, calls, seen, Reason.MIXED, f"TTFT hardly grows beyond {last:,} tokens of the prompt",
            f"{_cost(points, last)}, though the usage counts {max(points):,}: the prompt may be cut on its way, or come from a cache",
            f"Ask for something that stands at the begin and at the end of a prompt of more than {last:,} tokens: is all of it read?",
        )  # fmt: skip
    if (doubt := _doubt(points, fitted, sure)) is not None:
        title, because = doubt
        return _unknown(case, calls, seen, Reason.MIXED, title, because, _FURTHER)
    if bent:
        return _told(case, calls, seen, *_bent(points, off, rng), None, Confidence.MEDIUM)
    return _straight(case, calls, seen, points, again, fitted, sure)


def _unfit(case: Case, calls: Sequence[Call], seen: Measured) -> Finding | None:
    """Where the samples are no curve."""
    moved = drift(seen.control)
    if not seen.counted:
        return _unknown(
            case, calls, seen, Reason.TOO_FEW, "The server does not say how many tokens a prompt has",
            "its usage counts no prompt, or longer ones as no more than shorter ones: without that no speed is a fact",
            "Have it send its true usage in streams.",
        )  # fmt: skip
    full = {n: side for n, side in seen.sides.items() if len(side.ttft) >= LEAST}
    if len(full) < LEAST_LENGTHS or len(full) < len(seen.sides):
        return _unknown(
            case, calls, seen, Reason.MIXED if seen.left_out.get("cache") else Reason.TOO_FEW,
            "The curve can't be told: too few samples are of one kind", f"left out: {seen.without()}",
            "Ask again with more repeats (--set repeats=10), and with another --seed where one was given.",
        )  # fmt: skip
    whole, told = at_once(calls)
    if 2 * whole >= told > 0:
        return _unknown(
            case, calls, seen, Reason.MIXED, "The answers came whole: no time to a first token was seen",
            f"{whole} of {told} came with all of their tokens in one moment: what stands as TTFT is the time to the whole answer",
            "Ask suite streams whether something holds streams back, and again here once they flow.",
        )  # fmt: skip
    if moved is not None and (moved.sure or moved.open):
        title, took = (
            ("The server itself changed its pace while the curve was measured", "took")
            if moved.sure
            else ("The server itself may have changed its pace while the curve was measured", "may have come to take")
        )  # fmt: skip
        return _unknown(
            case, calls, seen, Reason.DRIFT, title, f"the control, always of one size, {took} {moved}",
            "Ask again when the server is less busy.",
        )  # fmt: skip
    return None


def _cost(points: fit.Points, last: int) -> str:
    """What the prompts from there on took."""
    took = [f"{duration(median(points[n]))} at {n:,}" for n in sorted(points) if n >= last]
    return f"a first token took {listed(took)}"


def _doubt(points: fit.Points, fitted: fit.Line, sure: tuple[float, float]) -> tuple[str, str] | None:
    """Why the slope is no speed: flat, or too noisy to say how steep."""
    shortest, longest = min(points), max(points)
    grown, most = (
        (longest - shortest) * slope / median(points[shortest]) for slope in (fitted.slope, sure[1])
    )
    if grown < GROWS and most < 2 * GROWS:
        return "TTFT hardly grows with the prompt", _CACHE
    if grown < GROWS or sure[0] <= 0 or sure[1] > _SURE * sure[0]:
        low, high = (1e3 * slope for slope in sure)
        because = f"a token of the prompt takes between {low:.3g} and {high:.3g} ms: too wide for a speed"
        return "The answers vary too much to tell a prefill speed", because
    return None


_Said = tuple[str, dict[str, Figure], list[tuple[str, str]]]
"""Title, figures and rows."""


def _straight(
    case: Case,
    calls: Sequence[Call],
    seen: Measured,
    points: fit.Points,
    again: Sequence[fit.Line],
    fitted: fit.Line,
    sure: tuple[float, float],
) -> Finding:
    """One speed, as no departure from one line is beyond chance."""
    n, off = sum(map(len, points.values())), fit.departure(points, fitted)
    prefill = Figure(1 / fitted.slope, "tokens/s", n, 1 / sure[1], 1 / sure[0])
    base = Figure(fitted.base, "s", n, *fit.interval(each.base for each in again))
    figures = {"prefill": prefill, "base": base, "departure": Figure(off, "share", len(points))}
    before = duration(max(fitted.base, 0.0))
    said = f"lengths lie off it by {_share(off)} at the most"
    near = abs(off) <= _STRAIGHT
    rows = [
        ("prefill", f"{_rate(prefill)}, and {before} before it that no prompt explains"),
        ("line", f"straight: {said}" if near else f"as straight as can be told: {said}, which their own scatter explains"),
    ]  # fmt: skip
    confidence = Confidence.HIGH if near else Confidence.MEDIUM
    title = f"Prefill {_speed(prefill.value)} tokens/s"
    return _told(case, calls, seen, title, figures, rows, fitted, confidence)


def _bent(points: fit.Points, off: float, rng: Random) -> _Said:
    """A speed of each half, and none of all lengths."""
    figures, said = {"departure": Figure(off, "share", len(points))}, []
    for name, half in zip(("shorter", "longer"), fit.halves(points), strict=True):
        fitted, sure = fit.line(half), fit.interval(each.slope for each in fit.resampled(half, rng))
        between = f"in the {name} half, from {min(half):,} to {max(half):,} tokens,"
        if sure[0] <= 0:
            said.append(f"{between} too little growth to tell")
            continue
        n = sum(map(len, half.values()))
        rate = Figure(1 / fitted.slope, "tokens/s", n, 1 / sure[1], 1 / sure[0])
        figures[f"prefill_{name}"] = rate
        said.append(f"{between} {_rate(rate)}")
    speeds = [_speed(figure.value) for name, figure in figures.items() if name.startswith("prefill_")]
    title = f"Prefill {' to '.join(speeds) or 'of no one speed'}{' tokens/s' if speeds else ''}, not the same at every length"
    line = f"no straight line: lengths lie off one by {_share(off)} at the most, more than their own scatter explains"
    return title, figures, [("prefill", "; ".join(said)), ("line", line)]


def _told(
    case: Case,
    calls: Sequence[Call],
    seen: Measured,
    title: str,
    figures: dict[str, Figure],
    rows: list[tuple[str, str]],
    fitted: fit.Line | None,
    confidence: Confidence,
) -> Finding:
    """With the speed of writing; `fitted`: the line that TTFT follows, where it follows one."""
    figures = {**figures, **seen.figures()}
    if (written := decode(seen)) is None:
        rows.append(("decode", f"not measured: {unwritten(seen)}"))
    else:
        figures |= {"decode": written.rate, "decode_slowdown": written.slower}
        title += f", decode {_speed(written.rate.value)} tokens/s"
        rows.append(
            ("decode", f"{_rate(written.rate)} behind {written.shortest:,} tokens; {written.words()}")
        )
        if fitted is not None and (residual := written.residual(seen, fitted)) is not None:
            figures["residual"] = residual
            parts = f"prompt/{_speed(1 / fitted.slope)} + output/{_speed(written.rate.value)}"
            said = f"{100 * residual.value:.1f} % (median, n {residual.n})"
            rows.append(("model", f"total = {fitted.base:.3g} s + {parts}; answers lie off it by {said}"))
    return _conclude(
        case, "ok", calls, seen,
        title=title, figures=figures, detail=(*seen.rows(), *rows, *_beside(seen)), confidence=confidence,
    )  # fmt: skip


def _share(value: float) -> str:
    return f"{100 * abs(value):.0f} %"


def _beside(seen: Measured) -> list[tuple[str, str]]:
    rows = []
    if seen.control:
        said = median_of(figure(seen.control))
        if (moved := drift(seen.control)) is not None:
            drifts = "it drifts" if moved.sure else "it may drift" if moved.open else "no drift"
            said += f"; where it differs most, {moved}: {drifts}"
        rows.append(("control", said))
    if seen.without():
        rows.append(("left out", seen.without()))
    return rows


def _unknown(
    case: Case, calls: Sequence[Call], seen: Measured, reason: Reason, title: str, because: str, advice: str
) -> Finding:
    """What was seen stands beside it, but for a speed."""
    return _conclude(
        case, "not_measured", calls, seen,
        reason=reason, title=title, advice=advice, figures=seen.figures(),
        detail=(*seen.rows(), ("because", because), *_beside(seen)), product=None, vendor_code=None,
    )  # fmt: skip


def _conclude(case: Case, code: str, calls: Sequence[Call], seen: Measured, **fields: Any) -> Finding:
    last = calls[-1].last if calls else None
    return conclude(
        case, code, last,
        client=calls[-1].trial.client if calls else None,
        layer=Layer.PROBE if code != "ok" else last.attribution.layer if last and last.attribution else Layer.UNKNOWN,
        conditions={**(last.conditions if last is not None else {}), **seen.conditions},
        evidence=tuple(call.last.id for call in calls if call.last is not None),
        **{"confidence": Confidence.HIGH, **fields},
    )  # fmt: skip


def _rate(rate: Figure) -> str:
    return f"{_speed(rate.value)} tokens/s ({_speed(rate.low or 0)} to {_speed(rate.high or 0)}, n {rate.n})"


def _speed(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
