"""`edgeprobe calibrate` against a lab, and what a run and `classify` make of what it kept."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes import lab as laboratory
from probes import own_signatures
from probes.calibration import CODES, in_order, most
from probes.calibration.asking import ACCEPTS, MOST_CODES
from probes.clock import Clock

FILE = Path("configs/signatures/local/prod.yaml")
TARGET = """\
version: 1
name: prod
api: openai
model: lab-model
key_env: CALIBRATED_KEY
owned: {owned}
routes:
  edge:
    base_url: {url}
    env_proxy: false
"""


@pytest.fixture
def zone(tmp_path, monkeypatch):
    """Gives a lab with faults, and its target's file where the user stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALIBRATED_KEY", laboratory.LAB_KEY)

    @contextmanager
    def serve(*faults: str, owned: str = "true", profile: str = "cloudflare"):
        with laboratory.serve(faults, clock=Clock(0.05), prefill=0.2, tpot=0.02, profile=profile) as running:
            Path("configs/targets").mkdir(parents=True, exist_ok=True)
            Path("configs/targets/prod.yaml").write_text(TARGET.format(url=running.base_url, owned=owned))
            yield running

    return serve


def made_by(run: dict) -> set[tuple[str, str]]:
    """(layer, signature) of what the SDK met."""
    met = [e["attribution"] for e in run["exchanges"] if e["client"] == "openai-py"]
    return {(one["layer"], one["signature"]) for one in met}


@pytest.mark.parametrize(
    ("fault", "name"),
    [("own-error-pages", "html"), ("own-error-pages-json", "json"), ("own-error-pages-plain", "text")],
)
def test_a_page_of_the_zones_own_is_known_after_a_calibration(zone, edgeprobe, fault, name):
    """The same refusal that was not the edge's before is it, by the local signature."""
    run = (
        "run",
        "identity",
        "--time-scale",
        "0.05",
        "--client",
        "openai-py",
        "--no-store",
        "--json",
        "run.json",
    )
    with zone(fault, "ai-crawler-rule"):
        edgeprobe(*run)
        before = made_by(json.loads(Path("run.json").read_text()))
        said = edgeprobe("calibrate", "prod")
        edgeprobe(*run)
        after = made_by(json.loads(Path("run.json").read_text()))
    assert said.code == 0, said.err
    assert f"kept as local.prod.1010.{name} (403)" in said.out
    assert "edge" not in {layer for layer, _ in before}
    assert ("edge", f"local.prod.1010.{name}") in after


def test_what_was_kept_holds_nothing_of_the_request(zone, edgeprobe):
    """No ray, no address, no time, no key: only what stays the same."""
    with zone("own-error-pages"):
        edgeprobe("calibrate", "prod")
    text = FILE.read_text()
    of_the_page = "\n".join(line for line in text.splitlines() if "calibrated from" not in line)
    assert not re.search(r"\d+\.\d+\.\d+\.\d+|\b[0-9a-f]{16}\b|\d\d:\d\d", of_the_page)
    assert laboratory.LAB_KEY not in text
    assert "This request was not served by Example Corp" in text
    assert "# doubtful: " in text


def test_a_status_that_origins_send_as_well_is_low_confidence(zone, edgeprobe):
    """Page 524 under status 503: the edge's own page, and perhaps not its own failure."""
    with zone("own-error-pages"):
        edgeprobe("calibrate", "prod")
    strengths = {one.id: one.row.strength for one in own_signatures.read(FILE).signatures}
    assert strengths["local.prod.524.html"] == "supporting"
    assert strengths["local.prod.1010.html"] == "strong"


def test_a_second_calibration_changes_nothing(zone, edgeprobe):
    """Byte for byte, also where somebody has edited the file; and a page of another code is added below."""
    with zone("own-error-pages"):
        edgeprobe("calibrate", "prod", "--code", "1010")
        edited = FILE.read_text().replace("code: blocked.client", "code: blocked  # ours")
        FILE.write_text(edited)
        again = edgeprobe("calibrate", "prod", "--code", "1010")
        assert (again.code, FILE.read_text()) == (0, edited)
        assert "kept already as local.prod.1010.html" in again.out
        assert "nothing: no page is new" in again.out
        edgeprobe("calibrate", "prod", "--code", "1015")
    assert FILE.read_text().startswith(edited)
    kept = [one.id for one in own_signatures.read(FILE).signatures]
    assert kept == ["local.prod.1010.html", "local.prod.1015.html"]


def test_classify_asks_the_signatures_of_the_target_it_is_given(zone, edgeprobe):
    """And those of no other target."""
    page = (
        "HTTP/1.1 403 Forbidden\nserver: cloudflare\ncontent-type: text/html\n\n"
        "<html><title>Example Corp - request not served</title>"
        "<h1>This request was not served by Example Corp</h1><p>Error 1010</p></html>"
    )
    Path("pasted.txt").write_text(page)
    with zone("own-error-pages"):
        edgeprobe("calibrate", "prod")
    without = json.loads(edgeprobe("classify", "pasted.txt", "--json", "-").out)["blocks"][0]
    with_it = json.loads(edgeprobe("classify", "pasted.txt", "--target", "prod", "--json", "-").out)[
        "blocks"
    ][0]
    assert without["layer"] == "unknown"
    assert (with_it["layer"], with_it["code"], with_it["vendor_code"]) == ("edge", "blocked.client", "1010")
    assert with_it["who_acts"] == "operator"
    other = edgeprobe("classify", "pasted.txt", "--target", "prdo")
    assert other.code == 2
    assert "did you mean prod?" in other.err


# --- nothing to keep -------------------------------------------------------------------------------------

NOTHING = {
    "Cloudflare's own pages": ((), "cloudflare", 0, "known by the catalogue as cloudflare.1010.json"),
    "a page that changes": (("own-error-pages-changing",), "cloudflare", 0, "nothing in it stays the same"),
    "passed on to the origin": (("error-paths-passed-on",), "cloudflare", 3, "no error pages of its own"),
    "an edge that has none": ((), "nginx", 3, "no error pages of its own"),
    "a limit on asking": (("error-paths-limited",), "cloudflare", 3, "it answered 429"),
    "a rule against everybody": (("block-all",), "cloudflare", 3, "a rule in front of /cdn-cgi/error/"),
}


@pytest.mark.parametrize(("faults", "profile", "code", "says"), NOTHING.values(), ids=NOTHING)
def test_nothing_is_kept(zone, edgeprobe, faults, profile, code, says):
    """Where the catalogue suffices, or nothing can be known again, or the edge does not show its pages."""
    with zone(*faults, profile=profile):
        said = edgeprobe("calibrate", "--target", "prod", "--json", "done.json")
    assert said.code == code, said.out
    assert says in " ".join(said.out.split())
    assert not FILE.parent.exists()
    done = json.loads(Path("done.json").read_text())
    assert (done["file"], done["written"]) == (None, [])


def test_few_requests_and_none_with_the_key(zone, edgeprobe):
    """As many as were announced at the most, fewer than what somebody was limited for; none with a secret."""
    seen: list[str] = []
    with zone("own-error-pages") as running:
        handle = running.edge._handle

        def noting(client, request):
            seen.append(request.head.raw.decode())
            return handle(client, request)

        running.edge.server._handle = noting
        edgeprobe("calibrate", "prod")
    shown = [head for head in seen if head.startswith("GET /cdn-cgi/error/")]
    assert len(seen) <= most(in_order(CODES))
    assert len(shown) < 25
    assert len(ACCEPTS) * 2 * (MOST_CODES + 1) < 25
    assert not [head for head in seen if laboratory.LAB_KEY in head or "authorization" in head.lower()]
    assert {a for a in ACCEPTS.values() for head in shown if f"accept: {a}\r" in head.lower()} == {
        "application/json",
        "*/*",
    }
    assert "/cdn-cgi/error/1015" in shown[-1]


def test_the_accepts_are_those_of_the_sdk_and_of_curl(zone, edgeprobe):
    """As both send them, untouched."""
    flags = (
        "--time-scale",
        "0.05",
        "--client",
        "openai-py",
        "--client",
        "curl",
        "--no-store",
        "--json",
        "run.json",
    )
    with zone():
        edgeprobe("run", "smoke", *flags)
    sent: dict[str, set[str]] = {}
    for one in json.loads(Path("run.json").read_text())["exchanges"]:
        if "completion" in one["case"]:
            named = (value for name, value in one["request"]["headers"] if name.lower() == "accept")
            sent.setdefault(one["client"], set()).update(named)
    assert sent == {"openai-py": {ACCEPTS["the SDK's"]}, "curl": {ACCEPTS["curl's"]}}


def test_the_limit_is_left_alone_at_its_first_word(zone, edgeprobe):
    """Three pages are shown, the fourth is a 429: nothing is sent after it."""
    with zone("error-paths-limited"):
        said = edgeprobe("calibrate", "prod")
    assert "asked     5 requests" in said.out


# --- mistakes --------------------------------------------------------------------------------------------


def test_a_target_that_is_not_owned_is_refused(zone, edgeprobe):
    """By the line of the file that says so."""
    with zone(owned="false"):
        said = edgeprobe("calibrate", "prod")
    assert said.code == 2
    assert "configs/targets/prod.yaml:6: owned: must be true" in said.err


def test_flags_without_owned_are_refused(edgeprobe, at, served):
    """By the flag that is missing."""
    said = edgeprobe("calibrate", *at(served)[:-2])
    assert said.code == 2
    assert "--owned is missing" in said.err


def test_a_dry_run_sends_nothing(zone, edgeprobe):
    """It says what would be asked, and how often at the most."""
    with zone():
        pass
    said = edgeprobe("calibrate", "prod", "--dry-run")
    assert said.code == 0
    assert f"at most  {most(in_order(CODES))} requests" in said.out
    for code in CODES:
        assert f"/cdn-cgi/error/{code}" in said.out
    assert said.out.endswith("nothing was sent\n")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--code", "404"], "--code: 404 is no error of Cloudflare's; the nearest is 500"),
        (
            ["--code", "1999"],
            "--code: 1999 is no error of Cloudflare's; the nearest is 1206; valid: 500, 502-504,",
        ),
        (["--code", "599"], "--code: 599 is no error of Cloudflare's; the nearest is 530"),
        ([f for n in range(1000, 1006) for f in ("--code", str(n))], "--code: 6 are too many"),
        (["--target", "prod"], "the target is named already"),
        (["--json", "no/such/folder.json"], "--json no/such/folder.json"),
    ],
    ids=["no code", "above all codes", "no 5xx of its", "too many codes", "named twice", "no folder"],
)
def test_a_wrong_flag_is_told(zone, edgeprobe, flags, says):
    """Before anything is sent."""
    with zone():
        pass
    said = edgeprobe("calibrate", "prod", *flags)
    assert said.code == 2
    assert says in said.err


def test_nobody_there_proves_nothing(zone, edgeprobe):
    """Exit code 3, and the reason."""
    with zone():
        pass
    said = edgeprobe("calibrate", "prod")
    assert said.code == 3
    assert "no answer: connect" in said.out
