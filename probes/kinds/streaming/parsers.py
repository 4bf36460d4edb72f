"""Which SDK fails on a stream that keeps to the standard?

The bytes say that the stream is good, the SDK that raised, or that handed over nothing, says that it can't read it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from probes.kinds.conclude import conclude, is_good
from probes.kinds.streaming.seen import SDKS, software
from probes.kinds.words import clients_of, listed
from probes.model import Ask, Attribution, Confidence, Layer, WhoActs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Finding

_HANDED = re.compile(r"(\d+) chunks:")
_OPENAI, _ANTHROPIC = "openai.chat openai.responses", "anthropic.messages"
_FAILS = "raises a JSONDecodeError"


class _Form(NamedTuple):
    """A legal form, the dialects and the SDK that was seen to break on it, in words, and what becomes of it there; `beats`:
    servers send it to keep a connection alive.
    """

    name: str
    dialects: str
    sdk: str
    words: str
    does: str
    beats: bool = False


_UNSAFE = (
    _Form("meta", _OPENAI, "openai-py", "a block of `id`, `retry` or `event` lines without data", f"it {_FAILS}: it makes an event without data of it", beats=True),
    _Form("empty", _OPENAI, "openai-py", "an event whose data is empty", f"it {_FAILS}", beats=True),
    _Form("unnamed", _ANTHROPIC, "anthropic-py", "events without an `event:` line", "it drops each of them without a word"),
    _Form("bom", _OPENAI, "openai-py", "a byte order mark (BOM)", "it drops the first event without a word, as it takes the mark for a part of the field's name"),
    _Form("bom", _ANTHROPIC, "anthropic-py", "a byte order mark (BOM)", "it drops the first event without a word, as it takes the mark for a part of the field's name"),
)  # fmt: skip
_KNOWN_EVENTS = (
    "message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta",
    "content_block_stop",
)  # fmt: skip
"""What anthropic-py hands over, by the name of the event."""
_DIALECT_OF = {"chat": "openai.chat", "responses": "openai.responses", "messages": "anthropic.messages"}
_SEEN_WITH = {"openai-py": "3.57.0", "anthropic-py": "2.14.0"}


def sdk_clients(case: Case) -> frozenset[str]:
    return frozenset(c.name for c in case.clients if c.kind in SDKS or c.package is not None)


def as_read(case: Case, call: Call) -> Call:
    """A call whose stream is good, and which its SDK could not read, is the SDK's failure."""
    last = call.last
    if last is None or call.trial.client not in sdk_clients(case) or not is_good(call):
        return call
    if call.raised is None and not _lost(call):
        return call
    made = Attribution(Layer.CLIENT, "client.parser", confidence=Confidence.HIGH, next_test=_next_test(call))
    return replace(call, exchanges=(*call.exchanges[:-1], replace(last, attribution=made)))


def _lost(call: Call) -> int:
    """Events of a stream read to its end that the SDK did not hand over; 0 where it can't be known."""
    last, handed = call.last, _HANDED.match(call.returned or "")
    if last is None or handed is None or last.facts.get("columns_capped"):
        return 0
    events = last.facts.get("events") or {}
    if last.facts.get("dialect") == _ANTHROPIC:
        unnamed = (last.facts.get("forms") or {}).get("unnamed") or {}
        came = sum((events.get(name) or {}).get("n", 0) for name in _KNOWN_EVENTS) + unnamed.get("n", 0)
    else:
        read = last.event_kinds.partition("d")[0]
        came = sum(read.count(letter) for letter in "vrko")
    nothing = int(last.facts.get("tokens") or 0) if int(handed[1]) == 0 else 0
    return max(int(came) - int(handed[1]), nothing)


def _next_test(call: Call) -> str:
    return f"another version of {software(call)}, and its makers' list of known faults"


def told(finding: Finding, calls: Sequence[Call]) -> Finding:
    """What each SDK stumbled over, and whose move it is: a form that a known SDK can't read is the server's to leave out."""
    if finding.code != "client.parser":
        return finding
    clients, quiet = listed(clients_of(calls)), [call for call in calls if call.raised is None]
    lost = len(quiet) == len(calls) and not any((c.returned or "").startswith("0 chunks") for c in calls)
    does = (
        "loses a part of"
        if lost and len(clients_of(calls)) == 1
        else "lose a part of"
        if lost
        else "cannot read"
    )
    rows = [("software", listed(list(dict.fromkeys(map(software, calls)))))]
    forms = [form for form in _UNSAFE if _holds(calls[-1], form) is not None]
    rows += [
        (
            "because",
            f"{form.words} came, {_holds(calls[-1], form)!a:.60}: legal, and with this SDK {form.does}",
        )
        for form in forms
    ]
    rows += [("caller", row) for row in dict.fromkeys(map(_handed, quiet))]
    found = replace(finding, title=f"{clients} {does} a stream that keeps to the standard", detail=(*finding.detail, *rows))  # fmt: skip
    if not forms:
        return found
    alive = "; a comment keeps a connection alive as well" if any(form.beats for form in forms) else ""
    advice = f"Leave {listed([form.words for form in forms])} out of streams, until an SDK is out that reads it{alive}."
    return replace(found, who_acts=WhoActs.OPERATOR, advice=advice)


def _handed(call: Call) -> str:
    if (call.returned or "").startswith("0 chunks"):
        return f"{call.trial.client} raised nothing and handed over nothing"
    return (
        f"{call.trial.client} raised nothing, and {_lost(call)} of the events that came were not handed over"
    )


def _holds(call: Call, form: _Form) -> str | None:
    """The first line of the form, of a stream in one of the dialects; of a stream that was left before it said in which,
    it is the one that was asked for.
    """
    if call.last is None or not isinstance(call.trial.request, Ask):
        return None
    facts = call.last.facts
    dialect = facts.get("dialect") or _DIALECT_OF.get(call.trial.request.endpoint)
    found = (facts.get("forms") or {}).get(form.name)
    return str(found["line"]) if found and dialect in form.dialects.split() else None


def unsafe(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """One finding for each legal form on the wire that a named SDK can't read; none where that SDK was of this run, and
    did read it or is told as `client.parser` with the form.
    """
    found = []
    for form in _UNSAFE:
        seen = [call for call in calls if _holds(call, form) is not None]
        own = [call for call in seen if call.trial.client.startswith(form.sdk)]
        if not seen or any(_read(call) or _failed(call) for call in own):
            continue
        who, shown = f"{form.sdk} {_SEEN_WITH[form.sdk]}", seen[-1]
        line = _holds(shown, form) or ""
        found.append(
            conclude(
                case,
                "stream.sdk_unsafe",
                shown.last,
                title=f"The stream holds {form.words}: legal, but {who} can't read it",
                detail=(
                    ("seen", f"{line[:80]!a} through {listed(sorted({c.trial.client for c in seen}))}"),
                    ("because", f"with {who} {form.does}, as was measured elsewhere"),
                ),
                layer=Layer.UNKNOWN,
                product=None,
                confidence=Confidence.MEDIUM,
                next_test="the same stream straight to the origin: who sends that form?",
                evidence=tuple(call.last.id for call in seen if call.last is not None),
            )
        )
    return found


def _read(call: Call) -> bool:
    return is_good(call) and call.raised is None


def _failed(call: Call) -> bool:
    made = call.last.attribution if call.last is not None else None
    return made is not None and made.code == "client.parser"
