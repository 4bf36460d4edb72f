"""May a page become a signature beside what the catalogue and the target's file hold, and what of it is in doubt?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes import own_signatures
from probes.calibration.judging import Judged, Outcome, Proposal, code_of, family, wanted
from probes.response import Response
from probes.signatures import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.calibration.asking import Asked, Shown
    from probes.signature_rows import Row
    from probes.signatures import Signature

DOCUMENTED = frozenset({521, 522, 1015})
"""The codes that Cloudflare's documentation asks that path for."""


def held(own: Sequence[Signature], proposal: Proposal) -> tuple[Outcome, str, str | None] | None:
    """What the file says of that page already; a row for another error than this one keeps it out."""
    saying = [one for one in own if all(map(one.says, _seen(proposal)))]
    matching = [one for one in saying if all(map(one.matches, _seen(proposal)))]
    if (same := next((one for one in matching if _means(one.row, proposal)), None)) is not None:
        return Outcome.OWN, "kept already", same.id
    wrong = [one for one in saying if one in matching or _of_the_other_class(one.row, proposal)]
    if not wrong:
        return None
    what = wrong[0].row.vendor_code or wrong[0].row.code
    return Outcome.UNUSABLE, f"the same page as {wrong[0].id}, which takes it for {what}: mend that row", None


def beside(own: Sequence[Signature], proposal: Proposal) -> Proposal:
    """As one whose marks another row of the file has, under another status."""
    return replace(
        proposal, shared=proposal.shared or any(all(map(one.says, _seen(proposal))) for one in own)
    )


def _means(row: Row, proposal: Proposal) -> bool:
    """The row holds for each of the codes: by its vendor code, or else by what its finding code covers."""
    if row.vendor_code is not None:
        return all(str(code) == row.vendor_code for code in proposal.codes)
    return all(
        family(row.code) == family(wanted(code).code) or (code < 1000 and row.code == code_of(proposal))
        for code in proposal.codes
    )


def _of_the_other_class(row: Row, proposal: Proposal) -> bool:
    code = row.vendor_code or ""
    return code.isdecimal() and (int(code) < 1000) != (proposal.codes[0] < 1000)


def contradicted(own: Sequence[Signature], judged: Judged) -> Judged:
    """With the rows of the file that speak up for a page that must not be kept."""
    seen = [Response.of(answer) for answer in judged.shown.answers]
    rows = [one.id for one in own if judged.outcome is Outcome.UNUSABLE and any(map(one.matches, seen))]
    if not rows or rows[0] in judged.why:
        return judged
    return replace(judged, why=f"{judged.why}; take {', '.join(rows)} out of the target's file")


def doubts(proposal: Proposal) -> Iterator[str]:
    """What of it is not known for certain."""
    if undocumented := [str(code) for code in proposal.codes if code not in DOCUMENTED]:
        yield f"{', '.join(undocumented)}: not among the codes that the documentation asks that path for"
    if not proposal.telling:
        yield f"an origin may answer {proposal.status} itself, and a custom error rule may put this page over it: low confidence"
    if proposal.shared:
        yield "pages of other codes look the same: only the status tells them apart"
    if len(proposal.codes) > 1:
        yield f"one page for {', '.join(map(str, proposal.codes))}: which of them it was is not told"


def _told_apart(proposal: Proposal, shown: Shown) -> bool:
    """By the code itself, or by the status among errors of one class."""
    one_class = (shown.code < 1000) == (proposal.codes[0] < 1000)
    statuses = {answer.status for answer in shown.answers}
    return shown.code in proposal.codes or (one_class and proposal.status not in statuses)


def unfit(signature: Signature, proposal: Proposal, asked: Asked) -> str | None:
    """A signature that could speak up where it should not is none."""
    if not all(map(signature.matches, _seen(proposal))):
        return "its marks are not enough to find it again"
    for answer in asked.ordinary:
        if signature.says(Response.of(answer)):
            return f"the same stands in an ordinary answer ({answer.status} to {answer.request.url})"
    for shown in asked.shown:
        says = any(signature.says(Response.of(answer)) for answer in shown.answers)
        if says and not _told_apart(proposal, shown):
            return f"the page of {shown.code} has the same marks"
    for other in catalogue().signatures:
        if other.row.strength == "exclusive" and any(map(other.matches, _seen(proposal))):
            return f"the catalogue is sure that it is {other.id}"
        if any(signature.says(own_signatures.sampled(sample)) for sample in other.row.samples):
            return f"it says no more than {other.id}"
    return None


def _seen(proposal: Proposal) -> list[Response]:
    return [Response.of(answer) for shown in proposal.shown for answer in shown.answers]
