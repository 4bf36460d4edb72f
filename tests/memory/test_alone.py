"""Can two canaries keep one database?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from probes.errors import UsageError
from probes.memory import Memory

HOLDS = """\
import sys, time
from probes.memory import Memory
with Memory.open(sys.argv[1]) as memory, memory.alone():
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_alone_keeps_it(tmp_path):
    """Another is told who does; readers are not kept out, and a process that was killed holds nothing."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with subprocess.Popen([sys.executable, "-c", HOLDS, url], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with Memory.open(url) as memory:
            assert memory.turns("any", 1) == []
            with (
                pytest.raises(UsageError, match=rf"another canary .*process {holder.pid} since 20"),
                memory.alone(),
            ):
                pass
            os.kill(holder.pid, signal.SIGKILL)
            holder.wait()
            with memory.alone():
                pass


def test_two_databases_are_two_canaries(tmp_path):
    """Each in a folder of its own."""
    one, other = (Memory.open(f"sqlite:///{tmp_path / name}.db") for name in "ab")
    with one, other, one.alone(), other.alone():
        pass
