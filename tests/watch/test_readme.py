"""Does a canary come of the README's own lines, tell of an edge that is broken, and of its mending?"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

README = Path(__file__).parent.parent.parent / "README.md"


def blocks() -> list[str]:
    """Of the lab, of the webhook, of the canary and of the mark."""
    section = README.read_text().partition("### Try it in five minutes\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.fixture
def terminals(tmp_path):
    """Opens one in an empty folder: a shell that reads the lines, and a list of what it shows, with its news."""
    ports = {}
    for name in ("9400", "9401"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports[name] = str(free.getsockname()[1])
    opened = []

    def type_in(lines: str):
        for name, port in ports.items():
            lines = lines.replace(name, port)
        lines = lines.replace("edgeprobe watch", "exec edgeprobe watch --listen 127.0.0.1:0")
        lines = lines.replace("edgeprobe lab", "exec edgeprobe lab").replace(
            "python3", f"exec {sys.executable}"
        )
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        shell = subprocess.Popen(
            ["bash", "-c", lines], cwd=tmp_path, env={**os.environ, "PATH": path}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        shown, news = [], threading.Condition()

        def read():
            for line in shell.stdout:
                with news:
                    shown.append(line.rstrip("\n"))
                    news.notify_all()

        reader = threading.Thread(target=read)
        reader.start()
        opened.append((shell, reader))

        def until(pattern, patience=90):
            with news:
                assert news.wait_for(lambda: any(re.search(pattern, line) for line in shown), patience), shown

        return shell, shown, until

    yield type_in
    for shell, reader in opened:
        shell.kill()
        reader.join()
        shell.stdin.close()
        shell.stdout.close()
        shell.wait()


@pytest.mark.timeout(400)
def test_the_readme_leads_to_an_alert_and_its_end_and_to_what_a_change_did(terminals):
    """With nothing but its lines, and what it says to type."""
    lab_lines, hook_lines, canary_lines, mark_lines = blocks()
    lab, _, lab_shows = terminals(lab_lines)
    _, heard, hook_shows = terminals(hook_lines)
    lab_shows("^edge ")
    canary, shown, canary_shows = terminals(canary_lines)
    canary_shows("door  pass")

    def type_into_the_lab(line):
        lab.stdin.write(f"{line}\n")
        lab.stdin.flush()

    type_into_the_lab("ai-crawler-rule")
    hook_shows("^OPENED$")
    hook_shows("^report: ")
    type_into_the_lab("")
    hook_shows("^RESOLVED$")
    _, _, mark_shows = terminals(mark_lines)
    mark_shows("ahead of this clock")
    type_into_the_lab("ai-crawler-rule")
    hook_shows('^change: marked at .* UTC: "bot rule on" ')
    hook_shows("^NOTED$")
    canary.send_signal(signal.SIGINT)
    assert canary.wait(60) == 0
    told = [line for line in heard if line in {"OPENED", "UPDATED", "RESOLVED"}]
    assert [word for word in told if word != "UPDATED"] == ["OPENED", "RESOLVED", "OPENED"]
    [change] = [line for line in heard if line.startswith("[change] ")]
    assert re.match(r"\[change\] .*openai-py.* worked before and fail.* after \"bot rule on\"", change), (
        change
    )
    assert heard[1].startswith("[edge · Cloudflare 1010] ")
    assert "openai-py" in heard[1]
    assert not [line for line in shown if "Traceback" in line]
