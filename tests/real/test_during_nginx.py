"""Is a reload of nginx told from a restart behind it, by what streams and requests met meanwhile?"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager

import pytest
from processes import free_port, program
from servers import nginx

from probes import lab
from probes.clock import Clock

pytestmark = [pytest.mark.real, pytest.mark.realtime, pytest.mark.timeout(180)]
FLAGS = ("--before", "8", "--after", "6", "--every", "0.5", "--tokens", "1000", "--no-key", "--no-store")


class Restartable:
    """A model API on one port, which is gone while a file is there."""

    def __init__(self, file):
        self.port = free_port()
        self._file = file
        self._over = threading.Event()
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        assert self._up.wait(10)
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _serve(self):
        while not self._over.is_set():
            made = lab.Origin(Clock(), keys=None, model=lab.MODEL, prefill=0.05, tpot=0.02, port=self.port)
            with made.server:
                self._up.set()
                while not (self._file.exists() or self._over.is_set()):
                    self._over.wait(0.01)
            while self._file.exists() and not self._over.is_set():
                self._over.wait(0.01)


@contextmanager
def told(edgeprobe, tmp_path, script, main):
    """What is found while `script` runs, in which {reload} reloads nginx and {gone} is the file."""
    program("curl")
    gone, document = tmp_path / "gone", tmp_path / "run.json"
    with (
        Restartable(gone) as origin,
        nginx(tmp_path, f"127.0.0.1:{origin.port}", reloads=True, main=main) as base_url,
    ):
        reload = f"{program('nginx')} -e stderr -p {tmp_path} -c {tmp_path / 'nginx.conf'} -s reload"
        words = ("sh", "-c", script.format(reload=reload, gone=gone))
        target = ("--base-url", base_url, "--api", "openai", "--model", lab.MODEL)
        said = edgeprobe("during", *target, *FLAGS, "--json", str(document), "--", *words)
        yield (
            said,
            [f for f in json.loads(document.read_text())["findings"] if f["kind"] in {"knocks", "streams"}],
        )


def test_a_reload_that_ends_streams(edgeprobe, tmp_path):
    """With worker_shutdown_timeout all that are open die at one moment, and no request is refused."""
    with told(edgeprobe, tmp_path, "{reload}", "worker_shutdown_timeout 1s;") as (said, findings):
        [found] = findings
        assert said.code == 1, said.err
        assert (found["code"], found["verdict"], found["case"]) == (
            "stream.truncated",
            "fail",
            "during/streams",
        )
        assert found["title"].startswith("All 3 open streams died at one moment, 1."), found


def test_a_restart_behind_it(edgeprobe, tmp_path):
    """Streams die at one moment as well, and requests are refused by nginx until the origin is back."""
    script = "touch {gone}; sleep 2; rm {gone}"
    with told(edgeprobe, tmp_path, script, "") as (said, findings):
        assert said.code == 1, said.err
        by_case = {found["case"]: found for found in findings}
        streams, knocks = by_case["during/streams"], by_case["during/knocks"]
        assert streams["title"].startswith("All 3 open streams died at one moment"), streams
        assert (knocks["code"], knocks["layer"], knocks["product"]) == (
            "unreachable.origin",
            "edge",
            "nginx",
        ), knocks
        assert knocks["title"].startswith("No good answer for "), knocks
        assert knocks["figures"]["gap"]["low"] <= 2.5
        assert knocks["figures"]["gap"]["high"] >= 1.5


def test_a_reload_that_drains(edgeprobe, tmp_path):
    """Without a time-out old workers end their streams in peace, and nothing is found."""
    with told(edgeprobe, tmp_path, "{reload}", "") as (said, findings):
        assert said.code == 0, said.err
        assert [found["code"] for found in findings] == ["ok"]
