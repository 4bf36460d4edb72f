"""What came of each call, in the order asked: its phases, its tokens over time, how it ended?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.model import Verdict
from probes.reporters.figures import arrivals, group, last_words, plotted, text, waterfall
from probes.reporters.story import story
from probes.reporters.tracks import Track, is_stream
from probes.reporters.words import GLYPHS, ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.model import Call, Exchange, Run

MOST = 300
"""Calls of a page; those that trouble was read from come before the others."""
_SAID = 300
_KEY = (
    ("tokens", "▙", "the answer so far, in parts: what one event of the stream brings, often one token"),
    ("gaps", "█", "silence: no token for much longer than usual, or none until all came at once"),
    ("beats", "◆", "heartbeat: a comment or a ping, which keeps the connection open and says nothing"),
    ("lag", "█", "our own lag: this process ran late, and what came then may have come before"),
    ("ink", "✓", "whole: a finish reason, then the end marker"),
    ("flaw", "!", "whole, but faulty end: all of the answer came, and behind it not what ends a stream"),
    ("ends", "✗", "not as it should be: cut, damaged, or ended without what a whole answer ends with"),
)
MARKS = (
    ("gaps-mark", "█", "silence"),
    ("beats", "◆", "heartbeat"),
    ("lag-mark", "█", "our own lag"),
    ("ink", "✓", "whole"),
    ("flaw", "!", "whole, but faulty end"),
    ("ends", "✗", "not as it should be"),
)
"""The key in short, below each finding's plots."""
_TERMS = (
    (
        "token",
        "A piece of a word. A model writes one after the other, and a stream brings each as soon as it is there.",
    ),
    (
        "first token",
        "Until then the user looks at nothing: the request was queued and read. Reasoning that is not shown counts, too.",
    ),
    (
        "finish reason",
        "The model's own word that it was done (stop) or had reached the limit asked for (length). Without it an answer is cut, however tidy its end.",
    ),
    (
        "end marker",
        "The last event of a stream: [DONE] (OpenAI chat), response.completed (OpenAI responses), message_stop (Anthropic). Anybody on the way can write one.",
    ),
    (
        "framing",
        "How HTTP says where an answer is over: by its length, by chunks of which the last is empty, or by a close. Where it ends before that, the connection broke.",
    ),
)


def by_case(run: Run) -> dict[str, list[Call]]:
    """The calls that a page shows."""
    troubled = _troubled(run)
    calls = [call for call in run.calls if call.exchanges or call.not_sent is None]
    first = sorted(calls, key=lambda call: all(e.id not in troubled for e in call.exchanges))[:MOST]
    kept = {id(call) for call in first}
    cases: dict[str, list[Call]] = {}
    for call in calls:
        if id(call) in kept:
            cases.setdefault(call.case, []).append(call)
    return cases


def _troubled(run: Run) -> dict[str, Verdict]:
    """Of each exchange that a finding was read from the worst verdict."""
    found = [f for f in run.findings if f.verdict is not Verdict.PASS and not f.accepted]
    ordered = sorted(found, key=lambda f: ORDER.index(f.verdict), reverse=True)
    return {name: finding.verdict for finding in ordered for name in finding.evidence}


def call_section(run: Run, numbers: Mapping[str, int]) -> Iterator[str]:
    cases = by_case(run)
    if not cases:
        return
    shown, troubled = sum(map(len, cases.values())), _troubled(run)
    yield '<section aria-labelledby="calls">'
    yield '<h2 id="calls">Calls</h2>'
    yield from _explained(plots=bool(numbers))
    if shown < len(run.calls):
        yield f'<p class="soft">{shown} of {len(run.calls)} calls; the stored run holds all.</p>'
    number = 0
    for case, calls in cases.items():
        yield f"<h3>{text(case)}</h3>"
        for call in calls:
            number += 1
            yield from _call(call, number, troubled, numbers)
    yield "</section>"


def _explained(*, plots: bool) -> Iterator[str]:
    yield "<p>Each request that was sent, and what came of it. Open one to see where its time went.</p>"
    if not plots:
        return
    yield '<ul class="key">'
    for name, mark, said in _KEY:
        yield f'<li><i class="{name}" aria-hidden="true">{mark}</i>{said}</li>'
    yield "</ul>"
    yield '<span class="grid" hidden></span>'
    yield '<details id="reading">'
    yield "<summary>How to read a plot</summary>"
    yield (
        "<p>Time runs to the right, from the moment the request was sent whole; the line climbs with each part of the answer. A healthy "
        "stream is flat until its first token, then climbs evenly to the end. A flat stretch is a user who waits. A line "
        "that stays flat and then jumps is an answer that somebody on the way held back until it was whole; a line of even stairs "
        "is one that was given out in portions, each when a buffer was full. A line that stops early, at ✗, is an answer that was cut: "
        "who asked got the part below it, and often no error.</p>"
    )
    yield "<dl>"
    for term, meaning in _TERMS:
        yield f"<dt>{term}</dt><dd>{meaning}</dd>"
    yield "</dl>"
    yield "</details>"


def _call(
    call: Call, number: int, troubled: Mapping[str, Verdict], numbers: Mapping[str, int]
) -> Iterator[str]:
    trial = call.trial
    verdicts = [troubled[e.id] for e in call.exchanges if e.id in troubled]
    worst = min(verdicts, key=ORDER.index) if verdicts else None
    whole = call.last is not None and call.last.attribution is not None and call.last.attribution.code == "ok"
    mark, kind = ("✓", "pass") if whole else (GLYPHS[worst], str(worst)) if worst else ("○", "soft")
    label = trial.label.removesuffix(f"/{trial.client}") + (f" #{call.repeat + 1}" if call.repeat else "")
    about = " · ".join(filter(None, (label, trial.client, f"route {trial.route}")))
    yield '<details class="call">'
    yield (
        f'<summary><b class="{kind}">{mark} {text(_outcome(call))}</b> {text(about)} '
        f'<span class="soft">call {number}</span></summary>'
    )
    yield f'<div id="c{number}">'
    if call.raised is not None:
        who = "The probe ended it; its client raised" if call.ended_by_probe else "The client told its user"
        yield f"<p>{who}: {text(f'{call.raised.type}: {call.raised.text}'[:_SAID])}</p>"
    elif call.returned is not None and not whole:
        yield f"<p>The client raised nothing; its user got: {text(call.returned[:_SAID])}</p>"
    for n, exchange in enumerate(call.exchanges, 1):
        name = trial.client if len(call.exchanges) == 1 else f"request {n}"
        yield from _exchange(exchange, name, f"c{number}-{n}", numbers)
    yield "</div>"
    yield "</details>"


def _outcome(call: Call) -> str:
    last = call.last
    if last is None:
        return "nothing sent"
    made = last.attribution
    if made is not None and made.code == "ok":
        return "complete" if is_stream(last) else str(last.status or "ok")
    return " ".join(filter(None, (str(last.status or ""), made.code if made else "")))


def _exchange(exchange: Exchange, name: str, place: str, numbers: Mapping[str, int]) -> Iterator[str]:
    track = Track(name, 0.0, exchange)
    if plotted(exchange):
        yield from group([track], numbers, place)
    else:
        yield f"<p>{text(story(track))}</p>"
    yield from waterfall(exchange)
    if plotted(exchange):
        yield from arrivals(track)
    yield from last_words(exchange)
