"""Does a bundle say on another machine what the run said here, and show the same?"""

import base64
import csv
import getpass
import io
import json
import os
import re
import socket
import subprocess
import sys
import zipfile
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from labruns import CLOCK, KEY, lab_run, served
from planted import ENVIRON, HIDDEN, SECRET, SHAPED, planted, spelt

from probes import own_signatures
from probes.bundles import MANIFEST, SCHEMA, SIGNATURES, reading, writing
from probes.classify.har import entries
from probes.complaint import Told
from probes.conduct import Order, conduct
from probes.credentials import Secrets
from probes.document import finding_document, from_document, to_document
from probes.errors import UsageError
from probes.model import Verdict
from probes.rejudge import command as again
from probes.runner import exit_code
from probes.signatures import catalogue

FAULTS = {
    "a client is refused": ("smoke", "ai-crawler-rule"),
    "everybody is refused": ("smoke", "block-all"),
    "nothing is wrong": ("smoke",),
}


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def bundle(tmp_path):
    def write(run, secrets=None, **given):
        path = tmp_path / "bundle.zip"
        writing.save(run, path, secrets or Secrets({}), **given)
        return path

    return write


@pytest.mark.parametrize("asked", FAULTS.values(), ids=FAULTS)
def test_the_run_comes_back_as_it_was(asked, bundle):
    """What a replay needs, too."""
    run = lab_run(*asked)
    assert to_document(reading.run(bundle(run)), chunks=True) == to_document(run, chunks=True)


@pytest.mark.parametrize("asked", FAULTS.values(), ids=FAULTS)
def test_it_is_judged_on_another_machine_to_the_same_findings(asked, bundle, tmp_path):
    """In another folder, without a variable and without what is stored here."""
    run = lab_run(*asked)
    path = bundle(run, Secrets({KEY: "not-of-that-machine-either"}))
    there = tmp_path / "there"
    there.mkdir()
    code = "import sys; from probes.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "report", str(path), "--json", "again.json"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(writing.__file__).parents[2])}
    done = subprocess.run(command, cwd=there, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == exit_code(run), done.stderr.decode()
    again = json.loads((there / "again.json").read_text("utf-8"))
    assert again["findings"] == [finding_document(finding) for finding in run.findings]
    assert "all judged as before" in done.stdout.decode()


OWN = """\
version: 1
product: Acme Gate
layer: edge
signatures:
  - id: acme.policy
    code: blocked
    strength: strong
    match: {status: [403], json: {$.error: {regex: ^Access denied by}}}
    advice: Allow API paths in Acme Gate.
    verified: report
    source: [https://acme.example/]
    samples: [{status: 403, origin: composed, body: '{"error": "Access denied by security policy."}'}]
"""
PLACES = {"of the target": "local/127.0.0.1.yaml", "of a product": "acme.yaml"}


@pytest.fixture
def judged_here(edgeprobe, at, tmp_path, monkeypatch):
    """A bundle whose run was decided by a signature that stands only here, and what the run said."""

    def run(place, text=OWN):
        path = tmp_path / "here" / "configs" / "signatures" / place
        path.parent.mkdir(parents=True)
        path.write_text(text)
        with monkeypatch.context() as patched, served("security-policy") as (lab, target, _):
            assert target.name == "127.0.0.1"
            patched.chdir(tmp_path / "here")
            patched.setenv(KEY, lab.api_key)
            catalogue.cache_clear()
            flags = ["--base-url", lab.base_url, "--api", "openai", "--model", lab.model, "--key-env", KEY]
            said = edgeprobe("run", "smoke", *flags, "--time-scale", str(CLOCK.scale), "--bundle", "b.zip", "--json", "r.json")  # fmt: skip
        catalogue.cache_clear()
        return tmp_path / "here" / "b.zip", said.code, json.loads((tmp_path / "here" / "r.json").read_text())

    return run


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_signature_of_ones_own_decides_on_another_machine_too(
    judged_here, place, edgeprobe, tmp_path, monkeypatch
):
    """It goes with the bundle, and with a bundle that is made of it there; without it nobody would know the product."""
    path, code, run = judged_here(place)
    assert "Acme Gate" in {finding["product"] for finding in run["findings"]}
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    for bundle in (path, there / "again.zip"):
        said = edgeprobe("report", str(bundle), "--json", "again.json", "--bundle", "again2.zip")
        assert said.code == code, said.err
        assert json.loads((there / "again.json").read_text("utf-8"))["findings"] == run["findings"]
        assert "all judged as before" in said.out
        (there / "again2.zip").rename(there / "again.zip")
    found = members(path.read_bytes())
    (there / "bare.zip").write_bytes(packed_again(found, **{SIGNATURES: None}))
    assert re.search(r"product +Acme Gate -> none", edgeprobe("report", "bare.zip").out)


def packed_again(found, **other):
    """The members with others in their place, or without them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in {**found, **other}.items():
            if data is not None:
                archive.writestr(name, data)
    return out.getvalue()


def own(**match):
    row = json.loads(json.dumps(yaml.safe_load(OWN)))
    del row["version"]
    row["signatures"][0]["match"] = match
    return json.dumps({"own": row}).encode()


SIGNATURES_OF_STRANGERS = {
    "no object": (b"[]", "signatures.json: holds no signatures"),
    "products that are none": (b'{"products": 1}', "signatures.json: holds no signatures"),
    "an unknown key": (b'{"own": {"layer": "edge", "signatures": [], "x": 1}}', "signatures.json: own: x: unknown key"),
    "no regex": (own(body=["^("]), "signatures.json: own: signatures[0].match.body[0]: not a regex"),
    "one that never ends": (
        own(json={"$.error": {"regex": "^(?:(?:[A-Za-z .]+)+)+$x"}}),
        "signatures.json: they take longer than 0.5 s to be asked",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "why"), SIGNATURES_OF_STRANGERS.values(), ids=SIGNATURES_OF_STRANGERS)
def test_a_strangers_signatures_are_read_with_care(data, why, edgeprobe, tmp_path, monkeypatch):
    """What is none is a mistake of the bundle's, and what would search without end is ended."""
    monkeypatch.setattr(again, "MOST_CPU", 0.5)
    found = members(writing.packed(lab_run("smoke", "security-policy"), Secrets({})))
    (tmp_path / "b.zip").write_bytes(packed_again(found, **{SIGNATURES: data}))
    said = edgeprobe("report", str(tmp_path / "b.zip"))
    assert said.code == 2
    assert why in said.err


def test_a_strangers_target_names_no_file_of_ours(tmp_path, monkeypatch):
    """What lies elsewhere goes into no bundle."""
    (tmp_path / "configs" / "signatures" / "local").mkdir(parents=True)
    (tmp_path / "private.yaml").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert own_signatures.carried("../../../private") == {}


def test_the_same_run_makes_the_same_bytes():
    """In the same order, at the same time of day."""
    run = lab_run("smoke", "ai-crawler-rule")
    assert writing.packed(run, Secrets({})) == writing.packed(run, Secrets({}))


def test_the_manifest_lists_what_is_in_it():
    """Each member with its size and digest; each finding that fails with its reproducer."""
    run = lab_run("smoke", "ai-crawler-rule")
    found = members(writing.packed(run, Secrets({})))
    manifest = json.loads(found[MANIFEST])
    assert manifest["schema"] == SCHEMA
    assert {row["name"]: row["bytes"] for row in manifest["members"]} == {
        name: len(data) for name, data in found.items() if name != MANIFEST
    }
    assert manifest["left_out"] == []
    failing = [finding for finding in run.findings if finding.verdict is Verdict.FAIL]
    assert len(manifest["findings"]) == len(failing) > 0
    for row in manifest["findings"]:
        for suffix in (".sh", ".py", ".cjs", ".json"):
            assert f"{row['reproducer']}{suffix}" in found


# --- the forms of other tools ----------------------------------------------------------------------------


def test_the_archive_is_har_1_2():
    """With all that the specification asks for, and read by what reads other people's."""
    run = lab_run("smoke", "ai-crawler-rule")
    text = members(writing.packed(run, Secrets({})))["exchanges.har"].decode()
    log = json.loads(text)["log"]
    exchanges = [e for call in run.calls for e in call.exchanges if e.request.method]
    assert log["version"] == "1.2"
    assert set(log["creator"]) == {"name", "version"}
    assert len(log["entries"]) == len(exchanges) > 10
    for entry, exchange in zip(log["entries"], exchanges, strict=True):
        assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= set(entry)
        assert {"method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"} <= set(entry["request"])  # fmt: skip
        assert {"status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"} <= set(entry["response"])  # fmt: skip
        assert entry["response"]["status"] == (exchange.status or 0)
        timings = entry["timings"]
        assert entry["time"] == pytest.approx(
            sum(timings[name] for name in timings if name != "ssl" and timings[name] > 0), abs=0.01
        )
        assert min(timings["send"], timings["wait"], timings["receive"]) >= 0
        assert entry["time"] == pytest.approx((exchange.timeline.end or 0) * 1000, rel=0.05, abs=20)
    posts = [entry for entry in log["entries"] if entry["request"]["method"] == "POST"]
    assert all(entry["request"]["postData"]["mimeType"] == "application/json" for entry in posts)
    assert [entry.status for entry in entries(text)] == [e.status for e in exchanges]


def begins(run):
    log = json.loads(members(writing.packed(run, Secrets({})))["exchanges.har"])["log"]
    return log["comment"], [datetime.fromisoformat(entry["startedDateTime"]) for entry in log["entries"]]


def test_each_entry_begins_with_its_call():
    """In the time of the run, which in the lab is faster than the clock; a further hop behind the one before it."""
    run = lab_run("smoke", "ai-crawler-rule")
    comment, found = begins(run)
    calls = [call for call in run.calls for e in call.exchanges if e.request.method]
    wall = [(call.started - run.started).total_seconds() / run.time_scale for call in calls]
    assert [(at - run.started).total_seconds() for at in found] == pytest.approx(wall, abs=0.001)
    assert min(wall) >= 0
    assert max(wall) > 1.0
    assert "lab time, 50 times faster than the clock" in comment
    call = next(call for call in calls if call.last.timeline.end)
    hops = (call.exchanges[0], replace(call.exchanges[0], conditions={"paused": 0.1}))
    _, (first, second) = begins(replace(run, calls=(replace(call, exchanges=hops),)))
    assert (second - first).total_seconds() == pytest.approx(hops[0].timeline.end + 0.1 / 0.02, abs=0.001)


def test_a_run_of_old_has_no_begins_of_its_calls():
    """It is read all the same; its entries begin with it, which is said."""
    run = lab_run("smoke", "ai-crawler-rule")
    document = to_document(run, chunks=True)
    for call in document["calls"]:
        del call["started"]
    comment, found = begins(from_document(document))
    assert set(found) == {run.started}
    assert "is not kept, so all begin with it" in comment


def test_a_body_that_is_no_text_is_in_base64():
    """Of an answer as of a request."""
    run = lab_run("smoke", "ai-crawler-rule")
    call = next(call for call in run.calls if call.last is not None and call.last.request.method)
    first = replace(call, exchanges=(replace(call.exchanges[0], body_head=b"\xff\x00"),))
    found = members(writing.packed(replace(run, calls=(first,)), Secrets({})))["exchanges.har"]
    content = json.loads(found)["log"]["entries"][0]["response"]["content"]
    assert (content["encoding"], base64.b64decode(content["text"])) == ("base64", b"\xff\x00")


def test_each_piece_has_its_time():
    """In columns, for a spreadsheet."""
    run = lab_run("smoke", "ai-crawler-rule")
    rows = list(csv.DictReader(io.StringIO(members(writing.packed(run, Secrets({})))["chunks.csv"].decode())))
    exchanges = [e for call in run.calls for e in call.exchanges]
    chunks = [(row["exchange"], float(row["seconds"]), int(row["bytes"])) for row in rows if row["what"] == "chunk"]  # fmt: skip
    assert chunks == [
        (e.id, at, size) for e in exchanges for at, size in zip(e.chunk_times, e.chunk_sizes, strict=True)
    ]
    kinds = "".join(row["kind"] for row in rows if row["what"] == "event")
    assert kinds == "".join(e.event_kinds for e in exchanges)
    assert kinds


def test_the_environment_names_neither_machine_nor_user(bundle):
    """Nor a folder of it; versions, TLS and what resolves names are there."""
    run = lab_run("smoke", "ai-crawler-rule")
    trace = f'File "{Path(writing.__file__)}", line 1'
    broken = replace(run.findings[0], detail=(("seen", trace),))
    found = members(writing.packed(replace(run, findings=(broken, *run.findings)), Secrets({}), here=True))
    said = json.loads(found["environment.json"])
    assert said["versions"]["curl"]
    assert said["openssl"].startswith("OpenSSL")
    assert isinstance(said["resolvers"], list)
    for name, data in found.items():
        for secret in (socket.gethostname(), str(Path(writing.__file__).parents[1])):
            assert secret.encode() not in data, (name, secret)
        assert not re.search(
            rb"\b" + re.escape(getpass.getuser().encode()) + rb"\b", found["environment.json"]
        )
    later = members(writing.packed(run, Secrets({})))["environment.json"]
    assert json.loads(later)["openssl"] is None  # of a run that another machine made, nobody here knows


# --- what shows the same ---------------------------------------------------------------------------------

RUNS = {".sh": ["sh"], ".py": [sys.executable], ".cjs": ["node"], ".sdk.py": [sys.executable]}


@pytest.mark.parametrize("suffix", RUNS)
def test_each_program_meets_what_the_run_met(suffix, tmp_path):
    """Unpacked and run with the key in its variable, against the same edge; without it one line says to set it."""
    with served("ai-crawler-rule") as (lab, target, secrets):
        run = conduct(Order(("smoke",), target, seed=7, clock=CLOCK), secrets)
        path = tmp_path / "bundle.zip"
        writing.save(run, path, secrets)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path)
        programs = sorted((tmp_path / "reproducers").glob(f"*-blocked.client-edge{suffix}"))
        assert programs
        for program in programs:
            without = subprocess.run(
                [*RUNS[suffix], program.name], cwd=program.parent, env={"PATH": os.environ["PATH"]},
                capture_output=True, timeout=60, check=False,
            )  # fmt: skip
            assert without.returncode != 0
            assert not without.stdout
            assert without.stderr.decode().strip().endswith(f"set {KEY}")
            assert len(without.stderr.splitlines()) == 1
            done = subprocess.run(
                [*RUNS[suffix], program.name],
                cwd=program.parent,
                env={"PATH": os.environ["PATH"], KEY: lab.api_key},
                capture_output=True,
                timeout=60,
                check=False,
            )
            said = done.stdout.decode() + done.stderr.decode()
            assert "403" in said, said


# --- secrets ---------------------------------------------------------------------------------------------


def decoded(document):
    """Every text of a JSON document, and what is base64 in it."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from decoded(key)
            yield from decoded(value)
    elif isinstance(document, list):
        for value in document:
            yield from decoded(value)
    elif isinstance(document, str):
        yield document
        with suppress(ValueError):
            yield base64.b64decode(document, validate=True).decode("latin-1")


def test_no_planted_key_is_in_any_member():
    """By its value in any spelling, by the name of its header, by its shape; in base64 in JSON, too."""
    found = members(writing.packed(planted(), Secrets(ENVIRON), here=True))
    assert len(found) > 10
    for name, data in found.items():
        texts = [data.decode("latin-1")]
        if name.endswith((".json", ".har")):
            texts += decoded(json.loads(data))
        for text in texts:
            for secret in (*spelt(SECRET), SHAPED, *spelt(HIDDEN)):
                assert secret not in text, (name, secret, text[:200])


def test_the_search_for_keys_would_find_them():
    """With nothing to go by, they are there."""
    found = members(writing.packed(planted(), Secrets({})))
    assert HIDDEN.encode() in found["run.json"]
    assert HIDDEN.encode() in found["exchanges.har"]
    assert any(HIDDEN in text for text in decoded(json.loads(found["request.json"])))


def test_a_made_up_key_stays():
    """It opens nothing, and what shows a refusal of everybody needs it."""
    run = lab_run("smoke", "ai-crawler-rule")
    command = "curl -H 'authorization: Bearer sk-EdgeprobeMadeUpKey0cf83e1357eefb8bdf1542850d66d8'"
    failing = next(finding for finding in run.findings if finding.verdict is Verdict.FAIL)
    shown = replace(failing, reproduce=replace(failing.reproduce, command=command))
    found = members(writing.packed(replace(run, findings=(shown,)), Secrets({})))
    assert sum(command.encode() in data for name, data in found.items() if name.endswith(".sh")) == 1
    assert command.encode() in found["run.json"]


# --- how much --------------------------------------------------------------------------------------------


def test_what_is_too_much_is_left_out_and_said(monkeypatch, tmp_path):
    """The last needed first; without its run it is not judged again, and says why."""
    run = lab_run("smoke", "ai-crawler-rule")
    whole = members(writing.packed(run, Secrets({})))
    monkeypatch.setattr(writing, "MOST_BYTES", len(whole["run.json"]) // 2)
    data = writing.packed(run, Secrets({}))
    manifest = json.loads(members(data)[MANIFEST])
    assert {row["name"] for row in manifest["left_out"]} >= {"run.json"}
    assert {row["name"] for row in manifest["members"]} >= {"README.txt", "request.json"}
    (tmp_path / "b.zip").write_bytes(data)
    with pytest.raises(UsageError, match=r"run.json is not in it: the bundle would be too large"):
        reading.run(tmp_path / "b.zip")
    assert isinstance(reading.told(tmp_path / "b.zip"), Told)


def test_a_body_that_packs_like_a_bomb_is_read_again(tmp_path):
    """It goes in unpacked, so that reading need not tell it from one."""
    run = lab_run("smoke", "ai-crawler-rule")
    calls = tuple(
        replace(call, exchanges=tuple(replace(e, body_head=b"x" * 65536, body_bytes=65536) for e in call.exchanges))
        for call in run.calls
    )  # fmt: skip
    data = writing.packed(replace(run, calls=calls), Secrets({}))
    (tmp_path / "b.zip").write_bytes(data)
    assert len(reading.run(tmp_path / "b.zip").calls) == len(calls)


# --- the commands ----------------------------------------------------------------------------------------


def test_a_run_that_fails_leaves_a_bundle(edgeprobe, reports, at):
    """Beside the stored run, and says where; one that is fine leaves none."""
    with served("ai-crawler-rule") as (lab, _, _):
        said = edgeprobe("run", "identity", *at(lab), "--client", "curl", "--client", "openai-py")
    [path] = reports.glob("*.zip")
    assert said.out.endswith(f"bundle {path}\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_suffix(".json").is_file()
    again = edgeprobe("report", str(path))
    assert again.code == said.code == 1
    assert "judged as before" in again.out


def test_a_run_that_is_fine_leaves_none(edgeprobe, reports, at_lab, tmp_path):
    """But where one is asked for."""
    asked = tmp_path / "asked.zip"
    said = edgeprobe("run", "identity", *at_lab, "--client", "curl", "--bundle", str(asked))
    assert said.code == 0
    assert not list(reports.glob("*.zip"))
    assert reading.run(asked).verdict is Verdict.PASS
    [stored] = reports.glob("*.json")
    assert edgeprobe("report", stored.stem, "--bundle", str(tmp_path / "later.zip")).code == 0
    assert reading.run(tmp_path / "later.zip").id == stored.stem


MISTAKES = {
    "another suffix": (["--bundle", "x.json"], "a bundle's name ends in .zip"),
    "no folder": (["--bundle", "nowhere/x.zip"], "its folder is not there"),
}


@pytest.mark.parametrize(("flags", "why"), MISTAKES.values(), ids=MISTAKES)
def test_a_bundle_that_could_not_be_written_is_said_before_anything_is_sent(edgeprobe, at_lab, flags, why):
    """With exit code 2."""
    said = edgeprobe("run", "identity", *at_lab, *flags)
    assert said.code == 2
    assert why in said.err


def test_a_bundle_is_not_written_over_itself(edgeprobe, tmp_path):
    """As no stored run is."""
    path = tmp_path / "b.zip"
    writing.save(lab_run("smoke", "ai-crawler-rule"), path, Secrets({}))
    said = edgeprobe("report", str(path), "--bundle", str(path))
    assert said.code == 2
    assert "is not overwritten" in said.err
