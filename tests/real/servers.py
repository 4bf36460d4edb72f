"""Programs that we did not write, each as a context manager that gives its base URL and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PLACES = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin"))
_READY_WITHIN = 15.0

_NGINX = """
daemon off;
master_process off;
pid nginx.pid;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {{
    listen {listen};
    {rules}
    location / {{
      proxy_pass http://{upstream};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


def program(name: str) -> str:
    """The program's path; where it is missing the test is skipped, or failed when EDGEPROBE_REQUIRE_REAL=1."""
    found = shutil.which(name, path=_PLACES)
    if found is None:
        stop = pytest.fail if os.environ.get("EDGEPROBE_REQUIRE_REAL") == "1" else pytest.skip
        stop(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def nginx(folder: Path, upstream: str, rules: str = "", *, certificate: Path | None = None) -> Iterator[str]:
    """nginx in front of `upstream` (host:port); `rules` stand in its server block, files lie in `folder`."""
    command, port = program("nginx"), free_port()
    listen = f"127.0.0.1:{port}"
    if certificate is not None:
        listen += " ssl"
        rules += f" ssl_certificate {certificate}; ssl_certificate_key {certificate};"
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(listen=listen, rules=rules, upstream=upstream))
    arguments = [command, "-e", "stderr", "-p", str(folder), "-c", str(config)]
    scheme = "http" if certificate is None else "https"
    with _running(arguments, folder / "nginx.log", lambda: _accepts(port)):
        yield f"{scheme}://127.0.0.1:{port}/v1"


@contextmanager
def smg(folder: Path, worker: str) -> Iterator[str]:
    """The Shepherd Model Gateway (https://github.com/lightseekorg/smg) in front of one worker (host:port)."""
    command, port = program("smg"), free_port()
    arguments = [
        command, "launch", "--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin",
        "--worker-urls", f"http://{worker}", "--log-level", "warn",
        "--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port()),
    ]  # fmt: skip
    base_url = f"http://127.0.0.1:{port}/v1"
    # Asked to end it would keep its port open for 5 s, for load balancers to notice.
    with _running(arguments, folder / "smg.log", lambda: _answers(f"{base_url}/models"), patience=0):
        yield base_url


@contextmanager
def _running(
    arguments: Sequence[str], log: Path, ready: Callable[[], bool], *, patience: float = 5
) -> Iterator[None]:
    with log.open("wb") as out, subprocess.Popen(arguments, stdout=out, stderr=out) as process:
        try:
            _wait_for(ready, process, log)
            yield
        finally:
            process.terminate()
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _READY_WITHIN
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            pytest.fail(f"{process.args[0]} did not come up:\n{log.read_text('utf-8', 'replace')[-2000:]}")
        time.sleep(0.05)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except urllib.error.HTTPError as answer:
        answer.close()
        return False
    except OSError:
        return False
