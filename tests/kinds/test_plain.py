"""A plain completion and a plain stream: each client's k of n, and TTFT only where there is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, HTTPX, NO_EXCHANGE, SENT, answer, as_text, attributed, case, told
from exchanges import exchange

from probes.model import Layer, NotSent, Observed, Reason, Slo, Timeline, Verdict, WhoActs
from probes.runner import worst

GOOD = {"completion": "good", "streaming": "good stream"}
both = pytest.mark.parametrize("kind", GOOD)


@both
def test_everybody_is_served(kind):
    """One green finding names every client, and each was asked once."""
    findings, server = told(case(kind), lambda _: GOOD[kind])
    assert [(f.code, f.verdict, f.observed.k, f.observed.n) for f in findings] == [("ok", Verdict.PASS, 0, 3)]
    assert all(client.name in findings[0].title for client in ALL)
    assert set(server.asked.values()) == {1}


@both
def test_repeats_are_samples_of_those_who_are_served(kind):
    """So many rounds of the same request; who gets nothing is not asked so often, and one failure of them is told."""

    def mind(asked):
        lost = asked.client == "openai-py" or (asked.client == "curl" and asked.repeat == 6)
        return "server error" if lost else GOOD[kind]

    findings, server = told(case(kind, repeats=10), mind)
    assert {label.partition("/")[2]: n for label, n in server.asked.items()} == {
        "openai-py": 3,
        "httpx": 10,
        "curl": 10,
    }
    failed = [f for f in findings if f.verdict is Verdict.FAIL]
    assert [(f.code, f.observed) for f in failed] == [
        ("server.error", Observed(4, 13))
    ]  # of both that met it


@both
def test_repeats_end_with_the_budget(kind):
    """What was bought until then is judged as it is."""
    findings, server = told(
        case(kind, (HTTPX,), repeats=10), lambda asked: NotSent.BUDGET if asked.repeat == 4 else GOOD[kind]
    )
    assert (server.sent, [f.verdict for f in findings]) == (4, [Verdict.PASS])


@both
@pytest.mark.parametrize("bad, k", [((0,), 1), ((0, 1), 2), ((0, 1, 2), 3)])
def test_a_failure_has_its_rate(kind, bad, k):
    """A client that failed is asked twice more; its finding says k of n and it is in no green one."""

    def mind(asked):
        failed = asked.client == "httpx" and asked.repeat in bad
        return "server error" if failed else GOOD[kind]

    findings, _ = told(case(kind), mind)
    found = next(f for f in findings if f.verdict is Verdict.FAIL)
    assert (found.code, found.client, found.observed.k, found.observed.n) == ("server.error", "httpx", k, 3)
    green = next(f for f in findings if f.verdict is Verdict.PASS)
    assert "httpx" not in green.title
    assert green.observed.n == 2


@both
def test_two_outcomes_are_two_findings(kind):
    """What a client met in one way and in another is not mixed into one rate."""
    said = {"openai-py": "html", "httpx": "bad gateway"}
    findings, _ = told(case(kind), lambda asked: said.get(asked.client, GOOD[kind]))
    assert {(f.code, f.client) for f in findings} == {
        ("body.html", "openai-py"),
        ("unreachable.origin", "httpx"),
        ("ok", "curl"),
    }, as_text(findings)


@both
@pytest.mark.parametrize(("said", "times"), [("timeout", 1), ("no route", 2), ("reset", 2), (NO_EXCHANGE, 1)])
def test_silence_is_not_waited_for_again(kind, said, times):
    """Asking again would only cost time, but for a door that is shut: that may be open a moment later."""
    findings, server = told(case(kind), lambda _: said)
    assert set(server.asked.values()) == {times}
    assert worst(findings) is (Verdict.INCONCLUSIVE if said == "timeout" else Verdict.FAIL)


@both
@pytest.mark.parametrize("said", ["no route", "reset", "closed"])
@pytest.mark.parametrize("whom", [{"openai-py"}, {"openai-py", "httpx", "curl"}], ids=["one", "all"])
def test_a_glitch_warns(kind, said, whom):
    """Once without a connection, and whole each time after that: told with its rate, and no failure."""
    findings, _ = told(case(kind), lambda a: said if a.repeat == 0 and a.client in whom else GOOD[kind])
    (glitch,) = [f for f in findings if f.verdict is not Verdict.PASS]
    assert glitch.verdict is Verdict.WARN
    assert glitch.observed.k == len(whom)
    assert glitch.observed.n > glitch.observed.k
    assert "then" in dict(glitch.detail)


@both
def test_a_connection_that_breaks_again_fails(kind):
    """Twice of three is no glitch."""
    findings, _ = told(
        case(kind), lambda a: "reset" if a.repeat < 2 and a.client == "openai-py" else GOOD[kind]
    )
    (failed,) = [f for f in findings if f.verdict is not Verdict.PASS]
    assert (failed.verdict, failed.observed.k, failed.observed.n) == (Verdict.FAIL, 2, 3)


@both
@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "no", "blocked.client"),
        (403, "This API key lacks the permission", "blocked.client"),
        (403, "no", "blocked"),
        (400, "no", "request.rejected"),
    ],
    ids=["401", "403 of the key", "403 of nobody", "400"],
)
def test_one_client_alone_is_turned_away_in_the_form_of_the_api(kind, status, message, code):
    """The same key and request pass through others, so it is neither the key nor proven to be the API."""
    error = attributed(
        exchange(
            status,
            {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}},
        )
    )
    findings, _ = told(case(kind), lambda a: error if a.client == "openai-py" else GOOD[kind])
    found = next(f for f in findings if f.client == "openai-py")
    assert (found.code, found.verdict) == (code, Verdict.FAIL)
    assert "httpx" in dict(found.detail)["beside"]
    assert code == "request.rejected" or found.layer is Layer.UNKNOWN


@both
def test_everybody_is_challenged(kind):
    """Our monitor is refused everywhere: what customers see is unknown."""
    findings, _ = told(case(kind), lambda _: "challenged")
    assert [(f.code, f.verdict) for f in findings] == [("challenged", Verdict.INCONCLUSIVE)]


@both
def test_the_client_refuses_to_send(kind):
    """No exchange and an exception: the client's own guard, in its words."""
    findings, _ = told(case(kind), lambda a: NO_EXCHANGE if a.client == "openai-py" else GOOD[kind])
    found = next(f for f in findings if f.code == "client.guard")
    assert (found.layer, found.client) == (Layer.CLIENT, "openai-py")
    assert "Streaming is required" in dict(found.detail)["seen"]


@both
@pytest.mark.parametrize("why", NotSent)
def test_one_is_not_sent(kind, why):
    """It is not measured, by name of the reason; the others' green stands beside it."""
    findings, _ = told(case(kind), lambda a: why if a.client == "curl" else GOOD[kind])
    assert {(f.code, f.reason) for f in findings} == {("not_measured", Reason(why)), ("ok", None)}
    assert worst(findings) is Verdict.INCONCLUSIVE


@both
def test_a_rate_limit_is_no_fault(kind):
    """429 on our own key is inconclusive."""
    findings, _ = told(case(kind), lambda _: "ratelimited")
    assert worst(findings) is Verdict.INCONCLUSIVE


# --- TTFT ------------------------------------------------------------------------------------------------


def streams(firsts, start=0.1):
    """Each client's stream with its own first token, seconds from the start of the exchange."""
    times = dict(zip(("openai-py", "httpx", "curl"), firsts, strict=True))

    def mind(asked):
        timeline = Timeline(upload_start=start, upload_end=start, first_token=times[asked.client], end=2.0)
        return replace(answer("good stream"), timeline=timeline)

    return mind


@pytest.mark.parametrize(
    "firsts, ttft",
    [((0.3, 0.6, 0.4), (0.3, 3, 0.2, 0.5)), ((0.3, None, 0.4), (0.25, 2, 0.2, 0.3))],
    ids=["three", "one has none"],
)
def test_ttft(firsts, ttft):
    """The median of the clients, from the first byte sent, with the conditions it was measured under."""
    findings, _ = told(case("streaming"), streams(firsts))
    (found,) = findings
    figure = found.figures["ttft"]
    assert (figure.value, figure.n, figure.low, figure.high) == pytest.approx(ttft)
    assert {"client", "cache", "concurrency"} <= found.conditions.keys()


def test_no_ttft_without_a_token():
    """A stream whose first token was not seen, and one that failed, have no TTFT."""
    findings, _ = told(case("streaming"), streams((None, None, None)))
    assert [f.figures for f in findings] == [{}]
    findings, _ = told(case("streaming"), lambda _: "cut stream")
    assert [(f.code, "ttft" in f.figures) for f in findings] == [("stream.truncated", False)]


def test_of_a_slow_server_no_more_clients_are_asked_than_at_once():
    """Smoke has to end in time; who was left out is said."""
    five = (*ALL, replace(HTTPX, name="b"), replace(HTTPX, name="c"))
    SENT.update(b=SENT["httpx"], c=SENT["httpx"])
    try:
        for seconds, left in ((5.5, True), (0.5, False)):
            slow = replace(answer("good"), timeline=Timeline(upload_end=0.0, headers=seconds, end=seconds))
            findings, server = told(case("completion", five), lambda _, slow=slow: slow)
            assert len(server.calls) == (4 if left else 5)
            assert (
                "c: the server answers slowly, or not at all" in dict(findings[0].detail).get("not asked", "")
            ) is left
    finally:
        del SENT["b"], SENT["c"]


# --- what was promised -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "firsts, promised, missed",
    [
        ((0.3, 0.6, 0.4), 0.2, True),
        ((0.3, 0.6, 0.4), 0.3, False),
        ((0.3, 9.0, 0.4), 0.35, False),
        ((None, None, None), 0.1, False),
        ((0.3, 0.6, 0.4), None, False),
    ],
    ids=["missed", "kept", "one is slow", "nothing measured", "nothing promised"],
)
def test_a_promised_first_token(firsts, promised, missed):
    """The median counts; the warning stands beside the green, with its figure and conditions."""
    asked = case("streaming")
    asked = replace(asked, target=replace(asked.target, slo=Slo(ttft=promised)))
    findings, _ = told(asked, streams(firsts))
    found = [f for f in findings if f.code == "slo.missed"]
    assert bool(found) is missed
    for finding in found:
        assert (finding.verdict, finding.figures["ttft"].n) == (Verdict.WARN, 3)
        assert {"client", "cache", "concurrency"} <= finding.conditions.keys()
    assert worst(findings) is (Verdict.WARN if missed else Verdict.PASS)


def test_a_promised_pace():
    """TPOT by the server's own count: 1.5 s for the second of two tokens."""
    timeline = Timeline(upload_start=0.0, upload_end=0.0, first_token=0.5, last_token=2.0, end=2.0)
    asked = case("streaming")
    asked = replace(asked, target=replace(asked.target, slo=Slo(ttft=1.0, tpot=1.4)))
    findings, _ = told(asked, lambda _: replace(answer("good stream"), timeline=timeline))
    (found,) = [f for f in findings if f.code == "slo.missed"]
    assert (found.figures["tpot"].value, found.figures["tpot"].unit) == (1.5, "s/token")


def test_a_stream_that_failed_keeps_no_promise():
    """Only good streams are timed."""
    asked = case("streaming")
    asked = replace(asked, target=replace(asked.target, slo=Slo(ttft=0.01)))
    findings, _ = told(asked, lambda _: "cut stream")
    assert {f.code for f in findings} == {"stream.truncated"}


UNTRUSTED = "certificate verify failed: unable to get local issuer certificate"


def distrusting(text=UNTRUSTED):
    made = exchange(None, error=("tls", "tls"))
    return attributed(replace(made, error=replace(made.error, text=text)))


@both
def test_one_client_alone_does_not_trust_the_certificate(kind):
    """Others took the same certificate in the same minute: it is that client's own store."""
    findings, _ = told(case(kind), lambda a: distrusting() if a.client == "curl" else GOOD[kind])
    found = next(f for f in findings if f.client == "curl")
    assert (found.code, found.layer, found.who_acts) == ("client.trust", Layer.CLIENT, WhoActs.CUSTOMER)
    findings, _ = told(
        case(kind), lambda a: distrusting("no shared cipher") if a.client == "curl" else GOOD[kind]
    )
    assert next(f for f in findings if f.client == "curl").code == "unreachable.tls"


def test_clients_with_a_trust_store_of_their_own_do_not_speak_for_the_others(monkeypatch):
    """All of the first round failed by themselves, and yet the rest is asked."""
    many = (*ALL, *(replace(HTTPX, name=f"httpx-{n}") for n in range(2)))
    for client in many[len(ALL) :]:
        monkeypatch.setitem(SENT, client.name, SENT["httpx"])
    first = {client.name for client in many[:4]}
    findings, server = told(
        case("completion", many), lambda a: distrusting() if a.client in first else "good"
    )
    assert len(server.asked) == len(many)
    assert {(f.code, f.layer) for f in findings if f.verdict is Verdict.FAIL} == {
        ("client.trust", Layer.CLIENT)
    }
