"""Which answers of a side say something, and which of them were asked for under the same conditions?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.kinds.conclude import is_good, outcome_code
from probes.model import Ask, Verdict
from probes.samples import counted, sample
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.model import Call, Finding, Run
    from probes.samples import Sample

Where = tuple[str, str, str]
"""Question, client and route."""
_HOW_OFTEN = "repeats="


@dataclass(frozen=True, slots=True)
class Conditions:
    """Only answers for which all of this is the same are compared. `model`: as the target names it."""

    case: str
    client: str
    route: str
    label: str
    endpoint: str
    model: str
    stream: bool
    recipe: str
    cap: int
    prompt_tokens: int
    connection: str | None
    http_version: str | None
    cache: str
    concurrency: int

    @property
    def where(self) -> Where:
        return self.case, self.client, self.route


@dataclass(frozen=True, slots=True)
class Timed:
    """`tokens`: of the answer, `None` where the usage does not tell. `resolution`: seconds that its times may be off."""

    sample: Sample
    tokens: int | None
    resolution: float
    run: str
    exchange: str


def question(case: str) -> str:
    """The id of a case without how often it asks, which is no condition of an answer."""
    return "/".join(part for part in case.split("/") if not part.startswith(_HOW_OFTEN))


def timed(runs: Sequence[Run]) -> dict[Conditions, list[Timed]]:
    """The good answers of plain requests, in the order of time."""
    found: dict[Conditions, list[Timed]] = {}
    for run in sorted(runs, key=lambda run: run.started):
        for call in run.calls:
            last = call.last
            if last is None or not plain(call) or not is_good(call):
                continue
            seen = sample(last)
            off = call.conditions.get("resolution")
            one = Timed(
                seen, counted(last), float(off) if isinstance(off, int | float) else 0.0, run.id, last.id
            )
            found.setdefault(_conditions(run, call, seen), []).append(one)
    return found


def _conditions(run: Run, call: Call, seen: Sample) -> Conditions:
    ask, last = call.trial.request, call.last
    assert isinstance(ask, Ask)
    assert last is not None
    together, version = call.conditions.get("concurrency"), last.conditions.get("http_version")
    return Conditions(
        question(call.case), call.trial.client, call.trial.route, call.trial.label, ask.endpoint, run.target.model, ask.stream,
        ask.recipe, ask.cap, ask.prompt_tokens, seen.connection, None if version is None else str(version), seen.cache,
        together if isinstance(together, int) else 1,
    )  # fmt: skip


def plain(call: Call) -> bool:
    """Asked as a customer asks, so that a good answer is due."""
    ask = call.trial.request
    as_a_customer = isinstance(ask, Ask) and ask.recipe != "invalid" and ask.key == "target"
    return as_a_customer and not _altered(call) and not call.trial.retries and call.not_sent is None


def failed(call: Call) -> bool | None:
    """Whether the customer got nothing of what this request is for; `None` where it does not tell."""
    last = call.last
    if call.not_sent is not None or last is None or last.attribution is None or _altered(call):
        return None
    if not isinstance(call.trial.request, Ask):
        return None
    if plain(call):
        verdict = vocabulary()[outcome_code(last)].verdict
        return {Verdict.PASS: False, Verdict.FAIL: True}.get(verdict)
    # Invalid on purpose: that the API itself refuses it shows that the way to it is open.
    return False if is_api_answer(last) else True if is_refusal(last) or last.status is None else None


def _altered(call: Call) -> bool:
    """No client of a customer sends it so."""
    ask = call.trial.request
    return isinstance(ask, Ask) and bool(ask.edits or ask.gzipped or ask.filler or ask.model)


def by_where(runs: Sequence[Run]) -> Iterator[tuple[Where, list[Finding], list[Call]]]:
    """Each client of each case of each run, with the findings of the case and its calls."""
    for run in runs:
        for case in run.cases:
            said = [one for one in run.findings if one.case == case.id]
            for client in case.clients:
                calls = [c for c in run.calls if c.case == case.id and c.trial.client == client.name]
                yield (question(case.id), client.name, case.route), said, calls


def worded(where: Where) -> str:
    """`smoke/streaming · openai-py`; the route only where it is another than `edge`."""
    case, client, route = where
    return " · ".join([case, client, *([f"route {route}"] if route != "edge" else [])])
