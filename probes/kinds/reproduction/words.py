"""How are a cause and what was asked of it said in words?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from probes.complaint import reference
from probes.kinds.reproduction.draft import CAPITALS, ORDER
from probes.kinds.reproduction.family import spoken
from probes.kinds.reproduction.parts import FAMILY, METHOD, PATH, QUERY, STACK, UA
from probes.kinds.reproduction.path import FORMS
from probes.kinds.words import listed
from probes.model import Factor
from probes.twins import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.reproduction.evidence import Tally
    from probes.kinds.reproduction.refine import Refined
    from probes.kinds.reproduction.study import Study

_SHOWN = 80
"""Characters of a value or a text; of longer ones the beginning and the end."""
_WHY = {
    "budget": "the budget of requests (--max-requests) is used up",
    "tokens": "the budget of tokens (--max-tokens-total) is used up",
    "money": "the budget of money (--max-usd) is used up",
    "tokens or money": "the budget of tokens (--max-tokens-total) or of money (--max-usd) is used up",
    "paused": "the server asked for a pause",
    "time": "waiting for answers that don't come took five minutes, as long as one case may",
    "silent": "what came back said nothing of the question",
    "unavailable": "two requests in a row got no first byte",
    "drift": "what failed at first did so no more",
    "interrupted": "it was interrupted",
    "not_recorded": "the stored run does not hold it",
}
_ORDER = (Factor.SIZE, Factor.BODY, Factor.STREAM, Factor.USER_AGENT, Factor.SDK_HEADERS)
"""Of a cause of several factors the one that is named."""


def halted(why: str | None) -> str:
    return _WHY.get(why or "", f"it ended early ({why})")


def score(tally: Tally) -> str:
    return f"{tally.k} of {tally.n}"


def rate(tally: Tally) -> str:
    low, high = wilson(tally.k, tally.n)
    return f"{tally.k} of {tally.n} times ({low:.0%} to {high:.0%} with 95 % confidence)"


def short(text: str) -> str:
    if len(text) <= _SHOWN:
        return repr(text)
    half = _SHOWN // 2
    return f"{text[:half]!r} … {text[-half:]!r}, {len(text):,} characters"


def factor(study: Study, refined: Refined) -> Factor | None:
    """Of the closed list; what none of it fits is none."""
    assert study.composer is not None
    known = study.composer.every()
    found = {known[name].factor for name in refined.cause.parts}
    if refined.size is not None and refined.turns is None:
        found = (found - {Factor.BODY}) | {Factor.SIZE}
    if Factor.TLS in found and not study.told.url.lower().startswith("https:"):
        found = (found - {Factor.TLS}) | {Factor.CLIENT}
    if refined.halted is not None and refined.size is None:
        # Neither its size nor its content was looked at to the end.
        found = {None if one is Factor.BODY else one for one in found}
    if len(found) == 1:
        return found.pop()
    return next((one for one in _ORDER if one in found), None)


def named(study: Study, refined: Refined) -> str:
    """The cause in a few words, each part with what was found inside of it."""
    whats = [_part(study, refined, name) for name in _sorted(study, refined)]
    said = whats[0] if len(whats) == 1 else f"{listed(whats)}, together only"
    if refined.written:
        return f"{said}, and that together with {listed(list(refined.written))} alone"
    return said


def _sorted(study: Study, refined: Refined) -> list[str]:
    assert study.composer is not None
    return [name for name in study.composer.names if name in refined.cause.parts]


def _part(study: Study, refined: Refined, name: str) -> str:
    assert study.composer is not None
    part = study.composer.every()[name]
    inside = refined.inside.get(name)
    said = "the user agent" if name == "user agent" else name
    if name == STACK:
        return _stack(study, refined)
    if name == FAMILY:
        fails, passes = (spoken(one) for one in (study.failed(refined.failing), study.passed(frozenset())))
        return f"the IP family: it fails over IPv{fails}, and passes over IPv{passes}"
    if name.startswith("header ") and (value := study.composer.failing.header(name.removeprefix("header "))):
        said = f"the header {name.removeprefix('header ')}: {short(_spelt(study, value))}"
    elif name.startswith("headers "):
        said = f"the {name}"
    elif name == "user agent":
        said = f"the user agent {short(_spelt(study, study.composer.failing.header(UA) or ''))}"
    elif name in {PATH, QUERY, METHOD} | FORMS:
        said = _line(study, name)
    elif name in {ORDER, CAPITALS}:
        said = _written(study, name)
    if inside:
        return _inside(inside, said, len(part.inside))
    if part.at is not None:
        return _body(refined, said)
    return _value(study, name, said) + (_streams(refined) if part.factor is Factor.STREAM else "")


_AGENT = " in the user agent"


def _inside(sets: Sequence[frozenset[str]], said: str, many: int) -> str:
    """What of a part suffices."""
    agent = any(name.endswith(_AGENT) for name in sets[0])
    if len(sets) == many > 1 and not agent:
        return f"{said}, whatever is in it"
    each = " or, by itself, ".join(
        listed([name.removesuffix(_AGENT) for name in sorted(names)]) for names in sets
    )
    return f"the {each} in {said}" if agent else f"{each}, of {said}"


def _written(study: Study, name: str) -> str:
    """Of the headers that both requests have; those whose capitals differ."""
    assert study.composer is not None
    sides = [
        {given.lower(): given for given, _ in draft.headers}
        for draft in (study.composer.failing, study.composer.passing)
    ]
    common = [[spelt for low, spelt in one.items() if low in other] for one, other in (sides, sides[::-1])]
    if name == CAPITALS:
        common = [[spelt for spelt in one if spelt not in other] for one, other in (common, common[::-1])]
        common[1] = [sides[1][spelt.lower()] for spelt in common[0]]
    ours, theirs = (", ".join(names) for names in common)
    return f"{name}: {ours} instead of {theirs}"


def _line(study: Study, name: str) -> str:
    assert study.composer is not None
    failing, passing = study.composer.failing, study.composer.passing
    if name == METHOD:
        return f"the method {failing.method}"
    if name == QUERY:
        return f"the query {short(_spelt(study, failing.path.partition('?')[2]))}"
    path, plain = (draft.path.partition("?")[0] for draft in (study.draft(frozenset({name})), passing))
    if name == PATH:
        return f"the path {short(path)} instead of {short(plain)}"
    return f"{name}: {short(path)} instead of {short(plain)}"


def _spelt(study: Study, text: str) -> str:
    """With its secrets as the variables of a shell, as in the commands beside it."""
    for variable in study.told.secrets:
        text = text.replace(reference(variable), f"${variable}")
    return text


def _value(study: Study, name: str, said: str) -> str:
    assert study.composer is not None
    fields = study.composer.failing.fields or {}
    key = name.removeprefix("field ")
    if name.startswith("field ") and key in fields and not isinstance(fields[key], (dict, list)):
        return f"the field {key}: {json.dumps(fields[key])}"
    return said


def _streams(refined: Refined) -> str:
    """What else `stream` may be, and what comes of that."""
    said = []
    for fails, end in ((False, ""), (True, ", too")):
        values = [value for value, failed in refined.streams.items() if failed is fails]
        each = ["without it" if value == "absent" else f"with {value}" for value in values]
        said += [f"it {'fails' if fails else 'passes'} {listed(each)}{end}"] if each else []
    return f" ({'; '.join(said)})" if said else ""


def _stack(study: Study, refined: Refined) -> str:
    fails, passes = refined.stacks
    told = f"refused over {listed(fails)}, let pass over {listed(passes)}" if fails and passes else ""
    what = "TLS" if study.told.url.lower().startswith("https:") else "how it writes to the connection"
    return f"the client's own stack ({what}), no header: the same bytes are {told or 'let pass by another'}"


def _size(low: int, high: int, *, found: bool) -> str:
    if found:
        return f"the size of the body, whatever it says ({low:,} bytes pass, {high:,} don't)"
    return f"the size of the body, whatever it says (its limit lies between {low:,} bytes, which passed, and {high:,}, which failed)"


def _body(refined: Refined, said: str) -> str:
    if refined.turns is not None:
        size = f", {refined.size[1]:,} bytes" if refined.size else ""
        return (
            f"what adds up in the conversation: it fails from turn {refined.turns} on{size}; that turn alone passes, "
            "as do the turns before it and neutral text of the same size"
        )
    if refined.size is not None:
        return _size(*refined.size, found=refined.halted is None)
    if refined.structure:
        return f"{said}, by its structure: with neutral text in it, it fails as well"
    if refined.piece is not None:
        return f"text in the {said}: {short(refined.piece)} suffices"
    if refined.opaque is not None:
        return (
            f"the content of the {said}: neutral text of the same size passes (which words of it was not asked, since the "
            "target is not marked as owned; --owned says that it is yours)"
        )
    return f"something in the {said}"


def suspects(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:8])} and {len(names) - 8} more"
