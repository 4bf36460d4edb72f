"""Which program is there, and is it up? What every real server of these tests is started with."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_REPOSITORY = Path(__file__).parents[2]
ENGINE = Path(os.environ.get("EDGEPROBE_ENGINE") or _REPOSITORY / ".venv-engine")
_READY_WITHIN = 15.0
_PLACES = os.pathsep.join(
    (
        str(Path(sys.executable).parent),
        os.environ.get("PATH", ""),
        "/usr/sbin",
        str(_REPOSITORY / ".venv-litellm/bin"),  # it needs another OpenAI SDK than we do
    )
)


def program(name: str) -> str:
    """The program's path; where it is missing the test is skipped, or failed when EDGEPROBE_REQUIRE_REAL=1."""
    found = shutil.which(name, path=_PLACES)
    return found or _missing(name)


def installed(path: str) -> str:
    """The same of a file that is no program."""
    return path if Path(path).exists() else _missing(path)


def _missing(name: str) -> NoReturn:
    stop = pytest.fail if os.environ.get("EDGEPROBE_REQUIRE_REAL") == "1" else pytest.skip
    stop(f"{name} is not installed")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def own_folder() -> Iterator[tuple[Path, str | None]]:
    """A folder, and whose: several servers refuse to run as root, who then owns nothing of it."""
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="edgeprobe-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        yield folder, user


@contextmanager
def running(
    arguments: Sequence[str],
    log: Path,
    ready: Callable[[], bool],
    *,
    patience: float = 5,
    within: float = _READY_WITHIN,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """`patience`: how long it may take to end by itself; `within`: to be ready; `environment` is added to ours."""
    group = None if user is None else pwd.getpwnam(user).pw_gid
    with (
        log.open("wb") as out,
        subprocess.Popen(
            arguments,
            stdout=out,
            stderr=out,
            env={**os.environ, **(environment or {})},
            user=user,
            group=group,
            extra_groups=None if user is None else [],
        ) as process,
    ):
        try:
            _wait_for(ready, process, log, within)
            yield
        finally:
            process.terminate()
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, within: float) -> None:
    until = time.monotonic() + within
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            pytest.fail(f"{process.args[0]} did not come up:\n{log.read_text('utf-8', 'replace')[-2000:]}")
        time.sleep(0.05)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except urllib.error.HTTPError as answer:
        answer.close()
        return False
    except OSError:
        return False
