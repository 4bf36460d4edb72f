"""What is told of a request that is answered by a redirect?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from probes.kinds.conclude import conclude
from probes.kinds.reproduction.outcome import OUTCOME, REPRODUCED
from probes.kinds.reproduction.reply import paragraph
from probes.kinds.reproduction.rows import evidence
from probes.kinds.reproduction.rules import rule
from probes.kinds.reproduction.sides import reproduced
from probes.kinds.reproduction.study import KEYS, Question
from probes.kinds.words import named, shown
from probes.model import Confidence, Layer, Observed, Verdict, WhoActs
from probes.redact import safe_text

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.reproduction.study import Study
    from probes.model import Call, Exchange, Finding, Trial

    Asking = Generator[Sequence[Trial], list[Call], Finding]

_TIMES = 3
_BECOMES_GET = frozenset({301, 302, 303})


def redirected(study: Study, failing: Question, met: Exchange) -> Asking:
    """Asked where it points to as well, where that is the same host: no key goes to another one."""
    assert study.failure is not None
    place = urlsplit(urljoin(study.told.url, met.header("location") or ""))
    here = urlsplit(study.told.url)
    draft = failing.draft
    there = Question(
        "redirected",
        replace(draft, path=f"{place.path or '/'}{f'?{place.query}' if place.query else ''}"),
    )
    direct = (place.scheme, place.netloc) == (here.scheme, here.netloc)
    for _ in range(_TIMES):
        for question in [failing, *([there] if direct else [])]:
            if len(study.of_question(question)) < _TIMES:
                call = yield from study.ask(question)
                study.count(question, study.failure.says(call) if call.last is not None else None)
    return _finding(study, failing, there if direct else None, met)


def _finding(study: Study, failing: Question, there: Question | None, met: Exchange) -> Finding:
    to = safe_text(urljoin(study.told.url, met.header("location") or ""))[:300]
    tally = study.evidence.of(failing)
    method, keyed = failing.draft.method, any(n.lower() in KEYS for n, _ in failing.draft.headers)
    rows = [
        (OUTCOME, f"{REPRODUCED} {tally.k} of {tally.n}"),
        ("seen", f"{shown(met)}, to {to}"),
        ("because", f"the address: whoever asks {study.told.url.partition('?')[0]} is sent on, and what becomes of it is up to the client"),
        *_directly(study, there),
        ("so", _becomes(method, met)),
        *_key(study, to, keyed=keyed),
        *named(met),
        ("rule", rule(None, None, "redirected", None, _words(study, failing))),
        ("customer", paragraph(met, "redirected", Layer.EDGE)),
    ]  # fmt: skip
    advice = f"Customer: set the base URL so that the request goes to {to} at once. Operator: answer API paths without redirects, or with 308, which keeps method and body."
    return conclude(
        study.case, "redirected", met, verdict=Verdict.FAIL, detail=tuple(rows), observed=Observed(tally.k, tally.n),
        title=f"The API's address redirects ({met.status}), and clients lose the request on the way",
        confidence=Confidence.HIGH, who_acts=WhoActs.CUSTOMER, advice=advice, evidence=evidence(study),
        next_test=None if there is not None else "the same request to the address that it is sent on to",
        variant=met.id, reproduce=reproduced(study, failing),
    )  # fmt: skip


def _directly(study: Study, there: Question | None) -> list[tuple[str, str]]:
    if there is None or not study.of_question(there):
        return []
    tally = study.evidence.of(there)
    last = next((call.last for call in study.of_question(there) if call.last is not None), None)
    if last is None:
        return []
    return [("directly", f"asked where it points to: {shown(last)}, {tally.n - tally.k} of {tally.n} pass")]


def _becomes(method: str, met: Exchange) -> str:
    if met.status in _BECOMES_GET and method not in {"GET", "HEAD"}:
        return (
            f"clients that follow a {met.status} repeat the {method} as GET, without its body; clients that don't, such as "
            "curl without -L and a plain httpx, show the redirect as the answer"
        )
    return (
        f"clients that follow a {met.status} repeat it as it is; those that don't, such as curl without -L and a plain httpx, "
        "show the redirect as the answer"
    )


def _key(study: Study, to: str, *, keyed: bool) -> list[tuple[str, str]]:
    """What becomes of it on the way."""
    if not keyed:
        return []
    here, there = urlsplit(study.told.url), urlsplit(to)
    rows: list[tuple[str, str]] = []
    if here.scheme == "http" and there.scheme == "https":
        rows.append(
            ("key", "the key went over plain http before https was asked for: it can have been read on the way, so make a new one")
        )  # fmt: skip
    if (here.scheme, here.netloc) != (there.scheme, there.netloc):
        rows.append(
            ("key", "it is another origin, so many clients leave the key behind when they follow: 401 with a good key")
        )  # fmt: skip
    return rows


def _words(study: Study, failing: Question) -> dict[str, str]:
    path, host = failing.draft.path.partition("?")[0], urlsplit(study.told.url).hostname or ""
    return {"method": failing.draft.method, "path": path, "host": host}
