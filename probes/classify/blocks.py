"""Which answers stand in a pasted text, in its order?

Whatever begins first is read first, and what lies inside of it is part of it: a status in a traceback whose body is a
page, a ray in that page. Nothing here says who made an answer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from probes.classify import exceptions, har, responses
from probes.classify.bodies import LIMIT, document_at
from probes.classify.exchanges import exchange, of_entry, of_events, of_response, of_told, with_body
from probes.classify.forms import MOST_STARTS
from probes.classify.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from probes.classify.pages import Pages
    from probes.model import Exchange

MOST = 200
"""Blocks of one text."""

_MOST_LOOKED_AT = 4 * LIMIT
_MOST_TRIED = 2_000
_BELOW = 200
"""Characters between a status in a line of its own and the message that belongs to it."""

_DOCUMENT = re.compile(
    r"^[ \t]{0,12}`{0,3}(?:\{(?=\s{0,9}[\"'])|\[(?=\s{0,9}[\"'{])|<(?:!doctype\s+html|html|head|title)\b|---\n(?=[a-z_]{1,40}: ))",
    re.MULTILINE | re.IGNORECASE,
)
_MARKUP = re.compile(r"<(?i:!doctype\s+html|html)\b")
_BEFORE_MARKUP = (": ", ", ", "( ")
_ANSWERS = re.compile(
    r"""["'](?:error|errors|cloudflare_error|detail|choices|statusCode|message|object)["'] ?:"""
)
RAY = re.compile(r"(?<![\w-])(?P<ray>[0-9a-f]{16})(?:-(?P<colo>[A-Z]{3}))?(?![\w-])")
_EVENTS = re.compile(
    r"^(?:event: [\w.]{1,60}\n)?data: ?\{[^\n]{0,65536}(?:\n{1,2}(?:(?:event|id|data):[^\n]{0,65536}|:[^\n]{0,200}))*",
    re.MULTILINE,
)
_NAMED_RAY = re.compile(r"(?i)\bray\b[^\n]{0,20}$")


class Block(NamedTuple):
    """From `start` of the text on. `longer`: the same with what follows up to `until`, where a body of plain text may
    go on after an empty line.
    """

    form: str
    exchange: Exchange
    longer: Exchange | None = None
    start: int = 0
    until: int = 0


class _Found(NamedTuple):
    start: int
    end: int
    block: Block
    told: exceptions.Told | None = None


def blocks(data: bytes, pages: Pages) -> list[Block]:
    """At most MOST."""
    if (packed := responses.whole(data)) is not None:
        head, body = packed
        match = responses.HEAD.match(head)
        if match is not None:
            pasted = responses.response_at(head, match, len(head), 0)._replace(body=body)
            return [Block("response", of_response(pasted))]
    text = plain(data)
    if (entries := har.entries(text)) is not None:
        return [Block(f"HAR entry {entry.number}", of_entry(entry)) for entry in entries]
    return [found.block._replace(start=found.start) for found in _Scan(text, pages).run()]


class _Scan:
    def __init__(self, text: str, pages: Pages) -> None:
        self._text = text
        self._bare = text.strip()
        self._knows = pages.knows
        heads = {match.start(): match for match in islice(responses.HEAD.finditer(text), MOST_STARTS)}
        told = dict(sorted(exceptions.starts(text)))
        self._heads = sorted(heads)
        self._hard = sorted({*heads, *(at for at, ends in told.items() if ends)})
        self._rays = [match for match in islice(RAY.finditer(text), MOST_STARTS) if self._is_ray(match)]
        self._ends_of_rays = [match.end() for match in self._rays]
        self._left = _MOST_LOOKED_AT
        starts: list[tuple[int, int, Callable[[], _Found | None]]] = []
        starts += [(at, 0, partial(self._response, head)) for at, head in heads.items()]
        starts += [(at, 1, partial(self._told, at)) for at in told]
        starts += [(start, 2, partial(self._page, start, end)) for start, end in pages.found(text)]
        starts += [
            (match.start(), 3, partial(self._document, match))
            for match in islice(_DOCUMENT.finditer(text), MOST_STARTS)
        ]
        starts += [
            (match.start(), 3, partial(self._document, match))
            for match in islice(_MARKUP.finditer(text), MOST_STARTS)
            if text.endswith(_BEFORE_MARKUP, 0, match.start())
        ]
        starts += [(match.start(), 4, partial(self._ray, match)) for match in self._rays]
        starts += [
            (match.start(), 3, partial(self._events, match))
            for match in islice(_EVENTS.finditer(text), MOST_STARTS)
        ]
        self._starts = sorted(starts, key=lambda start: start[:2])
        self._since = 0

    def run(self) -> list[_Found]:
        found: list[_Found] = []
        vain = 0
        for at, _, read in self._starts:
            if at < self._since:
                continue
            if (one := read()) is None:
                vain += 1
                if vain > _MOST_TRIED:
                    break
                continue
            if found and self._same(found[-1], one):
                found[-1] = _fuller(found[-1], one)
            elif len(found) < MOST:
                found.append(one)
            else:
                break
            self._since = max(one.end, at + 1)
        if not found and (spoken := exceptions.in_prose(self._text)) is not None:
            found.append(_Found(spoken.start, spoken.end, Block("somebody's words", of_told(spoken)), spoken))
        return list(self._without_echoes(found))

    def _limit(self, at: int) -> int:
        return self._next(self._hard, at)

    def _next(self, places: list[int], at: int) -> int:
        after = bisect_right(places, at)
        return places[after] if after < len(places) else len(self._text)

    # --- each kind of block ------------------------------------------------------------------------------

    def _response(self, head: re.Match[str]) -> _Found | None:
        limit = self._next(self._heads, head.start())
        pasted = responses.response_at(self._text, head, limit, self._since)
        if pasted.status < 200 or pasted.tunnel:
            self._since = head.end()
            return None
        form = "response of curl -v" if head["mark"] else "response"
        made = of_response(pasted)
        return _Found(
            head.start(),
            pasted.end,
            Block(form, made, _longer(made, pasted.longer), until=min(limit, pasted.end + responses.LONGER)),
        )

    def _told(self, at: int) -> _Found | None:
        told = exceptions.told_at(self._text, at, self._limit, self._knows)
        if told is None:
            return None
        form, made = "line of a log" if self._text.startswith('"', at) else "error of a client", of_told(told)
        begun = told.body.start if told.body.form == "text" else len(self._text)
        longer = self._text[begun : min(self._limit(told.end), begun + responses.LONGER)]
        return _Found(
            at, told.end, Block(form, made, _longer(made, longer.strip()), until=begun + len(longer)), told
        )

    def _page(self, start: int, end: int) -> _Found:
        end = max(end, min(self._limit(start), self._paragraph_end(end)))
        body = self._text[start:end].encode("utf-8", "replace")
        return _Found(
            start,
            end,
            Block("page as text", exchange(None, {}, body, lacks=("status", "headers", "markup"))),
        )

    def _document(self, match: re.Match[str]) -> _Found | None:
        start = match.end() - len(match[0].lstrip(" \t`"))
        if self._left <= 0:
            return None
        read = document_at(self._text, start, self._limit(start))
        self._left -= read.end - start
        if not read.form or (read.form == "json" and not _ANSWERS.search(read.text[:4000])):
            return None
        body = read.text.encode("utf-8", "replace")
        alone = exchange(None, {}, body, lacks=("status", "headers"))
        return _Found(match.start(), read.end, Block("body alone", alone))

    def _events(self, match: re.Match[str]) -> _Found | None:
        """A stream without its head, where it holds an error or its end."""
        made = of_events(match[0].encode("utf-8", "replace"))
        return _Found(match.start(), match.end(), Block("events of a stream", made)) if made.facts else None

    def _ray(self, match: re.Match[str]) -> _Found:
        alone = exchange(None, {"cf-ray": [match[0]]}, b"", lacks=("status", "headers", "body", "end"))
        return _Found(match.start(), match.end(), Block("ray id", alone))

    # --- which of them are one ---------------------------------------------------------------------------

    def _is_ray(self, match: re.Match[str]) -> bool:
        before = self._text[max(0, match.start() - 40) : match.start()]
        named = match["colo"] is not None or _NAMED_RAY.search(before) is not None
        return named or self._bare == match[0]

    def _same(self, one: _Found, other: _Found) -> bool:
        """Two exceptions of which the second wraps the first, or the line of a log and what the client raised then."""
        if one.told is None or other.told is None:
            return False
        between = self._text[one.end : other.start]
        if one.told.bare:
            return one.told.status == other.told.status and len(between) < _BELOW
        if one.told.error and one.told.error.kind == "unsaid" and "\n\n" not in between:
            return True
        alike = one.told.status == other.told.status or None in (one.told.status, other.told.status)
        if one.told.log and not exceptions.chained(between):
            return one.told.status == other.told.status and "\n\n" not in between
        return alike and exceptions.chained(between)

    def _without_echoes(self, found: Sequence[_Found]) -> Iterator[_Found]:
        """A ray that belongs to an answer which names it is no answer of its own."""
        named = {
            match["ray"]
            for one in found
            if one.block.form != "ray id"
            for match in RAY.finditer(self._text, one.start, one.end)
        }
        for one in found:
            ray = next(iter(one.block.exchange.headers.get("cf-ray", ())), "")[:16]
            if one.block.form != "ray id" or ray not in named:
                named.add(ray)
                yield one

    def _paragraph_end(self, at: int) -> int:
        """A copied page goes on over an empty line while its ray is still to come."""
        ray = self._next(self._ends_of_rays, at)
        end = self._text.find("\n\n", ray if ray <= at + 1500 else at)
        return len(self._text) if end < 0 else end


def _fuller(one: _Found, other: _Found) -> _Found:
    """The later of two, unless the earlier holds more: a body, or which part of the connection failed."""
    first, second = one.block.exchange, other.block.exchange
    error = first.error if first.error and second.error and first.error.phase else second.error
    keep = first if first.body_bytes and not second.body_bytes else second
    status = second.status or first.status
    if status is None and error is not None:
        keep = replace(keep, error=error)
    elif status is not None:
        keep = replace(keep, status=status, error=None)
    return other._replace(start=one.start, block=Block(other.block.form, keep))


def _longer(made: Exchange, text: str) -> Exchange | None:
    return with_body(made, text) if len(text) > made.body_bytes > 0 else None
