"""Which base URL is the API's, when the one given is not?

Variants of it (`/v1` missing or doubled, a whole endpoint given as base) are asked with a made-up key and an invalid
body: where the API's own 400 or 401 comes back, the path is right.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.attribution import is_api_answer
from probes.clients import dialect
from probes.config import conversation
from probes.kinds.asking import agent
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.words import shown
from probes.model import Ask, Confidence, Layer, Observed, Raw, Trial

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Exchange, Finding

MOST = 6
"""Variants tried."""
_DEADLINE = 2.0
_AT_ONCE = 2.0
_OFF = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})
_PROOF = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.UNPROCESSABLE_ENTITY})
_ENDS = ("/chat/completions", "/completions", "/responses", "/messages", "/models", "/v1")


def off_path(call: Call) -> bool:
    """Answered at once, and by something that does not serve the API there; after a redirect nothing is known of it."""
    last = call.last
    if last is None or len(call.exchanges) > 1 or (last.timeline.end or 0.0) > _AT_ONCE:
        return False
    code = outcome_code(last)
    return code == "body.html" or (last.status in _OFF and code != "model.not_found")


def find_base_url(
    case: Case, missed: Sequence[Call], sender: str | None
) -> Generator[Sequence[Trial], list[Call], list[Finding]]:
    """Asks the variants of the case's base URL at once; a finding where one of them is the API's, else none."""
    lost = [call.last for call in missed if call.last is not None]
    tries = variants(case.target.routes[case.route].base_url, case.target.api)
    if not lost or sender is None or not tries:
        return []
    as_sender = next((call.last for call in missed if call.trial.client == sender), lost[-1])
    calls = yield [_trial(case, sender, base, number, agent(as_sender)) for number, base in enumerate(tries)]
    found = [
        (base, call.last)
        for base, call in zip(tries, calls, strict=True)
        if call.last is not None and call.last.status in _PROOF and is_api_answer(call.last)
    ]
    if found:
        return [_wrong(case, missed, lost, *found[0])]
    why = next((call.not_sent for call in calls if call.not_sent is not None), None)
    return [not_sent(case, why, "looking for the right base URL", calls)] if why is not None else []


def variants(base_url: str, api: str) -> list[str]:
    """Other base URLs on the same host, the likeliest first, as the SDK of `api` takes them."""
    parts = urlsplit(base_url)
    given = root = parts.path.rstrip("/")
    while (end := next((end for end in _ENDS if root.endswith(end)), None)) is not None:
        root = root.removesuffix(end)
    roots = list(dict.fromkeys((root, root.rpartition("/")[0], "", "/api", "/openai", "/anthropic")))
    ends = ("/v1", "") if api == "openai" else ("",)
    paths = [each + end for each in roots for end in ends]
    # `/v1` of OpenAI is a version: a host that has another prefix has it behind that.
    wanted = [path for path in dict.fromkeys(paths) if path != given][:MOST]
    return [f"{parts.scheme}://{parts.netloc}{path}" for path in wanted]


def _trial(case: Case, sender: str, base: str, number: int, announced: tuple[tuple[str, str], ...]) -> Trial:
    ask = Ask(conversation(case.target), recipe="invalid", cap=1, key="made_up")
    path = urlsplit(base).path + dialect.PATHS[case.target.api, ask.endpoint]
    raw = Raw(
        "POST",
        path,
        (*announced, *dialect.JSON),
        dialect.encoded(case.target, ask, ""),
        rooted=True,
        key="made_up",
    )
    return Trial(f"base/{number}", sender, case.route, raw, deadline=_DEADLINE)


def _wrong(
    case: Case, missed: Sequence[Call], lost: Sequence[Exchange], base: str, proof: Exchange
) -> Finding:
    given = case.target.routes[case.route].base_url
    root = base.removesuffix("/v1")
    openai, anthropic = (base, root) if case.target.api == "openai" else (f"{base}/v1", base)
    last = lost[-1]
    return conclude(
        case, "wrong_base_url", last,
        layer=Layer.CLIENT,
        product=None,
        observed=Observed(len(lost), len(missed)),
        control=proof.id,
        variant=last.id,
        title=f"The base URL {given} is not the API's; {base} is",
        detail=(
            ("seen", f"{shown(last)} at {last.request.url}"),
            ("control", f"{shown(proof)} at {proof.request.url}, to a made-up key: the API's own answer"),
            ("OpenAI SDK", f"base_url={openai}"),
            ("Anthropic SDK", f"base_url={anthropic} (it adds /v1 itself)"),
        ),
        advice=f"Use {base} as the base URL.",
        confidence=Confidence.HIGH,
        next_test=None,
        evidence=(*(e.id for e in lost), proof.id),
    )  # fmt: skip
