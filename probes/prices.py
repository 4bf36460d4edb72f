"""What does a model cost?

List prices of `configs/prices.yaml`, each with its source and the day on which that was checked. A model that is not
there has no price: nothing is guessed from a name that looks alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from probes import strict_yaml
from probes.bundled import find
from probes.errors import ConfigError
from probes.model import STRICT, Prices

if TYPE_CHECKING:
    from probes.model import Target

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Listed:
    """US dollars per million tokens; `models` are names as the API takes them."""

    __pydantic_config__: ClassVar = STRICT

    api: Literal["openai", "anthropic"]
    models: tuple[str, ...]
    input: float
    output: float
    checked: date
    source: str
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__: ClassVar = STRICT

    prices: tuple[Listed, ...]


@lru_cache
def listed() -> dict[tuple[str, str], Listed]:
    """(api, model) → its row."""
    path = find("prices", "configs", "configuration")
    found: dict[tuple[str, str], Listed] = {}
    for row in strict_yaml.read(path, _File).prices:
        for model in row.models:
            if (row.api, model) in found:
                raise ConfigError(f"{model} has two prices", path=path, key="prices")
            found[row.api, model] = row
    return found


def prices(target: Target) -> Prices | None:
    """The target's own prices, else those listed for its model; `None` where neither is known."""
    if target.prices is not None:
        return target.prices
    row = listed().get((target.api, target.model))
    return None if row is None else Prices(row.input, row.output, row.cached)


def cost(price: Prices, input_tokens: int, output_tokens: int) -> float:
    """US dollars at the most: as if no token came from a cache."""
    return (input_tokens * price.input + output_tokens * price.output) / _MILLION
