"""Whose refusal fails a target, and whose only warns?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.model import Client, Target
    from probes.strict_yaml import KeyPath


def must_pass(client: Client, target: Target) -> bool:
    """By default the SDKs of the target's own API, and curl; never one that may fail."""
    declared = target.clients
    if client.name in declared.may_fail:
        return False
    if declared.must_pass is not None:
        return client.name in declared.must_pass
    return client.genuine and (client.api == target.api or client.kind == "curl")


def problems(target: Target, known: Mapping[str, Client]) -> Iterator[tuple[KeyPath, str]]:
    """Key path and problem of every client that a target names and that it cannot mean."""
    sides = {"must_pass": target.clients.must_pass or (), "may_fail": target.clients.may_fail}
    for side, names in sides.items():
        for index, name in enumerate(names):
            if (problem := _problem(name, target, known)) is not None:
                yield ("clients", side, index), problem
            elif side == "may_fail" and name in sides["must_pass"]:
                yield ("clients", side, index), f"{name} must pass as well; name it in one of the two"
    for index, acceptance in enumerate(target.accepted):
        if acceptance.client is not None and (problem := _problem(acceptance.client, target, known)):
            yield ("accepted", index, "client"), problem


def _problem(name: str, target: Target, known: Mapping[str, Client]) -> str | None:
    if name not in known:
        return f"client {name!r} is not known{did_you_mean(name, known)}"
    if known[name].api not in {None, target.api}:
        return f"{name} speaks {known[name].api}, this target {target.api}"
    return None
