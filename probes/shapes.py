"""Is this data exactly of that shape, and what is it then?

For what is read at every start. It knows the types of our own files only and takes no liberties; whatever it does not
take is for `misfits`, which loads pydantic: that costs more than all the rest of a command that sends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Builder = Callable[[Any], Any]
_SCALARS = (str, int, bool, NoneType)


class Misfit(Exception):  # noqa: N818 - a question for pydantic, no error
    """It is not of the shape, or the shape is not one that is known here."""


def built(data: object, shape: Any) -> Any:
    """`data`, as YAML gives it, as an instance of `shape`; raises Misfit."""
    return _builder(shape)(data)


@lru_cache
def _builder(shape: Any) -> Builder:
    if get_origin(shape) is not None:
        return _generic(get_origin(shape), get_args(shape))
    if shape in _SCALARS:
        return _scalar(shape)
    if shape is float:
        return _float
    if isinstance(shape, type) and issubclass(shape, Enum):
        return _one_of({member.value: member for member in shape}, tuple(shape))
    return _dataclass(shape) if is_dataclass(shape) else _unknown


def _generic(origin: Any, args: tuple[Any, ...]) -> Builder:
    if origin is Literal:
        return _one_of({value: value for value in args if type(value) is str}, args)
    if origin in {Union, UnionType}:
        return _union(args)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _tuple(_builder(args[0]))
    return _mapping(*map(_builder, args)) if origin in {dict, Mapping} else _unknown


def _unknown(_: Any) -> Any:
    raise Misfit


def _scalar(shape: Any) -> Builder:
    def build(data: Any) -> Any:
        if type(data) is not shape:
            raise Misfit
        return data

    return build


def _float(data: Any) -> float:
    if type(data) not in {int, float} or not math.isfinite(data):
        raise Misfit
    return float(data)


def _one_of(values: Mapping[str, Any], every: tuple[Any, ...]) -> Builder:
    known = len(values) == len(every)

    def build(data: Any) -> Any:
        if not known or type(data) is not str or data not in values:
            raise Misfit
        return values[data]

    return build


def _union(members: tuple[Any, ...]) -> Builder:
    """Of members that no value is two of: scalars, and one more."""
    if sum(member not in _SCALARS for member in members) > 1 or {int, float} <= set(members):
        return _unknown
    builders = [_builder(member) for member in members]

    def build(data: Any) -> Any:
        for one in builders:
            try:
                return one(data)
            except Misfit:
                continue
        raise Misfit

    return build


def _tuple(inner: Builder) -> Builder:
    def build(data: Any) -> Any:
        if type(data) is not list:
            raise Misfit
        return tuple([inner(item) for item in data])

    return build


def _mapping(key: Builder, value: Builder) -> Builder:
    def build(data: Any) -> Any:
        if type(data) is not dict:
            raise Misfit
        return {key(name): value(item) for name, item in data.items()}

    return build


def _dataclass(shape: Any) -> Builder:
    hints = get_type_hints(shape, include_extras=True)
    known = {field.name: _builder(hints[field.name]) for field in fields(shape) if field.init}
    required = {
        field.name
        for field in fields(shape)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    }

    def build(data: Any) -> Any:
        if type(data) is not dict or not required <= data.keys() <= known.keys():
            raise Misfit
        read = {name: known[name](item) for name, item in data.items()}
        try:
            return shape(**read)
        except ValueError:  # of a rule of its own, which pydantic tells with its place
            raise Misfit from None

    return build
