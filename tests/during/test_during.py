"""Does a command run beside probes as it would alone, and is it said what customers met meanwhile?"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from probes import lab
from probes.bundles import reading
from probes.clock import Clock
from probes.document import finding_document
from probes.store import load

SCALE = 0.1
PATIENCE = 60.0
SHORT = ("--before", "8", "--after", "4", "--tokens", "250", "--no-store")
pytestmark = pytest.mark.timeout(180)


@contextmanager
def a_lab(*faults, scale=SCALE, tpot=0.02):
    with lab.serve(faults, clock=Clock(scale), keys=None, prefill=0.2, tpot=tpot) as running:
        yield running


@pytest.fixture
def healthy():
    with a_lab() as running:
        yield running


@pytest.fixture
def during(edgeprobe, at, tmp_path):
    """The command in this process: what it said, and its run as JSON where there is one."""

    def call(running, *words, flags=SHORT, scale=SCALE):
        document = tmp_path / "run.json"
        said = edgeprobe("during", *at(running, scale=scale), *flags, "--json", str(document), "--", *words)
        return said, json.loads(document.read_text()) if document.exists() else None

    return call


def sh(script):
    return "sh", "-c", script


# --- the command is left alone ---------------------------------------------------------------------------

CODES = {
    "fine": (sh("exit 0"), 0),
    "its own": (sh("exit 7"), 7),
    "killed": (sh("kill -9 $$"), 137),
    "not found": (("no-such-command-of-ours",), 127),
    "no program": (("/etc/passwd",), 126),
    "no program, which is seen late": (("{broken}",), 126),
}


@pytest.mark.parametrize(("words", "code"), CODES.values(), ids=CODES)
def test_exit_codes_are_those_of_a_shell(during, healthy, tmp_path, words, code):
    """Of a command that can't be found nothing is measured; any other's own code goes before ours."""
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF, or so it says")
    broken.chmod(0o755)
    said, document = during(healthy, *(word.replace("{broken}", str(broken)) for word in words))
    assert said.code == code, said.err
    assert (document is None) == (words[0] in {"no-such-command-of-ours", "/etc/passwd"})
    if document is None:
        assert "nothing was sent" in said.err
    elif code in {0, 7, 137}:
        assert document["verdict"] == "pass", said.err
        assert f"ended with {code}" in said.err


@pytest.mark.parametrize(
    ("flags", "words", "says"),
    [
        ((), (), "stands behind --"),
        (("--json", "-"), ("true",), "standard output is the command's"),
        (("--before", "0"), ("true",), "--before"),
        (("--streams", "-1"), ("true",), "--streams"),
        (("--client", "curl", "--client", "httpx"), ("true",), "--client httpx"),
        (("--client", "anthropic-py"), ("true",), "anthropic-py is of another API"),
        (("--max-requests", "0"), ("true",), "--max-requests"),
    ],
    ids=["no command", "json", "before", "streams", "two clients", "another api", "budget"],
)
def test_mistakes_are_told_before_the_command(edgeprobe, at, healthy, flags, words, says):
    """With exit code 2, and nothing is run."""
    said = edgeprobe("during", *at(healthy, scale=SCALE), *flags, *(("--", *words) if words else ()))
    assert (said.code, said.out) == (2, "")
    assert says in said.err


def test_words_before_the_dashes(edgeprobe):
    """Who forgets them is told of them."""
    said = edgeprobe("during", "nginx", "-s", "reload")
    assert said.code == 2
    assert "a command stands behind --" in said.err


def test_words_of_the_command_are_not_ours(during, healthy):
    """Not a flag, a time or a second -- of them is read."""
    words = ("printf", "%s|", "--since", "-10m", "--", "--help")
    said, _ = during(healthy, *words)
    assert (said.code, said.out) == (0, "--since|-10m|--|--help|")


@contextmanager
def started(running, at, *words, flags=SHORT, **more):
    """The command in a process of its own."""
    child = [sys.executable, "-m", "probes.cli", "during", *at(running, scale=SCALE), *flags, "--", *words]
    child[1:3] = ["-c", "import sys; from probes.cli import main; sys.exit(main())"]
    with subprocess.Popen(child, **more) as process:
        try:
            yield process
        finally:
            process.kill()


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def test_its_input_and_output_are_its_own(at, healthy):
    """Byte for byte, on the stream that it chose, with its end as it is; ours goes to standard error."""
    script = r"cat; printf '\033[31m\377\000\r%s' end; printf 'to the other\377' >&2"
    given = bytes(range(256)) * 300
    with started(healthy, at, *sh(script), **PIPES) as process:
        out, err = process.communicate(given, PATIENCE)
    assert process.returncode == 0, err
    assert out == given + b"\x1b[31m\xff\x00\rend"
    assert b"to the other\xff" in err
    assert b"edgeprobe: sh ended with 0" in err


def test_a_slow_reader_of_a_stream_that_does_not_block(at, healthy):
    """It gets everything."""
    ours, its = os.pipe()
    os.set_blocking(its, False)
    with started(
        healthy, at, *sh("head -c 1000000 /dev/zero"), stdout=its, stderr=subprocess.PIPE
    ) as process:
        os.close(its)
        read_until(process.stderr.fileno(), b"begins\n")
        time.sleep(0.3)
        with os.fdopen(ours, "rb") as out:
            assert len(out.read()) == 1_000_000
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_reader_that_leaves(at, healthy):
    """The command hears of it as it would without us, and ours goes on."""
    with started(healthy, at, *sh("yes; exit 3"), **PIPES) as process:
        process.stdout.read(10)
        process.stdout.close()
        process.stdin.close()
        err = process.stderr.read()
        assert process.wait(PATIENCE) == 3, err
    assert b"ended with 3" in err


def test_what_it_leaves_running_holds_up_nobody(at, healthy):
    """A process in the background that keeps the output open is not waited for."""
    began = time.monotonic()
    with started(healthy, at, *sh("sleep 120 & exit 0"), **PIPES) as process:
        out = process.communicate
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert out is not None
    assert time.monotonic() - began < PATIENCE


# --- signals ---------------------------------------------------------------------------------------------

COUNTS = (
    "n=0; trap 'n=$((n+1)); echo caught $n' INT TERM HUP; echo ready; "
    'while [ ! -e "$0" ]; do sleep 0.05; done; echo last $n; exit 5'
)


def read_until(stream, word):
    said = b""
    while word not in said:
        piece = os.read(stream, 4096)
        assert piece, said
        said += piece
    return said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["INT", "TERM", "HUP"])
def test_a_signal_reaches_the_command_first(at, healthy, tmp_path, number):
    """Once; we go on until it has ended, and measure after its end."""
    done = tmp_path / "done"
    with started(healthy, at, "sh", "-c", COUNTS, str(done), start_new_session=True, **PIPES) as process:
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(number)
        read_until(process.stdout.fileno(), b"caught 1\n")
        done.touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert out == b"last 1\n"
    assert process.returncode == 5
    assert b"ended with 5" in err
    assert b"interrupted" not in err


def test_a_second_signal_ends_the_measuring(at, healthy, tmp_path):
    """It is said, and the command's code stays its own."""
    done = tmp_path / "done"
    with started(healthy, at, "sh", "-c", COUNTS, str(done), start_new_session=True, **PIPES) as process:
        read_until(process.stdout.fileno(), b"ready\n")
        for times in (b"1", b"2"):
            process.send_signal(signal.SIGTERM)
            read_until(process.stdout.fileno(), b"caught " + times)
        done.touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert b"last 2" in out
    assert process.returncode == 5
    assert b"interrupted" in err


def test_a_signal_after_the_command_ends_the_measuring(at, healthy):
    """What came until then is shown, and nothing is called fine."""
    flags = (*SHORT, "--after", "600")
    with started(healthy, at, "true", flags=flags, start_new_session=True, **PIPES) as process:
        read_until(process.stderr.fileno(), b"ended with 0")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert b"interrupted" in err


def test_a_signal_before_the_command(at, healthy, tmp_path):
    """It is not begun."""
    flags = (*SHORT, "--before", "600")
    with started(
        healthy, at, "touch", str(tmp_path / "ran"), flags=flags, start_new_session=True, **PIPES
    ) as process:
        read_until(process.stderr.fileno(), b"before touch begins")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, err
    assert not (tmp_path / "ran").exists()
    assert b"The command did not begin" in err


def test_ctrl_c_on_a_terminal(at, healthy, tmp_path):
    """The terminal has told the command already: it hears of it once."""
    done = tmp_path / "done"
    script = COUNTS.replace("$0", str(done))
    words = [
        sys.executable, "-c", "import sys; from probes.cli import main; sys.exit(main())",
        "during", *at(healthy, scale=SCALE), *SHORT, "--", "sh", "-c", script,
    ]  # fmt: skip
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, words)
    try:
        read_until(terminal, b"ready")
        time.sleep(0.1)
        os.write(terminal, b"\x03")
        read_until(terminal, b"caught 1")
        done.touch()
        said = read_until(terminal, b"last 1")
        assert b"caught 2" not in said
    finally:
        drained = threading.Thread(target=_drain, args=(terminal,), daemon=True)
        drained.start()
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 5


def _drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass


# --- what customers met ----------------------------------------------------------------------------------


def codes(document):
    return [(found["code"], found["verdict"]) for found in document["findings"]]


@contextmanager
def armed_while_there(running, file, *faults):
    """The lab is broken as long as the command has its file there."""
    over = threading.Event()

    def watch():
        broken = False
        while not over.wait(0.01):
            if file.exists() != broken:
                broken = not broken
                running.arm(faults if broken else ())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_requests_refused_meanwhile(during, tmp_path):
    """They fail the run though the command went well, with the gap and the axis."""
    file = tmp_path / "broken"
    script = f"sleep 0.4; echo breaking; touch {file}; sleep 1; rm {file}; echo mended"
    with a_lab(scale=0.2) as running, armed_while_there(running, file, "block-all"):
        said, document = during(running, *sh(script), scale=0.2)
    assert said.code == 1, said.err
    [found] = [each for each in document["findings"] if each["verdict"] == "fail"]
    assert found["code"].startswith("blocked"), found
    assert found["title"].startswith("No good answer for "), found
    assert found["figures"]["gap"]["low"] <= 5.5
    assert found["figures"]["gap"]["high"] >= 4.5
    assert "breaking" in found["detail"]
    assert "mended" in found["detail"]


def test_a_failure_leaves_a_bundle(edgeprobe, at, reports, tmp_path):
    """Beside the stored run and where it was asked for, and says so aside; elsewhere it tells the same, and what it can't."""
    file, asked = tmp_path / "broken", tmp_path / "asked.zip"
    script = f"touch {file}; sleep 1; rm {file}"
    flags = [flag for flag in SHORT if flag != "--no-store"]
    with a_lab(scale=0.2) as running, armed_while_there(running, file, "block-all"):
        said = edgeprobe("during", *at(running, scale=0.2), *flags, "--bundle", str(asked), "--", *sh(script))
    assert (said.code, said.out) == (1, ""), said.err
    [beside] = reports.glob("*.zip")
    assert said.err.endswith(f"bundle {beside}\nbundle {asked}\n")
    assert beside.read_bytes() == asked.read_bytes()
    before = load(beside.stem)
    again = edgeprobe("report", str(asked), "--json", str(tmp_path / "again.json"))
    assert again.code == 1, again.err
    found = json.loads((tmp_path / "again.json").read_text())["findings"]
    assert [row for row in found if row["verdict"] == "fail"] == [
        finding_document(finding) for finding in before.findings if finding.verdict == "fail"
    ]


def test_no_bundle_of_what_is_fine(edgeprobe, at, healthy, reports, tmp_path):
    """But where it was asked for; a name that is none is told before the command."""
    asked = tmp_path / "asked.zip"
    flags = [flag for flag in SHORT if flag != "--no-store"]
    said = edgeprobe("during", *at(healthy, scale=SCALE), *flags, "--bundle", str(asked), "--", "true")
    assert (said.code, list(reports.glob("*.zip"))) == (0, []), said.err
    assert reading.run(asked).verdict == "pass"
    ran = tmp_path / "ran"
    wrong = edgeprobe("during", *at(healthy, scale=SCALE), "--bundle", "x.json", "--", "touch", str(ran))
    assert (wrong.code, ran.exists()) == (2, False)
    assert "a bundle's name ends in .zip" in wrong.err


def test_what_was_broken_before(during):
    """Of the command nothing can be said."""
    with a_lab("block-all") as running:
        said, document = during(running, "true")
    assert said.code == 3, said.err
    assert document["verdict"] == "inconclusive"
    assert "failed before the command began" in document["findings"][0]["title"]


RESTART, LIMIT = ("restart-20", "2000"), ("cut-30", "3000")
SLOWER = 0.4
"""Ages and moments are compared: a busy machine is late by more of faster seconds."""
LONG = ("--before", "14", "--after", "24", "--no-store", "--tokens")


@pytest.mark.parametrize(
    ("planted", "code", "title"),
    [
        (RESTART, "stream.truncated", "All 3 open streams died at one moment"),
        (LIMIT, "timeout.total", "Streams are cut at the age of 30."),
    ],
    ids=["restart", "limit"],
)
def test_the_two_shapes_of_death(during, planted, code, title):
    """Those that were open die at one moment by a restart, and each at its age by a limit."""
    fault, tokens = planted
    with a_lab(fault, scale=SLOWER, tpot=0.1) as running:
        said, document = during(running, "true", flags=(*LONG, tokens), scale=SLOWER)
    assert said.code == 1, said.err
    assert codes(document)[0] == (code, "fail"), said.err
    assert document["findings"][0]["title"].startswith(title)
    assert document["findings"][0]["factor"] is None
    assert document["findings"][0]["reproduce"]["command"].startswith("curl ")


def test_a_budget_that_ends_on_the_way(during, healthy):
    """What came later was not seen, and is no pass."""
    said, document = during(healthy, "true", flags=(*SHORT, "--max-requests", "13"))
    assert said.code == 3, said.err
    assert document["spend"]["requests"] <= 13
    assert ("not_measured", "inconclusive") in codes(document)
    assert "sent no more" in said.err


def test_a_stored_run_is_a_run(edgeprobe, at, healthy, tmp_path, reports):
    """It is shown again as every other, in each format."""
    flags = [flag for flag in SHORT if flag != "--no-store"]
    edgeprobe("during", *at(healthy, scale=SCALE), *flags, "--", "echo", "hello")
    [stored] = reports.glob("*.json")
    files = {name: tmp_path / name for name in ("junit", "markdown", "html")}
    asked = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    said = edgeprobe("report", stored.stem, *asked)
    assert said.code == 0, said.err
    assert "hello" in said.out
    assert "during on http://" in said.out
    assert all("during/knocks" in file.read_text() for file in files.values())
    assert "echo hello" in files["html"].read_text()
    over_time = edgeprobe(
        "report", "--since", "1h"
    )  # its streams were ended with it, which is nobody's failure
    assert (over_time.code, "failed" in over_time.out) == (0, False), over_time.out
    cut = [call for call in load(stored.stem).calls if call.conditions.get("ended_by_probe")]
    assert {(call.ended_by_probe, call.case) for call in cut} == {("interrupted", "during/streams")}
    again = edgeprobe("report", stored.stem, "--rejudge")
    assert again.code == 3
    assert "knocks can't be judged again" in again.out
    assert "when its command began and ended, which is not kept with the calls" in " ".join(again.out.split())
    assert "Run it again, beside such a command." in " ".join(again.out.split())
