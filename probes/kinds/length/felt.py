"""What did one call come to, for a customer whose SDK repeats it by itself?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from probes.attempts import ATTEMPTS, withheld
from probes.budget import free, worst_case
from probes.client_rules import SDKS
from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length.limits import conditions
from probes.kinds.words import duration, listed, shown
from probes.model import Confidence, Figure, Layer, Observed, Reason, Verdict, WhoActs
from probes.response import in_words as wait_in_words
from probes.response import retry_after

if TYPE_CHECKING:
    from probes.model import Call, Case, Exchange, Finding

_REDIRECTS = range(300, 400)


_LOOK_UP = (
    "the prompt begins with [{}]: where the origin's log has it more than {}, a layer between repeats it, too"
)
_DO = (
    "Stream long answers. For those that are not streamed set max_retries=0, since the same wait ends the next attempt, "
    "too; and raise or avoid the timer that ends them, which edgeprobe run long measures."
)


@dataclass(frozen=True, slots=True)
class Felt:
    """What one call of a customer came to."""

    call: Call

    @property
    def last(self) -> Exchange:
        return self.call.exchanges[-1]

    @property
    def attempts(self) -> list[Exchange]:
        """The requests that were on the wire, without those to which a redirect led from another."""
        sent = [exchange for exchange in self.call.exchanges if exchange.request.method]
        led = {after.id for before, after in pairwise(sent) if (before.status or 0) in _REDIRECTS}
        return [exchange for exchange in sent if exchange.id not in led]

    @property
    def pauses(self) -> list[float]:
        """Seconds by the clock on the wall, also in a lab: no SDK knows of its time."""
        return [float(e.conditions["paused"]) for e in self.call.exchanges if "paused" in e.conditions]

    @property
    def on_the_wire(self) -> float:
        return sum(exchange.timeline.end or 0.0 for exchange in self.call.exchanges)

    @property
    def waited(self) -> float:
        return self.on_the_wire + sum(self.pauses)

    @property
    def ended_by_us(self) -> bool:
        """While it waited for an answer, or while the SDK paused before it would try again."""
        return by_us(self.last) or self.left_pausing

    @property
    def interrupted(self) -> bool:
        """Somebody ended the run."""
        return self.call.ended_by_probe == "interrupted"

    @property
    def left_pausing(self) -> bool:
        return self.call.raised is not None and self.call.raised.ours and not by_us(self.last)

    @property
    def good(self) -> bool:
        return outcome_code(self.last) == "ok"

    @property
    def computed(self) -> tuple[int, int]:
        """(by usage that was reported, at the worst): how often the origin may have made the answer."""
        reached = [e for e in self.attempts if e.timeline.upload_end is not None and not free(e)]
        return sum(bool(e.facts.get("usage")) for e in reached), len(reached)

    @property
    def figures(self) -> dict[str, Figure]:
        """Without an upper bound where the end of the call was not seen."""
        known, worst = self.computed
        off = len(self.attempts) * float(self.call.conditions.get("resolution", 0.0))
        n, waited, open_end = len(self.attempts), self.waited, self.ended_by_us
        return {
            "attempts": Figure(n, "requests", 1, n, None if open_end else n),
            "waited": Figure(waited, "s", 1, waited - off, None if open_end else waited + off),
            "paused": Figure(sum(self.pauses), "s", 1),
            "billed": Figure(worst, "times", 1, known, None if open_end else worst),
        }


def repeated(case: Case, felt: Felt) -> Finding:
    call, n = felt.call, len(felt.attempts)
    name, least = call.trial.client, "at least " if felt.ended_by_us else ""
    requests = f"{n} request{'s' if n > 1 else ''}"
    title = f"One call of {name} becomes {least}{requests}, and its user waits {least}{felt.waited:.0f} s"
    if felt.left_pausing and n == 1:
        title = f"One call of {name} is to be sent again after {felt.waited:.0f} s and a pause"
    unproven: dict[str, Any] = {}
    if felt.ended_by_us:
        unproven = {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.UNAVAILABLE}
    elif felt.good:
        unproven = {"verdict": Verdict.WARN}
    return conclude(
        case,
        "retry.amplified",
        felt.last,
        **unproven,
        layer=Layer.CLIENT,
        product=_sdk(case, name),
        vendor_code=None,
        client=name,
        observed=Observed(n - felt.good, n),
        title=title,
        detail=_rows(felt),
        figures=felt.figures,
        conditions=conditions_of(case, felt),
        confidence=Confidence.HIGH,
        who_acts=WhoActs.CUSTOMER,
        retryable=False,
        next_test=None
        if felt.good
        else "edgeprobe run long without mode=experience: who ends such an answer, and when",
        advice=_DO,
        evidence=tuple(exchange.id for exchange in call.exchanges),
    )


def _rows(felt: Felt) -> tuple[tuple[str, str], ...]:
    each = "; ".join(f"{number}: {shown(e)}" for number, e in enumerate(felt.attempts, 1))
    pauses = listed([f"{pause:.1f} s" for pause in felt.pauses])
    paused = f"{duration(felt.on_the_wire)} on the wire and pauses of {pauses}" if felt.pauses else ""
    rows = [("seen", each), ("waited", paused)]
    if felt.ended_by_us:
        rows.append(("then", _how_we_ended_it(felt)))
    known, worst = felt.computed
    asked = worst_case(felt.call.trial)[1]
    rows += [
        ("because", f"{felt.call.trial.client} repeats by itself, up to {ATTEMPTS - 1} times unless told otherwise"),
        ("billed", f"{_times(worst)} at the worst, {worst * asked:,} tokens; usage was reported {_times(known)}"),
        ("look up", _LOOK_UP.format(felt.call.trial.salt, _times(worst))),
    ]  # fmt: skip
    if felt.call.raised is not None and not felt.ended_by_us:
        rows.append(("caller", f"{felt.call.raised.type}: {' '.join(felt.call.raised.text.split())[:200]}"))
    return tuple(row for row in rows if row[1])


def _how_we_ended_it(felt: Felt) -> str:
    if withheld(felt.last) and felt.last.error is not None:
        return f"the probe let no further attempt go: {felt.last.error.text}"
    if by_us(felt.last):
        return "the probe's own limit for all attempts together ended the last one"
    limit = "when the probe's own limit for the whole call was reached"
    wait = retry_after(felt.last.header("retry-after"))
    if wait is None:
        return f"the SDK paused to try again {limit}"
    whole = ATTEMPTS * felt.on_the_wire / len(felt.attempts) + (ATTEMPTS - 1) * wait
    return (
        f"the SDK paused to try again, as long as the answer asked ({wait_in_words(wait)}), {limit}; if all {ATTEMPTS} attempts "
        f"end like that, its user waits about {whole:.0f} s"
    )


def conditions_of(case: Case, felt: Felt) -> dict[str, Any]:
    deadline = felt.call.conditions.get("deadline")
    held = conditions(case, felt.call.trial.client, felt.last, deadline, together=1)
    return {**held, "retries": "the SDK's own"}


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _sdk(case: Case, name: str) -> str:
    return SDKS[case.client(name).kind]
