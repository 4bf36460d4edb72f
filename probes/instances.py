"""Which of several instances made an answer, and are they asked more unevenly than chance has it?"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from probes.model import Exchange

# How vLLM's routers for prefill and decode on machines of their own name a request (vllm-project/router,
# src/routers/http/vllm_pd_router.rs), which its answer's id repeats.
_BOTH = re.compile(
    rb"___prefill_addr_(?P<prefill>[^\s\"_]{1,200}?)___decode_addr_(?P<decode>[^\s\"_]{1,200})_"
)
_HEADERS = {
    "x-litellm-model-id": "model id",
    "x-litellm-model-api-base": "api base",
    "x-backend": "backend",
    "x-backend-server": "backend",
    "x-backend-id": "backend",
    "x-upstream": "backend",
    "x-upstream-addr": "backend",
    "x-served-by": "backend",
    "x-worker-id": "worker",
    "x-instance-id": "instance",
    "x-pod": "pod",
    "x-pod-name": "pod",
    "x-amz-cf-pop": "colo",
    "fly-region": "colo",
}
COLO = "colo"
"""A data centre of the edge."""
_FEW = 5.0
"""Requests that each instance would get, below which the test's approximation does not hold."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How many answers each instance gave. `p`: of a spread as uneven as this, were each as likely to be asked; `None`
    where there are too few to tell. `balanced`: they are of a kind that is to share work; data centres are not.
    """

    by: str
    counts: Mapping[str, int]
    p: float | None
    balanced: bool = True

    @property
    def ratio(self) -> float:
        return max(self.counts.values()) / min(self.counts.values())


def instances(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """(What kind of thing, which) for each that the answer names."""
    named = " ".join(
        value for name in ("x-request-id", "request-id") for value in exchange.headers.get(name, ())
    )
    if match := _BOTH.search(named.encode("utf-8", "replace") + b" " + exchange.body_head[:4096]):
        yield from ((kind, address.decode("ascii", "replace")) for kind, address in match.groupdict().items())
    for name, kind in _HEADERS.items():
        if value := (exchange.header(name) or "").strip():
            yield kind, value[:100]
    _, dash, colo = (exchange.header("cf-ray") or "").rpartition("-")
    if dash:
        yield COLO, colo[:20]


def spreads(exchanges: Iterable[Exchange]) -> list[Spread]:
    """Of every kind of thing that the answers name more than one of."""
    seen: dict[str, Counter[str]] = {}
    for exchange in exchanges:
        for kind, which in dict.fromkeys(instances(exchange)):
            seen.setdefault(kind, Counter())[which] += 1
    return [
        Spread(kind, dict(counts.most_common()), uneven(list(counts.values())), kind != COLO)
        for kind, counts in seen.items()
        if len(counts) > 1
    ]


def uneven(counts: list[int]) -> float | None:
    """P of Pearson's chi-squared test against equal shares."""
    total, cells = sum(counts), len(counts)
    if cells < 2 or total / cells < _FEW:
        return None
    expected = total / cells
    return _upper(sum((count - expected) ** 2 for count in counts) / expected, cells - 1)


def _upper(x: float, freedom: int) -> float:
    """The chi-squared distribution's upper tail, by its closed forms for even and for odd degrees of freedom."""
    half = x / 2
    if freedom % 2 == 0:
        term = total = math.exp(-half)
        for k in range(1, freedom // 2):
            term *= half / k
            total += term
        return min(total, 1.0)
    total = math.erfc(math.sqrt(half))
    term = math.exp(-half) * math.sqrt(half) / math.gamma(1.5)
    for k in range(1, (freedom + 1) // 2):
        total += term
        term *= half / (k + 0.5)
    return min(total, 1.0)
