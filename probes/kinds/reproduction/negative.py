"""What is told of a request that does not fail here?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.reproduction.failure import tells
from probes.kinds.reproduction.family import of_one_family, reached, spoken
from probes.kinds.reproduction.family import said as said_of_family
from probes.kinds.reproduction.outcome import NOT_REPRODUCED, OUTCOME
from probes.kinds.reproduction.rows import evidence
from probes.kinds.words import listed, named, shown
from probes.model import Layer, Observed, Verdict
from probes.twins import wilson

if TYPE_CHECKING:
    from probes.kinds.reproduction.study import Study
    from probes.model import Exchange, Finding


def not_reproduced(study: Study, idled: str | None = None) -> Finding:
    """With what may differ between who told it and us. `idled`: what was tried of connections."""
    asked = [call for call in study.every if tells(call) and reached(call)]
    last = next(call.last for call in reversed(asked) if call.last is not None and not of_one_family(call))
    clients = list(dict.fromkeys(call.trial.client for call in asked))
    rows = [
        (OUTCOME, f"{NOT_REPRODUCED} in {len(asked)}"),
        ("seen", f"{shown(last)} through {listed(clients)}"),
        *([("told", f"they got {study.told.seen}")] if study.told.seen else []),
        ("may differ", "; ".join(_differences(study, last, len(asked)))),
        *([("family", family)] if (family := said_of_family(study)) else []),
        *([("idle", idled)] if idled else []),
        *named(last),
    ]
    layer = last.attribution.layer if last.attribution is not None else Layer.UNKNOWN
    return conclude(
        study.case, "ok", last, verdict=Verdict.PASS, detail=tuple(rows), observed=Observed(0, len(asked)),
        title="Not reproduced: the request as told does not fail here", layer=layer,
        advice="Ask who met it for the time with its zone, the whole answer with its headers, and the output of curl -v from "
        "their network; then ask again from there.",
        next_test="the same request from the network of who met it",
        evidence=evidence(study),
    )  # fmt: skip


def _differences(study: Study, last: Exchange, tries: int) -> list[str]:
    """Between them and us, as far as one side is known."""
    told, ours = study.told, last.conditions
    made = last.attribution.extracted if last.attribution is not None else {}
    family = spoken(last)
    ours_is = [
        *([study.case.target.vantage] if study.case.target.vantage else []),
        *([f"IPv{family}"] if family else []),
        *([f"location {made['colo']}"] if made.get("colo") else []),
    ]
    network = f"ours is {listed(ours_is)}, " if ours_is else ""
    found = [f"the network: {network}theirs is not known", "the time"]
    version = study.case.client(last_client(study)).version
    said = f"{told.client} {told.version or 'of a version that was not told'}" if told.client else "not told"
    most = wilson(0, tries)[1]
    found.append(f"chance: what fails less than {most:.0%} of the time can be missed in {tries}")
    found.append(f"the client: theirs {said}, ours {last_client(study)}{f' {version}' if version else ''}")
    http = ours.get("http_version")
    if told.http_version is None:
        found.append(f"the version of HTTP: theirs was not told, ours {http or '1.1'}")
    if told.family is not None and family is not None and told.family != family:
        found.append(f"the address family: theirs IPv{told.family}, ours IPv{family}")
    if told.differs:
        found.append(f"the value of {listed(told.differs)}: another one was told")
    if told.secrets:
        found.append("the key, where ours is another")
    return found


def last_client(study: Study) -> str:
    return study.every[-1].trial.client
