"""Do streams count their tokens, and count them once?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, is_good
from probes.kinds.words import clients_of, listed
from probes.model import Ask, Confidence, Layer, Observed
from probes.samples import counted, outnumbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Finding

_ORIGIN_TOO = "the same stream straight to the origin"
_ONCE = (
    "Find the layer that sends events again, such as a relay that writes each chunk twice or a retry that joins the stream it "
    "repeats: no client can tell a repeat from the answer."
)
_TWICE = 0.45
"""Of the chunks, that repeat the one before where each comes twice."""
_LONGEST = 16
"""Characters a token, on the average of a whole answer: no tokenizer makes as long ones."""
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def uncounted(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Good streams that were asked for their usage and carry none."""
    good = [call for call in calls if is_good(call) and _asked(call)]
    bare = [call for call in good if call.last is not None and not call.last.facts.get("usage")]
    if not bare:
        return []
    last = bare[-1].last
    return [
        conclude(
            case,
            "stream.no_usage",
            last,
            layer=Layer.UNKNOWN,
            product=None,
            confidence=Confidence.MEDIUM,
            observed=Observed(len(bare), len(good)),
            detail=(
                (
                    "seen",
                    f"no usage in {len(bare)} of {len(good)} streams through {listed(clients_of(bare))}",
                ),
            ),
            next_test=_ORIGIN_TOO,
            evidence=tuple(call.last.id for call in bare if call.last is not None),
        )
    ]


def _asked(call: Call) -> bool:
    """Anthropic's messages and OpenAI's responses carry it unasked."""
    request = call.trial.request
    return isinstance(request, Ask) and (request.usage or request.endpoint != "chat")


def counted_twice(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Anthropic's `message_start` and `message_delta` each count the prompt, and not alike."""
    odd = [
        (call, names) for call in calls if is_good(call) and call.last and (names := _differing(call.last))
    ]
    if not odd:
        return []
    call, names = odd[-1]
    assert call.last is not None
    start, end = call.last.facts["usage_start"], call.last.facts["usage_last"]
    said = "; ".join(f"{name}: {start[name]} at the start, {end[name]} at the end" for name in names)
    return [
        conclude(
            case,
            "stream.usage_differs",
            call.last,
            layer=Layer.UNKNOWN,
            product=None,
            confidence=Confidence.MEDIUM,
            observed=Observed(len(odd), sum(map(is_good, calls))),
            detail=(("seen", f"{said}, through {listed(clients_of([c for c, _ in odd]))}"),),
            next_test=_ORIGIN_TOO,
            evidence=tuple(c.last.id for c, _ in odd if c.last is not None),
        )
    ]


def implausible(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Usages that contradict each other or the text that came, and text that came twice; one finding of each at the most."""
    good = [call for call in calls if is_good(call) and call.last is not None]
    found = []
    for code, otherwise, said in (
        ("stream.corrupted", {"title": "Each chunk of the answer comes twice", "advice": _ONCE}, doubled),
        ("stream.usage_wrong", {}, _wrong),
    ):
        met = [(call, why) for call in good if call.last is not None and (why := said(call.last))]
        if not met:
            continue
        call, why = met[-1]
        names = listed(clients_of([c for c, _ in met]))
        found.append(
            conclude(
                case, code, call.last, layer=Layer.UNKNOWN, product=None, confidence=Confidence.MEDIUM,
                observed=Observed(len(met), len(good)), detail=(("seen", f"{why}, through {names}"),), next_test=_ORIGIN_TOO,
                evidence=tuple(c.last.id for c, _ in met if c.last is not None), **otherwise,
            )
        )  # fmt: skip
    return found


def doubled(exchange: Exchange) -> str:
    """Why its text came twice; empty where it did not."""
    chunks, repeats = int(exchange.facts.get("tokens") or 0), int(exchange.facts.get("repeats") or 0)
    if not outnumbered(exchange, counted(exchange)) or repeats < _TWICE * chunks:
        return ""
    return (
        f"{repeats} of {chunks} chunks repeat the one before, and the usage counts {counted(exchange)} tokens"
    )


def _wrong(exchange: Exchange) -> str:
    facts, tokens = exchange.facts, counted(exchange)
    if conflict := facts.get("usage_conflict"):
        return "; ".join(f"{name} is {before}, and later {now}" for name, (before, now) in conflict.items())
    chars = int(facts.get("text_chars") or 0)
    if tokens is not None and outnumbered(exchange, tokens) and chars > _LONGEST * max(tokens, 1):
        return (
            f"{tokens} tokens by usage, and {chars:,} characters of text came in {facts.get('tokens')} chunks"
        )
    return ""


def _differing(exchange: Exchange) -> list[str]:
    """Output tokens differ by design: at the start there are hardly any."""
    start, end = exchange.facts.get("usage_start") or {}, exchange.facts.get("usage_last") or {}
    return [name for name in _INPUT if name in start and name in end and start[name] != end[name]]


def rows(exchange: Exchange) -> list[tuple[str, str]]:
    """What doubles where somebody adds up."""
    start, end = exchange.facts.get("usage_start") or {}, exchange.facts.get("usage_last") or {}
    both = [name for name in _INPUT if start.get(name) and end.get(name)]
    if not both or _differing(exchange):
        return []
    return [
        (
            "usage",
            f"{listed(both)} stand in message_start and again in message_delta: who adds both counts twice",
        )
    ]


def parts(exchanges: Sequence[Exchange]) -> list[tuple[str, str]]:
    """Why there is no time per token where there is a usage."""
    odd = [exchange for exchange in exchanges if outnumbered(exchange, counted(exchange))]
    if not odd:
        return []
    chunks, tokens = odd[-1].facts.get("tokens"), counted(odd[-1])
    return [
        (
            "chunks",
            f"{chunks} chunks with text came for {tokens} tokens by usage: parts of tokens, or miscounted; no time per token",
        )
    ]
