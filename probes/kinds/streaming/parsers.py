"""Which SDK fails on a stream that keeps to the standard?

The bytes say that the stream is good, the SDK that raised, or that handed over nothing, says that it can't read it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, is_good
from probes.kinds.streaming.seen import SDKS, software
from probes.kinds.words import listed
from probes.model import Ask, Attribution, Confidence, Layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Finding

_NOTHING = "0 chunks"
_UNSAFE = {
    "meta": (
        "openai.chat openai.responses",
        "openai-py",
        "a block of `id`, `retry` or `event` lines without data",
        "raises a JSONDecodeError: it makes an event without data of it",
    ),
    "empty": (
        "openai.chat openai.responses",
        "openai-py",
        "an event whose data is empty",
        "raises a JSONDecodeError",
    ),
    "unnamed": (
        "anthropic.messages",
        "anthropic-py",
        "events without an `event:` line",
        "drops each of them and hands over nothing",
    ),
}
"""Form → dialects, the SDK that was seen to break on it, the form in words, and what the SDK does with it."""
_DIALECT_OF = {"chat": "openai.chat", "responses": "openai.responses", "messages": "anthropic.messages"}
_SEEN_WITH = {"openai-py": "3.57.0", "anthropic-py": "2.14.0"}


def sdk_clients(case: Case) -> frozenset[str]:
    return frozenset(client.name for client in case.clients if client.kind in SDKS)


def as_read(case: Case, call: Call) -> Call:
    """A call whose stream is good, and which its SDK could not read, is the SDK's failure."""
    last = call.last
    if last is None or call.trial.client not in sdk_clients(case) or not is_good(call):
        return call
    lost = (call.returned or "").startswith(f"{_NOTHING}:") and last.facts.get("tokens")
    if call.raised is None and not lost:
        return call
    made = Attribution(Layer.CLIENT, "client.parser", confidence=Confidence.HIGH, next_test=_next_test(call))
    return replace(call, exchanges=(*call.exchanges[:-1], replace(last, attribution=made)))


def _next_test(call: Call) -> str:
    return f"another version of {software(call)}, and its makers' list of known faults"


def rows(finding: Finding, calls: Sequence[Call]) -> list[tuple[str, str]]:
    """What each SDK stumbled over."""
    if finding.code != "client.parser":
        return []
    found = [("software", listed(list(dict.fromkeys(map(software, calls)))))]
    last = calls[-1].last
    forms = (last.facts.get("forms") or {}) if last is not None else {}
    dialect = last.facts.get("dialect") if last is not None else None
    for name, (dialects, _, words, does) in _UNSAFE.items():
        if name in forms and dialect in dialects.split():
            found.append(
                ("because", f"{words} came, {forms[name]['line'][:60]!r}: legal, and this SDK {does}")
            )
    silent = [call.trial.client for call in calls if call.raised is None]
    if silent:
        found.append(("caller", f"{listed(silent)} raised nothing and handed over nothing"))
    return found


def _holds(call: Call, form: str, dialects: str) -> str | None:
    """The first line of the form, of a stream in one of the dialects; of a stream that was left before it said in which,
    it is the one that was asked for.
    """
    if call.last is None or not isinstance(call.trial.request, Ask):
        return None
    facts = call.last.facts
    dialect = facts.get("dialect") or _DIALECT_OF.get(call.trial.request.endpoint)
    found = (facts.get("forms") or {}).get(form)
    return str(found["line"]) if found and dialect in dialects.split() else None


def unsafe(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """One finding for each legal form on the wire that a named SDK can't read; none for one that an SDK of this run did
    read.
    """
    found = []
    read = {call.trial.client for call in calls if is_good(call) and call.raised is None}
    for form, (dialects, sdk, words, does) in _UNSAFE.items():
        seen = [call for call in calls if _holds(call, form, dialects) is not None]
        own = [call for call in seen if call.trial.client.startswith(sdk)]
        if not seen or any(call.trial.client in read for call in own):
            continue
        who = listed(sorted(set(map(software, own)))) if own else f"{sdk} {_SEEN_WITH[sdk]}"
        shown = (own or seen)[-1]
        line = _holds(shown, form, dialects) or ""
        found.append(
            conclude(
                case,
                "stream.sdk_unsafe",
                shown.last,
                title=f"The stream holds {words}: legal, but {who} can't read it",
                detail=(
                    ("seen", f"{line[:80]!r} through {listed(sorted({c.trial.client for c in seen}))}"),
                    ("because", f"{who} {does}{'' if own else ', as was measured elsewhere'}"),
                ),
                layer=Layer.UNKNOWN,
                product=None,
                confidence=Confidence.HIGH if own else Confidence.MEDIUM,
                next_test="the same stream straight to the origin: who sends that form?",
                evidence=tuple(call.last.id for call in seen if call.last is not None),
            )
        )
    return found
