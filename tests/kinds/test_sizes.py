"""Large bodies: who is refused, from which size on, and for the size alone; against rules that the flow cannot see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, SENT, answer, as_text, attributed, case, check_not_better, random_mind, run_of, told
from exchanges import HTML, JSON, exchange
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.config import clients
from probes.kinds import KINDS
from probes.kinds.identity.load import REQUESTS, SMALL, failed_by_size, in_words
from probes.model import Confidence, Factor, Layer, NotSent, Reason, Timeline, Verdict
from probes.runner import judge, replay, worst
from probes.twins import fisher, side

SIZES = [65_536, 1_048_576]
CEILING = 10_000_000
UA = "user-agent"
NGINX_413 = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
API_413 = {"error": {"message": "Request body too large", "type": "invalid_request_error", "param": None, "code": "request_body_too_large"}}  # fmt: skip
DENIED = {"error": {"message": "denied", "type": "invalid_request_error", "param": None, "code": "denied"}}


def said(found):
    return attributed(replace(found, timeline=Timeline(upload_end=0.0, headers=0.1, first_byte=0.1, end=0.2)))


TOO_LARGE = said(exchange(413, NGINX_413, {**HTML, "server": "nginx"}))
OWN_LIMIT = said(exchange(413, API_413, JSON))
FORBIDDEN_JSON = said(exchange(403, DENIED, JSON))


def filler(asked):
    return getattr(asked.trial.request, "filler", 0)


def above(limit, answered="refused", rule=lambda _: True):
    return lambda asked: answered if filler(asked) > limit and rule(asked) else "passed"


def sized(mind, clients=ALL, *, seed=1, **params):
    return told(case(clients=clients, seed=seed, **{"sizes": SIZES, **params}), mind)


def about_size(findings):
    """What is told of large bodies, without what is good."""
    return [f for f in findings if f.code != "ok"]


def uploaded(server):
    return sum(filler(call) for call in server.calls if call.last)


def bracket(finding):
    return finding.figures["largest_passed"].value, finding.figures["smallest_refused"].value


# --- the size alone --------------------------------------------------------------------------------------


def test_no_size_is_asked_of_itself():
    """Without the parameter nothing large is sent: smoke stays cheap."""
    _, server = told(case(), lambda _: "passed")
    assert not [call for call in server.calls if filler(call)]


def test_every_size_passes():
    """Each genuine client sent each size, and the finding says which through whom."""
    findings, server = sized(lambda _: "passed")
    assert {f.code for f in findings} == {"ok"}
    title = findings[0].title
    assert title == "Bodies of 64 KiB and 1.0 MiB pass through openai-py, curl and httpx"
    large = [(call.trial.client, filler(call)) for call in server.calls if filler(call) > SMALL]
    assert sorted(large) == sorted((client.name, size) for client in ALL for size in SIZES)


@pytest.mark.parametrize(
    "answered, code, verdict, layer",
    [
        ("refused", "blocked.size", Verdict.FAIL, Layer.EDGE),
        ("refused by nginx", "blocked.size", Verdict.FAIL, Layer.EDGE),
        ("challenged", "challenged", Verdict.FAIL, Layer.EDGE),
        ("reset", "blocked.size", Verdict.FAIL, Layer.NETWORK),
        ("bad gateway", "unreachable.origin", Verdict.FAIL, Layer.EDGE),
        (TOO_LARGE, "size.rejected", Verdict.FAIL, Layer.EDGE),
        (OWN_LIMIT, "size.rejected", Verdict.WARN, Layer.ORIGIN),
        (FORBIDDEN_JSON, "blocked.size", Verdict.FAIL, Layer.UNKNOWN),
    ],
    ids=["1010", "nginx 403", "challenge", "reset", "502", "nginx 413", "the API's own 413", "403 in the API's form"],
)  # fmt: skip
@pytest.mark.parametrize("limit", [2000, 70_000, 102_400, 500_000, 1_000_000])
def test_a_limit_for_everybody(answered, code, verdict, layer, limit):
    """The factor is the size, and the bracket around the limit holds it and is narrow."""
    findings, server = sized(above(limit, answered))
    [found] = about_size(findings)
    assert (found.code, found.verdict, found.factor) == (code, verdict, Factor.SIZE), as_text(findings)
    assert found.layer is layer
    assert found.client is None
    low, high = bracket(found)
    assert low <= limit < high
    assert high <= 1.2 * low
    assert uploaded(server) <= CEILING
    assert "the size alone" in dict(found.detail)["because"]
    assert found.title.startswith(f"Bodies above {in_words(low)} are refused")


def test_a_larger_size_is_not_sent_when_the_smaller_is_refused():
    """What is refused at 64 KiB will not be let pass at 1 MiB."""
    _, server = sized(above(10_000))
    assert max(map(filler, server.calls)) == SIZES[0]


# --- size and client -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [30_000, 65_000, 102_400, 700_000])
def test_a_large_body_under_a_weak_user_agent(limit):
    """Only both together are refused: the same agent with a small body and the same body with another agent pass."""
    findings, server = sized(above(limit, rule=lambda a: a.has(UA, "python")))
    [found] = about_size(findings)
    assert (found.code, found.verdict, found.client) == ("blocked.size", Verdict.FAIL, "openai-py")
    assert found.factor is Factor.SIZE, as_text(findings)
    assert found.title.startswith("openai-py and httpx are refused at the edge with bodies above")
    because = dict(found.detail)["because"]
    assert "a large body together with" in because
    if limit < 500_000:  # else the twin of the user agents does not fit under the ceiling
        assert "the user agent 'OpenAI/Python 3.57.0'" in because
        assert "-A 'OpenAI/Python 3.57.0'" in found.reproduce.command
    assert uploaded(server) <= CEILING
    passing = next(f for f in findings if f.code == "ok" and f.title.startswith("Bodies of"))
    assert passing.client == "curl"


def test_a_large_body_of_a_client_whose_user_agent_is_not_it():
    """Another user agent changes nothing: no part of the client is named."""
    findings, _ = sized(above(30_000, rule=lambda a: a.client == "openai-py"))
    [found] = about_size(findings)
    assert "it is not the user agent alone" in dict(found.detail)["because"]
    assert found.reproduce.command.startswith("sh reproducers/")  # no line holds its body


def test_a_client_that_need_not_pass():
    """Refused alone it is a warning."""
    findings, _ = sized(above(30_000, rule=lambda a: a.client == "httpx"))
    assert [(f.code, f.verdict, f.client) for f in about_size(findings)] == [
        ("blocked.size", Verdict.WARN, "httpx")
    ]


def test_a_client_that_is_refused_with_any_body():
    """It is not asked again with a large one."""
    findings, server = sized(lambda a: "refused" if a.client == "openai-py" else "passed")
    assert "openai-py" not in {call.trial.client for call in server.calls if filler(call)}
    assert {f.code for f in findings} == {"blocked.client", "ok"}


def test_emulated_clients_are_not_asked():
    """Their TLS is ours; what counts for them is their headers, and those are tried with a small body."""
    litellm = clients()["litellm"]
    SENT["litellm"] = dict(litellm.headers)
    try:
        _, server = sized(lambda _: "passed", clients=(*ALL, litellm))
    finally:
        del SENT["litellm"]
    assert "litellm" not in {call.trial.client for call in server.calls if filler(call)}


# --- what is not said ------------------------------------------------------------------------------------


@pytest.mark.parametrize("answered", ["timeout", "ratelimited", "redirected", "not found"])
def test_what_says_nothing_of_the_size(answered):
    """It is told under its own code, without a factor and without a verdict."""
    findings, _ = sized(above(70_000, answered))
    [found] = about_size(findings)
    assert (found.verdict, found.factor, found.reason) == (Verdict.INCONCLUSIVE, None, Reason.TOO_FEW)
    assert "1.0 MiB" in found.title


def test_an_api_that_takes_the_invalid_body_is_not_sent_a_large_one():
    """It would be paid for."""
    findings, server = sized(lambda a: "good" if filler(a) else "passed")
    assert [f.code for f in about_size(findings)] == ["not_measured"]
    assert max(map(filler, server.calls)) == SMALL


@pytest.mark.parametrize("upload", [5000, 200_000, 1_500_000, 3_000_000])
def test_the_ceiling_says_who_was_not_asked(upload):
    """Never more is uploaded, whoever is cut off is named, and the case is not green."""
    findings, server = sized(lambda _: "passed", upload=upload)
    assert uploaded(server) <= upload
    [found] = about_size(findings)
    assert (found.code, found.reason) == ("not_measured", Reason.BUDGET)
    asked = {call.trial.client for call in server.calls if filler(call) == SIZES[1]}
    small = {call.trial.client for call in server.calls if filler(call) == SIZES[0]}
    left = {client.name for client in ALL} - (asked if small == {c.name for c in ALL} else small)
    assert all(name in found.title for name in left)
    assert worst(findings) is Verdict.INCONCLUSIVE


def test_now_and_then():
    """A refusal that comes and goes is not put down to the size without proof."""
    findings, _ = sized(lambda a: "refused" if filler(a) > 9000 and a.number % 2 else "passed")
    for found in about_size(findings):
        assert found.factor in {None, Factor.SIZE}
        assert found.verdict in {Verdict.FAIL, Verdict.WARN}
        assert 0 < found.observed.k <= found.observed.n


@pytest.mark.parametrize("why", NotSent)
@pytest.mark.parametrize("at", range(9, 34, 2))
def test_what_is_not_sent(why, at):
    """From whichever request on nothing is sent, the case names the reason, and has no verdict that was not proven."""
    mind = above(102_400)
    whole, _ = sized(mind)
    early, server = sized(lambda a: mind(a) if a.number < at else why)
    if server.calls[-1].not_sent is None:
        return
    assert Reason(why) in {f.reason for f in early}, as_text(early)
    check_not_better(whole, early)


# --- whatever a server says ------------------------------------------------------------------------------

outcomes = st.lists(
    st.sampled_from(["passed", "passed", "passed", "refused", "challenged", "bad gateway", "timeout", "reset", "would not send"]),
    min_size=1, max_size=4,
)  # fmt: skip


def noisy(pool, seed):
    """A screening that everybody passes, then at random."""
    mind = random_mind(pool, seed)
    return lambda asked: mind(asked) if filler(asked) > SMALL else "passed"


def borne(found, server):
    """Whether the answers bear the size as factor: all large bodies failed, or the exact test says so."""
    pairs = [call for call in server.calls if call.trial.label.endswith(("/small", "/large")) and call.last]
    scope = {call.trial.client for call in pairs if failed_by_size(call) and filler(call) > SMALL}
    pairs = [call for call in pairs if call.trial.client in scope]
    sides = [
        side(
            [call for call in pairs if call.last.id in found.evidence and (filler(call) > SMALL) is large],
            failed_by_size,
        )
        for large in (False, True)
    ]
    control, variant = sides
    pure = control.passed and variant.failed and min(control.n, variant.n) >= 3
    return pure or (
        fisher(control, variant) <= 0.05 and not found.figures and found.confidence is Confidence.MEDIUM
    )


@settings(max_examples=150, deadline=None)
@given(outcomes, st.integers(0, 2**16), st.sampled_from([ALL, ALL[:1], ALL[1:]]))
def test_noise(pool, seed, who):
    """No strategy of answers breaks it, exceeds its bounds, or gets a factor that the answers do not bear."""
    findings, server = sized(noisy(pool, seed), who, seed=seed)
    assert findings
    assert not [f for f in findings if f.code == "probe.bug"]
    assert uploaded(server) <= CEILING
    assert sum(filler(call) > 0 for call in server.calls) <= REQUESTS
    assert len(server.calls) <= KINDS["identity"].bound(case(sizes=SIZES)).requests
    seen = {e.id for call in server.calls for e in call.exchanges}
    for found in findings:
        assert {*found.evidence, found.control, found.variant} - {None} <= seen
        assert found.factor is not Factor.SIZE or borne(found, server), as_text([found])


@settings(max_examples=150, deadline=None)
@given(outcomes, st.integers(0, 2**16), st.sampled_from([10_000, 102_400, 700_000, None]), st.data())
def test_a_replay_with_calls_missing_is_never_better(pool, seed, limit, data):
    """Also where sizes are asked."""
    asked = case(seed=seed, sizes=SIZES)
    mind = (
        noisy(pool, seed) if limit is None else above(limit, rule=lambda a: seed % 2 or a.has(UA, "python"))
    )
    findings, server = told(asked, mind)
    assert judge(asked, replay(run_of(asked, server.calls, findings), asked)) == findings
    missing = data.draw(st.sets(st.integers(0, len(server.calls) - 1), min_size=1, max_size=4))
    left = [call for index, call in enumerate(server.calls) if index not in missing]
    check_not_better(findings, judge(asked, replay(run_of(asked, left, findings), asked)))


def test_the_answer_to_a_small_body_is_the_control():
    """Control and variant are of one client, and nothing but the size differs."""
    findings, server = sized(above(30_000))
    [found] = about_size(findings)
    by_id = {call.last.id: call for call in server.calls}
    control, variant = by_id[found.control], by_id[found.variant]
    assert control.trial.client == variant.trial.client == "openai-py"
    assert (filler(control), filler(variant)) == (SMALL, SIZES[0])
    assert found.confounders == ()
    assert answer("passed").status == control.last.status
