"""Which API is probed, by which routes and with which clients?

Files become `model.Target` and `model.Client`, strictly, as flags do in `target_flags`. No secret stands in either:
they name environment variables, which `Secrets` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probes import refusals, strict_yaml
from probes.bundled import find
from probes.client_rules import problems as client_problems
from probes.credentials import PLACEHOLDER, Secrets, made_up_key
from probes.errors import ConfigError, UsageError, did_you_mean
from probes.model import Client, Refusals, Target
from probes.redact import looks_like_key
from probes.target_flags import assignments, normal, target_from_flags
from probes.target_rules import ENDPOINTS, IN_ENVIRONMENT, problems

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "ENDPOINTS",
    "PLACEHOLDER",
    "Secrets",
    "assignments",
    "clients",
    "endpoints",
    "load_target",
    "made_up_key",
    "read_target",
    "refuse_literal_secrets",
    "select",
    "target_from_flags",
]

TARGETS = "configs/targets"
EXAMPLE = "example"
"""To be copied, not to be probed."""
_HOW = (
    f"./{TARGETS} holds none; make one with `edgeprobe init`, or name the API by "
    "--base-url URL --api openai|anthropic --model M"
)
_CONVERSATIONS = frozenset({"chat", "messages"})


def load_target(name: str | None = None) -> Target:
    """The target file that `name` (or a path) means; without a name the only one in `./configs/targets`."""
    return read_target(target_file(name))[0]


def target_file(name: str | None = None) -> Path:
    """Raises UsageError with the nearest of one's own, or with how to make one."""
    if name is None:
        return _only_target()
    try:
        return find(name, TARGETS, "target")
    except UsageError:
        if Path(name).suffix in {".yaml", ".yml"} or len(Path(name).parts) > 1:
            raise
    own = [path.stem for path in _own_targets()]
    said = did_you_mean(name, own) if own else f"; {_HOW}"
    raise UsageError(f"target {name!r} is not known{said}")


def read_target(path: Path) -> tuple[Target, strict_yaml.Lines]:
    """The target of a file, and the lines of its keys."""
    data, lines = strict_yaml.load(path)
    refuse_literal_secrets(path, lines)
    _name_routes(data, path, lines)
    if data.get("reasoning") is False:  # YAML reads `off` as a truth value
        data["reasoning"] = "off"
    target = normal(strict_yaml.check(data, Target, path=path, lines=lines))
    for at, problem in _problems(target):
        strict_yaml.refuse(problem, path, lines, at)
    return target, lines


def _problems(target: Target) -> Iterator[tuple[strict_yaml.KeyPath, str]]:
    yield from problems(target)
    if target.clients != Refusals() or target.accepted:
        yield from refusals.problems(target, clients())


def endpoints(target: Target) -> tuple[str, ...]:
    """What is tested: the endpoints that the target declares, else the first of its API."""
    return target.endpoints or ENDPOINTS[target.api][:1]


def conversation(target: Target) -> str:
    """The endpoint that completions are asked of; UsageError where the target offers none that can be asked today."""
    for name in endpoints(target):
        if name in _CONVERSATIONS:
            return name
    raise UsageError(f"none of the endpoints {', '.join(endpoints(target))} takes a completion")


# --- clients ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ClientsFile:
    clients: dict[str, Client]


def clients(path: Path | None = None) -> dict[str, Client]:
    """The ways to send, by name, in the order of `configs/clients.yaml`."""
    path = path or find("clients", "configs", "configuration")
    data, lines = strict_yaml.load(path)
    _fill_names(data, "clients", path, lines)
    known = strict_yaml.check(data, _ClientsFile, path=path, lines=lines).clients
    for name, client in known.items():
        for key, problem in client_problems(client):
            strict_yaml.refuse(problem, path, lines, ("clients", name, key))
    return known


def select(known: Mapping[str, Client], spec: str | Sequence[str], target: Target) -> tuple[Client, ...]:
    """The clients that `spec` (`genuine`, `all`, `sdks`, a name, names) means, without SDKs of another API.

    Raises UsageError with the nearest valid name.
    """
    names = [spec] if isinstance(spec, str) else list(spec)
    if names == ["sdks"]:
        chosen = [client for client in known.values() if client.package is not None]
    elif names in (["all"], ["genuine"]):
        chosen = [c for c in known.values() if not c.apart and (c.genuine or names == ["all"])]
    else:
        for name in names:
            if name not in known:
                words = {"all", "genuine", "sdks"} if len(names) == 1 else set[str]()
                raise UsageError(f"client {name!r} is not known{did_you_mean(name, words | known.keys())}")
        chosen = [known[name] for name in dict.fromkeys(names)]
    return tuple(client for client in chosen if client.api in {None, target.api})


# --- target files ----------------------------------------------------------------------------------------


def _own_targets() -> list[Path]:
    return sorted(path for path in Path(TARGETS).glob("*.yaml") if path.stem != EXAMPLE)


def _only_target() -> Path:
    found = _own_targets()
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no target: {_HOW}")
    known = ", ".join(path.stem for path in found)
    raise UsageError(f"which target? say --target NAME; ./{TARGETS} holds {known}")


def refuse_literal_secrets(
    path: Path,
    lines: strict_yaml.Lines,
    variables: re.Pattern[str] | None = None,
    instead: str = "key_env: PROD_KEY",
) -> None:
    """Comments too; before anything of the file is repeated in a message. `variables`: how the file may name some in the
    place of a secret.
    """
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        if looks_like_key(variables.sub("", text) if variables is not None else text):
            here = (at for at, line in lines.items() if line == number)
            key = strict_yaml.key_path(max(here, key=len, default=()))
            said = f"looks like a secret; {IN_ENVIRONMENT}: name the variable here ({instead})"
            raise ConfigError(said, path=path, line=number, key=key)


def _name_routes(data: dict[str, Any], path: Path, lines: strict_yaml.Lines) -> None:
    for name, route in _fill_names(data, "routes", path, lines):
        headers = route.get("headers")
        for header, value in headers.items() if isinstance(headers, dict) else ():
            if not isinstance(value, dict):
                said = f"must be {{env: VARIABLE}}: {IN_ENVIRONMENT}"
                strict_yaml.refuse(said, path, lines, ("routes", name, "headers", str(header)))


def _fill_names(
    data: dict[str, Any], key: str, path: Path, lines: strict_yaml.Lines
) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a mapping whose key is their name."""
    held = data.get(key)
    rows = (
        [(str(n), row) for n, row in held.items() if isinstance(row, dict)] if isinstance(held, dict) else []
    )
    for name, row in rows:
        if "name" in row:
            strict_yaml.refuse("unknown key; the key above is the name", path, lines, (key, name, "name"))
        row["name"] = name
    return rows
