"""How often may one trial go on the wire, and how long may its client pause between?

Once, but where an SDK is left the retries that its customers have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.model import Exchange, Trial

ATTEMPTS = 3
"""Requests of such a call at the most (openai and anthropic, `DEFAULT_MAX_RETRIES` 2)."""
LONGEST_PAUSE = 120.0
"""Seconds that it is left to wait between two: openai obeys no longer `Retry-After` (`MAX_RETRY_AFTER_DELAY`), anthropic
any.
"""
_OWN_PAUSE = 8.0
"""Seconds that it waits of its own accord at the most (both, `MAX_RETRY_DELAY`)."""


def attempts(trial: Trial) -> int:
    """Requests that are bought for a trial."""
    return ATTEMPTS if trial.retries else 1


def pauses(trial: Trial, scale: float) -> float:
    """Seconds on top of a trial's deadline. An SDK sleeps by the clock on the wall, whatever the lab's: there it is left
    its own pauses alone, since it would sleep a lab's `Retry-After` in full.
    """
    return (attempts(trial) - 1) * (LONGEST_PAUSE if scale == 1.0 else _OWN_PAUSE / scale)


def withheld(exchange: Exchange) -> bool:
    """A further request of a call that was not let go."""
    return exchange.error is not None and (exchange.error.kind, exchange.error.phase) == ("limit", "connect")
