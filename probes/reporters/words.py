"""What is said of a run, in whatever format?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from probes.model import Layer, Reason, Verdict
from probes.reporters.taken import under

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from probes.model import Finding, Run, Skipped

ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS)
GLYPHS = {
    Verdict.FAIL: "✗",
    Verdict.ERROR: "!",
    Verdict.INCONCLUSIVE: "?",
    Verdict.WARN: "▲",
    Verdict.PASS: "✓",
}
AXIS = "axis"
"""The label of a row whose lines belong under one another."""
_COMMAND = re.compile(r"(.+): `(edgeprobe run [^`]+)`", re.DOTALL)
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""")
_SIDES = frozenset({"fails", "passes"})
CODE = "as code"
_CUT = re.compile(r"… \(([\d,]+) characters\)$")
_NAMED = 6
_TAKE_A_VALUE = frozenset(
    {
        "-A", "-H", "-d", "-c", "-x", "-X", "--data-raw", "--data-binary", "--connect-to", "--target", "--base-url", "--api", "--model", "--key-env", "--set", "--route",
        "--header", "--endpoint", "--vantage", "--proxy", "--client", "--time-scale",
    }
)  # fmt: skip


_TOLD_AS = "told as"
"""The row of a question that trouble kept from being asked: the code by which the trouble is told."""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """What was accepted comes last."""
    return sorted(findings, key=lambda f: (f.accepted, ORDER.index(f.verdict)))


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """The worst first; trouble that several cases met alike is told of the first, with what the others saw, and with what
    was not measured for that trouble.
    """
    groups: dict[object, list[Finding]] = {}
    kept_by = [finding for finding in findings if _TOLD_AS in dict(finding.detail)]
    for finding in worst_first(finding for finding in findings if finding not in kept_by):
        apart = finding.verdict is Verdict.PASS or (
            finding.reproduce is not None and finding.reproduce.verified
        )
        key = id(finding) if apart else (
            finding.code, finding.verdict, finding.layer, finding.product, finding.vendor_code,
            None if finding.layer is Layer.PROXY else finding.client,  # any client meets it
            finding.route, finding.factor, finding.title, finding.advice, finding.accepted,
        )  # fmt: skip
        groups.setdefault(key, []).append(finding)
    for finding in kept_by:
        what = (dict(finding.detail)[_TOLD_AS], finding.route)
        cause = next((group for group in groups.values() if (group[0].code, group[0].route) == what), None)
        groups.setdefault(id(finding), []).append(finding) if cause is None else cause.append(finding)
    return worst_first(_with_others(first, others) for first, *others in groups.values())


def _with_others(first: Finding, others: Iterable[Finding]) -> Finding:
    also = [("also", f"{other.case}: {dict(_counted(other)).get('seen', 'the same')}") for other in others]
    return replace(first, detail=(*first.detail, *also))


def heading(run: Run) -> Iterator[str]:
    """What was asked of whom, and from where."""
    route = next(iter(run.target.routes.values()))
    yield f"{', '.join(run.suites)} on {route.base_url}"
    about = [run.target.api, run.target.model]
    if run.vantage:
        about.append(f"from {run.vantage}")
    if run.time_scale != 1:
        about.append(f"lab time, {1 / run.time_scale:g} times faster than the clock")
    yield " · ".join(about)
    if judged := run.versions.get("rejudged"):
        yield f"run of {run.started:%Y-%m-%d}, judged again {judged}"


def skips(skipped: Iterable[Skipped]) -> Iterator[tuple[str, str | None, str]]:
    """(where, client, reason), the cases that one client skips for one reason in one row."""
    cases: dict[tuple[str | None, str], list[str]] = {}
    for each in skipped:
        cases.setdefault((each.client, each.reason), []).append(each.case)
    for (client, reason), where in cases.items():
        yield where[0] if len(where) == 1 else f"{len(where)} cases", client, reason


def headline(run: Run) -> str:
    """The verdict and what makes it, in one line."""
    if nothing_measured(run):
        return f"{run.verdict}: nothing measured"
    first, *more = _decisive(run)
    if run.verdict is Verdict.PASS:
        return f"{run.verdict}: {_passed(run)}"
    return f"{run.verdict}: {first.title}{f', and {len(more)} more' if more else ''}"


def _passed(run: Run) -> str:
    """What was asked and through whom, rather than the first of the answers."""
    passed = _decisive(run)
    kinds = dict.fromkeys(finding.kind for finding in passed)
    cases = {finding.case for finding in passed}
    names = dict.fromkeys(
        call.trial.client
        for call in run.calls
        if call.case in cases and call.last is not None and call.last.status is not None
    )
    shown = [*list(names)[:_NAMED], *([f"{len(names) - _NAMED} more"] if len(names) > _NAMED else [])]
    through = f" through {', '.join(shown)}" if shown else ""
    return f"{len(passed)} passed: {', '.join(kinds)}{through}"


def nothing_measured(run: Run) -> bool:
    """No finding has the run's verdict: every case was skipped or accepted. Its reports must not look green."""
    return not _decisive(run)


def _decisive(run: Run) -> list[Finding]:
    return [finding for finding in run.findings if finding.verdict is run.verdict and not finding.accepted]


def summary(run: Run) -> str:
    """What was found, and what it cost."""
    counts = [(sum(f.verdict is v and not f.accepted for f in run.findings), v) for v in ORDER]
    found = ", ".join(f"{n} {verdict}" for n, verdict in counts if n) or "nothing measured"
    spend, seconds = run.spend, (run.finished - run.started).total_seconds()
    requests = f"{spend.requests} request{'' if spend.requests == 1 else 's'}"
    return f"{found} · {requests}, {spend.input_tokens + spend.output_tokens:,} tokens · {seconds:.1f} s"


def tagged(finding: Finding) -> str:
    """`blocked.client · edge · Cloudflare 1010`."""
    made = " ".join(part for part in (finding.product, finding.vendor_code) if part)
    layer = finding.layer if finding.verdict is not Verdict.PASS else ""
    return " · ".join(part for part in (finding.code, str(layer), made if layer else "") if part)


_UNPROVEN = {
    Reason.BUDGET: "the budget was used up before it was known",
    Reason.PAUSED: "the server asked for a pause",
    Reason.UNAVAILABLE: "it could not be reached from here",
    Reason.NOT_OWNED: "the target is not marked as owned (owned: true, --owned)",
    Reason.INTERRUPTED: "it was interrupted",
    Reason.NOT_RECORDED: "the stored run does not hold what it takes",
    Reason.BLOCKED: "what was asked did not get through, so there is nothing to compare",
    Reason.TAINTED: "the probe itself was late or in its own way",
    Reason.MIXED: "the answers do not agree with each other",
    Reason.STOPPED_EARLY: "it ended before enough was seen",
    Reason.DRIFT: "what it is compared with changed meanwhile",
    Reason.TOO_FEW: "too few answers to tell",
}


def rows(finding: Finding) -> Iterator[tuple[str, str]]:
    """(label, text) in the order a person asks: seen, because, so, do, next."""
    if finding.verdict is Verdict.PASS:
        yield from finding.detail
        yield from _taken(finding)
        return
    yield from _counted(finding)
    yield from _taken(finding)
    if finding.reason is not None:
        yield "unproven", _UNPROVEN[finding.reason]
    if finding.factor is not None:
        sure = f", confidence {finding.confidence}" if finding.confidence else ""
        others = (
            f"; also different: {', '.join(finding.confounders)}"
            if finding.confounders
            else "; nothing else differed"
        )
        yield "factor", f"{finding.factor.replace('_', ' ')}{sure}{others}"
    if finding.advice:
        yield "do", f"{finding.who_acts}: {finding.advice}" if finding.who_acts else finding.advice
    if finding.next_test:
        yield "next", _next(finding.next_test)[0]


def _taken(finding: Finding) -> Iterator[tuple[str, str]]:
    """No figure without its conditions."""
    if said := under(finding):
        yield "under", said


def _counted(finding: Finding) -> Iterator[tuple[str, str]]:
    """What was seen says how often, so that nobody takes one time in six for always."""
    seen = finding.observed
    often = f"{seen.k} of {seen.n}" if seen is not None and seen.n > 1 else ""
    for label, text in finding.detail:
        if label in _SIDES or label == CODE:
            continue
        yield label, f"{text}, {often}" if label == "seen" and often not in text else text


def commands(finding: Finding) -> Iterator[tuple[str, str, str]]:
    """(label, command, note): what shows the same, and whether it was run; what makes the next test.

    One with line ends is a program; one that is empty was too long, and its note says where it is.
    """
    if finding.verdict is Verdict.PASS:
        return
    for label, text in finding.detail:
        if label in _SIDES:
            yield label, *_side(text)
        elif label == CODE:
            yield label, f"{text}\n", "not run"
    if finding.reproduce is not None:
        ran = "ran: same answer" if finding.reproduce.verified else "not run"
        where = "in the bundle; " if finding.reproduce.command.startswith("sh ") else ""
        yield "repeat", finding.reproduce.command, f"{where}{ran}"
    if finding.next_test and (command := _next(finding.next_test)[1]):
        yield "try", command, ""


def _side(text: str) -> tuple[str, str]:
    """A command that was run, and what came of it."""
    command, _, ran = text.rpartition("  (ran: ")
    if not command:
        return text, ""
    ran = f"ran: {ran.removesuffix(')')}"
    cut = _CUT.search(command)
    return (
        ("", f"{cut[1]} characters; its request is in exchanges.har of the bundle; {ran}")
        if cut
        else (command, ran)
    )


def _next(text: str) -> tuple[str, str | None]:
    """Its words, and the command that stands behind them."""
    found = _COMMAND.fullmatch(text)
    return (found[1], found[2]) if found else (text, None)


def duration(seconds: float) -> str:
    """Three figures at the most, which is what the clocks bear."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 999.95 else f"{seconds:,.0f} s"


def folded(command: str, width: int) -> list[str]:
    """The lines of a shell command that can be copied: continued by backslashes, a word never broken. Those of a program
    stay as they are.
    """
    if "\n" in command:
        return command.rstrip("\n").split("\n")
    lines, current = [], ""
    for word in _words(command):
        if current and len(current) + len(word) + 3 > width:
            lines.append(f"{current} \\")
            current = f"  {word}"
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]


def _words(command: str) -> Iterator[str]:
    """The words of a command as they are spelt, an option with its value in one."""
    words = _WORD.findall(command)
    if " ".join(words) != command:  # no shell's: shown as it is
        words = [command]
    while words:
        word = words.pop(0)
        yield f"{word} {words.pop(0)}" if word in _TAKE_A_VALUE and words else word
