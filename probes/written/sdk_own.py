"""Which headers of a request does an official SDK send of its own accord?

The rest is given to its call: a header that is left to an SDK comes as the version and the machine at hand have it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from probes.complaint import Told

Language = Literal["python", "node"]

_AGENT = re.compile(r"(?:Async)?(OpenAI|Anthropic)/(Python|JS) (\d+(?:\.\d+)+)")
_LANGUAGES: dict[Language, str] = {"python": "Python", "node": "JS"}
_OF_ANY = {
    "content-type": "application/json",
    "accept": "application/json",
    "connection": "keep-alive",
}
_OF_ITS_VERSION = {
    "python": {
        "x-stainless-lang": "python",
        "x-stainless-async": "false",
        "x-stainless-runtime": "CPython",
        "x-stainless-retry-count": "0",
        "x-stainless-read-timeout": "600",
    },
    "node": {"x-stainless-lang": "js", "x-stainless-runtime": "node", "x-stainless-retry-count": "0"},
}
"""Those that are the same on every machine. What system it runs on is not."""


class Version(NamedTuple):
    api: str
    number: str


def version(told: Told, language: Language) -> Version | None:
    """Of the SDK in this language that the user agent announces."""
    agent = next((value for name, value in told.headers if name.lower() == "user-agent"), "")
    found = _AGENT.fullmatch(agent)
    if found is None or found[2] != _LANGUAGES[language]:
        return None
    return Version(found[1].lower(), found[3])


def is_own(name: str, value: str, told: Told, api: str, language: Language) -> bool:
    """Whether the call sends it without being told. The user agent never is: another version announces another."""
    low, known = name.lower(), version(told, language)
    if low == "anthropic-version":
        return api == "anthropic" and value == "2023-06-01"
    if _OF_ANY.get(low) == value:
        return True
    if known is None or known.api != api:
        return False
    return (low, value) == ("x-stainless-package-version", known.number) or (
        _OF_ITS_VERSION[language].get(low) == value
    )
