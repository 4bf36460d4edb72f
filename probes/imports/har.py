"""Which request of a HAR file is it (HAR 1.2, as browsers and proxies write it)?"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote_plus

from probes.classify.har import Entry, entries
from probes.errors import UsageError
from probes.imports import private
from probes.imports.choice import choose
from probes.imports.plain import Plain, cleaned
from probes.imports.seen import words
from probes.imports.whose import whose

if TYPE_CHECKING:
    from probes.complaint import Told
    from probes.imports.taken import Taken

_FAILED = 400
_FRAMING = frozenset({"content-length", "transfer-encoding"})


def told(text: str, taken: Taken, entry: int | None = None) -> Told:
    """`entry`: its number in the file, from 1; else the only one to an API's path that failed."""
    text = cleaned(text)
    found = entries(text)
    if not found:
        raise UsageError(
            "is no HAR file with an entry: JSON with log.entries, each with a request and a response"
        )
    by_number = {one.number: one for one in found}
    chosen = by_number.get(entry) if entry is not None else _meant(found)
    if chosen is None:
        listed = [one for one in found if one.api or _failed(one)] or found
        chosen = choose(
            by_number if entry is not None or len(found) > 1 else {found[0].number: found[0]},
            {one.number: _shown(one) for one in listed},
            entry,
            "entries",
        )
    return private.told(_request(_raw(text)[chosen.number - 1], chosen), taken)


def _meant(found: list[Entry]) -> Entry | None:
    api = [one for one in found if one.api]
    for few in ([one for one in api if _failed(one)], api, [one for one in found if _failed(one)], found):
        if len(few) == 1:
            return few[0]
        if len(few) > 1:
            return None
    return None


def _failed(one: Entry) -> bool:
    return one.status == 0 or one.status >= _FAILED


def _shown(one: Entry) -> str:
    return f"{one.status or 'no answer'}  {private.without_keys(one.method)} {private.shown_url(one.url)}"


def _raw(text: str) -> list[Any]:
    document = json.loads(text)
    log = document.get("log")
    found: list[Any] = log["entries"] if isinstance(log, dict) and "entries" in log else document["entries"]
    return found


def _request(entry: dict[str, Any], chosen: Entry) -> Plain:
    request: dict[str, Any] = entry["request"] if isinstance(entry.get("request"), dict) else {}
    plain = Plain("har", chosen.method or "GET", _text(request.get("url")))
    host = plain.url.partition("://")[2].partition("/")[0].lower()
    rows = request.get("headers")
    for row in rows if isinstance(rows, list) else ():
        name, value = (_text(row.get("name")), _text(row.get("value"))) if isinstance(row, dict) else ("", "")
        same_host = name.lower() == "host" and value.lower() == host
        if name and not name.startswith(":") and name.lower() not in _FRAMING and not same_host:
            plain.headers.append((name, value))
    plain.client, plain.version = whose(plain.headers)
    plain.http_version = _spoken(_text(request.get("httpVersion")), plain)
    plain.body = _body(request, plain)
    plain.seen = words(chosen.status, chosen.headers, chosen.body, chosen.error)
    if (address := _text(entry.get("serverIPAddress"))) and address.replace(".", "").replace(
        ":", ""
    ).isalnum():
        plain.notes.append(f"it went to the address {address[:45]}")
    if plain.client is None and any(name.lower().startswith("sec-fetch-") for name, _ in plain.headers):
        plain.notes.append("a browser sent it: its TLS is not imitated here, only its headers are")
    return plain


def _spoken(said: str, plain: Plain) -> Literal["1.1", "2"] | None:
    low = said.lower()
    if low in {"http/1.1", "http/1.0"}:
        return "1.1"
    if low in {"h2", "http/2", "http/2.0"}:
        return "2"
    if low.startswith(("h3", "http/3")):
        plain.notes.append("HTTP/3 is not spoken here")
    return None


def _body(request: dict[str, Any], plain: Plain) -> bytes:
    data = request.get("postData")
    size = request.get("bodySize")
    if not isinstance(data, dict):
        if isinstance(size, int) and size > 0:
            plain.notes.append(f"its body of {size:,} bytes was not kept in the file, and is left out")
        return b""
    text = _text(data.get("text"))
    if data.get("encoding") == "base64" or data.get("_encoding") == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise UsageError("postData says that it is base64, and is not") from None
    if text:
        return text.encode("utf-8", "surrogatepass")
    rows = [row for row in data.get("params") or () if isinstance(row, dict)]
    pairs = [f"{quote_plus(_text(row.get('name')))}={quote_plus(_text(row.get('value')))}" for row in rows]
    return "&".join(pairs).encode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
