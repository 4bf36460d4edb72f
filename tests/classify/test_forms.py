"""Is a pasted response judged as the one that was recorded, and a part of one never with more confidence?"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from random import Random

import pytest
from exchanges import exchange
from hypothesis import given, settings
from hypothesis import strategies as st
from pasted_forms import har, python, raw, verbose

from probes.attribution import attribute
from probes.classify import classify
from probes.model import Confidence, Layer
from probes.signatures import catalogue

SAMPLES = [
    pytest.param(signature, sample, id=f"{signature.id}-{n}")
    for signature in catalogue().signatures
    for n, sample in enumerate(signature.row.samples)
    if 200 <= sample.status < 600
]
THEIRS = [one for one in SAMPLES if not one.values[0].forward]
"""Without those of products that serve a company as its proxy, too, of which a paste alone tells no side."""
SURENESS = [Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH]
FORMS = {
    "raw": raw,
    "line feeds": lambda *parts: raw(*parts, end="\n"),
    "HTTP/2": lambda *parts: raw(*parts, version="2"),
    "quoted in a mail": lambda *parts: "\n".join(f"> {line}" for line in raw(*parts, end="\n").split("\n")),
    "in a container's log": lambda *parts: "\n".join(f"api-1  | {line}" for line in raw(*parts, end="\n").split("\n")),
    "coloured": lambda *parts: raw(*parts).replace("server:", "\x1b[1mserver\x1b[0m:"),
}  # fmt: skip


def recorded(sample, headers=None):
    return attribute(
        exchange(sample.status, sample.body, sample.headers if headers is None else headers, url=""),
        catalogue(),
    )


def key(found, *, headers=True):
    """`headers`: without any, nothing is of high confidence, and nobody says when to come back."""
    code = found.code if headers else found.code.removesuffix(".no_hint")
    sure = found.confidence if headers or found.confidence is not Confidence.HIGH else Confidence.MEDIUM
    return found.layer, found.product, code, found.vendor_code, found.signature, sure


def whole(sample):
    """Whether a text can hold it: what ends a body in a text, such as an empty line, is in none of ours."""
    return sample.body.strip() or "content-length" in sample.headers


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signature, sample", THEIRS)
def test_a_pasted_response_is_judged_like_the_recorded_one(signature, sample, form):
    """Every sample of the catalogue, as people paste responses."""
    text = FORMS[form](sample.status, sample.headers, sample.body)
    (answer,) = classify(text.encode())
    if whole(sample) or not 200 <= sample.status < 300:
        assert key(answer.attribution) == key(recorded(sample), headers=bool(sample.headers))


@pytest.mark.parametrize("signature, sample", SAMPLES)
def test_what_curl_v_prints(signature, sample):
    """Its own lines are not taken for the response's."""
    (answer,) = classify(verbose(sample.status, sample.headers, sample.body).encode())
    assert answer.exchange.request.url == "https://api.example.com/v1/chat/completions"
    if sample.status >= 300:
        assert key(answer.attribution)[:5] == key(recorded(sample), headers=bool(sample.headers))[:5]


@pytest.mark.parametrize("signature, sample", [s for s in THEIRS if s.values[1].status >= 400])
def test_an_entry_of_a_har_file(signature, sample):
    """Headers as a list, the body in base64, the time from its timings."""
    (answer,) = classify(har((sample.status, sample.headers, sample.body)).encode())
    assert key(answer.attribution)[:5] == key(recorded(sample))[:5]
    assert answer.exchange.timeline.headers == pytest.approx(125.007)


@pytest.mark.parametrize("signature, sample", [s for s in SAMPLES if s.values[1].status >= 400])
def test_an_exception_with_the_body_is_weaker_than_the_response(signature, sample):
    """Without headers nothing is of high confidence, and what is said at all is what the whole response says."""
    (answer,) = classify(python(sample.status, sample.body).encode())
    found, full = answer.attribution, recorded(sample)
    assert found.confidence is not Confidence.HIGH
    if found.confidence is not Confidence.LOW:
        assert found.layer in {full.layer, Layer.UNKNOWN}
    assert found.product in {full.product, None, *full.transit}
    assert not found.code.endswith("_hint")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SAMPLES), st.floats(0, 1), st.sampled_from(sorted(FORMS)))
def test_a_text_that_was_cut_names_no_other_product(picked, share, form):
    """Less of it may prove less, never something else with confidence."""
    signature, sample = picked.values
    text = FORMS[form](sample.status, sample.headers, sample.body)
    for answer in classify(text[: int(len(text) * share)].encode()):
        found = answer.attribution
        assert found.product in {signature.product, None}
        if found.confidence is not Confidence.LOW:
            assert found.layer is signature.layer


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SAMPLES), st.integers(0, 2**32))
def test_order_case_and_folds_of_headers_do_not_matter(picked, seed):
    """As proxies and log viewers change them."""
    _, sample = picked.values
    rng = Random(seed)
    names = list(sample.headers)
    rng.shuffle(names)
    varied = {
        "".join(rng.choice((c.lower(), c.upper())) for c in name): sample.headers[name].replace(
            "; ", ";\r\n  "
        )
        for name in names
    }
    straight = classify(raw(sample.status, sample.headers, sample.body).encode())
    assert [key(a.attribution) for a in classify(raw(sample.status, varied, sample.body).encode())] == [
        key(a.attribution) for a in straight
    ]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("signature, sample", THEIRS[::7])
def test_a_file_with_a_compressed_body(signature, sample, coding):
    """As `curl -i -H 'accept-encoding: gzip'` writes it to a file."""
    import gzip
    import zlib

    if not sample.body.strip():
        return
    packed = gzip.compress(sample.body.encode()) if coding == "gzip" else zlib.compress(sample.body.encode())
    head = raw(sample.status, {**sample.headers, "content-encoding": coding}, "").encode()
    (answer,) = classify(head + packed)
    assert key(answer.attribution) == key(recorded(sample))


def test_a_chunked_body_as_it_is_on_the_wire():
    """`curl --raw` leaves the sizes of the chunks in."""
    body = "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    chunked = f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"
    (answer,) = classify(raw(504, {"server": "nginx", "transfer-encoding": "chunked"}, chunked).encode())
    assert key(answer.attribution)[:3] == (Layer.EDGE, "nginx", "timeout.first_byte")
    (plain,) = classify(
        raw(
            403,
            {"server": "cloudflare", "transfer-encoding": "chunked"},
            "10\r\nerror code: 1010\r\n0\r\n\r\n",
        ).encode()
    )
    assert key(plain.attribution)[2:4] == ("blocked.client", "1010")


def test_json_of_python_is_read_as_the_json_it_was():
    """Quotes, escapes, nesting, emoji and half a pair."""
    body = {
        "error": {
            "message": 'it\'s "so" \\ \n\t \u20ac \U0001f600 \x07',
            "type": "t",
            "param": None,
            "code": True,
        },
        "a": [1.5, {}],
    }
    (answer,) = classify(python(400, json.dumps(body)).encode())
    assert json.loads(answer.exchange.body_head) == body


SDKS = {
    "Python": python,
    "Node": lambda status, body: f"APIError: {status} {json.dumps(json.loads(body), ensure_ascii=False)}\n    at APIError.generate (/app/node_modules/openai/core/error.js:41:20)\n",
    "Node, named by its status alone": lambda status, body: f"Error: {status} {json.dumps(json.loads(body))}\n    at x (/app/y.js:1:2)\n",
    "Java": lambda status, body: f"com.openai.errors.UnexpectedStatusCodeException: {status}: {body}\n\tat com.openai.core.handlers.ErrorHandler.handle(ErrorHandler.kt:60)\n",
    "Go": lambda status, body: f'POST "https://api.example.com/v1/chat/completions": {status} Some Words {json.dumps(json.loads(body))}\n',
}  # fmt: skip


def is_object(body):
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


@pytest.mark.parametrize("sdk", SDKS)
@pytest.mark.parametrize(
    "signature, sample", [s for s in SAMPLES if s.values[1].status >= 400 and is_object(s.values[1].body)]
)
def test_json_is_whole_in_what_an_sdk_prints(signature, sample, sdk):
    """A `status` or a number in it is not taken for the one it came with: judged as the response without its headers."""
    (told,) = classify(SDKS[sdk](sample.status, sample.body).encode())
    (bare,) = classify(raw(sample.status, {}, sample.body).encode())
    assert json.loads(told.exchange.body_head) == json.loads(sample.body)
    assert key(told.attribution) == key(bare.attribution)


BLOCKS = [
    "p",
    "h1",
    "h2",
    "h3",
    "hr",
    "center",
    "div",
    "body",
    "pre",
    "ul",
    "li",
    "section",
    "br",
    "td",
    "tr",
    "table",
    "address",
]
UNSEEN = ["script", "style", "title", "noscript"]


class Shown(HTMLParser):
    """What a browser puts into the clipboard."""

    def __init__(self):
        super().__init__()
        self.text, self.hidden = "", 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in UNSEEN
        self.text += "\n" * (tag in BLOCKS)

    def handle_endtag(self, tag):
        self.hidden -= tag in UNSEEN
        self.text += "\n" * (tag in BLOCKS)

    def handle_data(self, data):
        self.text += "" if self.hidden else " ".join(f"|{data}|".split()).strip("|")


def shown(body):
    page = Shown()
    page.feed(body)
    return "\n".join(line.strip() for line in page.text.split("\n") if line.strip())


# Headings that many servers write, or a sample that was cut to less than a browser shows.
SAYS_TOO_LITTLE = {
    "alb.400", "alb.403", "alb.502", "alb.503", "alb.504", "alb.5xx.other", "cloudflare.524.status", "cloudflare.reach.html",
    "cloudflare.worker.html", "cloudflare.530.html", "cloudflare.1015.html", "cloudflare.denied.html", "squid.400", "squid.size",
    "squid.response", "modsecurity.406.other",
}  # fmt: skip
PAGES = [
    pytest.param(signature, text, id=f"{signature.id}-{n}")
    for signature in catalogue().signatures
    for n, sample in enumerate(signature.row.samples)
    if sample.body.lstrip().startswith("<")
    and len(text := shown(sample.body)) > len("Sorry, you have been blocked")
    and signature.id not in SAYS_TOO_LITTLE
    and signature.row.strength != "supporting"
]


@pytest.mark.parametrize("signature, text", PAGES)
def test_a_page_as_a_browser_copies_it(signature, text):
    """Every page of the catalogue, without its markup, is still its maker's; or the one that can't be told is not."""
    (answer,) = classify(f"Hello, this is what I see:\n\n{text}\n\nCan you help?".encode())
    found = answer.attribution
    assert found.confidence is not Confidence.HIGH
    assert (found.product, found.layer) == (
        signature.product,
        Layer.UNKNOWN if signature.forward else signature.layer,
    )
    assert found.code.removesuffix(".no_hint") == signature.row.code or found.confidence is Confidence.LOW
