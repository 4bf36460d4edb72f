"""What does each command do?"""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from probes import ordered, outputs
from probes.credentials import Secrets
from probes.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from probes.model import Sink


def demo(arguments: Namespace) -> int:
    from probes import demo as demonstration

    outputs.check(arguments)
    with _progress() as sink:
        run = demonstration.demo(sinks=(sink,))
    outputs.show(run, arguments)
    return 0 if demonstration.epilogue(run, outputs.person(arguments)) else 1


def run(arguments: Namespace) -> int:
    from probes import store
    from probes.bundles import command as bundles
    from probes.conduct import conduct
    from probes.runner import exit_code

    order = ordered.order(arguments)
    outputs.check(arguments)
    bundles.check(arguments)
    if not arguments.no_store:
        store.check()
    if arguments.baseline is not None:
        from probes.change.command import baseline

        order = replace(order, against=baseline(arguments, order.target))
    with _progress() as sink:
        done = conduct(order, Secrets(), (sink,))
    if not arguments.no_store:
        try:
            store.save(done)
        except UsageError as fault:  # what was paid for is shown and judged, stored or not
            sys.stderr.write(f"edgeprobe: not stored: {fault}\n")
    outputs.to_github(done, outputs.person(arguments))
    outputs.show(done, arguments)
    bundles.after(done, arguments)
    code = exit_code(done)
    if code == 3 and exit_code(done, allow_inconclusive=arguments.allow_inconclusive) == 0:
        outputs.person(arguments).write("inconclusive, but a case passed: exit 0 by --allow-inconclusive\n")
        return 0
    return code


def plan(arguments: Namespace) -> int:
    from probes.bill import command as bills
    from probes.conduct import plan as planned
    from probes.kinds import KINDS
    from probes.prices import prices
    from probes.reporters.plan import Row, report

    order = ordered.order(arguments)
    outputs.check(arguments)
    bills.check(arguments, "monthly")
    bill = bills.monthly(arguments, order.target) if arguments.monthly else None
    held = None
    if arguments.baseline is not None:
        from probes.change.command import baseline, foretell

        held = baseline(arguments, order.target)
    ahead = planned(order, Secrets())
    rows: list[Row] = []
    for case in ahead.cases:
        spec, names = KINDS[case.kind], ", ".join(client.name for client in case.clients)
        rows.append(Row(case.id, names, *spec.bound(case), spec.long, tuple(spec.foretells(case))))
    out = outputs.person(arguments)
    report(rows, ahead.skipped, order.target, prices(order.target), out)
    if bill is not None:
        out.write("\n")
        bills.show(bill, arguments)
    if held is not None:
        foretell(held, ahead.cases, out)
    return 0


def watch(arguments: Namespace) -> int:
    from probes.watch import extra

    extra.check()
    from probes.watch.command import run as watched

    return watched(arguments)


def mark(arguments: Namespace) -> int:
    from probes.marks.command import run as marked

    return marked(arguments)


def during(arguments: Namespace) -> int:
    from probes.during.command import run as beside

    return beside(arguments, ordered.bounded(arguments))


def report(arguments: Namespace) -> int:
    from probes import store
    from probes.bill import command as bills
    from probes.bundles import command as bundles
    from probes.bundles import reading
    from probes.marks import fired_command
    from probes.stored import load

    outputs.check(arguments)
    bundles.check(arguments)
    if (arguments.run is None) is (arguments.since is None):
        raise UsageError("report: takes a RUN or --since TIME, such as --since 7d")
    beside = outputs.REPORTERS.keys() - {"json"}
    bills.check(arguments, "cost", "since", "rejudge", "fired", "bundle", *sorted(beside))
    if arguments.since is not None:
        if arguments.bundle is not None:
            raise UsageError("--bundle: is of one RUN, and does not go with --since")
        from probes.memory.since_command import run as told

        return told(arguments)
    if arguments.target is not None:
        raise UsageError("--target: goes with --since")
    fired_command.check(arguments, "rejudge")
    from_bundle = reading.is_bundle(arguments.run)
    stored = reading.run(arguments.run) if from_bundle else load(arguments.run, arguments.db)
    if arguments.cost:
        bills.show(bills.of_stored(arguments, stored), arguments)
        return 0
    outputs.spare(Path(arguments.run) if from_bundle else store.path_of(arguments.run), arguments)
    brought = reading.signatures(arguments.run) if from_bundle else None
    bundles.of_stored(stored, arguments, brought)
    if arguments.rejudge or (from_bundle and not arguments.fired):
        from probes.rejudge.command import again

        return again(stored, arguments, brought)
    if arguments.fired:
        return fired_command.with_rules(stored, arguments)
    outputs.show(stored, arguments)
    return 0


def repro(arguments: Namespace) -> int:
    from probes.repro.command import run as reproduced

    with _progress() as sink:
        return reproduced(arguments, (sink,))


def compare(arguments: Namespace) -> int:
    from probes.change.command import run as compared

    return compared(arguments)


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
        return calibrated(arguments, ordered.target(arguments), sink)


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
    if arguments.env:
        from probes.watch.receivers import receiver

        found = checkup(arguments.suites, arguments.target, Secrets(), receiver)
    else:
        found = checkup(arguments.suites, arguments.target)
    if found.problems:
        sys.stderr.write("".join(f"{problem}\n" for problem in found.problems))
        return 2
    sys.stdout.write("".join(f"note     {note}\n" for note in found.notes))
    sys.stdout.write(f"ok       {', '.join(_counted(n, what) for what, n in found.counts.items())}\n")
    return 0


_ONE = {
    "entries of the canary": "entry of the canary",
    "signatures of targets' own": "signature of a target's own",
}


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n != 1 else f"1 {_ONE.get(what, what.removesuffix('s'))}"


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


def store(arguments: Namespace) -> int:
    from probes.memory.command import run as looked_after

    return looked_after(arguments)


@contextmanager
def _progress() -> Iterator[Sink]:
    from probes.sinks.progress import Progress

    sink = Progress(sys.stderr)
    try:
        yield sink
    finally:
        sink.close()
