"""How does a told request become a run?"""

from __future__ import annotations

import hashlib
import secrets as entropy
from dataclasses import replace
from typing import TYPE_CHECKING

from probes import config
from probes.clients import announced
from probes.conduct import Order, Plan, available, carried_out
from probes.errors import UsageError
from probes.kinds import KINDS
from probes.kinds.reproduction.family import with_families
from probes.kinds.reproduction.outcome import KIND
from probes.kinds.reproduction.study import RAW
from probes.model import Case, Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.clock import Clock
    from probes.complaint import Told
    from probes.credentials import Secrets
    from probes.model import Client, Run, Sink, Target

SUITE = "repro"
MOST = 500


def ask(
    told: Told,
    target: Target,
    route: str,
    secrets: Secrets,
    *,
    clock: Clock,
    seed: int | None = None,
    most: int | None = None,
    repeats: int | None = None,
    sinks: Sequence[Sink] = (),
) -> Run:
    """The run of one case. Raises UsageError, before anything is sent, where no client here can ask it. `most`: requests that
    somebody allows for it; by itself it takes fewer than a target may have. `repeats`: as told, where fewer would tell nothing.
    """
    drawn = entropy.randbelow(2**31) if seed is None else seed
    target = with_families(target, route)
    case, skipped = _case(told, target, route, drawn, most, repeats)
    case = replace(case, keyed=target.key_env is None or secrets.has_key(target), time_scale=clock.scale)
    order = Order((SUITE,), target, seed=drawn, cases=(case.id,), clock=clock)
    return carried_out(Plan((SUITE,), (case,), tuple(skipped), drawn), order, secrets, sinks)


def _case(
    told: Told, target: Target, route: str, seed: int, most: int | None, repeats: int | None
) -> tuple[Case, list[Skipped]]:
    spec = KINDS[KIND]
    params = {**spec.defaults, "told": told}
    params["repeats"] = max(int(params["repeats"]), repeats or 0)
    if most is not None:
        params["budget"] = most
    elif target.budget.requests is not None:
        params["budget"] = min(int(params["budget"]), target.budget.requests)
    name = f"{SUITE}/{KIND}/request={digest(told)}"
    case = Case(name, SUITE, KIND, target, _clients(told, target), route, params, seed)
    skipped: list[Skipped] = []
    ready = available(case, skipped)
    if ready is None:
        raise UsageError(f"cannot be asked here: {'; '.join(row.reason for row in skipped)}")
    ready = replace(ready, clients=tuple(map(_with_version, ready.clients)))
    # Of the others nobody asked for any by name.
    return ready, [row for row in skipped if row.client in {None, told.client}]


def _with_version(client: Client) -> Client:
    """A plain request announces the curl that sends it."""
    return replace(client, version=announced(client)[0]) if client.kind == "curl" else client


def digest(told: Told) -> str:
    """The same for the same request, whoever told it and when."""
    said = repr((told.method, told.url, told.headers, told.body))
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def _clients(told: Told, target: Target) -> tuple[Client, ...]:
    """The one that sent it first, then every one that is the software itself; of those that are only asked by name the
    senders of bytes, which show what a TLS stack does.
    """
    known = [one for one in config.clients().values() if one.api in {None, target.api}]
    first = [one for one in known if one.name == told.client]
    own = [one for one in known if one.kind != "emulated" and (one.kind in RAW or not one.apart)]
    return tuple(dict.fromkeys([*first, *own]))
