"""Is it our own network?

A bad answer that nobody signed, a time-out or a reset, may have been made on the way out. An address that has nothing
to do with the target tells: where it cannot be reached either, nothing can be said of the service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.model import Confidence, Layer
from probes.watch.knock import knock

if TYPE_CHECKING:
    from collections.abc import Callable

    from probes.model import Finding

_BEYOND = frozenset({Layer.EDGE, Layer.GATEWAY, Layer.ORIGIN})


@dataclass(frozen=True, slots=True)
class Control:
    """`ok: None` where no address is configured."""

    ok: bool | None
    fault: str | None = None


def ask(url: str | None, asked: Callable[[str], int | str] = knock) -> Control:
    """Any answer proves our way out, an error too."""
    if url is None:
        return Control(None)
    answer = asked(url)
    return Control(True) if isinstance(answer, int) else Control(False, answer)


def doubtful(finding: Finding) -> bool:
    """Whether it may have been made on our side: not where its layer is one beyond our network, and proven."""
    return finding.layer not in _BEYOND or finding.confidence in {Confidence.LOW, None}
