"""Through which client does a case ask what no SDK would?

Through one that builds its requests itself and is let in: what a rule against that client answers is not the API's answer
to the question.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.model import Client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange

HTTPX = Client("httpx", "raw_httpx", edits=True)
_BUILD_THEIR_OWN = ("raw_httpx", "curl")


def senders(case: Case) -> list[str]:
    """Those to be tried, in their order."""
    able = [client for client in case.clients if client.kind in _BUILD_THEIR_OWN and client.mode == "sync"]
    return [client.name for client in sorted(able, key=lambda client: _BUILD_THEIR_OWN.index(client.kind))]


def label(question: str, sender: str) -> str:
    """Of a trial: the question, and through whom where it is not the client that is tried first."""
    return question if sender == HTTPX.name else f"{question}/{sender}"


def turned_away(calls: Sequence[Call]) -> bool:
    """All of them, before the API or with a 403: it may be for who asked."""
    answers = [call.last for call in calls if call.last is not None]
    return bool(answers) and all(is_refusal(e) or e.status == HTTPStatus.FORBIDDEN for e in answers)


def agent(exchange: Exchange | None) -> tuple[tuple[str, str], ...]:
    """The user agent that a client announced, for a raw request: without any it would meet other rules."""
    sent = exchange.request.headers if exchange is not None else ()
    return tuple(header for header in sent if header[0].lower() == "user-agent")
