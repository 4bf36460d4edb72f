"""Does edgeprobe find the faults it was made for, here and now?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.lab.expectations import expectations
from probes.model import Reason, Run, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Finding, Sink
    from probes.stop import Stop

PLANTED = ("ai-crawler-rule", "read-timer")
SCALE = 0.02
"""The lab's time: 125 s pass in 2.5."""
_KEY = "EDGEPROBE_LAB_KEY"
_SUITES = {"identity": "identity", "long": "length"}


def demo(planted: Sequence[str] = PLANTED, sinks: Sequence[Sink] = (), stop: Stop | None = None) -> Run:
    """One run of the suite `demo` against a lab with these faults."""
    clock = Clock(SCALE)
    with lab.serve(planted, clock=clock) as served:
        assert served.api_key is not None
        target = target_from_flags(
            served.base_url, "openai", served.model, key_env=_KEY, env_proxy=False, owned=True
        )
        secrets = Secrets({**os.environ, _KEY: served.api_key})
        return conduct(Order(("demo",), target, clock=clock), secrets, sinks, stop)


def exactly_found(run: Run, planted: Sequence[str] = PLANTED) -> bool:
    """Whether the run names each planted fault as it should, and nothing else."""
    troubles = [finding for finding in run.findings if finding.verdict is not Verdict.PASS]
    wanted = [
        (row.kind or _SUITES[row.suite], row.expect)
        for row in expectations()
        if row.fault in planted
        and row.api == "openai"
        and row.suite in _SUITES
        and row.expect.verdict is not Verdict.PASS
    ]
    found = [any(kind == f.kind and _says(f, expect) for f in troubles) for kind, expect in wanted]
    return bool(run.findings) and all(found) and len(troubles) == len(wanted) == len(planted)


def _says(finding: Finding, expected: object) -> bool:
    names = ("code", "verdict", "layer", "product", "vendor_code", "factor")
    wanted = {name: getattr(expected, name) for name in names}
    return all(value is None or getattr(finding, name) == value for name, value in wanted.items())


def epilogue(run: Run, out: TextIO) -> bool:
    """The demo's last lines; whether it found exactly what was planted."""
    right = exactly_found(run)
    troubles = sum(finding.verdict is not Verdict.PASS for finding in run.findings)
    if any(finding.reason is Reason.INTERRUPTED for finding in run.findings):
        out.write(f"\ninterrupted before the {len(PLANTED)} planted faults could be found\n")
    elif right:
        out.write(f"\n{troubles} faults, both planted, both found\n")
    else:
        out.write(f"\n{len(PLANTED)} faults were planted, but this is not what was found: please report it\n")
    out.write(
        "next     edgeprobe run smoke --base-url https://your.host/v1 --api openai --model your-model\n"
    )
    return right
