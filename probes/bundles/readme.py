"""What does somebody read first who was sent a bundle?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.bundles import SCHEMA
from probes.redact import safe_text
from probes.reproducers import FOLDER

if TYPE_CHECKING:
    from probes.bundles.programs import Reproducer
    from probes.model import Run


def readme(run: Run, shown: list[Reproducer]) -> str:
    variables = sorted({name for one in shown if one.told is not None for name in one.told.secrets})
    keys = (
        f"No key is in it. What is run needs: export {' '.join(f'{name}=…' for name in variables)}\n"
        if variables
        else ""
    )
    route = next(iter(run.target.routes.values()))
    return (
        f"edgeprobe run {run.id}: {run.verdict}\n"
        f"{', '.join(run.suites)} on {safe_text(route.base_url)}, {run.started:%Y-%m-%d %H:%M} UTC\n\n"
        f"{_findings(shown)}"
        f"{keys}\n"
        "To judge it again, on any machine (sends nothing):\n\n"
        f"    edgeprobe report {run.id}.zip\n\n"
        f"{_without(run, shown)}"
        "run.json          the run, edgeprobe.run/1 with what a replay needs\n"
        "exchanges.har     every request and answer, HAR 1.2\n"
        "chunks.csv        when each piece of a body came, and each event of a stream\n"
        "environment.json  with what it was measured\n"
        "request.json      the request that this is about\n"
        "signatures.json   signatures of the operator's own, if any, by which it was judged\n"
        f"{FOLDER}/      what failed, as programs: .sh curl, .py Python with httpx, .cjs Node.js, .sdk.* the official SDK\n"
        f"manifest.json     {SCHEMA}: what is in it, and what was left out\n"
    )


def _without(run: Run, shown: list[Reproducer]) -> str:
    if not shown:
        return ""
    unpack = f"    unzip -d bundle {run.id}.zip && cd bundle\n    sh {FOLDER}/{shown[0].name}.sh\n"
    return f"To see the same without edgeprobe:\n\n{unpack}\n"


def _findings(shown: list[Reproducer]) -> str:
    rows = [f"- {safe_text(one.finding.title)}\n  sh {FOLDER}/{one.name}.sh\n" for one in shown]
    return "What failed, and what shows it:\n\n" + "".join(rows) + "\n" if rows else ""
