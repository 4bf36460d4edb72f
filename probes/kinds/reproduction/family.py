"""Over which IP family is it asked, and over which other one can it be?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from probes.kinds.words import shown
from probes.target_rules import problems

if TYPE_CHECKING:
    from probes.kinds.reproduction.draft import Draft
    from probes.kinds.reproduction.study import Study
    from probes.model import Call, Exchange, Target

Family = Literal[4, 6]
_FAMILIES: tuple[Family, Family] = (4, 6)
_VARIANT = re.compile(r"(.+)-ipv([46])")


def over(route: str, family: Family) -> str:
    """The name of the same route over one family alone."""
    return f"{route}-ipv{family}"


def with_families(target: Target, route: str) -> Target:
    """With the route over each family as one of its own, but where its address is none of that family."""
    for family in _FAMILIES:
        name = over(route, family)
        made = replace(target.routes[route], name=name, family=family)
        more = replace(target, routes={**target.routes, name: made})
        if name not in target.routes and not any(problems(more)):
            target = more
    return target


def base(route: str) -> str:
    """The route that this one is a family of."""
    found = _VARIANT.fullmatch(route)
    return found[1] if found else route


def family_of(route: str) -> Family | None:
    found = _VARIANT.fullmatch(route)
    return None if found is None else 4 if found[2] == "4" else 6


def apart_from(family: Family) -> Family:
    return 6 if family == 4 else 4


def spoken(exchange: Exchange | None) -> Family | None:
    """`None` where nothing was connected, or a proxy did it."""
    peer = exchange.conditions.get("peer") if exchange is not None else None
    if exchange is None or not peer or exchange.conditions.get("proxy"):
        return None
    return 6 if str(peer).startswith("[") else 4


def other(study: Study, draft: Draft, exchange: Exchange | None) -> Draft | None:
    """The same request over the family that it was not asked over."""
    family = spoken(exchange)
    if family is None:
        return None
    name = over(base(draft.route), apart_from(family))
    return replace(draft, route=name) if name in study.case.target.routes else None


def of_one_family(call: Call) -> bool:
    return family_of(call.trial.route) is not None


def reached(call: Call) -> bool:
    """It was not asked over a family that is not there."""
    return not of_one_family(call) or spoken(call.last) is not None


def nameless(call: Call) -> bool:
    """The name did not resolve for its client; over one family each has its own way to look."""
    return call.last is not None and call.last.error is not None and call.last.error.kind == "dns"


def said(study: Study) -> str | None:
    """What came of the first request that was asked over one family by name, and of the first client that found no address
    of the family told.
    """
    found, told = [], study.told.family
    for call in study.every:
        family = family_of(call.trial.route)
        if family is None or call.last is None:
            continue
        if spoken(call.last) is None:
            found = [
                f"over IPv{family} no connection came about from here ({shown(call.last)}), so nothing is known of it"
            ]
        else:
            found = [f"over IPv{family}: {shown(call.last)}"]
        break
    lost = next(
        (call for call in study.every if nameless(call) and family_of(call.trial.route) is None), None
    )
    if told is not None and lost is not None:
        found.append(
            f"over IPv{told} the name does not resolve for {lost.trial.client}, so nothing is known of it through that client"
        )
    return "; ".join(found) or None
