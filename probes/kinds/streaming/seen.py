"""What is there to say of a stream's end and bytes, beside its code?"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from probes.kinds.streaming import ends
from probes.kinds.words import clients_of, duration, listed
from probes.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange, Finding

SDKS = frozenset({"openai_sdk", "anthropic_sdk"})
_SAID = 160
_SILENT_FROM = 5.0
"""Seconds without an event that are worth a word."""
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
    if finding.code in ends.ENDED:
        found += [("ended", ends.how(last)), *ends.by_clock(exchanges), *_because(finding, last)]
    elif finding.code == "stream.no_end":
        found += [("ended", ends.how(last)), *_lacking(last)]
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


def otherwise(finding: Finding, calls: Sequence[Call]) -> dict[str, Any]:
    """Fields that its code's own words would tell wrong."""
    exchanges = [call.last for call in calls if call.last is not None]
    if not exchanges or finding.code == "stream.no_end":
        return _raised(clients_of([call for call in calls if call.raised is not None])) if exchanges else {}
    made = [e.attribution.extracted for e in exchanges if e.attribution is not None]
    if finding.code == "stream.corrupted" and made and all(each.get("maybe") for each in made):
        return {"verdict": Verdict.WARN, "title": "A character of the text may be lost"}
    if finding.code == "stream.malformed" and made and all(each.get("after_end") for each in made):
        return {
            "title": "Text comes behind the end marker",
            "advice": "Send the end marker last; clients stop reading there.",
        }
    title = _title(finding, exchanges)
    return {"title": title} if title else {}


def _title(finding: Finding, exchanges: Sequence[Exchange]) -> str:
    if finding.code == "stream.content_type" and not any(e.header("content-type") for e in exchanges):
        return "The stream has no content type"
    if any(exchange.facts.get("tokens") for exchange in exchanges):
        return ""
    if finding.code == "stream.masked" and all(e.facts.get("errors") for e in exchanges):
        return "An error came in place of the answer, with a tidy end marker behind it"
    return (
        "An error came in place of the answer, inside a stream"
        if finding.code == "stream.error_event"
        else ""
    )


def _raised(clients: Sequence[str]) -> dict[str, Any]:
    """A customer whose library raises at its end has no answer, whole as it came."""
    if not clients:
        return {}
    whose = f"{listed(clients)} {'raises' if len(clients) == 1 else 'raise'}"
    title = f"The answer is whole, and its stream has no proper end: {whose}"
    return {"verdict": Verdict.FAIL, "title": title}


def _because(finding: Finding, exchange: Exchange) -> list[tuple[str, str]]:
    facts = exchange.facts
    made = exchange.attribution.extracted if exchange.attribution is not None else {}
    found = []
    if finding.code == "stream.masked":
        lacks = [] if facts.get("finish_reason") else ["no finish reason"]
        lacks += [] if facts.get("usage") else ["no usage"]
        lacks += ["an error object before it"] if facts.get("errors") else []
        if made.get("cut_calls"):
            lacks.append("a tool call breaks off before it")
        elif made.get("finish_reason"):
            lacks.append(f"the finish reason is {made['finish_reason']}")
        but = f", but {listed(lacks)}" if lacks else ""
        found.append(("because", f"the end marker {facts.get('terminal')} came{but}"))
    if cut := (facts.get("tool_calls") or {}).get("cut"):
        whose = "a tool call" if cut == 1 else f"{cut} tool calls"
        found.append(("tool call", f"the arguments of {whose} are JSON that breaks off"))
    if facts.get("unfinished"):
        found.append(("cut in", f"an event that begins {str(facts['unfinished'])[:60]!r}"))
    if errors := facts.get("errors"):
        found.append(("says", f"{_in_line(errors[0])!r}"))
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


def _in_line(error: object) -> str:
    """The one piece of evidence, as it came."""
    said = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return said[:_SAID]


def _lacking(exchange: Exchange) -> list[tuple[str, str]]:
    facts = exchange.facts
    made = exchange.attribution.extracted if exchange.attribution is not None else {}
    counted = " and its usage" if facts.get("usage") else ""
    found = [
        (
            "whole",
            f"its finish reason ({facts.get('finish_reason')}){counted} came: nothing of the answer is missing",
        )
    ]
    if cut := facts.get("unfinished"):
        return [
            *found,
            ("because", f"no blank line follows {str(cut)[:60]!r}, so by the standard it is no event"),
        ]
    return [*found, ("because", f"{made.get('lacks', 'its end marker')} did not come")]


def _rewrapped(exchange: Exchange) -> list[tuple[str, str]]:
    if late := exchange.facts.get("after_end"):
        marker = exchange.facts.get("terminal")
        chunks = "a chunk" if late == 1 else f"{late} chunks"
        return [
            (
                "because",
                f"{chunks} with text came behind {marker}: a client that stops there, as SDKs do, loses it",
            )
        ]
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
    made = exchange.attribution.extracted if exchange.attribution is not None else {}
    replaced, invalid = facts.get("replacement_chars") or 0, facts.get("invalid_utf8") or 0
    if invalid:
        lines = "a line is" if invalid == 1 else f"{invalid} lines are"
        return [("because", f"{lines} no UTF-8: bytes of characters were lost or cut apart")]
    where = "at the end of the text" if facts.get("replacement_tail") == replaced else "in the text"
    times = "U+FFFD stands once" if replaced == 1 else f"U+FFFD stands {replaced} times"
    if made.get("maybe"):
        return [("because", f"{times} {where}: a character was lost, or the model wrote it itself")]
    if facts.get("replacement_seams"):
        return [("because", f"{times} {where}, side by side: somebody decoded by halves")]
    return [("because", f"{times} {where}: somebody replaced characters")]


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
    if silence >= _SILENT_FROM and silence > 2 * bytes_apart:
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
