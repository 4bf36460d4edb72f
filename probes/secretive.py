"""Which names say of a value that it is secret, and where do they stand?

The one list of them: for queries, forms, JSON and prose alike.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AUTHORIZING = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
"""The headers of an API's key."""
HEADERS = AUTHORIZING | {"proxy-authorization", "cookie", "set-cookie"}

_NAMES = (
    # With words before it, too: `client_secret`, `X-Amz-Signature`, `refreshToken`.
    r"(?:[a-z][\w.-]{0,60}?)?(?:token|secret|pass(?:word|wd|phrase)|pwd|signature|credentials?|jwt|session[-_]?id|"
    r"(?:api|access|secret|private|auth|subscription)[-_]?key(?:[-_]?id)?)"
    r"|k|key|auth|authorization|bearer|code|pin|otp|pass|session|sid|phpsessid|sig|assertion|code[-_]verifier"
)
_QUOTED = rf'"(?:{_NAMES})"\s*:\s*"'
_JSON = rf'({_QUOTED})((?:[^"\\]|\\.){{1,4096}})(?=")'
_NESTED = rf'((?P<q>\\{{1,7}}")(?:{_NAMES})(?P=q)\s*:\s*(?P=q))((?:(?!(?<!\\)(?P=q)).){{1,4096}})(?=(?P=q))'
"""JSON in a text of JSON: as many backslashes before each of its quotes."""
_PART = (
    rf'(form-data; name="?(?:{_NAMES})"?(?:;[^\r\n]*)?\r?\n(?:[^\r\n]+\r?\n)*\r?\n)(.{{1,4096}}?)(?=\r?\n--)'
)
_PAIR = rf"(?:{_NAMES})="
_FIELD = rf"((?:\A|(?<=[?&])){_PAIR})([^&#\r\n]+)"
_LINK = rf"((?<=[?&]){_PAIR})([^&#\s\"'\\<>]+)"


def _places(*expressions: str) -> re.Pattern[str]:
    """Of each the first group is the name, and the last the value."""
    return re.compile("|".join(expressions), re.IGNORECASE | re.DOTALL)


_IN_QUERY = _places(_FIELD)
_IN_WORDS = _places(rf"((?<![\w.-]){_PAIR})([^&#\s\"'\\<>,;)]+)")
_IN_FORM = _places(_JSON, _NESTED, _PART, _FIELD)
_IN_BODY = _places(_JSON, _NESTED, _PART, _LINK)
_FORM = re.compile(r"[\w.%+-]*(?:\[[\w-]*\])*=")


def in_query(query: str, said: Callable[[str], str]) -> str:
    """With what `said` makes of each value that its name says to be secret; so in the others."""
    return _each(_IN_QUERY, query, said)


def in_words(text: str, said: Callable[[str], str]) -> str:
    """Of a header's value, or prose."""
    return _each(_IN_WORDS, text, said)


def in_body(body: str, said: Callable[[str], str]) -> str:
    """Of JSON, JSON inside of it, a form, its parts, and the links in any of them."""
    return _each(_IN_FORM if _FORM.match(body) else _IN_BODY, body, said)


def named(values: Iterable[str]) -> re.Pattern[str]:
    """Finds a name of the list (its first group) with one of these values, in any of its places."""
    either = "|".join(sorted(map(re.escape, values), key=len, reverse=True))
    if not either:
        return re.compile(r"(?!)()")
    return re.compile(
        rf"((?<![\w.-])(?:{_NAMES})\\{{0,7}}[\"']?\s*[=:]\s*\\{{0,7}}[\"']?)(?:{either})(?![\w-])",
        re.IGNORECASE,
    )


def _each(places: re.Pattern[str], text: str, said: Callable[[str], str]) -> str:
    def instead(match: re.Match[str]) -> str:
        name, *_, value = (group for group in match.groups() if group is not None)
        return name + said(value)

    return places.sub(instead, text)
