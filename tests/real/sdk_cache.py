"""Where are the versions of SDKs installed that a file of tests asks with?"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

from probes.clients import environments


@contextmanager
def sdk_cache(folder):
    """With a cache of SDKs of its own, so that each version is installed once; what is to be there is required or skipped."""
    for tool in ("uv", "npm", "node"):
        if shutil.which(tool) is None:
            if os.environ.get("EDGEPROBE_REQUIRE_REAL"):
                pytest.fail(f"{tool} is not installed")
            pytest.skip(f"{tool} is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEPROBE_CACHE", str(folder))
        patch.setattr(environments, "_found", {})
        yield
