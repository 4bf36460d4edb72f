"""`plan --monthly` and `report RUN --cost`: whose tokens, at whose prices?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes import outputs
from probes.bill import NOT_TOLD, Month, Range, Traffic, document
from probes.bill.usage import EXAMPLE, REQUESTS, of_run, taken
from probes.bill.words import told
from probes.errors import UsageError
from probes.prices import prices
from probes.target_rules import NO_PRICE

if TYPE_CHECKING:
    from argparse import Namespace

    from probes.bill.usage import Used
    from probes.model import Run, Target

_FLAGS = {
    "requests_per_month": "--requests-per-month",
    "prompt_tokens": "--prompt-tokens",
    "cached_share": "--cached-share",
    "output_tokens": "--output-tokens",
}


def check(arguments: Namespace, switch: str, *others: str) -> None:
    """Raises UsageError for a flag of a bill where `switch` asks for none, and for one of `others` beside it."""
    if getattr(arguments, switch):
        for flag in others:
            if getattr(arguments, flag) not in (None, False):
                raise UsageError(f"--{switch} and --{flag} exclude each other")
        return
    if switch == "monthly" and arguments.json is not None:
        raise UsageError("--json: goes with --monthly")
    for name, flag in _FLAGS.items():
        if getattr(arguments, name) is not None:
            raise UsageError(f"{flag}: goes with --{switch}")


def show(month: Month, arguments: Namespace) -> None:
    """To whoever reads, and to the file of `--json`."""
    outputs.person(arguments).writelines(f"{line}\n" for line in told(month))
    if arguments.json is not None:
        outputs.write_json(document.text(month), arguments.json)


def monthly(arguments: Namespace, target: Target) -> Month:
    """Of what the flags say: a plan has not seen a request."""
    for name in ("prompt_tokens", "output_tokens"):
        if getattr(arguments, name) is None:
            raise UsageError(
                f"{_FLAGS[name]} is missing: a plan knows nothing of your requests; `report RUN --cost` takes it from a run"
            )
    return _month(arguments, target, None)


def of_stored(arguments: Namespace, run: Run) -> Month:
    """Of the run's own usage, where the flags do not say otherwise."""
    seen = of_run(run)
    if seen is None and (arguments.prompt_tokens is None or arguments.output_tokens is None):
        raise UsageError(
            f"--cost: no good answer of {run.id} told its usage; say --prompt-tokens N and --output-tokens N"
        )
    return _month(arguments, run.target, seen)


def _month(arguments: Namespace, target: Target, seen: Used | None) -> Month:
    price = prices(target)
    if price is None:
        raise UsageError(NO_PRICE.format(model=target.model).replace("output: …}", "output: …, cached: …}"))
    requests = arguments.requests_per_month
    notes = [] if requests is not None else [EXAMPLE]
    prompt, output = arguments.prompt_tokens, arguments.output_tokens
    if arguments.cached_share is not None:
        cached = Range(arguments.cached_share, arguments.cached_share)
    else:
        # Of a prompt that the flags say, the run's prompts know nothing.
        cached = seen.cached if seen is not None and prompt is None else NOT_TOLD
    if seen is not None and (prompt is None or output is None):
        notes.append(taken(seen))
    traffic = Traffic(
        requests=requests or REQUESTS,
        prompt=seen.prompt if prompt is None and seen is not None else float(prompt),
        output=seen.output if output is None and seen is not None else float(output),
        cached=cached,
    )
    return Month(traffic, price, target, tuple(notes))
