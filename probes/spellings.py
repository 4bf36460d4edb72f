"""How may a secret be spelt where something echoes it?

As it is, with its special characters or all of them escaped (URL, JSON, HTML, any of them twice), and inside base64 at
each of the three alignments.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache

Token = tuple[str, ...]
"""Regular expressions, each beginning with a literal, of one character's spellings."""
Spelling = tuple[Token, ...]

_NAMED_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_BASE64_URLSAFE = {"+": "-", "/": "_"}
_BACKSLASHES = (
    r"\\{1,8}"  # an escape within an escape doubles them; bounded, for a text may be all backslashes
)
_MIN_PIECE = 6  # fewer characters of a secret at the edge of a kept text say nothing
_LONGEST_TOKEN = 16
_HALF_ESCAPE = re.compile(r"(?:%[0-9A-Fa-f]{0,3}|\\+(?:u[0-9A-Fa-f]{0,3})?|&#?\w{0,6})?")


def spellings(secret: str) -> list[Spelling]:
    """Every spelling of `secret`, for texts and for bytes read as Latin-1."""
    found = [
        tuple(_token(char) for char in secret),
        tuple((_percent(char),) for char in secret),
        tuple((_json(char),) for char in secret),
        tuple(_html(char) for char in secret),
    ]
    data = secret.encode("utf-8", "surrogatepass")
    return found + [_base64(data, before) for before in range(3)]


def pattern(spelling: Spelling) -> str:
    """The spelling as one expression; its branches begin with literals, which lets a search skip fast."""
    rest = "".join(map(_group, spelling[1:]))
    return "|".join(first + rest for first in spelling[0])


def piece_at_end(spelling: Spelling, text: str) -> int | None:
    """Where, at the end of a text that was cut there, the beginning of the secret starts."""
    window = max(0, len(text) - _LONGEST_TOKEN * len(spelling))
    for start in (m.start() for m in _run(spelling[:_MIN_PIECE]).finditer(text, window)):
        matched, end = _walk(spelling, text, start)
        if matched < len(spelling) and _HALF_ESCAPE.fullmatch(text, end):
            return start
    return None


def piece_at_start(spelling: Spelling, text: str) -> int | None:
    """Where, at the start of a text that was cut there, the end of the secret stops."""
    last = _run(spelling[-_MIN_PIECE:]).search(text, 0, _LONGEST_TOKEN * len(spelling))
    if last is None:
        return None
    for first in range(1, len(spelling) - _MIN_PIECE + 1):
        for start in range(_LONGEST_TOKEN):  # behind the rest of an escape that the cut went through
            matched, end = _walk(spelling[first:], text, start)
            if matched == len(spelling) - first:
                return end
    return None


def _walk(spelling: Spelling, text: str, at: int) -> tuple[int, int]:
    """How many tokens follow each other from `at` on, and where the last of them ends."""
    for count, token in enumerate(spelling):
        match = _run((token,)).match(text, at)
        if match is None:
            return count, at
        at = match.end()
    return len(spelling), at


@lru_cache(maxsize=4096)
def _run(tokens: Spelling) -> re.Pattern[str]:
    return re.compile("".join(map(_group, tokens)))


def _group(token: Token) -> str:
    return token[0] if len(token) == 1 else f"(?:{'|'.join(token)})"


# --- one character ---------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _token(char: str) -> Token:
    """A character as it is, or escaped where common encoders escape it."""
    if char.isascii() and char.isalnum():
        return (char,)
    escaped = [_percent(char), _json(char), *_html(char)]
    if char in "/\"'":
        escaped.append(_BACKSLASHES + re.escape(char))
    elif char == " ":
        escaped.append(r"\+")
    elif not char.isascii():  # its UTF-8 bytes, read as Latin-1
        escaped.append(re.escape(char.encode("utf-8", "surrogatepass").decode("latin-1")))
    # As it is comes last: an escape, or the UTF-8, may begin with the character itself.
    escaped.append(_BACKSLASHES if char == "\\" else re.escape(char))
    return tuple(escaped)


def _percent(char: str) -> str:
    return "".join(f"%(?:25){{0,3}}{_hex(byte, 2)}" for byte in char.encode("utf-8", "surrogatepass"))


def _json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"{_BACKSLASHES}u{_hex(int.from_bytes(units[i : i + 2]), 4)}" for i in range(0, len(units), 2)
    )


def _html(char: str) -> Token:
    numeric = rf"&(?:amp;){{0,3}}#(?:0*{ord(char)}|[xX]0*{_hex(ord(char), 1)});?"
    named = _NAMED_ENTITIES.get(char)
    return (numeric, f"&(?:amp;){{0,3}}{named};") if named else (numeric,)


def _hex(number: int, digits: int) -> str:
    """Either case of each digit."""
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{number:0{digits}x}")


# --- base64 ----------------------------------------------------------------------------------------------


def _base64(secret: bytes, before: int) -> Spelling:
    """The characters that `secret` alone decides when `before` bytes of its group stand in front of it."""
    text = base64.b64encode(bytes(before) + secret).decode("ascii")
    bits = 8 * (before + len(secret))
    whole = text[-(-8 * before // 6) : bits // 6]
    tokens = tuple((*_token(char), *_BASE64_URLSAFE.get(char, "")) for char in whole)
    # The last character also holds bits of the secret, and padding belongs to it.
    return (*tokens, (r"[A-Za-z0-9+/_-]={0,2}", "")) if bits % 6 else tokens
