"""Which rule of Cloudflare's fired at a request that was refused?

By its ray, from the zone's firewall events, which are sampled: that none is there proves nothing.
https://developers.cloudflare.com/analytics/graphql-api/ (node `firewallEventsAdaptive`)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from probes.model import Layer, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from probes.marks.cloudflare_api import Api
    from probes.model import Finding, Run

MOST = 10
"""Rays that are asked for, in one request."""
_FIELDS = "action datetime description kind rayName ruleId rulesetId source"
_EVENTS = 10
_AROUND = timedelta(minutes=1)
_RAY = re.compile(r"([0-9a-f]{16})(?:-[A-Z]{3})?")
_REFUSED = ("blocked", "challenged", "ratelimited")
_LET_PASS = frozenset({"log", "allow", "skip", "bypass"})
# Of `source`: https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/firewall_events/
_SOURCES = {
    "asn": "IP Access rule, by network",
    "bic": "Browser Integrity Check",
    "botFight": "Bot Fight Mode",
    "botManagement": "Bot Management",
    "country": "IP Access rule, by country",
    "firewallCustom": "custom rule",
    "firewallManaged": "managed rule",
    "firewallRules": "firewall rule",
    "hot": "Hotlink Protection",
    "ip": "IP Access rule",
    "ipRange": "IP Access rule",
    "l7ddos": "HTTP DDoS protection",
    "rateLimit": "rate limiting rule",
    "rateLimiting": "rate limiting rule",
    "securityLevel": "Security Level",
    "uaBlock": "User Agent Blocking",
    "waf": "managed rule (old WAF)",
    "zoneLockdown": "Zone Lockdown",
}


@dataclass(frozen=True, slots=True)
class Event:
    """What one rule did with one request, in Cloudflare's own words."""

    ray: str
    action: str
    source: str
    rule: str | None = None
    ruleset: str | None = None
    description: str | None = None

    @property
    def refused(self) -> bool:
        return self.action not in _LET_PASS

    def __str__(self) -> str:
        of = f" of ruleset {self.ruleset}" if self.ruleset else ""
        named = f", rule {self.rule}{of}" if self.rule else ""
        said = f', "{self.description}"' if self.description else ""
        return f"{self.action} by {_SOURCES.get(self.source, self.source)}{named}{said}"


def ray_of(header: str | None) -> str | None:
    """The 16 digits that events go by, without the place."""
    found = _RAY.fullmatch(header or "")
    return found[1] if found else None


def events(
    api: Api, zone: str, rays: Sequence[str], since: datetime, until: datetime
) -> dict[str, list[Event]]:
    """Ray → what fired, refusals first; empty where none was found. At most MOST rays. Raises Unread."""
    aliases = {f"r{n}": ray for n, ray in enumerate(dict.fromkeys(rays))}
    if not aliases or len(aliases) > MOST:
        raise ValueError(f"1 to {MOST} rays")
    fields = " ".join(
        f"{alias}: firewallEventsAdaptive(filter: ${alias}, limit: {_EVENTS}, orderBy: [datetime_ASC]) {{ {_FIELDS} }}"
        for alias in aliases
    )
    takes = ", ".join(f"${alias}: FirewallEventsAdaptiveFilter_InputObject" for alias in aliases)
    query = f"query Fired($zone: string, {takes}) {{ viewer {{ zones(filter: {{zoneTag: $zone}}) {{ {fields} }} }} }}"
    span = {"datetime_geq": _written(since), "datetime_leq": _written(until)}
    filters = {alias: {"rayName": ray, **span} for alias, ray in aliases.items()}
    answer = api.firewall_events(query, {"zone": zone, **filters})
    return {
        ray: sorted(_read(answer.get(alias), ray), key=lambda event: not event.refused)
        for alias, ray in aliases.items()
    }


def _read(rows: Any, ray: str) -> Iterator[Event]:
    for row in rows if isinstance(rows, list) else []:
        # An event of another ray than was asked for is nobody's proof.
        if isinstance(row, dict) and row.get("rayName") == ray and (action := _text(row, "action")):
            yield Event(
                ray,
                action,
                _text(row, "source") or "a source that is not named",
                _text(row, "ruleId"),
                _text(row, "rulesetId"),
                _text(row, "description"),
            )


def said(found: Mapping[str, Sequence[Event]]) -> str:
    """What is told of the rays of like refusals: a line for each thing that fired, refusals first."""
    fired: dict[Event, list[str]] = {}
    for ray, rows in found.items():
        for event in dict.fromkeys(replace(row, ray="") for row in rows):
            fired.setdefault(event, []).append(ray)
    if not fired:
        return (
            f"no firewall event of ray {_named(list(found))} is there. Events are sampled and come late, so this proves "
            "nothing; and what is refused before any rule is looked at (a host that does not match the TLS name) is "
            "never among them"
        )
    asked = f" of {len(found)} asked" if len(found) > 1 else ""
    ordered = sorted(fired, key=lambda event: not event.refused)
    lines = [f"{event} (ray {_named(fired[event])}{asked})" for event in ordered]
    if not ordered[0].refused:
        lines.append("none of these refuses; what did may have been left out, since events are sampled")
    return "\n".join(lines)


def _named(rays: Sequence[str]) -> str:
    return rays[0] if len(rays) == 1 else f"{rays[0]} and {len(rays) - 1} more"


# --- of a run --------------------------------------------------------------------------------------------


def rays_of(run: Run) -> dict[int, list[str]]:
    """Number of a finding → the rays of the refusals by Cloudflare that it rests on: MOST of all, as many of each as of
    the others, since of one alone there may be no event.
    """
    refused = {
        exchange.id: ray
        for call in run.calls
        for exchange in call.exchanges
        if (made := exchange.attribution) is not None
        and (made.layer, made.product) == (Layer.EDGE, "Cloudflare")
        and made.code.startswith(_REFUSED)
        and (ray := ray_of(exchange.header("cf-ray")))
    }
    left = {number: _rays(finding, refused) for number, finding in enumerate(run.findings)}
    found: dict[int, list[str]] = {}
    chosen: set[str] = set()
    for ranked in zip_longest(*left.values()):
        for number, ray in zip(left, ranked, strict=True):
            if ray is not None and (ray in chosen or len(chosen) < MOST):
                chosen.add(ray)
                found.setdefault(number, []).append(ray)
    return found


def _rays(finding: Finding, refused: Mapping[str, str]) -> list[str]:
    """First the one that the finding names."""
    if finding.verdict is Verdict.PASS:
        return []
    ids = filter(None, (finding.variant, *finding.evidence, finding.control))
    rays = dict.fromkeys(refused[name] for name in ids if name in refused)
    told = "\n".join(text for _, text in finding.detail)
    return sorted(rays, key=lambda ray: ray not in told)


def with_rules(run: Run, api: Api, zone: str) -> Run:
    """The run with, for each refusal that has a ray, which rule fired. Raises Unread."""
    rays = rays_of(run)
    if not rays:
        return run
    every = list(dict.fromkeys(ray for each in rays.values() for ray in each))
    found = events(api, zone, every, run.started - _AROUND, run.finished + _AROUND)
    told = [
        replace(finding, detail=(*finding.detail, ("rule", said({ray: found[ray] for ray in rays[n]}))))
        if n in rays
        else finding
        for n, finding in enumerate(run.findings)
    ]
    return replace(run, findings=tuple(told))


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return " ".join(value.split())[:200] if isinstance(value, str) else ""


def _written(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
