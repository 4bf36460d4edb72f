"""Is each recorded answer said to be its maker's: the server's own the server's, and what it passed on the origin's?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from captures import records
from captures.asked import Answer
from captures.table import PRODUCTS
from exchanges import exchange

from probes.attribution import attribute
from probes.model import Confidence, Layer
from probes.signatures import catalogue

RECORDS = {name: records.load(name) for name in PRODUCTS}
LAYERS = {one.product: one.layer for one in catalogue().signatures if one.product}
# What it is called in the catalogue. ModSecurity refuses with the pages of the server that it runs in.
CALLED = {
    "apache": "Apache", "caddy": "Caddy", "caddy-debian": "Caddy", "haproxy": "HAProxy", "litellm": "LiteLLM",
    "modsecurity": "Apache", "nginx": "nginx", "smg": "smg", "squid": "Squid", "varnish": "Varnish",
}  # fmt: skip
OWN = {
    "apache": {
        "auth.in_front": ["Require valid-user"],
        "blocked": ["RewriteRule with F"],
        "request.rejected": ["request line"],
        "size.rejected": ["RewriteRule with R=413"],
        "timeout.upload": ["body never finished"],
        "unreachable.origin": [
            "upstream closes", "upstream header too large", "upstream refuses", "upstream sends a bad header",
            "upstream silent",
        ],
        "wrong_base_url": ["RewriteRule with R=404", "RewriteRule with R=405"],
    },
    "caddy": {
        "auth.in_front": ["basicauth"],
        "blocked": ["respond 403"],
        "size.rejected": ["body over max_size"],
        "timeout.first_byte": ["upstream silent"],
        "unreachable.origin": ["upstream closes", "upstream refuses", "upstream sends a bad header"],
        "wrong_base_url": ["no route"],
    },
    "caddy-debian": {
        "auth.in_front": ["basicauth"],
        "blocked": ["respond 403"],
        "timeout.first_byte": ["upstream silent"],
        # The old one says of a body that it finds too large while it sends it that the origin failed.
        "unreachable.origin": ["body over max_size", "upstream closes", "upstream refuses"],
        "wrong_base_url": ["no route"],
    },
    "haproxy": {
        "auth.in_front": ["http-request auth"],
        "blocked": ["http-request deny"],
        "ratelimited": ["deny_status 429"],
        "request.rejected": ["request line"],
        "size.rejected": ["deny_status 413"],
        "timeout.first_byte": ["upstream silent"],
        "timeout.upload": ["body never finished"],
        "unreachable.origin": [
            "no server takes the connection", "upstream closes", "upstream header too large",
            "upstream sends a bad header",
        ],
    },
    "litellm": {
        "auth.rejected": [
            "another key, no database", "no key", "provider refuses the key",
            "provider refuses the key, asked for messages",
        ],
        "model.not_found": [
            "no such model", "no such model, asked for messages", "provider has no such model",
        ],
        "overloaded": ["provider overloaded"],
        "ratelimited": ["provider limits the rate"],
        "request.rejected": ["a JSON body that ends early", "no messages", "provider refuses a value"],
        "server.error": ["provider's empty 502"],
        "timeout.first_byte": ["provider silent"],
        "unreachable.origin": [
            "deployment cooling down", "provider closes", "provider refuses",
            "provider refuses, asked for messages", "provider sends a bad header", "provider stops in mid-body",
        ],
    },
    "modsecurity": {
        "blocked": ["rule 911100, DELETE of a file", "rule 920420, a body of bytes"],
        "server.error": ["a JSON body that ends early"],
        "size.rejected": ["a JSON body over SecRequestBodyNoFilesLimit"],
        "unreachable.origin": ["upstream refuses"],
    },
    "nginx": {
        "auth.in_front": ["auth_basic"],
        "auth.rejected": ["return 401"],
        "blocked": ["deny all", "return 403"],
        "headers.rejected": ["URL too large", "header too large"],
        "ratelimited": ["limit_req_status 429"],
        "redirected": ["return 301", "return 308"],
        "request.rejected": ["no host", "request line"],
        "server.error": ["limit_req", "rewrite loop"],
        "size.rejected": ["body over 1 MiB"],
        "timeout.first_byte": ["upstream silent"],
        "unreachable.origin": [
            "upstream closes", "upstream header too large", "upstream refuses", "upstream refuses, asked by Chrome",
            "upstream refuses, server_tokens off", "upstream sends a bad header",
        ],
        "wrong_base_url": ["POST to a file", "no such file", "plain HTTP to the TLS port"],
    },
    "smg": {
        "model.not_found": ["no such model", "no worker", "no worker, asked for messages"],
        "overloaded": ["too many at once"],
        "request.rejected": ["a JSON body that ends early", "no messages"],
        "size.rejected": ["body over max_payload_size"],
        "timeout.first_byte": ["worker silent"],
        "unreachable.origin": [
            "no worker, asked for models", "worker closes", "worker given up", "worker given up, asked for messages",
            "worker gone", "worker sends a bad header", "worker stops in mid-body",
        ],
        "wrong_base_url": ["no such method", "no such path"],
    },
    "squid": {
        "blocked": ["http_access deny"],
        "request.rejected": ["request line"],
        "size.rejected": ["body over request_body_max_size"],
        "timeout.first_byte": ["host silent"],
        "unreachable.origin": ["host closes", "host refuses", "host sends a bad header", "host's header too large"],
    },
    "varnish": {
        "blocked": ["synth 403"],
        "server.error": ["synth 503"],
        "unreachable.origin": [
            "backend closes", "backend header too large", "backend refuses", "backend sends a bad header",
            "backend silent",
        ],
    },
}  # fmt: skip
# Words of the libraries that they are built with, or none at all.
NOBODYS = {
    ("caddy", "request line"): None,
    ("caddy-debian", "request line"): None,
    ("litellm", "no such path"): "api.fastapi.path",
}
UNANSWERED = {("nginx", "body never finished"), ("nginx", "return 408")}
PASSED_ON = {
    "healthy origin": (Layer.ORIGIN, "ok"),
    "origin refuses the key": (Layer.ORIGIN, "auth.rejected"),
    "origin overloaded": (Layer.ORIGIN, "overloaded"),
    "origin's own empty 502": (Layer.UNKNOWN, "unreachable.origin"),
    "origin stops in mid-body": (Layer.UNKNOWN, "stream.truncated"),
}
# An older Caddy puts its name on an origin's empty answer, which then looks like its own.
TAKEN_FOR_ITS_OWN = {
    ("caddy-debian", "origin's own empty 502"),
    ("caddy-debian", "upstream sends a bad header"),
}
UNMARKED = {"haproxy", "apache", "modsecurity"}
ALL = [(name, case) for name, record in RECORDS.items() for case in record.cases]
ASKED = [(name, case) for name, case in ALL if (name, case) not in UNANSWERED]


def told(answer: Answer):
    error = ("closed", "body") if answer.cut else None
    return attribute(exchange(answer.code, answer.body, answer.values, url="", error=error), catalogue())


def of(name: str, case: str, *, passed_on: bool) -> Answer:
    recorded = RECORDS[name].cases[case]
    assert recorded.passed_on is passed_on
    assert recorded.answer is not None
    return recorded.answer


@pytest.mark.parametrize(
    "name, case, code",
    [(name, case, code) for name, codes in OWN.items() for code, cases in codes.items() for case in cases],
)
def test_its_own_answer_is_its_own(name: str, case: str, code: str):
    """Product, layer and code are found, and the server is not said to be on its own way."""
    found = told(of(name, case, passed_on=False))
    assert (found.product, found.layer) == (CALLED[name], LAYERS[CALLED[name]])
    assert found.code.removesuffix(".no_hint") == code
    assert CALLED[name] not in found.transit


@pytest.mark.parametrize(
    "name, case",
    [(n, c) for n, c in ASKED if RECORDS[n].cases[c].passed_on and (n, c) not in TAKEN_FOR_ITS_OWN],
)
def test_what_it_passed_on_is_not_its_own(name: str, case: str):
    """The origin made it, or nobody is known to have; the server is on the way where it leaves a mark."""
    found = told(of(name, case, passed_on=True))
    assert (found.layer, found.code, found.product) == (*PASSED_ON[case], None)
    stamped = name in {"apache", "modsecurity"} and case == "origin's own empty 502"  # it had no Server
    assert found.transit == (() if name in UNMARKED and not stamped else (CALLED[name],))


@pytest.mark.parametrize("name, case", sorted(TAKEN_FOR_ITS_OWN))
def test_what_looks_like_its_own_is_said_in_doubt(name: str, case: str):
    """Where nothing in an answer tells the two apart, confidence is low and the next test is the origin."""
    found = told(of(name, case, passed_on=True))
    assert (found.product, found.confidence) == (CALLED[name], Confidence.LOW)
    assert "straight to the origin" in str(found.next_test)


@pytest.mark.parametrize("name, case", NOBODYS)
def test_what_names_nobody_is_nobodys(name: str, case: str):
    """A library's words are no product's."""
    found = told(of(name, case, passed_on=False))
    assert found.product is None
    assert NOBODYS[name, case] is None or found.signature == NOBODYS[name, case]


def test_every_recorded_answer_is_judged_here():
    """Nothing is recorded in vain."""
    own = {(name, case) for name, codes in OWN.items() for cases in codes.values() for case in cases}
    passed_on = {(name, case) for name, case in ALL if RECORDS[name].cases[case].passed_on}
    assert own | passed_on | set(NOBODYS) | UNANSWERED == set(ALL)
    assert {(name, case) for name, case in ALL if RECORDS[name].cases[case].answer is None} == UNANSWERED


def test_a_captured_sample_is_what_was_recorded():
    """A sample that names a capture is that answer, apart from what changes from one recording to the next."""
    recorded = {
        f"{record.server}, {case}": one.answer
        for record in RECORDS.values()
        for case, one in record.cases.items()
        if not one.passed_on
    }
    captured = [
        (sample, one.id)
        for one in catalogue().signatures
        for sample in one.row.samples
        if sample.origin == "capture" and one.product in CALLED.values()
    ]
    assert len(captured) > 90
    for sample, signature in captured:
        lines = tuple(f"{name}: {value}" for name, value in sample.headers.items())
        then = recorded[str(sample.source)]
        assert then is not None
        assert then.code == sample.status, signature
        assert records.alike(Answer(then.status, lines, sample.body, then.cut), then), signature


def test_alike_is_not_the_same():
    """Another version, port, id or time is alike; another word, header, short number or end of the body is not."""
    first = Answer(
        "HTTP/1.1 502 Bad Gateway",
        ("Server: a/1.2", "X-Id: msg_0123456789abcdefABCDEFgh", "Retry-After: 5"),
        "at 127.0.0.1:40001 in 0.31 s",
    )
    later = replace(
        first,
        headers=("retry-after: 5", "x-id: msg_hgFEDCBAfedcba9876543210", "server: a/1.31"),
        body="at 127.0.0.1:52113 in 1.7 s",
    )
    assert records.alike(first, later)
    for other in (
        replace(first, body="in 127.0.0.1:40001 in 0.31 s"),
        replace(first, body=first.body[:-2]),
        replace(first, headers=first.headers[:1]),
        replace(first, headers=(*first.headers[:2], "Retry-After: 50")),
        replace(first, status="HTTP/1.1 503 Bad Gateway"),
        replace(first, cut=True),
        None,
    ):
        assert not records.alike(first, other)
        assert not records.alike(other, first)


def test_what_got_through_of_a_broken_body_is_compared():
    """One may be longer than the other, and may have ended in the middle of a number."""
    cut = Answer("HTTP/1.1 200 OK", ("server: a",), '{"id": 12345, "text": "Once', cut=True)
    assert records.alike(cut, replace(cut, body='{"id": 123'))
    assert records.alike(cut, replace(cut, body='{"id": 98765, "text": "Once upon'))
    assert not records.alike(cut, replace(cut, body='{"id": 98765, "word": "Once'))
    assert not records.alike(cut, replace(cut, body="<html>"))
