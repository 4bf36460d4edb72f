"""How does a bad edge look from outside, on purpose and in a fraction of the time?

A model API (`origin`) behind a reverse proxy (`edge`) that is armed with faults; every byte it sends is its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from probes.lab.edge import Edge
from probes.lab.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.clock import Clock
    from probes.lab.faults import Fault

LAB_KEY = "sk-lab-0000-not-a-secret-0000"
MODEL = "lab-model"
PREFILL = 1.8
TPOT = 0.273
"""At 273 ms a token an answer of 460 tokens takes longer than a 125 s read timer allows."""


@dataclass(frozen=True, slots=True)
class Lab:
    """`base_url` and `origin_url` are what the OpenAI SDK takes; `api_key` is `None` on a keyless server."""

    edge: Edge
    origin: Origin
    api_key: str | None
    model: str

    @property
    def base_url(self) -> str:
        return self.url()

    @property
    def origin_url(self) -> str:
        return self.url(route="origin")

    def arm(self, faults: Sequence[str | Fault]) -> None:
        """Break it in these ways from the next request on, and in no other: with none it is mended.

        Raises UsageError for an unknown fault, and is then as it was.
        """
        self.edge.armed.arm(faults)
        self.origin.armed.arm(faults)

    def url(
        self, api: Literal["openai", "anthropic"] = "openai", route: Literal["edge", "origin"] = "edge"
    ) -> str:
        """A base URL as the SDK of `api` takes it: Anthropic's adds `/v1` itself."""
        root = (self.edge if route == "edge" else self.origin).server.root_url
        return f"{root}/v1" if api == "openai" else root


@contextmanager
def serve(
    faults: Sequence[str | Fault] = (),
    *,
    clock: Clock,
    keys: frozenset[str] | None = frozenset({LAB_KEY}),
    model: str = MODEL,
    prefill: float = PREFILL,
    tpot: float = TPOT,
    prefill_per_token: float = 0.0,
    profile: str = "cloudflare",
    host: str = "127.0.0.1",
    port: int = 0,
) -> Iterator[Lab]:
    """A running lab; `port` is the edge's, the origin takes any free one.

    `keys=None` accepts every request. Raises UsageError for an unknown fault or profile.
    """
    inside = "::1" if ":" in host else "127.0.0.1"  # the origin stays on this machine when the edge does not
    origin = Origin(
        clock,
        faults,
        keys=keys,
        model=model,
        prefill=prefill,
        tpot=tpot,
        prefill_per_token=prefill_per_token,
        host=inside,
    )
    with origin.server:
        edge = Edge((inside, origin.server.port), clock, faults, profile_name=profile, host=host, port=port)
        with edge.server:
            yield Lab(edge, origin, min(keys) if keys else None, model)
