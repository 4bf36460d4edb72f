"""What is a customer told of what they sent?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from probes import strict_yaml
from probes.bundled import find
from probes.model import STRICT, Confidence, Layer, WhoActs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.classify import Answer

_UNPROVEN = frozenset({"ok", "not_told"})


@dataclass(frozen=True, slots=True)
class Line:
    """`codes`: finding codes or families, all where there is none; `layers` likewise."""

    __pydantic_config__: ClassVar = STRICT

    codes: tuple[str, ...]
    text: str
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, slots=True)
class Replies:
    __pydantic_config__: ClassVar = STRICT

    thanks: str
    unsure: str
    ask: str
    seen: tuple[Line, ...]
    whose: Mapping[WhoActs, str]
    do: tuple[Line, ...]
    retry: Mapping[Literal["yes", "no", "depends"], str]


@lru_cache
def replies() -> Replies:
    return strict_yaml.read(find("replies", "configs", "configuration"), Replies)


def reply(answers: Sequence[Answer]) -> str:
    """The text to send: a paragraph for each situation, without what only we are to know."""
    words = replies()
    said = list(dict.fromkeys(_paragraph(answer, words) for answer in answers))
    asks = any(_is_unsure(answer) or answer.attribution.code == "not_told" for answer in answers)
    return "\n\n".join([f"{words.thanks} {said[0]}", *said[1:], *([words.ask] if asks else [])])


def _paragraph(answer: Answer, words: Replies) -> str:
    found = answer.attribution
    parts = [_line(words.seen, found.code, found.layer)]
    if _is_unsure(answer):
        parts.append(words.unsure)
    elif found.code not in _UNPROVEN:
        parts.append(words.whose[answer.who_acts])
        if answer.who_acts is WhoActs.CUSTOMER:
            parts.append(_line(words.do, found.code, found.layer))
    if found.code not in _UNPROVEN and (answer.retryable or not _is_unsure(answer)):
        parts.append(_retry(answer, words))
    return " ".join(" ".join(part.split()) for part in parts if part)


def _is_unsure(answer: Answer) -> bool:
    """Nobody is told that it is theirs, or ours, on evidence that proves neither."""
    found = answer.attribution
    return found.code not in _UNPROVEN and (
        found.layer is Layer.UNKNOWN or found.confidence is Confidence.LOW
    )


def _retry(answer: Answer, words: Replies) -> str:
    seconds = answer.attribution.extracted.get("retry_after", "")
    after = (
        f" after {seconds} seconds" if seconds.isdecimal() and seconds.isascii() and len(seconds) < 6 else ""
    )
    said = {True: "yes", False: "no", None: "depends"}[answer.retryable]
    return words.retry[said].replace("{after}", after)  # type: ignore[index]


def _line(lines: Sequence[Line], code: str, layer: Layer) -> str:
    fits = (
        line.text
        for line in lines
        if (not line.layers or layer in line.layers)
        and (not line.codes or any(code == one or code.startswith(f"{one}.") for one in line.codes))
    )
    return next(fits, "")
