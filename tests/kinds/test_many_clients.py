"""Identity with every client there is: who is asked how often, what is one finding, and who is named first."""

from __future__ import annotations

import pytest
from canned import SENT, as_text, case, told
from hypothesis import given, settings
from hypothesis import strategies as st

from probes import config
from probes.config import select
from probes.kinds.identity.study import CEILING
from probes.model import Factor, Verdict

UA = "user-agent"
OPENAI = select(
    config.clients(), "all", config.target_from_flags("https://a.example/v1", "openai", "m", no_key=True)
)
GENUINE = [client.name for client in OPENAI if client.genuine]
EMULATED = [client.name for client in OPENAI if not client.genuine]
AGENTS = {"openai-py-async": "AsyncOpenAI/Python 3.57.0", "openai-py-aiohttp": "AsyncOpenAI/Python 3.57.0"}


@pytest.fixture(autouse=True, scope="module")
def _announced():
    """What each announces, for the server to judge by."""
    added = {name: {**SENT["openai-py"], "User-Agent": agent} for name, agent in AGENTS.items()}
    added["curl-h2"] = SENT["curl"]
    added |= {client.name: dict(client.headers) for client in OPENAI if not client.genuine}
    SENT.update(added)
    yield
    for name in added:
        del SENT[name]


def refuses(rule, said="refused"):
    return lambda asked: said if rule(asked) else "passed"


def identity(rule, said="refused", **more):
    return told(case(clients=OPENAI, **more), refuses(rule, said))


def test_who_is_asked_how_often():
    """Each once, those that must pass three times, and nobody more where nobody is refused."""
    findings, server = identity(lambda _: False)
    must_pass = {client.name for client in OPENAI if client.genuine and client.name != "httpx"}
    times = {label.removeprefix("screen/"): n for label, n in server.asked.items()}
    assert {name for name, n in times.items() if n == 1} == {"httpx", *EMULATED}
    assert {name for name, n in times.items() if n >= 3} == must_pass
    (finding,) = findings
    assert finding.verdict is Verdict.PASS
    assert finding.title.endswith(f"and {len(EMULATED)} emulated clients pass the edge"), finding.title
    assert dict(finding.detail)["emulated"].endswith("header set only, TLS is ours")
    assert server.sent < CEILING / 2


def test_refusals_alike_are_one_finding_with_the_genuine_first():
    """One genuine member is confirmed and isolated, the others are its scope."""
    findings, server = identity(lambda asked: asked.has(UA, "openai"))
    refused, passed = findings
    assert (refused.code, refused.verdict, refused.client) == ("blocked.client", Verdict.FAIL, "openai-py")
    assert refused.factor is Factor.USER_AGENT
    assert refused.title.startswith("openai-py, openai-py-async, openai-py-aiohttp and ")
    so = dict(refused.detail)["so"]
    scope = (
        so.removeprefix("every customer on ")
        .partition(" is locked out")[0]
        .replace(" and ", ", ")
        .split(", ")
    )
    assert scope[:3] == ["openai-py", "openai-py-async", "openai-py-aiohttp"]
    assert set(scope[3:]) == {
        "openai-js",
        "openai-go",
        "openai-ruby",
        "openai-java",
        "vercel-ai-stream",
        "litellm",
    }
    assert "openai-py" not in dict(refused.detail)["emulated"]
    assert passed.code == "ok"
    assert server.sent <= CEILING
    assert server.asked["confirm/openai-py/variant"] == 3
    assert server.asked["confirm/openai-js"] == 1


@pytest.mark.parametrize("name", EMULATED)
def test_an_emulated_client_need_not_pass(name):
    """Refused alone it is a warning, which says what was tried."""
    findings, _ = identity(lambda asked: asked.client == name)
    found = next(f for f in findings if f.code == "blocked.client")
    assert (found.verdict, found.client) == (Verdict.WARN, name)
    assert dict(found.detail)["emulated"] == f"{name}: header set only, TLS is ours"
    assert "curl" in next(f for f in findings if f.code == "ok").title


def test_a_browser_is_never_the_control():
    """Where its headers alone pass, nobody is measured against them: our monitor is refused."""
    findings, server = identity(lambda asked: asked.client != "browser")
    (finding,) = findings
    assert (finding.code, finding.verdict) == ("probe.blocked", Verdict.INCONCLUSIVE), as_text(findings)
    assert finding.title.startswith("Every client of this probe but browser was refused")
    assert not [label for label in server.asked if label.startswith("confirm/")]


def test_another_emulated_client_can_be():
    """Where no genuine one passes."""
    findings, server = identity(lambda asked: asked.client in GENUINE)
    assert {f.code for f in findings} == {"blocked.client", "ok"}, as_text(findings)
    controls = {call.trial.client for call in server.calls if call.trial.label.endswith("/control")}
    assert controls & set(EMULATED)
    assert "browser" not in controls


def test_clients_that_hang_are_not_a_server_that_hangs():
    """The control beside them shows that the server answers."""
    findings, _ = identity(lambda asked: asked.has(UA, "openai"), "timeout")
    assert {f.code for f in findings} == {"timeout.first_byte", "ok"}, as_text(findings)


WORDS = ["openai", "python", "node", "go", "java", "ai", "/", "http", "x"]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.sampled_from(["refused", "refused by nginx", "challenged", "reset", "timeout", "ratelimited"]),
    st.integers(0, 999),
)
def test_the_ceiling_holds_whatever_is_refused(words, said, seed):
    """With every client, and more than one rule."""
    findings, server = identity(lambda asked: any(asked.has(UA, word) for word in words), said, seed=seed)
    assert server.sent <= CEILING
    assert findings
    for finding in findings:
        if finding.verdict is Verdict.FAIL and finding.client is not None:
            assert finding.client in GENUINE, as_text([finding])
