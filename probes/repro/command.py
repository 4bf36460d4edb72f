"""What does `edgeprobe repro` say and do?"""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from probes import config, ordered, outputs, store
from probes.bundles import command as bundles
from probes.classify.command import show
from probes.clock import Clock
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.kinds.reproduction.outcome import CANNOT, NOT_REPRODUCED, REPRODUCED, outcome
from probes.redact import safe_text
from probes.repro import aimed, asking, keys, reading
from probes.repro.since import CHANGED, FIXED, STILL, since, tries
from probes.target_flags import refuse_scaled

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from probes.complaint import Told
    from probes.model import Run, Sink, Target

UNPROVEN = 3
_WIDTH = 80
_LOOK = "at its request.json before you pass the bundle on: what nobody can know to be a secret stays in it"
_CODES = {REPRODUCED: 1, STILL: 1, CHANGED: 1, NOT_REPRODUCED: 0, FIXED: 0, CANNOT: UNPROVEN}


def run(arguments: Namespace, sinks: Sequence[Sink]) -> int:
    """1 it fails here, too · 0 it does not · 3 it cannot be told. UsageError for what cannot be read or asked."""
    outputs.check(arguments)
    bundles.check(arguments)
    if (arguments.max_requests or 0) > asking.MOST:
        said = f"is above {asking.MOST}, the most that one complaint is worth"
        raise UsageError(f"--max-requests: {arguments.max_requests} {said}")
    named = _named(arguments)
    found = reading.given(
        arguments,
        named.api if named is not None else arguments.api,
        named.routes[_customers(named)].base_url if named is not None else arguments.base_url,
    )
    if found.told is None:
        return _unasked(found, arguments)
    try:
        told, target, route = _aimed(found.told, found, named, arguments)
    except UsageError as fault:
        raise UsageError(found.taken.hidden(f"{found.name}: {fault}")) from None
    if not arguments.no_store:
        store.check()
    values = found.taken.environ
    secrets = Secrets(ChainMap(values, dict(os.environ)), also=(*values, *told.secrets))
    _introduce(told, values, arguments)
    clock = Clock(arguments.time_scale)
    done = asking.ask(
        told,
        target,
        route,
        secrets,
        clock=clock,
        seed=arguments.seed,
        most=arguments.max_requests,
        repeats=tries(found.before) if found.before is not None else None,
        sinks=sinks,
    )
    return _conclude(done, found.before, arguments, secrets)


def _named(arguments: Namespace) -> Target | None:
    if arguments.target is None:
        return None
    given = [flag for flag in ordered.FLAGS_OF_A_TARGET if getattr(arguments, flag) not in (None, False, [])]
    if arguments.base_url is not None or given:
        first = "base_url" if arguments.base_url is not None else given[0]
        raise UsageError(
            f"--target and --{first.replace('_', '-')} exclude each other; a target's file says it itself"
        )
    return config.load_target(arguments.target)


def _customers(target: Target) -> str:
    return "edge" if "edge" in target.routes else next(iter(target.routes))


def _aimed(
    told: Told, found: reading.Given, named: Target | None, arguments: Namespace
) -> tuple[Told, Target, str]:
    """The request as it will be asked, of which target and over which of its routes."""
    if arguments.base_url is not None:
        told = aimed.moved(told, arguments.base_url)
    if told.proxy is not None and arguments.proxy is None:
        said = f"it went through the proxy {told.proxy}, and here does not; --proxy names one"
        told = replace(told, notes=(*told.notes, said))
    secrets = config.assignments("--secret", arguments.secret, "NAME=VARIABLE")
    if named is not None:
        headers = {name: ref.env for way in named.routes.values() for name, ref in way.headers.items()}
        route = aimed.route_of(named, told)
        operators = keys.Named(named.key_env, named.key_env is None, headers, secrets)
        asked = keys.keyed(told, found.taken, operators, os.environ)
        target = replace(named, key_env=asked.key_env)
    else:
        headers = config.assignments("--header", arguments.header, "NAME=VARIABLE")
        if arguments.key_env is not None and arguments.no_key:
            raise UsageError("--key-env and --no-key exclude each other")
        operators = keys.Named(arguments.key_env, arguments.no_key, headers, secrets)
        asked = keys.keyed(told, found.taken, operators, os.environ)
        beside = _beside(arguments, headers)
        if found.before is not None:
            beside["api"] = beside["api"] or found.before.target.api
        target, route = aimed.target_of(asked.told, asked.key_env, beside), "edge"
    target = ordered.with_budget(target, arguments)
    if arguments.time_scale != 1.0:
        refuse_scaled(target)
    return asked.told, target, route


def _beside(arguments: Namespace, headers: dict[str, str]) -> dict[str, Any]:
    """What the flags say beside the request."""
    return {
        "api": arguments.api,
        "model": arguments.model,
        "endpoints": arguments.endpoint,
        "routes": config.assignments("--route", arguments.route, "NAME=URL"),
        "connect_to": arguments.connect_to,
        "proxy": arguments.proxy,
        "env_proxy": not arguments.no_env_proxy,
        "headers": headers,
        "owned": arguments.owned,
        "vantage": arguments.vantage,
    }


def _introduce(told: Told, taken: Iterable[str], arguments: Namespace) -> None:
    """What was understood, before anything is sent. `taken`: the variables that secrets of the text became."""
    sender = f", as {told.client}{f' {told.version}' if told.version else ''} sends it" if told.client else ""
    rows = [
        ("asks", f"{told.method} {told.url}, {len(told.headers)} headers, {len(told.body):,} bytes{sender}")
    ]
    rows += [("seen", told.seen)] if told.seen else []
    rows += [("note", note) for note in told.notes]
    if kept := [name for name in taken if name in told.secrets]:
        said = f"{', '.join(kept)}: taken out of what was given, and known to this run alone"
        rows.append(
            ("secrets", f"{said}; its bundle is asked again with them set and {keys.flags(told, kept)}")
        )
    _write([line for word, text in rows for line in _row(word, safe_text(text))], arguments)


def _row(word: str, text: str) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=f"{word:<9}",
        subsequent_indent=" " * 9,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _write(lines: Sequence[str], arguments: Namespace) -> None:
    out = outputs.person(arguments)
    with outputs.without_commands(out):
        out.write("".join(f"{line}\n" for line in lines))


def _conclude(done: Run, before: Run | None, arguments: Namespace, secrets: Secrets) -> int:
    if not arguments.no_store:
        try:
            store.save(done)
        except UsageError as fault:  # what was paid for is shown and judged, stored or not
            sys.stderr.write(f"edgeprobe: not stored: {fault}\n")
    outputs.to_github(done, outputs.person(arguments))
    outputs.show(done, arguments)
    if bundles.after(done, arguments, secrets):
        _write(_row("look", _LOOK), arguments)
    said = since(before, done) if before is not None else outcome(done.findings)
    _write([safe_text(said)], arguments)
    return next((code for word, code in _CODES.items() if said.startswith(word)), UNPROVEN)


def _unasked(found: reading.Given, arguments: Namespace) -> int:
    """An error without the request that it answers."""
    if found.before is not None:
        _write([f"{CANNOT}: its run is about no single request"], arguments)
        return UNPROVEN
    if found.answers:
        show(found.answers, outputs.person(arguments))
    missing = "--curl FILE, --har FILE, --request FILE or --sdk-call FILE"
    _write([f"{CANNOT}: it holds an error, and not the request that met it; say {missing}"], arguments)
    return UNPROVEN
