"""What does `edgeprobe calibrate` do?"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from typing import TYPE_CHECKING

from probes import outputs, strict_yaml
from probes.calibration import calibrate, to_document
from probes.calibration.asking import ACCEPTS, CODES, ERRORS, MOST_CODES, in_order, most
from probes.calibration.keeping import ON_REQUEST
from probes.config import read_target, target_file
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.reporters.calibration import report
from probes.statuses import of_cloudflare
from probes.suite import default_route

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from probes.calibration import Calibration
    from probes.calibration.judging import Judged
    from probes.model import Sink, Target


def run(arguments: Namespace, target: Target, sink: Sink) -> int:
    """0: the edge showed the pages that were asked for, and those of the zone's own are kept. 3: nothing is proven, or not
    all was asked. UsageError where the target is not owned.
    """
    codes = _codes(arguments)
    if not target.owned:
        _refuse(arguments)
    outputs.check(arguments)
    if arguments.dry_run:
        _dry(target, codes)
        return 0
    done = calibrate(target, codes, Secrets(), sink)
    with outputs.without_commands(outputs.person(arguments)):
        _show(done, arguments)
    if arguments.json is not None:
        outputs.write_json(f"{json.dumps(to_document(done), indent=2)}\n", arguments.json)
    return 0 if done.measured else 3


def _codes(arguments: Namespace) -> tuple[int, ...]:
    codes = tuple(dict.fromkeys(arguments.code or CODES))
    wrong = next((code for code in codes if code not in ERRORS), None)
    if wrong is not None:
        near = min(ERRORS, key=lambda code: (abs(code - wrong), code))
        raise UsageError(
            f"--code: {wrong} is no error of Cloudflare's; the nearest is {near}; valid: {_ranges(sorted(ERRORS))}"
        )
    if len(codes) > MOST_CODES:
        raise UsageError(
            f"--code: {len(codes)} are too many: after about 25 requests the edge limits who asks; at most {MOST_CODES}"
        )
    return codes


def _ranges(numbers: Sequence[int]) -> str:
    """500, 502-504 …"""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and rows[-1][-1] == number - 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ", ".join(f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows)


def _refuse(arguments: Namespace) -> None:
    said = "calibrate asks the edge of one's own zone only, and keeps its pages; say that the target is yours"
    if arguments.target is None and arguments.base_url is not None:
        raise UsageError(f"--owned is missing: {said}")
    path = target_file(arguments.target)
    _, lines = read_target(path)
    strict_yaml.refuse(f"must be true: {said}", path, lines, ("owned",))


def _dry(target: Target, codes: Sequence[int]) -> None:
    asked = in_order(codes)
    lines = [
        f"target   {target.name}, by its route {default_route(target)}",
        "asks     /cdn-cgi/trace",
        *(f"asks     /cdn-cgi/error/{code}, whose page comes with {of_cloudflare(code)}" for code in asked),
        f"as       {' and '.join(f'{name} Accept, {accept}' for name, accept in ACCEPTS.items())}; what is not known, twice",
        "then     /, a path that is not there, and the models list without a key: none of them may look like a page that is kept",
        f"at most  {most(asked)} requests one after the other, none with a key; the first 429 ends it",
        "nothing was sent",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _show(done: Calibration, arguments: Namespace) -> None:
    tag = f"Cloudflare, site {done.colo}" if done.colo else "not told by /cdn-cgi/trace"
    report(f"The error pages of {done.host}", tag, _rows(done), outputs.person(arguments))


def _rows(done: Calibration) -> Iterator[tuple[str, str]]:
    for code, group in groupby(done.judged, key=lambda one: one.shown.code):
        for number, text in enumerate(_said(list(group))):
            yield str(code) if number == 0 else "", text
    if done.written:
        yield "wrote", f"{done.path}: {len(done.written)} new, for this target's runs and `classify --target`"
        yield "doubtful", ON_REQUEST
        for name, doubts in done.dubious.items():
            yield from (("", f"{name}: {doubt}") for doubt in doubts)
    elif done.measured:
        yield "wrote", "nothing: no page is new"
    if done.ended is not None:
        yield "ended", done.ended
    yield "asked", f"{done.requests} requests, none with a key"
    if done.written:
        yield "next", "read what was kept, then edgeprobe validate"


def _said(judged: Sequence[Judged]) -> Iterator[str]:
    """Of one code: what is the same for both Accepts once."""
    for why in dict.fromkeys(one.why for one in judged):
        same = [one for one in judged if one.why == why]
        names = dict.fromkeys(one.signature for one in same if one.signature)
        statuses = dict.fromkeys(str(one.shown.answers[0].status) for one in same)
        whose = "" if len(same) == len(ACCEPTS) else f", with {same[0].shown.accept} Accept"
        yield f"{why}{' as ' if names else ''}{', '.join(names)} ({', '.join(statuses)}){whose}"
