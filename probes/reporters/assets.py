"""What is a page made of that is the same for every run: its style, its script, and the chart library?

uPlot 1.6.32 (MIT, its licence beside it) as npm has it: uplot-1.6.32.tgz, files of `dist/`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

UPLOT = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""SHA-256 of each, as published."""


@cache
def asset(name: str) -> str:
    return files("probes.reporters").joinpath("page", *name.split("/")).read_text("utf-8")


@cache
def style(*, plots: bool) -> str:
    return asset("uplot/uPlot.min.css") + "\n" + asset("style.css") if plots else asset("style.css")


@cache
def scripts(script: str) -> tuple[str, ...]:
    return asset("uplot/uPlot.iife.min.js"), asset("plots.js"), asset(script)


@cache
def policy(*, plots: bool, script: str) -> str:
    """Nothing is loaded from anywhere, and nothing runs but what is named here by its digest."""
    ours = " ".join(map(_source, scripts(script))) if plots else "'none'"
    allowed = f"style-src {_source(style(plots=plots))}; script-src {ours}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _source(inline: str) -> str:
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    return f"'sha256-{digest}'"
