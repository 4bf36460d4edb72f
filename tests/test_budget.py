"""Does the Governor keep what a run may cost, and the server's own wishes?"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from exchanges import exchange
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attempts import ATTEMPTS
from probes.attribution import attribute
from probes.budget import MAX_HOPS, MAX_WAIT, MAX_WAITS, Governor, over_cap, worst_case
from probes.clock import Clock
from probes.model import (
    Ask,
    Budget,
    Call,
    Exchange,
    Limits,
    NotSent,
    Prices,
    Raw,
    Route,
    Spend,
    Target,
    Timeline,
    Trial,
    WireRequest,
)
from probes.signatures import catalogue

BUDGET, PAUSED = NotSent.BUDGET, NotSent.PAUSED
SCALE = 0.01
HELLO = sum(worst_case(Trial("a", "c", "edge", Ask("chat"))))


def governor(requests=None, tokens=None, scale=SCALE, usd=None, prices=None, **limits):
    routes = {"edge": Route("edge", "http://x/v1")}
    budget = Budget(requests, tokens, usd)
    target = Target("t", "openai", "m", routes, limits=Limits(**limits), budget=budget, prices=prices)
    return Governor(target, Clock(scale))


def trial(pair=None, cap=16, **ask):
    return Trial("a", "c", "edge", Ask("chat", cap=cap, **ask), pair=pair)


def call(of, status=200, usage=None, headers=(), exchanges=1, upload_end=0.1):
    exchange = Exchange(
        id="e", request=WireRequest("POST", "http://x", (), 0, None, None), status=status,
        headers={name: [value] for name, value in headers}, body_head=b"", body_tail=b"", body_bytes=0,
        body_digest=None, body_encoding=None, timeline=Timeline(upload_end=upload_end), facts={"usage": usage},
    )  # fmt: skip
    return Call(id="c", case="s/k", trial=of, repeat=0, exchanges=(exchange,) * exchanges)


@pytest.mark.parametrize(
    ("request_", "cost"),
    [
        (Ask("chat", cap=16), (80, 16)),
        (Ask("messages", recipe="count", cap=900), (80, 900)),
        (Ask("chat", recipe="invalid", cap=1), (1, 1)),
        (Ask("chat", recipe="count", cap=9, prompt_tokens=1000), (1580, 9)),
        (Ask("models"), (0, 0)),
        (Raw("GET", "/"), (0, 0)),
    ],
    ids=["hello", "count", "a long prompt", "refused by type", "models", "raw"],
)
def test_worst_case(request_, cost):
    """By the size of our prompts and the cap."""
    assert worst_case(Trial("a", "c", "edge", request_)) == cost


@pytest.mark.parametrize(
    ("requests", "tokens", "pairs", "expected"),
    [
        (None, None, [None] * 3, [None] * 3),
        (2, None, [None] * 3, [None, None, BUDGET]),
        (0, None, [None], [BUDGET]),
        (None, 2 * HELLO, [None] * 3, [None, None, BUDGET]),
        (None, HELLO - 1, [None], [BUDGET]),
        (3, None, ["p", "p", "q", "q"], [None, None, BUDGET, BUDGET]),
        (3, None, ["p", "q", "p", "q"], [None, BUDGET, None, BUDGET]),
        (3, None, ["p", "p", "q", "q", None], [None, None, BUDGET, BUDGET, None]),
        (None, 3 * HELLO, ["p", "p", "q", "q"], [None, None, BUDGET, BUDGET]),
    ],
    ids=[
        "unlimited", "requests", "none at all", "tokens", "one too dear", "pairs", "pairs interleaved",
        "a single after a pair", "pairs by tokens",
    ],
)  # fmt: skip
def test_what_is_bought(requests, tokens, pairs, expected):
    """Each trial at its worst case; the trials of a pair together or not at all."""
    guard = governor(requests, tokens)
    assert guard.reserve([trial(pair) for pair in pairs]) == expected
    assert guard.spend.requests == expected.count(None)
    assert guard.spend.input_tokens + guard.spend.output_tokens == expected.count(None) * HELLO


@pytest.mark.parametrize(
    ("answer", "spend"),
    [
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 3}}, Spend(1, 9, 3)),
        ({"usage": {"input_tokens": 9, "output_tokens": 3}}, Spend(1, 9, 3)),
        ({"usage": {"prompt_tokens": 9}}, Spend(1, 9, 0)),
        ({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, Spend(1, 0, 0)),
        ({"usage": None}, Spend(1, 80, 16)),
        ({"usage": {}}, Spend(1, 80, 16)),
        ({"usage": {"prompt_tokens": None, "completion_tokens": "3"}}, Spend(1, 80, 16)),
        ({"usage": {"prompt_tokens": -5}}, Spend(1, 80, 16)),
        ({"status": 400}, Spend(1, 0, 0)),
        ({"status": 429}, Spend(1, 0, 0)),
        ({"status": 404, "usage": {"prompt_tokens": 9, "completion_tokens": 3}}, Spend(1, 9, 3)),
        ({"status": 500}, Spend(1, 80, 16)),
        ({"status": 524}, Spend(1, 80, 16)),
        ({"status": None}, Spend(1, 80, 16)),
        ({"status": None, "upload_end": None}, Spend(1, 0, 0)),
        ({"exchanges": 0}, Spend(0, 0, 0)),
    ],
    ids=[
        "openai", "anthropic", "input alone", "zero", "no usage", "empty usage", "usage without counts",
        "negative", "refused", "limited", "refused with usage", "server error", "edge time-out", "no answer",
        "not sent whole", "never sent",
    ],
)  # fmt: skip
def test_settling(answer, spend):
    """By the usage reported; what was turned away is free; else the worst case stands."""
    guard = governor()
    one = trial()
    guard.reserve([one])
    guard.settle(one, call(one, **answer))
    assert guard.spend == spend


EDGE = {"server": "cloudflare", "cf-ray": "9f140b785e57c458-FRA", "content-type": "text/plain"}
FASTLY = "<h1>Error 503 first byte timeout</h1><p>first byte timeout</p><h3>Error 54113</h3><p>Details: cache-fra</p>"
ENDED = {
    # what came → whether nothing was generated for it
    **{f"{n}": ({"status": n}, True) for n in (400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 503, 529)},
    **{f"{n}": ({"status": n}, False) for n in (200, 408, 499, 500, 502, 504, 520, 521, 522, 523, 524, 530)},
    "a challenge": ({"status": 403, "headers": {**EDGE, "cf-mitigated": "challenge"}}, True),
    **{
        f"{n} of the edge": ({"status": n, "headers": EDGE, "body": f"error code: {n}"}, n not in {502, 520, 524})
        for n in (502, 520, 521, 522, 523, 524, 525, 526, 530)
    },
    "no tunnel": ({"status": 530, "headers": EDGE, "body": "error code: 1033"}, True),
    "a 503 that is a time-out": ({"status": 503, "body": FASTLY}, False),
    "a 503 with usage": ({"status": 503, "facts": {"usage": {"prompt_tokens": 9}}}, False),
    "a 529 of the model": (
        {"status": 529, "body": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}},
        True,
    ),
    "no answer": ({"status": None, "error": ("timeout", "headers")}, False),
    "a stream cut": ({"status": 200, "error": ("closed", "body"), "facts": {"stream": True}}, False),
}  # fmt: skip


@pytest.mark.parametrize(("came", "nothing"), ENDED.values(), ids=ENDED)
def test_what_generated_nothing_costs_no_tokens(came, nothing):
    """By its status, and where an edge tells that it could not hand it over; else it is counted at its worst."""
    guard, one = governor(), trial()
    answer = exchange(**came)
    answer = replace(answer, timeline=replace(answer.timeline, upload_end=0.1))
    answer = replace(answer, attribution=attribute(answer, catalogue()))
    guard.reserve([one])
    guard.settle(one, replace(call(one), exchanges=(answer,)))
    spent = guard.spend
    assert (spent.input_tokens + spent.output_tokens == 0) is nothing


def test_a_trial_that_is_not_admitted_costs_nothing():
    """A pause that came after the reservation gives it back."""
    guard = governor()
    one = trial()
    guard.reserve([one, one])
    guard.settle(one, call(one, 429, headers=[("retry-after", "60")]))
    with guard.admitted(one) as why:
        assert why is PAUSED
    assert guard.spend == Spend(1, 0, 0)
    assert guard.reserve([one]) == [PAUSED]


@pytest.mark.parametrize(
    ("status", "value", "waited"),
    [
        (429, "2", 2.0),
        (503, "1.5", 1.5),
        (529, "3", 3.0),
        (429, "0", 0.0),
        (429, None, 0.0),
        (429, "soon", 0.0),
        (429, "Mon, 99 Foo 2026", 0.0),
        (500, "2", 2.0),
        (403, "1", 1.0),
        (302, "2", 0.0),
        (200, "2", 0.0),
        (429, "6", None),
        (429, "3600", None),
        (429, "Fri, 31 Dec 2100 23:59:59 GMT", None),
        (429, "Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
    ],
    ids=[
        "seconds", "fraction", "overloaded", "at once", "no header", "nonsense", "nonsense date", "other 5xx",
        "4xx", "redirect",
        "success", "longer than one may be", "an hour", "a date to come", "a date gone by",
    ],
)  # fmt: skip
def test_retry_after(status, value, waited):
    """Waited for where it fits, else nothing more is sent in this run (`None`)."""
    guard = governor()
    one = trial()
    guard.reserve([one, one])
    guard.settle(one, call(one, status, headers=[("retry-after", value)] if value else []))
    began = time.monotonic()
    with guard.admitted(one) as why:
        took = (time.monotonic() - began) / SCALE
    assert why is (PAUSED if waited is None else None)
    assert (waited or 0.0) <= took + 0.001 < (waited or 0.0) + 3


def test_a_long_wait_asked_for_one_request_holds_back_only_that_one():
    """A 524 that says 120 s is not asked again at once; what else the run asks still is."""
    guard = governor()
    one, other = trial(stream=False), trial(stream=True)
    guard.settle(one, call(one, 524, headers=[("retry-after", "120")]))
    assert guard.reserve([one, other, replace(one, client="d")]) == [PAUSED, None, None]
    pair = [replace(one, pair="p"), replace(other, pair="p")]
    assert guard.reserve(pair) == [PAUSED, PAUSED]
    guard.settle(other, call(other, 503, headers=[("retry-after", "120")]))
    assert guard.reserve([other]) == [PAUSED]


def test_a_redirect_followed_is_a_request():
    """It is counted when it is sent, and not sent over the budget."""
    guard = governor(requests=3)
    assert guard.reserve([trial()]) == [None]
    hop = guard.hops()
    assert [hop(), hop(), hop()] == [None, None, "the budget of requests is used up"]
    assert guard.spend.requests == 3
    assert guard.reserve([trial()]) == [BUDGET]


def test_an_sdk_with_its_own_retries_is_bought_with_all_of_them():
    """Or not at all; the attempts that it did not make are given back, those it made are paid each."""
    one = replace(trial(cap=20), retries=True)
    assert governor(requests=ATTEMPTS - 1).reserve([one]) == [BUDGET]
    assert governor(tokens=ATTEMPTS * 100 - 1).reserve([one]) == [BUDGET]
    guard = governor(requests=ATTEMPTS, tokens=ATTEMPTS * 100)
    assert guard.reserve([one]) == [None]
    assert (guard.spend.requests, guard.spend.output_tokens) == (ATTEMPTS, ATTEMPTS * 20)
    hop = guard.hops(ATTEMPTS)
    assert [hop() for _ in range(ATTEMPTS)] == [None, None, "the budget of requests is used up"]
    made = call(one, 504, exchanges=2)
    guard.settle(one, made)
    assert (guard.spend.requests, guard.spend.output_tokens) == (2, 2 * 20)


@pytest.mark.parametrize(
    ("statuses", "usage", "tokens"),
    [
        ((504, 504, 504), None, 60),
        ((429, 429, 200), {"completion_tokens": 7}, 7),
        ((307, 200, 200), None, 40),
        ((), None, 0),
    ],
    ids=["at the worst", "refused, then counted", "a redirect", "not sent"],
)
def test_each_attempt_is_settled_by_itself(statuses, usage, tokens):
    """A refusal or a redirect costs nothing, an answer what it counts, and else the worst case."""
    guard, one = governor(), replace(trial(cap=20), retries=True)
    assert guard.reserve([one]) == [None]
    seen = [call(one, status, usage if status == 200 else None).exchanges[0] for status in statuses]
    guard.settle(one, replace(call(one), exchanges=tuple(seen)))
    assert (guard.spend.requests, guard.spend.output_tokens) == (len(statuses), tokens)


def test_redirects_of_one_call_are_bounded():
    """Another call has its own."""
    guard = governor()
    hop = guard.hops()
    assert [hop() for _ in range(MAX_HOPS + 1)] == [None] * MAX_HOPS + [
        "more than 5 redirects are not followed"
    ]
    assert guard.hops()() is None
    assert guard.spend.requests == MAX_HOPS + 1


SHOWN = {
    "a 521 that was asked for": (521, 521, None),
    "a 429 that was asked for": (429, 429, None),
    "a 530 in the place of a 403": (403, 530, None),
    "a 429 in the place of a 524": (524, 429, PAUSED),
    "a 503 in the place of a 524": (524, 503, PAUSED),
    "a 521 that nobody asked for": (None, 521, PAUSED),
}


@pytest.mark.parametrize(("shows", "status", "then"), SHOWN.values(), ids=SHOWN)
def test_the_wait_on_a_page_that_was_asked_for_is_not_meant(shows, status, then):
    """It belongs to the page; one that came instead of it is meant."""
    gov = governor()
    asked = Trial("a", "c", "edge", Raw("GET", "/cdn-cgi/error/1", shows=shows))
    assert gov.reserve([asked]) == [None]
    gov.settle(asked, call(asked, status, headers=[("retry-after", "120")]))
    assert gov.reserve([asked]) == [then]


def test_after_a_pause_no_redirect_is_followed():
    """The server asked not to be asked."""
    guard = governor()
    guard.settle(trial(), call(trial(), 503, headers=[("retry-after", "3600")]))
    assert "pause" in guard.hops()()


def test_all_waits_of_a_run_are_bounded():
    """The third time that the server asks for most of what one pause may be, the run pauses for good."""
    guard = governor()
    one = trial()
    assert MAX_WAITS == 2 * MAX_WAIT
    for expected in (None, None, PAUSED):
        assert guard.reserve([one]) == [None]
        guard.settle(one, call(one, 429, headers=[("retry-after", "4")]))
        with guard.admitted(one) as why:
            assert why is expected
    assert guard.pause == (
        "the 429 before it asked for a pause of 4 s, which with those before it is longer than the 10 s that a run waits in all"
    )


def test_the_same_pause_told_by_several_answers_counts_once():
    """Four lanes that are refused at once ask for one wait, not for four."""
    guard = governor(scale=0.05)
    one = trial()
    for _ in range(6):
        guard.settle(one, call(one, 429, headers=[("retry-after", "2")]))
    with guard.admitted(one) as why:
        assert why is None


def test_requests_per_minute():
    """The third of two a minute waits for the first to be a minute old."""
    guard = governor(scale=0.005, per_minute=2)
    times = []
    for _ in range(3):
        with guard.admitted(trial()) as why:
            assert why is None
            times.append(time.monotonic())
    assert times[1] - times[0] < 0.1
    assert times[2] - times[0] >= 0.299


def test_concurrency():
    """Never more at once than the target allows."""
    guard = governor(concurrency=3)
    lock, inside, most = threading.Lock(), 0, 0

    def send(_):
        nonlocal inside, most
        with guard.admitted(trial()):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.01)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(send, range(24)))
    assert most == 3


def test_threads_cannot_overdraw_a_budget():
    """Reservations and settlements from many threads: never more than the ceiling is out at once."""
    ceiling = 10 * HELLO
    guard = governor(tokens=ceiling, concurrency=16)
    over = []

    def spend(_):
        one = trial()
        if guard.reserve([one]) == [None]:
            now = guard.spend
            over.append(now.input_tokens + now.output_tokens > ceiling)
            used = {"prompt_tokens": worst_case(one)[0], "completion_tokens": worst_case(one)[1]}
            guard.settle(one, call(one, usage=used))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(spend, range(400)))
    assert guard.spend == Spend(10, 800, 160)
    assert not any(over)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 400), st.sampled_from([None, "p", "q"])), max_size=12))
def test_no_reservation_exceeds_the_budget(wanted):
    """Whatever is asked for, in whichever pairs."""
    guard = governor(requests=5, tokens=900)
    trials = [trial(pair, cap) for cap, pair in wanted]
    refused = guard.reserve(trials)
    spend = guard.spend
    assert spend.requests <= 5
    assert spend.input_tokens + spend.output_tokens <= 900
    for pair in ("p", "q"):
        assert len({why for one, why in zip(trials, refused, strict=True) if one.pair == pair}) <= 1


def test_the_last_exchange_is_what_counts():
    """After a redirect the answer is that of the last hop."""
    guard = governor()
    one = trial()
    guard.reserve([one])
    hop, end = call(one, 307), call(one, usage={"prompt_tokens": 1, "completion_tokens": 1})
    guard.settle(one, replace(end, exchanges=(*hop.exchanges, *end.exchanges)))
    assert guard.spend == Spend(1, 1, 1)


# --- money -----------------------------------------------------------------------------------------------

DEAR = Prices(input=100.0, output=1000.0)
ONE = (80 * 100 + 16 * 1000) / 1e6
"""What one trial can cost at the most, in dollars."""


@pytest.mark.parametrize(
    ("usd", "pairs", "expected"),
    [
        (None, [None] * 3, [None] * 3),
        (2.01 * ONE, [None] * 3, [None, None, BUDGET]),
        (0.99 * ONE, [None], [BUDGET]),
        (0.0, [None], [BUDGET]),
        (3.01 * ONE, ["p", "p", "q", "q"], [None, None, BUDGET, BUDGET]),
    ],
    ids=["unlimited", "two of three", "one too dear", "nothing", "pairs"],
)
def test_money_is_reserved_at_its_worst(usd, pairs, expected):
    """Input and output each at its price, before anything is sent."""
    guard = governor(usd=usd, prices=DEAR)
    assert guard.reserve([trial(pair) for pair in pairs]) == expected
    assert guard.spend.usd == pytest.approx(expected.count(None) * ONE)


def test_money_is_settled_by_usage():
    """What was reserved and not used can be spent again; without a price there is no figure."""
    guard, unpriced = governor(usd=1.01 * ONE, prices=DEAR), governor()
    one = trial()
    for keeper in (guard, unpriced):
        assert keeper.reserve([one]) == [None]
        keeper.settle(one, call(one, usage={"prompt_tokens": 9, "completion_tokens": 2}))
    assert guard.spend.usd == pytest.approx((9 * 100 + 2 * 1000) / 1e6)
    assert guard.reserve([one]) == [BUDGET]
    assert unpriced.spend.usd is None


def test_money_without_a_price_is_not_spent():
    """A budget that cannot be counted buys nothing."""
    assert governor(usd=5.0).reserve([trial()]) == [BUDGET]


# --- usage above what was reserved -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "stops"),
    [
        ({"prompt_tokens": 80, "completion_tokens": 16}, False),
        ({"prompt_tokens": 9, "completion_tokens": 33}, True),
        ({"input_tokens": 9, "output_tokens": 500}, True),
        ({"prompt_tokens": 480, "completion_tokens": 16}, False),
        ({"prompt_tokens": 481, "completion_tokens": 1}, True),
        ({"prompt_tokens": 9, "completion_tokens": 18}, False),
        (None, False),
    ],
    ids=[
        "as reserved",
        "output",
        "output, anthropic",
        "a template",
        "no template",
        "another tokenizer",
        "no usage",
    ],
)
def test_usage_above_the_reservation_stops_the_run(usage, stops):
    """Nothing more is bought, and what was bought and not sent is given back; the usage itself is counted."""
    guard = governor()
    one = trial()
    guard.reserve([one, one])
    answered = call(one, usage=usage)
    guard.settle(one, answered)
    with guard.admitted(one) as why:
        assert why is (BUDGET if stops else None)
    assert guard.reserve([one]) == [BUDGET if stops else None]
    assert (over_cap(one, answered) is not None) is stops
    if stops:
        used = (
            usage.get("prompt_tokens") or usage["input_tokens"],
            usage.get("completion_tokens") or usage["output_tokens"],
        )
        assert guard.spend == Spend(1, *used)


@pytest.mark.parametrize(
    ("limits", "cap"),
    [
        ({}, 900),
        ({"tokens": 2 * 80 + 2 * 500}, 500),
        ({"tokens": 2 * 80 + 1}, 0),
        ({"requests": 1}, 0),
        ({"usd": 2 * 80e-6 + 2 * 300 * 2e-6 + 1e-9, "prices": Prices(1.0, 2.0)}, 300),
    ],
    ids=["no ceiling", "tokens", "not even one", "requests", "money"],
)
def test_the_largest_cap_that_is_borne(limits, cap):
    """Both trials of a pair could be bought with it, and with one token more they could not."""
    held = governor(**limits)
    pair = [trial("p", 900), trial("p", 900)]
    assert held.most(pair) == cap
    if cap:
        assert held.reserve([trial("p", cap)] * 2) == [None, None]
    assert held.most([trial("p", 0)]) == 0
