"""Which requests are shown side by side, as commands that were run?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.complaint import reference
from probes.credentials import made_up_key
from probes.kinds.reproduction.draft import CAPITALS, ORDER, Draft, written_as
from probes.kinds.reproduction.family import apart_from, family_of
from probes.kinds.reproduction.parts import FAMILY
from probes.kinds.words import shown
from probes.model import Reproduce
from probes.written import as_curl, as_sdk

if TYPE_CHECKING:
    from collections.abc import Hashable

    from probes.complaint import Told
    from probes.kinds.reproduction.family import Family
    from probes.kinds.reproduction.refine import Refined
    from probes.kinds.reproduction.search import Result
    from probes.kinds.reproduction.study import Study

_LONGEST = 1200
"""Characters of a command in a row; a longer one is whole in the bundle."""


def sides(study: Study, result: Result, first: Refined) -> tuple[tuple[str, str], ...]:
    """The smallest that fails and the largest that passes, each of which was sent."""
    assert study.composer is not None
    causes = frozenset[str]().union(*(one.parts for one in result.causes))
    passing = frozenset(study.composer.names) - causes
    # An SDK writes its headers its own way.
    by_writing = first.written or causes & {ORDER, CAPITALS}
    code = None if by_writing else as_sdk(told_as(study, study.draft(first.failing)))
    return (
        ("fails", f"{_line(study, first.failing)}  (ran: {_ran(study, first.failing)})"),
        ("passes", f"{_line(study, passing)}  (ran: {_ran(study, passing)})"),
        *(
            (("as code", "\n".join(line for line in code.splitlines() if line)),)
            if code and len(code) <= _LONGEST
            else ()
        ),
    )


def reproduced(study: Study, question: Any) -> Reproduce:
    """Verified where it was curl that ran it."""
    draft = study.draft(question)
    kind = study.case.client(draft.client).kind
    return Reproduce(as_curl(told_as(study, draft)), verified=kind == "curl")


def told_as(study: Study, draft: Draft) -> Told:
    """For whoever writes it, with the key that is put in on the wire: by its variable, or as it was made up."""
    client, told = study.case.client(draft.client), study.told
    key, variable = _key(study)
    if variable is not None:
        told = replace(told, secrets=tuple(dict.fromkeys((*told.secrets, variable))))
    written = replace(
        written_as(draft, told, client.kind, client.mode, key), family=_family(study, draft) or told.family
    )
    return replace(written, client=None) if client.kind == "raw_httpx" else written


def _family(study: Study, draft: Draft) -> Family | None:
    """By its route; where it is what makes the difference, of the one without a name of a family, too."""
    named = family_of(draft.route)
    if named is not None or study.composer is None or FAMILY not in study.composer.names:
        return named
    beside = [family_of(one.route) for one in (study.composer.failing, study.composer.passing)]
    return next((apart_from(one) for one in beside if one is not None), None)


def _key(study: Study) -> tuple[tuple[tuple[str, str], ...], str | None]:
    if not study.adds_key:
        return (), None
    target = study.case.target
    named = target.key_env if study.case.keyed and not study.made_up_key else None
    value = made_up_key(target.api) if named is None else reference(named)
    if target.api == "anthropic":
        return (("x-api-key", value),), named
    return (("Authorization", f"Bearer {value}"),), named


def _line(study: Study, question: Any) -> str:
    line = as_curl(told_as(study, study.draft(question)))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(line):,} characters)"


def _ran(study: Study, question: Hashable) -> str:
    calls = [call.last for call in study.of_question(question) if call.last is not None]
    if not calls:
        return "not yet"
    tally, failed = study.evidence.of(question), study.failed(question)
    if failed is not None and tally.k < tally.n:
        return f"{shown(failed)}, {tally.k} of {tally.n} times"
    return f"{shown(calls[-1])}, {'once' if len(calls) == 1 else f'{len(calls)} times'}"
