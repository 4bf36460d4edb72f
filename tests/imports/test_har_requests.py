"""HAR files of browsers and proxies, and the request that is meant."""

from __future__ import annotations

import base64
import json

import pytest

from probes.errors import UsageError
from probes.imports import har
from probes.imports.taken import Taken

API, PAGE = "https://api.example.com/v1/chat/completions", "https://app.example.com/index.html"
BODY = '{"model":"m","messages":[]}'
KEY = "sk-Abcdefghijklmnop0123456789"
REFUSED = {"content-type": "text/plain", "cf-ray": "8c0ffee0ddba11ad-FRA"}


def entry(
    url=API,
    status=403,
    *,
    method="POST",
    headers=(),
    version="HTTP/2.0",
    post=BODY,
    answer="error code: 1010",
    **more,
):
    sent = [{"name": name, "value": value} for name, value in headers]
    body = {} if post is None else {"postData": {"mimeType": "application/json", "text": post}}
    return {
        "request": {"method": method, "url": url, "httpVersion": version, "headers": sent, **body},
        "response": {
            "status": status,
            "headers": [{"name": name, "value": value} for name, value in REFUSED.items()],
            "content": {"text": answer},
        },
        **more,
    }  # fmt: skip


def file(*entries):
    return json.dumps({"log": {"version": "1.2", "entries": list(entries)}})


def read(text, number=None):
    taken = Taken()
    return har.told(text, taken, number), taken.environ


ROWS = {
    "the only one": (file(entry()), {"method": "POST", "url": API, "body": BODY.encode(), "http_version": "2"}),
    "the only one to the API that failed": (
        file(entry(PAGE, 200, method="GET"), entry(API, 200), entry(PAGE, 404), entry()), {"url": API, "seen": "403 error code: 1010, ray 8c0ffee0ddba11ad-FRA"}),
    "the only one to the API": (file(entry(PAGE, 404), entry(API, 200)), {"url": API}),
    "the only one that failed": (file(entry(PAGE, 200), entry(f"{PAGE}?a", 500)), {"url": f"{PAGE}?a"}),
    "without pseudo-headers": (
        file(entry(headers=((":authority", "api.example.com"), (":method", "POST"), ("accept", "*/*"), ("content-length", "26")))),
        {"headers": (("accept", "*/*"),)}),
    "without its own Host": (
        file(entry(headers=(("Host", "api.example.com"), ("Accept", "*/*")), version="HTTP/1.1")),
        {"headers": (("Accept", "*/*"),), "http_version": "1.1"}),
    "of an SDK behind a proxy": (
        file(entry(headers=(("User-Agent", "AsyncOpenAI/Python 1.40.0"), ("Authorization", f"Bearer {KEY}")))),
        {"client": "openai-py-async", "version": "1.40.0", "secrets": ("TOLD_KEY",)}),
    "of an emulated client": (file(entry(headers=(("user-agent", "OpenAI/JS 4.20.0"),))), {"client": "openai-js", "version": "4.20.0"}),
    "of a browser": (
        file(entry(headers=(("user-agent", "Mozilla/5.0"), ("sec-fetch-mode", "cors")))),
        {"client": None, "notes": ("a browser sent it: its TLS is not imitated here, only its headers are",)}),
    "HTTP/3": (file(entry(version="h3")), {"http_version": None, "notes": ("HTTP/3 is not spoken here",)}),
    "no answer": (file(entry(status=0, _error="net::ERR_CONNECTION_RESET")), {
        "seen": "no answer net::ERR_CONNECTION_RESET, ray 8c0ffee0ddba11ad-FRA"}),
    "its address": (file(entry(serverIPAddress="203.0.113.7")), {"notes": ("it went to the address 203.0.113.7",)}),
    "a body in base64": (
        file({**entry(), "request": {"method": "POST", "url": API, "postData": {
            "text": base64.b64encode(b"\xff\x00").decode(), "encoding": "base64"}}}), {"body": b"\xff\x00"}),
    "a body of a form": (
        file({**entry(), "request": {"method": "POST", "url": API, "postData": {"params": [{"name": "a b", "value": "c&d"}]}}}),
        {"body": b"a+b=c%26d"}),
    "a body that was not kept": (
        file({**entry(), "request": {"method": "POST", "url": API, "bodySize": 99}}),
        {"body": b"", "notes": ("its body of 99 bytes was not kept in the file, and is left out",)}),
    "entries without a log": (json.dumps({"entries": [entry()]}), {"url": API}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_an_entry_is_this_request(name):
    """The entry that is meant becomes the request as it was sent."""
    text, wanted = ROWS[name]
    found, _ = read(text)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.form == "har"


WRONG = {
    "no HAR": ("{}", None, "is no HAR file with"),
    "no entry": (file(), None, "is no HAR file with"),
    "several that failed": (file(entry(), entry(f"{API}?key=x")), None, "say which by --entry N:\n    1  403  POST https://api"),
    "none that stands out": (file(entry(PAGE, 200), entry(PAGE, 200)), None, "holds 2 entries"),
    "one that is not there": (file(entry()), 7, "--entry 7"),
    "a body that is no base64": (
        file({**entry(), "request": {"url": API, "postData": {"text": "*", "encoding": "base64"}}}), None, "says that it is base64"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_chosen_is_listed(name):
    """A file that leaves the choice open says what there is."""
    text, number, said = WRONG[name]
    with pytest.raises(UsageError) as refused:
        read(text, number)
    assert said in str(refused.value)
    assert "key=" not in str(refused.value)


def test_the_number_is_that_of_the_file():
    """`--entry` counts all entries, as a viewer does."""
    assert read(file(entry(PAGE), entry(f"{API}?b"), entry()), 2)[0].url == f"{API}?b"
