"""What does a process that runs for long say of itself, and when was that?"""

from __future__ import annotations

import sys
from datetime import UTC, datetime


def log(text: str) -> None:
    """On standard error, with the machine's time as the lines of turns have it, also where a canary's runs faster."""
    sys.stderr.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  edgeprobe: {text}\n")
    sys.stderr.flush()
