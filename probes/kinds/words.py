"""How is what was seen said in a few words?"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.response import in_words, retry_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from probes.model import Call, Case, Exchange, Figure

_BODY_SHOWN = 60
_NAMED = 3
_LOOKED_UP_BY = ("ray", "colo", "zone", "request_id")


def named(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    """What the operator can look an answer up by."""
    found = exchange.attribution.extracted if exchange.attribution is not None else {}
    words = [f"{name.replace('_', ' ')} {found[name]}" for name in _LOOKED_UP_BY if found.get(name)]
    return (("look up", ", ".join(words)),) if words else ()


def shown(exchange: Exchange) -> str:
    """An answer in a few words: `403 "error code: 1010" in 12 ms`."""
    seconds = exchange.timeline.headers if exchange.timeline.headers is not None else exchange.timeline.end
    after = f" in {duration(seconds)}" if seconds is not None else ""
    if exchange.status is None:
        said = exchange.error.text if exchange.error is not None else "no answer"
        return f"no answer ({said}){after.replace(' in ', ' after ')}"
    what = _body_in_words(exchange)
    asks = asked_wait(exchange)
    cut = f", then {exchange.error.text}" if exchange.error is not None else ""
    return f"{exchange.status}{f' {what}' if what else ''}{after}{f', asks for {asks}' if asks else ''}{cut}"


def asked_wait(exchange: Exchange) -> str | None:
    """What an error's `Retry-After` asks for, where it can be read."""
    if exchange.status is None or exchange.status < HTTPStatus.BAD_REQUEST:
        return None
    seconds = retry_after(exchange.header("retry-after"))
    return None if seconds is None else in_words(seconds)


def _body_in_words(exchange: Exchange) -> str:
    content_type = (exchange.header("content-type") or "").partition(";")[0].strip().lower()
    if content_type == "text/event-stream":
        return "stream"
    if content_type.endswith("json"):
        return "JSON"
    if content_type == "text/html":
        return "HTML page"
    first = exchange.body_head[: 4 * _BODY_SHOWN].decode("utf-8", "replace").strip().split("\n")[0]
    return f'"{first[:_BODY_SHOWN]}"' if first else "empty body" if exchange.body_bytes == 0 else "body"


def duration(seconds: float) -> str:
    """No more digits than a network measurement bears."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s"


def median_of(figure: Figure) -> str:
    """A median with its interval, its n, and how far apart the quartiles lie: `120 ms (118 to 131 ms, n 9, quartiles 6 ms
    apart)`.
    """
    said = [f"n {figure.n}"]
    if figure.n > 1 and figure.low is not None and figure.high is not None:
        low, high = duration(figure.low), duration(figure.high)
        number, _, unit = low.partition(" ")
        said.insert(0, f"{number if high.endswith(f' {unit}') else low} to {high}")
    if figure.spread is not None:
        said.append(f"quartiles {duration(figure.spread)} apart")
    return f"{duration(figure.value)} ({', '.join(said)})"


def emulated(case: Case, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A row that says of which of these clients only the headers were tried."""
    imitated = [name for name in names if not case.client(name).genuine]
    return (("emulated", f"{listed(imitated)}: header set only, TLS is ours"),) if imitated else ()


def in_title(case: Case, names: Sequence[str]) -> str:
    """The genuine ones by name, the emulated ones by name where they are one or alone, else by their number."""
    genuine = [name for name in names if case.client(name).genuine]
    others = len(names) - len(genuine)
    if others < 2 or (not genuine and others <= _NAMED):
        return listed(names)
    return listed([*genuine, f"{others} emulated clients"])


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part) if names else "no client"


def clients_of(calls: Iterable[Call]) -> list[str]:
    """By name, each once, in the order in which they asked."""
    return list(dict.fromkeys(call.trial.client for call in calls))
