"""How long does a pasted response take, from the shell and in a program that goes on?

`uv run python tests/bench/classify.py [RUNS]` prints JSON. `cold_s`: the wall time of `edgeprobe classify FILE`, in
seconds (aim 0.4), and its CPU. `warm_per_s`: responses a second on one core, over every sample of the catalogue as
`curl -i` prints it, the slowest of them beside (aim 1,000); `ratio` is the aim's time for one to the measured one, so
above 1 is better.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from pasted_forms import python, raw, verbose

from probes.classify import classify
from probes.signatures import catalogue

AIM_PER_S = 1_000
FORMS = {"curl -i": raw, "curl -v": verbose, "exception": lambda status, _, body: python(status, body)}


def warm(form, runs):
    """(responses a second, the slowest in ms)."""
    samples = [sample for signature in catalogue().signatures for sample in signature.row.samples]
    texts = [FORMS[form](sample.status, sample.headers, sample.body).encode() for sample in samples]
    for text in texts:
        classify(text)
    took = [[] for _ in texts]
    for _ in range(runs):
        for text, times in zip(texts, took, strict=True):
            began = time.process_time()
            classify(text)
            times.append(time.process_time() - began)
    best = [min(times) for times in took]
    return len(best) / sum(best), max(best) * 1000


def cold(runs):
    text = raw(403, {"server": "cloudflare", "cf-ray": "8c0ffee0ddba11ad-FRA"}, "error code: 1010")
    edgeprobe = str(Path(sys.executable).with_name("edgeprobe"))
    user = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    took, busy = [], []
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # not the checkout: there the catalogue counts as a user's own
        path = Path(folder, "pasted.txt")
        path.write_text(text)
        for _ in range(runs + 1):  # the first may compile files
            began, worked = time.perf_counter(), _children()
            subprocess.run(
                [edgeprobe, "classify", str(path)], check=True, capture_output=True, cwd=folder, env=user
            )
            took.append(time.perf_counter() - began)
            busy.append(_children() - worked)
    return took[1:], busy[1:]


def _children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(runs):
    forms = {form: warm(form, runs) for form in FORMS}
    wall, cpu = cold(runs)
    per_s = forms["curl -i"][0]
    return {
        "bench": "classify",
        "ratio": round(per_s / AIM_PER_S, 2),
        "n": runs,
        "warm_per_s": {form: round(rate) for form, (rate, _) in forms.items()},
        "slowest_ms": {form: round(slowest, 2) for form, (_, slowest) in forms.items()},
        "cold_s": {
            "median": round(median(wall), 3),
            "least": round(min(wall), 3),
            "cpu": round(median(cpu), 3),
        },
        "conditions": {
            "python": platform.python_version(),
            "signatures": len(catalogue().signatures),
            "warm": "CPU of one core, the least of the runs for each sample",
            "cold": "wall, files compiled before",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)))
