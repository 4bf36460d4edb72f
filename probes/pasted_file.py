"""What did a person hand in, as a file or on standard input?"""

from __future__ import annotations

import sys
from pathlib import Path

from probes.errors import UsageError


def read(name: str, most_mib: int, wanted: str) -> bytes:
    """`-` is standard input. UsageError, without the name, for what cannot be read or is larger; `wanted` is what should be
    cut out of it.
    """
    most = most_mib * 1024 * 1024
    try:
        if name == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(most + 1)
    except OSError as fault:
        raise UsageError(f"cannot be read: {fault.strerror}") from None
    if len(data) > most:
        raise UsageError(f"is larger than {most_mib} MiB; cut out the {wanted}")
    return data
