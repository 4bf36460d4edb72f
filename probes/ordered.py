"""What do the flags of a command order?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.config import assignments, load_target, target_from_flags
from probes.errors import UsageError
from probes.sdk_versions import sdks
from probes.target_flags import refuse_scaled

if TYPE_CHECKING:
    from argparse import Namespace

    from probes.conduct import Order
    from probes.model import Target

_MOST = 1e12
"""Of any budget."""


def order(arguments: Namespace) -> Order:
    """What `run` and `plan` are to do."""
    from probes.clock import Clock
    from probes.conduct import Order

    return Order(
        suites=tuple(dict.fromkeys(arguments.suites)),
        target=bounded(arguments),
        only=tuple(arguments.client) if arguments.client else None,
        overrides=assignments("--set", arguments.set, "KEY=VALUE"),
        seed=arguments.seed,
        sdks=sdks(arguments.sdk),
        clock=Clock(arguments.time_scale),
    )


def bounded(arguments: Namespace) -> Target:
    """With the budget of the flags, and where its time may be scaled as they say."""
    found = with_budget(target(arguments), arguments)
    if arguments.time_scale != 1.0:
        refuse_scaled(found)
    return found


def with_budget(found: Target, arguments: Namespace) -> Target:
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
    if arguments.max_usd is not None and prices(found) is None:
        raise UsageError(f"--max-usd: cannot be kept: {NO_PRICE.format(model=found.model)}")
    given = {name: value for name, (_, value) in flags.items() if value is not None}
    return replace(found, budget=replace(found.budget, **given))


def target(arguments: Namespace) -> Target:
    """A file's, or that of the flags."""
    given = [flag for flag in FLAGS_OF_A_TARGET if getattr(arguments, flag) not in (None, False, [])]
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


FLAGS_OF_A_TARGET = (
    "api", "model", "key_env", "no_key", "endpoint", "route", "connect_to", "proxy", "no_env_proxy", "header", "owned",
    "vantage",
)  # fmt: skip
