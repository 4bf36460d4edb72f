"""When were the events of a stream made, by the server's own word?"""

from __future__ import annotations

import math
from typing import Any

_LONGEST = 1e6
"""Seconds; what claims more is no time."""
_WHOLE = 1.0
_SAYING = ("timings", "usage", "x_groq")


class Stamps:
    """`created` of each chunk, in whole seconds, where the server sets it anew (Ollama does, OpenAI and vLLM say when the
    request came); else how long the generation took, as some say at its end: llama.cpp in `timings`, Groq and LocalAI in
    their usage.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._last = 0.0
        self._least, self._most = math.inf, -math.inf  # that an arrival was behind its stamp
        self._took: tuple[str, float] | None = None

    def event(self, body: dict[str, Any], at: float) -> None:
        created = _number(body.get("created"), 1e12)
        if created is not None:
            self._first = created if self._first is None else self._first
            self._last, behind = created, at - created
            self._least, self._most = min(behind, self._least), max(behind, self._most)
        if any(body.get(name) for name in _SAYING):
            self._took = _took(body) or self._took

    def result(self) -> dict[str, Any] | None:
        """`seconds` from the first stamp to the last, known to `resolution`; `late`: how much longer one event was on
        its way than another, at the least. `None` where the server says nothing of it.
        """
        if self._took is not None:
            by, seconds = self._took
            return {"by": by, "seconds": seconds, "resolution": 0.0, "late": None}
        if self._first is None or not 0 < self._last - self._first < _LONGEST:
            return None
        late = max(self._most - self._least - _WHOLE, 0.0)
        seconds = self._last - self._first
        return {"by": "created", "seconds": seconds, "resolution": _WHOLE, "late": round(late, 6)}


def _took(body: dict[str, Any]) -> tuple[str, float] | None:
    """Where it says so, and seconds."""
    usage = _mapping(body.get("usage"))
    groq = _mapping(_mapping(body.get("x_groq")).get("usage"))
    for by, value, unit in (
        ("timings.predicted_ms", _mapping(body.get("timings")).get("predicted_ms"), 0.001),
        ("usage.completion_time", usage.get("completion_time"), 1.0),
        ("usage.completion_time", groq.get("completion_time"), 1.0),
        ("usage.timing_token_generation", usage.get("timing_token_generation"), 0.001),
    ):
        if (number := _number(value, _LONGEST / unit)) is not None:
            return by, number * unit
    return None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 < value < most else None
