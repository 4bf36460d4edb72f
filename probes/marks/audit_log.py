"""Which entries of Cloudflare's audit log are changes of the edge, and what does each say?

https://developers.cloudflare.com/fundamentals/account/account-security/audit-logs/ (version 2). It tells what a setting
became, not what it was, and not every product's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from probes.canary import Mark
from probes.marks.cloudflare_api import Unread
from probes.redact import REDACTED, Redactor, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from probes.marks.cloudflare_api import Api

SOURCE = "cloudflare audit log"
_VERBS = {"create": "created", "update": "updated", "delete": "deleted"}
# What stands at the beginning of a name in the API's paths, which `raw.uri` holds, and so of products.
_EDGE = re.compile(
    "rulesets?|rules|lists|ip_|user_agent|bot|firewall|waf|ddos|http_|rate_limit|settings|dns|load_balanc|workers?|page_?rules?"
    "|cache|purge|argo|ssl|tls|acm|certificate|client_cert|keyless|hostname|custom_|managed_|transform|url_norm|error_page"
    "|waiting_room|snippets?|spectrum|health_?check|access|cfd_tunnel|tunnel|api_gateway|api_shield|schema_valid|token_valid"
    "|leaked_cred|content_upload|origin|cloud_connector|ai_gateway|config|redirect|security|zones?(?:_|$)"
)
_BESIDE = re.compile(
    "(?:(?:account_|user_|api_)?(?:members?|memberships?|invites?|roles?|users?|tokens?|keys?|profile|billing|payments?|logins?"
    "|oauth|sso)|logpush|logs|audit|alerts?|alerting|notifications?|analytics|rum|stream|images?|registrar|email|r2|queues?|d1"
    "|storage|kv|radar|intel|vectorize)(?:_|$)"
)
"""No request passes otherwise for these. What is in neither is taken: nobody knows every product."""
_SECRET = re.compile(r"secret|passw|token|private|credential|_key|^key|cert|auth", re.IGNORECASE)
_OF_SECRETS = re.compile(r"secret|/tokens?(?:[/?]|$)", re.IGNORECASE)
_COMPARES, _QUOTED = re.compile(r"headers|cookie|args", re.IGNORECASE), re.compile(r'"[^"]*"')
"""An expression that lets pass who knows a word holds that word."""
_SAME = frozenset({"id", "zone_id", "account_id", "ref", "version", "etag", "last_updated", "modified_on"})
_IN_PATH = re.compile(r"[0-9a-f]{32}")
_SETTING = re.compile(r"/settings/([\w-]{1,64})/?(?:\?|$)")
_VALUE, _NAMED, _TEXT, _NAME = 60, 3, 300, 64


@dataclass(frozen=True, slots=True)
class Imported:
    """`read`: entries that were read. `beside`, `other_zones`: how many were left out, by product and by zone.
    `unreadable`: without a time or a product. `fault`: why the log was not read to its end; the newest come first.
    """

    marks: tuple[Mark, ...] = ()
    read: int = 0
    beside: Mapping[str, int] = field(default_factory=dict)
    other_zones: Mapping[str, int] = field(default_factory=dict)
    unreadable: int = 0
    fault: Unread | None = None


def marks_since(
    api: Api,
    account: str,
    since: datetime,
    before: datetime,
    *,
    zone: str | None = None,
    target: str | None = None,
) -> Imported:
    """The changes of that time in the order of time, the same marks whenever it is asked. `zone`: a name or an id; what
    belongs to the account as a whole is taken with every zone. `target`: whom the marks are of. Never raises for what
    the network or the log does.
    """
    marks: dict[tuple[datetime, str], Mark] = {}
    beside, others = Counter[str](), Counter[str]()
    read = unreadable = 0
    fault = None
    try:
        for page in api.audit_log(account, since, before):
            for entry in filter(_changed, page):
                read += 1
                mark = _mark(entry, target)
                if mark is None:
                    unreadable += 1
                elif zone is not None and not _of_zone(entry, zone):
                    others[_zone(entry)] += 1
                elif _kind(entry) is _BESIDE:
                    beside[mark.product or ""] += 1
                else:
                    marks[mark.at, mark.text] = mark
    except Unread as met:
        fault = met
    ordered = tuple(sorted(marks.values(), key=lambda mark: mark.at))
    return Imported(ordered, read, beside, others, unreadable, fault)


def _changed(entry: Mapping[str, Any]) -> bool:
    """It did something, and did not fail; asked of the API, too, which may not know the question."""
    result, status = _text(entry, "action", "result"), _at(entry, "raw", "status_code")
    went_well = result.lower() == "success" if result else isinstance(status, int) and status < 300
    return went_well and _text(entry, "action", "type").lower() in _VERBS


def _mark(entry: Mapping[str, Any], target: str | None) -> Mark | None:
    try:
        at = datetime.fromisoformat(_text(entry, "action", "time"))
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    product = _text(entry, "resource", "product") or _text(entry, "resource", "type")
    if not product:
        return None
    told = list(_settings(entry)) if _kind(entry) is _EDGE else []
    zone = _zone(entry)
    text = _said(product, entry, told) + (f" on {zone}" if zone else "")
    return Mark(
        at,
        _short(text, _TEXT),
        SOURCE,
        _author(entry),
        product=_short(product, _NAME),
        setting=_short(", ".join(name for name, _ in told[:_NAMED]), _TEXT) or None,
        target=target,
    )


def _said(product: str, entry: Mapping[str, Any], told: list[tuple[str, str]]) -> str:
    """`bot_management.ai_bots_protection → block`."""
    verb = _VERBS[_text(entry, "action", "type").lower()]
    changes = [f"{name} → {value}" for name, value in told[:_NAMED]]
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    if told and verb == "updated":
        return f"{product}{'.' if len(told) == 1 else ': '}{', '.join(changes)}{more}"
    about = _text(entry, "action", "description") or _text(entry, "resource", "id")
    said = f"{', '.join(changes)}{more}" if told and verb == "created" else about
    return f"{product} {verb}{f': {said}' if said else ''}"


def _settings(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, what it became), of what was asked for: the response also tells all that stayed as it was."""
    asked = _at(entry, "resource", "request")
    if _OF_SECRETS.search(_text(entry, "raw", "uri")):  # such as of a Worker, whose value is a `text`
        return
    rows = asked.get("items", [asked]) if isinstance(asked, dict) else asked
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        if "value" in row:  # of one setting, which the path names, or the row
            named = _SETTING.search(_text(entry, "raw", "uri"))
            name = _text(row, "id") or (named[1] if named else _text(entry, "resource", "id"))
            yield _short(name or "value", _NAME), _value(name, row["value"])
            continue
        for name, value in row.items():
            if name not in _SAME:
                yield _short(name, _NAME), _value(name, value)


def _value(name: str, value: Any) -> str:
    """In short; of what is nested only how much it is, since a rule may well set a header that is a secret."""
    if _SECRET.search(name) and not (isinstance(value, bool) or value in ("on", "off")):
        return REDACTED
    if isinstance(value, str):
        kept = _QUOTED.sub('"…"', value) if _COMPARES.search(value) else value
        return _short(kept, _VALUE) or "(empty)"
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, list):
        return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"
    return json.dumps(value)[:_VALUE]


def _kind(entry: Mapping[str, Any]) -> re.Pattern[str] | None:
    """_EDGE, _BESIDE or neither."""
    names = list(_names(entry))
    return next((kind for kind in (_EDGE, _BESIDE) if any(map(kind.match, names))), None)


def _names(entry: Mapping[str, Any]) -> Iterable[str]:
    """Those of its product, as the API's paths write them: without the account or zone that each begins with."""
    path = [part for part in _text(entry, "raw", "uri").partition("?")[0].split("/") if part]
    path = path[2:] if path[:2] == ["client", "v4"] else path
    inner = path[2:] if path[:1] in (["accounts"], ["zones"]) else path
    parts = [part for part in inner if not _IN_PATH.fullmatch(part)]
    if path[:1] == ["zones"] and not parts:
        parts = ["zones"]
    for name in (_text(entry, "resource", "product"), _text(entry, "resource", "type"), *parts[:2]):
        if name:
            yield re.sub(r"\W+", "_", name.lower())


def _author(entry: Mapping[str, Any]) -> str | None:
    """The person, else the token, else what it was."""
    person, token = _text(entry, "actor", "email"), _text(entry, "actor", "token_name")
    by = f"{person}, token {token}" if person and token else person or (token and f"token {token}")
    return _short(by or _text(entry, "actor", "type"), _VALUE * 2) or None


def _zone(entry: Mapping[str, Any]) -> str:
    return _short(_text(entry, "zone", "name") or _text(entry, "zone", "id"), _NAME)


def _of_zone(entry: Mapping[str, Any], zone: str) -> bool:
    its = {_text(entry, "zone", "name").lower(), _text(entry, "zone", "id").lower()} - {""}
    return not its or zone.lower().rstrip(".") in its


def _short(text: str, most: int) -> str:
    """One harmless line without keys."""
    said = safe_text(" ".join(Redactor().text(text).split()))
    return said if len(said) <= most else f"{said[: most - 1]}…"


def _text(entry: Mapping[str, Any], *path: str) -> str:
    found = _at(entry, *path)
    return found if isinstance(found, str) else ""


def _at(entry: Mapping[str, Any], *path: str) -> Any:
    found: Any = entry
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found
