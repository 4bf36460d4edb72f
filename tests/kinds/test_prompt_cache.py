"""The prompt cache by two evidences: what usage reports, and how soon the first token comes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from canned import CURL, HTTPX, OPENAI, answer, as_text, attributed, case, exchange, told

from probes.kinds import KINDS
from probes.kinds.prompt_cache.evidence import rate
from probes.kinds.prompt_cache.trials import Asked, Prefix, Trials
from probes.model import Ask, Call, Confidence, Factor, NotSent, Reason, Route, Timeline, Verdict
from probes.runner import worst

LEAST = 1024
PREFILL = 0.0005
"""Seconds a token."""


@dataclass
class World:
    """A server with a prompt cache. `tells`: what usage says, by the hit's tokens, the prompt's and whether it streams."""

    works: bool = True
    tells: str = "always"
    saves: bool = True
    minimum: int = LEAST
    replicas: int = 1
    by: str = "chance"
    holds: int = 10**6
    noise: float = 0.01
    prefill: float = PREFILL
    slower: float = 0.0
    keeps: bool = True
    upload: float = 0.0
    trip: float = 0.001
    changes: bool = False
    moves: bool = False
    blocks: bool = True
    ids: str = "constant"
    mark: str = ""
    replays: bool = False
    answered: dict = field(default_factory=dict)
    wrong: dict = field(default_factory=dict)
    seed: int = 1
    known: dict = field(default_factory=dict)
    order: list = field(default_factory=list)

    def __post_init__(self):
        self.rng = Random(self.seed)
        self.n = 0

    def __call__(self, asked):
        ask, trial = asked.trial.request, asked.trial
        assert isinstance(ask, Ask)
        self.n += 1
        fronted = self.changes and trial.route == "edge"
        tokens = 20 + ask.prompt_tokens + (8 if fronted else 0)
        cached = self.meets(ask, trial, tokens, fronted)
        fresh = tokens - (cached if self.saves else 0)
        first = (
            0.1 + self.prefill * fresh + (self.upload if ask.prompt_tokens else 0.0) + self.slower * self.n
        )
        if self.answers(ask, trial) and self.replays:
            first = 0.02
        first *= 1 + abs(self.rng.gauss(0, self.noise))
        return self.exchange(ask, trial, tokens, cached, first)

    def kept(self, trial):
        """`keeps`: whether a client keeps its connection after a stream."""
        return bool(trial.session) and self.keeps

    def answers(self, ask, trial):
        """Whether these bytes were answered before."""
        return self.answered.get((trial.salt, ask.line)) not in {None, self.n}

    def meets(self, ask, trial, tokens, fronted):
        if not self.works or tokens < self.minimum or fronted or ask.arm is None:
            return 0
        first = ask.arm == "broken" or not self.blocks or (self.moves and trial.route == "edge")
        text = (trial.salt, ask.line if first else "", ask.prompt_tokens)
        place = self.rng.randrange(self.replicas)
        if (self.by == "key" and ask.cache_key) or (self.by == "connection" and self.kept(trial)):
            place = hash(trial.salt) % self.replicas
        hit = (place, text) in self.known
        self.known.pop((place, text), None)
        self.known[place, text] = True
        while len(self.known) > self.holds:
            del self.known[next(iter(self.known))]
        return tokens // 128 * 128 if hit else 0

    def exchange(self, ask, trial, tokens, cached, first):
        found = answer("good stream" if ask.stream else "good")
        tells = {
            "always": True,
            "never": False,
            "answers": not ask.stream,
            "hits": cached > 0,
            "zero": True,
            "all": True,
        }
        said = {"zero": 0, "all": tokens}.get(self.tells, cached)
        details = {"prompt_tokens_details": {"cached_tokens": said}} if tells[self.tells] else {}
        usage = {"prompt_tokens": tokens, "completion_tokens": 8, **details, **self.wrong}
        line = Timeline(
            dns=0.0, connect=self.trip, upload_start=0.0, upload_end=0.0, headers=0.01, first_byte=first,
            first_event=first, first_token=first, last_token=first + 0.1, last_byte=first + 0.1, end=first + 0.1,
        )  # fmt: skip
        kept = {"connection": "reused" if self.kept(trial) else "new"}
        number = self.answered.setdefault((trial.salt, ask.line), self.n)
        facts = {**found.facts, "usage": usage}
        if self.ids != "constant":
            facts["response_id"] = f"chatcmpl-{number if self.replays and self.ids == 'kept' else self.n}"
        if self.mark and number != self.n:
            found = replace(found, headers={**found.headers, "x-cache": (self.mark,)})
        return attributed(replace(found, facts=facts, timeline=line, conditions=kept))


def judged(world, clients=(HTTPX,), *, origin=False, **params):
    asked = case("prompt_cache", clients, keyed=True, **params)
    if origin:
        routes = {**asked.target.routes, "origin": Route("origin", "http://o.example/v1")}
        asked = replace(asked, target=replace(asked.target, routes=routes))
    findings, server = told(asked, world)
    assert len(server.calls) <= KINDS["prompt_cache"].bound(asked).requests
    return findings, server


TOO_LONG = attributed(
    exchange(
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4000 tokens.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    )
)
NO_PREFILL = {"prefill": 1e-7, "noise": 0.2}
ONE = {
    "good": ({}, "ok", "high"),
    "told of hits alone": ({"tells": "hits"}, "ok", "high"),
    "hits whose time is not seen": (NO_PREFILL, "ok", "medium"),
    "slow hits": ({"saves": False}, "cache.slow_hit", "high"),
    "off and told": ({"works": False}, "cache.off", "high"),
    "off and told, time not seen": ({"works": False, **NO_PREFILL}, "cache.off", "medium"),
    "off and untold": ({"works": False, "tells": "never"}, "cache.off", "medium"),
    "untold": ({"tells": "never"}, "cache.unreported", "high"),
    "always zero": ({"tells": "zero"}, "cache.unreported", "high"),
    "told in answers": ({"tells": "answers"}, "cache.unreported", "high"),
    "replicas": ({"replicas": 3}, "cache.partial", "medium"),
    "replicas by key": ({"replicas": 4, "by": "key"}, "cache.partial", "medium"),
    "replicas by connection": ({"replicas": 4, "by": "connection"}, "cache.partial", "medium"),
    "one slot": ({"holds": 1}, "cache.partial", "medium"),
}  # fmt: skip


@pytest.mark.parametrize(("world", "code", "confidence"), ONE.values(), ids=ONE)
def test_what_is_said_of_a_cache(world, code, confidence):
    """One finding, by both evidences together."""
    [found], _ = judged(World(**world))
    assert (found.code, found.confidence) == (code, Confidence(confidence)), as_text([found])
    assert found.verdict is (Verdict.PASS if code == "ok" else Verdict.WARN)


UNKNOWN = {
    "nothing told, nothing seen": ({"works": False, "tells": "never", **NO_PREFILL}, {}, Reason.TOO_FEW),
    "untold, time not seen": ({"tells": "never", **NO_PREFILL}, {}, Reason.TOO_FEW),
    "counts prompts that are new": ({"tells": "all"}, {}, Reason.MIXED),
    "hits while the server slows down": ({"slower": 0.05}, {}, Reason.DRIFT),
    "none while the server slows down": ({"works": False, "slower": 0.05}, {}, Reason.DRIFT),
    "too short a prompt": ({"works": False}, {"prompt_tokens": 2000}, Reason.TOO_FEW),
    "below the minimum": ({"minimum": 4096}, {"prompt_tokens": 3000}, Reason.TOO_FEW),
}  # fmt: skip


@pytest.mark.parametrize(("world", "params", "reason"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_evidence_does_not_bear_is_not_said(world, params, reason):
    """Absent is not zero, a short prompt is not cached everywhere, and a server that gets slower has no two times alike."""
    [found], _ = judged(World(**world), **params)
    assert "--set" in found.advice or "--seed" in found.advice
    assert (found.code, found.verdict, found.reason) == ("not_measured", Verdict.INCONCLUSIVE, reason), as_text([found])  # fmt: skip


ANSWERED = {
    "the same id": ({"ids": "kept"}, "cached.private", "got the answer to the write itself, with its id chatcmpl-"),
    "a hit is told": ({"ids": "new", "mark": "HIT"}, "not_measured", "bear x-cache: HIT"),
    "both": ({"ids": "kept", "mark": "HIT"}, "not_measured", "bear x-cache: HIT"),
    "sooner than any model": ({"ids": "new"}, "not_measured", "sooner than that of the short control, too"),
    "sooner, with a constant id": ({}, "not_measured", "sooner than that of the short control, too"),
}  # fmt: skip


@pytest.mark.parametrize(("world", "code", "says"), ANSWERED.values(), ids=ANSWERED)
@pytest.mark.parametrize("tells", ["always", "never"])
def test_a_cache_of_answers_is_no_prompt_cache(tells, world, code, says):
    """The model was not asked again, whatever the times are."""
    found = judged(World(works=False, replays=True, tells=tells, **world))[0][0]
    assert (found.code, says in dict(found.detail)["because"]) == (code, True), as_text([found])
    assert "cache of answers" in dict(found.detail)["because"]
    assert not [name for name in found.figures if name.startswith("cached_")]


WINDOW = {
    "all": (1000, {}, "not_measured", "--set prompt_tokens=750"),
    "the least, too": (100, {"prompt_tokens": 500}, "not_measured", "Ask a model that takes longer prompts"),
    "longer ones": (4000, {}, "ok", None),
    "longer ones, off": (4000, {"works": False}, "not_measured", "Ask a model that takes longer prompts"),
    "longer ones, untold": (4000, {"tells": "never"}, "cache.unreported", None),
}  # fmt: skip


@pytest.mark.parametrize(("window", "how", "code", "advice"), WINDOW.values(), ids=WINDOW)
def test_a_prompt_of_ours_that_is_too_long_is_no_fault_of_the_api(window, how, code, advice):
    """The search goes on with what was taken; where none was, a shorter one is named."""
    params = {name: how[name] for name in how if name == "prompt_tokens"}
    world = World(**{"minimum": 2500, **{name: how[name] for name in how if name not in params}})
    [found], server = judged(
        lambda asked: TOO_LONG if (asked.trial.request.prompt_tokens or 0) > window else world(asked),
        **params,
    )
    assert found.code == code, as_text([found])
    assert advice is None or advice in found.advice
    if window == 4000 and code != "ok":
        assert "5,000 tokens, which the API refuses" in dict(found.detail)["not asked"]
    assert sum(call.last.status == 400 for call in server.calls) == (found.code != "ok")


@pytest.mark.parametrize("ids", ["new", "constant"])
def test_ids_that_tell_nothing_of_a_cache_of_answers(ids):
    """One of its own each time, or one for all, as gateways write it."""
    assert judged(World(ids=ids))[0][0].code == "ok"


def cached(tokens):
    return {"prompt_tokens_details": {"cached_tokens": tokens}}


WRONG = {
    "more than the prompt": (cached(20_000), "cached_tokens 20000"),
    "a string": (cached("1280"), 'cached_tokens "1280"'),
    "below zero": (cached(-5), "cached_tokens -5"),
    "a float": (cached(1280.5), "cached_tokens 1280.5"),
    "a bool": (cached(True), "cached_tokens true"),
    "a long string": (cached("9" * 1000), 'cached_tokens "' + "9" * 39),
    "one token": ({"prompt_tokens": 1}, "prompt_tokens 1 of a prompt of about"),
    "no number": ({"prompt_tokens": []}, "prompt_tokens []"),
}


@pytest.mark.parametrize(("wrong", "says"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("tells", ["always", "never"])
def test_broken_usage_is_not_absent(tells, wrong, says):
    """It is told with its values, and nothing is concluded of the cache."""
    told_wrong, found = judged(World(tells=tells, wrong=wrong))[0]
    assert (told_wrong.code, told_wrong.verdict) == ("stream.usage_wrong", Verdict.WARN)
    assert says in dict(told_wrong.detail)["seen"]
    assert (found.code, found.verdict) == ("not_measured", Verdict.INCONCLUSIVE)
    assert says in dict(found.detail)["seen"]
    assert not [name for name in found.figures if name.startswith("cached_")]


def test_null_is_no_count_and_no_broken_one():
    """vLLM writes null where it counts no cache."""
    [found], _ = judged(World(tells="never", wrong={"prompt_tokens_details": None}))
    assert found.code == "cache.unreported"


def test_a_prompt_is_made_longer_until_it_is_cached():
    """Some providers cache none below 4,096 tokens, and say nothing of it."""
    [found], server = judged(World(minimum=4096))
    assert found.code == "ok"
    assert {
        call.trial.request.prompt_tokens for call in server.calls if call.trial.label.endswith("/warm")
    } == {5000}


def test_what_only_takes_long_to_arrive_is_no_prefill():
    """A long prompt needs round trips that a short one does not: that reads take them, too, says nothing against a hit."""
    [found], _ = judged(World(works=False, tells="never", prefill=1e-6, upload=0.4, trip=0.15))
    assert (found.code, found.reason) == ("not_measured", Reason.TOO_FEW)


@pytest.mark.parametrize(
    ("world", "code", "factor"),
    [
        ({"changes": True}, "cache.unstable_prefix", Factor.ROUTE),
        ({"moves": True}, "cache.unstable_prefix", Factor.ROUTE),
        ({"blocks": False}, "cache.partial", None),
        ({"works": False}, "cache.off", None),
        ({"tells": "never"}, "cache.unreported", None),
    ],
    ids=[
        "the way changes it",
        "the way puts its end first",
        "whole prompts alone",
        "off on both",
        "untold on both",
    ],
)
def test_beside_the_origin(world, code, factor):
    """The same bytes straight to the origin tell whose fault it is."""
    [found], _ = judged(World(**world), origin=True)
    assert (found.code, found.factor) == (code, factor), as_text([found])
    assert found.next_test is None


def test_without_an_origin_that_is_the_next_test():
    """What the way may have changed is to be looked at."""
    [found], _ = judged(World(works=False))
    assert "straight to the origin" in found.next_test


def test_what_moves_at_the_end_without_an_origin_has_two_explanations():
    """C59: the gateway puts it first, or the cache keeps whole prompts; neither is said to be so."""
    for world in ({"moves": True}, {"blocks": False}):
        [found], _ = judged(World(**world))
        assert (found.code, found.factor) == ("cache.partial", None)
        assert "or the cache keeps whole prompts" in dict(found.detail)["because"]
        assert "straight to the origin" in found.next_test


def test_usage_that_streams_lose_is_told_with_its_factor():
    """The non-streaming twin has the counts."""
    [found], _ = judged(World(tells="answers"))
    assert found.factor is Factor.STREAM


def test_connections_that_choose_the_replica():
    """On the connection of the write every read hits, on new ones only some."""
    [found], _ = judged(World(replicas=4, by="connection", seed=3))
    assert found.factor is Factor.CONNECTION
    assert found.figures["cached_kept"].value > 0.9 > found.figures["cached_new"].value


def test_a_rate_is_of_twenty_reads_and_weighted_by_tokens():
    """With the interval of so many prompts, not of their tokens."""
    [found], _ = judged(World(replicas=3))
    assert found.observed.n >= 20
    assert (
        sum(figure.n for name, figure in found.figures.items() if name.startswith("cached_"))
        == found.observed.n
    )
    for name in ("cached_new", "cached_kept"):
        figure = found.figures[name]
        assert figure.low < figure.value < figure.high


def test_every_figure_states_its_conditions():
    """Connection, client, cache, concurrency, order, warm-up."""
    [found], _ = judged(World())
    assert found.conditions == {
        "route": "edge", "connection": "new", "client": "cold", "cache": "by arm", "concurrency": 1, "order": "shuffled in each part", "warm_up": 2,
    }  # fmt: skip
    assert "before that 2 to warm up and 2 to find the length" in dict(found.detail)["measured"]
    assert {f"ttft_{arm}" for arm in ("control", "cold", "warm", "broken", "moved")} <= found.figures.keys()
    assert found.figures["ttft_cold"].n == 5


def test_no_prompt_is_written_twice():
    """Each salt is sent cold once on a route, and no arm uses another's; a cache the probe filled itself is no finding."""
    _, server = judged(World())
    cold = [call.trial.salt for call in server.calls if getattr(call.trial.request, "arm", None) == "cold"]
    assert len(cold) == len(set(cold))
    _, again = judged(World(), clients=(CURL,))
    assert [call.trial.salt for call in again.calls] == [call.trial.salt for call in server.calls]


def test_the_order_is_shuffled():
    """Cold and warm, control and lines change places from round to round."""
    _, server = judged(World())
    arms = [call.trial.label.split("/", 2)[-1] for call in server.calls if "/find/" not in call.trial.label]
    starts = [arms[n : n + 3] for n in range(2, len(arms), 8)]
    assert len(set(map(tuple, starts))) > 1
    assert arms.count("control") == 10


def test_how_long_a_write_lives():
    """Read back once at each age, by prompts of their own; C87: an age is told from start to start, with what the writes took."""

    class Forgets(World):
        def meets(self, ask, trial, tokens, fronted):
            cached = super().meets(ask, trial, tokens, fronted)
            return 0 if trial.start >= 300 else cached

    [found], _ = judged(Forgets(), ages=[60, 300])
    lives = found.figures["lives"]
    assert (round(lives.value), round(lives.high)) == (61, 306)
    assert lives.conditions == {"connection": "new", "cache": "by age", "concurrency": 4}
    assert "; the reads by age up to 4 at once" in dict(found.detail)["measured"]
    assert dict(found.detail)["lives"] == "after 61 to 63 s 3 of 3 hit; after 304 to 306 s 0 of 3 hit"


def test_the_next_client_is_asked_where_one_is_refused():
    """The cache is the server's, whoever asks."""
    world = World()
    [found], _ = judged(lambda asked: "refused" if asked.client == "httpx" else world(asked), (OPENAI, HTTPX))
    assert (found.code, found.client) == ("ok", "openai-py")


def test_a_client_that_keeps_its_connections_is_asked_first():
    """An SDK closes them after a stream, so that what is chosen by connection could not be seen."""
    _, server = judged(World(), (OPENAI, HTTPX))
    assert {call.trial.client for call in server.calls} == {"httpx"}


@pytest.mark.parametrize("works", [True, False], ids=["sticks to the connection", "off"])
def test_only_new_connections_are_told_of_where_none_was_kept(works):
    """A cache that hits on the connection of the write is not called off by reads that all came on others."""
    [found], _ = judged(World(works=works, replicas=10**6, by="connection", keeps=False), (OPENAI,))
    assert (found.code, found.confidence) == ("cache.off", Confidence.MEDIUM)
    assert found.title.endswith("on new connections: 0 of 10 reads (0% to 28%)")
    assert "on that of the write not measured" in dict(found.detail)["reads"]
    assert "only new connections" in dict(found.detail)["because"]


def test_some_hits_on_new_connections_are_not_told_of_every_way():
    """None of the reads came on the connection of its write."""
    [found], _ = judged(World(replicas=3, keeps=False), (OPENAI,))
    assert found.code == "cache.partial"
    assert "on new connections, the only way that was tried" in dict(found.detail)["because"]


@pytest.mark.parametrize("at", [0, 3, 20, 43])
def test_what_was_not_sent_ends_it(at):
    """No verdict without all of its requests."""
    world = World()
    findings, _ = judged(lambda asked: NotSent.BUDGET if asked.number >= at else world(asked))
    assert worst(findings) is Verdict.INCONCLUSIVE
    assert {found.reason for found in findings} == {Reason.BUDGET}


def test_what_was_measured_before_the_budget_was_used_up_is_kept():
    """The reads and times so far, and the budget that is enough."""
    world = World()
    [found], _ = judged(lambda asked: NotSent.BUDGET if asked.number >= 40 else world(asked))
    most = KINDS["prompt_cache"].bound(case("prompt_cache", (HTTPX,), keyed=True)).tokens
    assert found.verdict is Verdict.INCONCLUSIVE
    assert f"--max-tokens-total {most}" in found.advice
    said = dict(found.detail)
    assert "came from the cache" in said["so far"]
    assert "4 of 4 hit" in said["reads"]
    assert found.figures["ttft_cold"].n >= 4


def test_one_answer_that_fails_is_told_and_left_out():
    """The rest still tells of the cache."""
    world = World()
    findings, _ = judged(lambda asked: "bad gateway" if asked.number == 20 else world(asked))
    assert [found.code for found in findings][-1] == "ok"
    assert len(findings) == 2


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, ("44 requests", "prompts of 1,500 tokens", "at least 72 %", "at most 28 %", "20 % or more", "once in 252 runs")),
        ({"repeats": 3}, ("6 reads", "3 of each arm tell nothing", "--set repeats=5")),
        ({"repeats": 10, "ages": [60, 300]}, ("20 reads", "at least 84 %", "96 requests")),
        ({"prompt_tokens": 1200}, ("prompts of 1,200 tokens",)),
    ],
    ids=["by default", "too few for times", "more and ages", "short prompts"],
)  # fmt: skip
def test_a_plan_says_what_so_many_samples_can_show(params, says):
    """Before anything is sent: its cost where all is well, the smallest share, the smallest gain of time."""
    asked = case("prompt_cache", (HTTPX,), keyed=True, **params)
    said = "\n".join(KINDS["prompt_cache"].foretells(asked))
    assert [part for part in says if part not in said] == [], said
    assert "--max-tokens-total" in said


def test_a_cache_that_hits_takes_what_the_plan_said():
    """To the request."""
    _, server = judged(World())
    assert (
        f"{len(server.calls)} requests"
        in KINDS["prompt_cache"].foretells(case("prompt_cache", (HTTPX,), keyed=True))[0]
    )


def test_rates_are_by_tokens_and_not_by_calls():
    """C87: ten short prompts that miss weigh less than one long one that hits; what gave no token is no read."""

    def asked(cached, tokens, output=8):
        usage = {
            "prompt_tokens": tokens,
            "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        exchange = answer("good stream")
        trial = Trials(case("prompt_cache", (HTTPX,)), HTTPX).long("warm", Prefix("s", tokens), "primed")
        call = Call("c", "case", trial, 0, (replace(exchange, facts={**exchange.facts, "usage": usage}),))
        return Asked(call, 0)

    found = rate([asked(900, 1000), *(asked(0, 2) for _ in range(10))])
    assert (found.k, found.n) == (1, 11)
    assert found.value == pytest.approx(900 / 1020)
    assert asked(900, 1000, output=0).hit is None


AA = 200


@pytest.mark.parametrize(
    ("world", "never"),
    [
        ({}, {"cache.off", "cache.slow_hit", "cache.unreported"}),
        ({"tells": "never"}, {"cache.off", "cache.slow_hit"}),
        ({"works": False}, {"cache.unreported", "ok"}),
        ({"works": False, "tells": "never"}, {"cache.unreported", "ok"}),
    ],
    ids=["works", "works untold", "off", "off untold"],
)
def test_hardly_ever_wrong_however_much_times_scatter(world, never):
    """Of many simulated runs at most 1 % say what is not so, and at most 1 % see a drift where there is none."""
    codes, drifts = [], 0
    for seed in range(AA):
        noise = (0.02, 0.3, 1.0)[seed % 3]
        [found], _ = judged(World(noise=noise, seed=seed, **world), origin=False)
        codes.append(found.code)
        drifts += found.reason is Reason.DRIFT
    assert sum(code in never for code in codes) <= AA / 100, codes
    assert drifts <= AA / 100
