"""What is a person told of an alert?

Worst first: what customers see, since when, which of them, which layer and why, what to do, where to read on. Words of
a stranger come in here from findings, whose secrets are gone already, and are made harmless for a terminal; sinks that
know markup make them harmless for theirs.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probes.canary import About, AlertState
from probes.model import Confidence
from probes.redact import Redactor, safe_text
from probes.response import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.canary import Alert, Mark
    from probes.model import Finding

TITLE, LINE, MARKS = 240, 400, 3
_SHOWN = ("seen", "before", "because", "so", "matches", "cliff", "key", "look up")
_SURE = {Confidence.LOW: 0, Confidence.MEDIUM: 1, Confidence.HIGH: 2}
_OFTEN = re.compile(r"\d of \d")
_clean = Redactor().text


@dataclass(frozen=True, slots=True)
class Words:
    """What an alert is about, as the best finding says it. `weight`: a finding that isolated more says it better."""

    title: str
    rows: tuple[tuple[str, str], ...] = ()
    do: str = ""
    vendor_code: str | None = None
    weight: int = 0


def words_of(finding: Finding) -> Words:
    """Of a finding: what it is called, its rows that a customer or an operator needs, and whose move it is."""
    rows = [(label, text) for label, text in finding.detail if label in _SHOWN]
    seen = finding.observed
    if seen is not None and seen.n > 1:
        often = f"{seen.k} of {seen.n}"
        rows = [(r, f"{t}, {often}" if r == "seen" and not _OFTEN.search(t) else t) for r, t in rows]
    sure = _SURE[finding.confidence] if finding.confidence else 0
    do = f"{finding.who_acts}: {finding.advice}" if finding.who_acts else finding.advice
    weight = 10 * (finding.factor is not None) + 3 * sure + min(len(rows), 2)
    return Words(finding.title or finding.code, tuple(rows), do, finding.vendor_code, weight)


def noted(words: Words) -> str:
    return json.dumps(asdict(words))


def words_of_look(finding: Finding) -> Words:
    """Of a look of the edge that changed: before and after side by side."""
    rows = [row for row in finding.detail if row[0] != "marked"]
    made = f"{finding.layer}{f', {finding.product}' if finding.product else ''} · {finding.code}"
    once = "once: from now on this is how it looks"
    do = f"{finding.who_acts}: {finding.advice}" if finding.who_acts else finding.advice
    return Words(finding.title, (*rows, ("marked", "nothing"), ("layer", made), ("told", once)), do)


def words_in(memory: Mapping[str, str]) -> Words:
    """Those that were noted in an alert's memory."""
    data = json.loads(memory.get("words", '{"title": ""}'))
    return Words(**{**data, "rows": tuple((label, text) for label, text in data.get("rows", ()))})


@dataclass(frozen=True, slots=True)
class Beside:
    """What is said beside: the clients that are fine, the host, changes that were marked, when it began, when the last
    turn ended that met it, the last pass before a maintenance; `None` is a time that is not known. `told`: of whom what
    was said when it was told last.
    """

    told: str | None = None
    since: datetime | None = None
    fine: Sequence[str] = ()
    marks: Sequence[Mark] = ()
    host: str | None = None
    link: str | None = None
    last: datetime | None = None
    before: datetime | None = None
    flapping: bool = False
    outlived: bool = False


def title_of(alert: Alert, words: Words, beside: Beside, now: datetime) -> str:
    """One line: layer and product, what happens to whom, where, since when, for how many intervals."""
    over = alert.state is AlertState.RESOLVED
    whom = beside.told if over and beside.told else happens(alert, words, beside)
    where = f"{_tag(alert, beside)} {whom}: {alert.key.target}"
    if over:
        return line(f"[resolved] {where}{_span(beside, now)}", TITLE)
    planned = f", during maintenance {alert.window}" if alert.window and not beside.outlived else ""
    since = f" since {clock(beside.since, now)}" if beside.since else ""
    return line(f"{where}{since} ({_lasting(alert)}){planned}", TITLE)


def happens(alert: Alert, words: Words, beside: Beside) -> str:
    """What, and to whom."""
    if alert.key.about is not About.SERVICE or _says_whom(words.title, alert, beside):
        return words.title
    return f"{words.title} ({_whom(alert, beside)})"


def _span(beside: Beside, now: datetime) -> str:
    """From when to when it was, as far as that is known."""
    since, until = beside.since, beside.last
    if until is None:
        return ""
    if since is None:
        return f" until {clock(until, now)}"
    lasted = in_words(max((until - since).total_seconds(), 0.0))
    return f" from {clock(since, now)} to {clock(until, now)} ({lasted})"


def _lasting(alert: Alert) -> str:
    """Of blindness how many turns saw nothing: two that are taken by hand may lie within one interval."""
    if alert.key.about is About.BLIND and alert.observed is not None:
        n, what = alert.observed.k, "turn"
    else:
        n, what = alert.intervals, "interval"
    return f"{n} {what}{'' if n == 1 else 's'}"


def _says_whom(title: str, alert: Alert, beside: Beside) -> bool:
    return any(name in title for name in alert.clients) or (not beside.fine and "ll clients" in title)


def _whom(alert: Alert, beside: Beside) -> str:
    if not alert.clients:
        return "every client"
    if not beside.fine:
        return f"{alert.clients[0]}, the only one asked" if len(alert.clients) == 1 else "every client asked"
    more = len(alert.clients) - 4
    return ", ".join(alert.clients[:4]) + (f" and {more} more" if more > 0 else "")


def _tag(alert: Alert, beside: Beside) -> str:
    if alert.key.about is About.BLIND:
        tag = "blind"
    elif alert.key.about is About.PROBE:
        tag = "canary"
    else:
        made = " ".join(part for part in (alert.key.product, alert.vendor_code) if part)
        tag = " · ".join(part for part in (alert.key.layer.value, made) if part)
    return f"[flapping · {tag}]" if beside.flapping else f"[{tag}]"


def text_of(alert: Alert, words: Words, beside: Beside, now: datetime) -> str:
    """The lines below the title, each `word: sentence`."""
    return "\n".join(f"{label}: {line(text, LINE)}" for label, text in _rows(alert, words, beside, now))


def _rows(alert: Alert, words: Words, beside: Beside, now: datetime) -> Iterator[tuple[str, str]]:
    if alert.state is AlertState.RESOLVED:
        met = f"met last at {clock(beside.last, now)}; " if beside.last else ""
        yield "resolved", f"{met}over at {clock(now, now)}"
    elif beside.flapping:
        yield "flapping", f"came again {alert.flaps} times; told once more when it has been over for longer"
    if alert.state is not AlertState.RESOLVED:
        yield from words.rows
    if alert.key.about is About.SERVICE:
        yield "clients", f"{', '.join(alert.clients) or 'not one alone'}{_of_all(alert, beside)}"
        made = " ".join(part for part in (alert.key.product, alert.vendor_code) if part)
        yield "layer", f"{alert.key.layer}{f', {made}' if made else ''} · {alert.key.code}"
    yield (
        "watched",
        f"{', '.join(alert.entries)}{_by(alert, beside)}" if alert.entries else "the canary itself",
    )
    yield from _changes(alert, beside, now)
    if words.do and alert.state is not AlertState.RESOLVED:
        yield "do", words.do
    if beside.link:
        yield "report", beside.link


def _of_all(alert: Alert, beside: Beside) -> str:
    """How many of those that something is known of, and who is fine."""
    if alert.state is AlertState.RESOLVED or not alert.clients:
        return ""
    often = f" ({len(alert.clients)} of {len(alert.clients) + len(beside.fine)})"
    if not beside.fine:
        return often
    *others, last = beside.fine
    return f"{often}; {', '.join(others)} and {last} are fine" if others else f"{often}; {last} is fine"


def _by(alert: Alert, beside: Beside) -> str:
    host = f" ({beside.host})" if beside.host else ""
    return f" by route {', '.join(alert.routes)}{host}" if alert.routes else ""


def _changes(alert: Alert, beside: Beside, now: datetime) -> Iterator[tuple[str, str]]:
    """What was changed, by plan or by a mark."""
    if alert.window is not None and beside.outlived:
        yield "maintenance", f"{alert.window} is over, and it goes on"
    elif alert.window is not None:
        was = f"; before it, they last passed at {clock(beside.before, now)}" if beside.before else ""
        yield "maintenance", f"begun during {alert.window}{was}"
    for mark in beside.marks:
        who = f"{mark.author}, {mark.source}" if mark.author else mark.source
        yield "change", f'marked at {clock(mark.at, now)}: "{mark.text}" ({who})'


def late(alert: Alert, made: datetime | None, now: datetime, ended: datetime | None, *, over: bool) -> Alert:
    """As it is told when what it says was news at another time, and may be `over` since. Times that are not known are
    left out.
    """
    at = f": this was at {clock(made, now)}" if made is not None else ""
    since = f" since {clock(ended, now)}" if ended is not None else " by now"
    told = f"told late{at}{f'; over{since}, which is told next' if over else ''}\n{alert.text}"
    title = f"(told late, over by now) {alert.title}" if over else alert.title
    return replace(alert, title=line(title, TITLE), text=told)


def clock(at: datetime, now: datetime) -> str:
    """The time of day in UTC, with its date where that is another than today's."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M} UTC"


def line(text: str, most: int) -> str:
    """One line, without what a terminal or a log would obey; cut where it is endless."""
    lines = [line for line in text.split("\n") if line.strip()]
    clean = safe_text(_clean(lines[0].strip() if lines else ""))
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"
