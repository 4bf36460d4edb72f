"""Which bundles do `run`, `during`, `repro` and `report` write, and what is shown of one?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probes import outputs, store
from probes.bundles import SUFFIX
from probes.bundles.reading import is_bundle
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.model import Verdict

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from probes.model import Run


def check(arguments: Namespace) -> None:
    """Before anything is spent: raises UsageError for a name by which it would not be known again."""
    if arguments.bundle is not None and not is_bundle(arguments.bundle):
        raise UsageError(f"--bundle {arguments.bundle}: a bundle's name ends in {SUFFIX}")


def after(run: Run, arguments: Namespace, secrets: Secrets | None = None) -> bool:
    """Of a run that was just made: where it was asked for, and beside the stored run where it failed. Whether there is one."""
    from probes.bundles.writing import save  # noqa: PLC0415 - a run that is fine needs none of it

    secrets = secrets or Secrets()
    written = arguments.bundle is not None
    if run.verdict is Verdict.FAIL and not arguments.no_store:
        path = store.reports_dir() / f"{run.id}{SUFFIX}"
        try:
            save(run, path, secrets, here=True)
            _say(path, arguments)
            written = True
        except UsageError as fault:  # what was paid for is shown and judged, bundled or not
            sys.stderr.write(f"edgeprobe: no bundle: {fault}\n")
    if arguments.bundle is not None:
        save(run, Path(arguments.bundle), secrets, here=True)
        _say(Path(arguments.bundle), arguments)
    return written


def of_stored(run: Run, arguments: Namespace, signatures: Mapping[str, Any] | None) -> None:
    """Of a run that another process made, on another machine perhaps. `signatures`: see `save`."""
    from probes.bundles.writing import save  # noqa: PLC0415

    if arguments.bundle is not None:
        save(run, Path(arguments.bundle), Secrets(), signatures)
        _say(Path(arguments.bundle), arguments)


def _say(path: Path, arguments: Namespace) -> None:
    outputs.person(arguments).write(f"bundle {path}\n")
