"""What does `edgeprobe classify` print, write and return?"""

from __future__ import annotations

import io
import json
import sys

import pytest
from pasted_forms import raw

from probes.classify import classify
from probes.classify.replies import Replies, replies, reply
from probes.cli import main
from probes.model import Confidence, Layer, WhoActs
from probes.signatures import catalogue
from probes.vocabulary import vocabulary

PLAIN = {"server": "cloudflare", "cf-ray": "8c0ffee0ddba11ad-FRA", "retry-after": "30"}
JSON = {"content-type": "application/json"}
RATE_BODY = '{"error":{"message":"Slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}'
OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
COUNTRY = '{"error":{"code":"unsupported_country_region_territory","message":"Not here","param":null,"type":"request_forbidden"}}'
KONG_503 = '{\n  "message":"failure to get a peer from the ring-balancer"\n}'
NGINX_413 = (
    "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n"
    "<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
PROVIDERS_KEY = '{"error":{"message":"litellm.AuthenticationError: AuthenticationError: OpenAIException - Incorrect API key","type":null,"param":null,"code":"401"}}'
OLD_TLS = '{"title":"Error 1028: Unsupported TLS version","status":403,"error_code":1028,"error_category":"tls","cloudflare_error":true}'
GUARDED = "ValueError: Streaming is required for operations that may take longer than 10 minutes."
REFUSED = "httpx.ConnectError: [Errno 111] Connection refused"
BLOCKED = raw(403, PLAIN, "error code: 1010")


@pytest.fixture
def pasted(tmp_path):
    path = tmp_path / "pasted.txt"
    path.write_text(BLOCKED)
    return path


class Stdin:
    def __init__(self, data):
        self.buffer = io.BytesIO(data)


def test_a_person_reads_seen_do_look_up_and_next(pasted, capsys):
    """The words of every other report."""
    assert main(["classify", str(pasted)]) == 0
    out = capsys.readouterr().out
    assert "Refused because of the client software" in out
    assert "blocked.client | edge | Cloudflare 1010" in out
    labels = [line.split()[0] for line in out.splitlines() if line.startswith("  ") and line[2] != " "]
    assert [label for label in labels if label in {"seen", "means", "do", "retry", "look", "next"}] == [
        "seen",
        "means",
        "do",
        "retry",
        "look",
        "next",
    ]
    assert "ray 8c0ffee0ddba11ad" in out
    assert "colo FRA" in out
    assert max(map(len, out.splitlines())) <= 80
    assert out.isascii()


def test_a_status_alone_is_not_said_to_be_what_it_usually_is(tmp_path, capsys):
    """Whether the body was the API's own is not known where it was not pasted."""
    path = tmp_path / "x.txt"
    path.write_text("openai.PermissionDeniedError: Error code: 403")
    assert main(["classify", str(path)]) == 0
    out = capsys.readouterr().out
    assert "not in it: headers and body" in out
    assert "means     if it is what its status says: " in out
    assert "retry     probably not" in out


def test_a_redirect_says_where_to(tmp_path, capsys):
    """Without what a stranger could put into a terminal."""
    path = tmp_path / "x.txt"
    path.write_text("HTTP/1.1 301 Moved\nlocation: https://b.example/v1/\x1b[2J\n\n")
    assert main(["classify", str(path)]) == 0
    assert "which leads to https://b.example/v1/" in capsys.readouterr().out


def test_standard_input_and_json(monkeypatch, capsys):
    """`-` reads, `--json -` writes; people then read the other stream."""
    monkeypatch.setattr(sys, "stdin", Stdin(BLOCKED.encode()))
    assert main(["classify", "-", "--json", "-"]) == 0
    shown = capsys.readouterr()
    (block,) = json.loads(shown.out)["blocks"]
    assert (block["layer"], block["product"], block["vendor_code"]) == ("edge", "Cloudflare", "1010")
    assert "blocked.client" in shown.err


def test_json_in_a_file(pasted, tmp_path, capsys):
    """Beside what is shown."""
    assert main(["classify", str(pasted), "--json", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "edgeprobe.classify/1"
    assert "seen" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "holds no response"),
        ("Hello, it is slow.", "holds no response"),
        ("\0\xff" * 100, "holds no response"),
    ],
    ids=["nothing", "small talk", "noise"],
)
def test_nothing_to_read_is_a_mistake_of_the_call(tmp_path, capsys, text, said):
    """Exit 2, and never 0 when nothing was judged."""
    path = tmp_path / "x.txt"
    path.write_text(text)
    assert main(["classify", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path, capsys):
    """Exit 2 with its name."""
    assert main(["classify", str(tmp_path / "no.txt")]) == 2
    assert "no.txt: cannot be read: No such file" in capsys.readouterr().err


def test_the_reply_is_the_text_to_send(pasted, capsys):
    """What was seen, whose side, whether a retry helps; nothing else is printed."""
    assert main(["classify", str(pasted), "--reply"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Thank you")
    assert "client software" in out
    assert "ours to change" in out
    assert "Trying the same again does not help" in out
    assert "Cloudflare" not in out
    assert "8c0ffee0ddba11ad" not in out


@pytest.mark.parametrize("code", vocabulary())
def test_a_reply_for_every_situation(code):
    """Every code, layer, mover and retry has sentences, without a product, a code or a word of ours."""
    (answer,) = classify(BLOCKED.encode())
    products = {one.product for one in catalogue().signatures} - {None, "API"}
    for layer in Layer:
        for who in WhoActs:
            for retryable in (True, False, None):
                for sure in (Confidence.LOW, Confidence.HIGH):
                    found = _with(answer, code, layer, who, retryable, sure)
                    text = reply([found])
                    assert text.count("\n") in {0, 2}
                    assert all(part.endswith((".", "?")) for part in text.split("\n\n"))
                    assert "{" not in text
                    assert not any(product.lower() in text.lower() for product in products), text
                    assert code not in text or "." not in code


def _with(answer, code, layer, who, retryable, sure):
    from dataclasses import replace

    found = replace(answer.attribution, code=code, layer=layer, confidence=sure)
    return replace(answer, attribution=found, who_acts=who, retryable=retryable)


def test_a_reply_claims_nothing_on_weak_evidence():
    """An unknown layer is nobody's side, and the customer is asked for the whole answer."""
    text = reply(classify(b"openai.PermissionDeniedError: Error code: 403"))
    assert "cannot tell" in text
    assert "curl -i" in text
    assert "not your key" in text
    assert "ours to change" not in text
    assert "does not help" not in text


def test_a_reply_says_when_to_come_back():
    """By the server's own Retry-After."""
    text = reply(classify(raw(429, PLAIN, "error code: 1015").encode()))
    assert "try again after 30 seconds" in text


@pytest.mark.parametrize(
    ("pasted", "said", "not_said"),
    [
        (raw(429, JSON | {"retry-after": "1"}, RATE_BODY), "after 1 second;", "1 seconds"),
        (raw(429, JSON | {"retry-after": "0"}, RATE_BODY), "after a short wait", "0 second"),
        (raw(503, {"server": "kong/3.4.2"}, KONG_503), "after a short wait", "does not help"),
        (raw(529, JSON, OVERLOADED), "after a short wait", "wrong in your code"),
        (raw(524, PLAIN, "error code: 524"), "stream long answers", "try again after"),
        (raw(413, {}, NGINX_413), "a smaller request gets through", "settle this on your side"),
        (raw(403, PLAIN, "error code: 1010"), "same again does not help", "try again after"),
        (REFUSED, "your network or ours", "ours to change"),
        (REFUSED, "your network or ours", "can well succeed"),
        (raw(403, JSON, COUNTRY), "country and a network that it serves", "ours to change"),
        (raw(401, JSON, PROVIDERS_KEY), "nothing about your key", "key is active"),
        (raw(403, PLAIN, OLD_TLS), "kind of secure connection", "never sent"),
        (GUARDED, "streaming long answers", "without a proxy"),
        ("openai.NotFoundError: Error code: 404 - The model `m` does not exist", "cannot tell", "Our API"),
    ],
    ids=[
        "one second", "no second", "503", "529", "524", "413 of nginx", "1010", "refused", "refused: no promise",
        "country", "a provider's key", "TLS at the edge", "a guard", "weak",
    ],
)  # fmt: skip
def test_a_reply_is_right_for_whoever_gets_it(pasted, said, not_said):
    """The right side, what helps until then, and a retry only where waiting is enough."""
    text = reply(classify(pasted.encode()))
    assert said in text
    assert not_said not in text


def test_a_limit_without_its_headers_is_still_the_callers():
    """Whether Retry-After came can't be seen in a body, so nobody is blamed for leaving it out."""
    (answer,) = classify(RATE_BODY.encode())
    assert (answer.attribution.code, answer.who_acts) == ("ratelimited", WhoActs.CUSTOMER)


def test_the_same_situation_is_told_once():
    """Ten exceptions of one kind are one paragraph."""
    text = reply(classify(b"openai.PermissionDeniedError: Error code: 403 - error code: 1010\n\n" * 10))
    assert text.count("did not reach our API") == 1


def test_the_words_are_a_file():
    """`configs/replies.yaml` names every mover and answer to a retry."""
    words = replies()
    assert isinstance(words, Replies)
    assert set(words.whose) == set(WhoActs)
    assert set(words.retry) == {"yes", "no", "depends"}


def test_a_job_of_github_takes_no_command_from_a_paste(tmp_path, capsys, monkeypatch):
    """`::set-env` in a pasted body is text."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = tmp_path / "x.txt"
    path.write_text(raw(403, {}, "::set-env name=A::b"))
    assert main(["classify", str(path)]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == first.replace("stop-commands::", "") + "::"
