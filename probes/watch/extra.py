"""Is what a canary needs beyond a run installed?"""

from __future__ import annotations

from importlib.util import find_spec

from probes.errors import UsageError
from probes.watch.cron import MISSING

EXTRA = ("alembic", "apprise", "cronsim", "prometheus_client", "schedule", "sqlalchemy")


def check() -> None:
    """UsageError where it is not; looked for, not loaded, since some of it is slow and may not be needed."""
    if any(find_spec(name) is None for name in EXTRA):
        raise UsageError(f"watch {MISSING}")
