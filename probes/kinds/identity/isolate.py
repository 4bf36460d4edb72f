"""Which part of a refused client's identity is the cause?

The client itself sends, with single headers of its finished request changed: same TLS stack, same bytes otherwise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.kinds.identity.reproducer import curl_command, python_command
from probes.kinds.identity.stack import client_stack
from probes.kinds.identity.study import Study, refused
from probes.kinds.identity.suspect import SDK_HEADERS, UA, Isolation, Suspect, differences
from probes.kinds.words import listed
from probes.model import Confidence, Factor, Reason, Reproduce
from probes.twins import REPEATS, Side, Twin

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from probes.kinds.identity.suspect import Edits, Steps
    from probes.model import Call, Exchange, Trial


def isolate(study: Study, name: str, pair: Twin) -> Steps:
    refusal, let_pass = pair.variant.calls[-1].last, pair.control.calls[-1].last
    assert refusal is not None
    assert let_pass is not None
    sent, other = _headers(refusal), _headers(let_pass)
    suspect = Suspect(
        study,
        name,
        refusal.request.headers,
        sent,
        other.get(UA),
        other.get("accept"),
        other.get("accept-encoding"),
    )
    if not study.case.client(name).edits or study.room() < 4 * REPEATS:
        return Isolation(reason=Reason.BUDGET, detail=(_NOT_ISOLATED,))
    return (yield from _user_agent_and_sdk_headers(suspect))


_NOT_ISOLATED = (
    "because",
    "not isolated: the ceiling of requests was reached; suspects left: every part of the client",
)


def _headers(exchange: Exchange) -> dict[str, str]:
    return {name.lower(): value for name, value in exchange.request.headers}


def _user_agent_and_sdk_headers(suspect: Suspect) -> Steps:
    """Four cells: the user agent as it is or the control's, the SDK's own headers kept or dropped."""
    drop: dict[str, str | None] = {SDK_HEADERS: None}
    swap: dict[str, str | None] = {UA: suspect.neutral}
    plan: dict[str, Edits] = {
        "both": {},
        "user-agent": drop,
        "sdk-headers": swap,
        "neither": {**drop, **swap},
    }
    if not suspect.sdk_headers:
        plan = {"both": {}, "neither": swap}
    trials = [suspect.trial(what, edits) for what, edits in plan.items()]
    sides = dict(zip(plan, (yield from suspect.study.cells(trials)), strict=True))
    broken = next(
        (call.not_sent for s in sides.values() for call in s.calls if call.not_sent is not None), None
    )
    if broken is not None:
        return Isolation(reason=Reason(broken), detail=(("because", f"not isolated: {broken}"),))
    clear = all(s.n >= REPEATS and (s.passed or s.failed) for s in sides.values())
    if not (clear and sides["both"].failed):
        return Isolation(
            reason=Reason.MIXED,
            detail=(("because", "not isolated: the cells of the experiment came out mixed"),),
        )
    if sides["neither"].failed:
        return (yield from _other_headers(suspect))
    agent, sdk = sides.get("user-agent", sides["both"]), sides.get("sdk-headers", sides["neither"])
    if agent.failed and sdk.passed:
        return (yield from _by_user_agent(suspect, control=sdk, variant=sides["both"]))
    if sdk.failed and agent.passed:
        return (yield from _by_sdk_headers(suspect, control=agent, variant=sides["both"]))
    return _together_or_either(suspect, sides, either=agent.failed)


def _together_or_either(suspect: Suspect, sides: Mapping[str, Side], *, either: bool) -> Isolation:
    what = f"the user agent {suspect.agent!r} and the SDK's own headers ({SDK_HEADERS})"
    said = (
        f"{what}, each alone as well as together"
        if either
        else f"{what} only together; either alone is let pass"
    )
    control, variant = sides["neither"], sides["both"]
    return Isolation(
        factor=Factor.CLIENT,
        control=control.evidence,
        variant=variant.evidence,
        confounders=differences(control, variant, (UA, SDK_HEADERS)),
        detail=(("because", f"{said}: {_score(variant)} refused with both, {_score(control)} with neither"),),
        confidence=Confidence.HIGH,
        reproduce=python_command(suspect.study.case, suspect.name),
        cure={UA: suspect.neutral, SDK_HEADERS: None},
    )


def _by_user_agent(suspect: Suspect, *, control: Side, variant: Side) -> Steps:
    with_or_without = f" with or without {SDK_HEADERS} headers" if suspect.sdk_headers else ""
    said = f"the user agent alone: {suspect.agent!r} is refused{with_or_without} ({_score(variant)}), "
    said += f"{suspect.neutral!r} in its place is {_let_pass(control)}"
    word = yield from _token(suspect)
    words = f"; the word {word!r} suffices" if word else ""
    edits: Edits = {UA: suspect.agent}
    reproduce = yield from _reproduced(suspect, edits)
    return Isolation(
        factor=Factor.USER_AGENT,
        control=control.evidence,
        variant=variant.evidence,
        confounders=differences(control, variant, (UA,)),
        detail=(("because", said + words),),
        confidence=Confidence.HIGH,
        reproduce=reproduce,
        cure={UA: suspect.neutral},
    )


def _token(suspect: Suspect) -> Generator[Sequence[Trial], list[Call], str | None]:
    """The one word of the user agent that is refused even inside the control's."""
    words = [
        word for word in dict.fromkeys(re.split(r"[\s/();,]+", suspect.agent)) if re.search(r"[A-Za-z]", word)
    ]
    for word in words:
        trial = suspect.trial(f"token/{word}", {UA: f"{suspect.neutral} {word}"})
        if (yield from _always_refused(suspect, trial)):
            return word
    return None


def _always_refused(suspect: Suspect, trial: Trial) -> Generator[Sequence[Trial], list[Call], bool]:
    """Asked three times to be believed, once where the first is let pass; no where there is no room."""
    if suspect.study.room() < REPEATS:
        return False
    for _ in range(REPEATS):
        call = yield from suspect.study.one(trial)
        if not refused(call):
            return False
    return True


def _by_sdk_headers(suspect: Suspect, *, control: Side, variant: Side) -> Steps:
    """Then which one of them, alone, on top of a request without any."""
    guilty: list[str] = []
    for header in suspect.sdk_headers:
        others: Edits = {other: None for other in suspect.sdk_headers if other != header}
        if (yield from _always_refused(suspect, suspect.trial(f"header/{header}", others))):
            guilty.append(header)
    said = f"the SDK's own headers ({SDK_HEADERS}): refused with them ({_score(variant)}), without {_let_pass(control)}"
    named = f"; {listed(guilty)} alone suffice{'s' if len(guilty) == 1 else ''}" if guilty else ""
    shown = guilty[:1] or suspect.sdk_headers
    reproduce = yield from _reproduced(suspect, {header: suspect.headers[header] for header in shown})
    return Isolation(
        factor=Factor.SDK_HEADERS,
        control=control.evidence,
        variant=variant.evidence,
        confounders=differences(control, variant, (SDK_HEADERS,)),
        detail=(("because", f"{said}, whatever the user agent{named}"),),
        confidence=Confidence.HIGH,
        reproduce=reproduce,
        cure={SDK_HEADERS: None},
    )


def _other_headers(suspect: Suspect) -> Steps:
    """Neither user agent nor SDK headers: `Accept`, then `Accept-Encoding`, then what is no header at all."""
    plain: dict[str, str | None] = {UA: suspect.neutral}
    if suspect.sdk_headers:
        plain[SDK_HEADERS] = None
    for header, value, factor in (
        ("accept", suspect.accept, Factor.ACCEPT),
        ("accept-encoding", suspect.encoding, Factor.ACCEPT_ENCODING),
    ):
        if suspect.headers.get(header) == value or suspect.study.room() < 2 * REPEATS:
            continue
        control = suspect.trial(f"{header}/control", {**plain, header: value})
        variant = suspect.trial(f"{header}/variant", plain)
        found = yield from suspect.study.twin(control, variant)
        if found.claimed:
            given = suspect.headers[header]
            said = (
                f"the header {header}: {given!r} is refused ({_score(found.variant)}), {value!r} is let pass"
            )
            alone: Edits = {header: value}
            still = yield from _always_refused(suspect, suspect.trial(f"{header}/alone", alone))
            rest = (
                "changed alone it is refused all the same, so something else is refused as well"
                if still
                else "user agent and SDK headers play no part"
            )
            reproduce = yield from _reproduced(suspect, {header: given})
            return Isolation(
                factor=factor,
                control=found.control.evidence,
                variant=found.variant.evidence,
                confounders=differences(found.control, found.variant, (header,)),
                detail=(("because", f"{said}; {rest}"),),
                confidence=Confidence.MEDIUM if still else Confidence.HIGH,
                reproduce=reproduce,
                cure={**plain, **alone} if still else alone,
            )
    return (yield from client_stack(suspect))


def _reproduced(suspect: Suspect, edits: Edits) -> Generator[Sequence[Trial], list[Call], Reproduce]:
    """A curl line with the guilty headers, run once where curl is there and the ceiling allows."""
    study = suspect.study
    command = curl_command(study.case, study.endpoint, edits)
    if all(client.name != "curl" for client in study.case.clients) or study.room() < 1:
        return Reproduce(command)
    call = yield from suspect.study.one(study.trial("reproduce", "curl", suspect.name, edits))
    return Reproduce(command, verified=True) if refused(call) else python_command(study.case, suspect.name)


def _let_pass(side: Side) -> str:
    return f"let pass ({side.n - side.k} of {side.n})"


def _score(side: Side) -> str:
    return f"{side.k} of {side.n}"
