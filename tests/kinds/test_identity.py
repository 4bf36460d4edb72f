"""Who is refused, and why: phases as a table, and the factor against rules that the flow cannot see."""

from __future__ import annotations

from collections import defaultdict
from math import comb

import pytest
from canned import (
    ALL,
    CURL,
    HTTPX,
    OPENAI,
    SENT,
    announced,
    as_text,
    attributed,
    case,
    check_not_better,
    random_mind,
    run_of,
    told,
)
from exchanges import exchange
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attribution import is_refusal
from probes.model import Ask, Client, Factor, Layer, NotSent, Reason, Verdict
from probes.runner import judge, replay, worst

P, I, F, W = Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.WARN  # noqa: E741


def by_client(**answers):
    """The same answer to each client, whatever its headers say."""
    return lambda asked: answers.get(asked.client.replace("-", "_"), "passed")


def after(n, then, before="passed"):
    return lambda asked: before if asked.number < n else then


# --- phases ----------------------------------------------------------------------------------------------

PHASES = {
    "everybody passes": (by_client(), False, {("ok", P, None)}),
    "a rejection of the body passes, too": (
        lambda asked: "rejected" if isinstance(asked.trial.request, Ask) else "not found",
        False,
        {("ok", P, None)},
    ),
    "a rejection of whatever is asked proves nothing": (
        lambda _: "rejected",
        False,
        {("not_measured", I, None)},
    ),
    "the control is refused from the start": (
        by_client(curl="refused"),
        False,
        {("blocked.client", F, "curl"), ("ok", P, None)},
    ),
    "a client that need not pass is refused": (
        by_client(httpx="refused"),
        False,
        {("blocked.client", W, "httpx"), ("ok", P, None)},
    ),
    "challenged is told apart": (
        by_client(openai_py="challenged"),
        False,
        {("challenged", F, "openai-py"), ("ok", P, None)},
    ),
    "reset before an answer is a refusal": (
        by_client(openai_py="reset"),
        False,
        {("blocked.client", F, "openai-py"), ("ok", P, None)},
    ),
    "two groups": (
        by_client(openai_py="refused", httpx="refused by nginx"),
        False,
        {("blocked.client", F, "openai-py"), ("blocked.client", W, "httpx"), ("ok", P, "curl")},
    ),
    "everybody is refused, no key": (lambda _: "refused", False, {("probe.blocked", I, None)}),
    "everybody is refused, with a key, too": (lambda _: "refused", True, {("probe.blocked", I, None)}),
    "everybody is refused but with a good key": (
        lambda asked: "good" if asked.trial.request.key == "target" else "refused",
        True,
        {("error.replaced", F, "curl")},
    ),
    "a page in place of the API's error": (
        lambda asked: "good" if asked.trial.request.key == "target" else "not found",
        True,
        {("error.replaced", F, "curl")},
    ),
    "the control turns refused": (after(5, "refused"), False, {("probe.tainted", I, "curl")}),
    "a client gets no answer": (
        by_client(openai_py="timeout"),
        False,
        {("timeout.first_byte", F, "openai-py"), ("ok", P, None)},
    ),
    "nobody answers": (lambda _: "no route", False, {("unreachable.connect", F, None)}),
    "nobody is found": (lambda _: "no name", False, {("unreachable.dns", F, None)}),
    "nobody gets a byte": (lambda _: "timeout", False, {("timeout.first_byte", I, None)}),
}


@pytest.mark.parametrize("mind, keyed, expected", PHASES.values(), ids=PHASES)
def test_phases(mind, keyed, expected):
    """Each way that a server treats clients has its findings."""
    findings, _ = told(case(keyed=keyed), mind)
    assert {(f.code, f.verdict, f.client) for f in findings} == expected, as_text(findings)


def a_gateway(refused):
    """Unknown keys are turned away in words of no API; behind it a rule has the same words for one client."""
    forbidden = attributed(exchange(403, {"message": "Forbidden"}))

    def mind(asked):
        request = asked.trial.request
        if request.key == "made_up" or asked.client == refused:
            return forbidden
        return "rejected" if request.recipe == "invalid" else "good"

    return mind


def test_a_rule_behind_a_gateway_that_knows_its_keys():
    """With a made-up key everybody gets the same; with the configured one the client that is refused shows."""
    findings, _ = told(case(keyed=True), a_gateway("openai-py"))
    assert {(f.code, f.verdict, f.client) for f in findings} == {
        ("blocked.client", F, "openai-py"),
        ("ok", P, None),
    }, as_text(findings)
    blocked = next(f for f in findings if f.code == "blocked.client")
    assert "MadeUp" not in blocked.reproduce.command  # that would show how unknown keys are turned away


def test_a_gateway_and_errors_in_no_known_form():
    """Then nothing tells who is let in, and nothing is claimed."""
    strange = attributed(exchange(401, {"message": "no"}))
    findings, _ = told(case(keyed=True), lambda a: "good" if a.trial.request.recipe == "hello" else strange)
    assert {(f.verdict, f.reason) for f in findings} == {(I, Reason.TOO_FEW)}, as_text(findings)


@pytest.mark.parametrize("how", ["reset", "closed"])
@pytest.mark.parametrize(("times", "verdict"), [(1, W), (2, F)], ids=["once", "twice"])
def test_a_connection_that_broke_is_no_refusal(how, times, verdict):
    """It has words of its own and its rate; once may be chance."""
    broken = (
        {("screen/openai-py", 0), ("confirm/openai-py/variant", 1)}
        if times > 1
        else {("screen/openai-py", 0)}
    )
    findings, _ = told(case(), lambda a: how if (a.trial.label, a.repeat) in broken else "passed")
    (found,) = [f for f in findings if f.verdict is not P]
    assert (found.code, found.verdict, found.client, found.reason) == (
        "unreachable.reset",
        verdict,
        "openai-py",
        None,
    )
    assert found.observed.k == times
    assert f"{times} of {found.observed.n}" in found.title


def test_one_silence_is_not_nothing():
    """The next client is asked before anything is said; the first is asked again later."""
    findings, _ = told(case(), lambda a: "no route" if a.number == 0 else "passed")
    assert worst(findings) is I
    assert not [f for f in findings if "Nothing answers" in f.title]
    silent = next(f for f in findings if f.verdict is I)
    assert (silent.client, silent.observed.k) == ("curl", 1)
    assert silent.observed.n > 1


@pytest.mark.parametrize(
    "said, code",
    [
        ("ratelimited", "ratelimited.no_hint"),
        ("bad gateway", "unreachable.origin"),
        ("server error", "server.error"),
        ("cut json", "stream.truncated"),
        ("redirected", "redirected"),
        ("html", "body.html"),
    ],
)
def test_answers_that_say_nothing_of_identity(said, code):
    """They are told under their own code, without a verdict on the client; the others pass."""
    findings, _ = told(case(), by_client(openai_py=said))
    assert {(f.code, f.verdict, f.factor) for f in findings} == {(code, I, None), ("ok", P, None)}, as_text(
        findings
    )
    told_of = next(f for f in findings if f.code == code)
    assert (told_of.client, told_of.reason) == ("openai-py", Reason.TOO_FEW)


@pytest.mark.parametrize("said", ["reset", "closed"])
@pytest.mark.parametrize("keyed", [True, False])
def test_every_new_connection_is_ended(said, keyed):
    """Whoever asks: that is no refusal of the probe, and a failure of the service."""
    (found,), _ = told(case(keyed=keyed), lambda _: said)
    assert (found.code, found.verdict, found.layer) == ("unreachable.reset", Verdict.FAIL, Layer.NETWORK)
    assert found.observed.k == found.observed.n > 1
    assert "exempt" not in found.advice


def test_every_client_but_one_is_hung_up_on():
    """Somebody was answered, so it matters who asks."""
    findings, _ = told(case(), lambda a: "reset" if a.client != "curl" else "rejected")
    assert {f.code for f in findings if f.verdict is Verdict.FAIL} == {"blocked.client"}


def test_another_control_is_chosen():
    """Where curl is refused and others pass, the experiment is made against one that passes."""
    findings, server = told(case(), by_client(curl="refused"))
    found = next(f for f in findings if f.client == "curl")
    assert found.code == "blocked.client"
    confirmed = [label for label in server.asked if label.startswith("confirm/") and "control" in label]
    assert confirmed == ["confirm/httpx/control"]


def test_the_members_of_a_group_are_its_scope():
    """Each is sent once more; one that then passes is not said to be locked out."""

    def mind(asked):
        confirms = asked.trial.label == "confirm/other-py"
        return "refused" if asked.client in {"openai-py", "other-py"} and not confirms else "passed"

    other = Client("other-py", "openai_sdk", api="openai", edits=True)
    SENT["other-py"] = SENT["openai-py"]
    try:
        findings, server = told(case(clients=(*ALL, other)), mind)
        assert server.asked["confirm/other-py"] == 1 or server.asked["confirm/openai-py"] == 1
        found = next(f for f in findings if f.code == "blocked.client")
        assert ("openai-py" in found.title) != ("other-py" in found.title) or found.title.startswith(
            "other-py and openai-py"
        ), found.title
    finally:
        del SENT["other-py"]


@pytest.mark.parametrize("why", NotSent)
@pytest.mark.parametrize("at", [0, 1, 5, 10, 14, 20])
def test_what_is_not_sent(why, at):
    """From whichever request on nothing is sent: nothing green, and the reason is named unless a refusal was proven."""
    mind = by_client(openai_py="refused")
    findings, server = told(case(), lambda asked: mind(asked) if asked.number < at else why)
    assert worst(findings) in {I, F}, as_text(findings)
    if worst(findings) is F:
        refused = [c for c in server.calls if c.trial.client == "openai-py" and c.last is not None]
        assert len(refused) >= 4
    elif at < 10:
        assert Reason(why) in {f.reason for f in findings}, as_text(findings)


# --- the factor, against hidden rules --------------------------------------------------------------------

UA, SDK = "user-agent", "x-stainless-lang"
RULES = {
    "the word OpenAI": (lambda a: a.has(UA, "openai"), Factor.USER_AGENT),
    "the word Python": (lambda a: a.has(UA, "python"), Factor.USER_AGENT),
    "the version": (lambda a: a.has(UA, "3.57.0"), Factor.USER_AGENT),
    "the user agent as a whole": (lambda a: a.headers.get(UA) == SENT["openai-py"]["User-Agent"], Factor.USER_AGENT),
    "no curl in it": (lambda a: not a.has(UA, "curl"), Factor.USER_AGENT),
    "one SDK header": (lambda a: a.has(SDK), Factor.SDK_HEADERS),
    "any SDK header": (lambda a: any(n.startswith("x-stainless-") for n in a.headers), Factor.SDK_HEADERS),
    "a value of an SDK header": (lambda a: a.has("x-stainless-runtime", "cpython"), Factor.SDK_HEADERS),
    "both together": (lambda a: a.has(UA, "openai") and a.has(SDK), Factor.CLIENT),
    "either": (lambda a: a.has(UA, "openai") or a.has(SDK), Factor.CLIENT),
    "accept": (lambda a: a.has("accept", "application/json"), Factor.ACCEPT),
    "accept-encoding": (lambda a: a.has("accept-encoding"), Factor.ACCEPT_ENCODING),
}  # fmt: skip
RULED = [pytest.param(rule, factor, id=name) for name, (rule, factor) in RULES.items()]


def refuses(rule, said="refused"):
    return lambda asked: said if rule(asked) else "passed"


@pytest.mark.parametrize("rule, factor", RULED)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), said=st.sampled_from(["refused", "refused by nginx", "reset"]))
def test_the_factor_is_that_of_the_rule(rule, factor, seed, said):
    """Whatever the order of the clients and the form of the refusal, the factor named is the hidden rule's."""
    findings, server = told(case(seed=seed), refuses(rule, said))
    found = [f for f in findings if f.code == "blocked.client"]
    assert [f.factor for f in found] == [factor], as_text(findings)
    assert found[0].verdict is F
    assert "openai-py" in found[0].title
    assert server.sent <= 80


@pytest.mark.parametrize("base_url, factor", [("http://a.example/v1", Factor.CLIENT), ("https://a.example/v1", Factor.TLS)])  # fmt: skip
def test_no_header_at_all(base_url, factor):
    """Refused whatever its headers: the client's stack, by TLS only where there is any."""
    findings, _ = told(case(base_url=base_url), refuses(lambda a: a.client == "openai-py"))
    found = next(f for f in findings if f.code == "blocked.client")
    assert found.factor is factor, as_text(findings)
    assert found.next_test is None or factor is Factor.TLS


def test_no_stack_without_curl():
    """Without curl's stack to compare with, a refusal that no header explains has no factor."""
    findings, _ = told(case(clients=(OPENAI, HTTPX)), refuses(lambda a: a.client == "openai-py"))
    found = next(f for f in findings if f.code == "blocked.client")
    assert found.factor is None, as_text(findings)


@pytest.mark.parametrize("word", ["OpenAI", "Python", "3.57.0"])
def test_the_word_that_suffices(word):
    """The one word of the user agent is named, and only where it alone is refused inside the control's."""
    findings, _ = told(case(), refuses(lambda a: a.has(UA, word)))
    because = dict(next(f for f in findings if f.code == "blocked.client").detail)["because"]
    letters = any(c.isalpha() for c in word)
    assert (f"'{word}'" in because) == (f"the word '{word}' suffices" in because)
    assert ("suffices" in because) == letters or "OpenAI/" in because, because


def test_no_word_alone():
    """A rule on the whole user agent names no word."""
    findings, _ = told(case(), refuses(lambda a: a.headers.get(UA) == SENT["openai-py"]["User-Agent"]))
    because = dict(next(f for f in findings if f.code == "blocked.client").detail)["because"]
    assert "suffices" not in because


def test_two_rules_that_answer_alike():
    """A cause found for one client is claimed for another only where it lets that one pass, too."""

    def rule(asked):
        packed = "accept-encoding" in asked.headers and not asked.has("x-stainless-lang")
        return asked.has(UA, "curl") or packed

    findings, _ = told(case(), refuses(rule))
    found = {f.client: f.factor for f in findings if f.code == "blocked.client"}
    assert found.keys() == {"curl", "httpx"}
    assert found["curl"] is Factor.USER_AGENT
    assert found["httpx"] is not Factor.USER_AGENT


def test_which_sdk_header():
    """The very header is named."""
    findings, _ = told(case(), refuses(lambda a: a.has("x-stainless-runtime")))
    because = dict(next(f for f in findings if f.code == "blocked.client").detail)["because"]
    assert "x-stainless-runtime alone suffices" in because


def test_the_command_shows_what_was_run():
    """The reproducer is verified exactly when the run itself saw the refusal with those headers."""
    findings, server = told(case(), refuses(lambda a: a.has(UA, "openai")))
    found = next(f for f in findings if f.code == "blocked.client")
    assert found.reproduce.verified
    assert "OpenAI/Python" in found.reproduce.command
    ran = [c for c in server.calls if c.trial.label.startswith("reproduce/")]
    assert [is_refusal(c.last) for c in ran] == [True]


# --- noise -----------------------------------------------------------------------------------------------


def fisher(control, variant):
    """Two-sided p, computed apart from the code: the sum over all tables no likelier than the one seen."""
    (k1, n1), (k2, n2) = control, variant
    k, n = k1 + k2, n1 + n2
    of = {i: comb(n1, i) * comb(n2, k - i) for i in range(max(0, k - n2), min(k, n1) + 1)}
    return sum(v for v in of.values() if v <= of[k1]) / comb(n, k)


def count(calls):
    return sum(is_refusal(c.last) for c in calls), len(calls)


def differs(call, name):
    """Which parts of the client's own announcement a call kept."""
    own = {n.lower(): v for n, v in SENT[name].items()}
    sent = announced(call.trial)
    return {
        Factor.USER_AGENT: sent.get(UA) == own.get(UA),
        Factor.SDK_HEADERS: all(n in sent for n in own if n.startswith("x-stainless-")),
    }


def consistent(finding, calls):
    """Whether the answers bear the factor: pure cells of three or more, or Fisher's test on control and client."""
    name = finding.client
    cells = defaultdict(list)
    for call in calls:
        if call.last is None or not isinstance(call.trial.request, Ask):
            continue
        narrowing = "/token/" in call.trial.label or "/header/" in call.trial.label
        if call.trial.label.startswith(f"isolate/{name}/") and not narrowing:
            cells[call.trial.label].append(call)
    pure = {label: count(cell) for label, cell in cells.items() if len(cell) >= 3}
    both = pure.get(f"isolate/{name}/both")
    if finding.factor in {Factor.USER_AGENT, Factor.SDK_HEADERS}:
        own = [label for label in pure if differs(cells[label][0], name)[finding.factor]]
        other = [label for label in pure if label not in own]
        return (
            all(pure[label][0] == pure[label][1] for label in own)
            and all(pure[label][0] == 0 for label in other)
            and bool(own and other)
        )
    if finding.factor in {Factor.ACCEPT, Factor.ACCEPT_ENCODING}:
        header = finding.factor.replace("_", "-")
        control, variant = (
            pure.get(f"isolate/{name}/{header}/{side}", (1, 1)) for side in ("control", "variant")
        )
        return control[0] == 0 and variant[0] == variant[1]
    if both is not None and both[0] == both[1]:
        neither = pure.get(f"isolate/{name}/neither", (1, 1))
        stack = [count(cell) for label, cell in cells.items() if "stack" in label]
        return neither[0] == 0 or bool(stack)
    mine = [c for c in calls if c.trial.client == name and c.trial.label.startswith(("screen", "confirm"))]
    theirs = defaultdict(list)
    for call in calls:
        if call.trial.client != name and call.trial.label.startswith(("screen", "confirm")) and call.last:
            theirs[call.trial.client].append(call)
    return any(fisher(count(other), count(mine)) <= 0.05 for other in theirs.values())


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**16),
    st.lists(st.sampled_from(["passed", "passed", "refused", "bad gateway", "challenged"]), min_size=2, max_size=5),
)  # fmt: skip
def test_noise_claims_no_factor_that_the_answers_do_not_bear(seed, pool):
    """A server that answers at random gets a factor only where the cells came out pure, or Fisher's test allows it."""
    findings, server = told(case(seed=seed), random_mind(pool, seed))
    for finding in findings:
        if finding.factor is not None:
            assert consistent(finding, server.calls), as_text([finding])


@pytest.mark.parametrize("every", [2, 3])
def test_now_and_then(every):
    """Refused every so often: a failure with its rate, and no part of the client is blamed for it."""
    seen = defaultdict(int)

    def mind(asked):
        if not asked.has(UA, "openai"):
            return "passed"
        seen[0] += 1
        return "refused" if seen[0] % every == 0 else "passed"

    findings, _ = told(case(), mind)
    found = next(f for f in findings if f.code.startswith("blocked"))
    assert found.verdict is F
    assert found.factor in {None, Factor.CLIENT}
    assert 0 < found.observed.k < found.observed.n
    assert "now and then" in found.title


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([rule for rule, _ in RULES.values()]), st.integers(0, 999), st.integers(0, 60), st.sampled_from(["ratelimited", "refused", "timeout"]))  # fmt: skip
def test_a_server_that_changes_its_mind(rule, seed, at, then):
    """A rule that holds for a while, then everybody is treated alike: no factor on answers that do not bear it."""
    findings, server = told(
        case(seed=seed), lambda asked: refuses(rule)(asked) if asked.number < at else then
    )
    for finding in findings:
        if finding.factor is not None:
            assert consistent(finding, server.calls), as_text([finding])
    assert (CURL.name, F) not in {(f.client, f.verdict) for f in findings}


minds = st.one_of(
    st.sampled_from([refuses(rule) for rule, _ in RULES.values()]),
    st.builds(lambda rule, at, then: lambda a: refuses(rule)(a) if a.number < at else then,
              st.sampled_from([rule for rule, _ in RULES.values()]), st.integers(1, 60), st.sampled_from(["refused", "ratelimited", "passed"])),
    st.sampled_from([mind for mind, _, _ in PHASES.values()]),
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(minds, st.integers(0, 999), st.booleans(), st.data())
def test_a_replay_of_an_experiment_with_calls_missing_is_never_better(mind, seed, keyed, data):
    """Also on the way through confirmation and isolation, where random answers seldom lead."""
    asked = case(seed=seed, keyed=keyed)
    findings, server = told(asked, mind)
    few = st.sets(st.integers(0, len(server.calls) - 1), min_size=1, max_size=3)
    missing = data.draw(few | st.sets(st.integers(0, len(server.calls) - 1), min_size=1), label="missing")
    left = [call for index, call in enumerate(server.calls) if index not in missing]
    check_not_better(findings, judge(asked, replay(run_of(asked, left, findings), asked)))


@settings(max_examples=150, deadline=None)
@given(minds, st.integers(0, 999), st.integers(0, 60), st.sampled_from(list(NotSent)))
def test_a_run_that_ends_early_is_never_better(mind, seed, at, why):
    """From some request on nothing is sent: no verdict that the whole run would not have given."""
    whole, _ = told(case(seed=seed), mind)
    early, server = told(case(seed=seed), lambda a: mind(a) if a.number < at else why)
    if server.calls[-1].not_sent:
        check_not_better(whole, early)


@pytest.mark.parametrize("why", NotSent)
def test_the_last_question_to_the_control_is_not_sent(why):
    """Whether a rule has begun to count us is asked last; where it can't be, a refusal is not yet the service's."""

    def mind(asked):
        return "refused" if asked.has(UA, "openai") or asked.number >= 13 else "passed"

    whole, _ = told(case(seed=0), mind)
    early, _ = told(case(seed=0), lambda asked: mind(asked) if asked.number < 13 else why)
    assert {f.code for f in whole} == {"probe.tainted"}
    assert worst(early) is I, as_text(early)
