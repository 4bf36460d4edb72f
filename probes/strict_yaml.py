"""What does a YAML file say, and if it is wrong, on which line and how?"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    NoReturn,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import yaml
from pydantic import TypeAdapter, ValidationError

from probes.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

T = TypeVar("T")
KeyPath = tuple[str | int, ...]
Lines = dict[KeyPath, int]
VERSION = 1
_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ECHO = 60  # characters of a wrong value worth repeating

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "dataclass_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}


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
        said = f"is {_echo(version)}; this edgeprobe reads version {VERSION}"
        refuse(said, path, lines, ("version",))
    return data, lines


def check(data: object, shape: type[T], *, path: Path | str, lines: Lines | None = None) -> T:
    """`data` as `shape`, without conversions (`"4"` is no number, `1` is not true).

    Raises ConfigError for the first problem, an unknown key before all others: it is what explains the rest.
    Keys of `data` that `lines` has not are the caller's own and never suggested.
    """
    # Pydantic's strict mode takes lists for tuples and mappings for dataclasses only from JSON.
    text = json.dumps(data, default=str)
    hashable: Any = shape
    try:
        checked: T = _adapter(hashable).validate_json(text, strict=True, extra="forbid")
    except ValidationError as fault:
        _explain(fault, shape, json.loads(text), path, lines or {})
    return checked


def refuse(problem: str, path: Path | str, lines: Lines, at: KeyPath) -> NoReturn:
    """Raise ConfigError for the key path `at`, on its line or else on that of what holds it."""
    line = next((lines[at[:n]] for n in range(len(at), -1, -1) if at[:n] in lines), None)
    raise ConfigError(problem, path=path, line=line, key=key_path(at))


def key_path(path: KeyPath) -> str:
    """`("cases", 2, "kind")` → `cases[2].kind`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


@lru_cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


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
            _note_lines(node, (), lines, path)
            return loader.construct_document(node), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line + 1 if fault.problem_mark else None
        raise ConfigError(f"not YAML: {fault.problem}", path=path, line=line) from None
    except yaml.reader.ReaderError as fault:
        raise ConfigError(f"not YAML: {fault.reason}", path=path) from None
    except ValueError as fault:  # a number that only looks like one
        raise ConfigError(f"not YAML: {fault}", path=path) from None


def _note_lines(
    node: yaml.Node, at: KeyPath, lines: Lines, path: Path, above: tuple[yaml.Node, ...] = ()
) -> None:
    lines.setdefault(at, node.start_mark.line + 1)
    if node in above:
        refuse("is an alias of what holds it", path, lines, at[:-1])
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _note_lines(item, (*at, index), lines, path, (*above, node))
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            lines[*at, name] = key.start_mark.line + 1
            if name in seen:
                refuse("stands twice", path, lines, (*at, name))
            if (kind := key.tag.rpartition(":")[2]) not in {"str", "int", "merge"}:
                refuse(f"YAML reads this key as {kind}; put it in quotes", path, lines, (*at, name))
            seen.add(name)
            _note_lines(value, (*at, name), lines, path, (*above, node))


# --- explaining ------------------------------------------------------------------------------------------


def _explain(fault: ValidationError, shape: Any, data: object, path: Path | str, lines: Lines) -> NoReturn:
    errors = fault.errors(include_url=False)
    error = min(errors, key=lambda e: not _is_unknown_key(e))
    at = _existing(error["loc"], data)
    if _is_unknown_key(error):
        valid = _keys_at(shape, at[:-1]) - _filled_in(data, at[:-1], lines)
        refuse("unknown key" + did_you_mean(str(at[-1]), valid), path, lines, at)
    if error["type"] in {"missing", "missing_argument"}:
        refuse("is required", path, lines, (*at, error["loc"][-1]))
    refuse(_said(error), path, lines, at)


def _is_unknown_key(error: ErrorDetails) -> bool:
    return error["type"] in {"unexpected_keyword_argument", "extra_forbidden"}


def _said(error: ErrorDetails) -> str:
    given = error["input"]
    if error["type"] in {"literal_error", "enum"}:
        expected = str(error.get("ctx", {}).get("expected", ""))
        words = re.findall(r"'([^']*)'", expected)
        if not isinstance(given, str) and str(given) in words:
            return f"must be text, not {_echo(given)}; put it in quotes"
        return f"{_echo(given)} is not valid{did_you_mean(str(given), words) if words else f'; valid: {expected}'}"
    if wanted := _WANTED.get(error["type"]):
        quote = "; put it in quotes" if wanted == "text" and isinstance(given, int | float) else ""
        return f"must be {wanted}, not {_echo(given)}{quote}"
    message = error["msg"].removeprefix("Input ").removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}, not {_echo(given)}"


def _echo(value: object) -> str:
    """A value in the words of YAML, short enough for a line."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _ECHO else f"{text[:_ECHO]}…"


def _existing(loc: KeyPath, data: Any) -> KeyPath:
    """The part of pydantic's location that is a path in the file: it also names union members, which are not."""
    at: list[str | int] = []
    for part in loc:
        held = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        if part in held:
            data = data[part]
            at.append(part)
    return tuple(at)


def _filled_in(data: Any, at: KeyPath, lines: Lines) -> set[str]:
    for part in at:
        data = data[part]
    return {key for key in data if lines and (*at, key) not in lines}


def _keys_at(shape: Any, at: KeyPath) -> set[str]:
    """The valid keys of the dataclasses that may stand at `at`."""
    shapes = list(_dataclasses(shape))
    for part in at:
        shapes = [inner for outer in shapes for inner in _inside(outer, part)]
    return {name for found in shapes for name in _keys(found)}


def _keys(shape: Any) -> Mapping[str, Any]:
    """Key in the file → type; a field that is a Python keyword carries its key as a pydantic alias."""
    hints = get_type_hints(shape, include_extras=True)
    return {_alias(hints[field.name]) or field.name: hints[field.name] for field in fields(shape)}


def _alias(hint: Any) -> str | None:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra.alias for extra in extras if getattr(extra, "alias", None)), None)


def _inside(shape: Any, part: str | int) -> list[Any]:
    """A part that is no field is the index or key of a container, whose dataclasses `shape` already is."""
    keys = _keys(shape)
    return list(_dataclasses(keys[part])) if isinstance(part, str) and part in keys else [shape]


def _dataclasses(hint: Any) -> Iterator[Any]:
    if is_dataclass(hint):
        yield hint
    else:
        for inner in get_args(hint):
            yield from _dataclasses(inner)
