"""Can a pasted text crash, stall or speak through us?"""

from __future__ import annotations

import io
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pasted_forms import har, raw, verbose

from probes.classify import classify, to_document, told
from probes.classify.blocks import MOST
from probes.classify.replies import reply
from probes.model import Confidence
from probes.reporters.answers import Row, report

KEY = "sk-proj-abcDEF1234567890abcdef12"
SHAPELESS = "s3cretValueWithoutShape"
MIB = 1024 * 1024


def shown(answers):
    """All that a person, a program or a customer gets to see."""
    out = io.StringIO()
    report([Row(answer.title, told.tag(answer), tuple(told.rows(answer))) for answer in answers], out)
    return (
        out.getvalue()
        + json.dumps(to_document(answers), ensure_ascii=False)
        + (reply(answers) if answers else "")
    )


HOSTILE = {
    "megabytes of one letter": b"a" * (8 * MIB),
    "one endless word of dots": b"a." * (2 * MIB),
    "one endless line of errors": b"Error: " * MIB,
    "endless classes": b"openai.APIError: " * 300_000,
    "status after status": b"Error code: 403 - " * 300_000,
    "open objects after statuses": b"Error code: 403 - {'a': \n" * 200_000,
    "status lines": b"HTTP/1.1 403 Forbidden\n" * 200_000,
    "responses": b"HTTP/1.1 403 Forbidden\nserver: cloudflare\n\nerror code: 1010\n\n" * 60_000,
    "headers without end": b"HTTP/1.1 403 Forbidden\n" + b"a: b\n" * 500_000,
    "a header without end": b"HTTP/1.1 403 Forbidden\na: " + b"b" * (8 * MIB),
    "deep JSON": b"[" * (4 * MIB),
    "deep objects": b'{"error":' * MIB,
    "a deep body": b"HTTP/1.1 403 Forbidden\ncontent-type: application/json\n\n" + b'{"error":' * MIB,
    "a deep exception": b"openai.APIError: Error code: 403 - " + b"{'error':" * MIB,
    "open braces in lines": b"{\n" * MIB,
    "open brackets in lines": b"[\n" * MIB,
    "escaped quotes": b"Error code: 403 - {'" + b"\\'" * MIB,
    "quotes": b"Error code: 403 - {" + b"'\"" * MIB,
    "pages": b"error code: 1010\n" * 300_000,
    "halves of pages": b"Error 1020 \n" * 400_000,
    "block pages": b"Sorry, you have been blocked\n" * 200_000,
    "rays": b"ray 8c0ffee0ddba11ad-FRA\n" * 200_000,
    "digits": b"0123456789abcdef" * (MIB // 2),
    "pages of HTML": b"<html><title>403</title>\n" * 200_000,
    "mail quotes": b">" * (4 * MIB),
    "mail quotes in lines": b"> > > > > > > >\n" * 200_000,
    "container prefixes": (b"a" * 60 + b"  ") * 60_000,
    "line feeds": b"\n" * (4 * MIB),
    "carriage returns": b"\r" * (4 * MIB),
    "blanks": b" " * (8 * MIB),
    "blanks in lines": (b" " * 70 + b"\n") * 60_000,
    "escapes": b"\x1b[" + b"1;" * (2 * MIB),
    "escape characters": b"\x1b]" * MIB,
    "NUL": b"\0" * MIB,
    "no UTF-8": b"HTTP/1.1 403 \xff\xfe\nserver: \xc3\n\n\x80\x81error code: 1010" * 100,
    "UTF-16": "HTTP/1.1 403 Forbidden\nserver: cloudflare\n\nerror code: 1010".encode("utf-16"),
    "fences": b"```\n" * MIB,
    "front matter": b"---\na: b\n" * 200_000,
    "chunks": b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n" + b"1\na\n" * 500_000,
    "a dump of headers": b"Error: 403 no\nheaders: {" + b"'a': 'b', " * 300_000,
    "a HAR that is none": b'{"log": {"entries": [1, null, {"response": []}, {"response": {"status": "x", "headers": 3, "content": []}}]}}',
    "a deep HAR": b'{"log": {"entries": [' + b"[" * MIB,
    "a bomb": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + __import__("gzip").compress(b"\0" * (64 * MIB)),
    "a wrong coding": b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n\x00\x01\x02",
}  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_read_in_bounded_time(data):
    """None crashes, and what is shown can be written anywhere."""
    answers = classify(data)
    assert len(answers) <= MOST
    text = shown(answers)
    assert text.encode("utf-8", "strict") is not None
    assert "\x1b" not in text


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=600))
def test_random_bytes_prove_nothing(data):
    """Noise never crashes and never yields a confident product."""
    for answer in classify(data):
        assert answer.attribution.product is None
        assert answer.attribution.confidence is Confidence.LOW


PIECES = [
    "HTTP/1.1 403 Forbidden\n", "server: cloudflare\n", "cf-ray: 8c0ffee0ddba11ad-FRA\n", "\n", "error code: 1010", "{'error': {", '"message": "x"',
    "}}", "Error code: 403 - ", "openai.APIError: ", "< ", "> ", "* Connection #0 to host a left intact", "<html>", "</html>", "<title>a | 524: A timeout occurred</title>",
    "nginx/1.2", "504 Gateway Time-out\n", "Ray ID: 8c0ffee0ddba11ad", "Sorry, you have been blocked\n", "\x1b[31m", "\u202e", "'", '"', "\\", "status: 403,", "headers: {", "curl: (28) timed out\n",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_pieces_in_any_order_never_crash(pieces):
    """Everything that begins or ends a block, shuffled."""
    answers = classify("".join(pieces).encode())
    assert "\x1b" not in shown(answers)
    assert not any("\u202e" in line for line in _text(answers))


def _text(answers):
    out = io.StringIO()
    report([Row(answer.title, told.tag(answer), tuple(told.rows(answer))) for answer in answers], out)
    return out.getvalue().splitlines()


SECRET = {
    "curl -v": verbose(403, {"content-type": "text/plain"}, f"no {SHAPELESS}", key=f"Bearer {SHAPELESS}"),
    "x-api-key of curl -v": verbose(403, {}, f"no {SHAPELESS}").replace("Authorization: Bearer s3cret", "x-api-key: s3cret"),
    "echoed in JSON": raw(401, {}, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY, "type": KEY}})),
    "echoed in a page": raw(403, {}, f"<html><title>{KEY}</title></html>"),
    "echoed by a redirect": raw(307, {"location": f"https://a.example/?key={KEY}"}, ""),
    "a password in a URL": "requests.exceptions.ConnectionError: https://me:hunter22secret@proxy.example/ Connection refused",
    "in an exception": f"openai.AuthenticationError: Error code: 401 - {{'error': {{'message': 'Incorrect API key provided: {KEY}', 'code': '{KEY}'}}}}",
    "in a command of the ticket": f'curl https://a.example -H "Authorization: Bearer {KEY}"\n\n{raw(403, {}, "no", end=chr(10))}',
    "in the query of a HAR": har({
        "request": {"method": "POST", "url": f"https://a.example/v1/models?key={KEY}", "headers": [{"name": "Authorization", "value": f"Bearer {SHAPELESS}"}]},
        "response": {"status": 403, "headers": [], "content": {"text": f"no {SHAPELESS}"}},
    }),
    "in a cookie": raw(403, {"set-cookie": f"session={SHAPELESS}; path=/", "cf-ray": KEY}, f"session {KEY}"),
}  # fmt: skip


@pytest.mark.parametrize("text", SECRET.values(), ids=SECRET)
def test_a_secret_in_the_text_is_in_nothing_that_is_shown(text):
    """Not to a person, not in JSON, not in the reply."""
    answers = classify(text.encode())
    assert answers
    for secret in (KEY, SHAPELESS, "hunter22secret"):
        assert secret not in shown(answers)
        assert secret not in shown(answers).replace("\n", "").replace(" ", "")


def test_what_a_server_wrote_stays_text():
    """Escapes, bidi marks and lines that look like ours."""
    evil = "\x1b[2J\x1b]0;x\x07\u202egnp.exe\u2066 do        operator: send money\r\n  do        now"
    answers = classify(raw(403, {"server": "\x1b[31mx"}, evil).encode())
    lines = _text(answers)
    assert not any(ord(c) < 32 or c in "\u202e\u2066" for line in lines for c in line)
    assert sum(line.startswith("  do ") for line in lines) == 1


def test_a_slice_of_a_large_log_is_read_quickly():
    """Ten thousand ordinary lines with a response among them."""
    rng = Random(1)
    lines = [
        f"[2026-11-29 21:{rng.randrange(60):02}:00] INFO worker {n} GET /v1/models 200 {rng.random():.3f}"
        for n in range(10_000)
    ]
    lines[5000:5000] = [*raw(403, {"server": "cloudflare"}, "error code: 1010", end="\n").split("\n"), ""]
    assert [answer.attribution.code for answer in classify("\n".join(lines).encode())] == ["blocked.client"]
