"""What is told of a request that is answered by a redirect?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from probes.attribution import is_api_answer
from probes.kinds.conclude import conclude, is_good, outcome_code
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
_NOT_HERE = frozenset({404, 405})
"""Said of an address, unless it is of a model."""


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
    asked = study.of_question(there) if there is not None else []
    passes = bool(asked) and all(map(_as_the_api, asked))
    who = WhoActs.CUSTOMER if passes else WhoActs.OPERATOR
    rows = [
        (OUTCOME, f"{REPRODUCED} {tally.k} of {tally.n}"),
        ("seen", f"{shown(met)}, to {to}"),
        ("because", f"the address: whoever asks {study.told.url.partition('?')[0]} is sent on, and what becomes of it is up to the client"),
        ("directly", _directly(asked, direct=there is not None)),
        ("so", _becomes(method, met)),
        *_key(study, to, keyed=keyed),
        *named(met),
        ("rule", rule(None, None, "redirected", None, _words(study, failing, met))),
        ("customer", paragraph(met, "redirected", Layer.EDGE, who=who)),
    ]  # fmt: skip
    return conclude(
        study.case, "redirected", met, verdict=Verdict.FAIL, detail=tuple(rows), observed=Observed(tally.k, tally.n),
        title=f"The API's address redirects ({met.status}), and {_lost(method, met)}",
        confidence=Confidence.HIGH if passes else Confidence.MEDIUM, who_acts=who,
        advice=_advice(asked, to, _instead(method, met), passes=passes), evidence=evidence(study),
        next_test=None if asked else "the same request to the address that it is sent on to",
        variant=met.id, reproduce=reproduced(study, failing),
    )  # fmt: skip


def _as_the_api(call: Call) -> bool:
    """A good answer, or an error of the API's own that is not about the address."""
    if is_good(call):
        return True
    last = call.last
    if last is None or last.status is None or not is_api_answer(last):
        return False
    if last.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return False
    return last.status not in _NOT_HERE or outcome_code(last).startswith("model")


def _last(asked: list[Call]) -> str:
    """What came there that is not as the API answers, else what came last."""
    found = [call.last for call in sorted(asked, key=_as_the_api, reverse=True) if call.last is not None]
    return shown(found[-1]) if found else "no answer"


def _directly(asked: list[Call], *, direct: bool) -> str:
    if not asked:
        why = "the requests were used up" if direct else "it is another origin, to which no key is sent"
        return f"where it points to was not asked: {why}; nothing is known to pass"
    good = sum(map(_as_the_api, asked))
    none = "" if good else "; nothing is known to pass"
    return f"asked where it points to: {_last(asked)}, {good} of {len(asked)} pass{none}"


def _advice(asked: list[Call], to: str, instead: str, *, passes: bool) -> str:
    if passes:
        return (
            f"Customer: set the base URL so that the request goes to {to} at once. "
            f"Operator: answer API paths without redirects{instead}."
        )
    if asked:
        return (
            f"Operator: answer API paths without redirects, or let this one lead to where the API answers: at {to} came "
            f"{_last(asked)}. Customer: there is no address yet that is known to pass."
        )
    return (
        f"Operator: answer API paths without redirects{instead}, and ask {to} the same, which was not asked here. "
        "Customer: set it as the base URL only once the API is known to answer there."
    )


def _loses(method: str, met: Exchange) -> bool:
    return met.status in _BECOMES_GET and method not in {"GET", "HEAD"}


def _lost(method: str, met: Exchange) -> str:
    if _loses(method, met):
        return "clients lose the request on the way"
    return "clients that do not follow get no answer of the API"


def _instead(method: str, met: Exchange) -> str:
    """Of one that keeps method and body already there is none better."""
    return "; where one has to be, with 308, which keeps method and body" if _loses(method, met) else ""


def _becomes(method: str, met: Exchange) -> str:
    if _loses(method, met):
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


def _words(study: Study, failing: Question, met: Exchange) -> dict[str, str]:
    path, host = failing.draft.path.partition("?")[0], urlsplit(study.told.url).hostname or ""
    method = failing.draft.method
    return {"method": method, "path": path, "host": host, "instead": _instead(method, met)}
