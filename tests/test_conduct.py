"""A whole run on real sockets: what is sent when, who hears of it, and how it ends when things break."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from canned import run_of
from labruns import CLOCK, KEY, bench_for, refused_port, served, target_at

from probes import clients, lab, live, runner, store
from probes.budget import Governor
from probes.clients import Outcome
from probes.clock import Clock
from probes.conduct import Order, conduct, plan
from probes.config import clients as known_clients
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.kinds import KINDS
from probes.kinds.spec import Bound, KindSpec
from probes.model import (  # fmt: skip
    Acceptance,
    Ask,
    Called,
    Case,
    Client,
    EnvRef,
    Finished,
    Found,
    Limits,
    NotSent,
    Prices,
    Raised,
    Started,
    Trial,
    Verdict,
)
from probes.runner import exit_code, run_cases, worst
from probes.stop import Stop


def trial(label, client="httpx", **more):
    return Trial(label, client, "edge", more.pop("request", Ask("chat", cap=4)), **more)


@pytest.fixture
def kind(monkeypatch):
    """Adds a kind for a test; gives a function from its flow to a case of it on a target."""

    def add(flow, target, name="probing", *, long=False):
        spec = KindSpec(flow, "a kind of this test", lambda _: Bound(9, 9, 1.0), keyed=False, long=long)
        monkeypatch.setitem(KINDS, name, spec)
        return Case(
            f"s/{name}", "s", name, target, tuple(known_clients().values()), "edge", {}, 1, keyed=True
        )

    return add


def steps(*rounds):
    """A flow that asks for these trials and has nothing to say."""

    def flow(_):
        for trials in rounds:  # noqa: UP028 - a tuple's iterator can't be sent calls
            yield trials
        return []

    return flow


def calls_of(kind, target, secrets, *rounds, clock=CLOCK, stop=None):
    calls, _ = run_cases([kind(steps(*rounds), target)], bench_for(target, secrets, clock, stop=stop))
    return calls


# --- what is sent when -----------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["httpx", "openai-py"])
def test_sessions(kind, client):
    """A name is one client object and pool, used again; without one every call has a connection of its own."""
    with served() as (_, target, secrets):
        rounds = [[trial("a", client, session=name)] for name in ("one", "one", "two", None, None, "one")]
        calls = calls_of(kind, target, secrets, *rounds)
    assert [c.last.conditions["connection"] for c in calls] == [
        "new",
        "reused",
        "new",
        "new",
        "new",
        "reused",
    ]
    assert [c.conditions["session"] for c in calls] == ["one", "one", "two", "fresh", "fresh", "one"]


def test_the_trials_of_a_step_run_together(kind):
    """They overlap, and the conditions say how many there were."""
    with served(prefill=10.0, tpot=0.02) as (_, target, secrets):
        began = time.monotonic()
        patient = replace(target, limits=Limits(deadline=60.0))
        calls = calls_of(kind, patient, secrets, [trial(f"t{i}") for i in range(4)], [trial("alone")])
        took = (time.monotonic() - began) / CLOCK.scale
    assert [c.conditions["concurrency"] for c in calls] == [4, 4, 4, 4, 1]
    assert took < 40.0  # five one after the other take more than 50
    assert [c.trial.label for c in calls] == ["t0", "t1", "t2", "t3", "alone"]


def test_own_lag_is_what_we_were_late(kind):
    """A call that has to wait for the one before it says so; one that has not does not."""
    with served(prefill=20.0, tpot=0.02) as (_, target, secrets):
        narrow = replace(target, limits=Limits(concurrency=1, deadline=60.0))
        lags = sorted(c.own_lag for c in calls_of(kind, narrow, secrets, [trial("a"), trial("b")]))
    assert 0 <= lags[0] < 10
    assert lags[1] > 15


def test_start_is_an_offset_into_the_step(kind):
    """The later trial leaves later, and that is no lag."""
    with served() as (_, target, secrets):
        began = time.monotonic()
        calls = calls_of(kind, target, secrets, [trial("a"), trial("b", start=12.0)])
        took = (time.monotonic() - began) / CLOCK.scale
    assert took >= 12.0
    assert all(c.own_lag < 8.0 for c in calls)


def test_two_silent_calls_in_a_row(kind):
    """After them the rest of the case is not sent; another case begins anew."""
    with served("silent") as (_, target, secrets):
        quick = replace(target, limits=Limits(deadline=2.0))
        calls = calls_of(kind, quick, secrets, *[[trial(f"t{i}")] for i in range(4)])
    assert [c.not_sent for c in calls] == [None, None, NotSent.UNAVAILABLE, NotSent.UNAVAILABLE]


def test_a_door_that_is_shut_for_a_moment(kind):
    """However many find it so at the same time, it is one moment: they may ask once more, and then no more."""
    rounds = [[trial("a"), trial("b"), trial("c")], [trial("d"), trial("e")], [trial("f")]]
    with refused_port() as port:
        calls = calls_of(kind, target_at(f"http://127.0.0.1:{port}/v1"), Secrets({KEY: "k" * 20}), *rounds)
    assert [c.not_sent for c in calls] == [None] * 5 + [NotSent.UNAVAILABLE]


@pytest.mark.parametrize("fault", ["reset-all", "close-all"])
def test_a_reset_is_not_silence(kind, fault):
    """Somebody answered, after a fashion."""
    with served(fault) as (_, target, secrets):
        calls = calls_of(kind, target, secrets, *[[trial(f"t{i}")] for i in range(4)])
    assert [c.not_sent for c in calls] == [None] * 4


def test_lanes(kind):
    """Long cases run beside the short ones, which run one after the other; the order told is that of the suite."""
    heard = []
    with served(prefill=10.0, tpot=0.02) as (_, target, secrets):
        cases = [
            kind(steps([trial("a")]), target, name, long=name == "long")
            for name in ("short", "long", "shorter")
        ]
        calls, findings = run_cases(cases, bench_for(target, secrets, emit=heard.append))
    assert [c.case for c in calls] == [f.case for f in findings] == ["s/short", "s/long", "s/shorter"]
    order = [(type(e).__name__, e.case.kind if isinstance(e, Started) else None) for e in heard]
    started, found = order.index(("Started", "long")), order.index(("Found", None))
    assert started < found < order.index(("Started", "shorter"))


# --- who hears of it -------------------------------------------------------------------------------------


def test_events():
    """Started, every call, every finding, then the run; a sink that raises is left out and harms nobody."""
    heard, broken = [], []

    def breaks(event):
        broken.append(event)
        raise ValueError("a broken display")

    with served() as (_, target, secrets):
        run = conduct(Order(("smoke",), target, clock=CLOCK), secrets, (breaks, heard.append))
    assert len(broken) == 1
    assert run.verdict is Verdict.PASS
    assert [e.run for e in heard if isinstance(e, Finished)] == [run]
    assert heard[-1] == Finished(run)
    assert sorted(e.call.id for e in heard if isinstance(e, Called)) == sorted(c.id for c in run.calls)
    assert [e.finding for e in heard if isinstance(e, Found)] == list(run.findings)
    assert [e.case for e in heard if isinstance(e, Started)] == list(run.cases)


def test_only_the_cases_that_are_wanted():
    """Runs of single cases, one Governor for all: each has its own calls, and its own part of the spending."""
    with served() as (_, target, secrets):
        priced, stop = replace(target, prices=Prices(1.0, 2.0)), Stop()
        governor = Governor(priced, CLOCK, stop)
        wanted = [f"smoke/{kind}" for kind in ("completion", "streaming")]
        orders = [Order(("smoke",), priced, ("httpx",), cases=(name,), clock=CLOCK) for name in wanted]
        runs = [conduct(order, secrets, stop=stop, governor=governor) for order in orders]
    assert [[case.id for case in run.cases] for run in runs] == [[name] for name in wanted]
    assert {finding.case for run in runs for finding in run.findings} == set(wanted)
    assert all(run.spend.requests == len(run.calls) > 0 for run in runs)
    assert sum(run.spend.input_tokens for run in runs) == governor.spend.input_tokens
    assert sum(run.spend.usd for run in runs) == pytest.approx(governor.spend.usd)


def test_a_part_of_a_suite_leaves_no_acceptance_unused():
    """What no finding of one case matches may be matched in another."""
    with served() as (_, target, secrets):
        accepting = replace(target, accepted=(Acceptance("server.error", "known"),))
        whole = Order(("smoke",), accepting, ("httpx",), clock=CLOCK)
        runs = [conduct(order, secrets) for order in (whole, replace(whole, cases=("smoke/completion",)))]
    assert ["acceptance.unused" in {f.code for f in run.findings} for run in runs] == [True, False]


def test_what_is_left_out_of_other_cases_is_not_said():
    """A run of one case lists what that case lacks."""
    order = Order(("smoke",), target_at("http://127.0.0.1:9/v1"), only=("anthropic-py",))
    assert len(plan(order, Secrets()).skipped) == 5
    assert {s.case for s in plan(replace(order, cases=("smoke/streaming",)), Secrets()).skipped} == {
        "smoke/streaming"
    }


def test_a_run_says_what_it_was():
    """Versions, spend and seed; the digest is that of what was asked."""
    with served() as (_, target, secrets):
        first, same, other = (
            conduct(Order(("identity",), target, only=only, seed=seed, clock=CLOCK), secrets)
            for only, seed in ((("curl",), 1), (("curl",), 2), (("httpx",), 1))
        )
    assert first.versions.keys() == {"edgeprobe", "python", "curl"}
    assert first.spend.requests == len(first.calls) > 0
    assert (first.seed, first.time_scale, first.suites) == (1, CLOCK.scale, ("identity",))
    assert first.config_digest == same.config_digest != other.config_digest
    assert len({first.id, same.id, other.id}) == 3


# --- how it ends when things break -----------------------------------------------------------------------


class Breaking:
    """A sender whose sessions break in one place."""

    def __init__(self, where):
        self.where = where

    def __call__(self, setting):
        return self

    def connect(self, route):
        if self.where == "connect":
            raise RuntimeError("broken in connect")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.where == "close":
            raise RuntimeError("broken in close")

    def send(self, trial, limits):
        if self.where == "send" and trial.label == "a":
            raise RuntimeError("broken in send")
        return Outcome((), None, Raised("x.Y", "no"))


@pytest.mark.parametrize("session", [None, "one"])
@pytest.mark.parametrize("where", ["connect", "send", "close"])
def test_a_broken_client_costs_its_case_alone(kind, monkeypatch, where, session):
    """The bug is told with its traceback, calls that came are kept, and the case after it is unharmed."""
    real = clients.sender_class
    monkeypatch.setattr(clients, "sender_class", lambda c: Breaking(where) if c.kind == "fake" else real(c))
    with served() as (_, target, secrets):
        fake = kind(
            steps([trial("b", "fake", session=session), trial("a", "fake", session=session)]), target, "one"
        )
        fake = replace(fake, clients=(Client("fake", "fake"),))
        cases = [fake, kind(steps([trial("c")]), target, "two")]
        calls, findings = run_cases(cases, bench_for(target, secrets))
    by_case = {f.case: f for f in findings}
    assert by_case["s/two"].code == "not_measured"  # its flow says nothing, but it ran
    assert [c.last.status for c in calls if c.case == "s/two"] == [200]
    if where == "close":
        assert by_case["s/one"].code == "not_measured"
    else:
        assert by_case["s/one"].code == "probe.bug"
        assert f"RuntimeError: broken in {where}" in by_case["s/one"].detail[0][1]
    kept = {"connect": set(), "send": {"b"}, "close": {"a", "b"}}[where]
    assert {c.trial.label for c in calls if c.case == "s/one"} == kept


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_a_lane_that_breaks_is_our_bug_and_not_an_interruption(kind, monkeypatch, long):
    """Whatever breaks around a flow is told with its traceback, without secrets, and the next case still runs."""

    def broken(finding, *_):
        if finding.case == "s/one":
            raise RuntimeError(f"broken with {running.api_key}")
        return finding

    monkeypatch.setattr(runner, "accepted", broken)
    with served() as (running, target, secrets):
        cases = [kind(steps(), target, "one", long=long), kind(steps(), target, "two", long=long)]
        _, (first, second) = run_cases(cases, bench_for(target, secrets))
    assert (first.code, first.verdict) == ("probe.bug", Verdict.ERROR)
    assert "RuntimeError: broken with" in first.detail[0][1]
    assert running.api_key not in first.detail[0][1]
    assert (second.code, second.reason) == ("not_measured", "too_few")


def test_a_target_that_takes_no_completions(kind):
    """What needs one is skipped with the reason; nothing measured is not green."""
    target = replace(target_at("http://127.0.0.1:9/v1"), key_env=None, endpoints=("models",))
    run = conduct(Order(("identity", "long"), target), Secrets({}))
    assert {row.reason for row in run.skipped} == {"none of the endpoints models takes a completion"}
    assert {row.case.split("/")[1] for row in run.skipped} == {"identity", "length"}
    assert (run.findings, run.spend.requests, exit_code(run)) == ((), 0, 3)


@pytest.mark.parametrize(
    "suite, owned, endpoints, concurrency, why",
    [
        (
            "edge",
            False,
            ("chat",),
            4,
            {"edge/responses": "the target does not declare the endpoint responses"},
        ),
        ("edge", False, ("chat", "responses"), 4, {}),
        ("burst", False, (), 20, {"burst/burst": "target not owned"}),
        ("burst", True, (), 4, {"burst/burst": "a burst of 20 needs limits.concurrency: 20"}),
        ("burst", True, (), 20, {}),
    ],
    ids=["undeclared", "declared", "not owned", "too few at once", "allowed"],
)
def test_a_case_that_does_not_fit_the_target_is_skipped(suite, owned, endpoints, concurrency, why):
    """With the reason, and before anything is sent."""
    target = target_at("http://127.0.0.1:9/v1", owned=owned, endpoints=endpoints, key_env=None)
    target = replace(target, limits=Limits(concurrency=concurrency))
    skipped = {s.case: s.reason for s in plan(Order((suite,), target), Secrets()).skipped if s.client is None}
    assert skipped.keys() == why.keys()
    assert all(skipped[case].startswith(said) for case, said in why.items())


@pytest.mark.parametrize("client", ["httpx", "openai-py", "curl"])
def test_stop_in_mid_run(kind, client):
    """A call under way is ended, no further one begins, and the case is inconclusive; all within three seconds."""
    with served("silent", clock=Clock()) as (_, target, secrets):
        stop = Stop()
        waiting = trial("t", client, deadline=60.0)
        case = kind(steps([waiting], [trial("next")]), target)
        live.Live(case, bench_for(target, secrets)).sender(client)  # imported before the clock runs
        timer = threading.Timer(0.4, stop, ("interrupted",))
        timer.start()
        began = time.monotonic()
        calls, findings = run_cases([case], bench_for(target, secrets, Clock(), stop=stop))
        took = time.monotonic() - began
        timer.join()
    assert took < 30.0
    first, second = calls
    assert first.not_sent is NotSent.INTERRUPTED or first.last.error.kind == "interrupted"
    assert second.not_sent is NotSent.INTERRUPTED
    assert exit_code(run_of(case, calls, findings)) == 3


@pytest.mark.parametrize("suite", ["smoke", "identity", "long"])
def test_a_run_stopped_before_it_began(suite):
    """Nothing is sent, every case says interrupted, and the run is not green."""
    with served() as (_, target, secrets):
        stop = Stop()
        stop("interrupted")
        run = conduct(Order((suite,), target, clock=CLOCK), secrets, stop=stop)
    assert {c.not_sent for c in run.calls} == {NotSent.INTERRUPTED}
    assert {f.reason for f in run.findings} == {"interrupted"}
    assert (run.verdict, exit_code(run), run.spend.requests) == (Verdict.INCONCLUSIVE, 3, 0)


def test_ctrl_c(tmp_path):
    """The run is saved with what it has, and the exit code is 3, within three seconds."""
    with served("silent", clock=Clock()) as (_, target, _secrets):
        arguments = [
            "run",
            "smoke",
            "--base-url",
            target.routes["edge"].base_url,
            "--api",
            "openai",
            "--model",
            "m",
        ]
        environment = {**os.environ, "EDGEPROBE_REPORTS": str(tmp_path), KEY: lab.LAB_KEY}
        with subprocess.Popen(
            [sys.executable, "-c", _ANNOUNCED, *arguments, "--key-env", KEY],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout.readline() == "sending\n", process.stderr.read()
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            out, err = process.communicate(timeout=20)
            took = time.monotonic() - began
    assert (process.returncode, err) == (3, "")
    assert took < 15.0, out
    (saved,) = tmp_path.iterdir()
    run = store.load(str(saved))
    assert worst(run.findings) is run.verdict is Verdict.INCONCLUSIVE
    assert NotSent.INTERRUPTED in {c.not_sent for c in run.calls}


_ANNOUNCED = """
import sys
from probes import cli, live
send = live.Live._send
def announced(*args):
    sys.stdout.write("sending\\n")  # in one piece: several are sent at once
    sys.stdout.flush()
    return send(*args)
live.Live._send = announced
sys.exit(cli.main(sys.argv[1:]))
"""


def test_smoke_on_a_silent_server_ends_in_time():
    """Within 45 s, whatever it waits for."""
    clock = Clock(0.4)
    with served("silent", clock=clock) as (_, target, secrets):
        began = time.monotonic()
        run = conduct(Order(("smoke",), target, clock=clock), secrets)
        took = (time.monotonic() - began) / clock.scale
    assert took < 45.0
    assert run.verdict is Verdict.INCONCLUSIVE
    assert exit_code(run) == 3


def test_smoke_on_a_refused_port_ends_at_once():
    """Nobody listens: a failure of the network, without waiting."""
    with refused_port() as port:
        began = time.monotonic()
        run = conduct(Order(("smoke",), target_at(f"http://127.0.0.1:{port}/v1")), Secrets({KEY: "k" * 20}))
        took = time.monotonic() - began
    assert took < 5.0
    assert {f.code for f in run.findings} == {"unreachable.connect"}
    assert run.verdict is Verdict.FAIL


# --- the operator's mistakes -----------------------------------------------------------------------------


def order(*suites, target=None, **more):
    return Order(suites, target or target_at("http://127.0.0.1:9/v1"), **more)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (order("smoke"), KEY),
        (order("identity", "smoke"), KEY),
        (order("smok"), "smoke"),
        (order("smoke", only=("curll",)), "curl"),
        (order("smoke", overrides={"tokns": "1"}), "--set tokns"),
        (order("identity", target=replace(order().target, routes={
            "edge": replace(order().target.routes["edge"], headers={"X-Bypass": EnvRef("NOT_THERE")})})), "NOT_THERE"),
    ],
    ids=["no key", "no key for one of two", "suite", "client", "parameter", "header"],
)  # fmt: skip
def test_mistakes(wrong, said):
    """Each is said before anything is sent, and names what is wrong."""
    with pytest.raises(UsageError, match=said):
        conduct(wrong, Secrets({}))


@pytest.mark.parametrize("environ, keyed", [({}, False), ({KEY: "k" * 20}, True)])
def test_a_key_is_asked_for_only_where_a_case_needs_it(environ, keyed):
    """`identity` runs without a key; with one it can tell more."""
    (case,) = plan(order("identity"), Secrets(environ)).cases
    assert case.keyed is keyed


def test_a_client_that_is_not_installed(monkeypatch):
    """It is listed with its reason; a case that has no other is left out, and a run of nothing is not green."""
    monkeypatch.setattr(clients, "unavailable", lambda c: "not here" if c.name == "curl" else None)
    planned = plan(order("identity"), Secrets({}))
    assert not {"curl", "curl-h2"} & {c.name for c in planned.cases[0].clients}
    assert [(s.client, s.reason) for s in planned.skipped] == [
        ("curl", "not here"),
        ("curl-h2", "HTTP/2 is agreed on in TLS, and route edge is plain http"),
    ]
    run = conduct(order("identity", only=("curl",)), Secrets({}))
    assert (run.cases, run.calls, run.findings) == ((), (), ())
    assert (run.verdict, exit_code(run), exit_code(run, allow_inconclusive=True)) == (
        Verdict.INCONCLUSIVE,
        3,
        3,
    )
    assert [s.client for s in run.skipped] == ["curl", None]
