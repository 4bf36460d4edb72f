"""`edgeprobe mark`: what a person says stands in the canary's database, and what can't be meant is refused."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from cloudflare_stand_in import ACCOUNT, JSON, TOKEN, ZONE, entry, errors

from probes.canary import Turn
from probes.memory import Memory

EVER = datetime(2000, 1, 1, tzinfo=UTC)


def marks(reports):
    with Memory.open(f"sqlite:///{reports / 'edgeprobe.db'}", make=False) as memory:
        return memory.marks(EVER)


def ago(length):
    return (datetime.now(UTC) - length).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- one mark --------------------------------------------------------------------------------------------


def test_a_mark(edgeprobe, reports, monkeypatch):
    """It is there, of now and of whoever is here; the database is made where there is none."""
    monkeypatch.setenv("LOGNAME", "alice")
    before = datetime.now(UTC)
    done = edgeprobe("mark", "  bot rule\n off ")
    assert done.code == 0
    [mark] = marks(reports)
    assert (mark.text, mark.source, mark.author) == ("bot rule off", "edgeprobe mark", "alice")
    assert (mark.target, mark.baseline) == (None, None)
    assert abs(mark.at - before) < timedelta(minutes=1)
    assert '"bot rule off"' in done.out
    assert f"{mark.at:%Y-%m-%d %H:%M:%S} UTC" in done.out
    assert "alice (the user here; --author names another)" in done.out


def test_all_that_can_be_said(edgeprobe, reports, berlin, tmp_path, monkeypatch):
    """Time, author, target and baseline; the time is shown by UTC and by the clock here."""
    monkeypatch.chdir(tmp_path)
    done = edgeprobe(
        "mark", "release 42", "--at", "2026-11-03 14:05", "--author", "ci",
        "--target", "prod", "--baseline", "v42.1",
    )  # fmt: skip
    [mark] = marks(reports)
    assert (mark.at, mark.author) == (datetime(2026, 11, 3, 13, 5, tzinfo=UTC), "ci")
    assert (mark.target, mark.baseline) == ("prod", "v42.1")
    shown = " ".join(done.out.split())
    assert "at 2026-11-03 13:05:00 UTC (here 14:05:00 +01:00)" in shown
    assert (
        "by ci of target prod baseline v42.1: no run is kept from 2026-11-02 13:05 to 2026-11-03 13:05 UTC"
        in shown
    )


@pytest.mark.parametrize("words", [("--at", "-10m"), ("--at=-10m",), ("--at", "10m")], ids=" ".join)
def test_ago(edgeprobe, reports, words):
    """With a dash, too, which argparse takes for a flag."""
    done = edgeprobe("mark", "x", *words)
    assert timedelta(minutes=9) < datetime.now(UTC) - marks(reports)[0].at < timedelta(minutes=12)
    assert "10 minutes ago" in done.out


def test_the_same_said_twice(edgeprobe, reports):
    """It is one mark, as it was last told."""
    at = ago(timedelta(hours=1))
    edgeprobe("mark", "x", "--at", at, "--baseline", "main")
    edgeprobe("mark", "x", "--at", at, "--baseline", "main", "--author", "bob")
    assert [(mark.author, mark.baseline) for mark in marks(reports)] == [("bob", "main")]


def test_a_canary_in_lab_time(edgeprobe, reports):
    """Its clock is ahead: what is changed now stands behind all that it has stored, and no other time is known there."""
    ahead = datetime.now(UTC) + timedelta(hours=5)
    with Memory.open(now=lambda: ahead) as memory:
        memory.turn(Turn("door", "lab", ahead, ahead, ahead, "r"))
    done = edgeprobe("mark", "x")
    assert "the canary of this database runs in lab time, ahead of this clock" in " ".join(done.out.split())
    assert [mark.at for mark in marks(reports)] == [ahead + timedelta(microseconds=1)]
    done = edgeprobe("mark", "y", "--at", "-1m")
    assert (done.code, len(marks(reports))) == (2, 1)
    assert "--at -1m: the canary of this database runs in lab time" in done.err


@pytest.mark.parametrize(("first", "second"), [(2, 1), (1, 2)], ids=["later", "earlier"])
def test_a_baseline_moves(edgeprobe, reports, first, second):
    """The last one told has the name, and alone; it says whose it was."""
    edgeprobe("mark", "one", "--at", f"-{first}h", "--baseline", "main")
    edgeprobe("mark", "other", "--at", f"-{first}h", "--baseline", "other")
    done = edgeprobe("mark", "two", "--at", f"-{second}h", "--baseline", "main")
    named = {mark.text: mark.baseline for mark in marks(reports)}
    assert named == {"one": None, "other": "other", "two": "main"}
    assert "until now main was before" in " ".join(done.out.split())
    assert '"one"' in done.out


def test_a_target_that_is_not_there(edgeprobe, reports, tmp_path, monkeypatch):
    """A mistyped name would never be found again."""
    (tmp_path / "configs/targets").mkdir(parents=True)
    (tmp_path / "configs/targets/prod.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    done = edgeprobe("mark", "x", "--target", "prd")
    assert (done.code, reports.exists()) == (2, False)
    assert "--target prd: not in ./configs/targets; did you mean prod?" in done.err
    assert edgeprobe("mark", "x", "--target", "prod").code == 0


MISTAKES = {
    "nothing": ((), "say what was changed"),
    "two things": (("x", "--list"), "say what was changed"),
    "blank": ((" \n ",), "the text is empty"),
    "endless": (("x" * 1001,), "longer than 1000 characters"),
    "no time": (("x", "--at", "soon"), "--at soon: no time; such as"),
    "still to come": (("x", "--at", "2100-01-01T00:00Z"), "still to come"),
    "a baseline like a run": (("x", "--baseline", "20261130-140500-ab12"), "begins with a letter"),
    "a baseline like a time": (("x", "--baseline", "14:05"), "begins with a letter"),
    "since of a text": (("x", "--since", "7d"), "--since: goes with --list or --import"),
    "time of a list": (("--list", "--at", "-1m"), "--at: goes with TEXT"),
    "account of a list": (("--list", "--account", "a"), "--account: goes with --import"),
    "author of an import": (("--import", "cloudflare", "--author", "a"), "--author: goes with TEXT"),
    "no account": (("--import", "cloudflare"), "--account is missing"),
    "an account's name": (("--import", "cloudflare", "--account", "acme"), "--account acme: the account's id is 32"),
    "another CDN": (("--import", "fastly"), "invalid choice: 'fastly'"),
    "no database to list": (("--list",), "no database at"),
    "a database that is none": (("x", "--db", "nonsense"), "no URL such as"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "said"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(edgeprobe, reports, words, said):
    """They are told, and nothing is written."""
    done = edgeprobe("mark", *words)
    assert done.code == 2
    assert said in done.err
    assert not (reports / "edgeprobe.db").exists()


def test_a_database_that_cannot_be_written(edgeprobe, reports):
    """What was not kept is not said to be."""
    edgeprobe("mark", "first")
    with closing(sqlite3.connect(reports / "edgeprobe.db")) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON marks BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    done = edgeprobe("mark", "second")
    assert done.code == 2
    assert "not marked: cannot write" in done.err
    assert "second" not in done.out


def test_without_the_extra():
    """It says what to install."""
    code = "import sys; sys.modules['sqlalchemy'] = None; from probes.cli import main; sys.exit(main(['mark', 'x']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'edgeprobe[watch]'" in done.stderr


# --- those that are there --------------------------------------------------------------------------------


def test_a_list(edgeprobe, berlin):
    """In the order of time, by UTC and the clock here, with who and of what."""
    edgeprobe("mark", "new", "--at", "-1h", "--author", "bob", "--target", "prod", "--baseline", "main")
    edgeprobe("mark", "old \u202e\x1b[2J", "--at", "-2d", "--author", "eve")
    edgeprobe("mark", "oldest", "--at", "-30d")
    done = edgeprobe("mark", "--list")
    assert done.code == 0
    assert done.out.replace("\n", "").isprintable()
    assert done.out.index('"old ') < done.out.index('"new"')
    assert "oldest" not in done.out
    assert "by bob | target prod | baseline main" in done.out
    assert "(here " in done.out
    assert "oldest" in edgeprobe("mark", "--list", "--since", "60d").out
    assert "no marks since" in edgeprobe("mark", "--list", "--since", "-5m").out


def test_a_list_of_a_target(edgeprobe):
    """With what may have hit any."""
    for text, more in {"ours": ["--target", "prod"], "theirs": ["--target", "other"], "any": []}.items():
        edgeprobe("mark", text, *more)
    done = edgeprobe("mark", "--list", "--target", "prod")
    assert '"ours"' in done.out
    assert '"any"' in done.out
    assert "theirs" not in done.out


# --- those of the CDN ------------------------------------------------------------------------------------

IMPORT = ("mark", "--import", "cloudflare", "--account", ACCOUNT)


def test_an_import(edgeprobe, reports, cloudflare):
    """What is new, what had been there, and what was left out; the second time nothing is new."""
    at = ago(timedelta(minutes=30))
    cloudflare.log = [
        entry(request={"ai_bots_protection": "block"}, at=at),
        entry("members", {"email": "new@example.com"}, uri=f"/accounts/{ACCOUNT}/members", at=at),
        entry(request={"a": "b"}, zone="example.org", at=at) | {"zone": {"id": ACCOUNT, "name": "example.org"}},
    ]  # fmt: skip
    done = edgeprobe(*IMPORT, "--zone", "example.com", "--target", "prod")
    assert (done.code, done.err) == (0, "")
    [mark] = marks(reports)
    assert (mark.text, mark.target) == (
        "bot_management.ai_bots_protection → block on example.com",
        "prod",
    )
    shown = " ".join(done.out.split())
    assert "by ops@example.com | cloudflare audit log | target prod" in shown
    assert "1 new mark since" in shown
    assert "no mark of a change is no proof that there was none" in shown
    assert "left out: members (1), which change nothing that a request passes" in shown
    assert "left out: of other zones than example.com: example.org (1)" in shown
    again = " ".join(edgeprobe(*IMPORT, "--zone", "example.com", "--target", "prod").out.split())
    assert "0 new marks since" in again
    assert "; 1 had been there" in again
    assert marks(reports) == [mark]


def test_the_span(edgeprobe, cloudflare):
    """24 hours, or as asked."""
    edgeprobe(*IMPORT)
    edgeprobe(*IMPORT, "--since", "2026-11-01T00:00Z")
    first, second = (
        datetime.fromisoformat(query["since"][0]).replace(tzinfo=UTC) for query in cloudflare.asked
    )
    assert timedelta(hours=23, minutes=59) < datetime.now(UTC) - first < timedelta(hours=24, minutes=1)
    assert second == datetime(2026, 11, 1, tzinfo=UTC)


def test_an_import_that_breaks_off(edgeprobe, reports, cloudflare):
    """What was read is kept, and the exit code says that it is not all."""
    page = {"success": True, "result": [entry(request={"a": "b"})], "result_info": {"cursor": "1"}}
    cloudflare.answers = [(200, JSON, page), (429, JSON | {"retry-after": "60"}, errors())]
    done = edgeprobe(*IMPORT, "--since", "2026-11-01T00:00Z")
    assert done.code == 3
    assert (
        "the audit log was not read to its end: 429, too many requests; it asks to wait 60 s; what was read is kept"
        in done.err
    )
    assert len(marks(reports)) == 1


def test_a_token_without_its_permission(edgeprobe, cloudflare):
    """It is the operator's to mend, and says how."""
    cloudflare.answers = [(403, JSON, errors(f"no rights for {TOKEN}"))]
    done = edgeprobe(*IMPORT)
    assert done.code == 2
    assert "the audit log: 403, the token may not read this: it needs Account Settings: Read" in done.err
    assert TOKEN not in done.out + done.err


def test_the_token_by_its_variable(edgeprobe, cloudflare, monkeypatch):
    """Another one's, or none at all."""
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN")
    done = edgeprobe(*IMPORT)
    assert (done.code, cloudflare.asked) == (2, [])
    assert "CLOUDFLARE_API_TOKEN is not set: it holds a token" in done.err
    monkeypatch.setenv("AUDIT_TOKEN", TOKEN)
    assert edgeprobe(*IMPORT, "--token-env", "AUDIT_TOKEN").code == 0
    assert cloudflare.headers[0]["authorization"] == f"Bearer {TOKEN}"


def test_without_the_library(edgeprobe, cloudflare, monkeypatch):
    """It says what to install."""
    monkeypatch.setitem(sys.modules, "cloudflare", None)
    done = edgeprobe(*IMPORT)
    assert done.code == 2
    assert "pip install 'edgeprobe[cloudflare]'" in done.err


def test_a_log_that_commands(edgeprobe, cloudflare, monkeypatch):
    """No line of it is obeyed by a terminal or a CI server."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    cloudflare.log = [
        entry("rulesets", {"description": "\n##[add-mask]x\x1b[2J\n::stop::"}, uri=f"/zones/{ZONE}/rulesets")
    ]
    done = edgeprobe(*IMPORT, "--since", "2026-11-01T00:00Z")
    lines = done.out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"
    assert "\x1b" not in done.out


# --- taken back ------------------------------------------------------------------------------------------

TAKEN = {
    "its text": "oops",
    "a part of it": "OOP",
    "its time": "2026-11-03T14:05:30Z",
    "to the minute": "2026-11-03T14:05Z",
    "its baseline": "v41",
}


@pytest.mark.parametrize("word", TAKEN.values(), ids=TAKEN)
def test_a_mark_is_taken_back(edgeprobe, reports, word):
    """By any of what names it; the other one stays."""
    edgeprobe("mark", "oops", "--at", "2026-11-03T14:05:30Z", "--baseline", "v41")
    edgeprobe("mark", "bot rule off", "--at", "2026-11-03T14:07:00Z")
    done = edgeprobe("mark", "--remove", word)
    assert done.code == 0
    assert 'removed 2026-11-03 14:05:30 UTC, "oops" baseline v41 is no name any more' in " ".join(
        done.out.split()
    )
    assert [mark.text for mark in marks(reports)] == ["bot rule off"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("rule", 'which of 2? 2026-11-03T14:05:00Z "rule on", 2026-11-03T14:05:30Z "rule off"; a time or'),
        ("2026-11-03T14:05Z", "which of 2?"),
        ("rule out", "no mark reads so; did you mean rule on?"),
    ],
    ids=["a part of two", "the minute of two", "none"],
)
def test_what_could_be_another_stays(edgeprobe, reports, word, said):
    """The choices are named, and nothing is removed."""
    edgeprobe("mark", "rule on", "--at", "2026-11-03T14:05:00Z")
    edgeprobe("mark", "rule off", "--at", "2026-11-03T14:05:30Z")
    done = edgeprobe("mark", "--remove", word)
    assert (done.code, said in done.err, len(marks(reports))) == (2, True, 2), done.err
