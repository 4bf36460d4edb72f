"""What passed on the wire, as a HAR 1.2 archive?

By http://www.softwareishard.com/blog/har-12-spec/; what it has no place for stands under names that begin with `_`.
"""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from probes import __version__
from probes.document import time_of_day
from probes.written import of_exchange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from probes.model import Call, Case, Exchange, Run


def har(run: Run) -> dict[str, Any]:
    """Every exchange of a run; a connection without a request is none."""
    cases = {case.id: case for case in run.cases}
    entries = [
        _entry(began, call, exchange, cases.get(call.case))
        for call in run.calls
        for began, exchange in _begins(run, call)
        if exchange.request.method
    ]
    made = {"name": "edgeprobe", "version": __version__}
    return {
        "log": {
            "version": "1.2",
            "creator": made,
            "comment": "; ".join((f"run {run.id}", *_notes(run))),
            "entries": entries,
        }
    }


def _notes(run: Run) -> Iterator[str]:
    if any(call.started is None and call.exchanges for call in run.calls):
        yield "when in the run each request began is not kept, so all begin with it"
    elif run.time_scale != 1.0:
        yield f"lab time, {1 / run.time_scale:g} times faster than the clock; so are the begins"


def _begins(run: Run, call: Call) -> Iterator[tuple[datetime, Exchange]]:
    """When each began, in the run's time: the first with the call, another when the one before was over and its client had
    paused.
    """
    kept = call.started is not None and run.started <= call.started <= run.finished
    after = (call.started - run.started).total_seconds() / run.time_scale if kept and call.started else 0.0
    for exchange in call.exchanges:
        after += float(exchange.conditions.get("paused") or 0) / run.time_scale
        yield _later(run.started, after), exchange
        after += exchange.timeline.end or 0


def _later(moment: datetime, seconds: float) -> datetime:
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:  # of a document that a stranger wrote
        return moment


def _entry(began: datetime, call: Call, exchange: Exchange, case: Case | None) -> dict[str, Any]:
    timings = _timings(exchange)
    return {
        "startedDateTime": time_of_day(began),
        "time": round(sum(ms for name, ms in timings.items() if ms > 0 and name != "ssl"), 3),
        "request": _request(call, exchange, case),
        "response": _response(exchange),
        "cache": {},
        "timings": timings,
        "_id": exchange.id,
        "_client": call.trial.client,
        "_route": call.trial.route,
        **({"serverIPAddress": _host(exchange)} if exchange.conditions.get("peer") else {}),
        **({"_error": exchange.error.text} if exchange.error else {}),
    }


def _request(call: Call, exchange: Exchange, case: Case | None) -> dict[str, Any]:
    sent = exchange.request
    told = case and of_exchange(exchange, call, case)
    body: dict[str, Any] = {}
    if told and told.body:
        content_type = next((value for name, value in told.headers if name.lower() == "content-type"), "")
        body = {"postData": {"mimeType": content_type, **_text(told.body)}}
    return {
        "method": sent.method,
        "url": sent.url,
        "httpVersion": exchange.conditions.get("http_version") or "unknown",
        "cookies": [],
        "headers": [{"name": name, "value": value} for name, value in sent.headers],
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(urlsplit(sent.url).query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": sent.body_bytes,
        **body,
    }


def _text(data: bytes) -> dict[str, Any]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(data).decode("ascii"), "encoding": "base64"}


def _response(exchange: Exchange) -> dict[str, Any]:
    """Of one that never came the status is 0, as browsers write it."""
    kept = exchange.body_head + exchange.body_tail
    elided = {"comment": "the middle of the body was not kept"} if exchange.elided else {}
    return {
        "status": exchange.status or 0,
        "statusText": "",
        "httpVersion": exchange.conditions.get("http_version") or "unknown",
        "cookies": [],
        "headers": [
            {"name": name, "value": value} for name, values in exchange.headers.items() for value in values
        ],
        "content": {
            "size": exchange.body_bytes,
            "mimeType": exchange.header("content-type") or "",
            **(_text(kept) if kept else {}),
            **elided,
        },
        "redirectURL": exchange.header("location") or "",
        "headersSize": -1,
        "bodySize": -1,
        **({"_error": exchange.error.text} if exchange.error else {}),
    }


def _timings(exchange: Exchange) -> dict[str, float]:
    """Milliseconds; -1 is what does not apply. `connect` holds `ssl`, as the specification has it."""
    at = exchange.timeline
    opened = next((one for one in (at.tls, at.connect, at.dns) if one is not None), 0.0)
    sent = at.upload_end if at.upload_end is not None else opened
    answered = next((one for one in (at.headers, at.first_byte, at.end) if one is not None), sent)
    ended = at.end if at.end is not None else answered
    return {
        "blocked": -1,
        "dns": _ms(0.0, at.dns),
        "connect": _ms(at.dns or 0.0, at.tls if at.tls is not None else at.connect),
        "ssl": _ms(at.connect or 0.0, at.tls),
        "send": _ms(opened, sent),
        "wait": _ms(sent, answered),
        "receive": _ms(answered, ended),
    }


def _ms(since: float, until: float | None) -> float:
    return -1 if until is None else round(max(0.0, until - since) * 1000, 3)


def _host(exchange: Exchange) -> str:
    return str(exchange.conditions["peer"]).rpartition(":")[0].strip("[]")
