"""`--json` to the letter: the contract with whoever reads runs by machine."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from probes import lab
from probes.clock import Clock

FINDING_CODES = set(yaml.safe_load(Path(__file__).parent.parent.joinpath("configs/findings.yaml").read_text())["codes"])  # fmt: skip

# --- the contract, written by hand -----------------------------------------------------------------------
# A word is a type (`int?` may be null), a set a closed list, `[x]` a list of x, `(x, None)` an x or null, `{}` any
# mapping, `{...: x}` one of any keys to x, and any other dictionary a mapping of just these keys.

VERDICTS = {"pass", "warn", "fail", "inconclusive", "error"}
LAYERS = {"client", "proxy", "dns", "network", "tls", "edge", "gateway", "origin", "probe", "unknown"}
CONFIDENCES = {"high", "medium", "low"}
WHO_ACTS = {"customer", "operator", "edge", "provider", "network", "probe"}
NOT_SENT = {"budget", "paused", "unavailable", "not_owned", "interrupted", "not_recorded"}
REASONS = NOT_SENT | {"blocked", "tainted", "mixed", "stopped_early", "drift", "too_few"}
FACTORS = {
    "client", "user_agent", "sdk_headers", "accept", "accept_encoding", "tls", "http_version", "body", "size", "stream",
    "length", "route", "family", "connection", "prefix", "key",
}  # fmt: skip

FIGURE = {
    "value": "float", "unit": "str", "n": "int", "low": "float?", "high": "float?", "spread": "float?", "conditions": {},
}  # fmt: skip
FINDING = {
    "code": FINDING_CODES, "verdict": VERDICTS, "layer": LAYERS, "product": "str?", "vendor_code": "str?", "kind": "str",
    "case": "str", "client": "str?", "route": "str?", "factor": FACTORS | {None}, "observed": ({"k": "int", "n": "int"}, None),
    "control": "str?", "variant": "str?", "confounders": ["str"], "title": "str?", "detail": "str?", "figures": {...: FIGURE},
    "conditions": {}, "confidence": CONFIDENCES | {None}, "reason": REASONS | {None}, "next_test": "str?",
    "who_acts": WHO_ACTS | {None}, "retryable": "bool?", "advice": "str?", "accepted": "bool", "evidence": ["str"],
    "reproduce": ({"command": "str", "verified": "bool"}, None),
}  # fmt: skip
CALL = {
    "id": "str", "case": "str", "label": "str", "repeat": "int", "client": "str", "route": "str", "exchanges": ["str"],
    "returned": "str?", "raised": ({"type": "str", "text": "str"}, None), "not_sent": NOT_SENT | {None}, "conditions": {},
    "own_lag": "float?", "started": "str?",
}  # fmt: skip
TIMELINE = dict.fromkeys(
    ("dns", "connect", "tls", "upload_start", "upload_end", "headers", "first_byte", "first_event", "first_token",
     "first_content", "last_byte", "end"),
    "float?",
)  # fmt: skip
REQUEST = {
    "method": "str", "url": "str", "headers": [["str"]], "body_bytes": "int", "body_digest": "str?", "stream": "bool?",
}  # fmt: skip
ATTRIBUTION = {
    "layer": LAYERS, "product": "str?", "code": FINDING_CODES, "vendor_code": "str?", "signature": "str?",
    "confidence": CONFIDENCES, "runner_up": "str?", "transit": ["str"], "next_test": "str?",
}  # fmt: skip
EXCHANGE = {
    "id": "str", "case": "str", "call": "str", "label": "str", "repeat": "int", "client": "str", "route": "str",
    "request": REQUEST, "status": "int?", "headers": ({}, None), "body_head": "str?", "body_tail": "str?",
    "body_encoding": {"utf-8", "base64", None}, "body_bytes": "int?",
    "error": ({"kind": "str", "phase": "str", "text": "str"}, None), "timeline": TIMELINE, "chunks": "int?", "events": "int?",
    "usage": ({}, None), "max_gap": "float?", "facts": {}, "conditions": {}, "attribution": ATTRIBUTION,
}  # fmt: skip
RUN = {
    "schema": {"edgeprobe.run/1"}, "id": "str", "suites": ["str"], "target": {}, "vantage": "str?", "started": "time",
    "finished": "time", "versions": {}, "seed": "int", "time_scale": "float", "verdict": VERDICTS,
    "spend": {"requests": "int", "input_tokens": "int", "output_tokens": "int", "usd": "float?"},
    "skipped": [{"case": "str", "client": "str?", "reason": "str"}],
    "not_sent": [{"case": "str", "label": "str", "reason": NOT_SENT}],
    "findings": [FINDING], "calls": [CALL], "exchanges": [EXCHANGE],
}  # fmt: skip

TYPES = {"str": str, "time": str, "int": int, "float": (int, float), "bool": bool}
RFC_3339_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def breaches(value, wanted, at="run"):
    """Where a document is not what the contract says."""
    return CHECKS[type(wanted)](value, wanted, at)


def of_type(value, wanted, at):
    kind = wanted.removesuffix("?")
    if value is None and kind != wanted:
        return
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        yield f"{at}: {value!r} is no {wanted}"
    elif kind == "time" and not RFC_3339_UTC.fullmatch(value):
        yield f"{at}: {value!r} is no RFC 3339 time in UTC"


def of_closed_list(value, wanted, at):
    if value not in wanted:
        yield f"{at}: {value!r} is not in the closed list"


def absent_or(value, wanted, at):
    if value is not None:
        yield from breaches(value, wanted[0], at)


def each(value, wanted, at):
    if not isinstance(value, list):
        yield f"{at}: {value!r} is no list"
        return
    for n, item in enumerate(value):
        yield from breaches(item, wanted[0], f"{at}[{n}]")


def mapping(value, wanted, at):
    if not isinstance(value, dict):
        yield f"{at}: {value!r} is no mapping"
        return
    if ... in wanted:
        wanted = dict.fromkeys(value, wanted[...])
    if wanted and set(value) != set(wanted):
        yield f"{at}: keys {sorted(set(value) ^ set(wanted))}"
    for key in wanted.keys() & value.keys():
        yield from breaches(value[key], wanted[key], f"{at}.{key}")


CHECKS = {str: of_type, set: of_closed_list, tuple: absent_or, list: each, dict: mapping}


# --- the runs that are held against it -------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("contract")


def written(edgeprobe, folder, name, *arguments):
    path = folder / f"{name}.json"
    if not path.exists():
        said = edgeprobe(*arguments, "--json", str(path))
        assert path.exists(), said.err
    return json.loads(path.read_text())


FLAGS = {
    "healthy": (),
    "one-client": ("--client", "curl"),
    "not-sent": ("--max-requests", "2"),
    "refused": (),
    "silent": ("--client", "httpx"),
    "cut": ("--client", "httpx"),
}
FAULTS = {"refused": ["nginx-ua-rule"], "silent": ["silent"], "cut": ["reset-all"]}
RUNS = ["demo", "skipped", "unreachable", "rejudged", *FLAGS]


@pytest.fixture(params=RUNS)
def document(request, edgeprobe, reports, at, folder):
    """The JSON of one run, each with its own kind of trouble."""
    name = request.param
    if name == "demo":
        return written(edgeprobe, folder, name, "demo")
    if name == "skipped":
        return skipped_run(edgeprobe, at, folder)
    if name == "unreachable":
        flags = ("--base-url", "http://127.0.0.1:9/v1", "--api", "openai", "--model", "m", "--no-key")
        return written(edgeprobe, folder, name, "run", "smoke", *flags, "--vantage", "here")
    if name == "rejudged":
        return rejudged_run(edgeprobe, reports, at, folder)
    with lab.serve(FAULTS.get(name, ()), clock=Clock(0.02), keys=None, prefill=0.2, tpot=0.02) as served:
        return written(edgeprobe, folder, name, "run", "smoke", *at(served), *FLAGS[name])


def skipped_run(edgeprobe, at, folder):
    """A suite that names a client of another API and a route that is not there."""
    suite = folder / "some.yaml"
    suite.write_text(
        "version: 1\nname: some\ncases:\n  - {kind: completion, clients: [httpx, anthropic-py]}\n"
        "  - {kind: streaming, clients: httpx, route: origin}\n"
    )
    with lab.serve(clock=Clock(0.02), keys=None, prefill=0.2, tpot=0.02) as served:
        return written(edgeprobe, folder, "skipped", "run", str(suite), *at(served))


def rejudged_run(edgeprobe, reports, at, folder):
    """A stored run as it is judged again; a call less, so that there is one more which was not recorded."""
    with lab.serve(["nginx-ua-rule"], clock=Clock(0.02), keys=None, prefill=0.2, tpot=0.02) as served:
        edgeprobe("run", "smoke", *at(served))
    for path in reports.glob("*.json") if reports.exists() else ():
        stored = json.loads(path.read_text())
        gone = stored["calls"].pop()
        stored["replay"]["calls"].pop()
        for rows in (stored["exchanges"], stored["replay"]["exchanges"]):
            del rows[len(rows) - len(gone["exchanges"]) :]
        path.write_text(json.dumps(stored))
        return written(edgeprobe, folder, "rejudged", "report", str(path), "--rejudge")
    raise AssertionError("nothing was stored")


pytestmark = pytest.mark.xdist_group("json_contract")


# --- what must hold of each ------------------------------------------------------------------------------


def test_every_key_and_type_is_as_agreed(document):
    """Every key is there and no other, of its type, from its closed list, null where not known."""
    assert list(breaches(document, RUN)) == []


def test_ids_resolve(document):
    """Findings point at exchanges, calls at exchanges, exchanges at calls; ids are unique."""
    exchanges = {exchange["id"]: exchange for exchange in document["exchanges"]}
    calls = {call["id"]: call for call in document["calls"]}
    assert len(exchanges) == len(document["exchanges"])
    assert len(calls) == len(document["calls"])
    for finding in document["findings"]:
        named = [*finding["evidence"], finding["control"], finding["variant"]]
        assert {name for name in named if name is not None} <= set(exchanges)
    assert [i for call in document["calls"] for i in call["exchanges"]] == list(exchanges)
    for exchange in exchanges.values():
        call = calls[exchange["call"]]
        assert exchange["id"] in call["exchanges"]
        for key in ("case", "label", "repeat", "client", "route"):
            assert exchange[key] == call[key]


def test_every_case_has_a_finding(document):
    """Also the case of which nothing could be measured."""
    found = {finding["case"] for finding in document["findings"]}
    assert found
    assert {call["case"] for call in document["calls"]} <= found


def test_the_verdict_is_the_worst(document):
    """fail > error > inconclusive > warn > pass; without a finding inconclusive."""
    verdicts = {finding["verdict"] for finding in document["findings"] if not finding["accepted"]}
    order = ("fail", "error", "inconclusive", "warn", "pass")
    assert document["verdict"] == next(v for v in order if v in verdicts)


def test_what_was_not_sent_has_no_exchange(document):
    """`not_sent` lists just the calls that say so, and those are without an exchange."""
    unsent = [call for call in document["calls"] if call["not_sent"] is not None]
    listed = [(row["case"], row["label"], row["reason"]) for row in document["not_sent"]]
    assert listed == [(call["case"], call["label"], call["not_sent"]) for call in unsent]
    assert all(call["exchanges"] == [] for call in unsent)


def test_absent_is_null(document):
    """Where there was no answer there is no status, size or chunk count, rather than a nought."""
    for exchange in document["exchanges"]:
        if exchange["status"] is None:
            assert exchange["error"] is not None or not exchange["request"]["method"]
            for key in ("headers", "body_head", "body_bytes", "chunks", "events", "usage", "max_gap"):
                assert exchange[key] is None, key
        if not exchange["request"]["stream"]:
            assert exchange["events"] is None


def test_times_are_in_order(document):
    """What happened later has the greater number of seconds, and the run ended after it started."""
    started, finished = (datetime.fromisoformat(document[key]) for key in ("started", "finished"))
    assert timedelta(0) <= finished - started
    assert started.utcoffset() == timedelta(0)
    for exchange in document["exchanges"]:
        t = exchange["timeline"]
        order = ("upload_start", "headers", "first_byte", "first_event", "first_token", "last_byte", "end")
        seen = [t[key] for key in order if t[key] is not None]
        assert seen == sorted(seen), exchange["id"]


def test_a_trouble_says_what_to_do(document):
    """A finding that is no pass has a title, an advice and somebody who acts on it."""
    for finding in document["findings"]:
        if finding["verdict"] != "pass":
            assert all(finding[key] for key in ("title", "advice", "who_acts")), finding


# --- that the runs are what they are for -----------------------------------------------------------------


@pytest.mark.parametrize("document", ["not-sent"], indirect=True)
def test_the_run_without_a_budget(document):
    """It lists what was not sent."""
    assert {row["reason"] for row in document["not_sent"]} == {"budget"}


@pytest.mark.parametrize("document", ["skipped"], indirect=True)
def test_the_run_with_skipped_cases(document):
    """It lists a client and a case, each with its reason; skipping is not a verdict."""
    assert document["skipped"] == [
        {
            "case": "some/completion",
            "client": "anthropic-py",
            "reason": "speaks anthropic, the target openai",
        },
        {"case": "some/streaming/route=origin", "client": None, "reason": "route origin is not there"},
    ]
    assert document["verdict"] == "pass"


def test_a_breach_is_seen():
    """The check of this file fails on a key too many, a nought for a null, and a word of one's own."""
    figure = {"value": 1.0, "unit": "s", "n": 1, "low": None, "high": None, "spread": None, "conditions": {}}
    assert list(breaches(figure, FIGURE)) == []
    assert list(breaches(figure | {"more": 1}, FIGURE)) == ["run: keys ['more']"]
    assert list(breaches(figure | {"value": None}, FIGURE)) == ["run.value: None is no float"]
    assert list(breaches("maybe", VERDICTS)) == ["run: 'maybe' is not in the closed list"]
    assert list(breaches(True, "int")) == ["run: True is no int"]
    assert list(breaches("2026-11-29T18:00:00+00:00", "time")) != []
