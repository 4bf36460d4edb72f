"""What is told of a body that is refused for its size?"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.identity.load import body_bytes, failed_by_size, in_words
from probes.kinds.identity.reproducer import sized_command
from probes.kinds.identity.study import evidence, passed
from probes.kinds.identity.suspect import UA
from probes.kinds.words import listed, named, shown
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason, Reproduce, Verdict
from probes.twins import REPEATS, confounders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Exchange, Finding
    from probes.twins import Side, Twin

_TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


@dataclass
class Refusal:
    """`scope`: the clients refused, the representative first; `others`: those let pass with the same size. `twin`: the
    small bodies of the scope against its large ones; `again`: those of them that were asked because of a refusal;
    `beside`: the large ones of the others. `by_agent`: the representative with another's user agent against itself,
    where that was tried.
    """

    scope: list[str]
    others: list[str]
    twin: Twin
    again: Twin
    beside: Side
    by_agent: Twin | None = None
    noted: list[Call] = field(default_factory=list)

    @property
    def claimed(self) -> bool:
        """By the size, and where others are let pass, by size and client together.

        Where answers are mixed, the exact test has to say so of those alone that no refusal chose, too.
        """
        alone = not self.others or (self.beside.passed and self.beside.n >= REPEATS)
        return self.twin.claimed and alone and (not self.mixed or self.again.claimed)

    @property
    def mixed(self) -> bool:
        return any(
            s.n and not (s.passed or s.failed) for s in (self.twin.control, self.twin.variant, self.beside)
        )

    def note(self, calls: Sequence[Call]) -> None:
        """Calls of the representative that tell where the limit lies."""
        self.noted += [call for call in calls if failed_by_size(call) is not None]

    @property
    def refused(self) -> Call:
        """The smallest that was."""
        return min((call for call in self.noted if failed_by_size(call)), key=body_bytes)

    @property
    def bracket(self) -> tuple[Call, Call] | None:
        """The largest let pass of those below, and the smallest refused; `None` where answers do not tell."""
        below = [call for call in self.noted if passed(call) and body_bytes(call) < body_bytes(self.refused)]
        told = self.claimed and not self.mixed and below
        return (max(below, key=body_bytes), self.refused) if told else None

    @property
    def small(self) -> Exchange | None:
        """What the representative got for a small body."""
        return _last(
            [call for call in self.twin.control.calls if call.trial.client == self.scope[0]], failed=False
        )

    @property
    def large(self) -> Exchange:
        """What it got for a large one."""
        found = _last(
            [call for call in self.twin.variant.calls if call.trial.client == self.scope[0]], failed=True
        )
        assert found is not None
        return found


def _last(calls: Sequence[Call], *, failed: bool) -> Exchange | None:
    return next((call.last for call in reversed(calls) if failed_by_size(call) is failed), None)


def unconfirmed(study: Study, group: Sequence[Call], reason: Reason) -> Finding:
    names = study.ranked([call.trial.client for call in group])
    call = next(call for call in group if call.trial.client == names[0])
    assert call.last is not None
    return conclude(
        study.case,
        _code(call.last, claimed=False),
        call.last,
        **_layer(call.last),
        verdict=Verdict.INCONCLUSIVE,
        reason=reason,
        client=names[0],
        observed=Observed(len(group), len(group)),
        title=f"{listed(names)}: a large body was refused; it could not be confirmed",
        detail=(("seen", f"{shown(call.last)} to {in_words(body_bytes(call))}"), *named(call.last)),
        confidence=Confidence.LOW,
        evidence=evidence(group),
    )


def by_size(study: Study, refusal: Refusal) -> Finding:
    large, small, seen = refusal.large, refusal.small, refusal.twin.variant
    must_pass = any(study.must_pass(name) for name in refusal.scope)
    own = large.status == _TOO_LARGE and _by_the_api(large)
    return conclude(
        study.case,
        _code(large, claimed=refusal.claimed),
        large,
        **_layer(large),
        verdict=Verdict.FAIL if must_pass and not own else Verdict.WARN,
        client=refusal.scope[0] if refusal.others or len(refusal.scope) == 1 else None,
        factor=Factor.SIZE if refusal.claimed else None,
        observed=Observed(seen.k, seen.n),
        control=small.id if small is not None else None,
        variant=large.id,
        confounders=_confounders(small, large),
        title=_title(refusal),
        detail=(
            ("seen", _seen(refusal)),
            ("because", _because(refusal)),
            *_consequence(refusal),
            *named(large),
        ),
        figures=_figures(refusal),
        confidence=_confidence(refusal),
        reason=None if refusal.claimed else Reason.MIXED if refusal.mixed else Reason.TOO_FEW,
        next_test=_next_test(refusal),
        evidence=evidence((*seen.calls, *refusal.twin.control.calls, *refusal.beside.calls)),
        reproduce=_command(study, refusal),
    )


def _confidence(refusal: Refusal) -> Confidence:
    if not refusal.claimed:
        return Confidence.LOW
    return Confidence.MEDIUM if refusal.mixed else Confidence.HIGH


def _next_test(refusal: Refusal) -> str | None:
    made = refusal.large.attribution
    if refusal.bracket is None:
        return made.next_test if made is not None else None
    at_the_api = made is not None and made.layer is Layer.ORIGIN
    return (
        None
        if at_the_api
        else "the same two sizes, just below and just above the limit, straight to the origin"
    )


def _command(study: Study, refusal: Refusal) -> Reproduce | None:
    """By curl, where its own identity plays no part or the user agent is all of it."""
    by_agent = refusal.by_agent is not None and refusal.by_agent.claimed
    if refusal.bracket is None or (refusal.others and not by_agent):
        return None
    headers = {UA: _agent(refusal)} if by_agent else {}
    size = body_bytes(refusal.bracket[1])
    return Reproduce(sized_command(study.case, study.endpoint, size, headers))


def _by_the_api(refusal: Exchange) -> bool:
    return refusal.attribution is not None and refusal.attribution.layer is Layer.ORIGIN


def _code(large: Exchange, *, claimed: bool) -> str:
    """A 413 says itself that it is for the size; of another refusal only a twin can say that."""
    if large.status == _TOO_LARGE:
        return "size.rejected"
    code = outcome_code(large)
    if code == "challenged" or not (is_refusal(large) or large.status == HTTPStatus.FORBIDDEN):
        return code
    return "blocked.size" if claimed else "blocked"


def _layer(large: Exchange) -> dict[str, object]:
    """A 403 in the API's form is nobody's by its JSON alone: a WAF can write that, too."""
    plain = large.status != HTTPStatus.FORBIDDEN or is_refusal(large)
    return {} if plain else {"layer": Layer.UNKNOWN, "product": None}


def _confounders(small: Exchange | None, large: Exchange) -> tuple[str, ...]:
    found = confounders(small, large, ("expect",)) if small is not None else ()
    return tuple(what for what in found if what != "the bodies differ")


# --- in words --------------------------------------------------------------------------------------------


def _title(refusal: Refusal) -> str:
    large = refusal.large
    at_edge = large.attribution is not None and large.attribution.layer is Layer.EDGE
    where = "at the edge" if at_edge else "by the API itself" if _by_the_api(large) else "before the API"
    names, are = listed(refusal.scope), "is" if len(refusal.scope) == 1 else "are"
    above = (
        f"above {in_words(body_bytes(refusal.bracket[0]))}"
        if refusal.bracket is not None
        else "that are large"
    )
    if not refusal.claimed:
        return f"{names} {are} refused {where} with a large body; that the size is why is not proven"
    if refusal.mixed:
        return f"{names} {are} refused {where} now and then with bodies that are large"
    if refusal.others:
        return f"{names} {are} refused {where} with bodies {above}, others are not"
    return f"Bodies {above} are refused {where}"


def _seen(refusal: Refusal) -> str:
    large, control, beside = refusal.twin.variant, refusal.twin.control, refusal.beside
    size = next(body_bytes(call) for call in large.calls if call.last is not None)
    answer = shown(refusal.small) if refusal.small is not None else "no good answer"
    said = f"{shown(refusal.large)} to {in_words(size)}, {large.k} of {large.n}; "
    said += f"the same with 1 KiB: {answer}, let pass {control.n - control.k} of {control.n}"
    if refusal.others:
        said += f"; {listed(refusal.others)} with the large one: let pass {beside.n - beside.k} of {beside.n}"
    return said


def _because(refusal: Refusal) -> str:
    if not refusal.claimed:
        return f"not isolated: {'the answers are mixed' if refusal.mixed else 'there are too few answers'}"
    if refusal.mixed:
        return "the size: large bodies are refused now and then, small ones are not; where the limit lies is not measured"
    if not refusal.others:
        return "the size alone: with a small body each of these clients is let pass, and no client with a large one"
    if refusal.by_agent is None or not refusal.by_agent.claimed:
        left = "it was not tried which part" if refusal.by_agent is None else "it is not the user agent alone"
        return f"a large body together with the client that sends it; either without the other is let pass; {left}"
    other = refusal.by_agent.control
    return (
        f"a large body together with the user agent {_agent(refusal)!r}; either without the other is let pass: "
        f"the same body from the same client under another user agent {other.n - other.k} of {other.n}"
    )


def _agent(refusal: Refusal) -> str:
    return next((value for name, value in refusal.large.request.headers if name.lower() == UA), "")


def _consequence(refusal: Refusal) -> tuple[tuple[str, str], ...]:
    if refusal.bracket is None:
        return ()
    low, high = map(body_bytes, refusal.bracket)
    return (
        ("limit", f"{low} bytes are let pass and {high} are not, through {refusal.scope[0]}"),
        ("so", "a short check is green while long conversations, files and pictures fail, and go on failing"),
    )


def _figures(refusal: Refusal) -> dict[str, Figure]:
    """The bracket, in bytes of the whole body."""
    if refusal.bracket is None:
        return {}
    low, high = map(body_bytes, refusal.bracket)
    n = len(refusal.noted)
    return {"largest_passed": Figure(low, "B", n), "smallest_refused": Figure(high, "B", n)}
