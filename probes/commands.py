"""What does each command do?"""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from probes import outputs
from probes.config import assignments, load_target, target_from_flags
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.target_flags import refuse_scaled

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from probes.conduct import Order
    from probes.model import Sink, Target


_MOST = 1e12
"""Of any budget."""


def demo(arguments: Namespace) -> int:
    from probes import demo as demonstration

    outputs.check(arguments)
    with _progress() as sink:
        run = demonstration.demo(sinks=(sink,))
    outputs.show(run, arguments)
    return 0 if demonstration.epilogue(run, outputs.person(arguments)) else 1


def run(arguments: Namespace) -> int:
    from probes import store
    from probes.conduct import conduct
    from probes.runner import exit_code

    order = _order(arguments)
    outputs.check(arguments)
    if not arguments.no_store:
        store.check()
    with _progress() as sink:
        done = conduct(order, Secrets(), (sink,))
    if not arguments.no_store:
        try:
            store.save(done)
        except UsageError as fault:  # what was paid for is shown and judged, stored or not
            sys.stderr.write(f"edgeprobe: not stored: {fault}\n")
    outputs.to_github(done, outputs.person(arguments))
    outputs.show(done, arguments)
    code = exit_code(done)
    if code == 3 and exit_code(done, allow_inconclusive=arguments.allow_inconclusive) == 0:
        outputs.person(arguments).write("inconclusive, but a case passed: exit 0 by --allow-inconclusive\n")
        return 0
    return code


def plan(arguments: Namespace) -> int:
    from probes.conduct import plan as planned
    from probes.kinds import KINDS
    from probes.prices import prices
    from probes.reporters.plan import Row, report

    order = _order(arguments)
    ahead = planned(order, Secrets())
    rows = [
        Row(
            case.id,
            ", ".join(c.name for c in case.clients),
            *KINDS[case.kind].bound(case),
            long=KINDS[case.kind].long,
            notes=tuple(KINDS[case.kind].foretells(case)),
        )
        for case in ahead.cases
    ]
    report(rows, ahead.skipped, order.target, prices(order.target), sys.stdout)
    return 0


def watch(arguments: Namespace) -> int:
    from probes.watch import extra

    extra.check()
    from probes.watch.command import run as watched

    return watched(arguments)


def mark(arguments: Namespace) -> int:
    from probes.marks.command import run as marked

    return marked(arguments)


def report(arguments: Namespace) -> int:
    from probes import store
    from probes.stored import load

    outputs.check(arguments)
    if (arguments.run is None) is (arguments.since is None):
        raise UsageError("report: takes a RUN or --since TIME, such as --since 7d")
    if arguments.since is not None:
        from probes.memory.since_command import run as told

        return told(arguments)
    asks = {"--fired": arguments.fired, "--zone": arguments.zone, "--token-env": arguments.token_env}
    if arguments.target is not None:
        raise UsageError("--target: goes with --since")
    if not arguments.fired and (flag := next((name for name, given in asks.items() if given), None)):
        raise UsageError(f"{flag}: goes with --fired")
    if arguments.fired and arguments.rejudge:
        raise UsageError("--fired and --rejudge exclude each other")
    stored = load(arguments.run, arguments.db)
    outputs.spare(store.path_of(arguments.run), arguments)
    if arguments.rejudge:
        from probes.rejudge.command import again

        return again(stored, arguments)
    if arguments.fired:
        from probes.marks.fired_command import with_rules

        return with_rules(stored, arguments)
    outputs.show(stored, arguments)
    return 0


def classify(arguments: Namespace) -> int:
    from probes.classify.command import run as classified

    return classified(arguments)


def calibrate(arguments: Namespace) -> int:
    from probes.calibration.command import run as calibrated

    if arguments.named is not None:
        if arguments.target is not None:
            raise UsageError(f"--target {arguments.target}: the target is named already, {arguments.named}")
        arguments.target = arguments.named
    with _progress() as sink:
        return calibrated(arguments, _target(arguments), sink)


def explain(arguments: Namespace) -> int:
    from probes.vocabulary import explain as explained

    sys.stdout.write(f"{explained(arguments.code)}\n")
    return 0


def validate(arguments: Namespace) -> int:
    from probes import schemas
    from probes.checkup import checkup

    if arguments.schema is not None:
        sys.stdout.write(schemas.text(arguments.schema))
        return 0
    found = checkup(arguments.suites, arguments.target, Secrets() if arguments.env else None)
    if found.problems:
        sys.stderr.write("".join(f"{problem}\n" for problem in found.problems))
        return 2
    sys.stdout.write("".join(f"note     {note}\n" for note in found.notes))
    sys.stdout.write(f"ok       {', '.join(f'{n:,} {what}' for what, n in found.counts.items())}\n")
    return 0


def init(arguments: Namespace) -> int:
    from probes import starter

    folder = Path(arguments.folder)
    written, kept = starter.write(folder)
    lines = [f"wrote    {path}" for path in written] + [f"kept     {path}" for path in kept]
    go = [] if folder == Path() else [f"cd {shlex.quote(str(folder))}"]
    steps = [
        *go,
        "$EDITOR configs/targets/prod.yaml       # base_url, model, key_env",
        "edgeprobe validate --env",
        "edgeprobe plan smoke                    # sends nothing",
        "edgeprobe run smoke",
        "edgeprobe watch                         # on a schedule: configs/canary.yaml",
    ]
    lines += [f"{'next' if step is steps[0] else '':<8} {step}" for step in steps]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def clients(_: Namespace) -> int:
    from probes import clients as senders
    from probes import config
    from probes.reporters.clients import Row, report

    known = config.clients().values()
    report([Row(client, *senders.announced(client)) for client in known], sys.stdout)
    return 0


def lab(arguments: Namespace) -> int:
    from probes.lab.command import run as served

    return served(arguments)


# --- shared ----------------------------------------------------------------------------------------------


def store(arguments: Namespace) -> int:
    from probes.memory.command import run as looked_after

    return looked_after(arguments)


def _order(arguments: Namespace) -> Order:
    from probes.clock import Clock
    from probes.conduct import Order

    target = _with_budget(_target(arguments), arguments)
    if arguments.time_scale != 1.0:
        refuse_scaled(target)
    return Order(
        suites=tuple(dict.fromkeys(arguments.suites)),
        target=target,
        only=tuple(arguments.client) if arguments.client else None,
        overrides=assignments("--set", arguments.set, "KEY=VALUE"),
        seed=arguments.seed,
        clock=Clock(arguments.time_scale),
    )


def _with_budget(target: Target, arguments: Namespace) -> Target:
    from probes.prices import prices
    from probes.target_rules import NO_PRICE

    flags = {
        "requests": ("--max-requests", arguments.max_requests),
        "tokens": ("--max-tokens-total", arguments.max_tokens_total),
        "usd": ("--max-usd", arguments.max_usd),
    }
    for flag, value in flags.values():
        if value is not None and not 0 < value <= _MOST:
            said = f"is above {_MOST:g}" if value > _MOST else "is not above 0"
            raise UsageError(f"{flag}: {str(value).removesuffix('.0')} {said}")
    if arguments.max_usd is not None and prices(target) is None:
        raise UsageError(f"--max-usd: cannot be kept: {NO_PRICE.format(model=target.model)}")
    given = {name: value for name, (_, value) in flags.items() if value is not None}
    return replace(target, budget=replace(target.budget, **given))


def _target(arguments: Namespace) -> Target:
    given = [flag for flag in _FLAGS_OF_A_TARGET if getattr(arguments, flag) not in (None, False, [])]
    if arguments.base_url is None:
        if given:
            first = "--" + given[0].replace("_", "-")
            raise UsageError(f"{first}: goes with --base-url; a target's file says it itself")
        return load_target(arguments.target)
    if arguments.target is not None:
        raise UsageError("--target and --base-url exclude each other")
    for flag in ("api", "model"):
        if getattr(arguments, flag) is None:
            raise UsageError(f"--{flag} is missing: --base-url URL --api openai|anthropic --model M")
    return target_from_flags(
        arguments.base_url,
        arguments.api,
        arguments.model,
        key_env=arguments.key_env,
        no_key=arguments.no_key,
        endpoints=arguments.endpoint,
        routes=assignments("--route", arguments.route, "NAME=URL"),
        connect_to=arguments.connect_to,
        proxy=arguments.proxy,
        env_proxy=not arguments.no_env_proxy,
        headers=assignments("--header", arguments.header, "NAME=VARIABLE"),
        owned=arguments.owned,
        vantage=arguments.vantage,
    )


_FLAGS_OF_A_TARGET = (
    "api", "model", "key_env", "no_key", "endpoint", "route", "connect_to", "proxy", "no_env_proxy", "header", "owned",
    "vantage",
)  # fmt: skip


@contextmanager
def _progress() -> Iterator[Sink]:
    from probes.sinks.progress import Progress

    sink = Progress(sys.stderr)
    try:
        yield sink
    finally:
        sink.close()
