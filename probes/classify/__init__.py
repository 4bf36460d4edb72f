"""What does a pasted error say: who made it, whose move is it, and what is to be done?

A text (response, HAR file, exception, copied page, ticket) becomes one exchange for each answer in it, and each is
attributed like one that was recorded, as far as what was pasted bears it. Nothing is sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from probes import secretive
from probes.classify.blocks import RAY, Block, blocks
from probes.classify.evidence import LACKS, Judge
from probes.classify.pages import Pages, pages
from probes.classify.text import inside_strings
from probes.model import Exchange, Layer, WhoActs
from probes.next_tests import NextTest, of_answer
from probes.own_signatures import catalogue_for
from probes.redact import Redactor
from probes.response import Response
from probes.signatures import catalogue
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.model import Attribution

SCHEMA = "edgeprobe.classify/1"
_ATTRIBUTION = (
    "layer", "product", "code", "vendor_code", "signature", "confidence", "runner_up", "transit", "next_test",
)  # fmt: skip
_NOT_LOOKED_UP = frozenset(
    {"error", "phase", "type", "retry_after", "title", "error_type", "error_name", "message", "location"}
)
_NOTHING_TO_DO = (
    "Nothing, if this is the answer; where somebody still sees an error, ask for what they got instead."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer in the text. `form`: as what it was pasted; `title` and `advice` are never empty."""

    form: str
    exchange: Exchange
    attribution: Attribution
    title: str
    advice: str
    who_acts: WhoActs
    retryable: bool | None
    next_test: NextTest | None = None

    @property
    def lacks(self) -> tuple[str, ...]:
        found: tuple[str, ...] = tuple(self.exchange.conditions.get(LACKS, ()))
        return tuple(name for name in found if name != "end")

    @property
    def looked_up(self) -> list[tuple[str, str]]:
        """(name, value) of what whoever made the answer, or passed it on, finds it by."""
        found = self.attribution.extracted.items()
        return [
            (name.replace("_", " "), value) for name, value in found if name not in _NOT_LOOKED_UP and value
        ]


def classify(data: bytes, target: str | None = None) -> list[Answer]:
    """One answer per response found, in the order of the text; of a HAR file those that failed, or else the API's.

    Where nothing names a layer, what stands escaped in strings of a log or a report is looked at; not what an answer in
    JSON quotes. `target`: the name of the one whose own signatures are asked, too, and that the next test is for.
    """
    answers = _classified(data, target)
    named = any(answer.attribution.layer is not Layer.UNKNOWN for answer in answers)
    if not (named or any(map(_is_data, answers))) and (inside := inside_strings(data)) is not None:
        quoted = _classified(inside.encode("utf-8", "replace"), target)
        named = any(one.attribution.layer is not Layer.UNKNOWN for one in quoted)
        answers = quoted if named or not answers else answers
    return answers


def _is_data(answer: Answer) -> bool:
    return answer.exchange.status is not None and Response.of(answer.exchange).data


def _classified(data: bytes, target: str | None) -> list[Answer]:
    copied = pages()
    found = blocks(data, copied)
    redactor = Redactor(_secrets(found))
    judge = _judge(copied) if target is None else Judge(catalogue_for(target), copied.as_text)
    answers: list[Answer] = []
    since = 0
    for block in found:
        if block.start >= since:
            answer, whole = _answer(block, judge, redactor, target)
            since = block.until if whole else since
            answers.append(answer)
    if any(answer.form.startswith("HAR") for answer in answers):
        failed = [answer for answer in answers if _went_wrong(answer)]
        return failed or [answer for answer in answers if answer.attribution.code == "ok"]
    return answers


def to_document(answers: Iterable[Answer]) -> dict[str, Any]:
    """`edgeprobe.classify/1`, which has no key for what an answer can be looked up by: that ends the advice."""
    return {"schema": SCHEMA, "blocks": [_block(answer) for answer in answers]}


def _block(answer: Answer) -> dict[str, Any]:
    row = {name: getattr(answer.attribution, name) for name in _ATTRIBUTION}
    row["transit"] = list(answer.attribution.transit)
    row["next_test"] = answer.next_test and str(answer.next_test)
    by = "; ".join(f"{name} {value}" for name, value in answer.looked_up)
    said = {
        "title": answer.title,
        "advice": f"{answer.advice} Look up: {by}" if by else answer.advice,
        "retryable": answer.retryable,
        "who_acts": answer.who_acts,
    }
    return row | said


@lru_cache
def _judge(copied: Pages) -> Judge:
    return Judge(catalogue(), copied.as_text)


def _answer(block: Block, judge: Judge, redactor: Redactor, target: str | None) -> tuple[Answer, bool]:
    """And whether it is about what follows, too."""
    found, exchange = judge.attribute(block.exchange), block.exchange
    if block.longer is not None and found.layer is Layer.UNKNOWN:
        longer = judge.attribute(block.longer)
        if longer.layer is not Layer.UNKNOWN:
            found, exchange = longer, block.longer
    extracted = _by_ray(exchange) | dict(found.extracted)
    found = replace(
        found,
        extracted={name: redactor.text(value) for name, value in extracted.items()},
        vendor_code=found.vendor_code and redactor.text(found.vendor_code),
    )
    if found.code == "ok":
        found = replace(found, advice=_NOTHING_TO_DO)
    row, shown = vocabulary()[found.code], replace(_redacted(exchange, redactor), attribution=found)
    answer = Answer(
        block.form,
        shown,
        found,
        row.title,
        found.advice or row.advice,
        found.who_acts or row.who_acts,
        None if found.code == "ok" else found.retryable,
        of_answer(found.next_test, shown.request.url, target) if found.next_test else None,
    )
    return answer, exchange is block.longer


def _by_ray(exchange: Exchange) -> dict[str, str]:
    """Every answer that came through Cloudflare can be looked up, whoever made it."""
    match = RAY.fullmatch(exchange.header("cf-ray") or "")
    return (
        {name: value for name, value in zip(("ray", "colo"), match.groups(), strict=True) if value}
        if match
        else {}
    )


def _redacted(exchange: Exchange, redactor: Redactor) -> Exchange:
    error = exchange.error
    return replace(
        exchange,
        request=replace(exchange.request, url=redactor.text(exchange.request.url), headers=()),
        headers=redactor.tree(exchange.headers),
        body_head=redactor.data(exchange.body_head),
        body_tail=redactor.data(exchange.body_tail),
        facts={},
        error=error and replace(error, text=redactor.text(error.text)),
    )


def _secrets(found: Iterable[Block]) -> set[str]:
    """What stands in the headers of pasted requests, alone and without the scheme: a server may echo it."""
    values = {
        value
        for block in found
        for name, value in block.exchange.request.headers
        if name.lower() in secretive.HEADERS
    }
    return (
        values | {value.partition(" ")[2] for value in values} | {value.partition("=")[2] for value in values}
    )


def _went_wrong(answer: Answer) -> bool:
    """A failed entry by its status, or by what it holds where the API was asked."""
    status = answer.exchange.status
    if status is None or status >= 400:
        return True
    refused = answer.attribution.code.startswith(("blocked", "challenged"))
    api = answer.exchange.conditions.get("api", False)
    return refused or (bool(api) and answer.attribution.code not in {"ok", "not_told"})
