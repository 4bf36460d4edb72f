"""What does a canary's run become for Prometheus?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from labruns import CLOCK, served
from measured import ASK, CODES, NOW, answer, call, run, timed
from prometheus_client.parser import text_string_to_metric_families

from probes.canary import About, Alert, AlertKey, AlertState, Missed, Turn
from probes.conduct import Order, conduct
from probes.metric_rows import CATALOGUE, MOST_KINDS_OF_FINDING, Asked, most_series
from probes.model import Ask, Figure, Finding, Finished, Layer, Raised, Raw, Slo, Verdict, WireError
from probes.sinks.metrics import Metrics

SLO = Slo(ttft=1.0, tpot=0.2)


def read(metrics):
    """(name of the sample, its labels) → value, as Prometheus' own parser reads them; ours alone."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
        if sample.name.startswith("edgeprobe_")
    }


def seen(metrics, name, **labels):
    """The values of a sample by the labels that were not asked for."""
    wanted = set(labels.items())
    return {
        tuple(value for _, value in sorted(set(at) - wanted)): value
        for (sample, at), value in read(metrics).items()
        if sample == name and wanted <= set(at)
    }


def of(*calls, **more):
    metrics = Metrics(CODES)
    metrics(Finished(run(*calls, **more)))
    return metrics


def finding(code="blocked.client", verdict=Verdict.FAIL, layer=Layer.EDGE, **more):
    return Finding(code, verdict, "s/streaming", "streaming", layer=layer, route="edge", **more)


def alert(code="blocked.client", target="prod", state=AlertState.OPEN, layer=Layer.EDGE, about=About.SERVICE):
    key = AlertKey(target, about, layer, "Cloudflare", code)
    return Alert("a", key, state, NOW, NOW, NOW)


def everything():
    """A canary of which each metric of the catalogue has been measured."""
    metrics = of(
        call(timed(cached=40, tls={"days_left": 30.0})),
        findings=[finding(figures={"cutoff": Figure(100.0, "s", 3)})],
        slo=SLO,
    )
    metrics.alerts([alert()], 2)
    metrics.entries({"smoke": timedelta(minutes=5)}, ["prod"])
    metrics.due("smoke", NOW)
    metrics.turn(Turn("smoke", "prod", NOW, ended=NOW, run="r", verdict=Verdict.FAIL, conclusive=True))
    metrics.turn(Turn("smoke", "prod", NOW, missed=Missed.OVERLAP))
    metrics.lag(0.02)
    metrics.budget("prod", "tokens", 10)
    metrics.reload(ok=True, at=NOW)
    metrics.must_fail(ok=True, at=NOW)
    metrics.comparison("prod", Verdict.FAIL)
    metrics.control(ok=True)
    metrics.store(errors=1, ok=False)
    return metrics


def test_a_run_on_the_wire_shows_who_is_shut_out():
    """By its real events, with two clients and an edge that refuses one of them."""
    metrics = Metrics(CODES)
    with served("ai-crawler-rule") as (_, target, secrets):
        asked = replace(target, name="prod", slo=Slo(ttft=60.0))
        order = Order(("smoke",), asked, only=("openai-py", "curl"), seed=1, clock=CLOCK)
        told = conduct(order, secrets, [metrics])
    of_client = {
        client: {word: n for (word,), n in seen(metrics, "edgeprobe_calls_total", client=client, route="edge", target="prod").items()}
        for client in ("openai-py", "curl")
    }  # fmt: skip
    assert of_client["curl"] == {"good": of_client["curl"]["good"], "bad": 0, "unknown": 0}
    assert of_client["curl"]["good"] >= 2
    assert (of_client["openai-py"]["good"], of_client["openai-py"]["bad"] >= 2) == (0, True)
    sent = sum(seen(metrics, "edgeprobe_wire_requests_total").values())
    assert sent == sum(bool(e.request.method) for one in told.calls for e in one.exchanges)
    assert seen(metrics, "edgeprobe_findings_total", code="blocked.client", layer="edge", verdict="fail")
    assert sum(seen(metrics, "edgeprobe_ttft_seconds_count", kind="streaming").values()) >= 1


def test_the_catalogue_is_what_is_shown():
    """Name, type, help and labels of each; none is shown that the catalogue lacks, and none of it is never shown."""
    shown = {
        family.name: family
        for family in text_string_to_metric_families(everything().text().decode())
        if family.name.startswith("edgeprobe_")
    }
    told = {
        family.name + ("_total" if family.type == "counter" else ""): (
            family.type,
            family.documentation,
            {label for sample in family.samples for label in sample.labels} - {"le"},
        )
        for family in shown.values()
    }
    assert told == {row.name: (row.type, row.help, set(row.labels)) for row in CATALOGUE.values()}


def test_labels_that_are_closed_hold_nothing_else():
    """Whatever is measured, values are those of the catalogue."""
    for name, labels in read(everything()):
        row = CATALOGUE[name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")]
        for label, value in labels:
            domain = row.labels.get(label)
            assert domain is None or value in domain, (name, label, value)


def test_what_was_not_measured_is_absent():
    """A canary that has done nothing shows nothing of its own: a 0 would be a claim."""
    assert read(Metrics(CODES)) == {}


def test_a_run_that_said_nothing_shows_nothing():
    """Of a call that was not sent there is no request, no outcome and no time."""
    assert read(of(replace(call(), exchanges=()), slo=SLO)) == {}


REFUSED = answer("refused")
DEADLINE = answer("timeout")


@pytest.mark.parametrize(
    ("one", "result"),
    [
        (call(timed()), "good"),
        (call(REFUSED), "bad"),
        (call(answer("bad gateway")), "bad"),
        (call(answer("cut stream")), "bad"),
        (call(answer("ratelimited")), "unknown"),
        (call(answer("our limit")), "unknown"),
        (call(DEADLINE), "bad"),
        (call(DEADLINE, deadline=2.0), "unknown"),
        (call(timed(), raised=Raised("APIError", "cannot read it")), "bad"),
        (call(replace(REFUSED, attribution=None)), "unknown"),
    ],
    ids=[
        "good", "refused", "502", "cut", "our own key is limited", "a limit of ours", "no answer within the deadline",
        "we gave up sooner", "good on the wire, not for the caller", "nobody knows who made it",
    ],
)  # fmt: skip
def test_availability_counts_what_says_something_of_the_service(one, result):
    """Each client's outcome; the others begin at 0, so that the first bad answer is a rise."""
    found = seen(of(one), "edgeprobe_calls_total", client="curl", route="edge", target="prod")
    assert found == {(word,): float(word == result) for word in ("good", "bad", "unknown")}


@pytest.mark.parametrize(
    "ask",
    [
        Ask("chat", recipe="invalid"),
        Ask("chat", key="made_up"),
        Ask("chat", edits={"user-agent": "x"}),
        Ask("chat", model="no-such"),
        Raw("GET", "/nowhere"),
    ],
    ids=["invalid", "a key that is made up", "edited headers", "a model that is not there", "raw"],
)
def test_requests_that_no_customer_sends_say_nothing_of_availability(ask):
    """They are counted on the wire alone."""
    metrics = of(call(REFUSED, ask=ask), slo=SLO)
    assert seen(metrics, "edgeprobe_calls_total") == seen(metrics, "edgeprobe_slo_requests_total") == {}
    assert seen(metrics, "edgeprobe_wire_requests_total", result="4xx") == {("edge", "prod"): 1.0}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("good", "2xx"), ("redirected", "3xx"), ("refused", "4xx"), ("ratelimited", "429"), ("bad gateway", "5xx"),
        ("timeout", "timeout"), ("cut stream", "broken"), ("reset", "no_answer"), ("no name", "no_answer"),
        ("our limit", "stopped"),
    ],
)  # fmt: skip
def test_every_request_on_the_wire_counts_by_how_it_ended(name, word):
    """One word each."""
    found = seen(of(call(answer(name))), "edgeprobe_wire_requests_total", route="edge", target="prod")
    assert {at for at, n in found.items() if n} == {(word,)}


def test_attempts_of_a_client_count_each():
    """Two 429 and a 503 before a good answer are four requests of one call."""
    busy = answer("ratelimited")
    metrics = of(call(busy, busy, replace(busy, status=503), timed()))
    found = seen(metrics, "edgeprobe_wire_requests_total", route="edge", target="prod")
    assert {at[0]: n for at, n in found.items() if n} == {"429": 2, "503": 1, "2xx": 1}
    assert sum(seen(metrics, "edgeprobe_calls_total").values()) == 1


def test_a_status_beyond_the_standard_is_broken():
    """What a hostile server sends makes no label of its own."""
    assert seen(of(call(replace(REFUSED, status=999))), "edgeprobe_wire_requests_total", result="broken")


@pytest.mark.parametrize(
    ("exchange", "word"),
    [
        (timed(), "met"),
        (timed(first_token=1.5, last_token=1.6), "missed"),
        (timed(last_token=9.0, end=9.1), "missed"),
        (timed(tokens=1), "unknown"),
        (timed(tokens=1, first_token=1.5), "missed"),
        (timed(stalls=[[0.5, 0.7]]), "unknown"),
        (answer("bad gateway"), "missed"),
        (answer("ratelimited"), "unknown"),
    ],
    ids=["met", "late", "slow", "no time per token", "late all the same", "our own stall", "failed", "our own limit"],
)  # fmt: skip
def test_the_slo_is_met_by_what_was_measured_alone(exchange, word):
    """A failure missed it, what is not known leaves it open, and one limit missed is enough."""
    found = seen(of(call(exchange), slo=SLO), "edgeprobe_slo_requests_total", route="edge", target="prod")
    assert {at for at, n in found.items() if n} == {(word,)}


@pytest.mark.parametrize(
    ("asked", "slo"),
    [(ASK, Slo()), (replace(ASK, stream=False), SLO)],
    ids=["without an slo", "not streamed"],
)
def test_without_a_promise_nothing_is_met(asked, slo):
    """Neither 0 nor 1."""
    assert seen(of(call(timed(), ask=asked), slo=slo), "edgeprobe_slo_requests_total") == {}


def test_times_stand_under_their_conditions():
    """Time to the first token, per token and of the whole, each in its bucket."""
    metrics = of(call(timed(cached=40)), call(timed(cached=0, connection="reused")))
    found = seen(metrics, "edgeprobe_ttft_seconds_count", kind="streaming", route="edge", target="prod")
    assert found == {("hit", "new"): 1.0, ("miss", "reused"): 1.0}
    for name, took, below in (("ttft", 0.5, 0.3), ("tpot", 0.1, 0.08), ("total", 1.6, 1.0)):
        [total] = seen(metrics, f"edgeprobe_{name}_seconds_sum", cache="hit").values()
        assert total == pytest.approx(took)
        [no] = seen(metrics, f"edgeprobe_{name}_seconds_bucket", cache="hit", le=str(below)).values()
        [all_of_it] = seen(metrics, f"edgeprobe_{name}_seconds_bucket", cache="hit", le="+Inf").values()
        assert (no, all_of_it) == (0.0, 1.0)


@pytest.mark.parametrize(
    "exchange",
    [timed(connection=None), answer("refused"), timed("cut stream"), timed(first_token=None, last_token=None, end=None)],
    ids=["an unknown connection", "refused", "cut", "no times"],
)  # fmt: skip
def test_a_sample_without_known_conditions_is_none(exchange):
    """No histogram of what cannot be compared."""
    names = {name for name, _ in read(of(call(exchange)))}
    assert not [name for name in names if "_seconds_" in name]


def test_a_stall_of_our_own_spoils_the_times_that_it_touched():
    """The late stamp is left out and told, the others stay."""
    metrics = of(call(timed(stalls=[[0.55, 0.65]])))
    assert (
        seen(metrics, "edgeprobe_ttft_seconds_count") == seen(metrics, "edgeprobe_tpot_seconds_count") == {}
    )
    assert list(seen(metrics, "edgeprobe_total_seconds_count").values()) == [1.0]
    assert seen(metrics, "edgeprobe_tainted_samples_total") == {("prod",): 1.0}


@pytest.mark.parametrize(
    ("usage", "share"),
    [
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}}, (64, 100)),
        ({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}}, (64, 100)),
        ({"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10}, (80, 100)),
        ({"prompt_tokens": 100, "prompt_tokens_details": None}, None),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 101}}, None),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": True}}, None),
        ({"prompt_tokens": -5, "prompt_tokens_details": {"cached_tokens": -7}}, None),
        ({"prompt_tokens": 10**400, "prompt_tokens_details": {"cached_tokens": 10**399}}, None),
        ({"prompt_tokens": "9", "prompt_tokens_details": "none"}, None),
        ({}, None),
    ],
    ids=["chat", "responses", "messages", "no details", "more than all", "a bool", "negative", "huge", "text", "none"],
)  # fmt: skip
def test_the_share_from_the_cache_is_of_usage_that_tells_of_one(usage, share):
    """Each dialect counts its own way; what makes no sense is not told."""
    exchange = timed()
    metrics = of(call(replace(exchange, facts={**exchange.facts, "usage": usage})))
    told = [
        next(iter(seen(metrics, name).values()), None)
        for name in ("edgeprobe_prompt_tokens_cached_total", "edgeprobe_prompt_tokens_total")
    ]
    assert told == list(share or (None, None))


def test_the_share_from_the_cache_is_weighed_by_tokens():
    """C87: not a mean over calls, of which those of two tokens would be most; and what gave no token is left out."""
    large = timed(cached=600)
    large = replace(large, facts={**large.facts, "usage": {**large.facts["usage"], "prompt_tokens": 1000}})
    small = timed(cached=0)
    small = replace(small, facts={**small.facts, "usage": {**small.facts["usage"], "prompt_tokens": 2}})
    given_up = timed(cached=100, tokens=0)
    metrics = of(call(large), *(call(small) for _ in range(20)), call(given_up))
    [cached] = seen(metrics, "edgeprobe_prompt_tokens_cached_total").values()
    [all_of_them] = seen(metrics, "edgeprobe_prompt_tokens_total").values()
    assert (cached, all_of_them) == (600.0, 1040.0)


def test_a_count_of_tokens_without_end_breaks_nothing():
    """JSON's integers may be larger than any float."""
    assert seen(of(call(timed(tokens=10**400))), "edgeprobe_tpot_seconds_count") == {}


def test_the_first_certificate_to_expire_counts():
    """Of a route, to the hour; that of a handshake which failed is not the customers'."""
    refused = replace(timed(tls={"days_left": 0.1}), error=WireError("tls", "tls", "x"))
    metrics = of(call(timed(tls={"days_left": 30.0})), call(timed(tls={"days_left": 2.001})), call(refused))
    [expires] = seen(metrics, "edgeprobe_certificate_expiry_timestamp_seconds").values()
    assert expires == NOW.timestamp() + 2 * 86400


def test_a_cutoff_goes_when_such_a_case_passes():
    """The shortest is told; an inconclusive run leaves it, and so does one that failed otherwise."""
    cut = [finding("timeout.total", figures={"cutoff": Figure(s, "s", 3)}) for s in (125.0, 100.0)]
    metrics = of(findings=cut)
    name = "edgeprobe_cutoff_seconds"
    assert seen(metrics, name, target="prod", kind="streaming") == {("edge",): 100.0}
    for verdict in (Verdict.INCONCLUSIVE, Verdict.FAIL):
        metrics(Finished(run(findings=[finding("not_measured", verdict)])))
        assert list(seen(metrics, name).values()) == [100.0]
    metrics(Finished(run(findings=[finding("ok", Verdict.PASS)])))
    assert seen(metrics, name) == {}


def test_findings_that_are_accepted_do_not_count():
    """The operator lives with them."""
    metrics = of(findings=[finding(), finding(accepted=True)])
    assert list(seen(metrics, "edgeprobe_findings_total", code="blocked.client").values()) == [1.0]


def test_an_unknown_code_is_other():
    """A stored run of a newer version, or a server's text, makes no label."""
    assert list(
        seen(of(findings=[finding("made\nup")]), "edgeprobe_findings_total", code="other").values()
    ) == [1.0]


def test_kinds_of_findings_have_an_end():
    """Beyond it they are counted together, and what is known goes on being told apart."""
    kinds = [(code, layer) for code in CODES for layer in Layer][: 2 * MOST_KINDS_OF_FINDING]
    found = [finding(code, layer=layer) for code, layer in kinds]
    metrics = of(findings=[*found, found[0]])
    told = seen(metrics, "edgeprobe_findings_total", target="prod", verdict="fail")
    assert sum(told.values()) == len(found) + 1
    assert told[kinds[0][0], kinds[0][1]] == 2
    assert told["other", "unknown"] == len(found) - MOST_KINDS_OF_FINDING
    assert len(told) <= CATALOGUE["edgeprobe_findings_total"].most


HOSTILE = 'x"} 1\nedgeprobe_must_fail_ok 1\n#\\\x00\x85\u2028\ud800' + "é" * 500


def test_a_hostile_name_stays_a_label():
    """It is one value, short, and adds no line: what it was meant to claim is not read."""
    metrics = of(call(timed(), client=HOSTILE), target=HOSTILE)
    metrics.turn(Turn(HOSTILE, HOSTILE, NOW, run="r", verdict=Verdict.PASS))
    metrics.alerts([alert(code=HOSTILE, target=HOSTILE)], 0)
    found = read(metrics)
    assert ("edgeprobe_must_fail_ok", ()) not in found
    assert {len(v) for _, labels in found for k, v in labels if k in {"client", "target", "entry"}} == {120}


def test_alerts_are_those_that_are_open_now():
    """Grouped by what a rule needs; one that was resolved is gone."""
    metrics = Metrics(CODES)
    metrics.alerts([alert(), alert(), alert("slo.missed"), alert("redirected", state=AlertState.RESOLVED)], 1)
    found = seen(metrics, "edgeprobe_alerts_open", target="prod", about="service", layer="edge")
    assert found == {("blocked.client",): 2.0, ("slo.missed",): 1.0}
    metrics.alerts([], 0)
    assert seen(metrics, "edgeprobe_alerts_open") == {}
    assert seen(metrics, "edgeprobe_alerts_undelivered") == {(): 0.0}


def test_only_a_conclusive_turn_is_a_success():
    """Good or bad: it said something of the service."""
    metrics = Metrics(CODES)
    turn = Turn("smoke", "prod", NOW, ended=NOW, run="r", verdict=Verdict.INCONCLUSIVE)
    metrics.turn(turn)
    name = "edgeprobe_entry_last_success_timestamp_seconds"
    assert seen(metrics, name) == {}
    metrics.turn(replace(turn, verdict=Verdict.FAIL, conclusive=True))
    assert seen(metrics, name) == {("smoke",): NOW.timestamp()}


@pytest.mark.parametrize(
    ("verdict", "conclusive", "stays"),
    [(Verdict.PASS, True, False), (Verdict.WARN, True, False), (Verdict.FAIL, True, True), (Verdict.PASS, False, True)],
)  # fmt: skip
def test_a_doubt_about_our_own_network_ends_with_a_good_turn(verdict, conclusive, stays):
    """The control address is asked when something is bad, so nobody else would take it back."""
    metrics = Metrics(CODES)
    metrics.control(ok=False)
    metrics.turn(Turn("smoke", "prod", NOW, ended=NOW, run="r", verdict=verdict, conclusive=conclusive))
    assert (("edgeprobe_control_ok", ()) in read(metrics)) is stays


def test_what_is_no_longer_watched_is_forgotten():
    """After a reload the old names are gone, histograms too, and a run that ends late brings none back."""
    metrics = everything()
    metrics.entries({"other": timedelta(hours=1)}, ["elsewhere"])
    metrics(Finished(run(call(timed()))))
    labels = {pair for _, at in read(metrics) for pair in at}
    assert not {("target", "prod"), ("entry", "smoke")} & labels
    assert ("entry", "other") in labels
    assert seen(metrics, "edgeprobe_lag_seconds_count") == {(): 1.0}


def test_what_is_switched_off_says_so():
    """No must-fail canary is not a good one."""
    metrics = everything()
    metrics.must_fail(ok=None, at=None)
    found = read(metrics)
    assert found["edgeprobe_must_fail_enabled", ()] == 0
    assert ("edgeprobe_must_fail_ok", ()) not in found
    assert ("edgeprobe_must_fail_timestamp_seconds", ()) not in found


def test_a_refused_configuration_leaves_the_time_of_the_one_in_use():
    """It shows that the file is not what runs."""
    metrics = Metrics(CODES)
    metrics.reload(ok=True, at=NOW)
    metrics.reload(ok=False, at=NOW + timedelta(hours=1))
    found = read(metrics)
    assert found["edgeprobe_config_last_reload_successful", ()] == 0
    assert found["edgeprobe_config_last_reload_success_timestamp_seconds", ()] == NOW.timestamp()
    for result in ("taken", "refused"):
        assert found["edgeprobe_config_reloads_total", (("result", result),)] == 1


def test_the_bound_holds_for_all_that_can_be_measured():
    """Every code, layer, verdict, word and condition of one target and entry makes as many series as was said, and no more."""
    metrics = everything()
    one, again = timed(cached=40), timed(connection="reused")
    variants = [
        replace(each, facts={**each.facts, "usage": {"prompt_tokens": 9, "completion_tokens": 5, **more}})
        for each in (one, again)
        for more in ({}, *({"prompt_tokens_details": {"cached_tokens": n}} for n in (0, 5)))
    ]
    calls = [call(each, ask=replace(ASK, stream=stream)) for each in variants for stream in (True, False)]
    found = [finding(code, verdict, layer) for code in CODES for verdict in Verdict for layer in Layer]
    metrics(Finished(run(*calls, findings=found, slo=SLO)))
    metrics.alerts(
        [alert(code, layer=layer, about=about) for code in CODES for layer in Layer for about in About], 0
    )
    for kind in ("requests", "usd"):
        metrics.budget("prod", kind, 1)
    for verdict in Verdict:
        for conclusive in (True, False):
            metrics.turn(Turn("smoke", "prod", NOW, run="r", verdict=verdict, conclusive=conclusive))
    metrics(Finished(run(findings=[finding(figures={"cutoff": Figure(100.0, "s", 3)})])))
    metrics.control(ok=True)
    assert len(read(metrics)) == most_series([Asked(1, 1, 1)], 1)


@pytest.mark.parametrize(
    ("targets", "entries"),
    [([Asked(1, 1, 1)] * 2, 1), ([Asked(2, 1, 1)], 1), ([Asked(1, 2, 1)], 1), ([Asked(1, 1, 2)], 1), ([Asked(1, 1, 1)], 2)],
    ids=["targets", "routes", "clients", "kinds", "entries"],
)  # fmt: skip
def test_the_bound_grows_with_what_is_watched(targets, entries):
    """Each target, route, client, kind and entry adds its own."""
    assert most_series(targets, entries) > most_series([Asked(1, 1, 1)], 1)
