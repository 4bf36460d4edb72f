"""What is said of long answers that nobody cut, and how far was that tested?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.length import where
from probes.kinds.length.cliff import Speed, reaches
from probes.kinds.length.limits import conditions
from probes.kinds.length.means import BUDGET, BY_MOST_TOKENS
from probes.kinds.length.pair import evidence
from probes.kinds.length.side import COUNTED_APART
from probes.kinds.words import shown
from probes.model import Figure, Observed, Reason

if TYPE_CHECKING:
    from probes.kinds.length.held import Held
    from probes.kinds.length.side import Side
    from probes.model import Case, Finding

_OTHER = 5.0
"""Times as fast as the streamed side."""


def not_cut(case: Case, held: Held) -> list[Finding]:
    """A pass only where the time really held is as long as was asked for; beside it what opened too early to say so."""
    pair = held.pairs[-1]
    seconds = held.seconds
    short = seconds < held.goal
    speed = Speed.of(pair.stream, held.pace)
    lived = f"{pair.stream.lived or 0.0:.1f} s"
    streamed = "streamed: " + (
        f"complete after {lived}" if pair.stream.good else f"given up by the probe after {lived}"
    )
    found = conclude(
        case,
        "not_measured" if short else "ok",
        None if short or not pair.plain.good else pair.plain.sent,
        client=pair.plain.client,
        observed=Observed(0, len(held.pairs)),
        title=f"No cut below {seconds:.1f} s; not tested beyond",
        detail=(
            ("seen", f"not streamed: {_whole(pair.plain)}; {streamed}, by {_means(held, pair.plain)}"),
            *(_why_short(held, pair.plain) if short else ()),
            *_disagreement(pair.plain),
            *(() if held.remark is None else (("also", held.remark),)),
            *where.waits(pair),
            *reaches(speed, seconds),
        ),
        figures={"held": Figure(seconds, "s", len(held.pairs))} | speed.figures() | where.figures(pair),
        conditions=conditions(case, pair.plain.client, pair.plain.sent, pair.plain.call.trial.deadline),
        evidence=evidence(held.pairs),
        **(_short(held, pair.plain) if short else {}),
    )
    return [found, *([_early(case, held, pair.plain)] if pair.plain.early else [])]


def no_means(case: Case, client: str, why: str) -> Finding:
    """Nothing long was asked for, since nothing would have held it."""
    return conclude(
        case,
        "not_measured",
        client=client,
        reason=Reason.STOPPED_EARLY,
        title="Nothing was found that holds an answer open",
        detail=(("because", why),),
        advice="Say how (--set means=output, --set prompt_tokens=N), or hold for less (--set hold=S).",
    )


def _whole(plain: Side) -> str:
    if not plain.good:
        return shown(plain.sent)
    counted = f", {plain.tokens:,} tokens" if plain.tokens is not None else ", not counted"
    return f"{shown(plain.sent)}{counted}"


def _disagreement(plain: Side) -> tuple[tuple[str, str], ...]:
    if not plain.disagrees:
        return ()
    finish = f"the finish reason ({plain.sent.facts.get('finish_reason')}) says that the cap of {plain.cap:,} tokens was reached"
    return (("usage", f"{finish}, the usage that {plain.tokens:,} were made: they disagree"),)


def _means(held: Held, plain: Side) -> str:
    long = {"output": "a long answer", "reasoning": "reasoning", "prefill": "a long prompt"}[held.means.name]
    return f"{long} of up to {plain.cap:,} tokens"


def by_itself(plain: Side) -> bool:
    """The model ended before its cap; a finish reason that says otherwise is not overruled by a count."""
    if plain.at_cap or not plain.good:
        return False
    tokens = plain.tokens
    if tokens is not None:
        return tokens < plain.cap
    return plain.sent.facts.get("finish_reason") in {"stop", "end_turn", "completed"}


def _why_short(held: Held, plain: Side) -> list[tuple[str, str]]:
    goal = f"before the {held.goal:g} s that were to be held"
    tokens, cap, finish = plain.tokens, plain.cap, plain.sent.facts.get("finish_reason")
    rows = []
    if not plain.good:
        rows.append(("because", f"the probe itself gave it up after {held.seconds:.1f} s, {goal}"))
        return rows
    if (slower := held.pairs[-1].stream.lived or 0.0) > _OTHER * held.seconds:
        rows.append(
            (
                "beside",
                f"streamed, the same length took {slower:.1f} s and more: this answer did not come from the same work (a cache, or another model)",
            )
        )
    if by_itself(plain):
        many = f"{tokens:,}" if tokens is not None else "fewer"
        rows.append(
            ("because", f"the model ended by itself after {many} of {cap:,} tokens ({finish}), {goal}")
        )
    elif tokens is not None and tokens > cap + COUNTED_APART:
        rows.append(
            ("because", f"the server made {tokens:,} tokens where {cap:,} were the most; it ended {goal}")
        )
    elif cap < held.means.ask.cap:
        rows.append(
            (
                "because",
                f"the server's 400 lowered the cap from {held.means.ask.cap:,} to {cap:,} tokens; the answer ended {goal}",
            )
        )
    elif held.means.lowered is not None:
        rows.append(
            (
                "because",
                f"the cap was lowered to {cap:,} tokens {held.means.lowered}; the answer ended {goal}",
            )
        )
    else:
        rows.append(("because", f"the answer ended {goal}"))
    if not plain.sent.facts.get("usage"):
        rows.append(("usage", "the answer counts no tokens, so its length is taken from its finish reason"))
    return rows


def _short(held: Held, plain: Side) -> dict[str, Any]:
    if held.means.lowered == BUDGET and not by_itself(plain):
        advice = "Raise the target's budget (--max-tokens-total, --max-usd), or hold for less (--set hold=S)."
        return {"reason": Reason.BUDGET, "advice": advice}
    if not plain.good:
        advice = "Wait longer for it (--set deadline=SECONDS), or hold for less (--set hold=S)."
    elif by_itself(plain):
        advice = "Let a model answer that goes on (--set engine=vllm where it is one), fill the prompt (--set prompt_tokens=N), or hold for less (--set hold=S)."
    else:
        advice = _longer(held, plain)
    return {"reason": Reason.STOPPED_EARLY, "advice": advice}


def _longer(held: Held, plain: Side) -> str:
    """Nothing that the server refused, nor what was tried in vain."""
    ways = [] if held.remark is not None else ["fill the prompt (--set prompt_tokens=N)"]
    if plain.cap < held.means.ask.cap:
        why = f"The server makes no more than {plain.cap:,} tokens an answer: "
    elif held.means.lowered == BY_MOST_TOKENS:
        why, ways = "", ["allow a longer answer (--set most_tokens=N)", *ways]
    else:
        why, ways = "", ["ask for a longer answer (--set tokens=N)", *ways]
    said = f"{why}{', '.join([*ways, 'or hold for less (--set hold=S)' if ways else 'hold for less (--set hold=S)'])}."
    return said[0].upper() + said[1:]


def _early(case: Case, held: Held, plain: Side) -> Finding:
    """A first-byte timer never saw this answer's wait."""
    line, head = plain.sent.timeline, plain.sent.body_head
    blank = head[:1].isspace()
    headers, whole = (line.headers or 0.0) - (line.upload_end or 0.0), plain.answered or 0.0
    what = "status 200 and white space" if blank else "status 200 and headers"
    return conclude(
        case,
        "body.early_200",
        client=plain.client,
        layer=plain.sent.attribution.layer if plain.sent.attribution is not None else None,
        title="Status 200 comes long before the answer of what is not streamed",
        detail=(
            ("seen", f"{what} after {headers:.1f} s, the answer after {whole:.1f} s"),
            (
                "so",
                "no first-byte timer can end such an answer, and none was tested here; nor can the status say that it failed",
            ),
        ),
        figures=where.figures(held.pairs[-1]),
        conditions=conditions(case, plain.client, plain.sent, plain.call.trial.deadline),
        evidence=(plain.sent.id,),
    )
