"""How often one trial may be sent, and how long it may take with the pauses of its client."""

from __future__ import annotations

from dataclasses import replace

import pytest
from exchanges import exchange

from probes.attempts import ATTEMPTS, LONGEST_PAUSE, attempts, pauses, withheld
from probes.model import Ask, Trial

ONCE = Trial("a", "openai-py", "edge", Ask("chat"))
RETRIED = replace(ONCE, retries=True)


@pytest.mark.parametrize(
    ("trial", "scale", "seconds"),
    [(ONCE, 1.0, 0), (ONCE, 0.01, 0), (RETRIED, 1.0, 2 * LONGEST_PAUSE), (RETRIED, 0.01, 1600)],
    ids=["once", "once in a lab", "as long as a server asks", "by the clock on the wall of a lab"],
)
def test_pauses(trial, scale, seconds):
    """None for a trial that is sent once; in a lab an SDK's own alone, since it sleeps outside of the lab's time."""
    assert attempts(trial) == (ATTEMPTS if trial.retries else 1)
    assert pauses(trial, scale) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (("limit", "connect"), True),
        (("limit", "body"), False),
        (("connect", "connect"), False),
        (None, False),
    ],
)
def test_what_was_not_let_go(error, kept):
    """A request that the budget kept back is none; a body that was too large, or a refused connection, is one."""
    assert withheld(exchange(200 if error is None else None, error=error)) is kept
