"""A stored run is judged again by today's catalogue: what changed is said, and nothing comes out better for want of calls."""

from __future__ import annotations

import json
import re
from contextlib import chdir, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache

import pytest
from canned import check_not_better
from labruns import lab_run

from probes import signatures, store
from probes.document import finding_document, from_document, to_document
from probes.model import Acceptance, Run, Verdict
from probes.rejudge import REJUDGED, digest, rejudge
from probes.rejudge.changes import changes
from probes.runner import worst
from probes.signatures import catalogue

NOW = datetime(2027, 5, 1, 12, 30, tzinfo=UTC)
RUNS = {
    "healthy": ("smoke",),
    "one client refused": ("identity", "ai-crawler-rule"),
    "everybody refused": ("smoke", "security-policy"),
    "cut streams": ("smoke", "cut-close"),
    "read timer": ("long", "read-timer"),
}
REFUSED = RUNS["everybody refused"]
ACME = """\
version: 1
product: Acme Gate
layer: edge
signatures:
  - id: acme.policy
    code: blocked
    strength: exclusive
    match: {status: [403], json: {$.error: {regex: ^Access denied by}}}
    advice: Allow API paths in Acme Gate.
    verified: report
    source: [https://acme.example/]
    samples: [{status: 403, origin: composed, body: '{"error": "Access denied by security policy."}'}]
"""


@cache
def stored(*name) -> Run:
    """As it comes back from the store."""
    return reread(lab_run(*name))


def reread(run: Run) -> Run:
    return from_document(json.loads(json.dumps(to_document(run, chunks=True))))


@contextmanager
def standing_in(folder, **files):
    """Where an operator keeps signature files of his own."""
    place = folder / "configs" / "signatures"
    place.mkdir(parents=True, exist_ok=True)
    for product, text in files.items():
        (place / f"{product}.yaml").write_text(text)
    signatures.catalogue.cache_clear()
    try:
        with chdir(folder):
            yield
    finally:
        signatures.catalogue.cache_clear()


def named(found, about):
    """The rows of the only change that is told under this name."""
    [rows] = [dict(change.rows) for change in found if change.about == about]
    return rows


# --- the same catalogue ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_the_same_catalogue_says_the_same(name):
    """Findings, attributions and verdict are those of the live run; only `versions` says that it was judged again."""
    before = stored(*RUNS[name])
    after = rejudge(before, catalogue(), NOW)
    assert changes(before, after) == ()
    assert [*map(finding_document, after.findings)] == [*map(finding_document, before.findings)]
    assert after.calls == before.calls
    assert (after.id, after.verdict, after.spend) == (before.id, before.verdict, before.spend)
    assert after.versions == {
        **before.versions,
        REJUDGED: f"2027-05-01 12:30 UTC by edgeprobe 0.1.0, signatures {digest(catalogue())}",
    }


def test_judged_again_twice():
    """Judging what was judged again changes nothing more than its date."""
    once = rejudge(stored(*REFUSED), catalogue(), NOW)
    assert rejudge(reread(once), catalogue(), NOW) == reread(once)


def test_what_is_accepted_is_what_was_then():
    """Acceptances are those stored with the run, on the day of the run: one that has run out since still holds."""
    run = stored(*REFUSED)
    day = run.started.date()
    held = Acceptance("blocked", "known", until=day)
    lapsed = Acceptance("blocked", "known", until=date(2020, 1, 1))
    for acceptance, kept in ((held, True), (lapsed, False)):
        target = replace(run.target, accepted=(acceptance,))
        theirs = replace(run, target=target, cases=tuple(replace(case, target=target) for case in run.cases))
        after = rejudge(theirs, catalogue(), NOW)
        blocked = [finding for finding in after.findings if finding.code == "blocked"]
        assert blocked
        assert all(finding.accepted is kept for finding in blocked)
        assert (
            [f.code for f in after.findings if f.kind == "acceptance"] == []
            if kept
            else ["acceptance.expired"]
        )


# --- another catalogue -----------------------------------------------------------------------------------


def test_a_new_signature_changes_what_it_is_about_and_nothing_else(tmp_path):
    """An operator's own file names who refused: layer and product of just those answers and findings change."""
    before = stored(*REFUSED)
    assert {f.layer for f in before.findings if f.code == "blocked"} == {"unknown"}
    with standing_in(tmp_path, acme=ACME):
        after = rejudge(before, catalogue(), NOW)
    found = changes(before, after)
    refused = [e for call in before.calls for e in call.exchanges if e.status == 403]
    was = refused[0].attribution
    answers = named(found, f"{len(refused)} answers")
    assert answers.pop("such as") == refused[0].id
    assert answers.pop("put otherwise") == "next test, advice"
    assert answers == {
        "layer": "unknown → edge",
        "product": "none → Acme Gate",
        "signature": f"{was.signature} → acme.policy",
        "runner up": f"{was.runner_up} → {was.signature}",
        "confidence": "low → high",
    }
    assert [change.about for change in found if "answer" not in change.about] == [
        "smoke/identity · probe.blocked · edge",
        "smoke/completion · blocked · edge",
        "smoke/streaming · blocked · edge",
        "smoke/error_format · probe.blocked · edge",
    ]
    of_completions = named(found, "smoke/completion · blocked · edge")
    assert of_completions["layer"] == "unknown → edge"
    assert of_completions["product"] == "none → Acme Gate"
    assert "Acme Gate" in next(f.advice for f in after.findings if f.kind == "completion")


def test_a_catalogue_that_knows_less_names_nobody():
    """Without the signature that named who refused, the layer is unknown again: old certainty is not kept."""
    before = stored(*RUNS["one client refused"])
    known = catalogue()
    less = replace(known, signatures=tuple(one for one in known.signatures if one.product != "Cloudflare"))
    after = rejudge(before, less, NOW)
    assert digest(less) != digest(known)
    assert {f.product for f in before.findings if f.code == "blocked.client"} == {"Cloudflare"}
    assert not [f for f in after.findings if f.product == "Cloudflare"]
    assert any(dict(change.rows).get("product") == "Cloudflare → none" for change in changes(before, after))


def test_digests_tell_what_decides():
    """Samples and sources do not count, a strength does."""
    known = catalogue()
    first, *rest = known.signatures
    retold = replace(first, row=replace(first.row, samples=(), source=("elsewhere",)))
    weaker = replace(first, row=replace(first.row, strength="supporting"))
    assert digest(replace(known, signatures=(retold, *rest))) == digest(known)
    assert digest(replace(known, signatures=(weaker, *rest))) != digest(known)


# --- what is not there -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("keep", [0, 1, 3], ids=lambda n: f"keep {n}")
def test_missing_calls_are_never_better(name, keep):
    """Cases of which only the first calls were recorded pass no more, and what is missing is said."""
    before = stored(*RUNS[name])
    for case in before.cases:
        theirs = [call for call in before.calls if call.case == case.id]
        if keep >= len(theirs):
            continue
        left = tuple(call for call in before.calls if call.case != case.id or call in theirs[:keep])
        after = rejudge(replace(before, calls=left), catalogue(), NOW)
        live = [f for f in before.findings if f.case == case.id]
        again = [f for f in after.findings if f.case == case.id]
        check_not_better(live, again)
        assert worst(again) is not Verdict.PASS
        missing = [call for call in after.calls if call.not_sent == "not_recorded"]
        assert missing
        assert {call.case for call in missing} == {case.id}
        assert "not recorded" in named(changes(before, after), case.id)


def strange(document, **case):
    """The same stored run, with the first case as another version would have left it."""
    theirs = json.loads(json.dumps(document))
    theirs["replay"]["cases"][0] |= case
    return from_document(theirs)


FROM_ELSEWHERE = {
    "a kind that is gone": ({"kind": "teleport"}, "this edgeprobe has no kind teleport"),
    "a parameter of another type": ({"kind": "completion", "params": {"cap": "much"}}, "its parameter cap must be a whole number today, and was 'much'"),
    "a route that is not there": ({"route": "tunnel"}, "its route tunnel is not stored with the target"),
    "no parameters at all": ({"kind": "length", "clients": []}, "its question stumbled over what was stored: "),
}  # fmt: skip


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_a_case_that_cannot_be_judged_again_is_not_lost(name):
    """Its findings stand as they were, one more says why, and the run does not pass."""
    told, why = FROM_ELSEWHERE[name]
    run = strange(to_document(stored("smoke"), chunks=True), **told)
    after = rejudge(run, catalogue(), NOW)
    first = run.cases[0].id
    *kept, unproven = [finding for finding in after.findings if finding.case == first]
    assert kept == [finding for finding in run.findings if finding.case == first]
    assert (unproven.code, unproven.verdict, unproven.reason) == (
        "not_measured",
        Verdict.INCONCLUSIVE,
        "not_recorded",
    )
    assert why in dict(unproven.detail)["seen"]
    assert run.verdict is Verdict.PASS
    assert after.verdict is Verdict.INCONCLUSIVE
    assert [change.about for change in changes(run, after)] == [
        "the run",
        f"{first} · not_measured · {run.cases[0].route}",
    ]


def test_parameters_that_came_later_have_their_defaults():
    """A run from before a parameter or a sender of a kind was there is judged with what they are by default."""
    document = to_document(stored("smoke"), chunks=True)
    for case in document["replay"]["cases"]:
        case["params"] = {}
        case["clients"] = [client for client in case["clients"] if client["name"] != "dialer"]
    after = rejudge(from_document(document), catalogue(), NOW)
    assert changes(stored("smoke"), after) == ()


def test_a_run_of_old_is_asked_again_in_its_own_time():
    """Its cases did not say by how much time was scaled; the run did."""
    document = to_document(stored("long", "read-timer"), chunks=True)
    for case in document["replay"]["cases"]:
        del case["time_scale"]
    after = rejudge(from_document(document), catalogue(), NOW)
    tried = [finding.next_test for finding in after.findings if "`" in (finding.next_test or "")]
    assert tried
    assert all("--time-scale 0.02" in command for command in tried)


def test_what_was_never_asked_keeps_its_reason():
    """A case of an interrupted run, without a call, is not said to be unrecorded: the run itself knew why."""
    run = stored("smoke")
    gone = run.cases[-1].id
    left = tuple(call for call in run.calls if call.case != gone)
    [told, *_] = [finding for finding in run.findings if finding.case == gone]
    stopped = replace(
        told, code="not_measured", verdict=Verdict.INCONCLUSIVE, reason="interrupted", evidence=()
    )
    findings = (*(finding for finding in run.findings if finding.case != gone), stopped)
    interrupted = replace(run, calls=left, findings=findings, verdict=Verdict.INCONCLUSIVE)
    assert changes(interrupted, rejudge(interrupted, catalogue(), NOW)) == ()


# --- the command -----------------------------------------------------------------------------------------


@pytest.fixture
def kept(reports):
    """The path of a stored run in which everybody was refused."""
    return store.save(lab_run(*REFUSED))


def test_the_command_says_that_nothing_changed(edgeprobe, kept):
    """Plainly, with what was compared; the exit code is the run's, and its file stays as it was."""
    run, before = stored(*REFUSED), kept.read_bytes()
    said = edgeprobe("report", run.id, "--rejudge")
    answers = sum(len(call.exchanges) for call in run.calls)
    assert (
        f"nothing changed: {len(run.findings)} findings and {answers} answers, all judged as before"
        in said.out
    )
    assert re.search(
        rf"run of {run.started:%Y-%m-%d}, judged again \d{{4}}-\d\d-\d\d \d\d:\d\d UTC by edgeprobe", said.out
    )
    assert run.verdict is Verdict.INCONCLUSIVE
    assert said.code == 3
    assert kept.read_bytes() == before
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize(("name", "code"), [("healthy", 0), ("one client refused", 1)])
def test_the_exit_code_is_that_of_the_judgement(edgeprobe, reports, name, code):
    """0 for a run that passes, 1 for one with a failure; `report` alone only shows."""
    run = lab_run(*RUNS[name])
    store.save(run)
    assert edgeprobe("report", run.id, "--rejudge").code == code
    assert edgeprobe("report", run.id).code == 0


def test_the_command_says_what_changed(edgeprobe, kept, tmp_path):
    """By the signatures where the operator stands; in Markdown, too, while JSON keeps to the contract and its id."""
    with standing_in(tmp_path, acme=ACME):
        said = edgeprobe("report", str(kept), "--rejudge", "--json", "-", "--markdown", "page.md")
    document = json.loads(said.out)
    assert "what changed, judged again" in said.err
    assert re.search(r"^  product +none -> Acme Gate$", said.err, re.MULTILINE)
    page = (tmp_path / "page.md").read_text()
    assert "### What changed, judged again" in page
    assert "product: none → Acme Gate" in page
    assert document["id"] == kept.stem
    assert "signatures sha256" in document["versions"][REJUDGED]
    assert any(f["product"] == "Acme Gate" for f in document["findings"])
    assert edgeprobe("report", str(kept), "--rejudge").out.count("Acme") == 0


def test_the_targets_own_signatures_are_asked(edgeprobe, kept, tmp_path):
    """Those that stand for the run's target alone, under its name."""
    local = tmp_path / "configs" / "signatures" / "local"
    local.mkdir(parents=True)
    own = ACME.replace("strength: exclusive", "strength: strong")
    (local / f"{stored(*REFUSED).target.name}.yaml").write_text(own)
    with standing_in(tmp_path):
        said = edgeprobe("report", str(kept), "--rejudge")
    assert re.search(r"^  product +none -> Acme Gate$", said.out, re.MULTILINE), said.out


@pytest.mark.parametrize("flags", [["--rejudge"], []])
def test_the_stored_run_is_not_overwritten(edgeprobe, kept, flags):
    """A report into the file that it is made from is refused, by whatever name."""
    before = kept.read_bytes()
    said = edgeprobe("report", kept.stem, *flags, "--json", str(kept.parent / "." / kept.name))
    assert said.code == 2
    assert "is the stored run, which is not overwritten" in said.err
    assert kept.read_bytes() == before


OLD = {
    "another schema": (lambda d: d | {"schema": "edgeprobe.run/0"}, "this edgeprobe reads edgeprobe.run/1"),
    "what --json wrote": (lambda d: {k: v for k, v in d.items() if k != "replay"}, "take the stored run"),
    "a start after the end": (
        lambda d: d | {"started": "2099-01-01T00:00:00Z"},
        "damaged: started: 2099-01-01T00:00:00Z is after finished, ",
    ),
    "a start on another day": (
        lambda d: d | {"started": "2020-01-01T00:00:00Z"},
        "damaged: started: 2020-01-01T00:00:00Z is not when the run began by its id, ",
    ),
    "a start without a time zone": (
        lambda d: d | {"started": "2020-01-01T00:00:00"},
        "damaged: its parts",
    ),
    "a target with a key that is gone": (
        lambda d: d | {"replay": d["replay"] | {"target": d["replay"]["target"] | {"colour": "red"}}},
        "damaged: target.colour",
    ),
    "exchanges without what is beyond": (
        lambda d: d | {"replay": d["replay"] | {"exchanges": []}},
        "damaged: its parts",
    ),
}


@pytest.mark.parametrize("name", OLD)
def test_what_cannot_be_read_is_said(edgeprobe, kept, name):
    """A document of another version is a mistake of the call, with file and reason; nothing is judged."""
    change, why = OLD[name]
    kept.write_text(json.dumps(change(json.loads(kept.read_text()))))
    said = edgeprobe("report", kept.stem, "--rejudge")
    assert said.code == 2
    assert str(kept) in said.err
    assert why in said.err


def test_a_long_list_is_cut_in_markdown(edgeprobe, tmp_path):
    """What GitHub takes beside a whole report, with what was left out."""
    from probes.reporters.changes import LIMIT, Changes, Row, markdown

    rows = [Row(f"smoke/x{n} · <b>@you</b>", (("layer", "unknown → edge"),)) for n in range(500)]
    with (tmp_path / "page").open("w+", encoding="utf-8") as page:
        markdown(Changes("now", "nothing", rows), page)
        page.seek(0)
        text = page.read()
    assert len(text) < LIMIT + 200
    assert "more, which the console shows" in text
    assert "<b>" not in text
    assert "@you" not in text
