"""Which suites and targets does a canary's file mean, and can they be read?

A canary is taken over as a whole: its file, the targets and the suites that it names are good, or nothing of it counts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from probes import config, strict_yaml
from probes.bundled import find
from probes.errors import ConfigError, UsageError
from probes.kinds import KINDS
from probes.metric_rows import MOST_SERIES, Asked, most_series
from probes.suite import cases, load_suite
from probes.watch import database
from probes.watch.config import Canary
from probes.watch.rules import is_url, problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.credentials import Secrets
    from probes.model import Case, Target
    from probes.strict_yaml import KeyPath, Lines
    from probes.watch.config import Entry

FILE = Path("configs/canary.yaml")
_DATABASE = ("database",)
_INSTEAD = "url_env: HEARTBEAT_URL; database: postgresql+psycopg://canary:$DB_PASSWORD@db.example/canary"


class Named(NamedTuple):
    """A variable that stands at a key, and what it holds; `url`: that must be one that can be asked."""

    at: KeyPath
    variable: str
    what: str
    url: bool = False


@dataclass(frozen=True)
class Watched:
    """`files`: all that was read for it, with the digest of what stood in them. `path` and `lines` are of its own."""

    canary: Canary
    targets: Mapping[str, Target]
    files: tuple[Path, ...]
    digest: str
    path: Path = FILE
    lines: Lines = field(default_factory=dict)

    def refuse(self, at: KeyPath, problem: str) -> NoReturn:
        """Raises ConfigError at the line of a key."""
        strict_yaml.refuse(problem, self.path, self.lines, at)

    def value(self, named: Named, secrets: Secrets) -> str:
        """What a variable holds, which no text repeats; UsageError at the line that names it."""
        try:
            value = secrets.value(named.variable, named.what)
        except UsageError as wrong:
            self.refuse(named.at, str(wrong))
        if named.url and not is_url(value):
            self.refuse(named.at, f"{named.variable}: must hold an http or https URL: it is {named.what}")
        return value

    def value_at(self, at: KeyPath, secrets: Secrets) -> str:
        """Of the one that is named there."""
        return self.value(next(named for named in variables(self.canary) if named.at == at), secrets)

    def database_url(self, secrets: Secrets) -> str | None:
        """Its URL with what its variables hold; `None` is the one beside the reports."""
        url, named = (
            self.canary.database,
            {n.variable: n for n in variables(self.canary) if n.at == _DATABASE},
        )
        if url is None:
            return None
        try:
            return database.resolved(url, lambda name: self.value(named[name], secrets))
        except ConfigError:
            raise
        except UsageError as wrong:
            self.refuse(_DATABASE, f"{', '.join(named)}: {wrong}")


def canary_file(name: str | None = None) -> Path:
    """The file that was named, else the one where the user stands; raises UsageError where there is none."""
    path = FILE if name is None else Path(name)
    if not path.is_file():
        how = "; make one with `edgeprobe init`" if name is None else ""
        raise UsageError(f"{path}: no such file{how}")
    return path


def read_canary(path: Path) -> tuple[Canary, Lines]:
    """The file, and the lines of its keys; raises ConfigError with line, key and the nearest valid value.

    That its suites and targets can be read is for `load`.
    """
    data, lines = strict_yaml.load(path)
    config.refuse_literal_secrets(path, lines, database.VARIABLE, _INSTEAD)
    canary = strict_yaml.check(data, Canary, path=path, lines=lines)
    for at, problem in problems(canary):
        strict_yaml.refuse(problem, path, lines, at)
    return canary, lines


def load(name: str | None = None) -> Watched:
    """The canary's file that `name` means, with all that it names; raises ConfigError at the line of what is wrong."""
    path = canary_file(name)
    before = None
    while True:  # until no file was written while it was being read
        watched = _read(path)
        if watched.digest == before:
            return watched
        before = watched.digest


def _read(path: Path) -> Watched:
    canary, lines = read_canary(path)
    targets: dict[str, Target] = {}
    files = {path}
    planned: dict[str, list[Case]] = {}
    for index, entry in enumerate(canary.entries):
        at = ("entries", index)
        try:
            files |= {config.target_file(entry.target), find(entry.suite, "suites", "suite")}
        except UsageError as mistake:
            key = "target" if str(mistake).startswith("target") else "suite"
            strict_yaml.refuse(str(mistake), path, lines, (*at, key))
        if entry.target not in targets:
            targets[entry.target] = config.load_target(entry.target)
        asked = _cases(entry, targets[entry.target], path, lines, at)
        if not asked:
            strict_yaml.refuse("asks nothing: none of its cases and clients fits its target", path, lines, at)
        planned.setdefault(entry.target, []).extend(asked)
    if (series := _most_series(planned, len(canary.entries))) > MOST_SERIES:
        said = f"up to {series:,} series of metrics, {MOST_SERIES:,} are the most; split it into several canaries"
        strict_yaml.refuse(said, path, lines, ("entries",))
    ordered = tuple(sorted(files))
    return Watched(canary, targets, ordered, digest(ordered), path, lines)


def _cases(entry: Entry, target: Target, path: Path, lines: Lines, at: KeyPath) -> list[Case]:
    """As a run of it would ask; a wrong client or parameter stands in the canary's own file."""
    try:
        return cases(
            load_suite(entry.suite), target, 0, overrides=entry.overrides, only=entry.clients or None
        )[0]
    except ConfigError:
        raise
    except UsageError as mistake:
        said = str(mistake)
        key = "set" if said.startswith("--set") else "clients"
        strict_yaml.refuse(said.removeprefix("--set ").removeprefix("--client "), path, lines, (*at, key))


def _most_series(planned: Mapping[str, list[Case]], entries: int) -> int:
    targets = [
        Asked(
            routes=len(cases[0].target.routes),
            clients=len({c.name for case in cases for c in (*case.clients, *KINDS[case.kind].brings)}),
            kinds=len({case.kind for case in cases}),
        )
        for cases in planned.values()
    ]
    return most_series(targets, entries)


def variables(canary: Canary) -> Iterator[Named]:
    """Those that it names, in the order of its keys."""
    for name in database.names(canary.database or ""):
        yield Named(_DATABASE, name, "a part of the database's URL")
    if canary.dead_man is not None and canary.dead_man.url_env is not None:
        yield Named(("dead_man", "url_env"), canary.dead_man.url_env, "the dead man's address", url=True)
    for index, sink in enumerate(canary.sinks):
        for key in ("webhook_env", "notify_env"):
            if (variable := getattr(sink, key)) is not None:
                what = f"the address of sink {sink.name}"
                yield Named(("sinks", index, key), variable, what, url=key == "webhook_env")
        if sink.secret_env is not None:
            what = f"the key that sink {sink.name} is signed with"
            yield Named(("sinks", index, "secret_env"), sink.secret_env, what)


def digest(files: tuple[Path, ...]) -> str:
    """Of what stands in them now; a file that cannot be read differs from every text."""
    return hashlib.sha256(repr(list(_texts(files))).encode()).hexdigest()


def _texts(files: tuple[Path, ...]) -> Iterator[bytes | str]:
    for path in files:
        try:
            yield path.read_bytes()
        except OSError as fault:
            yield f"{path}: {fault.strerror}"
