"""The API's own errors, and what comes in their place; the base URL that would have been right."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, OPENAI, SENT, as_text, attributed, case, told
from exchanges import CLOUDFLARE, GOOD_CHAT, HTML, exchange

from probes.kinds.base_url import MOST, variants
from probes.model import Ask, Layer, NotSent, Raw, Reason, Timeline, Verdict
from probes.runner import worst

NO_MODEL = {
    "error": {
        "message": "The model `x` does not exist",
        "type": "invalid_request_error",
        "code": "model_not_found",
    }
}
NO_PATH = {
    "error": {
        "message": "Invalid URL (POST /v1/x)",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
}


def quick(*said, **more):
    found = replace(
        exchange(*said, **more), timeline=Timeline(upload_end=0.0, headers=0.1, first_byte=0.1, end=0.2)
    )
    return attributed(found)


RIGHT = {
    "control": "good",
    "bad_key": "passed",
    "unknown_model": quick(404, NO_MODEL),
    "malformed": "rejected",
    "wrong_path": quick(404, NO_PATH),
    "wrong_method": quick(405, NO_PATH),
}
PAGE = quick(404, "<html><body>No</body></html>", HTML)
EDGE = quick(502, "error code: 502", {**CLOUDFLARE, "content-type": "text/plain"})
KEPT = quick(200, GOOD_CHAT, {"content-type": "application/json", "age": "3"})
TEXT = quick(404, "404 page not found\n", {"content-type": "text/plain"})


def asked(keyed=True, clients=ALL, **said):
    """The findings of a server that answers rightly but for what is said."""
    answers = {**RIGHT, **said}
    return told(case("error_format", clients, keyed=keyed), lambda a: answers.get(a.trial.label, "not found"))


def test_every_error_arrives():
    """One green finding; six requests, none of them twice."""
    (fine,), server = asked()
    assert (fine.code, fine.verdict, fine.observed.n) == ("ok", Verdict.PASS, 5)
    assert set(server.asked) == set(RIGHT)
    assert server.sent == 6


def test_a_keyless_server_has_no_wrong_key():
    """Any key passes there by intention."""
    findings, server = asked(keyed=False, bad_key="good")
    assert [f.code for f in findings] == ["ok"]
    assert "bad_key" not in server.asked


def test_without_a_raw_client_it_brings_its_own():
    """Broken bytes can't be asked of an SDK."""
    findings, server = asked(clients=(OPENAI,))
    assert worst(findings) is Verdict.PASS
    assert {call.trial.client for call in server.calls} == {"httpx"}


@pytest.mark.parametrize(
    "label, said, code, verdict",
    [
        ("bad_key", "good", "auth.open", Verdict.FAIL),
        ("bad_key", KEPT, "cached.private", Verdict.FAIL),
        ("bad_key", "refused", "error.replaced", Verdict.FAIL),
        ("bad_key", PAGE, "error.replaced", Verdict.FAIL),
        ("unknown_model", PAGE, "error.replaced", Verdict.FAIL),
        ("malformed", PAGE, "error.replaced", Verdict.FAIL),
        ("malformed", EDGE, "error.replaced", Verdict.FAIL),
        ("bad_key", EDGE, "error.replaced", Verdict.FAIL),
        ("unknown_model", EDGE, "error.replaced", Verdict.FAIL),
        ("wrong_path", PAGE, "error.replaced", Verdict.WARN),
        ("wrong_method", "refused by nginx", "error.replaced", Verdict.WARN),
        ("wrong_path", "html", "body.html", Verdict.WARN),
        ("bad_key", TEXT, "error.replaced", Verdict.WARN),
        ("bad_key", "html", "body.html", Verdict.FAIL),
        ("bad_key", "server error", "server.error", Verdict.FAIL),
        ("bad_key", "ratelimited", "ratelimited.no_hint", Verdict.INCONCLUSIVE),
        ("wrong_path", "reset", "unreachable.reset", Verdict.FAIL),
    ],
)
def test_an_error_that_came_out_wrong(label, said, code, verdict):
    """It has its code and verdict, and what was right stands beside it."""
    findings, _ = asked(**{label: said})
    wrong = [f for f in findings if f.verdict is not Verdict.PASS]
    assert [(f.code, f.verdict) for f in wrong] == [(code, verdict)], as_text(findings)
    assert any(f.code == "ok" for f in findings)


@pytest.mark.parametrize("label", ["malformed", "wrong_path", "wrong_method"])
def test_a_framework_answers_as_it_likes(label):
    """A status and no API JSON is enough where no API need have seen the request."""
    findings, _ = asked(**{label: TEXT})
    assert worst(findings) is Verdict.PASS


def test_a_model_of_any_name():
    """Some servers look at no name; that is no fault."""
    findings, _ = asked(unknown_model="good")
    assert worst(findings) is Verdict.PASS


def test_replaced_errors_are_one_finding():
    """With a rate of three each, the proof that the API answers, and what came instead."""
    findings, server = asked(bad_key=PAGE, malformed=PAGE)
    found = next(f for f in findings if f.code == "error.replaced")
    assert (found.observed.k, found.observed.n) == (6, 6)
    assert found.control in {call.last.id for call in server.calls if call.trial.label == "control"}
    assert "a key that nobody was given" in found.title
    assert "broken JSON" in found.title


def test_a_door_that_is_shut():
    """Where nothing of the API comes through, nothing is said of its errors."""
    findings, _ = told(case("error_format", keyed=True), lambda _: "refused")
    assert {(f.code, f.verdict, f.reason) for f in findings} == {
        ("probe.blocked", Verdict.INCONCLUSIVE, Reason.BLOCKED)
    }


def test_a_server_that_does_not_answer_is_asked_twice():
    """The rest would only cost time."""
    findings, server = told(case("error_format", keyed=True), lambda _: "timeout")
    assert server.sent == 2
    assert worst(findings) is Verdict.INCONCLUSIVE


def rule_against(*clients, else_=None):
    """A user-agent rule: whoever announces one of them gets the edge's page."""
    answers = else_ or RIGHT

    def mind(asked):
        question = asked.trial.label.partition("/")[0]
        announced_by = next((c for c in clients if asked.has("user-agent", SENT[c]["User-Agent"])), None)
        return "refused by nginx" if announced_by else answers.get(question, "not found")

    return mind


def test_it_asks_through_a_client_that_is_let_in():
    """A rule against its own client is not the API's answer."""
    findings, server = told(case("error_format", keyed=True), rule_against("httpx"))
    (fine,) = findings
    assert (fine.code, fine.verdict, fine.client, fine.observed.n) == ("ok", Verdict.PASS, "curl", 5)
    assert {c.trial.client for c in server.calls[2:]} == {"curl"}


@pytest.mark.parametrize("keyed", [True, False], ids=["with the key", "without"])
def test_it_says_that_its_clients_are_refused(keyed):
    """Where nobody who can ask is let in, nothing is said of the API's errors."""
    asking = case("error_format", keyed=keyed)
    if not keyed:
        asking = replace(asking, target=replace(asking.target, key_env="K"))
    findings, _ = told(asking, rule_against("httpx", "curl"))
    assert {(f.code, f.verdict, f.reason) for f in findings} == {
        ("probe.blocked", Verdict.INCONCLUSIVE, Reason.BLOCKED)
    }


def test_a_rule_against_requests_without_a_user_agent():
    """What is sent to the byte announces what its client announces."""
    findings, _ = told(
        case("error_format", keyed=True),
        lambda a: RIGHT[a.trial.label] if "user-agent" in a.headers else "refused by nginx",
    )
    assert [f.code for f in findings] == ["ok"], as_text(findings)


UNKNOWN_KEY = {
    "mistral": (401, {"message": "Unauthorized", "request_id": "abc"}),
    "kong": (401, {"message": "No API key found in request"}),
    "azure apim": (401, {"statusCode": 401, "message": "Access denied due to missing subscription key."}),
    "gemini": (
        400,
        [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}],
    ),
    "aws gateway": (403, {"message": "Forbidden"}),
    "fastapi": (403, {"detail": "Not authenticated"}),
    "text": (401, "Unauthorized\n"),
    "empty": (401, ""),
}
"""What healthy APIs answer a key that they do not know."""


@pytest.mark.parametrize("said", UNKNOWN_KEY.values(), ids=UNKNOWN_KEY)
@pytest.mark.parametrize("kind", ["identity", "error_format"])
def test_nobody_is_blamed_for_a_form_of_its_own(kind, said):
    """Nobody saw the API answer otherwise: a warning at the most, and the clients are measured with the good key."""
    words = quick(*said, {"content-type": "text/plain"} if isinstance(said[1], str) else None)

    def mind(asked):
        request = asked.trial.request
        if request.key == "made_up":
            return words
        if isinstance(request, Ask) and request.recipe == "invalid":
            return "rejected"
        return RIGHT.get(asked.trial.label, "good")

    findings, server = told(case(kind, keyed=True), mind)
    assert worst(findings) in {Verdict.PASS, Verdict.WARN}, as_text(findings)
    fine = next(f for f in findings if f.code == "ok")
    if kind == "identity":
        assert worst(findings) is Verdict.PASS
        assert "the configured key" in dict(fine.detail)["seen"]
        assert len(server.calls) < 30


def test_both_answers_to_one_question():
    """The API's own and, at another time, another's: then it is known what was replaced."""
    strange = quick(401, {"message": "Unauthorized"})
    findings, _ = asked_by(lambda a: strange if a.repeat == 0 else "passed")
    (wrong,) = [f for f in findings if f.code == "error.replaced"]
    assert (wrong.verdict, wrong.observed.k, wrong.observed.n) == (Verdict.FAIL, 1, 3)


def asked_by(bad_key):
    return told(
        case("error_format", keyed=True),
        lambda a: bad_key(a) if a.trial.label == "bad_key" else RIGHT[a.trial.label],
    )


@pytest.mark.parametrize("keyed", [True, False], ids=["with the key", "without"])
@pytest.mark.parametrize(("status", "verdict"), [(400, "inconclusive"), (401, None)])
def test_one_answer_to_everything(keyed, status, verdict):
    """It does not depend on the question, so it proves nothing; without a good key a 401 may be right each time."""
    asking = replace(case("error_format", keyed=keyed), target=case("error_format", keyed=True).target)
    same = quick(status, NO_PATH)
    findings, _ = told(asking, lambda _: same)
    expected = verdict or ("inconclusive" if keyed else "pass")
    assert str(worst(findings)) == expected, as_text(findings)


# --- the base URL ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, api, right",
    [
        ("https://a.example", "openai", "https://a.example/v1"),
        ("https://a.example/v1/v1", "openai", "https://a.example/v1"),
        ("https://a.example/v1/chat/completions", "openai", "https://a.example/v1"),
        ("https://a.example/v1/messages", "openai", "https://a.example/v1"),
        ("https://a.example/proxy/v1", "openai", "https://a.example/v1"),
        ("https://a.example/api", "openai", "https://a.example/api/v1"),
        ("https://a.example/v1", "openai", "https://a.example/api/v1"),
        ("https://a.example/v1", "openai", "https://a.example"),
        ("https://a.example/v1", "anthropic", "https://a.example"),
        ("https://a.example/v1/messages", "anthropic", "https://a.example"),
        ("https://a.example", "anthropic", "https://a.example/anthropic"),
    ],
)
def test_variants(given, api, right):
    """What people get wrong is among them, and never the one that was given."""
    found = variants(given, api)
    assert right in found
    assert given not in found
    assert len(found) == len(set(found)) <= MOST


def website(right):
    """A server whose API stands at that base path alone."""

    def mind(asked):
        request = asked.trial.request
        at_root = isinstance(request, Raw) and request.rooted
        return "passed" if at_root and request.path == f"{right}/chat/completions" else "not found"

    return mind


@pytest.mark.parametrize("kind", ["completion", "streaming", "error_format"])
def test_the_right_base_url_is_named(kind):
    """With the proof, for each family of SDK; the failures it explains are not told twice."""
    findings, server = told(case(kind, base_url="http://a.example/v1/v1", keyed=True), website("/v1"))
    (found,) = findings
    assert (found.code, found.verdict, found.layer) == ("wrong_base_url", Verdict.FAIL, Layer.CLIENT)
    assert "http://a.example/v1 is" in found.title
    assert dict(found.detail)["OpenAI SDK"] == "base_url=http://a.example/v1"
    assert dict(found.detail)["Anthropic SDK"].startswith("base_url=http://a.example ")
    tried = [call for call in server.calls if call.trial.label.startswith("base/")]
    assert 0 < len(tried) <= MOST
    assert all(call.trial.request.key == "made_up" for call in tried)


@pytest.mark.parametrize("kind", ["completion", "streaming", "error_format"])
def test_no_base_url_is_made_up(kind):
    """Where no variant is the API's, what was seen stands."""
    findings, _ = told(case(kind, keyed=True), lambda _: "not found")
    assert "wrong_base_url" in {f.code for f in findings} or worst(findings) is Verdict.INCONCLUSIVE
    assert all(f.control is None for f in findings)


def test_a_path_that_works_for_one_client_is_right():
    """Then the others' 404 is another matter."""
    mind = {"curl": "good"}
    _, server = told(case("completion", keyed=True), lambda a: mind.get(a.client, "not found"))
    assert not [call for call in server.calls if call.trial.label.startswith("base/")]


def test_variants_that_were_not_sent():
    """The search is told as unfinished."""
    findings, _ = told(
        case("completion", keyed=True),
        lambda a: NotSent.BUDGET if a.trial.label.startswith("base/") else "not found",
    )
    assert Reason.BUDGET in {f.reason for f in findings}
