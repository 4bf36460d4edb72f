"""Answers that no signature was written from, with what must be said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from probes import strict_yaml
from probes.model import STRICT, Layer


@dataclass(frozen=True, slots=True)
class Answer:
    __pydantic_config__: ClassVar = STRICT

    name: str
    source: str
    status: int
    body: str
    product: str | None
    layer: Layer
    code: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class File:
    __pydantic_config__: ClassVar = STRICT

    answers: tuple[Answer, ...]


def answers() -> tuple[Answer, ...]:
    return strict_yaml.read(Path(__file__).with_suffix(".yaml"), File).answers
