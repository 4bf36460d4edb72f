"""What is wrong with data that is not of its shape, on which line and how?

Pydantic has the last word: what it takes after all is taken.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from probes.errors import did_you_mean
from probes.strict_yaml import KeyPath, Lines, echo, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

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


def check(data: object, shape: Any, path: Path | str, lines: Lines) -> Any:
    """`data` as `shape`, or ConfigError for the first problem."""
    # Pydantic's strict mode takes lists for tuples and mappings for dataclasses only from JSON.
    text = json.dumps(data, default=str)
    try:
        return _adapter(shape).validate_json(text, strict=True, extra="forbid")
    except ValidationError as fault:
        _explain(fault, shape, json.loads(text), path, lines)


@lru_cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


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
            return f"must be text, not {echo(given)}; put it in quotes"
        return f"{echo(given)} is not valid{did_you_mean(str(given), words) if words else f'; valid: {expected}'}"
    if wanted := _WANTED.get(error["type"]):
        quote = "; put it in quotes" if wanted == "text" and isinstance(given, int | float) else ""
        return f"must be {wanted}, not {echo(given)}{quote}"
    message, also, hint = error["msg"].removeprefix("Input ").removeprefix("Value error, ").partition("; ")
    return f"{message[:1].lower()}{message[1:]}, not {echo(given)}{also}{hint}"


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
