"""How do suites on a target become a run?"""

from __future__ import annotations

import hashlib
import platform
import secrets as entropy
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from probes import __version__, clients, config
from probes.acceptance import accepted, lapsed
from probes.budget import Governor
from probes.clock import Clock
from probes.complaint import Told
from probes.errors import UsageError
from probes.kinds import KINDS
from probes.live import SHORTEST, Bench
from probes.model import Began, Finished, Found, Run, Skipped, Spend, Verdict
from probes.output_cap import OutputCap
from probes.own_signatures import catalogue_for
from probes.recall import recalled
from probes.redact import Redactor
from probes.reproducers import reproducible
from probes.routed import routed
from probes.runner import run_cases, worst
from probes.stop import Stop
from probes.store import new_id
from probes.suite import cases, load_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from probes.credentials import Secrets
    from probes.model import Case, Client, Event, Finding, Sink, Target


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for on the command line. `only`: the names of `--client`; `overrides`: the texts of `--set`;
    `cases`: ids, where not every case of the suites is wanted. `sdks`: those of `--sdk`. `against`: what is found of the whole run beside others.
    """

    suites: tuple[str, ...]
    target: Target
    only: tuple[str, ...] | None = None
    overrides: Mapping[str, str] | None = None
    seed: int | None = None
    cases: tuple[str, ...] | None = None
    clock: Clock = field(default_factory=Clock)
    sdks: tuple[Client, ...] = ()
    against: Callable[[Run], list[Finding]] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    suites: tuple[str, ...]
    cases: tuple[Case, ...]
    skipped: tuple[Skipped, ...]
    seed: int


def plan(order: Order, secrets: Secrets, *, prepare: bool = False) -> Plan:
    """The cases that a run of this order would hold; sends nothing. `prepare`: what its clients need is installed, and
    their versions are known. Raises UsageError for what is wrong in it.
    """
    seed = entropy.randbelow(2**31) if order.seed is None else order.seed
    known = {**config.clients(), **{client.name: client for client in order.sdks}}
    built: list[Case] = []
    skipped: list[Skipped] = []
    suites = [load_suite(name) for name in order.suites]
    for suite in suites:
        rows, left_out = cases(
            suite,
            order.target,
            seed,
            clients=known,
            overrides=order.overrides,
            only=order.only,
            sdks=order.sdks,
        )
        built += [case for case in rows if order.cases is None or case.id in order.cases]
        skipped += [row for row in left_out if order.cases is None or row.case in order.cases]
    if prepare:
        built = clients.prepared(built)
    ready = [available(case, skipped) for case in built]
    for case in built:
        _check_deadline(case, order.clock)
    keyed = _keyed(order.target, secrets)
    chosen = [
        recalled(replace(case, keyed=keyed, time_scale=order.clock.scale))
        for case in ready
        if case is not None
    ]
    return Plan(tuple(suite.name for suite in suites), tuple(chosen), tuple(skipped), seed)


def _check_deadline(case: Case, clock: Clock) -> None:
    """In scaled time a request is never given less than this machine can keep."""
    given, least = case.params.get("deadline"), SHORTEST / clock.scale
    if KINDS[case.kind].long and clock.scale != 1.0 and given is not None and float(given) < least:
        raise UsageError(
            f"{case.id}: deadline: must be {least:g} or more with --time-scale {clock.scale:g}, not {float(given):g}: "
            f"{SHORTEST:g} s of this machine's clock are the least that it can keep"
        )


def _keyed(target: Target, secrets: Secrets) -> bool:
    return target.key_env is None or secrets.has_key(target)


def available(case: Case, skipped: list[Skipped]) -> Case | None:
    """The case without the clients that can't be used here; what can't be asked is listed with the reason."""
    if (why := KINDS[case.kind].unfit(case)) is not None:
        skipped.append(Skipped(case.id, None, why))
        return None
    if KINDS[case.kind].converses and (why := _nobody_to_talk_to(case.target)) is not None:
        skipped.append(Skipped(case.id, None, why))
        return None
    route = case.target.routes[case.route]
    missing = {
        client.name: why
        for client in case.clients
        if (why := clients.unavailable(client) or clients.unsuited(client, route)) is not None
    }
    skipped += [Skipped(case.id, name, why) for name, why in missing.items()]
    left = tuple(client for client in case.clients if client.name not in missing)
    if not left:
        skipped.append(Skipped(case.id, None, "none of its clients can be used here"))
        return None
    names = {client.name for client in left}
    brought = [client for client in KINDS[case.kind].brings if client.name not in names]
    return replace(case, clients=(*left, *brought))


def _nobody_to_talk_to(target: Target) -> str | None:
    try:
        config.conversation(target)
    except UsageError as fault:
        return str(fault)
    return None


def conduct(
    order: Order,
    secrets: Secrets,
    sinks: Sequence[Sink] = (),
    stop: Stop | None = None,
    governor: Governor | None = None,
) -> Run:
    """Run the order's suites; every event goes to every sink, and a sink that breaks is left out.

    `governor`: that of earlier runs against the same target, with the same `stop`, so that all keep to one budget.
    """
    return carried_out(plan(order, secrets, prepare=True), order, secrets, sinks, stop, governor)


def carried_out(
    planned: Plan,
    order: Order,
    secrets: Secrets,
    sinks: Sequence[Sink] = (),
    stop: Stop | None = None,
    governor: Governor | None = None,
) -> Run:
    """As `conduct`, of cases that are planned already."""
    _check_secrets(planned, order.target, secrets)
    started, began = datetime.now(UTC), time.monotonic()
    emit = emitter(sinks)
    stop = stop or Stop()
    governor = governor or Governor(order.target, order.clock, stop)
    before = governor.spend
    bench = bench_for(order.target, secrets, order.clock, governor, stop, emit, _hidden(planned.cases))
    ahead = Run(
        id=new_id(started),
        suites=planned.suites,
        target=order.target,
        vantage=order.target.vantage,
        started=started,
        finished=started,
        versions=versions(planned.cases),
        seed=planned.seed,
        time_scale=order.clock.scale,
        verdict=Verdict.INCONCLUSIVE,
        spend=Spend(),
        cases=planned.cases,
        calls=(),
        findings=(),
        skipped=planned.skipped,
        config_digest=_digest(planned.cases),
    )
    emit(Began(ahead))
    calls, findings = run_cases(planned.cases, bench)
    asked = replace(ahead, finished=_after(started, began), calls=tuple(calls), findings=tuple(findings))
    beside = order.against(asked) if order.against is not None else []
    for finding in reproducible([*routed(calls, planned.suites[0]), *beside], calls, planned.cases):
        findings.append(accepted(finding, order.target, bench.today))
        emit(Found(findings[-1]))
    if order.cases is None:  # of a part of the suites nobody can say that an acceptance is unused
        for finding in lapsed(order.target, findings, bench.today, planned.suites[0]):
            findings.append(finding)
            emit(Found(finding))
    run = replace(
        asked,
        finished=_after(started, began),
        verdict=worst(findings),
        spend=_spent(before, governor.spend),
        findings=tuple(findings),
    )
    emit(Finished(run))
    return run


def _after(started: datetime, began: float) -> datetime:
    """Now, though the machine's clock may have been set meanwhile."""
    return started + timedelta(seconds=time.monotonic() - began)


def _hidden(chosen: Sequence[Case]) -> list[str]:
    """The headers of told requests whose values are not shown, as nobody knows what they are."""
    told = [case.params.get("told") for case in chosen]
    return [name for one in told if isinstance(one, Told) for name, _ in one.digests]


def bench_for(
    target: Target,
    secrets: Secrets,
    clock: Clock,
    governor: Governor,
    stop: Stop,
    emit: Sink,
    hidden: Sequence[str] = (),
) -> Bench:
    """What live cases of one target share. `hidden`: further headers whose values are secret."""
    headers = [*hidden, *(name for route in target.routes.values() for name in route.headers)]
    return Bench(
        clock=clock,
        governor=governor,
        secrets=secrets,
        redactor=Redactor(secrets.values(target), headers),
        catalogue=catalogue_for(target.name),
        emit=emit,
        stop=stop,
        output_cap=OutputCap(target, clock),
        today=datetime.now(UTC).date(),
    )


def _spent(before: Spend, after: Spend) -> Spend:
    return replace(
        after,
        requests=after.requests - before.requests,
        input_tokens=after.input_tokens - before.input_tokens,
        output_tokens=after.output_tokens - before.output_tokens,
        usd=None if after.usd is None else round(after.usd - (before.usd or 0.0), 9),
    )


def _check_secrets(planned: Plan, target: Target, secrets: Secrets) -> None:
    """Raises UsageError where a case needs a variable that is not set; before anything is sent."""
    if any(KINDS[case.kind].keyed for case in planned.cases):
        secrets.key(target)
    for route in target.routes.values():
        secrets.headers(route)
        secrets.client_cert(route)


def versions(chosen: Sequence[Case]) -> dict[str, str]:
    """What ran: the probe, its interpreter, and the software behind each client."""
    found = {"edgeprobe": __version__, "python": platform.python_version()}
    for client in {client.name: client for case in chosen for client in case.clients}.values():
        found[client.name] = clients.sender_class(client).version() or client.version or "unknown"
    return found


def _digest(chosen: Sequence[Case]) -> str:
    """Two runs with the same digest asked the same of the same target."""
    asked: list[Any] = [
        (c.id, c.target, [client.name for client in c.clients], sorted(c.params.items())) for c in chosen
    ]
    return f"sha256:{hashlib.sha256(repr(asked).encode()).hexdigest()}"


def emitter(sinks: Sequence[Sink]) -> Sink:
    """One for all of them, which leaves out those that break."""
    working = list(sinks)

    def emit(event: Event) -> None:
        for sink in list(working):
            try:
                sink(event)
            except Exception:  # noqa: BLE001 - seam 3 of 3: a broken display must not cost the run its findings
                working.remove(sink)

    return emit
