"""The JSON of a run: the contract to the letter, and the way back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes import model
from probes.document import SCHEMA, from_document, plain, to_document
from probes.errors import UsageError

RUN_KEYS = (
    "schema id suites target vantage started finished versions seed time_scale verdict spend skipped not_sent findings"
    " calls exchanges"
)
FINDING_KEYS = (
    "code verdict layer product vendor_code kind case client route factor observed control variant confounders title"
    " detail figures conditions confidence reason next_test who_acts retryable advice accepted evidence reproduce"
)
CALL_KEYS = "id case label repeat client route exchanges returned raised not_sent conditions own_lag started"
EXCHANGE_KEYS = (
    "id case call label repeat client route request status headers body_head body_tail body_encoding body_bytes error"
    " timeline chunks events usage max_gap facts conditions attribution"
)
TIMELINE_KEYS = "dns connect tls upload_start upload_end headers first_byte first_event first_token first_content last_byte end"
ATTRIBUTION_KEYS = "layer product code vendor_code signature confidence runner_up transit next_test"


def keys(document):
    return set(document)


TARGET = model.Target(
    "t",
    "openai",
    "m",
    {"edge": model.Route("edge", "https://a.example/v1", headers={"X-A": model.EnvRef("HUSH")})},
    key_env="KEY_VARIABLE",
)
CASE = model.Case("s/k", "s", "k", TARGET, (model.Client("curl", "curl"),), "edge", {"repeats": 3}, 7)
SENT = model.WireRequest(
    "POST", "https://a.example/v1/x", (("A", "1"), ("a", "2")), 12, "sha256:00", stream=True
)


def an_exchange(**more):
    fields = {
        "id": "e1",
        "request": SENT,
        "status": 200,
        "headers": {"via": ["a", "b"]},
        "body_head": b"hi",
        "body_tail": b"",
        "body_bytes": 2,
        "body_digest": "sha256:01",
        "body_encoding": "gzip",
        "timeline": model.Timeline(headers=0.12345678, last_token=0.5, end=1),
        "facts": {},
    }
    return model.Exchange(**{**fields, **more})


def a_run(*exchanges, findings=(), calls=None, **more):
    trial = model.Trial("k/curl", "curl", "edge", model.Ask("chat"))
    calls = calls or (model.Call("c1", "s/k", trial, 0, exchanges, returned="ok", own_lag=0.1234567),)
    fields = {
        "id": "r",
        "suites": ("s",),
        "target": TARGET,
        "vantage": None,
        "started": datetime(2026, 11, 29, 17, 43, 12, 5, UTC),
        "finished": datetime(2026, 11, 29, 18, 43, 13, tzinfo=timezone(timedelta(hours=1))),
        "versions": {"edgeprobe": "1"},
        "seed": 7,
        "time_scale": 1.0,
        "verdict": model.Verdict.PASS,
        "spend": model.Spend(3, 1, 2, None),
        "cases": (CASE,),
        "calls": calls,
        "findings": findings,
    }
    return model.Run(**{**fields, **more})


def test_the_contract_to_the_letter():
    """Every key of the contract is there, and none besides."""
    finding = model.Finding("ok", model.Verdict.PASS, "s/k", "k", observed=model.Observed(0, 3))
    attribution = model.Attribution(model.Layer.EDGE, "blocked", extracted={"ray": "1"})
    document = to_document(a_run(an_exchange(attribution=attribution), findings=(finding,)))
    assert keys(document) == set(RUN_KEYS.split())
    assert document["schema"] == SCHEMA
    assert keys(document["findings"][0]) == set(FINDING_KEYS.split())
    assert keys(document["calls"][0]) == set(CALL_KEYS.split())
    (exchange,) = document["exchanges"]
    assert keys(exchange) == set(EXCHANGE_KEYS.split())
    assert keys(exchange["timeline"]) == set(TIMELINE_KEYS.split())
    assert keys(exchange["attribution"]) == set(ATTRIBUTION_KEYS.split())
    assert keys(exchange["request"]) == {"method", "url", "headers", "body_bytes", "body_digest", "stream"}
    assert document["spend"] == {"requests": 3, "input_tokens": 1, "output_tokens": 2, "usd": None}
    assert document["target"] == {
        "name": "t",
        "api": "openai",
        "model": "m",
        "routes": {"edge": "https://a.example/v1"},
    }


def test_a_stored_run_adds_only_columns_and_replay():
    """The contract's part is the same in both forms."""
    run = a_run(an_exchange(chunk_times=(0.1, 0.3), chunk_sizes=(1, 1)))
    stored, written = to_document(run, chunks=True), to_document(run)
    assert keys(stored) - keys(written) == {"replay"}
    (with_columns,), (without,) = stored["exchanges"], written["exchanges"]
    assert keys(with_columns) - keys(without) == {"chunk_times", "chunk_sizes", "event_times", "event_kinds"}
    assert {name: with_columns[name] for name in without} == without


def test_times():
    """Times of day are RFC 3339 in UTC with Z; seconds have six decimals."""
    document = to_document(a_run(an_exchange()))
    assert document["started"] == "2026-11-29T17:43:12.000005Z"
    assert document["finished"] == "2026-11-29T17:43:13Z"
    assert document["exchanges"][0]["timeline"]["headers"] == 0.123457
    assert document["calls"][0]["own_lag"] == 0.123457


def test_absent_is_null_and_never_0():
    """Where there was no response nothing of it is counted, and empty texts are null."""
    nothing = an_exchange(
        status=None, headers={}, body_head=b"", body_bytes=0, body_digest=None, timeline=model.Timeline(),
        error=model.WireError("connect", "connect", "refused"),
    )  # fmt: skip
    document = to_document(a_run(nothing, findings=(model.Finding("ok", model.Verdict.PASS, "s/k", "k"),)))
    (exchange,) = document["exchanges"]
    absent = [
        "status",
        "headers",
        "body_head",
        "body_tail",
        "body_encoding",
        "body_bytes",
        "chunks",
        "events",
        "usage",
        "max_gap",
        "attribution",
    ]
    assert [exchange[name] for name in absent] == [None] * len(absent)
    assert set(exchange["timeline"].values()) == {None}
    assert exchange["error"] == {"kind": "connect", "phase": "connect", "text": "refused"}
    (finding,) = document["findings"]
    empty = [
        "product",
        "client",
        "factor",
        "observed",
        "title",
        "detail",
        "confidence",
        "reason",
        "advice",
        "reproduce",
    ]
    assert [finding[name] for name in empty] == [None] * len(empty)


def test_a_finding_for_people_and_machines():
    """Rows become lines, figures in seconds are rounded, the command stands with whether it was run."""
    new = {"connection": "new"}
    finding = model.Finding(
        "timeout.first_byte", model.Verdict.FAIL, "s/k", "k", layer=model.Layer.EDGE, factor=model.Factor.STREAM,
        detail=(("seen", "524 after\n125.0 s"), ("so", "lost: all")), observed=model.Observed(3, 3),
        figures={"cut": model.Figure(125.00000001, "s", 3, spread=0.1000000001, conditions=new), "price": model.Figure(1.5e-7, "usd", 1)},
        reproduce=model.Reproduce("curl …", verified=True),
    )  # fmt: skip
    written = to_document(a_run(an_exchange(), findings=(finding,)))["findings"][0]
    assert written["detail"] == "seen: 524 after\n  125.0 s\nso: lost: all"
    assert written["figures"] == {
        "cut": {
            "value": 125.0,
            "unit": "s",
            "n": 3,
            "low": None,
            "high": None,
            "spread": 0.1,
            "conditions": new,
        },
        "price": {
            "value": 1.5e-7,
            "unit": "usd",
            "n": 1,
            "low": None,
            "high": None,
            "spread": None,
            "conditions": {},
        },
    }
    assert written["reproduce"] == {"command": "curl …", "verified": True}
    assert (written["verdict"], written["layer"], written["factor"]) == ("fail", "edge", "stream")
    assert written["observed"] == {"k": 3, "n": 3}


def test_not_sent_is_listed():
    """Each trial that was not bought stands with its case, label and reason."""
    trial = model.Trial("k/x", "curl", "edge", model.Ask("chat"))
    call = model.Call("c", "s/k", trial, 0, not_sent=model.NotSent.BUDGET)
    document = to_document(a_run(calls=(call,)))
    assert document["not_sent"] == [{"case": "s/k", "label": "k/x", "reason": "budget"}]
    assert document["calls"][0]["not_sent"] == "budget"
    assert document["exchanges"] == []


@pytest.mark.parametrize(
    ("facts", "times", "events", "max_gap"),
    [
        ({}, (), None, None),
        ({}, (0.1,), None, None),
        ({}, (0.1, 0.4, 0.5), None, 0.3),
        ({"max_gap": 7.0000001}, (0.1, 0.4), None, 7.0),
        ({"stream": True, "events": {}}, (), 0, None),
        (
            {"stream": True, "events": {"message": {"n": 3}, "comment": {"n": 9}, "error": {"n": 1}}},
            (),
            4,
            None,
        ),
    ],
    ids=["nothing", "one chunk", "from the columns", "from the facts", "silent stream", "stream"],
)
def test_what_is_derived_from_facts(facts, times, events, max_gap):
    """Counts and the longest gap come from what was noted while the bytes passed."""
    exchange = an_exchange(facts=facts, chunk_times=times, chunk_sizes=(1,) * len(times))
    written = to_document(a_run(exchange))["exchanges"][0]
    assert (written["events"], written["max_gap"]) == (events, max_gap)


EURO = "€".encode()


@pytest.mark.parametrize(
    ("head", "tail", "written"),
    [
        (b"", b"", (None, None, None)),
        ("grün".encode(), b"", ("grün", None, "utf-8")),
        (b"a" + EURO[:2], EURO[2:] + b"z", ("a", "z", "utf-8")),
        (b"a" + EURO[:1], b"", ("a", None, "utf-8")),
        (b"a", b"b" + EURO[:2], ("a", "b", "utf-8")),
        (b"\xff\x00", b"z", ("/wA=", "eg==", "base64")),
        (b"\x1f\x8b", b"", ("H4s=", None, "base64")),
    ],
    ids=["none", "text", "character cut in two", "cut stream", "cut tail", "bytes", "gzip"],
)
def test_bodies(head, tail, written):
    """Text where it is UTF-8 but for a character that a cut went through, else base64; the bytes come back."""
    run = a_run(an_exchange(body_head=head, body_tail=tail))
    exchange = to_document(run)["exchanges"][0]
    assert (exchange["body_head"], exchange["body_tail"], exchange["body_encoding"]) == written
    back = from_document(to_document(run, chunks=True)).calls[0].exchanges[0]
    assert (back.body_head, back.body_tail, back.body_encoding) == (head, tail, "gzip")


def test_what_json_cannot_hold_does_not_break_it():
    """NaN, half a surrogate pair, depth, bytes and other types of a hostile answer become plain."""
    deep = []
    for _ in range(900):
        deep = [deep]
    facts = {"usage": {"a": math.nan, "b": [math.inf], "c": "\ud800", 5: b"\xff", "\udc00": deep}}
    document = to_document(a_run(an_exchange(facts=facts)), chunks=True)
    usage = json.loads(json.dumps(document, allow_nan=False))["exchanges"][0]["usage"]
    assert (usage["a"], usage["b"], usage["c"]) == (None, [None], "�")
    assert from_document(document).calls[0].exchanges[0].facts["usage"]["5"] == "b'\\xff'"
    assert plain({"when": datetime(2026, 1, 1, tzinfo=UTC)}) == {"when": "2026-01-01 00:00:00+00:00"}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: [], "no report of edgeprobe: it has no schema, such as edgeprobe.run/1"),
        (lambda d: {}, "no report of edgeprobe: it has no schema, such as edgeprobe.run/1"),
        (
            lambda d: d | {"schema": "edgeprobe.run/2"},
            "its schema is 'edgeprobe.run/2'; this edgeprobe reads edgeprobe.run/1",
        ),
        (
            lambda d: {k: v for k, v in d.items() if k != "replay"},
            "written by --json, which leaves out what a replay needs; take the stored run",
        ),
        (
            lambda d: d | {"seed": "x"},
            "damaged: seed: Input should be a valid integer, unable to parse string as an integer",
        ),
        (lambda d: {k: v for k, v in d.items() if k != "calls"}, "damaged: 'calls' is missing"),
        (lambda d: d | {"exchanges": []}, "damaged: its parts are not those of a stored run"),
        (lambda d: d | {"replay": 5}, "damaged: its parts are not those of a stored run"),
    ],
    ids=[
        "a list",
        "no schema",
        "other schema",
        "of --json",
        "wrong type",
        "key missing",
        "lists differ",
        "no replay",
    ],
)
def test_documents_that_are_no_run(edit, said):
    """What is not a stored run of this schema is refused with the reason."""
    document = to_document(a_run(an_exchange()), chunks=True)
    with pytest.raises(UsageError) as caught:
        from_document(edit(document))
    assert str(caught.value) == said


# --- the way back ----------------------------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
maybe_text = st.none() | text
moments = st.integers(0, 10**9).map(lambda n: round(n / 10**6, 6))
maybe_moment = st.none() | moments
trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
conditions = st.dictionaries(text, trees, max_size=2)
pairs = st.lists(st.tuples(text, text), max_size=2).map(tuple)
asks = st.builds(model.Ask, text, stream=st.booleans(), edits=st.dictionaries(text, maybe_text, max_size=2))
raws = st.builds(model.Raw, text, text, pairs, st.binary(max_size=8))
trials = st.builds(
    model.Trial, text, text, text, asks | raws, session=maybe_text, start=moments, deadline=maybe_moment, salt=text,
    pair=maybe_text,
)  # fmt: skip
attributions = st.builds(
    model.Attribution, st.sampled_from(model.Layer), text, product=maybe_text, vendor_code=maybe_text, signature=maybe_text,
    confidence=st.sampled_from(model.Confidence), runner_up=maybe_text, transit=st.lists(text, max_size=2).map(tuple),
    next_test=maybe_text, who_acts=st.none() | st.sampled_from(model.WhoActs), retryable=st.none() | st.booleans(),
    extracted=st.dictionaries(text, text, max_size=2),
)  # fmt: skip
requests = st.builds(
    model.WireRequest, text, text, pairs, st.integers(0, 9), maybe_text, stream=st.none() | st.booleans()
)
exchanges = st.builds(
    model.Exchange, id=text, request=requests, status=st.none() | st.integers(100, 599),
    headers=st.dictionaries(text, st.lists(text, min_size=1, max_size=2), max_size=2),
    body_head=st.binary(max_size=6) | text.map(str.encode), body_tail=st.binary(max_size=6) | text.map(str.encode),
    body_bytes=st.integers(0, 10**6), body_digest=maybe_text, body_encoding=maybe_text,
    timeline=st.builds(model.Timeline, dns=maybe_moment, headers=maybe_moment, last_token=maybe_moment, end=maybe_moment),
    facts=conditions, chunks=st.integers(0, 9), chunk_times=st.lists(moments, max_size=3).map(tuple),
    chunk_sizes=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    error=st.none() | st.builds(model.WireError, text, text, text), conditions=conditions,
    attribution=st.none() | attributions,
)  # fmt: skip
calls = st.builds(
    model.Call, text, text, trials, st.integers(0, 9), st.lists(exchanges, max_size=2).map(tuple), returned=maybe_text,
    raised=st.none() | st.builds(model.Raised, text, text), not_sent=st.none() | st.sampled_from(model.NotSent),
    conditions=conditions, own_lag=maybe_moment,
    started=st.none() | st.datetimes(timezones=st.just(UTC)),
)  # fmt: skip
words = st.sampled_from(["seen", "because", "so"])
findings = st.builds(
    model.Finding, text, st.sampled_from(model.Verdict), text, text, layer=st.sampled_from(model.Layer), title=text,
    factor=st.none() | st.sampled_from(model.Factor), observed=st.none() | st.builds(model.Observed, st.integers(0, 3), st.integers(0, 3)),
    detail=st.lists(st.tuples(words, text | st.just("two\n  lines\nhere: so")), max_size=3).map(tuple),
    figures=st.dictionaries(text, st.builds(model.Figure, moments, st.sampled_from(["s", "ms"]), st.integers(1, 3), maybe_moment, maybe_moment), max_size=2),
    conditions=conditions, confidence=st.none() | st.sampled_from(model.Confidence), reason=st.none() | st.sampled_from(model.Reason),
    who_acts=st.none() | st.sampled_from(model.WhoActs), retryable=st.none() | st.booleans(), advice=text,
    evidence=st.lists(text, max_size=2).map(tuple), confounders=st.lists(text, max_size=2).map(tuple),
    reproduce=st.none() | st.builds(model.Reproduce, text, st.booleans()),
)  # fmt: skip
cases = st.builds(
    lambda name, params, seed, keyed: replace(CASE, id=name, params=params, seed=seed, keyed=keyed),
    text, conditions, st.integers(0, 2**63), st.booleans(),
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(calls, max_size=2),
    st.lists(findings, max_size=2),
    st.lists(cases, max_size=2),
    st.integers(0, 2**63),
    maybe_text,
)
def test_a_stored_run_comes_back_as_it_was(calls, findings, cases, seed, vantage):
    """Through JSON text and back, a run is equal to itself: what a flow reads is what was measured."""
    run = a_run(
        calls=tuple(calls) or None, findings=tuple(findings), cases=tuple(cases), seed=seed, vantage=vantage,
        config_digest=vantage, skipped=(model.Skipped("s/k", vantage, "why"),),
    )  # fmt: skip
    stored = json.dumps(to_document(run, chunks=True), allow_nan=False)
    assert normal(from_document(json.loads(stored))) == normal(run)


def normal(run):
    """Own lag of the default call is finer than the document's six decimals."""
    return replace(run, calls=tuple(replace(c, own_lag=c.own_lag and round(c.own_lag, 6)) for c in run.calls))
