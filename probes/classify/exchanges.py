"""What exchange does each kind of pasted answer make? What was not pasted is None, or named in what it lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.classify.evidence import LACKS
from probes.classify.phrases import wire_error
from probes.model import Exchange, Timeline, WireError, WireRequest
from probes.wire.facts import Facts

if TYPE_CHECKING:
    from probes.classify import exceptions, har, responses

_KEPT, _TAIL = 64 * 1024, 16 * 1024


def with_body(made: Exchange, text: str) -> Exchange:
    body = text.encode("utf-8", "replace")
    return replace(made, body_head=body[:_KEPT], body_tail=body[_KEPT:][-_TAIL:], body_bytes=len(body))


def of_response(pasted: responses.Pasted) -> Exchange:
    body = pasted.body if isinstance(pasted.body, bytes) else pasted.body.encode("utf-8", "replace")
    sized = pasted.headers.get("content-length", ["?"])[0]
    lacks = [] if pasted.headers else ["headers"]
    if not body and sized != "0" and pasted.method != "HEAD" and pasted.status != 204:
        lacks.append("body")
    sent = WireRequest(pasted.method or "", pasted.url, pasted.sent, 0, None, None)
    made = exchange(pasted.status, pasted.headers, body, lacks=tuple(lacks), request=sent)
    if pasted.method:
        made = replace(made, conditions={**made.conditions, "proxy": pasted.proxied})
    if pasted.tunnel is False:
        error = WireError("proxy", "connect", f"the proxy answered {pasted.status} to CONNECT")
        return replace(made, status=None, error=error)
    return made


def of_entry(entry: har.Entry) -> Exchange:
    sent = WireRequest(entry.method, entry.url, entry.sent, 0, None, None)
    lacks = ("body",) if entry.body is None else ()
    times = Timeline(headers=entry.first_byte, first_byte=entry.first_byte, end=entry.end)
    made = exchange(entry.status or None, entry.headers, entry.body or b"", lacks=lacks, request=sent)
    made = replace(made, timeline=times, conditions={**made.conditions, "api": entry.api})
    if entry.status:
        return made
    error = wire_error(entry.error) or WireError("unsaid", "", entry.error or "no answer")
    return replace(made, error=error)


def of_told(told: exceptions.Told) -> Exchange:
    lacks = [] if told.headers else ["headers"]
    lacks += [] if told.body.form else ["body"]
    lacks += [] if told.status else ["status"]
    lacks += ["end"] if told.prose else []
    body = told.body.text.encode("utf-8", "replace")
    sent = WireRequest("", told.url, (), 0, None, None)
    return replace(
        exchange(told.status, told.headers, body, lacks=tuple(lacks), request=sent), error=told.error
    )


def of_events(body: bytes) -> Exchange:
    """Of events without a head: who streams has said 200 before."""
    made = exchange(200, {"content-type": ["text/event-stream"]}, body, lacks=("status", "headers"))
    return replace(made, headers={})


def exchange(
    status: int | None,
    headers: dict[str, list[str]],
    body: bytes,
    *,
    lacks: tuple[str, ...],
    request: WireRequest = WireRequest("", "", (), 0, None, None),  # noqa: B008 - frozen
) -> Exchange:
    facts = _stream(status, headers, body)
    if facts is not None and not (facts["errors"] or facts["terminal"]):
        facts, lacks = None, (*lacks, "end")  # a stream that was not pasted to its end is not a cut one
    return Exchange(
        id="",
        request=request,
        status=status,
        headers=headers,
        body_head=body[:_KEPT],
        body_tail=body[_KEPT:][-_TAIL:],
        body_bytes=len(body),
        body_digest=None,
        body_encoding=None,
        timeline=Timeline(),
        facts=facts or {},
        conditions={LACKS: lacks},
    )


def _stream(status: int | None, headers: dict[str, list[str]], body: bytes) -> dict[str, object] | None:
    kind = headers.get("content-type", [""])[0]
    if status != 200 or not kind.lower().startswith("text/event-stream"):
        return None
    facts = Facts(kind)
    facts.feed(body + b"\n\n", 0.0)
    return facts.result(complete=None)
