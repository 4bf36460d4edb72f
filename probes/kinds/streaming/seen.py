"""What is there to say of a stream's end and bytes, beside its code?"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from probes import timers
from probes.kinds.length.clock import LIBRARIES
from probes.kinds.length.spans import survived, waited
from probes.kinds.words import duration, listed
from probes.model import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange, Finding

SDKS = frozenset({"openai_sdk", "anthropic_sdk"})
_SUSPECT_FROM = 5.0
"""Seconds: what ended earlier was hardly a timer's."""
_SILENT = 20
"""Times the pause between two chunks: a silence that long before an end is what ended it."""
_JITTER = 0.1
_NAMED = 3
_HOW = {
    "reset": "by a reset",
    "closed": "by a close without the end of its framing",
    "protocol": "in the middle of its framing",
    "lost": "unacknowledged",
}
_ENDED = frozenset({"stream.truncated", "stream.masked", "stream.error_event"})
_NO_CHOICES = (
    "a chunk has an empty list of choices and no usage: legal, and code that takes choices[0] unseen fails"
)


def rows(finding: Finding, calls: Sequence[Call], sdks: frozenset[str]) -> list[tuple[str, str]]:
    """Of a finding's calls; `sdks` are the clients that are an SDK."""
    exchanges = [call.last for call in calls if call.last is not None]
    if not exchanges:
        return []
    last = exchanges[-1]
    found: list[tuple[str, str]] = []
    if finding.code in _ENDED:
        found += [("ended", _how(last)), *_by_clock(exchanges), *_because(finding, last)]
    elif finding.code == "stream.malformed":
        found += _rewrapped(last)
    elif finding.code == "body.encoding":
        coding = last.header("content-encoding")
        found.append(("because", f"content-encoding: {coding} is declared, and the bytes are not in it"))
    elif finding.code == "stream.corrupted":
        found += _damaged(last)
    elif finding.code == "ok":
        found += _kept_alive(last) + _forms(last)
    if last.facts.get("sniffed"):
        kind = last.header("content-type")
        said = f"content-type: {kind}" if kind else "no content type"
        found.append(("type", f"{said} stands over a body that is an event stream by its first bytes"))
    if finding.code.startswith(("stream.", "body.")):
        found += _callers(calls, sdks)
    return found


def figures(finding: Finding, calls: Sequence[Call]) -> dict[str, Figure]:
    """How old a stream was when it ended, and how long it had been silent, in seconds."""
    if finding.code not in _ENDED:
        return {}
    ends = [_ended(call.last) for call in calls if call.last is not None]
    ages, silences = [end.age for end in ends], [end.silence for end in ends]
    return {
        name: Figure(median(values), "s", len(values), min(values), max(values))
        for name, values in (("age", ages), ("silence", silences))
    }


class _End(NamedTuple):
    """Seconds from the request to a stream's end, and those of them without a token before it; `idle`: that silence is
    what ended it, since none as long was survived before.
    """

    age: float
    silence: float
    idle: bool


def _ended(exchange: Exchange) -> _End:
    """Who ends a stream with words of his own, an error or a marker, ends it then."""
    line = exchange.timeline
    words = exchange.facts.get("errors") or exchange.facts.get("terminal")
    end = line.last_byte if words and exchange.error is None else line.end
    heard = line.last_token if words else line.last_byte
    heard = heard if heard is not None else line.headers
    age = waited(exchange, end) or 0.0
    silence = max(age - (waited(exchange, heard) or 0.0), 0.0)
    long = silence >= max(_SUSPECT_FROM, _SILENT * (_pace(exchange) or 0.0))
    return _End(age, silence, long and silence > survived(exchange, heard or 0.0) + _JITTER)


def _how(exchange: Exchange) -> str:
    facts = exchange.facts
    if exchange.error is not None:
        how = _HOW.get(exchange.error.kind, exchange.error.text)
    elif facts.get("terminal"):
        how = f"tidily, with {facts['terminal']}"
    elif facts.get("complete"):
        how = "tidily, without its end marker"
    else:
        how = "with an error event, at which the client closed"
    end = _ended(exchange)
    when = f"{how}, {duration(end.age)} after the request"
    if end.silence >= max(_SUSPECT_FROM, _SILENT * (_pace(exchange) or 0.0)):
        return f"{when} and after {duration(end.silence)} of silence"
    return f"{when}, while chunks were coming"


def _pace(exchange: Exchange) -> float | None:
    """Seconds between two chunks with tokens."""
    line, chunks = exchange.timeline, int(exchange.facts.get("tokens") or 0)
    if chunks < 2 or line.first_token is None or line.last_token is None:
        return None
    return (line.last_token - line.first_token) / (chunks - 1)


def _by_clock(exchanges: Sequence[Exchange]) -> list[tuple[str, str]]:
    """Known timers that a measured age or silence may be, where it is the same each time."""
    ends = [_ended(exchange) for exchange in exchanges]
    idle = all(end.idle for end in ends)
    values = [end.silence if idle else end.age for end in ends]
    took, apart = median(values), max(values) - min(values)
    if took < _SUSPECT_FROM or (any(end.idle for end in ends) and not idle):
        return []
    if apart > max(1.0, 0.02 * took):
        return []  # not one clock: of times far apart some known timer is always near
    unsure = max(_JITTER, apart) + (0.0 if idle else _pace(exchanges[-1]) or 0.0)
    known = timers.match(took, "idle" if idle else "total", None, unsure)
    suspects = [timer for timer in known if timer.product not in LIBRARIES][:_NAMED]
    names = dict.fromkeys(f"{timer.product} {timer.timer} ({timer.seconds:g} s)" for timer in suspects)
    found = [("matches", listed(list(names)))] if names else []
    if len(values) > 1:
        what = "after the same silence" if idle else "at the same age"
        found.append(("each time", f"{len(values)} streams ended {what}: a timer's doing"))
    return found


def _because(finding: Finding, exchange: Exchange) -> list[tuple[str, str]]:
    facts = exchange.facts
    made = exchange.attribution.extracted if exchange.attribution is not None else {}
    found = []
    if finding.code == "stream.masked":
        lacks = [] if facts.get("finish_reason") else ["no finish reason"]
        lacks += [] if facts.get("usage") else ["no usage"]
        lacks += ["an error object before it"] if facts.get("errors") else []
        if made.get("finish_reason"):
            lacks.append(f"the finish reason is {made['finish_reason']}")
        but = f"but {listed(lacks)}" if lacks else "and not the one of this dialect"
        found.append(("because", f"the end marker {facts.get('terminal')} came, {but}"))
    if cut := (facts.get("tool_calls") or {}).get("cut"):
        found.append(
            (
                "tool call",
                f"the arguments of {cut} call{'' if cut == 1 else 's'} break off before their JSON is over",
            )
        )
    if facts.get("unfinished"):
        found.append(("cut in", f"an event that begins {str(facts['unfinished'])[:60]!r}"))
    if status := made.get("logical_status"):
        delivered = (
            "output was delivered, so a retry pays for it again"
            if facts.get("tokens")
            else "no output was delivered"
        )
        found.append(
            (
                "stands for",
                f"status {status} under HTTP {exchange.status}: who retries by status never does; {delivered}",
            )
        )
    return found


def _rewrapped(exchange: Exchange) -> list[tuple[str, str]]:
    line = str(exchange.facts.get("malformed") or "")
    said = f"data: {line[:80]}"
    if line.startswith(":"):
        return [
            (
                "because",
                f"a comment was sent on as data, {said!r}: SDKs parse every event as JSON and stop there",
            )
        ]
    return [("because", f"an event is not the JSON of its dialect: {said!r}")]


def _damaged(exchange: Exchange) -> list[tuple[str, str]]:
    facts = exchange.facts
    if facts.get("invalid_utf8"):
        return [
            (
                "because",
                f"lines that are no UTF-8: {facts['invalid_utf8']}; bytes of characters were lost or cut apart",
            )
        ]
    return [
        (
            "because",
            f"U+FFFD stands on the wire, {times(facts.get('replacement_chars') or 0)}: somebody decoded by halves",
        )
    ]


def times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _kept_alive(exchange: Exchange) -> list[tuple[str, str]]:
    """Heartbeats that no SDK shows its user keep a socket alive, and not a client that times events."""
    beats = {k: v["n"] for k, v in (exchange.facts.get("heartbeats") or {}).items()}
    if not beats:
        return []
    said = listed([f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in beats.items()])
    unseen = [
        at for at, kind in zip(exchange.event_times, exchange.event_kinds, strict=False) if kind not in "cbp"
    ]
    start = exchange.timeline.headers if exchange.timeline.headers is not None else 0.0
    times = [start, *unseen]
    silence = max((later - sooner for sooner, later in pairwise(times)), default=0.0)
    row = [("heartbeats", said)]
    bytes_apart = exchange.facts.get("max_gap") or 0.0
    if silence >= _SUSPECT_FROM and silence > 2 * bytes_apart:
        row.append((
            "silence",
            f"no event for {duration(silence)} while bytes came at least every {duration(bytes_apart)}: a client that times events gives up on a stream that is alive",
        ))  # fmt: skip
    return row


def _forms(exchange: Exchange) -> list[tuple[str, str]]:
    return [("note", _NO_CHOICES)] if "no_choices" in (exchange.facts.get("forms") or {}) else []


def _callers(calls: Sequence[Call], sdks: frozenset[str]) -> list[tuple[str, str]]:
    """The SDKs that raised nothing: their users take what they got for whole."""
    silent = {c.trial.client: c for c in calls if c.raised is None and c.trial.client in sdks}
    return [
        (
            "caller",
            f"{name} ({software(call)}) raised nothing and handed over {(call.returned or 'nothing')[:60]!r}",
        )
        for name, call in silent.items()
    ]


def software(call: Call) -> str:
    """The client with its version, as it announced itself on the wire."""
    sent = call.last.request.headers if call.last is not None else ()
    return next((value for name, value in sent if name.lower() == "user-agent"), call.trial.client)
