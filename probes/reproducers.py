"""Which command shows to somebody else what a finding says?

A flow that knows a better one, or has run one, gives its own. Else it is the request of the exchange that the finding
is about, written as it went out; nobody has run it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from probes.clients import dialect
from probes.complaint import Told, reference
from probes.credentials import PLACEHOLDER, made_up_key
from probes.model import Dial, Layer, Raw, Reproduce, Verdict
from probes.redact import REDACTED
from probes.written import as_curl, as_sdk_line, of_exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from probes.model import Call, Case, Exchange, Finding, Route

LONGEST = 2_000
"""Characters that a person copies; a longer command lies in the bundle."""
FOLDER = "reproducers"
_LONG = 80


def reproducible(findings: Sequence[Finding], calls: Sequence[Call], cases: Sequence[Case]) -> list[Finding]:
    """The findings, those that fail with a command each, as far as any request can show them."""
    return [
        finding
        if name is None or (finding.reproduce is not None and len(finding.reproduce.command) <= LONGEST)
        else replace(finding, reproduce=_reproduce(finding, name, calls, cases) or finding.reproduce)
        for finding, name in zip(findings, names(findings), strict=True)
    ]


def told(finding: Finding, calls: Sequence[Call], cases: Sequence[Case]) -> Told | None:
    """The request that the finding is about."""
    return next((said for _, said in _requests(finding, calls, cases)), None)


def names(findings: Iterable[Finding]) -> list[str | None]:
    """Of the files that hold the reproducer of each one that fails, without suffix.

    Those of one case are numbered where they would be alike, so that a case alone has the names that it has in its run.
    """
    taken: Counter[str] = Counter()
    found: list[str | None] = []
    for finding in findings:
        if finding.verdict is not Verdict.FAIL:
            found.append(None)
            continue
        whole = "-".join(filter(None, (finding.case, finding.code, finding.client, finding.route)))
        name = re.sub(r"[^A-Za-z0-9.]+", "-", whole).strip("-.")
        if len(name) > _LONG:
            name = f"{name[:_LONG]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
        taken[name] += 1
        found.append(name if taken[name] == 1 else f"{name}-{taken[name]}")
    return found


def _reproduce(finding: Finding, name: str, calls: Sequence[Call], cases: Sequence[Case]) -> Reproduce | None:
    for call, said in _requests(finding, calls, cases):
        line = None
        if finding.layer is Layer.CLIENT and said.client is not None:
            line = as_sdk_line(said, call.trial.client)  # what is the client's own, only the client shows
        command = line or as_curl(said)
        return Reproduce(command if len(command) <= LONGEST else f"sh {FOLDER}/{name}.sh")
    return None


def _requests(finding: Finding, calls: Sequence[Call], cases: Sequence[Case]) -> Iterator[tuple[Call, Told]]:
    """The failing one first: that of the variant, else one of the evidence that was told of with the same code. What has no
    exchange of its own, such as a latency, is shown by any request that it is of.
    """
    of_case = {case.id: case for case in cases}
    by_id = {exchange.id: (exchange, call) for call in calls for exchange in call.exchanges}
    seen = [by_id[one] for one in finding.evidence if one in by_id]
    alike = [
        row for row in seen if row[0].attribution is not None and row[0].attribution.code == finding.code
    ]
    rows = [by_id[finding.variant]] if finding.variant in by_id else []
    for exchange, call in [*rows, *alike, *reversed(seen)]:
        if (said := _written(exchange, call, of_case)) is not None:
            yield call, said
    for call in sorted(
        calls, key=lambda call: bool(call.exchanges)
    ):  # what a client refused to send comes first
        theirs = finding.case == call.case or finding.case not in of_case
        if not theirs or finding.client not in {None, call.trial.client} or call.not_sent is not None:
            continue
        if (said := _written(call.last, call, of_case)) is not None:
            yield call, said


def _written(exchange: Exchange | None, call: Call, cases: Mapping[str, Case]) -> Told | None:
    case = cases.get(call.case)
    if case is None:
        return None
    if exchange is not None and exchange.request.method:
        return of_exchange(exchange, call, case)
    return (exchange and _of_dial(exchange, call, case)) or _unsent(call, case)


def _of_dial(exchange: Exchange, call: Call, case: Case) -> Told | None:
    """Any request shows whether there is a connection."""
    asked, route = call.trial.request, case.target.routes.get(call.trial.route)
    if not isinstance(asked, Dial) or route is None:
        return None
    where = exchange.conditions.get("address")
    to = f"[{where}]" if isinstance(where, str) and ":" in where else where
    connect_to = f"{to}:{_port(route, exchange.request.url)}" if isinstance(to, str) else route.connect_to
    return Told(
        "GET", f"{exchange.request.url}/", (), b"", "curl", family=asked.family, connect_to=connect_to
    )


def _port(route: Route, url: str) -> str:
    if route.connect_to:
        return route.connect_to.rpartition(":")[2]
    port = re.search(r":(\d+)$", url)
    return port[1] if port else "443" if url.startswith("https:") else "80"


def _unsent(call: Call, case: Case) -> Told | None:
    """What a client that sent nothing had been asked for."""
    asked, route = call.trial.request, case.target.routes.get(call.trial.route)
    if isinstance(asked, Dial) or route is None:
        return None
    own = case.target.key_env
    key = made_up_key(case.target.api) if asked.key == "made_up" else reference(own) if own else PLACEHOLDER
    header = ("x-api-key", key) if case.target.api == "anthropic" else ("authorization", f"Bearer {key}")
    if isinstance(asked, Raw):
        method, url, body = asked.method, dialect.raw_url(route, asked), asked.body
        headers = (*asked.headers, *([header] if asked.key is not None else []))
    else:
        method, url = dialect.method(asked), dialect.url(case.target, route, asked)
        body = dialect.encoded(case.target, asked, call.trial.salt) if method == "POST" else b""
        headers = (("content-type", "application/json"), header)
    if REDACTED in f"{url}{headers}" or REDACTED.encode() in body:
        return None
    return Told(
        method,
        url,
        headers,
        body,
        "curl",
        client=call.trial.client,
        family=route.family,
        connect_to=route.connect_to,
        proxy=route.proxy,
        secrets=(*(asked.secrets if isinstance(asked, Raw) else ()), *([own] if own else [])),
    )
