"""What is said of one call that an SDK may have repeated by itself?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.attempts import ATTEMPTS, withheld
from probes.budget import worst_case
from probes.client_rules import SDKS
from probes.kinds.by_us import by_us, told_of_us
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.length.felt import Felt
from probes.kinds.length.limits import conditions
from probes.kinds.length.upstream import repeated_upstream
from probes.kinds.words import duration, listed, shown
from probes.model import Confidence, Layer, NotSent, Observed, Reason, Verdict, WhoActs
from probes.response import in_words as wait_in_words
from probes.response import retry_after

if TYPE_CHECKING:
    from probes.model import Call, Case, Finding

_LOOK_UP = (
    "the prompt begins with [{}]: where the origin's log has it more than {}, a layer between repeats it, too"
)
_DO = (
    "Stream long answers. For those that are not streamed set max_retries=0, since the same wait ends the next attempt, "
    "too; and raise or avoid the timer that ends them, which edgeprobe run long measures."
)


def experienced(case: Case, call: Call, hold: float) -> list[Finding]:
    if call.last is None:
        return [_guarded(case, call)]
    felt = Felt(call)
    if felt.interrupted:
        return [not_sent(case, NotSent.INTERRUPTED, "an SDK repeated a long request")]
    found = _repeated(case, felt) if len(felt.attempts) > 1 or felt.left_pausing else _once(case, felt, hold)
    return [found, *repeated_upstream(case, call.trial.client, felt.attempts)]


def _repeated(case: Case, felt: Felt) -> Finding:
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
        conditions=_conditions(case, felt),
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


def _once(case: Case, felt: Felt, hold: float) -> Finding:
    """One request, so nothing was repeated: a good answer, or a failure that the SDK does not take for a passing one."""
    call, last = felt.call, felt.last
    told = _answered(felt, hold) if felt.good else told_of_us(case, last, [call.trial.client])
    why = f"{call.trial.client} does not repeat what fails so" if not (felt.good or felt.ended_by_us) else ""
    return conclude(
        case,
        told.pop("code", outcome_code(last)),
        last,
        client=call.trial.client,
        observed=Observed(int(not felt.good), 1),
        detail=(
            ("seen", f"{'; then '.join(map(shown, call.exchanges))}, with the SDK's own retries on"),
            *((("because", why),) if why else ()),
        ),
        conditions=_conditions(case, felt),
        **told,
    )


def _answered(felt: Felt, hold: float) -> dict[str, Any]:
    """A pass only where the answer took as long as was to be held."""
    name = felt.call.trial.client
    if felt.waited >= hold:
        title = f"One call of {name} is one request, answered after {felt.waited:.1f} s; not tested beyond"
        return {"title": title, "figures": felt.figures}
    return {
        "code": "not_measured",
        "layer": Layer.PROBE,
        "product": None,
        "reason": Reason.STOPPED_EARLY,
        "title": f"An answer of {felt.waited:.1f} s does not show what a customer feels of one of {hold:g} s",
        "advice": "Ask for a longer answer (--set tokens=N), or hold for less (--set hold=S).",
    }


def _conditions(case: Case, felt: Felt) -> dict[str, Any]:
    deadline = felt.call.conditions.get("deadline")
    held = conditions(case, felt.call.trial.client, felt.last, deadline, together=1)
    return {**held, "retries": "the SDK's own"}


def _guarded(case: Case, call: Call) -> Finding:
    said = f"{call.raised.type}: {call.raised.text}" if call.raised else "nothing"
    return conclude(
        case,
        "client.guard",
        layer=Layer.CLIENT,
        client=call.trial.client,
        title=f"{call.trial.client} refuses to send so long a request that is not streamed",
        detail=(("seen", said),),
    )


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _sdk(case: Case, name: str) -> str:
    return SDKS[case.client(name).kind]
