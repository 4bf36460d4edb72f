"""Which questions does a suite ask of a target?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import Field

from probes import config, parameters, strict_yaml
from probes.allowance import LEAST
from probes.bundled import find
from probes.errors import ConfigError, UsageError, did_you_mean
from probes.kinds import KINDS
from probes.model import Case, Client, Skipped, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

Kinds = Mapping[str, Mapping[str, Any]]
"""Name of a kind → its parameters with their defaults."""
DEFAULTS: Kinds = {name: spec.defaults for name, spec in KINDS.items()}
Clients = Mapping[str, Client]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Row:
    kind: str
    clients: str | tuple[str, ...] = "genuine"
    params: Annotated[Mapping[str, Any], Field(alias="with")] = field(default_factory=dict)
    route: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class SuiteFile:
    name: str
    cases: tuple[Row, ...]


@dataclass(frozen=True)
class Suite:
    """`path` and `lines` are where its rows stand, for messages."""

    name: str
    rows: tuple[Row, ...]
    path: Path
    lines: strict_yaml.Lines = field(repr=False, compare=False)


def load_suite(name: str) -> Suite:
    """The suite that `name` (or a path) means; whether its kinds exist is seen when its cases are built."""
    path = find(name, "suites", "suite")
    data, lines = strict_yaml.load(path)
    read = strict_yaml.check(data, SuiteFile, path=path, lines=lines)
    if not _NAME.fullmatch(read.name):
        said = "must be letters, digits, dots, dashes and underscores"
        strict_yaml.refuse(said, path, lines, ("name",))
    if not read.cases:
        strict_yaml.refuse("is empty", path, lines, ("cases",))
    for index, row in enumerate(read.cases):
        if row.seconds is not None and row.seconds < LEAST:
            said = f"must be {LEAST:g} or more: a request is given as long"
            strict_yaml.refuse(said, path, lines, ("cases", index, "seconds"))
    return Suite(read.name, read.cases, path, lines)


def cases(
    suite: Suite,
    target: Target,
    seed: int,
    *,
    kinds: Kinds = DEFAULTS,
    clients: Clients | None = None,
    overrides: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    sdks: Sequence[Client] = (),
) -> tuple[list[Case], list[Skipped]]:
    """The suite's cases for a target, and what of it has to be left out.

    `overrides`: the texts of `--set`, for every case whose kind has the parameter; where rows differ in it alone, for
    those that say it. `route` is for all cases, as in their rows. `only`: the names of `--client`. `sdks`: those of
    `--sdk`, which each row has beside its own.
    Raises ConfigError for a row, UsageError for a flag that is wrong.
    """
    clients = config.clients() if clients is None else clients
    built: list[Case] = []
    skipped: list[Skipped] = []
    seen: dict[str, int] = {}
    texts = dict(overrides or {})
    suite = _by_route(suite, texts.pop("route", None), target)
    _check_overrides(suite, texts, kinds)
    apart = {key for key in texts if _tells_apart(suite, key)}
    for index, row in enumerate(suite.rows):
        said = _said(suite, index, kinds)
        defaults = kinds[row.kind]
        said |= {
            key: parameters.from_flag(f"--set {key}", text, defaults[key], _limits(row.kind, key))
            for key, text in texts.items()
            if key in defaults and (key not in apart or key in row.params)
        }
        name = _id(suite.name, row.kind, said)
        if name in seen:
            _refuse_twice(suite, seen[name], index, texts)
        seen[name] = index
        chosen, left_out = _clients(suite, index, target, clients, only, name)
        fitting = [client for client in sdks if client.api in {None, target.api}]
        chosen = tuple(dict.fromkeys([*chosen, *fitting]))
        skipped += [*left_out, *_foreign(name, [client for client in sdks if client not in fitting], target)]
        if row.route not in {None, *target.routes}:
            skipped.append(Skipped(name, None, f"route {row.route} is not there"))
        elif not chosen:
            skipped.append(Skipped(name, None, _why_no_client(target, clients, only)))
        else:
            made = _case(name, target, chosen, said, defaults, seed)
            built.append(replace(made, seconds=row.seconds))
    return built, skipped


def _case(
    name: str,
    target: Target,
    chosen: tuple[Client, ...],
    said: Mapping[str, Any],
    defaults: Mapping[str, Any],
    seed: int,
) -> Case:
    suite, kind = name.split("/")[:2]
    params = {**defaults, **said}
    route = params.pop("route", None) or default_route(target)
    return Case(name, suite, kind, target, chosen, route, params, seed)


def default_route(target: Target) -> str:
    """The way that customers take, where the target names it so; else its first."""
    return "edge" if "edge" in target.routes else next(iter(target.routes))


def _clients(
    suite: Suite, index: int, target: Target, known: Clients, only: Sequence[str] | None, case: str
) -> tuple[tuple[Client, ...], list[Skipped]]:
    """The clients of a row; those it names that cannot be used are listed with the reason."""
    spec = suite.rows[index].clients
    try:
        chosen = config.select(known, spec, target)
    except UsageError as fault:
        line = suite.lines.get(("cases", index, "clients")) or suite.lines.get(("cases", index))
        where = strict_yaml.key_path(("cases", index, "clients"))
        raise ConfigError(str(fault), path=suite.path, line=line, key=where) from None
    named = [spec] if isinstance(spec, str) else spec
    foreign = [known[name] for name in dict.fromkeys(named) if name in known and known[name] not in chosen]
    skipped = _foreign(case, foreign, target)
    if only:
        allowed = config.select(known, only, target)
        chosen = tuple(client for client in chosen if client in allowed)
    return chosen, skipped


def _foreign(case: str, left_out: Sequence[Client], target: Target) -> list[Skipped]:
    return [Skipped(case, c.name, f"speaks {c.api}, the target {target.api}") for c in left_out]


def _why_no_client(target: Target, known: Clients, only: Sequence[str] | None) -> str:
    foreign = [known[name] for name in only or () if known[name].api not in {None, target.api}]
    if foreign and len(foreign) == len(only or ()):
        said = ", ".join(f"{client.name} speaks {client.api}" for client in foreign)
        return f"{said}, the target {target.api}"
    return "none of its clients is left"


# --- parameters ------------------------------------------------------------------------------------------


def _said(suite: Suite, index: int, kinds: Kinds) -> dict[str, Any]:
    """What a row says of itself: its `with`, checked against the kind, and its route."""
    row, at = suite.rows[index], ("cases", index)
    if row.kind not in kinds:
        said = f"unknown kind {row.kind!r}{did_you_mean(row.kind, kinds)}"
        strict_yaml.refuse(said, suite.path, suite.lines, (*at, "kind"))
    defaults = kinds[row.kind]
    for key, value in row.params.items():
        where = (*at, "with", key)
        if key not in defaults:
            said = f"unknown parameter of {row.kind}{did_you_mean(key, defaults)}"
            strict_yaml.refuse(said, suite.path, suite.lines, where)
        if wanted := parameters.mismatch(value, defaults[key], _limits(row.kind, key)):
            strict_yaml.refuse(f"must be {wanted}, not {value!r}", suite.path, suite.lines, where)
    return {**row.params, **({"route": row.route} if row.route else {})}


def _limits(kind: str, key: str) -> parameters.Limits | None:
    return KINDS[kind].limits.get(key) if kind in KINDS else None


def _by_route(suite: Suite, route: str | None, target: Target) -> Suite:
    if route is None:
        return suite
    if route not in target.routes:
        said = f"route {route!r} is not one of target {target.name}"
        raise UsageError(f"--set route: {said}{did_you_mean(route, target.routes)}")
    return replace(suite, rows=tuple(replace(row, route=route) for row in suite.rows))


def _check_overrides(suite: Suite, texts: Mapping[str, str], kinds: Kinds) -> None:
    valid = {"route", *(key for row in suite.rows for key in kinds.get(row.kind, {}))}
    for key in texts:
        if key not in valid:
            raise UsageError(f"--set {key}: no case of {suite.name} has it{did_you_mean(key, valid)}")


def _refuse_twice(suite: Suite, first: int, index: int, texts: Mapping[str, str]) -> NoReturn:
    one, two = (suite.rows[number] for number in (first, index))
    if (one.params, one.route) != (two.params, two.route):
        said = f"cases[{first}] and cases[{index}] of {suite.name} would be the same"
        raise UsageError(f"--set {', --set '.join(texts)}: {said}")
    problem = f"the same case as cases[{first}]; name all its clients in one row"
    strict_yaml.refuse(problem, suite.path, suite.lines, ("cases", index))


def _tells_apart(suite: Suite, key: str) -> bool:
    """Whether rows are the same but for it, and only some of them say it: for all it would make them one case."""
    ways: dict[object, set[bool]] = {}
    for row in suite.rows:
        others = {name: value for name, value in row.params.items() if name != key}
        ways.setdefault((row.kind, row.route, repr(sorted(others.items()))), set()).add(key in row.params)
    return any(len(said) > 1 for said in ways.values())


def _id(suite: str, kind: str, said: Mapping[str, Any]) -> str:
    return "/".join([suite, kind, *(f"{key}={parameters.to_id(said[key])}" for key in sorted(said))])
