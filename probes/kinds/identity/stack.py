"""Is it the client's own stack, its TLS signature, when no header explains a refusal?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.clients import dialect
from probes.credentials import made_up_key
from probes.kinds.identity.reproducer import python_command
from probes.kinds.identity.suspect import Isolation, Suspect, differences
from probes.model import Ask, Confidence, Factor, Raw, Reason
from probes.twins import REPEATS

if TYPE_CHECKING:
    from probes.kinds.identity.suspect import Steps

_FRAMING = frozenset({"host", "content-length"})


def client_stack(suspect: Suspect) -> Steps:
    """The very bytes of the headers over curl's stack: what is left then is TLS, or the way of the connection."""
    excluded = "not the user agent, the SDK's headers or Accept"
    study = suspect.study
    can = study.control == "curl" != suspect.name and study.key == "made_up"
    if not can or study.room() < 2 * REPEATS:
        return Isolation(reason=Reason.TOO_FEW, detail=(("because", f"not isolated: {excluded}"),))
    control = replace(study.trial("isolate", "curl", "stack/control"), request=_as_raw(suspect))
    found = yield from study.twin(control, suspect.trial("stack/variant", {}))
    if not found.claimed:
        return Isolation(reason=Reason.MIXED, detail=(("because", f"not isolated: {excluded}"),))
    others = differences(found.control, found.variant, ())
    encrypted = study.case.target.routes[study.case.route].base_url.startswith("https:")
    by_tls = encrypted and not others
    left = (
        "its TLS signature"
        if by_tls
        else "the client's own stack" + (f", or: {', '.join(others)}" if others else "")
    )
    return Isolation(
        factor=Factor.TLS if by_tls else Factor.CLIENT,
        control=found.control.evidence,
        variant=found.variant.evidence,
        confounders=others,
        detail=(("because", f"{excluded}: the same headers sent by curl are let pass; left is {left}"),),
        confidence=Confidence.MEDIUM if by_tls else Confidence.LOW,
        next_test="the same header bytes over a third TLS stack" if encrypted else None,
        reproduce=python_command(study.case, suspect.name),
    )


def _as_raw(suspect: Suspect) -> Raw:
    """The refused request to the byte, but for the made-up key, which was taken out of what was recorded."""
    case = suspect.study.case
    ask = Ask(suspect.study.endpoint, recipe="invalid", cap=1, key="made_up")
    key = made_up_key(case.target.api)
    headers = tuple(
        (
            name,
            f"Bearer {key}"
            if name.lower() == "authorization"
            else key
            if name.lower() == "x-api-key"
            else value,
        )
        for name, value in suspect.sent
        if name.lower() not in _FRAMING
    )
    return Raw(
        "POST",
        dialect.PATHS[case.target.api, suspect.study.endpoint],
        headers,
        dialect.encoded(case.target, ask, ""),
    )
