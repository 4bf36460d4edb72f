"""Does every benchmark run, and print what it says?"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(path for path in Path(__file__).parent.glob("*.py") if path.name != Path(__file__).name)
NEEDS = {"canary_beside_blackbox": "prometheus-blackbox-exporter"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_prints_its_figures_with_their_conditions(script):
    """Once each, for the shape alone: a test that fails by time tells nothing on a busy machine."""
    needed = NEEDS.get(script.stem)
    if needed and shutil.which(needed) is None and os.environ.get("EDGEPROBE_REQUIRE_REAL") != "1":
        pytest.skip(f"{needed} is not installed")
    ran = subprocess.run([sys.executable, str(script), "1"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout)
    assert figures["bench"] == script.stem
    assert figures["ratio"] > 0
    assert figures["n"] == 1
    assert figures["conditions"]
