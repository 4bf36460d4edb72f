"""Everybody is refused: what is said with and without a history (C13)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from turned import START, Canary, Entry, bed

from probes.canary import Missed
from probes.model import Layer, Verdict


@pytest.fixture(autouse=True)
def suites(tmp_path, monkeypatch):
    """A suite of one question."""
    (tmp_path / "suites").mkdir()
    rows = "version: 1\nname: only\ncases:\n  - {kind: completion, clients: genuine}\n"
    (tmp_path / "suites" / "only.yaml").write_text(rows)
    monkeypatch.chdir(tmp_path)


BEFORE = START - timedelta(hours=2)
SMOKE = Entry()
BLOCKS = ["challenge-all", "block-all", "security-policy"]


@pytest.mark.parametrize("fault", BLOCKS)
def test_without_a_history_it_is_unknown(fault):
    """Our monitor is refused: no failure, no page, never that the service is down."""
    with bed(fault, canary=Canary((SMOKE,))) as on:
        turn = on.take()
    assert (turn.verdict, turn.conclusive, turn.missed) == (Verdict.INCONCLUSIVE, False, None)
    assert "probe.blocked" in turn.reason
    assert on.alerting.paged == set()
    assert "down" not in turn.reason.split()


@pytest.mark.parametrize("fault", BLOCKS)
def test_where_the_same_clients_were_served_before_it_is_a_regression(fault):
    """It names all clients of this vantage, since when, and whose refusal it is; it is confirmed at once, and stored."""
    with bed(fault, canary=Canary((SMOKE,))) as on:
        now = on.wall.at = on_the_clock()
        on.memory.served = {"openai-py": now - timedelta(hours=3), "httpx": now - timedelta(hours=2)}
        turn = on.take()
    assert (turn.verdict, turn.conclusive, turn.reason) == (Verdict.FAIL, True, None)
    assert on.alerting.paged == {"regression.outcome"}
    [found] = [f for f in on.alerting.seen[-1][2] if f.code == "regression.outcome"]
    since = now - timedelta(hours=2)
    assert found.title == (
        f"All clients of this vantage are refused since {since:%Y-%m-%d %H:%M} UTC, when one was last served"
    )
    assert found.client is None
    assert (found.layer, found.product) == ((Layer.UNKNOWN, None) if fault == "security-policy" else (Layer.EDGE, "Cloudflare"))  # fmt: skip
    told = " ".join(text for _, text in found.detail)
    assert "openai-py and httpx" in told or "httpx and openai-py" in told
    assert "whether the service is down cannot be seen from here" in told
    assert all(found.code in {f.code for f in run.findings} for _, run in on.memory.runs)
    assert [run.verdict for _, run in on.memory.runs] == [Verdict.FAIL] * 2
    assert len(on.alerting.confirmed) == 1
    assert all(on.alerting.confirmed)


@pytest.mark.parametrize("served", [True, False], ids=["served before", "never served"])
def test_a_list_that_everybody_is_refused_is_no_mere_warning(tmp_path, served):
    """Where the entry asks for nothing else, and completions are refused as well."""
    rows = "version: 1\nname: list\ncases:\n  - {kind: models, clients: [httpx]}\n"
    (tmp_path / "suites" / "list.yaml").write_text(rows)
    canary = Canary((Entry(suite="list", clients=()),))
    with bed("block-all", canary=canary, endpoints=("chat", "models")) as on:
        on.memory.served = {"httpx": BEFORE.replace(year=2025)} if served else {}
        turn = on.take()
    assert on.alerting.paged == ({"regression.outcome"} if served else set())
    assert turn.conclusive is served


def on_the_clock():
    from datetime import UTC, datetime

    return datetime.now(UTC)


def test_one_client_without_a_history_is_named_as_such():
    """Of it alone nothing can be said."""
    with bed("block-all", canary=Canary((SMOKE,))) as on:
        on.memory.served = {"httpx": BEFORE.replace(year=2025)}
        on.take()
    [found] = [f for f in on.alerting.seen[-1][2] if f.code == "regression.outcome"]
    assert ("not known", "openai-py was never served from here") in found.detail


@pytest.mark.parametrize(
    "fault", ["ai-crawler-rule", "rate-limit", "reset-all", "accounts-unavailable"], ids=str
)
def test_what_is_no_total_block_has_no_such_finding(fault):
    """One client is refused, all are limited, cut off or told of overload: each is called what it is."""
    with bed(fault, canary=Canary((SMOKE,))) as on:
        on.memory.served = {"openai-py": BEFORE.replace(year=2025), "httpx": BEFORE.replace(year=2025)}
        turn = on.take()
    assert turn.missed is not Missed.ERROR
    assert "regression.outcome" not in {f.code for _, run in on.memory.runs for f in run.findings}


# --- nobody answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("served", [(), ("openai-py",), ("openai-py", "httpx")], ids=str)
@pytest.mark.parametrize("fault", ["silent", "ua-hang"])
def test_waiting_in_vain_is_a_failure_of_those_that_were_served(fault, served):
    """For as long as we wait: unknown without a history, and never one of a client that is served."""
    with bed(fault, canary=Canary((Entry(suite="only"),))) as on:
        on.memory.served = {name: BEFORE.replace(year=2025) for name in served}
        turn = on.take()
    failing = {name for name in served if fault == "silent" or name == "openai-py"}
    assert on.alerting.paged == ({"timeout.first_byte"} if failing else set())
    assert (turn.verdict is Verdict.FAIL) is bool(failing)
    assert turn.conclusive is (bool(failing) or fault == "ua-hang")
    told = [dict(f.detail)["before"] for f in on.alerting.seen[-1][2] if "before" in dict(f.detail)]
    assert [all(name in text for name in failing) for text in told] == ([True] if failing else [])
    assert len(on.alerting.confirmed) == (1 if failing else 0)
    assert all(on.alerting.confirmed)
