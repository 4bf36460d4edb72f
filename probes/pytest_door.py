"""What may a pytest process run, and how much of it?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.budget import Governor
from probes.conduct import Order, conduct
from probes.config import load_target, target_from_flags
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.model import Run, Target


class Door:
    """Runs what one pytest process asks, with one Governor for each target: all its runs keep to one budget.

    Under pytest-xdist each of N workers has 1/N of the budget, the rate and the concurrency (never less than one
    request at a time), so that all together keep to what the target allows.
    """

    def __init__(self, options: Mapping[str, Any], workers: int = 1) -> None:
        """`options`: the target that is asked where a call names none, in the words of `run`."""
        self._options = options
        self._workers = workers
        self._governors: dict[str, Governor] = {}
        self._stop = Stop()

    def target(self, given: Mapping[str, Any]) -> Target:
        """The target that a call names, else that of the command line, else the only one in ./configs/targets."""
        said = dict(given if any(given.values()) else self._options)
        name, url = said.pop("target", None), said.pop("base_url", None)
        if url is None:
            if any(said.values()):
                raise UsageError(
                    "api, model, key-env and no-key go with a base URL; a target's file says them itself"
                )
            return share(load_target(name), self._workers)
        if name is not None:
            raise UsageError("a target and a base URL exclude each other")
        api, model = said.pop("api", None), said.pop("model", None)
        if not (api and model):
            raise UsageError("a base URL needs an api (openai or anthropic) and a model")
        no_key = bool(said.pop("no_key", None))
        return share(target_from_flags(url, api, model, no_key=no_key, **said), self._workers)

    def run(
        self,
        *suites: str,
        target: str | None = None,
        base_url: str | None = None,
        api: str | None = None,
        model: str | None = None,
        key_env: str | None = None,
        no_key: bool = False,
        clients: Sequence[str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> Run:
        """`clients` are those of `--client`, `settings` those of `--set`; raises UsageError for what is wrong in it."""
        if not suites:
            raise UsageError("which suite? edgeprobe('smoke', …)")
        given = {
            "target": target, "base_url": base_url, "api": api, "model": model, "key_env": key_env, "no_key": no_key,
        }  # fmt: skip
        overrides = {name: str(value) for name, value in (settings or {}).items()}
        only = None if clients is None else tuple(clients)
        return self.conduct(Order(suites, self.target(given), only=only, overrides=overrides))

    def conduct(self, order: Order) -> Run:
        key = repr(order.target)
        if key not in self._governors:
            self._governors[key] = Governor(order.target, order.clock, self._stop)
        run = conduct(order, Secrets(), stop=self._stop, governor=self._governors[key])
        if self._stop.reason is not None:
            raise KeyboardInterrupt  # pytest's to handle: the run has swallowed it to end in order
        return run


def share(target: Target, workers: int) -> Target:
    """What one of `workers` processes may spend of the target's budget and limits."""

    def part(whole: int | None) -> int | None:
        return None if whole is None else whole // workers

    limits, budget = target.limits, target.budget
    rate = None if limits.per_minute is None else max(1, limits.per_minute // workers)
    usd = None if budget.usd is None else budget.usd / workers
    return replace(
        target,
        limits=replace(limits, concurrency=max(1, limits.concurrency // workers), per_minute=rate),
        budget=replace(budget, requests=part(budget.requests), tokens=part(budget.tokens), usd=usd),
    )
