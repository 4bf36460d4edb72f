"""What is a case's parameter worth, as a file, a flag or the id of a case has it?

Its default says its type; a default of `None` is found by the kind itself, and takes any scalar, or a number where the
kind gives limits.
"""

from __future__ import annotations

from math import isfinite
from typing import Any
from urllib.parse import quote

import yaml

from probes.errors import UsageError

Limits = tuple[float, float] | tuple[str, ...]
"""The least and the most, both allowed; of a text, the words that it may be."""
_READABLE = ".:+-_@"
_TYPES: tuple[tuple[type | tuple[type, ...], type | tuple[type, ...], str], ...] = (
    # of the default · that it takes · in words; true is an int to Python, not to people
    (bool, bool, "true or false"),
    (int, int, "a whole number"),
    (float, (int, float), "a number"),
    (str, str, "text"),
    ((list, tuple), (list, tuple), "a list"),
)


def mismatch(value: object, default: object, limits: Limits | None = None) -> str | None:
    """What `value` should have been, or `None` when it is of the default's type and within its limits."""
    for types, taken, words in _TYPES:
        if isinstance(default, types):
            fits = isinstance(value, taken) and isinstance(value, bool) == isinstance(default, bool)
            return _outside(value, limits) if fits else words
    if limits is None or value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return _outside(value, limits) if number else "a number, or null for one that is found"


def _outside(value: object, limits: Limits | None) -> str | None:
    if limits is None:
        return None
    if isinstance(limits[0], str):
        return None if value in limits else f"one of {', '.join(map(str, limits))}"
    if isinstance(value, list | tuple):
        return next(
            (f"a list of numbers, each {said}" for item in value if (said := _outside(item, limits))), None
        )
    least, most = limits
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"at least {least:g}"
    if value > most:
        return f"at most {most:g}"
    return None if value >= least and isfinite(value) else f"at least {least:g}"


def from_flag(flag: str, text: str, default: object, limits: Limits | None = None) -> Any:
    """The value of `--set KEY=text`; a list is written `1,2,3`."""
    if isinstance(default, list | tuple):
        value: Any = [_scalar(item.strip()) for item in text.split(",")]
    else:
        value = text if isinstance(default, str) else _scalar(text)
    if wanted := mismatch(value, default):
        raise UsageError(f"{flag}: must be {wanted}, not {text!r}")
    if wanted := mismatch(value, default, limits):
        raise UsageError(f"{flag}: must be {wanted}, not {text}")
    return value


def to_id(value: object) -> str:
    """The value as it stands in a case's id: readable, without `/` or `=`, the same for 5 and 5.0."""
    if isinstance(value, list | tuple):
        return ",".join(map(to_id, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return "null" if value is None else quote(str(value), safe=_READABLE)


def _scalar(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return text
