"""Which of the pages that were shown are worth keeping, and as what?

A page that the catalogue knows needs no signature of its own; one that could be an ordinary answer of the target, that is
the same for every code, or that some other product also makes, must not have one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from probes.calibration.asking import is_page, of_the_edge, recognised
from probes.calibration.marks import Marks, marks
from probes.response import Response
from probes.signatures import catalogue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.calibration.asking import Asked, Shown
    from probes.model import Exchange
    from probes.signature_rows import Row

_SHOWS_ITSELF = frozenset({403, 409, 429, 451, *range(520, 531)})
"""Statuses of Cloudflare's errors that the origins of APIs hardly send for a failure of their own."""
_CATCH_ALL = 500


class Outcome(StrEnum):
    KNOWN = "known"
    OTHER = "other"
    NONE = "none"
    OWN = "own"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class Judged:
    """`why` in words; `signature`: that of the catalogue, or the target's own that knows it."""

    shown: Shown
    outcome: Outcome
    why: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A signature to be: everything that carries the same marks under the same status.

    `shared`: pages of other codes carry them too, under another status.
    """

    marks: Marks
    status: int
    shown: list[Shown] = field(default_factory=list)
    shared: bool = False

    @property
    def codes(self) -> list[int]:
        return sorted({one.code for one in self.shown})

    @property
    def telling(self) -> bool:
        """The status is that of the error itself, and not one that an origin sends as well."""
        of_5xx = {code for code in self.codes if code < 1000}
        return self.status in _SHOWS_ITSELF and of_5xx <= {self.status}

    @property
    def sure(self) -> bool:
        """Marks and status say which error it is; of the 1xxx several have one status."""
        one_meaning = len({wanted(code).code for code in self.codes}) == 1
        return self.telling and one_meaning and not (self.shared and self.codes[-1] >= 1000)


def wanted(code: int) -> Row:
    """What the catalogue says of Cloudflare's own JSON of that code: who acts, whether a retry helps, what to do."""
    document = {"cloudflare_error": True, "error_code": code}
    seen = Response(None, {}, "application/json", "", document, decodable=True, elided=False)
    return catalogue().matching(seen)[0].row


def known(code: int, exchange: Exchange) -> bool:
    """The catalogue takes the answer for the page of that code, and not only on a supporting mark."""
    found = exchange.attribution
    if found is None or not of_the_edge(exchange):
        return False
    same = found.code.removesuffix(".no_hint").removesuffix(".bad_hint") == wanted(code).code
    return found.vendor_code == str(code) or (same and found.vendor_code is None)


def sort(asked: Asked) -> tuple[list[Judged], list[Proposal]]:
    """What was shown in its order, and what may be kept of it; of what is in a proposal the last word is not said here."""
    judged: list[Judged] = []
    proposals: list[Proposal] = []
    for shown in asked.shown:
        if (settled := _settled(shown)) is not None:
            judged.append(settled)
        elif not asked.compared:
            judged.append(_unusable(shown, "not compared with what the target answers otherwise"))
        elif isinstance(found := _marks(shown, asked), str):
            judged.append(_without_marks(shown, found))
        else:
            _file(Proposal(found, shown.answers[0].status or 0), shown, proposals)
    good: list[Proposal] = []
    for proposal in proposals:
        alike = [one for one in proposals if one.marks.match == proposal.marks.match]
        if (why := _refused(proposal, sorted({code for one in alike for code in one.codes}))) is not None:
            judged += [_unusable(shown, why) for shown in proposal.shown]
        else:
            good.append(replace(proposal, shared=len(alike) > 1))
    return judged, good


def _settled(shown: Shown) -> Judged | None:
    """What needs no look at its marks."""
    first = shown.answers[0]
    found = first.attribution
    signature = found.signature if found is not None else None
    if not is_page(first):
        return Judged(shown, Outcome.NONE, "no error page is shown")
    if known(shown.code, first) and recognised(first):
        return Judged(shown, Outcome.KNOWN, "known by the catalogue", signature)
    if recognised(first) and found is not None:
        return Judged(
            shown, Outcome.OTHER, f"Cloudflare's own page, of {found.vendor_code or found.code}", signature
        )
    if first.status == _CATCH_ALL != shown.code:
        return Judged(shown, Outcome.OTHER, "the page of 500, which is shown for a code that has none")
    if len({answer.status for answer in shown.answers}) > 1:
        return _unusable(shown, "its status is not the same from one answer to the next")
    return None


def _without_marks(shown: Shown, why: str) -> Judged:
    first = shown.answers[0]
    if not known(shown.code, first) or first.attribution is None:
        return _unusable(shown, why)
    said = f"{why}; known by status and headers alone,"
    return Judged(shown, Outcome.KNOWN, said, first.attribution.signature)


def _marks(shown: Shown, asked: Asked) -> Marks | str:
    first, second = (Response.of(answer) for answer in shown.answers)
    rays = [ray.partition("-")[0] for answer in shown.answers for ray in answer.headers.get("cf-ray", ())]
    return marks(first, second, shown.code, (*rays, asked.trace.get("ip", "")))


def _file(proposal: Proposal, shown: Shown, proposals: list[Proposal]) -> None:
    same = (
        one for one in proposals if (one.status, one.marks.match) == (proposal.status, proposal.marks.match)
    )
    held = next(same, None)
    if held is None:
        proposals.append(held := proposal)
    held.shown.append(shown)


def _unusable(shown: Shown, why: str) -> Judged:
    return Judged(shown, Outcome.UNUSABLE, why)


def _refused(proposal: Proposal, codes: Sequence[int]) -> str | None:
    """`codes`: all whose pages carry the same marks, whatever their status is. Of both classes at once, it is about the
    request and not about the code.
    """
    if len({code < 1000 for code in codes}) > 1:
        return "the same page for every code, so it is about none of them"
    if len({family(wanted(code).code) for code in proposal.codes}) > 1 and min(proposal.codes) >= 1000:
        return f"the same page for {_listed(proposal.codes)}, which mean different things"
    return None


def code_of(proposal: Proposal) -> str:
    """The finding code of all of its codes, or what holds for each of them."""
    codes = {wanted(code).code for code in proposal.codes}
    if len(codes) == 1:
        return codes.pop()
    return "blocked" if all(family(code) == "blocked" for code in codes) else "unreachable.origin"


def family(code: str) -> str:
    """`blocked` of `blocked.client`."""
    return code.partition(".")[0]


def _listed(codes: Sequence[int]) -> str:
    return ", ".join(map(str, codes))
