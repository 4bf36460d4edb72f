"""What must a perfect probe say of each fault?

The second table, kept apart from the faults so that neither can be read off the other
(`configs/lab/expectations.yaml`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from probes.bundled import bundled
from probes.errors import ConfigError, did_you_mean
from probes.lab.faults import catalogue
from probes.model import STRICT, Confidence, Factor, Layer, Reason, Verdict
from probes.strict_yaml import read


@dataclass(frozen=True, slots=True)
class Expected:
    """A finding the run must hold; `None` is not compared. `next_test`: whether it names one; `says`: in its
    detail, each of them where there are several.
    """

    __pydantic_config__: ClassVar = STRICT

    code: str
    verdict: Verdict
    layer: Layer | None = None
    product: str | None = None
    vendor_code: str | None = None
    factor: Factor | None = None
    confidence: Confidence | None = None
    reason: Reason | None = None
    retryable: bool | None = None
    next_test: bool | None = None
    says: str | tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """`fault=None` is the healthy lab; `kind` and `client` narrow which findings are looked at. `case`: the number of
    the field case that the fault rebuilds. `profile`: the product that the edge is. `sets`: parameters as `--set` takes them.

    Other findings of the run are free; `run` is the verdict of all of it.
    """

    __pydantic_config__: ClassVar = STRICT

    fault: str | None
    suite: Literal["identity", "smoke", "edge", "long", "keepalive", "burst", "streams", "cache", "curve"]
    expect: Expected
    api: Literal["openai", "anthropic"] = "openai"
    kind: str | None = None
    client: str | None = None
    run: Verdict | None = None
    case: str | None = None
    profile: str = "cloudflare"
    sets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expectations:
    __pydantic_config__: ClassVar = STRICT

    expectations: tuple[Expectation, ...]


def expectations() -> tuple[Expectation, ...]:
    """Every row; raises ConfigError when one names no fault."""
    path = bundled("configs", "lab", "expectations.yaml")
    rows = read(path, Expectations).expectations
    known = catalogue()
    for index, row in enumerate(rows):
        if row.fault is not None and row.fault not in known:
            problem = f"fault {row.fault!r} is not known{did_you_mean(row.fault, known)}"
            raise ConfigError(problem, path=path, key=f"expectations[{index}].fault")
    return rows
