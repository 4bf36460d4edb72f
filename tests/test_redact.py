"""Redaction: no spelling of a secret passes, and nothing else is lost."""

from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from probes import model
from probes.config import made_up_key
from probes.redact import _PLACEHOLDERS, REDACTED, Redactor, looks_like_key, safe_text

KEY = "canary/Zq+7 key=\"x&y'<>\\end~9"
REDACTOR = Redactor([KEY])


def percent(secret, template):
    return "".join(template.format(byte) for byte in secret.encode())


SPELLINGS = {
    "plain": KEY,
    "url": quote(KEY, safe=""),
    "url in lower case": "".join(c if c.isalnum() or c in "~-._" else f"%{ord(c):02x}" for c in KEY),
    "path": quote(KEY),
    "form": quote_plus(KEY),
    "all percent": percent(KEY, "%{:02X}"),
    "all percent in lower case": percent(KEY, "%{:02x}"),
    "url twice": quote(quote(KEY, safe=""), safe=""),
    "JSON": json.dumps(KEY)[1:-1],
    "JSON with escaped slashes": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "JSON in JSON": json.dumps(json.dumps(KEY))[3:-3],
    "JSON all escaped": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "JSON all escaped in capitals": "".join(f"\\u{ord(c):04X}" for c in KEY),
    "HTML": html.escape(KEY),
    "HTML twice": html.escape(html.escape(KEY)),
    "HTML decimal": "".join(f"&#{ord(c)};" for c in KEY),
    "HTML hexadecimal": "".join(f"&#x{ord(c):X};" for c in KEY),
    "HTML of other libraries": KEY.replace("&", "&amp;")
    .replace("'", "&#39;")
    .replace('"', "&#34;")
    .replace("/", "&#x2F;"),
}


@pytest.mark.parametrize("spelt", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings(spelt):
    """What an echo makes of a secret is recognised in texts and bytes, and nothing around it is lost."""
    around = f"a={spelt}&b <{spelt}> Z"
    assert REDACTOR.text(around) == f"a={REDACTED}&b <{REDACTED}> Z"
    assert REDACTOR.data(b"\xff" + around.encode()) == b"\xff" + f"a={REDACTED}&b <{REDACTED}> Z".encode()


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "Bearer "])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "urlsafe"])
@pytest.mark.parametrize("padding", [True, False], ids=["padded", "bare"])
def test_base64(before, after, encode, padding):
    """At any alignment, in both alphabets, with and without padding no piece of the secret is left."""
    secret = "k?>" + KEY
    coded = encode(f"{before}{secret}{after}".encode()).decode()
    shown = Redactor([secret]).text(f'"{coded if padding else coded.rstrip("=")}"')
    assert REDACTED in shown
    left = shown.replace(REDACTED, "").strip('"=')
    assert (
        len(left) <= len(encode(before.encode()).rstrip(b"=")) + len(encode(after.encode()).rstrip(b"=")) + 1
    )


@settings(max_examples=100, deadline=None)
@example("0000000Ã")
@example("0000000%")
@example("0000000&")
@example("0000000\\")
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=8, max_size=20))
def test_any_secret(secret):
    """Whatever characters it is made of."""
    assume(secret.lower() not in _PLACEHOLDERS)
    redactor = Redactor([secret])
    for spelt in (
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    ):
        assert redactor.text(f"<{spelt}>") == f"<{REDACTED}>"
        assert redactor.data(f"<{spelt}>".encode()) == f"<{REDACTED}>".encode()
    assert REDACTED in redactor.text(base64.b64encode(b"x" + secret.encode()).decode())


@pytest.mark.parametrize("secret", ["short77", "", "EMPTY", "none", "test", "placeholder", "Not-Needed"])
def test_what_is_no_secret(secret):
    """Short values and placeholders would blacken ordinary text."""
    text = f"a {secret} b EMPTY none test"
    assert Redactor([secret]).text(text) == text


SHORT = {
    "a query": ("https://h.example/v1?token=SEC1234&n=1", f"https://h.example/v1?token={REDACTED}&n=1"),
    "an echo": ('{"access_token": "SEC1234", "n": 1}', f'{{"access_token": "{REDACTED}", "n": 1}}'),
    "an echo within a text": (r'"no {\"password\":\"SEC1234\"}"', rf'"no {{\"password\":\"{REDACTED}\"}}"'),
    "elsewhere": ("SEC1234 n=SEC1234 token=SEC12345", "SEC1234 n=SEC1234 token=SEC12345"),
}


@pytest.mark.parametrize("name", SHORT)
def test_a_short_secret_goes_by_its_place(name):
    """What is too short to go by value goes where a name says what it is."""
    said, shown = SHORT[name]
    redactor = Redactor(["SEC1234"])
    assert redactor.text(said) == shown
    assert redactor.tree({"token": "SEC1234", "n": "SEC1234"}) == {"token": REDACTED, "n": "SEC1234"}


def test_the_longer_of_two_secrets_goes_first():
    """Of a secret that begins with another nothing stays."""
    assert Redactor(["secret-one", "secret-one-and-more"]).text("secret-one-and-more") == REDACTED


@pytest.mark.parametrize("spelling", ["plain", "url", "all percent", "JSON all escaped", "HTML hexadecimal"])
def test_a_secret_that_a_cut_runs_through(spelling):
    """From six characters on, a beginning at the cut end and an end at the cut start go."""
    spelt = SPELLINGS[spelling]
    step = len(spelt) // len(KEY)
    for cut in range(6 * step + 6, len(spelt) - 6 * step - 6):
        head, tail = f"text {spelt[:cut]}".encode(), f"{spelt[cut:]} text".encode()
        assert REDACTOR.data(head, cut_end=True) == f"text {REDACTED}".encode(), cut
        shown = REDACTOR.data(tail, cut_start=True)
        assert shown == f"{REDACTED} text".encode(), cut


@pytest.mark.parametrize("alignment", range(3))
def test_a_base64_secret_that_a_cut_runs_through(alignment):
    """The same for its base64."""
    spelt = base64.b64encode(b"u" * alignment + KEY.encode()).decode().rstrip("=")
    for cut in range(12, len(spelt) - 10):
        assert spelt[cut - 4 : cut] not in REDACTOR.data(spelt[:cut].encode(), cut_end=True).decode()
        assert spelt[cut : cut + 4] not in REDACTOR.data(spelt[cut:].encode(), cut_start=True).decode()


def test_fewer_than_six_characters_at_a_cut_stay():
    """They say nothing, and ordinary text ends so, too."""
    assert REDACTOR.data(b"x " + KEY[:5].encode(), cut_end=True) == b"x " + KEY[:5].encode()
    assert REDACTOR.data(KEY[-5:].encode() + b" x", cut_start=True) == KEY[-5:].encode() + b" x"


SHAPED = {
    "OpenAI": "sk-" + "a1B2c3D4e5F6g7H8i9J0",
    "OpenAI project": "sk-proj-" + "a1B2c3D4_e5F6-g7H8i9J0",
    "Anthropic": "sk-ant-api03-" + "a1B2c3D4_e5F6-g7H8i9J0",
    "Google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "Hugging Face": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "Groq": "gsk_" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6",
    "xAI": "xai-" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6",
    "JWT": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl-x",
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp_" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8",
    "GitHub, fine-grained": "github_pat_" + "11ABCDEFG0a1B2c3D4e5F6_g7H8i9J0a1B2c3D4e5F6g7H8",
    "GitLab": "glpat-" + "a1B2c3D4-e5F6_g7H8i9",
    "Slack, a bot's": "xoxb-" + "123456789012-1234567890123-a1B2c3D4e5F6",
    "Slack, an application's": "xoxa-" + "2-123456789012-a1B2c3D4",
    "AWS, for a time": "ASIA" + "IOSFODNN7EXAMPLE",
}


@pytest.mark.parametrize("key", SHAPED.values(), ids=SHAPED)
def test_key_shapes(key):
    """Keys that are not ours go by their shape."""
    assert looks_like_key(key)
    assert Redactor().text(f'{{"key":"{key}", "n": 1}}') == f'{{"key":"{REDACTED}", "n": 1}}'
    assert Redactor().text(f"Incorrect key {key}.").startswith(f"Incorrect key {REDACTED}")


def test_what_leads_a_shape_stays():
    """`Bearer` and the URL around a password say what was hidden."""
    assert Redactor().text("Authorization: Bearer abc123def456ghi7") == f"Authorization: Bearer {REDACTED}"
    assert Redactor().text("http://me:hush@proxy:3128/x") == f"http://{REDACTED}@proxy:3128/x"


@pytest.mark.parametrize(
    "text",
    [
        "8f3a2b1c4d5e6f70-FRA",
        "req_011CSHoEeqs5C35K2UUqR7Fy",
        "chatcmpl-BxYz0123456789abcdefghijkl",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        'Bearer realm="api", error="invalid_token", error_description="The token has expired"',
        "Invalid Bearer authentication; see RFC",
        "class='sk-folding-cube-with-many-words sk-fading-circle'",
        "task-sk1234567890 risk-assessment-2026-11-29-for-a-customer",
        "eyJust a text. And another sentence.",
        "https://api.example.com:8443/v1/chat@home",
        "AKIA is a prefix, hf_ too, gsk_short, xai-grok-4-fast",
        "gpt-4o-mini-2024-07-18 qwen3-32b claude-sonnet-4-20250514",
        "__cf_bm=[redacted]; path=/",
    ],
)
def test_what_must_not_vanish(text):
    """Request ids, rays, digests, models and ordinary words are evidence."""
    assert Redactor().text(text) == text
    assert not looks_like_key(text)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer tiny", f"Bearer {REDACTED}"),
        ("authorization", "tiny", REDACTED),
        ("Authorization", "my words", REDACTED),
        ("Proxy-Authorization", "Basic dTpw", f"Basic {REDACTED}"),
        ("X-Api-Key", "tiny", REDACTED),
        ("api-key", "tiny tiny", REDACTED),
        ("X-Bypass", "tiny", REDACTED),
        ("Cookie", "a=1; b=2=3", f"a={REDACTED}; b={REDACTED}"),
        ("Set-Cookie", "__cf_bm=tiny; Path=/; Secure", f"__cf_bm={REDACTED}; Path=/; Secure"),
        ("X-Request-Id", "tiny", "tiny"),
        ("X-Echo", f"<{KEY}>", f"<{REDACTED}>"),
    ],
)
def test_headers(name, value, shown):
    """By name whatever the value; the scheme and the names of cookies stay, which tell products apart."""
    redactor = Redactor([KEY], headers=["X-Bypass"])
    request = model.WireRequest("GET", "http://a/", ((name, value),), 0, None, stream=None)
    call = a_call(request=request, headers={name.lower(): [value, "b"]})
    (exchange,) = redactor.call(call).exchanges
    assert exchange.request.headers == ((name, shown),)
    assert exchange.headers[name.lower()][0] == shown
    assert redactor.tree({"echo": {name: value}}) == {"echo": {name: shown}}


def test_trees():
    """Texts at any depth, keys too, lists under a secret name; numbers stay; endless depth ends."""
    tree = {
        "a": [KEY, 1, None, True, 0.5],
        KEY: (KEY,),
        "authorization": ["Bearer tiny"],
        "raw": KEY.encode(),
    }
    assert REDACTOR.tree(tree) == {
        "a": [REDACTED, 1, None, True, 0.5],
        REDACTED: [REDACTED],
        "authorization": [f"Bearer {REDACTED}"],
        "raw": REDACTED.encode(),
    }
    deep = [KEY]
    for _ in range(900):
        deep = [deep]
    assert KEY not in repr(REDACTOR.tree(deep))


def a_call(request=None, **more):
    fields = {
        "id": "e",
        "request": request or model.WireRequest("GET", "http://a/", (), 0, None, stream=None),
        "status": 200,
        "headers": {},
        "body_head": b"",
        "body_tail": b"",
        "body_bytes": 0,
        "body_digest": None,
        "body_encoding": None,
        "timeline": model.Timeline(),
        "facts": {},
    }
    exchange = model.Exchange(**{**fields, **more})
    return model.Call("c", "s/k", model.Trial("l", "curl", "edge", model.Ask("chat")), 0, (exchange,))


def test_a_call_holds_the_secret_nowhere():
    """Planted in every text that a call has, the secret is in none of them afterwards."""
    raw = model.Raw("POST", f"/x?{KEY}", (("X-A", KEY),), KEY.encode())
    ask = model.Ask("chat", edits={"authorization": f"Bearer {KEY}", "x-drop": None, "x-a": KEY})
    exchange = model.Exchange(
        id="e",
        request=model.WireRequest(
            "POST", f"http://a/?k={quote(KEY)}", (("X-A", KEY),), 1, "sha256:0", stream=False
        ),
        status=401,
        headers={"x-echo": [KEY, "b"]},
        body_head=f"{'x' * 99}{KEY}{KEY[:20]}".encode(),
        body_tail=f"{KEY[20:]}{KEY}".encode(),
        body_bytes=10**6,
        body_digest="sha256:1",
        body_encoding=None,
        timeline=model.Timeline(),
        facts={"errors": [{"message": KEY}], "usage": {"n": 1}},
        error=model.WireError("reset", "body", f"at {KEY}"),
        conditions={"proxy": f"http://u:{KEY}@p"},
        attribution=model.Attribution(model.Layer.EDGE, "blocked", extracted={"echo": KEY}),
    )
    for request in (raw, ask):
        trial = model.Trial("l", "curl", "edge", request)
        told = model.Raised("E", f"no {KEY} {KEY[:12]}")
        call = model.Call("c", "s/k", trial, 0, (exchange,), f"<{KEY}", told, conditions={"a": KEY})
        shown = REDACTOR.call(call)
        pieces = {KEY[i : i + 6] for i in range(len(KEY) - 5)} - {REDACTED}
        text = repr(shown).replace("\\\\", "\\").replace('\\"', '"').replace("\\'", "'")
        assert not [piece for piece in pieces if piece in text]
        assert shown.exchanges[0].facts["usage"] == {"n": 1}
        assert shown.exchanges[0].body_digest == "sha256:1"


def test_a_clean_call_is_left_as_it_is():
    """Redaction changes nothing where there is nothing to hide."""
    call = a_call(headers={"via": ["a"]}, body_head=b"\xff{}", facts={"usage": None, "events": {}})
    assert REDACTOR.call(call) == call


def test_redacting_twice_is_redacting_once():
    """A stored run may be redacted again."""
    once = REDACTOR.text(f"Bearer {KEY} http://u:p{KEY}@h {SHAPED['JWT']}")
    assert REDACTOR.text(once) == once


def test_repr_shows_nothing():
    """Not even by accident in a traceback."""
    assert KEY[:6] not in repr(REDACTOR)


def test_made_up_keys_are_no_exception():
    """They are shaped like keys, so they may go, but not with what stands beside them."""
    assert (
        Redactor().text(f"a {made_up_key('openai')} b {made_up_key('anthropic')} c")
        == f"a {REDACTED} b {REDACTED} c"
    )


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x9b31m\x00\x7f", r"\x9b31m\x00\x7f"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("\u200b\ufeff\u2028\xad", r"\u200b\ufeff\u2028\xad"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("naïve 日本語 ✓ 🙂 C:\\x", "naïve 日本語 ✓ 🙂 C:\\x"),
    ],
    ids=["escape", "line ends", "C1", "bidi", "invisible", "half a pair", "tag", "harmless"],
)
def test_safe_text(hostile, shown):
    """What would move the cursor, hide or reorder text becomes visible; the rest stays."""
    assert safe_text(hostile) == shown


HOSTILE = {
    "keys": "sk-" * 22_000,
    "JWT heads": "eyJ" * 22_000,
    "JWT heads apart": "-eyJaaaaaaaaa." * 5_000,
    "backslashes": "\\" * 65_536,
    "percents": "%25" * 22_000,
    "entities": "&amp;" * 13_000,
    "URLs": "://a:" * 13_000,
    "almost the secret": KEY[:-1] * 2_000,
    "one letter": "c" * 65_536,
}


@pytest.mark.parametrize(
    "body", [*HOSTILE.values(), json.dumps({"content": "text " * 13_000})], ids=[*HOSTILE, "JSON"]
)
def test_a_hostile_body_costs_little(body):
    """64 KiB take milliseconds whatever they are made of: nothing backtracks; the bound leaves room for a slow machine."""
    data = body.encode()
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        REDACTOR.data(data, cut_start=True, cut_end=True)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.1


NAMED = {
    "a key": ("Authorization", "Bearer {env:MINE}", True),
    "cookies": ("Cookie", "a={env:MINE}; b={env:MINE}", True),
    "a whole value": ("X-Tenant", "{env:MINE}", True),
    "a secret beside it": ("Authorization", "Bearer {env:MINE}hunter2", False),
    "a cookie beside it": ("Cookie", "a={env:MINE}; b=hunter2", False),
    "a variable of nobody": ("X-Tenant", "{env:OTHER}", False),
}


@pytest.mark.parametrize(("name", "value", "kept"), NAMED.values(), ids=NAMED)
def test_a_variable_is_no_secret(name, value, kept):
    """Of a request that was told: its name stays where nothing else in a secret header is secret."""
    raw = model.Raw("POST", "/x", ((name, value),), secrets=("MINE",))
    call = model.Call("c", "s/k", model.Trial("x", "curl", "edge", raw), 0)
    [(_, said)] = Redactor([], ["x-tenant"]).call(call).trial.request.headers
    assert (said == value) == kept
    assert "hunter2" not in said
