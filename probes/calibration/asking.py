"""What is an edge asked, how often, and when is it left alone?

Cloudflare shows its error pages at `/cdn-cgi/error/<code>`, by Accept
(https://developers.cloudflare.com/fundamentals/reference/error-responses/ with 1015, 521 and 522). Somebody who asked for
about 25 of them in a row was limited, so few are asked for, one after the other, and the first 429 ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes import __version__
from probes.attribution import is_refusal
from probes.model import Confidence, Layer, Raw, Trial
from probes.response import Response
from probes.signatures import catalogue
from probes.statuses import of_cloudflare
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Exchange

PRODUCT = "Cloudflare"
TRACE = "/cdn-cgi/trace"
ACCEPTS = {"the SDK's": "application/json", "curl's": "*/*"}
"""What the genuine SDKs and curl say, which get different pages for the same error."""
LIMIT = 1015
ERRORS = frozenset({
    500, *range(502, 505), *range(520, 527), 530, *range(1000, 1021), 1023, *range(1025, 1030), *range(1033, 1046), 1047, 1049,
    *range(1100, 1110), *range(1200, 1207),
})  # fmt: skip
"""What is documented as an error of Cloudflare's: the page above, and
https://developers.cloudflare.com/support/troubleshooting/http-status-codes/ with its 1xxx and 5xx errors."""
CODES = (522, 524, 1010, 1020, LIMIT)
"""The limit's own page last: there a 429 is the page, and everywhere else it is meant."""
MOST_CODES = 5
REPEATS = 2
_NO_PAGE = frozenset({401, 404, 405, 407})
NOT_ITS_OWN = "this edge has no error pages of its own to ask for"


@dataclass(frozen=True, slots=True)
class Shown:
    """The answers to one code and Accept: one where it is known, two where something in it has to stay the same."""

    code: int
    accept: str
    answers: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """`trace`: what the edge says of itself. `ordinary`: what the target answers to anybody without a key.

    `compared`: all of it came. `ended`: why less was asked than meant.
    """

    trace: dict[str, str]
    shown: tuple[Shown, ...]
    ordinary: tuple[Exchange, ...] = ()
    compared: bool = False
    ended: str | None = None


def in_order(codes: Sequence[int]) -> tuple[int, ...]:
    """The 5xx first and the limit's page last; of each class one, which shows whether a page is about its code at all."""
    wanted = dict.fromkeys(codes)
    if all(code >= 1000 for code in wanted):
        wanted[522] = None
    if all(code < 1000 for code in wanted):
        wanted[1020] = None
    return tuple(sorted(wanted, key=lambda code: (code == LIMIT, code >= 1000)))


def most(codes: Sequence[int]) -> int:
    """Requests that `ask` sends at the most."""
    return 1 + len(ACCEPTS) * (len(codes) * REPEATS + len(_ordinary("openai")))


def ask(case: Case, codes: Sequence[int]) -> Generator[Sequence[Trial], list[Call], Asked]:
    """Nothing is asked for twice that the catalogue knows as Cloudflare's own."""
    call = yield from one(_trial(case, "trace", TRACE, "*/*"))
    if (why := _unanswered(call)) is not None:
        return Asked({}, (), ended=why)
    trace = _trace(call.exchanges[0])
    if not trace:
        return Asked(
            {}, (), ended=f"{NOT_ITS_OWN}: {TRACE} is not answered as Cloudflare does ({_said(call)})"
        )
    shown, ended = yield from _pages(case, codes)
    if ended is not None or not any(len(page.answers) == REPEATS for page in shown):
        return Asked(trace, tuple(shown), ended=ended)
    ordinary, ended = yield from _everyday(case)
    return Asked(trace, tuple(shown), tuple(ordinary), ended is None, ended)


def _pages(
    case: Case, codes: Sequence[int]
) -> Generator[Sequence[Trial], list[Call], tuple[list[Shown], str | None]]:
    shown: list[Shown] = []
    for number, code in enumerate(codes):
        for name, accept in ACCEPTS.items():
            trial = _trial(case, f"{code}/{accept}", f"/cdn-cgi/error/{code}", accept, of_cloudflare(code))
            answers: list[Exchange] = []
            while len(answers) < REPEATS:
                call = yield from one(trial)
                if (why := _unanswered(call) or _limited(code, call)) is not None:
                    return shown, why
                answers.append(call.exchanges[0])
                if not is_page(answers[-1]) or recognised(answers[-1]):
                    break
            shown.append(Shown(code, name, tuple(answers)))
        if number == 0 and (why := _no_use(shown)) is not None:
            return shown, f"{why} ({_said(call)})"
    return shown, None


def _no_use(shown: Sequence[Shown]) -> str | None:
    """Why the others need not be asked for, by the answers to one that is a 5xx."""
    first = [page.answers[0] for page in shown]
    if not any(map(is_page, first)):
        return f"{NOT_ITS_OWN}: what lies below /cdn-cgi/error/ is passed on"
    if all(map(is_refusal, first)):
        return "a rule in front of /cdn-cgi/error/ refuses this probe, whatever is asked for"
    return None


def _everyday(case: Case) -> Generator[Sequence[Trial], list[Call], tuple[list[Exchange], str | None]]:
    seen: list[Exchange] = []
    for accept in ACCEPTS.values():
        for name, (path, rooted) in _ordinary(case.target.api).items():
            call = yield from one(_trial(case, f"ordinary/{name}/{accept}", path, accept, rooted=rooted))
            if (why := _unanswered(call) or _limited(None, call)) is not None:
                return seen, why
            seen.append(call.exchanges[0])
    return seen, None


def _ordinary(api: str) -> dict[str, tuple[str, bool]]:
    """What answers when nothing is wrong but the request: (path, whether it is the host's and not the API's)."""
    return {
        "root": ("/", True),
        "no_such_path": ("/edgeprobe/no-such-path", True),
        "no_key": ("/models" if api == "openai" else "/v1/models", False),
    }


def is_page(exchange: Exchange) -> bool:
    """It may be an error page: not a good answer, a redirect, or what an origin says of a path that it does not know."""
    return exchange.status is not None and exchange.status >= 400 and exchange.status not in _NO_PAGE


def of_the_edge(exchange: Exchange) -> bool:
    """Made by Cloudflare, and not only by a supporting mark."""
    found = exchange.attribution
    return (
        found is not None
        and (found.layer, found.product) == (Layer.EDGE, PRODUCT)
        and found.confidence is not Confidence.LOW
    )


def recognised(exchange: Exchange) -> bool:
    """Cloudflare's own page, by what stands in it or by an exclusive mark: status and `server` are those of any page."""
    return of_the_edge(exchange) and any(
        one.product == PRODUCT
        and (
            one.row.strength == "exclusive"
            or (one.row.strength == "strong" and (one.row.match.json or one.row.match.body))
        )
        for one in catalogue().matching(Response.of(exchange))
    )


def _trial(
    case: Case, label: str, path: str, accept: str, shows: int | None = None, *, rooted: bool = True
) -> Trial:
    """Under our own name, on one connection, and never with the key."""
    headers = (("user-agent", f"edgeprobe/{__version__}"), ("accept", accept))
    raw = Raw("GET", path, headers, rooted=rooted, shows=shows)
    return Trial(label, case.clients[0].name, case.route, raw, session="calibrate")


def _unanswered(call: Call) -> str | None:
    if call.not_sent is not None:
        because = call.conditions.get("because")
        return f"not sent: {call.not_sent}{f', {because}' if because else ''}"
    first = call.exchanges[0] if call.exchanges else None
    if first is None or first.status is None:
        error = first.error if first is not None else None
        return f"no answer: {error.kind if error else call.raised.text if call.raised else 'nothing came'}"
    return None


def _limited(code: int | None, call: Call) -> str | None:
    limited = call.exchanges[0].status == 429 and code != LIMIT
    asked = f"the page of {code}" if code is not None else "an ordinary page"
    return f"asked for {asked} it answered 429, which means: not so many" if limited else None


def _trace(exchange: Exchange) -> dict[str, str]:
    """Its rows where Cloudflare answered, by its form and by the mark of an answer that came through it."""
    transit = exchange.attribution.transit if exchange.attribution is not None else ()
    lines = exchange.body_head.decode("utf-8", "replace").splitlines()
    rows = {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}
    good = exchange.status == 200 and {"fl", "colo"} <= rows.keys() and PRODUCT in transit
    return rows if good else {}


def _said(call: Call) -> str:
    first = call.exchanges[0]
    made = first.attribution
    by = f" by {made.product or made.layer}" if made is not None and made.signature else ""
    return f"{first.status}{by}"
