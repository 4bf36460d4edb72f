"""What did customers meet while a command ran, that they had not met before it?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from probes.during.axis import AXIS, drawn
from probes.during.cuts import cuts
from probes.during.slow import slow
from probes.during.timed import Command, Request, requests, when
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.words import shown
from probes.model import Confidence, Figure, Layer, NotSent, Observed, Reason, Verdict, WhoActs
from probes.twins import Side, Twin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probes.model import Call, Case, Finding

_WORST = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS)
_SHOWN = 8
_KINDS = 4
_HAND_OVER = (
    "Let the change hand over without a gap: what is new takes requests before what is old stops, and the edge asks "
    "another one again where a connection is refused."
)


def judged(
    knocking: Case, holding: Case, calls: Sequence[Call], command: Command, redact: Callable[[str], str]
) -> list[Finding]:
    """The worst first, which holds the time axis. A failure is the command's only where it was good before."""
    seen = requests(calls)
    findings = [
        *_findings(knocking, holding, seen, calls, command),
        *_unseen((knocking, holding), calls, seen, command),
    ]
    findings.sort(key=lambda finding: _WORST.index(finding.verdict))
    first, *others = findings
    rows = (*first.detail, ("command", command.in_words(redact)), (AXIS, drawn(seen, calls, command, redact)))
    return [replace(first, detail=rows), *others]


def _findings(
    knocking: Case, holding: Case, seen: Sequence[Request], calls: Sequence[Call], command: Command
) -> list[Finding]:
    if command.ended is None:
        why = f": {command.fault}" if command.fault else ""
        return [_nothing(knocking, f"The command did not begin{why}", "nothing can be said of it")]
    before = [each for each in seen if each.ended <= command.began and each.good is not None]
    since = _since(seen, command)
    if not any(each.good for each in before):
        return [_bad_before(knocking, before, since)]
    found = [*_failures(knocking, before, since, command), *cuts(holding, calls, command)]
    found += slow(knocking, before, since)
    if not since:
        found.append(
            _nothing(
                knocking,
                "Nothing was measured from the beginning of the command on",
                "no request was answered",
            )
        )
    if found or command.interrupted:
        return found
    return [_fine(knocking, holding, before, since, command)]


def _since(seen: Sequence[Request], command: Command) -> list[Request]:
    return [each for each in seen if each.ended > command.began and each.good is not None]


def _nothing(case: Case, title: str, seen: str) -> Finding:
    return conclude(
        case, "not_measured", layer=Layer.PROBE, reason=Reason.TOO_FEW, title=title, detail=(("seen", seen),)
    )


def _bad_before(case: Case, before: Sequence[Request], since: Sequence[Request]) -> Finding:
    """What the command did to it can't be told; that it was good afterwards may be its doing."""
    bad = [each for each in before if each.good is False]
    good = sum(each.good is True for each in since)
    then = f"{good} of {len(since)} requests were good from the beginning of the command on"
    if not bad:
        return replace(
            _nothing(
                case, "Nothing was answered before the command began, so nothing can be said of it", then
            ),
            advice="Give it more time before the command, by --before.",
        )
    last = bad[-1].call.last
    return conclude(
        case, _code(bad[-1]), last, verdict=Verdict.INCONCLUSIVE, reason=Reason.MIXED, client=case.clients[0].name,
        title=f"It failed before the command began, {len(bad)} of {len(before)} times: of the command nothing can be said",
        observed=Observed(len(bad), len(before)),
        detail=(("seen", _kinds(bad)), ("since", then)),
        evidence=_ids(bad),
    )  # fmt: skip


# --- refused, failed, unanswered -------------------------------------------------------------------------


class Gap(NamedTuple):
    """`until`: when the next good one was asked, `None` where none came. `bad`: failures in it. `good_at`: when the last
    good one before it was asked.
    """

    since: float
    last: float
    until: float | None
    bad: int
    good_at: float | None


def gaps(seen: Sequence[Request]) -> list[Gap]:
    """Of requests in the order in which they were asked, the stretches without a good one."""
    found: list[Gap] = []
    good_at: float | None = None
    running: list[Request] = []
    for each in seen:
        if each.good is False:
            running.append(each)
        elif each.good:
            if running:
                found.append(Gap(running[0].at, running[-1].at, each.at, len(running), good_at))
                running = []
            good_at = each.at
    if running:
        found.append(Gap(running[0].at, running[-1].at, None, len(running), good_at))
    return found


def _failures(
    case: Case, before: Sequence[Request], since: Sequence[Request], command: Command
) -> list[Finding]:
    bad = [each for each in since if each.good is False]
    if not bad:
        return []
    code = Counter(map(_code, bad)).most_common(1)[0][0]
    example = next(each for each in bad if _code(each) == code)
    failed_before = sum(each.good is False for each in before)
    sides = Twin(Side(failed_before, len(before)), Side(len(bad), len(since)))
    proven = not failed_before or sides.claimed
    held = gaps(sorted((*before, *since), key=lambda each: each.at))
    ours = [gap for gap in held if gap.until is None or gap.until > command.began]
    longest = max(ours, key=lambda gap: (gap.until is None, (gap.until or 0.0) - gap.since))
    if not failed_before:  # what was under way when the command began was still good then
        longest = longest._replace(since=max(longest.since, command.began))
    return [
        conclude(
            case, code, example.call.last, client=case.clients[0].name,
            verdict=Verdict.FAIL if proven else Verdict.INCONCLUSIVE, reason=None if proven else Reason.MIXED,
            title=_title(longest, len(bad), len(since), command) if proven
            else f"{len(bad)} of {len(since)} requests failed, and {failed_before} of {len(before)} before the command",
            observed=Observed(len(bad), len(since)),
            detail=(
                ("seen", _kinds(bad)),
                ("before", _before(before, bad, command)),
                *_bounds(longest, len(ours), command),
            ),
            figures=_figures(longest),
            conditions={**(example.call.last.conditions if example.call.last else {}), **_conditions(case)},
            confidence=Confidence.HIGH if proven and len(before) >= 3 and len(bad) > 1 else Confidence.MEDIUM,
            next_test=None, advice=_HAND_OVER, who_acts=WhoActs.OPERATOR, evidence=_ids(bad),
        )
    ]  # fmt: skip


def _before(before: Sequence[Request], bad: Sequence[Request], command: Command) -> str:
    good = sum(each.good is True for each in before)
    under_way = sum(each.at < command.began for each in bad)
    more = f"; {under_way} that had been asked by then failed after it began" if under_way else ""
    return f"{good} of {len(before)} requests were good before the command began{more}"


def _title(gap: Gap, bad: int, of: int, command: Command) -> str:
    count = f"{bad} of {of} requests failed"
    since = f"{gap.since - command.began:+.1f} s"
    if gap.until is None:
        return f"No good answer any more from {since} on, counted from where the command began: {count}"
    if gap.bad == 1:
        return f"{count} from the beginning of the command on, never two in a row"
    return f"No good answer for {gap.until - gap.since:.1f} s, from {since} to {gap.until - command.began:+.1f} s: {count}"


def _bounds(gap: Gap, number: int, command: Command) -> list[tuple[str, str]]:
    least, most = max(gap.last - gap.since, 0.0), None
    if gap.until is not None and gap.good_at is not None:
        most = gap.until - gap.good_at
    longer = f", at most {most:.1f} s" if most is not None else ""
    others = f"; the longest of {number} such stretches" if number > 1 else ""
    return [("gap", f"it began {when(gap.since, command)} and lasted at least {least:.1f} s{longer}{others}")]


def _figures(gap: Gap) -> dict[str, Figure]:
    if gap.until is None:
        return {}
    high = None if gap.good_at is None else gap.until - gap.good_at
    return {"gap": Figure(gap.until - gap.since, "s", gap.bad, max(gap.last - gap.since, 0.0), high)}


def _kinds(bad: Sequence[Request]) -> str:
    """Each way to fail, with an example."""
    counts = Counter(map(_code, bad))
    said = []
    for code, n in counts.most_common(_KINDS):
        last = next(each.call.last for each in bad if _code(each) == code)
        said.append(f"{n} x {code}: {shown(last) if last is not None else 'the client did not send'}")
    return "; ".join(said)


def _code(each: Request) -> str:
    return outcome_code(each.call.last) if each.call.last is not None else "client.guard"


def _ids(seen: Sequence[Request]) -> tuple[str, ...]:
    return tuple(each.call.last.id for each in seen if each.call.last is not None)[:_SHOWN]


def _conditions(case: Case) -> dict[str, object]:
    return {"every": case.params["every"], "open_streams": case.params["streams"]}


# --- nothing, and what was not seen ----------------------------------------------------------------------


def _fine(
    knocking: Case, holding: Case, before: Sequence[Request], since: Sequence[Request], command: Command
) -> Finding:
    streams = [each for each in since if each.stream]
    short = len(since) - len(streams)
    title = f"{short} short requests and {len(streams)} long streams from the beginning of the command on: none refused"
    failed = sum(each.good is False for each in before)
    rows = [("seen", f"failures: 0 of {len(since)} since, {failed} of {len(before)} before")]
    if not streams:
        rows.append(("not tested", f"streams that are open while the command runs{_no_streams(holding)}"))
    late = [each for each in since if command.waited and each.held_back and each.at >= command.began]
    told: dict[str, object] = {}
    if late:
        again = "Run it again when the server asks for no pause."
        told = {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.PAUSED, "advice": again}
        rows.append(("unseen", _blind(late, command)))
    return conclude(
        knocking, "ok", since[-1].call.last, client=knocking.clients[0].name, observed=Observed(0, len(since)),
        title=f"{title}, cut or slow" if streams else f"{title} or slow",
        detail=tuple(rows), next_test=None,
        conditions={**since[-1].call.last.conditions, **_conditions(knocking)} if since[-1].call.last else {},
        evidence=_ids(since), **told,
    )  # fmt: skip


def _no_streams(holding: Case) -> str:
    if not holding.params["wanted"]:
        return ""
    if holding.params["streams"]:
        return ": none had begun"
    return f": limits.concurrency is {holding.target.limits.concurrency}, and one place is for short requests"


def _blind(late: Sequence[Request], command: Command) -> str:
    longest = max(late, key=lambda each: each.held_back)
    return (
        f"{len(late)} requests were held back, for up to {longest.held_back:.1f} s, the longest until "
        f"{when(longest.at, command)}: the server asked for it"
    )


def _unseen(
    cases: Sequence[Case], calls: Sequence[Call], seen: Sequence[Request], command: Command
) -> list[Finding]:
    """Where the asking ended before its time."""
    found = []
    for case in cases:
        ended = [
            call
            for call in calls
            if call.case == case.id and call.not_sent not in {None, NotSent.INTERRUPTED}
        ]
        if ended and ended[0].not_sent is not None:
            told = not_sent(case, ended[0].not_sent, f"asking for {case.kind} beside the command", ended)
            at = when(ended[0].trial.start, command)
            found.append(
                replace(
                    told, title=f"{case.kind.capitalize()} were sent no more, {at}: later ones are unseen"
                )
            )
    if command.interrupted:
        told = not_sent(cases[0], NotSent.INTERRUPTED, "asking beside the command")
        since = _since(seen, command) if command.ended is not None else []
        until = (
            f"failures: {sum(each.good is False for each in since)} of {len(since)} since the command began"
        )
        rows = (*told.detail, ("until then", until)) if since else told.detail
        title = "It was interrupted: what came afterwards was not seen"
        found.append(replace(told, title=title, detail=rows))
    return found
