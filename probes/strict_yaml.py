"""What does a YAML file say, and if it is wrong, on which line and how?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import yaml

from probes import shapes
from probes.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
KeyPath = tuple[str | int, ...]
Lines = dict[KeyPath, int]
VERSION = 1
_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STR, _SEQ, _MAP = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
_ECHO = 60  # characters of a wrong value worth repeating


class _Loader(_SAFE):  # type: ignore[misc]  # of yaml, which has no types
    """Dates stay text, so that a wrong one is told by its line as any other value."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
        for first, rules in _SAFE.yaml_implicit_resolvers.items()
    }


def read(path: Path, shape: type[T]) -> T:
    """The file as `shape`, a dataclass; a key that neither it nor a dataclass inside it has is refused.

    `version: 1` is required at the top and not part of `shape`. Raises ConfigError with line, key path and the
    nearest valid key.
    """
    data, lines = load(path)
    return check(data, shape, path=path, lines=lines)


def load(path: Path) -> tuple[dict[str, Any], Lines]:
    """The file's mapping without `version`, and the line of each key path."""
    data, lines = _parse(path)
    if not isinstance(data, dict):
        raise ConfigError("must be a mapping that starts with `version: 1`", path=path, line=1)
    if "version" not in data:
        raise ConfigError(f"is required; write `version: {VERSION}`", path=path, line=1, key="version")
    version = data.pop("version")
    if version is True or version != VERSION:
        said = f"is {echo(version)}; this edgeprobe reads version {VERSION}"
        refuse(said, path, lines, ("version",))
    return data, lines


def check(data: object, shape: type[T], *, path: Path | str, lines: Lines | None = None) -> T:
    """`data` as `shape`, without conversions (`"4"` is no number, `1` is not true).

    Raises ConfigError for the first problem, an unknown key before all others: it is what explains the rest.
    Keys of `data` that `lines` has not are the caller's own and never suggested.
    """
    try:
        checked: T = shapes.built(data, shape)
    except shapes.Misfit:
        from probes import misfits

        checked = misfits.check(data, shape, path, lines or {})
    return checked


def refuse(problem: str, path: Path | str, lines: Lines, at: KeyPath) -> NoReturn:
    """Raise ConfigError for the key path `at`, on its line or else on that of what holds it."""
    line = next((lines[at[:n]] for n in range(len(at), -1, -1) if at[:n] in lines), None)
    raise ConfigError(problem, path=path, line=line, key=key_path(at))


def key_path(path: KeyPath) -> str:
    """`("cases", 2, "kind")` → `cases[2].kind`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def echo(value: object) -> str:
    """A value in the words of YAML, short enough for a line."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _ECHO else f"{text[:_ECHO]}…"


# --- reading ---------------------------------------------------------------------------------------------


def _parse(path: Path) -> tuple[Any, Lines]:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as fault:
        raise ConfigError(f"cannot be read: {fault.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8", path=path) from None
    lines: Lines = {}
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None, lines
            return _Reading(loader, lines, path).value(node, ()), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line + 1 if fault.problem_mark else None
        raise ConfigError(f"not YAML: {fault.problem}", path=path, line=line) from None
    except yaml.reader.ReaderError as fault:
        raise ConfigError(f"not YAML: {fault.reason}", path=path) from None
    except ValueError as fault:  # a number that only looks like one
        raise ConfigError(f"not YAML: {fault}", path=path) from None


class _Reading:
    """Values and lines in one walk: PyYAML's own construction would be half of what reading costs."""

    def __init__(self, loader: Any, lines: Lines, path: Path) -> None:
        self._loader, self._lines, self._path = loader, lines, path

    def value(self, node: yaml.Node, at: KeyPath, above: tuple[yaml.Node, ...] = ()) -> Any:
        self._lines.setdefault(at, node.start_mark.line + 1)
        if node in above:
            refuse("is an alias of what holds it", self._path, self._lines, at[:-1])
        if node.tag == _STR:
            return node.value
        if isinstance(node, yaml.SequenceNode):
            inside = (*above, node)
            read = [self.value(item, (*at, index), inside) for index, item in enumerate(node.value)]
            return read if node.tag == _SEQ else self._loader.construct_object(node, deep=True)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at, (*above, node))
        return self._loader.construct_object(node, deep=True)

    def _mapping(self, node: yaml.MappingNode, at: KeyPath, above: tuple[yaml.Node, ...]) -> Any:
        seen: set[str] = set()
        read: dict[Any, Any] = {}
        plain = node.tag == _MAP
        for key, value in node.value:
            name = str(key.value)
            self._lines[*at, name] = key.start_mark.line + 1
            if name in seen:
                refuse("stands twice", self._path, self._lines, (*at, name))
            if (kind := key.tag.rpartition(":")[2]) not in {"str", "int", "merge"}:
                said = f"YAML reads this key as {kind}; put it in quotes"
                refuse(said, self._path, self._lines, (*at, name))
            seen.add(name)
            as_read = self._loader.construct_object(key) if kind == "int" else name
            read[as_read] = self.value(value, (*at, name), above)
            plain = plain and kind != "merge"
        return read if plain else self._loader.construct_object(node, deep=True)
