"""How does a server say when it made what it sends, and which of its workers did?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.lab.dialects import CREATED

if TYPE_CHECKING:
    from probes.lab.behaviour import Behaviour

_END = re.compile(rb'("finish_reason":"\w+"\}\])')


def stamped(event: bytes, behaviour: Behaviour, now: float, since: float) -> bytes:
    """A chunk of a chat that leaves `now`, of an answer whose first token was made at `since`."""
    if behaviour.stamps == "created":
        return event.replace(b'"created":%d' % CREATED, b'"created":%d' % (CREATED + int(now)), 1)
    if behaviour.stamps == "timings":  # as llama.cpp has them on its last chunk
        took = b'"timings":{"predicted_ms":%.3f}' % (1000 * (now - since))
        return _END.sub(rb"\1," + took, event, count=1)
    return event


def answered_by(number: int, behaviour: Behaviour) -> str:
    """What an id begins with, as vLLM's routers for prefill and decode on machines of their own have it."""
    if not behaviour.workers:
        return ""
    prefill, decode = behaviour.workers[number % len(behaviour.workers)]
    return f"___prefill_addr_{prefill}___decode_addr_{decode}_"
