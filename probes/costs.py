"""What does a request cost: at the most, and as it was answered?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from probes.attempts import attempts
from probes.model import Ask, Layer
from probes.samples import prompt

if TYPE_CHECKING:
    from probes.ledger import Cost
    from probes.model import Call, Exchange, Trial

PROMPT_TOKENS = 80
TEMPLATE_TOKENS = 400
"""That a server's own chat template and system prompt may add to a prompt of ours."""
FILLER_BYTES = 6
"""Of neutral text for each token that is wanted of it: its words are one token or two."""
_FEWEST_BYTES = 4
"""A token of such text has at the least."""
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_UNCAPPED = 4096
"""Tokens that an answer may have of a request that was told without a cap."""
COUNTED_APART = 16
"""Tokens by which a gateway that counts with another tokenizer may differ from the model's own count."""
_REDIRECTS = range(300, 400)
_TURNED_AWAY = frozenset(range(400, 500)) - {408, 499} | {503, 529}
"""Said before inference. Not 408 and 499: gateways say those of an answer that took too long to be made."""
_ORIGIN_NOT_REACHED = frozenset({521, 522, 523, 525, 526, 530})
"""Of an edge that could not hand the request over. Not 502 and 520, that also follow on an answer that broke off."""


def of_filler(tokens: int) -> int:
    """Tokens, at the most, that a filler asked for at this length is booked as."""
    return -(-tokens * FILLER_BYTES // _FEWEST_BYTES)


def worst_case(trial: Trial) -> tuple[int, int]:
    """(input, output) tokens that one request of a trial can cost at the most, by the size of our prompts and its cap."""
    request = trial.request
    if not isinstance(request, Ask) or request.endpoint == "models" or request.fetches is not None:
        return 0, 0
    if request.given is not None:
        caps = [cap for name in _CAPS if isinstance(cap := request.given.get(name), int)]
        return len(json.dumps(request.given)) // _FEWEST_BYTES + TEMPLATE_TOKENS, max(caps, default=_UNCAPPED)
    filler = of_filler(request.prompt_tokens)
    return (1 if request.recipe == "invalid" else PROMPT_TOKENS + filler), request.cap


def over_cap(trial: Trial, call: Call) -> tuple[int, int] | None:
    """The (input, output) tokens that a call was counted with, where they are more than was reserved for it.

    Beyond what templates and tokenizers explain: those few are within what the budget settles afterwards.
    """
    seen = used(call.last.facts.get("usage")) if call.last is not None else None
    if seen is None or not isinstance(trial.request, Ask) or trial.request.fetches is not None:
        return None
    if trial.request.given is not None:
        return None  # what it says is not ours
    input_tokens, output_tokens = worst_case(trial)
    above = seen[0] > input_tokens + TEMPLATE_TOKENS or seen[1] > output_tokens + COUNTED_APART
    return seen if above else None


def most_of(trial: Trial) -> Cost:
    """What a trial can cost at the most, with the retries of an SDK that is left them."""
    times, (input_tokens, output_tokens) = attempts(trial), worst_case(trial)
    return times, times * input_tokens, times * output_tokens


def charged(trial: Trial, call: Call) -> tuple[int, int]:
    """(input, output) tokens that a call is settled with."""
    bought = call.exchanges if trial.retries else call.exchanges[-1:]  # a redirect costs no tokens
    each = [_paid(trial, exchange) for exchange in bought]
    return sum(tokens[0] for tokens in each), sum(tokens[1] for tokens in each)


def _paid(trial: Trial, exchange: Exchange) -> tuple[int, int]:
    """(input, output) tokens that one request is settled with."""
    if isinstance(trial.request, Ask) and trial.request.fetches is not None:
        return 0, 0  # its usage is that of the request that it was made for
    nothing = free(exchange) or (trial.retries and (exchange.status or 0) in _REDIRECTS)
    return used(exchange.facts.get("usage")) or ((0, 0) if nothing else worst_case(trial))


def free(exchange: Exchange) -> bool:
    """Nothing was generated for it: turned away, not handed over to the origin, or never sent whole.

    Counted at its worst, an outage of some hours would use up the day's budget of a canary, which is then blind. What
    ended any other way may have been generated and lost on its way.
    """
    if exchange.status is None:
        return exchange.timeline.upload_end is None
    made = exchange.attribution
    if made is not None and made.code.startswith("timeout."):  # as some caches' 503
        return False
    not_reached = made is not None and made.code == "unreachable.origin" and made.layer is Layer.EDGE
    return exchange.status in _TURNED_AWAY or (not_reached and exchange.status in _ORIGIN_NOT_REACHED)


def used(usage: Any) -> tuple[int, int] | None:
    """(input, output) tokens of a usage object in either dialect; `None` where it counts neither. Of the cache, too, which
    Anthropic counts apart.
    """
    if not isinstance(usage, dict):
        return None
    counts = [
        next((n for name in names if type(n := usage.get(name)) is int and n >= 0), None)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]
    return None if counts == [None, None] else (prompt(usage).tokens or counts[0] or 0, counts[1] or 0)
