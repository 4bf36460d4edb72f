"""What is wrong with the files that edgeprobe would read here?

Everything is read and nothing sent; each file's first mistake is told, as `path:line: key: problem`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from probes import config, own_signatures
from probes.acceptance import expired
from probes.bundled import names
from probes.classify.pages import read as pages_as_copied
from probes.classify.replies import replies
from probes.errors import ConfigError, UsageError
from probes.kinds.reproduction.rules import rules
from probes.lab import expectations, faults, pages
from probes.prices import listed
from probes.signatures import catalogue
from probes.strict_yaml import key_path
from probes.suite import cases, load_suite
from probes.timers import timers
from probes.vocabulary import vocabulary
from probes.watch import watched as canary
from probes.watch.scheduled import overdrawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from probes.credentials import Secrets
    from probes.model import Target
    from probes.strict_yaml import KeyPath, Lines
    from probes.watch.watched import Watched

T = TypeVar("T")
_STAND_IN = ("http://127.0.0.1:9/v1", "openai", "m")
"""Suites are read for a target; where there is none, for this one."""


@dataclass(slots=True)
class Checkup:
    """`counts`: what was read well, by name. `problems` and `notes`: one line each, in the order of reading; a note is
    of what is valid and yet not what was meant.
    """

    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def read(self, reading: Callable[[], T]) -> T | None:
        """What `reading` gives, or `None` after its mistake was noted."""
        try:
            return reading()
        except UsageError as mistake:
            self.note(str(mistake))
            return None

    def note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def count(self, what: str, n: int) -> None:
        self.counts[what] = self.counts.get(what, 0) + n


_TABLES: dict[str, Callable[[], Any]] = {
    # Past their caches: what counts is what stands in the files now.
    "clients": config.clients,
    "finding codes": vocabulary.__wrapped__,
    "signatures": lambda: catalogue.__wrapped__().signatures,
    "timers": timers.__wrapped__,
    "prices": listed.__wrapped__,
    "lab pages": pages.pages.__wrapped__,
    "lab faults": faults.catalogue.__wrapped__,
    "lab expectations": expectations.expectations,
}


def checkup(
    suites: Sequence[str] = (),
    target: str | None = None,
    secrets: Secrets | None = None,
    receiver: Callable[[Watched, int, Secrets], object] | None = None,
) -> Checkup:
    """`suites` and `target` as on the command line; without them every one there is.

    With `secrets` the variables that targets name are looked up too, but for those of the example. `receiver` raises
    UsageError for a sink of the canary, by its number, that could not be told.
    """
    found = Checkup()
    targets = _targets(found, target, secrets)
    for name in suites or names("suites"):
        suite = found.read(partial(load_suite, name))
        if suite is not None:
            found.count("suites", 1)
            for one in targets or [config.target_from_flags(*_STAND_IN)]:
                found.read(partial(cases, suite, one, 0))
    for what, reading in _TABLES.items():
        table = found.read(reading)
        if table is not None:
            found.count(what, len(table))
    if not suites and target is None and canary.FILE.is_file():
        _canary(found, secrets, receiver)
    _copied_pages(found)
    found.read(replies.__wrapped__)
    found.read(rules.__wrapped__)
    for path in own_signatures.files():
        own = found.read(partial(own_signatures.read, path))
        if own is not None:
            found.count("signatures of targets' own", len(own.signatures))
    return found


def _canary(
    found: Checkup, secrets: Secrets | None, receiver: Callable[[Watched, int, Secrets], object] | None
) -> None:
    watched = found.read(canary.load)
    if watched is None:
        return
    found.count("entries of the canary", len(watched.canary.entries))
    found.notes += found.read(lambda: list(overdrawn(watched))) or []
    if secrets is not None:
        for named in canary.variables(watched.canary):
            found.read(partial(watched.value, named, secrets))
        found.read(partial(watched.database_url, secrets))
    if secrets is not None and receiver is not None:
        for index in range(len(watched.canary.sinks)):
            found.read(partial(receiver, watched, index, secrets))


def _copied_pages(found: Checkup) -> None:
    whole = found.read(catalogue.__wrapped__)
    copied = found.read(partial(pages_as_copied, whole)) if whole is not None else None
    if copied is None:
        return
    found.count("copied pages", len(copied.as_text.signatures))
    for path in dict.fromkeys(copied.idle.values()):
        ids = ", ".join(one for one, place in copied.idle.items() if place == path)
        found.notes.append(f"{path}: has no {ids}: such a page is not known where it is pasted as text")


def _targets(found: Checkup, name: str | None, secrets: Secrets | None) -> list[Target]:
    paths: Iterable[Path | None] = names(config.TARGETS).values()
    if name is not None:
        paths = [found.read(partial(config.target_file, name))]
    good = []
    for path in paths:
        if path is None or (pair := found.read(partial(config.read_target, path))) is None:
            continue
        named = name is not None or path.stem != config.EXAMPLE
        found.count("targets", int(named))
        good.append(pair[0])
        found.notes += _expired(path, *pair) if named else []
        if secrets is not None and named:
            for problem in _unset(path, *pair, secrets):
                found.note(problem)
    return good


def _expired(path: Path, target: Target, lines: Lines) -> Iterator[str]:
    today = datetime.now(UTC).date()
    for number, one in enumerate(target.accepted):
        if expired(one, today):
            at = ("accepted", number)
            said = f"has expired on {one.until}: what it accepts counts again, and runs warn of it"
            yield str(ConfigError(said, path=path, line=lines.get(at), key=key_path(at)))


def _unset(path: Path, target: Target, lines: Lines, secrets: Secrets) -> Iterator[str]:
    """The variables of a target that are not set, or hold what cannot be used."""
    readings: list[tuple[KeyPath, Callable[[], object]]] = [(("key_env",), partial(secrets.key, target))]
    for name, route in target.routes.items():
        readings.append((("routes", name, "headers"), partial(secrets.headers, route)))
        readings.append((("routes", name, "client_cert"), partial(secrets.client_cert, route)))
    for at, reading in readings:
        try:
            reading()
        except UsageError as mistake:
            yield str(ConfigError(str(mistake), path=path, line=lines.get(at), key=key_path(at)))
