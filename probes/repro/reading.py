"""What was given: a request as somebody told it, a bundle, or a text without any?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from probes import pasted_file
from probes.bundles import reading as bundles
from probes.classify import classify
from probes.classify.har import entries
from probes.errors import UsageError
from probes.imports import curl, har, raw_request, sdk_call
from probes.imports.private import without_keys
from probes.imports.taken import Taken

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from probes.classify import Answer
    from probes.complaint import Told
    from probes.model import Run

_MOST_MIB = 64
_FORMS = ("curl", "har", "request", "sdk_call")
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Given:
    """`told`: `None` where the text holds no request, and then `answers` are what else it holds. `before`: the run of a
    bundle. `name`: of the file, for people.
    """

    name: str
    taken: Taken
    told: Told | None = None
    answers: Sequence[Answer] = field(default=())
    before: Run | None = None


def given(arguments: Namespace, api: str | None, base_url: str | None) -> Given:
    """Raises UsageError that begins with the file. `api`, `base_url`: of the target, where the flags say them."""
    form, name = _named(arguments)
    taken = Taken()
    try:
        return _read(form, name, arguments.entry, taken, (api, base_url))
    except UsageError as fault:
        said = str(fault)  # that of a bundle begins with it
        raise UsageError(taken.hidden(said if said.startswith(f"{name}: ") else f"{name}: {said}")) from None


def _named(arguments: Namespace) -> tuple[str | None, str]:
    """The form, `None` where the text has to show it, and the file."""
    said = [(form, getattr(arguments, form)) for form in _FORMS if getattr(arguments, form) is not None]
    if len(said) + (arguments.file is not None) != 1:
        flags = ", ".join(f"--{form.replace('_', '-')} FILE" for form in _FORMS)
        raise UsageError(f"repro: takes one complaint: {flags}, or a FILE, which may be a bundle")
    return said[0] if said else (None, arguments.file)


def _read(
    form: str | None, name: str, entry: int | None, taken: Taken, known: tuple[str | None, str | None]
) -> Given:
    data = pasted_file.read(name, _MOST_MIB, "request")
    if form is None and data.startswith(_ZIP):
        if name == "-":
            raise UsageError("a bundle is read from a file")
        return Given(name, taken, bundles.told(name), before=bundles.run(name))
    text = data.decode("utf-8", "surrogateescape")
    form = form or _form(text)
    folder = None if name == "-" else Path(name).parent
    told: Told | None = None
    if form == "curl":
        told = curl.told(text, taken, entry, folder)
    elif form == "har":
        told = har.told(text, taken, entry)
    elif form == "request":
        told = raw_request.told(text, taken, entry)
    elif form == "sdk_call":
        told = sdk_call.told(text, taken, api=known[0], base_url=known[1])
    if entry is not None and form in {"sdk_call", None}:
        raise UsageError("--entry: there is nothing to choose from")
    answers = [] if form == "har" else classify(data)
    if told is None and not answers:
        raise UsageError("holds neither a request nor an error")
    if told is not None and told.seen is None:
        told = replace(told, seen=_seen(answers, taken))
    return Given(name, taken, told, answers)


def _form(text: str) -> str | None:
    """As which form a text is to be read; `None` where no request stands in it."""
    if entries(text):
        return "har"
    if curl.holds_one(text):
        return "curl"
    if raw_request.holds_one(text):
        return "request"
    bare = text.strip()
    return "sdk_call" if bare.startswith("{") and bare.endswith("}") and '"arguments"' in bare else None


def _seen(answers: Sequence[Answer], taken: Taken) -> str | None:
    """The first answer beside the request that is told, in words."""
    for answer in answers:
        if answer.attribution.code in {"ok", "not_told"}:
            continue
        made = answer.attribution
        by = " ".join(part for part in (made.product, made.vendor_code) if part)
        ids = [f"{name} {value}" for name, value in answer.looked_up]
        status = str(answer.exchange.status or "")
        said = " ".join(part for part in (status, by) if part)
        return taken.hidden(without_keys(", ".join(part for part in (said, answer.title, *ids) if part)))
    return None
