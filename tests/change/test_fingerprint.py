"""Is a change of the edge's look told from what differs between any two answers?"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from canned import attributed, case, run_of
from exchanges import CLOUDFLARE, GOOD_CHAT, HTML, JSON, exchange, stream_facts
from hypothesis import given, settings
from hypothesis import strategies as st
from labruns import CLOCK, served

from probes.canary import Mark
from probes.change.differences import Outcome, compared, differences
from probes.change.fingerprint import fingerprint
from probes.change.told import findings, rows
from probes.conduct import Order, conduct
from probes.document import from_document, to_document
from probes.kinds.conclude import conclude
from probes.memory import Memory
from probes.model import (
    Ask,
    Began,
    Call,
    Called,
    Confidence,
    Figure,
    Finished,
    Found,
    Layer,
    Timeline,
    Trial,
    Verdict,
)

if TYPE_CHECKING:
    from random import Random

START = datetime(2026, 11, 29, 14, 0, tzinfo=UTC)
CASE = case("completion")
NGINX = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
REFUSED = NGINX.replace("404 Not Found", "403 Forbidden")
API_ERROR = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": None}}
STREAM = {"content-type": "text/event-stream"}
"""How an event stream is announced."""


def good(headers=None, **conditions):
    made = exchange(200, GOOD_CHAT, {"server": "cloudflare", **(headers or {})})
    return replace(made, conditions={"http_version": "HTTP/1.1", **conditions})


def streamed(headers=None, *, lasted=3.0, beats=None, accepts=None):
    made = exchange(200, b"data: {}\n\n", {**STREAM, **(headers or {})}, facts=stream_facts(heartbeats=beats or {}), stream=True)  # fmt: skip
    sent = (("Accept-Encoding", accepts),) if accepts else ()
    return replace(
        made, request=replace(made.request, headers=sent), timeline=Timeline(headers=0.1, end=0.1 + lasted)
    )


def run(answers, number=0, *, client="httpx", route="edge", found=(), shift=0, suite="s"):
    """One run of these answers, each to the same question as the one in its place in any other."""
    calls = []
    for place, answer in enumerate(answers):
        trial = Trial(f"q{place + shift}", client, route, Ask("chat"))
        name = f"{suite}/completion:q{place + shift}#0"
        calls.append(
            Call(name, f"{suite}/completion", trial, 0, (replace(attributed(answer), id=f"{name}/0"),))
        )
    began = START + timedelta(hours=number)
    return replace(
        run_of(CASE, calls, list(found)),
        id=f"r{number}",
        started=began,
        finished=began + timedelta(minutes=1),
    )


def changes(before, after):
    return {
        (c.of, c.before.values, c.after.values) for c in differences(fingerprint(before), fingerprint(after))
    }


def told(before, after, *marks):
    return list(findings(compared(fingerprint(before), fingerprint(after)), "s/baseline", marks))


def each(value, n=3):
    return [value] * n


def tls(**changed):
    return good(
        tls={"version": "TLSv1.3", "alpn": "h2", "issuer": "Let's Encrypt", "days_left": 80.1} | changed
    )


def headers(name, *values):
    return [good({name: value}) for value in values]


CHANGED = {
    "another server": (each(good()), each(good({"server": "nginx"})), {("header server", ("cloudflare",), ("nginx",)), ("products on the way", ("Cloudflare",), ("nginx",))}),
    "a header more": (each(good()), each(good({"x-powered-by": "Express"})), {("header x-powered-by", ("",), ("Express",))}),
    "a header gone": (each(good({"x-envoy-upstream-service-time": "7"})), each(good()), {("header x-envoy-upstream-service-time", ("there",), ("",)), ("products on the way", ("Cloudflare → Envoy",), ("Cloudflare",))}),
    "another value": (each(good({"alt-svc": 'h3=":443"'})), each(good({"alt-svc": "clear"})), {("header alt-svc", ('h3=":443"',), ("clear",))}),
    "another cookie": (headers("set-cookie", "node_1_2=1", "node_3_2=2", "node_4_2=3"), headers("set-cookie", "sticky=1", "sticky=2", "sticky=3"), {("header set-cookie", ("node_*_*",), ("sticky",))}),
    "cache status": (each(good({"cf-cache-status": "DYNAMIC"})), each(good({"cf-cache-status": "MISS"})), {("cache status", ("cf-cache-status: dynamic",), ("cf-cache-status: hit or miss",))}),
    "HTTP version": (each(good(http_version="HTTP/1.1")), each(good(http_version="HTTP/2")), {("HTTP version", ("HTTP/1.1",), ("HTTP/2",))}),
    "TLS version": (each(tls()), each(tls(version="TLSv1.2")), {("TLS version", ("TLSv1.3",), ("TLSv1.2",))}),
    "ALPN": (each(tls()), each(tls(alpn=None)), {("ALPN", ("h2",), ("none",))}),
    "issuer": (each(tls()), each(tls(issuer="Sectigo")), {("certificate issuer", ("Let's Encrypt",), ("Sectigo",))}),
    "gzip of streams": (each(streamed(accepts="gzip")), each(streamed({"content-encoding": "gzip"}, accepts="gzip")), {("content-encoding", ("none",), ("gzip",))}),
    "gzip for who takes it": (
        [*each(streamed()), *each(streamed(accepts="gzip"))],
        [*each(streamed()), *each(streamed({"content-encoding": "gzip"}, accepts="gzip"))],
        {("content-encoding", ("none",), ("gzip",))},
    ),
    "framing": (each(good({"content-length": "9"})), each(good({"transfer-encoding": "chunked"})), {("framing", ("length",), ("chunked",))}),
    "another's error page": (each(exchange(404, API_ERROR)), each(exchange(404, NGINX, HTML)), {("error shape", ("origin, application/json, JSON {error}, error {code, message, param, type}",), ("nginx, text/html, HTML",)), ("header content-type", ("application/json",), ("text/html; charset=UTF-8",))}),
    "refused": (each(good()), each(exchange(403, REFUSED, {**HTML, "server": "nginx"})), {("client", ("let in",), ("refused with 403 by nginx",))}),
    "let in": (each(exchange(403, REFUSED, {**HTML, "server": "nginx"})), each(good()), {("client", ("refused with 403 by nginx",), ("let in",))}),
    "heartbeats of long streams": (each(streamed(lasted=40, beats={"comment": {"n": 2}})), each(streamed(lasted=40)), {("heartbeats", ("comment",), ("none",))}),
    "most answers are new": ([*each(good(), 20)], [*each(good(), 8), *each(good({"via": "1.1 varnish"}), 12)], {("header via", ("",), ("", "1.1 varnish"))}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_what_changed_is_named(name):
    """That trait alone, with what it was and what it is."""
    before, after, wanted = CHANGED[name]
    assert changes([run(before)], [run(after, 1)]) == wanted


SILENT = {
    "moments, ids and ages": (
        [good({"date": f"Sun, 29 Nov 2026 14:00:0{n}", "cf-ray": f"9f140b785e57c45{n}-FRA", "x-request-id": f"r{n}", "age": f"{n}", "etag": f"e{n}"}) for n in range(3)],
        [good({"date": f"Sun, 29 Nov 2026 15:00:0{n}", "cf-ray": f"af140b785e57c45{n}-FRA", "x-request-id": f"s{n}"}) for n in range(3)],
    ),
    "another data centre": (headers("cf-ray", *each("9f140b785e57c458-FRA")), headers("cf-ray", *each("9f140b785e57c458-AMS"))),
    "a renewed certificate": (each(tls(days_left=3.0)), each(tls(days_left=89.9))),
    "a machine's name in via": (headers("via", *each("1.1 8a7bc1d2e3f4a5b6.cloudfront.net (CloudFront)")), headers("via", *each("1.1 0011aabbccdd9988.cloudfront.net (CloudFront)"))),
    "a machine's name in server": (headers("server", *each("ECAcc (sac/2512)")), headers("server", *each("ECAcc (dcb/7F3B)"))),
    "cache states that mix": (headers("cf-cache-status", "MISS", "HIT", "HIT", "MISS"), headers("cf-cache-status", "HIT", "HIT", "HIT", "EXPIRED")),
    "what a cache happened to have": (headers("x-cache", *each("Miss from cloudfront")), headers("x-cache", *each("RefreshHit from cloudfront"))),
    "a value of its own each time": (headers("permissions-policy", "a", "b", "c"), headers("permissions-policy", "d", "e", "f")),
    "two answers of one run": (each(good(), 2), each(good({"server": "nginx"}), 2)),
    "one new answer of forty": (each(good(), 40), [*each(good(), 39), good({"x-new": "1"})]),
    "streams too short for heartbeats": (each(streamed(lasted=40, beats={"comment": {"n": 2}})), each(streamed())),
    "an outage": (each(good()), each(exchange(502, "error code: 502", {**CLOUDFLARE, "content-type": "text/plain"}))),
    "no answer at all": (each(good()), each(exchange(None, error=("timeout", "headers")))),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_noise_is_no_change(name):
    """What any two answers differ in, or too few answers, says nothing."""
    before, after = SILENT[name]
    assert changes([run(before)], [run(after, 1)]) == set()


def test_every_answer_of_two_runs_is_enough():
    """With two runs a side one answer in each will do; with three it is no one machine by chance."""
    before, after = [run([good()], n) for n in (0, 1)], [run([good({"server": "nginx"})], n) for n in (2, 3)]
    found = differences(fingerprint(before), fingerprint(after))
    assert {change.of for change in found} == {"header server", "products on the way"}
    assert {change.confidence for change in found} == {Confidence.MEDIUM}
    assert {change.between for change in found} == {(before[1].finished, after[0].started)}
    assert differences(fingerprint(before), fingerprint(after[:1])) == ()
    more = [*before, run([good()], 9)], [*after, run([good({"server": "nginx"})], 10)]
    assert {c.confidence for c in differences(*map(fingerprint, more))} == {Confidence.HIGH}


@pytest.mark.parametrize("new, changed", [(1, False), (2, False), (5, True)])
def test_a_run_that_meets_one_machine_counts_as_one(new, changed):
    """However many answers it has: of two machines one may well not have been met before."""
    old = [run(each(good(), 20), n) for n in range(6)]
    other = [run(each(good({"x-a": "1"}), 20), n) for n in range(6, 6 + new)]
    rest = [run(each(good(), 20), n) for n in range(20, 26 - new)]
    assert (changes(old, [*other, *rest]) != set()) is changed


def test_other_questions_say_nothing():
    """What one side alone asked is not compared, in whatever suite; the same question in another suite is."""
    old, new = each(good()), each(good({"server": "nginx"}))
    assert changes([run(old)], [run(new, 1, shift=3)]) == set()
    assert changes([run(old)], [run(new, 1, suite="nightly")]) != set()
    mixed = [*old, *new]  # of six questions the last three were asked before, too
    assert changes([run(new, shift=3)], [run(mixed, 1)]) == set()
    [found] = told([run(old)], [run(new, 1, shift=3)])
    assert (found.code, found.verdict) == ("not_measured", Verdict.INCONCLUSIVE)


def test_nothing_is_never_green():
    """Without an answer, or without runs, nothing is said to be as before."""
    for before, after in (([], []), ([run(each(good()))], []), ([run([])], [run([], 1)])):
        [found] = told(before, after)
        assert (found.code, found.verdict) == ("not_measured", Verdict.INCONCLUSIVE)


def cutoff(**figures):
    made = {name: Figure(value, "s", 1) for name, value in figures.items()}
    layer = Layer.EDGE if "cutoff" in figures else Layer.ORIGIN
    return conclude(case("length"), "timeout.first_byte", None, layer=layer, figures=made)


@pytest.mark.parametrize(
    "before, after, outcome",
    [
        (cutoff(cutoff=125.0), cutoff(cutoff=124.2), Outcome.SAME),
        (cutoff(cutoff=125.0), cutoff(cutoff=60.1), Outcome.CHANGED),
        (cutoff(cutoff=60.1), cutoff(held=191.0), Outcome.CHANGED),
        (cutoff(held=191.0), cutoff(cutoff=60.1), Outcome.CHANGED),
        (cutoff(cutoff=125.0), cutoff(held=30.0), Outcome.UNTOLD),
        (cutoff(held=30.0), cutoff(cutoff=125.0), Outcome.UNTOLD),
        (cutoff(held=30.0), cutoff(held=190.0), Outcome.SAME),
    ],
    ids=["measured again", "shorter", "gone", "new", "not held so long", "held longer", "none on both"],
)
def test_a_cutoff_moved_as_far_as_both_sides_held(before, after, outcome):
    """One measurement a side is enough, and a shorter hold is no proof of anything."""
    sides = (fingerprint([run([], n, found=[f])]) for n, f in enumerate((before, after)))
    [found] = compared(*sides)
    assert (found.of, found.outcome) == ("measured cutoff", outcome)


def test_streams_held_back():
    """By the conclusion of the kind that asks for it; one that could not tell says nothing."""
    flows = conclude(case("buffering"), "ok")
    held = conclude(case("buffering"), "stream.buffered", layer=Layer.EDGE, product="nginx")
    unsure = conclude(case("buffering"), "not_measured")
    [found] = told([run([], found=[flows])], [run([], 1, found=[held])])
    assert found.title.startswith("Streams are held back, seen since 2026-11-29 15:00 UTC")
    assert (found.layer, found.product) == (Layer.EDGE, "nginx")
    [found] = told([run([], found=[flows])], [run([], 1, found=[unsure])])
    assert found.code == "not_measured"


# --- whose doing, and how it is told ---------------------------------------------------------------------


def test_what_changed_together_is_one_finding():
    """Side by side, the worst first; another party's change is a finding of its own."""
    before = each(replace(tls(), headers={**tls().headers, "server": ["nginx/1.22.1"]}))
    after = each(replace(tls(issuer="Sectigo"), headers={**tls().headers, "server": ["nginx"], "x-a": ["1"], "x-b": ["1"]}))  # fmt: skip
    edge, secured = told([run(before)], [run(after, 1)])
    assert (edge.case, edge.layer, edge.product) == ("s/baseline/fingerprint/edge", Layer.EDGE, "nginx")
    assert edge.title == "The header server went from nginx/1.22.1 to nginx, seen since 2026-11-29 15:00 UTC, and 2 more traits"  # fmt: skip
    assert edge.detail[0][1].endswith(": nginx/1.22.1 → nginx")
    assert [word for word, _ in edge.detail] == ["changed", "and", "and", "sure", "whose", "marked"]
    assert (secured.layer, secured.verdict) == (Layer.TLS, Verdict.WARN)


@pytest.mark.parametrize(
    "beside, layer",
    [("gzip", Layer.ORIGIN), (None, Layer.EDGE)],
    ids=["changed there, too", "as before there"],
)
def test_the_route_past_the_edge_tells_whose_it_is(beside, layer):
    """What the origin shows by itself it does itself."""
    old = streamed(accepts="gzip")
    new = streamed({"content-encoding": "gzip"}, accepts="gzip")
    before = [run(each(old)), run(each(old), route="origin")]
    after = [run(each(new), 1), run(each(new if beside else old), 1, route="origin")]
    found = told(before, after)
    assert {f.layer for f in found} == {layer}


@pytest.mark.parametrize(
    "minutes, meant",
    [(30, True), (-5, True), (55, True), (-30, False), (90, False)],
    ids=["between", "just before", "just after", "long before", "long after"],
)
def test_a_mark_explains_what_came_with_it(minutes, meant):
    """In the time in which the look changed, or a few minutes off; any other mark explains nothing."""
    mark = Mark(START + timedelta(minutes=1 + minutes), "rule off", author="ann")
    [found] = told([run(each(good()))], [run(each(good({"x-a": "1"})), 1)], mark)
    assert (found.code == "ok") is meant
    assert (found.verdict is Verdict.PASS) is meant
    assert any("rule off" in text for _, text in found.detail) is meant


@pytest.mark.parametrize(
    "n, said",
    [
        (1, "that it did this is likely, not proven"),
        (6, "that one of these 6 did this is likely; which, these runs can't tell"),
        (14, "that one of these 12 and 2 more did this is likely; which, these runs can't tell"),
    ],
    ids=["one", "several", "many"],
)
def test_of_several_marks_none_is_likely_by_itself(n, said):
    """They are named, and it is said that the runs can't tell which it was."""
    marks = [Mark(START + timedelta(minutes=10 + k), f"rule {k}") for k in range(n)]
    [found] = told([run(each(good()))], [run(each(good({"x-a": "1"})), 1)], *marks)
    texts = [text for label, text in found.detail if label == "marked"]
    assert said in texts[-1]
    assert sum("likely" in text for text in texts) == 1
    assert all(any(f"'rule {k}'" in text for text in texts) for k in range(min(n, 12)))


def test_the_lines_of_the_table():
    """What changed is a line each, told once for all forms of answer; the rest is counted, and nothing is never a pass."""
    old, new = [*each(good()), *each(streamed())], [*each(good({"x-a": "1"})), *each(streamed({"x-a": "1"}))]
    before, after = fingerprint([run(old)]), fingerprint([run(new, 1)])
    changed, rest = rows(compared(before, after))
    assert (changed.what, changed.before, changed.after) == ("header x-a", "absent (6)", "there (6)")
    assert (changed.verdict, rest.verdict) == (Verdict.WARN, Verdict.PASS)
    assert "event streams of chat/completions, whole answers of chat/completions" in changed.where
    mark = Mark(START + timedelta(minutes=20), "header on")
    assert {row.verdict for row in rows(compared(before, after), [mark])} == {Verdict.PASS}
    assert [row.verdict for row in rows(compared(before, ()))] == [Verdict.INCONCLUSIVE]


# --- whatever a server says ------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_makes_no_difference(random: Random):
    """Neither that of answers nor that of runs."""
    answers = [good({"x-a": "1"}), good(), tls(), streamed(accepts="gzip"), exchange(404, NGINX, HTML)]
    runs = [run(answers), run(answers[::-1], 1)]
    mixed = [replace(one, calls=tuple(random.sample(one.calls, len(one.calls)))) for one in runs]
    random.shuffle(mixed)
    assert fingerprint(mixed) == fingerprint(runs)


HOSTILE = ["\x1b[2J\x1b]0;owned\x07", "a\r\nb", "<script>alert(1)</script>", "\u202egpj", "x" * 100_000, "\ud800", "", ", ,", "|`*_[x](y)"]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_server_says_is_short_and_harmless(text):
    """In every header that is shown, as its name, in a cookie's, as media type, as key of an error, as issuer."""
    bad = good(dict.fromkeys(("server", "via", "x-powered-by", "set-cookie", "cf-cache-status", "content-type", "content-encoding", "cf-ray", text.lower() or "x"), text), tls={"version": text, "alpn": text, "issuer": text}, http_version=text)  # fmt: skip
    error = exchange(404, {text: 1, "error": {text: 2}, **{f"{n}{text}": 1 for n in range(50)}}, {**JSON, "server": text})  # fmt: skip
    sides = fingerprint([run(each(good()) + each(exchange(404, API_ERROR)))]), fingerprint([run(each(bad) + each(error), 1)])  # fmt: skip
    shown = [value for side in sides for trait in side for value in (trait.of, trait.where, *trait.values)]
    for found in findings(compared(*sides), "s/baseline"):
        shown += [found.title, *(line for _, line in found.detail)]
    assert all(line.isprintable() for line in shown)
    assert max(map(len, shown)) < 2000


def test_stored_runs_look_as_they_did(memory):
    """From a file, and from the canary's database."""
    answers = [
        tls(),
        good(),
        streamed({"content-encoding": "gzip"}, accepts="gzip"),
        exchange(404, NGINX, HTML),
    ]
    made = run(answers, found=[cutoff(cutoff=125.0)])
    assert fingerprint(
        [from_document(json.loads(json.dumps(to_document(made, chunks=True))))]
    ) == fingerprint([made])
    sink = memory.recording()
    began = replace(made, calls=(), findings=(), verdict=Verdict.INCONCLUSIVE)
    for event in (Began(began), *map(Called, made.calls), *map(Found, made.findings), Finished(made)):
        sink(event)
    assert fingerprint([memory.load(made.id)]) == fingerprint([made])


@pytest.fixture
def memory(reports):
    with Memory.open() as opened:
        yield opened


def test_a_thousand_headers_a_second_are_no_change():
    """Names that are another in every answer come to nothing, and cost little."""
    runs = [run([good({f"x-{n}-{i}-{k}": "1" for k in range(100)}) for i in range(30)], n) for n in range(2)]
    assert changes(runs[:1], runs[1:]) == set()


def test_thirty_looks_at_the_lab_are_alike():
    """With its rays, dates and ids: one by one, and as two halves, at least two answers of which are compared."""
    with served() as (_, target, secrets):
        runs = [
            conduct(Order(("smoke",), target, only=("httpx", "curl"), seed=n, clock=CLOCK), secrets)
            for n in range(30)
        ]
    for before, after in pairwise(runs):
        assert changes([before], [after]) == set()
    halves = fingerprint(runs[::2]), fingerprint(runs[1::2])
    looked_at = compared(*halves)
    assert {change.outcome for change in looked_at} == {Outcome.SAME}
    assert {"header server", "error shape", "client", "framing"} <= {change.of for change in looked_at}
