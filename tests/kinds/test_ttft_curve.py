"""How the time to the first token grows with the prompt: planted speeds are found, and what can't be told is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import canned
import pytest
from exchanges import exchange
from labruns import Clock, Order, conduct, served

from probes.errors import UsageError
from probes.kinds import KINDS
from probes.kinds.ttft_curve import LENGTHS, fit
from probes.lab.behaviour import Behaviour
from probes.lab.faults import Do, Fault
from probes.model import Called, Confidence, Reason, Timeline, Verdict

CASE = canned.case("ttft_curve", clients=(canned.HTTPX,), keyed=True)
OUTPUT = 32
GOOD = canned.answer("good stream")
TOO_LONG = canned.attributed(
    exchange(
        400,
        {
            "error": {
                "message": "This model's maximum context length is 6000 tokens.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    )
)


@dataclass
class Mind:
    """A server that reads at `prefill` and writes at `decode` tokens a second, but for what is said."""

    prefill: float = 2500.0
    decode: float = 50.0
    base: float = 0.2
    noise: float = 0.02
    seed: int = 1
    bend: float = 0.0
    context: float = 0.0
    later: Callable[[int], float] = lambda _: 1.0
    cached: Callable[[int], int] | None = None
    usage: bool = True
    connection: Callable[[int], str] = lambda _: "reused"
    late: Callable[[int], bool] = lambda _: False
    flat: bool = False
    counts: Callable[[int], int] = lambda tokens: tokens
    most: int | None = None
    cut: int = 10**6
    held: bool = False
    output: int = OUTPUT
    rng: Random = field(init=False)

    def __post_init__(self):
        self.rng = Random(self.seed)

    def __call__(self, asked):
        n, tokens = asked.number, round(asked.trial.request.prompt_tokens * 1.1) + 40
        if self.most is not None and tokens > self.most:
            return TOO_LONG
        read = 0.0 if self.flat else min(tokens, self.cut) / self.prefill + self.bend * tokens**2
        ttft = (self.base + read) * self.later(n) * self.rng.lognormvariate(0, self.noise)
        each = (1 + self.context * tokens) / self.decode * self.rng.lognormvariate(0, self.noise)
        last = ttft + (self.output - 1) * each
        ttft = last if self.held else ttft
        usage = {"prompt_tokens": self.counts(tokens), "completion_tokens": self.output}
        if self.cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": self.cached(tokens)}
        conditions = {
            "connection": self.connection(n),
            "stalls": [(ttft - 0.01, ttft + 0.01)] if self.late(n) else [],
        }
        line = Timeline(
            upload_start=0.0, upload_end=0.0, headers=ttft, first_byte=ttft, first_event=ttft, first_token=ttft,
            first_content=ttft, last_token=last, last_byte=last, end=last,
        )  # fmt: skip
        facts = {**GOOD.facts, "usage": usage if self.usage else None}
        return replace(GOOD, facts=facts, timeline=line, conditions=conditions)


def found(mind: Mind, case=CASE):
    findings, server = canned.told(case, mind)
    [finding] = findings
    return finding, server


def test_a_plan_says_how_sure_a_speed_can_be():
    """By the scatter of the answers; more samples make it surer, and a budget that ends it early is said."""

    def said(**params):
        return "\n".join(KINDS["ttft_curve"].foretells(canned.case("ttft_curve", **params)))

    few, many = (int(re.search(r"within (\d+) %", said(repeats=n))[1]) for n in (3, 30))
    assert many < few
    for part in ("5 samples of each of 6 lengths", "less than 25 %", "16 controls", "by 25 % or more"):
        assert part in said()
    assert "--max-tokens-total" in said(lengths=[4096, 8192, 16384, 32768])


def test_planted_speeds_are_found():
    """Prefill, decode, the constant part and the model of the total, each with its n and an interval that holds it."""
    finding, _ = found(Mind())
    assert (finding.code, finding.verdict) == ("ok", Verdict.PASS), canned.as_text([finding])
    figures = finding.figures
    for name, planted, within in (("prefill", 2500, 0.03), ("decode", 50, 0.03), ("base", 0.2, 0.1)):
        figure = figures[name]
        assert figure.value == pytest.approx(planted, rel=within), name
        assert figure.low <= figure.value <= figure.high
        assert figure.n >= 5
    assert "left out" not in dict(finding.detail)
    assert figures["residual"].value < 0.03
    assert abs(figures["departure"].value) < 0.1
    assert figures["decode_slowdown"].value == pytest.approx(1, rel=0.05)
    shares = [figure.value for name, figure in figures.items() if name.startswith("ttft_share@")]
    assert len(shares) == 6
    assert all(a < b for a, b in pairwise(shares))
    assert {"connection": "reused", "client": "warm", "cache": "cold", "order": "shuffled", "concurrency": 1}.items() <= (
        finding.conditions.items()
    )  # fmt: skip


def test_attention_that_grows_with_the_square_is_no_straight_line():
    """The speeds of the halves are told, and none of the whole."""
    finding, _ = found(Mind(bend=5e-8))
    assert abs(finding.figures["departure"].value) > 0.15
    assert "not the same at every length" in finding.title
    assert "no straight line" in dict(finding.detail)["line"]
    assert finding.confidence is Confidence.MEDIUM
    assert not {"prefill", "base", "residual"} & finding.figures.keys()
    shorter, longer = (finding.figures[f"prefill_{half}"].value for half in ("shorter", "longer"))
    assert longer < 0.8 * shorter < 2500


@pytest.mark.parametrize("scatter", [0.2, 0.3])
def test_scatter_alone_bends_no_line(scatter):
    """Of 100 straight servers at most 3 are called bent (1 % by chance), though more than 20 lie off by what would count."""
    rng, off, bent = Random(f"{scatter}"), 0, 0
    for _ in range(100):
        points = {
            n: [(0.2 + n / 2500) * rng.uniform(1 - scatter, 1 + scatter) for _ in range(5)] for n in LENGTHS
        }
        fitted = fit.line(points)
        if abs(fit.departure(points, fitted)) > 0.15:
            off += 1
            bent += fit.bent(points, fitted, rng)
    assert off > 20
    assert bent <= 3


def test_what_scatter_explains_is_said_to_be_no_more():
    """Where lengths lie off by more than a seventh, but no more than chance has it, the speed is less sure."""
    told = [found(Mind(noise=0.15, seed=seed), replace(CASE, seed=seed))[0] for seed in range(12)]
    unsure = [f for f in told if "prefill" in f.figures and abs(f.figures["departure"].value) > 0.15]
    assert unsure
    for finding in unsure:
        assert "which their own scatter explains" in dict(finding.detail)["line"]
        assert finding.confidence is Confidence.MEDIUM


def test_an_answer_that_ends_at_once_tells_no_decode():
    """The prefill is told, and that the other speed is not."""
    finding, _ = found(Mind(output=1))
    assert finding.verdict is Verdict.PASS
    assert dict(finding.detail)["decode"] == "not measured: no answer has more than 1 output tokens"


def test_a_longer_context_slows_decoding():
    """Seconds a token behind the longest prompt by those behind the shortest, with its interval."""
    slower = found(Mind(context=1e-4))[0].figures["decode_slowdown"]
    planted = (1 + 1e-4 * 9051) / (1 + 1e-4 * 322)
    assert slower.value == pytest.approx(planted, rel=0.05)
    assert slower.low > 1


@pytest.mark.parametrize(
    ("mind", "reason", "says"),
    [
        (Mind(later=lambda n: 1 + n / 40), Reason.DRIFT, "changed its pace"),
        *(
            (Mind(later=lambda n, at=at: 1 + (n > at)), Reason.DRIFT, "changed its pace")
            for at in (12, 20, 30, 42)
        ),
        (Mind(prefill=10_000, base=0.08, cut=3000), Reason.MIXED, "hardly grows beyond 2,"),
        (Mind(held=True), Reason.MIXED, "came whole"),
        (Mind(noise=1.2), Reason.MIXED, "vary too much"),
        (Mind(flat=True), Reason.MIXED, "hardly grows with the prompt"),
        (Mind(prefill=300_000), Reason.MIXED, "hardly grows with the prompt"),
        (Mind(cached=lambda tokens: tokens // 2), Reason.MIXED, "too few samples"),
        (Mind(usage=False), Reason.TOO_FEW, "does not say how many tokens"),
        (Mind(counts=lambda _: 7), Reason.TOO_FEW, "does not say how many tokens"),
        (Mind(late=lambda n: n % 5 != 0), Reason.TOO_FEW, "too few samples"),
        (Mind(connection=lambda n: ("new", "reused")[n % 2]), Reason.TOO_FEW, "too few samples"),
    ],
    ids=[
        "slower and slower",
        *(f"twice as slow after {at}" for at in (12, 20, 30, 42)),
        "cut on its way",
        "held back",
        "busy",
        "flat",
        "nearly flat",
        "from a cache",
        "no usage",
        "a usage that is none",
        "we ran late",
        "connections mixed",
    ],
)
def test_what_can_not_be_told_is_not_told(mind, reason, says):
    """No speed of a server that drifts, is too busy, answers from a cache, or is seen under mixed conditions."""
    finding, _ = found(mind)
    assert (finding.verdict, finding.reason) == (Verdict.INCONCLUSIVE, reason), canned.as_text([finding])
    assert says in finding.title
    assert not {"prefill", "decode", "base"} & finding.figures.keys()
    assert reason is not Reason.DRIFT or finding.figures["drift"].value > 1.2
    assert bool(re.search("it (may )?drift", dict(finding.detail)["control"])) is (reason is Reason.DRIFT)


def test_a_template_in_the_cache_and_single_odd_samples_do_not_matter():
    """They are left out, counted, and the others tell."""
    finding, _ = found(Mind(cached=lambda _: 16, connection=lambda n: "new" if n == 20 else "reused"))
    assert finding.verdict is Verdict.PASS, canned.as_text([finding])
    assert finding.figures["prefill"].value == pytest.approx(2500, rel=0.05)
    assert "1 that had other conditions" in dict(finding.detail)["left out"]


def test_a_window_that_is_too_small_for_a_length_is_no_fault():
    """That length is not asked again, and the others tell; where too few are left, nothing is proven."""
    finding, server = found(Mind(most=6000))
    assert finding.verdict is Verdict.PASS, canned.as_text([finding])
    assert finding.figures["prefill"].value == pytest.approx(2500, rel=0.05)
    assert "8,192" in dict(finding.detail)["not asked"]
    assert sum(call.trial.request.prompt_tokens == 8192 for call in server.calls) == 1
    short, _ = found(Mind(most=700))
    assert (short.code, short.verdict) == ("request.rejected", Verdict.INCONCLUSIVE)


def test_a_curve_needs_four_lengths():
    """Said before anything is sent, with an example."""
    with pytest.raises(
        UsageError, match="lengths: must be 4 different ones at the least, such as --set lengths="
    ):
        KINDS["ttft_curve"].unfit(canned.case("ttft_curve", lengths=[128, 256, 256, 512]))


def test_every_prompt_has_a_text_of_its_own_in_an_order_of_its_own():
    """No salt twice, in one run or in the next; a discarded round, five repeats, controls from the first to the last."""
    salts = set()
    for seed in (1, 2):
        case = replace(CASE, seed=seed)
        _, server = found(Mind(), case)
        trials = [call.trial for call in server.calls]
        salts |= {trial.salt for trial in trials}
        assert len(salts) == seed * len(trials)
        counted = [trial for trial in trials if "warm-up" not in trial.label]
        sizes = [trial.request.prompt_tokens for trial in counted]
        assert sorted(n for n in sizes if n) == sorted(LENGTHS * 5)
        assert sizes[0] == sizes[-1] == 0
        assert max(b - a for a, b in pairwise([i for i, n in enumerate(sizes) if not n])) <= 3
        rounds = [n for n in sizes if n]
        assert len({tuple(rounds[i : i + 6]) for i in range(0, 30, 6)}) > 1
        assert {trial.request.prompt_tokens for trial in trials if "warm-up" in trial.label} == {0, *LENGTHS}


def test_simulated_runs_of_a_steady_server():
    """Of 300 runs with noise at most 1 % are called drifting, and the interval holds the planted speed."""
    drifting = held = told = 0
    for seed in range(300):
        finding, _ = found(Mind(noise=0.08, seed=seed), replace(CASE, seed=seed))
        drifting += finding.reason is Reason.DRIFT
        if finding.verdict is Verdict.PASS:
            told += 1
            held += finding.figures["prefill"].low <= 2500 <= finding.figures["prefill"].high
    assert drifting <= 3
    assert told >= 290
    assert held / told >= 0.9


def test_a_few_slow_answers_do_not_move_the_line():
    """One of five at each length took ten times as long."""
    points = {n: [0.2 + n / 2500] * 4 + [10 * (0.2 + n / 2500)] for n in LENGTHS}
    assert fit.line(points) == pytest.approx((0.2, 1 / 2500))
    assert fit.departure(points, fit.line(points)) == pytest.approx(0, abs=1e-9)


# --- in the lab ------------------------------------------------------------------------------------------

SPEED = {"prefill": 0.2, "tpot": 0.02, "prefill_per_token": 0.0004}
SCALE = Clock(0.05)


def in_the_lab(sink=lambda _lab: lambda _event: None):
    with served(clock=SCALE, **SPEED) as (lab, target, secrets):
        run = conduct(Order(("curve",), target, only=("httpx",), clock=SCALE), secrets, (sink(lab),))
    [finding] = run.findings
    return finding


def test_planted_speeds_are_found_in_the_lab():
    """Within 10 % over real sockets; a machine too busy for it is inconclusive, and asked again."""
    for _ in range(4):
        finding = in_the_lab()
        if finding.verdict is Verdict.PASS:
            break
        assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.verdict is Verdict.PASS, canned.as_text([finding])
    assert finding.figures["prefill"].value == pytest.approx(2500, rel=0.1)
    assert finding.figures["decode"].value == pytest.approx(50, rel=0.1)


def test_a_server_that_gets_busy_meanwhile_is_no_curve():
    """From the middle on its first token takes a second more: whatever that is, no speed of it is told."""
    slow = Fault("busy", "busy from now on", Do(model=Behaviour(prefill=1.2)))

    def sink(lab):
        calls = []

        def seen(event):
            if isinstance(event, Called):
                calls.append(event)
                if len(calls) == 30:
                    lab.arm([slow])

        return seen

    finding = in_the_lab(sink)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "prefill" not in finding.figures
