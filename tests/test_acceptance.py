"""Findings that the operator lives with: which are meant, for how long, and what becomes of acceptances nobody needs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from canned import CURL, HTTPX, OPENAI, case, told

from probes import lab, store
from probes.acceptance import accepted, lapsed
from probes.clock import Clock
from probes.model import Acceptance, Finding, Refusals, Route, Target, Verdict
from probes.runner import worst

TODAY = date(2027, 3, 1)
WARN, FAIL, PASS, UNKNOWN = Verdict.WARN, Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE


def target(*acceptances: Acceptance, **more) -> Target:
    return Target("t", "openai", "m", {"edge": Route("edge", "http://a/v1")}, accepted=acceptances, **more)


def finding(code="blocked.client", client="httpx", verdict=FAIL) -> Finding:
    return Finding(code, verdict, "s/identity", "identity", client=client)


def row(code="blocked.client", client="httpx", until=None) -> Acceptance:
    return Acceptance(code, "known", client, until)


DAY = timedelta(days=1)
BLOCKED = finding()
FOUND = {
    "nothing accepted": ((), BLOCKED, False),
    "code and client": ((row(),), BLOCKED, True),
    "code of any client": ((row(client=None),), BLOCKED, True),
    "another client": ((row(client="curl"),), BLOCKED, False),
    "a client where the finding is of several": ((row(),), finding(client=None), False),
    "any client where the finding is of several": ((row(client=None),), finding(client=None), True),
    "another code": ((row("blocked.content"),), BLOCKED, False),
    "its family is not enough": ((row("blocked"),), BLOCKED, False),
    "no wildcard": ((row(client="*"),), BLOCKED, False),
    "a warning": ((row(),), finding(verdict=WARN), True),
    "an inconclusive one": ((row(),), finding(verdict=UNKNOWN), True),
    "what passed": ((row("ok"),), finding("ok", verdict=PASS), False),
    "until yesterday": ((row(until=TODAY - DAY),), BLOCKED, False),
    "until today": ((row(until=TODAY),), BLOCKED, True),
    "until tomorrow": ((row(until=TODAY + DAY),), BLOCKED, True),
    "one expired, one not": ((row(until=TODAY - DAY), row(client=None)), BLOCKED, True),
}


@pytest.mark.parametrize(("rows", "found", "expected"), FOUND.values(), ids=FOUND)
def test_what_is_accepted(rows, found, expected):
    """By its code and client, exactly, and up to the day named."""
    assert accepted(found, target(*rows), TODAY).accepted is expected


EXPIRED, UNUSED = "acceptance.expired", "acceptance.unused"
LAPSED = {
    "used": ((row(),), (BLOCKED,), []),
    "used twice": ((row(),), (BLOCKED, BLOCKED), []),
    "two for one": ((row(), row(client=None)), (BLOCKED,), []),
    "unused": ((row("cache.off"),), (BLOCKED,), [(UNUSED, "httpx")]),
    "used today for the last time": ((row(until=TODAY),), (BLOCKED,), []),
    "expired": ((row(until=TODAY - DAY),), (BLOCKED,), [(EXPIRED, "httpx")]),
    "expired and unused": ((row("cache.off", None, TODAY - DAY),), (BLOCKED,), [(EXPIRED, None)]),
    "each its own": ((row("cache.off"), row(until=TODAY - DAY)), (BLOCKED,), [(UNUSED, "httpx"), (EXPIRED, "httpx")]),
    "nothing measured": ((row(),), (), []),
    "nothing measured, expired": ((row(until=TODAY - DAY),), (), [(EXPIRED, "httpx")]),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "found", "expected"), LAPSED.values(), ids=LAPSED)
def test_acceptances_that_nobody_needs(rows, found, expected):
    """One that has expired or matched nothing is a warning each, with its reason."""
    said = lapsed(target(*rows), found, TODAY, "smoke")
    assert [(f.code, f.client) for f in said] == expected
    assert {f.verdict for f in said} <= {WARN}
    assert all(("reason", "known") in f.detail and f.case == "smoke/acceptance" for f in said)


VERDICTS = {
    "accepted does not count": ([BLOCKED, finding("ok", verdict=PASS)], PASS),
    "the other failure does": ([BLOCKED, finding(client="curl")], FAIL),
    "a warning of its own does": ([finding("ok", verdict=PASS), "lapsed"], WARN),
    "an acceptance measures nothing": (["lapsed"], UNKNOWN),
    "nor beside one that is accepted": ([BLOCKED, "lapsed"], UNKNOWN),
}


@pytest.mark.parametrize(("found", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict(found, expected):
    """It is that of the findings that count, and never better than what was measured."""
    declared = target(row(), row("cache.off"))
    [unused] = lapsed(declared, [BLOCKED], TODAY, "s")
    all_ = [unused if f == "lapsed" else accepted(f, declared, TODAY) for f in found]
    assert worst(all_) is expected


# --- in flows --------------------------------------------------------------------------------------------


def with_target(one, **changes):
    return replace(one, target=replace(one.target, **changes))


def refuses(*names):
    return lambda asked: "refused" if asked.trial.client in names else "passed"


@pytest.mark.parametrize(
    ("clients", "name", "expected"),
    [
        (Refusals(), "openai-py", FAIL),
        (Refusals(), "curl", FAIL),
        (Refusals(), "httpx", WARN),
        (Refusals(must_pass=("httpx",)), "httpx", FAIL),
        (Refusals(must_pass=("httpx",)), "openai-py", WARN),
        (Refusals(must_pass=()), "curl", WARN),
        (Refusals(may_fail=("openai-py",)), "openai-py", WARN),
        (Refusals(may_fail=("openai-py",)), "curl", FAIL),
    ],
    ids=[
        "sdk",
        "curl",
        "httpx",
        "declared",
        "not declared",
        "nobody must",
        "sdk may fail",
        "curl still must",
    ],
)
@pytest.mark.parametrize("kind", ["identity", "completion"])
def test_whose_refusal_fails(kind, clients, name, expected):
    """That of a client that must pass; of any other it warns."""
    one = with_target(case(kind), clients=clients)
    mind = (
        refuses(name)
        if kind == "identity"
        else lambda asked: "refused" if asked.trial.client == name else "good"
    )
    blocked = [f for f in told(one, mind)[0] if f.code.startswith("blocked")]
    assert [(f.client, f.verdict) for f in blocked] == [(name, expected)]


def test_a_client_that_is_accepted_is_told_apart():
    """Refused with others alike, it is a finding of its own: the acceptance must not cover theirs."""
    one = with_target(case("identity", (OPENAI, HTTPX, CURL)), accepted=(row(),))
    blocked = [f for f in told(one, refuses("openai-py", "httpx"))[0] if f.code == "blocked.client"]
    assert {f.client: accepted(f, one.target, TODAY).accepted for f in blocked} == {
        "httpx": True,
        "openai-py": False,
    }
    assert all("and" not in f.title for f in blocked)


@pytest.fixture
def accepting(tmp_path, monkeypatch, edgeprobe):
    """`edgeprobe run identity` with an SDK that is refused and these lines in the target's file."""
    monkeypatch.chdir(tmp_path)
    Path("configs/targets").mkdir(parents=True)

    only = [word for name in ("openai-py", "httpx", "curl") for word in ("--client", name)]

    def call(lines: str):
        with lab.serve(["ai-crawler-rule"], clock=Clock(0.02), keys=None) as served:
            Path("configs/targets/t.yaml").write_text(
                f"version: 1\nname: t\napi: openai\nmodel: m\nroutes: {{edge: {{base_url: '{served.base_url}'}}}}\n{lines}"
            )
            said = edgeprobe("run", "identity", *only, "--time-scale", "0.02", "--json", "run.json")
        return said, json.loads(Path("run.json").read_text())

    return call


def test_an_accepted_finding_is_shown_and_does_not_count(accepting):
    """On the console and in the JSON; the run is as good as the rest of it."""
    said, document = accepting("accepted: [{code: blocked.client, client: openai-py, reason: known}]\n")
    assert (said.code, document["verdict"]) == (0, "pass")
    assert "is refused at the edge (accepted)" in said.out
    assert {f["code"]: f["accepted"] for f in document["findings"]} == {"blocked.client": True, "ok": False}


def test_an_expired_acceptance_warns_and_the_finding_counts(accepting):
    """The run fails as if it were not there, and says that it has expired."""
    said, document = accepting(
        "accepted: [{code: blocked.client, client: openai-py, reason: known, until: 2020-01-01}]\n"
    )
    assert (said.code, document["verdict"]) == (1, "fail")
    assert {f["code"]: f["verdict"] for f in document["findings"]} == {
        "blocked.client": "fail", "ok": "pass", "acceptance.expired": "warn",
    }  # fmt: skip
    assert "An acceptance has expired: blocked.client of openai-py" in said.out


def test_may_fail_makes_a_refusal_a_warning(accepting):
    """For a whole run, too."""
    said, document = accepting("clients: {may_fail: [openai-py]}\n")
    assert (said.code, document["verdict"]) == (0, "warn")


def test_a_stored_run_keeps_what_was_accepted(accepting, edgeprobe, reports):
    """Shown again it reads the same, its target with the days of its acceptances."""
    said, _ = accepting(
        "accepted: [{code: blocked.client, client: openai-py, reason: known, until: 2999-01-01}]\n"
    )
    [stored] = reports.glob("*.json")
    assert edgeprobe("report", stored.stem).out == said.out
    assert store.load(stored.stem).target.accepted == (
        Acceptance("blocked.client", "known", "openai-py", date(2999, 1, 1)),
    )
