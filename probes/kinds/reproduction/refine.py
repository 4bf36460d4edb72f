"""What is it in the part that makes a request fail: which word, which size, which text, which turn?"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from probes.kinds.reproduction.draft import ABSENT, CAPITALS, ORDER, Draft, capitalized, encoded, turned
from probes.kinds.reproduction.evidence import Halted
from probes.kinds.reproduction.parts import STACK, is_header
from probes.kinds.reproduction.plain import STREAMS
from probes.kinds.reproduction.search import causes, substring, threshold
from probes.kinds.reproduction.study import Question, swapped
from probes.kinds.reproduction.text import cut, filled, text_of
from probes.model import Factor

if TYPE_CHECKING:
    from collections.abc import Hashable

    from probes.kinds.reproduction.draft import Composer, Part
    from probes.kinds.reproduction.evidence import Asking
    from probes.kinds.reproduction.search import Cause
    from probes.kinds.reproduction.study import Study


@dataclass
class Refined:
    """A cause with what is known of its inside. `failing`: the smallest question that fails; `inside`: of a part the sets that each suffice; `size`: bytes
    of the body that pass and that fail, next to each other unless it was `halted`; `piece`: the smallest text; `turns`: of a conversation, how many it takes; `stacks`: clients
    over which the same bytes fail, and over which they pass; `streams`: other values of `stream`, as JSON, and whether it fails with them; `written`: how all of its headers must be written besides.
    """

    cause: Cause
    failing: Hashable
    inside: dict[str, tuple[frozenset[str], ...]] = field(default_factory=dict)
    size: tuple[int, int] | None = None
    piece: str | None = None
    turns: int | None = None
    opaque: str | None = None
    structure: bool = False
    stacks: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    streams: dict[str, bool] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    halted: str | None = None


def refine(study: Study, cause: Cause) -> Asking[Refined]:
    """Never raises: what is not found for lack of budget is said."""
    assert study.composer is not None
    found = Refined(cause, cause.parts)
    known = study.composer.every()
    try:
        for part in [known[name] for name in sorted(cause.parts)]:
            if len(part.inside) > (part.factor is not Factor.USER_AGENT):
                yield from _inside(study, found, part)
            elif part.at is not None:
                yield from _text(study, found, part)
            elif part.name == STACK:
                yield from _stacks(study, found)
            elif part.factor is Factor.STREAM:
                yield from _streams(study, found)
    except Halted as halted:
        found.halted = halted.why
    if found.halted is None and all(is_header(name) for name in cause.parts):
        with suppress(Halted):
            yield from _written(study, found)
    return found


def _written(study: Study, found: Refined) -> Asking[None]:
    """The same headers in the reverse order and in the usual capitals, and where that passes, in each by itself."""
    draft, label = study.draft(found.failing), study.label(found.failing)
    both = Question(f"rewritten/{label}", turned(capitalized(draft)))
    if (yield from study.evidence.fails(both)) or not (yield from study.evidence.surely_passes(both)):
        return
    found.written = (ORDER,)
    if capitalized(draft) == draft:
        return
    needed = []
    for name, other in ((ORDER, turned(draft)), (CAPITALS, capitalized(draft))):
        if (yield from study.evidence.surely_passes(Question(f"{name}/{label}", other))):
            needed.append(name)
    found.written = tuple(needed) or (ORDER, CAPITALS)


def _inside(study: Study, found: Refined, part: Part) -> Asking[None]:
    """The same search among what the part is made of, the rest of the cause beneath it."""
    names = [one.name for one in part.inside]
    beneath = found.cause.parts - {part.name}
    if (yield from study.evidence.surely_passes(beneath | frozenset(names))):
        return
    result = yield from causes(study.evidence, names, beneath)
    if result.causes:
        found.inside[part.name] = tuple(one.parts for one in result.causes)
        found.failing = beneath | result.causes[0].parts
    found.halted = result.halted


def _stacks(study: Study, found: Refined) -> Asking[None]:
    """The same bytes over every other stack that is here."""
    draft = study.draft(found.cause.parts)
    for client in study.raw:
        question = Question(f"stack/{client}", swapped(draft, client))
        passes = yield from study.evidence.surely_passes(question)
        found.stacks[1 if passes else 0].append(client)


def _streams(study: Study, found: Refined) -> Asking[None]:
    """With every other value of `stream`; one of which nothing is known in the end is left out."""
    assert study.composer is not None
    told, plain = (
        (draft.fields or {}).get("stream", ABSENT)
        for draft in (study.composer.failing, study.composer.passing)
    )
    draft = study.draft(found.cause.parts)
    for value in [one for one in STREAMS if one is not told]:
        said = "absent" if value is ABSENT else json.dumps(value)
        if value is plain:
            found.streams[said] = False
            continue
        question = Question(
            f"stream={said}/{study.label(found.cause.parts)}",
            study.composer.ordered(draft.with_field(("stream",), value), found.cause.parts),
        )
        with suppress(Halted):
            found.streams[said] = not (yield from study.evidence.surely_passes(question))


# --- text ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    """A text of the body in its cause: questions that hold another text in its place."""

    study: Study
    composer: Composer
    beneath: frozenset[str]
    part: Part

    @property
    def value(self) -> Any:
        failing = self.composer.failing
        if not self.part.at:
            return failing.raw.decode("latin-1")
        value: Any = failing.fields
        for name in self.part.at:
            value = value[name]
        return value

    def draft(self, value: Any) -> Draft:
        base = self.part.does(self.composer.draft(self.beneath))
        if self.part.at:
            return self.composer.ordered(
                base.with_field(self.part.at, value), self.beneath | {self.part.name}
            )
        return Draft(
            base.client, base.route, base.method, base.path, base.headers, value.encode("latin-1", "replace")
        )

    def question(self, what: str, value: Any) -> Question:
        where = hashlib.sha256("\n".join(sorted(self.beneath | {self.part.name})).encode()).hexdigest()[:6]
        return Question(f"{what}/{where}", self.draft(value))

    def sized(self, size: int) -> Question:
        return self.question(f"size={size}", filled(self.value, size))


def _text(study: Study, found: Refined, part: Part) -> Asking[None]:
    """Size first, which neutral text tells and nobody need own the target for."""
    assert study.composer is not None
    held = _Field(study, study.composer, found.cause.parts - {part.name}, part)
    whole = len(text_of(held.value).encode("utf-8", "surrogatepass"))
    if whole and not (yield from study.evidence.surely_passes(held.sized(whole))):
        yield from _size(study, found, held, whole)
        return
    if not study.case.target.owned:
        found.opaque = part.name
        return
    value = held.value
    if isinstance(value, list) and len(value) > 1:
        value, done = yield from _turns(study, found, held, value)
        if done:
            return
    yield from _piece(study, found, held, value)


def _size(study: Study, found: Refined, held: _Field, whole: int) -> Asking[None]:
    """From how many bytes on neutral text fails as well; as far as that was found."""
    reached = (0, whole)
    try:
        reached = yield from threshold(study.evidence, held.sized, [0], whole)
        yield from study.evidence.shown(held.sized(reached[1]))
    except Halted as halted:
        reached, found.halted = halted.reached or reached, halted.why
    passes, fails = reached
    found.failing, found.structure = held.sized(fails), fails <= 1
    # Where no size passed, neutral text may fail for its structure.
    if not found.structure and (passes or found.halted is None):
        found.size = (_bytes(study, held.sized(passes)), _bytes(study, held.sized(fails)))


def _bytes(study: Study, question: Question) -> int:
    return len(encoded(question.draft, study.told))


def _turns(study: Study, found: Refined, held: _Field, value: list[Any]) -> Asking[tuple[list[Any], bool]]:
    """From which turn of a conversation on it fails; whether that is all there is to say: none of them alone does."""

    def first(many: int) -> Question:
        return held.question(f"turns={many}", value[:many])

    _, turns = yield from threshold(study.evidence, first, [0], len(value))
    alone = held.question(f"turn={turns}", value[turns - 1 : turns])
    if turns > 1 and (yield from study.evidence.surely_passes(alone)):
        yield from study.evidence.shown(first(turns))
        found.failing, found.turns = first(turns), turns
        question = first(turns)
        smaller = first(turns - 1)
        found.size = (_bytes(study, smaller), _bytes(study, question))
        return value[:turns], True
    return value[turns - 1 : turns], False


def _piece(study: Study, found: Refined, held: _Field, value: Any) -> Asking[None]:
    text = text_of(value)

    def between(start: int, end: int) -> Question:
        return held.question(f"text={start}-{end}", cut(value, start, end))

    if not text or (yield from study.evidence.surely_passes(between(0, len(text)))):
        return
    start, end = yield from substring(study.evidence, between, len(text))
    yield from study.evidence.shown(between(start, end))
    found.failing, found.piece = between(start, end), text[start:end]
