"""What a month costs, and what each change alone would save."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import canned
import pytest

from probes import cli, store
from probes.bill import NOT_TOLD, Month, Range, Traffic, bill, savings
from probes.bill.document import to_document
from probes.bill.usage import of_run
from probes.bill.words import told
from probes.model import Prices, Route, Target

PRICES = Prices(1.0, 4.0, 0.1)
TRAFFIC = Traffic(2_000_000, 890, 53, Range(0.6, 0.6))
TARGET = Target("t", "openai", "m", {"edge": Route("edge", "http://a/v1")}, prices=PRICES)


def test_the_known_example():
    """890 prompt tokens, 60 % of them cached, 53 output, two million times: 712 + 107 + 424 = 1,243 dollars."""
    month = bill(TRAFFIC, PRICES)
    assert month.prompt == pytest.approx((712, 712))
    assert month.cached == pytest.approx((106.8, 106.8))
    assert month.output == pytest.approx(424)
    assert month.total == pytest.approx((1242.8, 1242.8))
    assert month.uncached == pytest.approx(2204)
    text = "\n".join(told(Month(TRAFFIC, PRICES, TARGET)))
    for figure in ("$712", "$107", "$424", "$1,243", "$2,204"):
        assert figure in text


def test_the_known_example_as_json(tmp_path, capsys):
    """The same figures for programs, from the command; standard output holds nothing else."""
    flags = ["--base-url", "http://127.0.0.1:1/v1", "--api", "openai", "--model", "gpt-4.1", "--no-key"]
    asked = [
        "--requests-per-month",
        "2000000",
        "--prompt-tokens",
        "890",
        "--cached-share",
        "60",
        "--output-tokens",
        "53",
    ]
    assert cli.main(["plan", "smoke", "--monthly", "--json", "-", *flags, *asked]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["prices"]["of"] == "list"
    assert "monthly" in said.err
    made = to_document(Month(TRAFFIC, PRICES, TARGET))
    assert made["schema"] == "edgeprobe.bill/1"
    assert made["usd"] == {
        "prompt": {"low": 712, "high": 712},
        "cached": {"low": 106.8, "high": 106.8},
        "output": 424,
        "total": {"low": 1242.8, "high": 1242.8},
        "without_cache": 2204,
    }
    saved = [(one["change"], one["usd"]["low"]) for one in made["savings"]]
    assert saved == [("cached_share", 160.2), ("prompt_tokens", 81.88), ("output_tokens", 42.4)]


def test_what_is_not_known_is_a_range_in_json_too():
    """Absent is `null`, and never a zero."""
    made = to_document(Month(replace(TRAFFIC, cached=NOT_TOLD), Prices(1.0, 4.0), TARGET))
    assert made["cached_share"] == {"low": 0, "high": 1}
    assert made["prices"]["cached"] is None
    assert made["usd"]["total"] == {"low": 424, "high": 2204}
    assert any("not taken for nothing" in note for note in made["notes"])


@pytest.mark.parametrize(
    ("traffic", "prices", "expected"),
    [
        (replace(TRAFFIC, cached=NOT_TOLD), PRICES, (602, 2204)),
        (TRAFFIC, Prices(1.0, 4.0), (1136, 2204)),
        (replace(TRAFFIC, cached=Range(0, 0)), Prices(1.0, 4.0), (2204, 2204)),
        (replace(TRAFFIC, cached=Range(0.3, 0.7)), PRICES, (1082.6, 1723.4)),
        (TRAFFIC, Prices(0.0, 0.0, 0.0), (0, 0)),
    ],
    ids=["share not told", "price of cached not told", "nothing cached", "told by some", "free"],
)
def test_what_is_not_known_is_a_range(traffic, prices, expected):
    """Absent cached tokens are not zero, and an absent price of them is neither nothing nor that of input."""
    assert bill(traffic, prices).total == pytest.approx(expected)


def test_savings_are_sorted_and_each_is_what_the_changed_bill_shows():
    """Ten points of hits, a tenth of the prompt, a tenth of the answer: each against today's bill alone."""
    found = savings(TRAFFIC, PRICES)
    assert [round(one.usd.low, 2) for one in found] == [160.2, 81.88, 42.4]
    assert "60 → 70 %" in found[0].change
    for changed, (usd, _) in (
        (replace(TRAFFIC, cached=Range(0.7, 0.7)), found[0].usd),
        (replace(TRAFFIC, prompt=801), found[1].usd),
        (replace(TRAFFIC, output=47.7), found[2].usd),
    ):
        assert bill(TRAFFIC, PRICES).total.low - bill(changed, PRICES).total.low == pytest.approx(usd)


def test_a_share_that_is_full_saves_nothing_more():
    """Hits end at all of the prompt."""
    nearly = savings(replace(TRAFFIC, cached=Range(0.95, 0.95)), PRICES)
    assert any(one.change.startswith("5 points more") for one in nearly)
    full = savings(replace(TRAFFIC, cached=Range(1, 1)), PRICES)
    assert [one.usd for one in full if "points" in one.change] == [pytest.approx((0, 0))]


def test_a_range_holds_every_bill_that_it_stands_for():
    """Whatever the true share and price were, the bill and each saving lie within what was told."""
    rng = Random(3)
    for _ in range(300):
        low, high = sorted((rng.random(), rng.random()))
        share, price = rng.uniform(low, high), rng.uniform(0, 1)
        wide = replace(TRAFFIC, cached=Range(low, high))
        true = replace(TRAFFIC, cached=Range(share, share))
        outer, inner = bill(wide, Prices(1.0, 4.0)).total, bill(true, Prices(1.0, 4.0, price)).total
        assert outer.low - 1e-6 <= inner.low <= outer.high + 1e-6
        within = {one.name: one.usd for one in savings(wide, Prices(1.0, 4.0))}
        for name, _, usd in savings(true, Prices(1.0, 4.0, price)):
            bounds = within[name]
            assert bounds.low - 1e-6 <= usd.low <= bounds.high + 1e-6, name


# --- of a run --------------------------------------------------------------------------------------------

TOLD = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 600}}
UNTOLD = {"prompt_tokens": 1000, "completion_tokens": 30}
READ = {
    "input_tokens": 100,
    "output_tokens": 40,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 0,
}


def run_with(*usages):
    """A run of one good stream for each usage."""
    case = canned.case("streaming")
    found, server = canned.told(case, lambda _: "good stream")
    run = canned.run_of(case, server.calls, found)
    template = next(call for call in run.calls if call.last is not None)
    last = template.last
    calls = tuple(
        replace(template, exchanges=(replace(last, facts={**last.facts, "usage": usage}),))
        for usage in usages
    )
    return replace(run, calls=calls, target=TARGET)


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ((TOLD, TOLD), (2, 2, 1000, 50, (0.6, 0.6))),
        ((UNTOLD,), (1, 0, 1000, 30, (0, 1))),
        ((TOLD, UNTOLD), (2, 1, 1000, 40, (0.3, 0.8))),
        ((READ,), (1, 1, 1000, 40, (0.9, 0.9))),
        ((TOLD, None), (1, 1, 1000, 50, (0.6, 0.6))),
        ((TOLD, {"prompt_tokens": True, "completion_tokens": "x"}), (1, 1, 1000, 50, (0.6, 0.6))),
    ],
    ids=["told", "not told", "told by half", "anthropic's read", "one without usage", "nonsense"],
)
def test_tokens_of_a_run(usages, expected):
    """By its own usage in either dialect; what no usage tells of the cache widens the share."""
    used = of_run(run_with(*usages))
    n, of_cache, prompt, output, share = expected
    assert (used.n, used.told, used.prompt, used.output) == (n, of_cache, prompt, output)
    assert used.cached == pytest.approx(share)


def test_a_share_that_the_probe_saw_to_is_nobodys():
    """Of a run that sent the same prompts again on purpose no share is taken."""
    run = run_with(TOLD, TOLD)
    first, second = run.calls
    warm = replace(second, trial=replace(second.trial, request=replace(second.trial.request, arm="primed")))
    assert of_run(replace(run, calls=(first, warm))).cached == (0, 1)


def test_a_run_without_usage_has_no_bill():
    """Nothing is made up for it."""
    assert of_run(run_with(None)) is None


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ((), ("1,000 prompt tokens (60 % from the cache)", "1,000,000 requests are an example", "not your customers'")),
        (("--requests-per-month", "10"), ("10 requests", "2 of which tell of a cache")),
        (("--prompt-tokens", "890", "--output-tokens", "53"), ("890 prompt tokens (an unknown share from the cache)", "the bill is a range")),
        (("--cached-share", "25"), ("1,000 prompt tokens (25 % from the cache)",)),
    ],
    ids=["by the run alone", "its requests", "its tokens", "its share"],
)  # fmt: skip
def test_report_cost(flags, says, tmp_path, monkeypatch, capsys):
    """The run's own usage, but for what the flags say; its share is not that of another prompt."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    run = run_with(TOLD, TOLD)
    store.save(run)
    assert cli.main(["report", run.id, "--cost", *flags]) == 0
    text = capsys.readouterr().out
    for said in says:
        assert said in text
    assert cli.main(["report", run.id, "--cost", "--json", str(tmp_path / "bill.json"), *flags]) == 0
    assert json.loads((tmp_path / "bill.json").read_text())["schema"] == "edgeprobe.bill/1"


def test_a_page_shows_the_bill_of_its_run(tmp_path, monkeypatch, capsys):
    """Where its usage and its prices are known."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    for run, shown in ((run_with(TOLD), True), (run_with(None), False)):
        store.save(replace(run, id=f"{run.id[:-1]}{int(shown)}"))
        page = tmp_path / "page.html"
        assert cli.main(["report", f"{run.id[:-1]}{int(shown)}", "--html", str(page)]) == 0
        assert ("What a month costs" in page.read_text()) is shown
    capsys.readouterr()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["report", "x", "--prompt-tokens", "5"], "--prompt-tokens: goes with --cost"),
        (["report", "x", "--cost", "--rejudge"], "--cost and --rejudge exclude each other"),
        (["report", "x", "--cost", "--html", "a.html"], "--cost and --html exclude each other"),
        (["plan", "smoke", "--json", "a.json"], "--json: goes with --monthly"),
        (["plan", "smoke", "--cached-share", "5"], "--cached-share: goes with --monthly"),
        (["plan", "smoke", "--monthly"], "--prompt-tokens is missing"),
        (["plan", "smoke", "--monthly", "--prompt-tokens", "9", "--output-tokens", "9"], "no price of m is known"),
        (["plan", "smoke", "--requests-per-month", "0"], "'0' is not a whole number"),
        (["plan", "smoke", "--cached-share", "nan"], "'nan' is not a number of percent"),
    ],
)  # fmt: skip
def test_mistakes_are_named(command, says, capsys, tmp_path, monkeypatch):
    """Each by its flag, before anything is asked or read."""
    monkeypatch.chdir(tmp_path)
    if command[0] == "plan":
        command = [
            *command,
            "--base-url",
            "http://127.0.0.1:1/v1",
            "--api",
            "openai",
            "--model",
            "m",
            "--no-key",
        ]
    assert cli.main(command) == 2
    assert says in capsys.readouterr().err
