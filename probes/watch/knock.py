"""Does an address of the operator's own answer?"""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from probes import __version__

PATIENCE = 10.0
"""Seconds on the clock of this machine: the address lies outside any lab."""


class _Stays(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer; where it leads to was not asked for."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stays)


def knock(url: str, seconds: float = PATIENCE) -> int | str:
    """The status of a GET, whatever it is; or in words why there is none. Says nothing of the address: it may be a
    secret.
    """
    answer: list[int | str] = []

    def ask() -> None:
        answer.append(_asked(url, seconds))

    asking = threading.Thread(target=ask, name="knock", daemon=True)
    asking.start()
    asking.join(seconds)  # a time-out of sockets begins anew with each byte that comes
    return answer[0] if answer else f"no answer in {seconds:g} s"


def _asked(url: str, seconds: float) -> int | str:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": f"edgeprobe/{__version__}"})  # noqa: S310 - checked by the canary's file
        with _OPENER.open(request, timeout=seconds) as response:
            return int(response.status)
    except urllib.error.HTTPError as answered:
        with answered:
            return answered.code
    except urllib.error.URLError as fault:
        return _words(fault.reason)
    except (OSError, HTTPException, ValueError) as fault:
        return _words(fault)


def _words(fault: object) -> str:
    if isinstance(fault, TimeoutError):
        return "no answer in time"
    if isinstance(fault, OSError):
        return fault.strerror or type(fault).__name__
    return type(fault).__name__ if isinstance(fault, Exception) else "no answer"


def welcome(answer: int | str) -> str | None:
    """`None` for a 2xx, else what came instead."""
    if isinstance(answer, str):
        return answer
    return None if HTTPStatus(200) <= answer < HTTPStatus(300) else f"answered {answer}"
