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
    """`codes`: finding codes or families, all where there is none; `layers` and `who` likewise."""

    __pydantic_config__: ClassVar = STRICT

    codes: tuple[str, ...]
    text: str
    layers: tuple[Layer, ...] = ()
    who: tuple[WhoActs, ...] = ()


@dataclass(frozen=True, slots=True)
class Replies:
    __pydantic_config__: ClassVar = STRICT

    thanks: str
    unsure: str
    ask: str
    seen: tuple[Line, ...]
    whose: Mapping[WhoActs, str]
    either: tuple[Line, ...]
    do: tuple[Line, ...]
    meanwhile: tuple[Line, ...]
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
    if answer.attribution.code in _UNPROVEN:
        parts = [_line(words.seen, answer)]
    elif _is_unsure(answer):
        parts = [_line(words.seen, answer, Layer.UNKNOWN), words.unsure]
        parts += [_retry(answer, words)] if answer.retryable else []
    else:
        either = _line(words.either, answer)
        parts = [_line(words.seen, answer), *([either] if either else _moves(answer, words))]
    return " ".join(" ".join(part.split()) for part in parts if part)


def _moves(answer: Answer, words: Replies) -> list[str]:
    """Whose move it is, what the customer can do, and whether to try again."""
    tips = words.do if answer.who_acts is WhoActs.CUSTOMER else words.meanwhile
    return [words.whose[answer.who_acts], _line(tips, answer), _retry(answer, words)]


def _is_unsure(answer: Answer) -> bool:
    """Nobody is told that it is theirs, or ours, on evidence that proves neither."""
    found = answer.attribution
    return found.code not in _UNPROVEN and (
        found.layer is Layer.UNKNOWN or found.confidence is Confidence.LOW
    )


def _retry(answer: Answer, words: Replies) -> str:
    seconds = answer.attribution.extracted.get("retry_after", "")
    wait = "a short wait"
    if seconds.isdecimal() and seconds.isascii() and len(seconds) < 6 and int(seconds):
        wait = f"{int(seconds)} second{'s' if int(seconds) > 1 else ''}"
    said = {True: "yes", False: "no", None: "depends"}[answer.retryable]
    return words.retry[said].replace("{wait}", wait)  # type: ignore[index]


def _line(lines: Sequence[Line], answer: Answer, layer: Layer | None = None) -> str:
    code, layer = answer.attribution.code, layer or answer.attribution.layer
    fits = (
        line.text
        for line in lines
        if (not line.layers or layer in line.layers)
        and (not line.who or answer.who_acts in line.who)
        and (not line.codes or any(code == one or code.startswith(f"{one}.") for one in line.codes))
    )
    return next(fits, "")
