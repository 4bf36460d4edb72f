"""What stands in a body that only has to be large?"""

from __future__ import annotations

from functools import lru_cache
from random import Random

_WORDS = (
    "river stone garden morning bread window letter summer yellow quiet paper village harbour apple winter table "
    "music evening forest bridge silver candle meadow cotton basket autumn kitchen little island warm feather orange "
    "copper valley gentle blanket sparrow orchard lantern"
)
"""Nouns and adjectives that no content rule looks for: what is tried is the size."""
_PER_BYTE = 1 / 6  # the shortest word and the blank behind it have five, so this many are not always enough


@lru_cache(maxsize=4)
def filler(size: int, salt: str) -> str:
    """`size` bytes of ASCII that JSON needs no escapes for; the same for the same salt."""
    chosen = Random(salt)  # noqa: S311 - not for secrets
    text = ""
    while len(text) < size:
        text += " ".join(chosen.choices(_WORDS.split(), k=int((size - len(text)) * _PER_BYTE) + 1)) + " "
    return text[:size]
