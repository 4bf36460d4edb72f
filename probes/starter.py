"""What does somebody who begins need to have in files?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes import schemas
from probes.bundled import bundled
from probes.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_FOR_EDITORS = "# yaml-language-server: $schema="


def files() -> dict[str, str]:
    """Path → text of the starter set."""
    return {
        "configs/targets/prod.yaml": f"{_FOR_EDITORS}../schemas/target.json\n{_bundled('configs', 'starter', 'target.yaml')}",
        "suites/smoke.yaml": f"{_FOR_EDITORS}../configs/schemas/suite.json\n{_bundled('suites', 'smoke.yaml')}",
        "configs/canary.yaml": f"{_FOR_EDITORS}schemas/canary.json\n{_bundled('configs', 'starter', 'canary.yaml')}",
        "configs/schemas/target.json": schemas.text("target"),
        "configs/schemas/suite.json": schemas.text("suite"),
        "configs/schemas/canary.json": schemas.text("canary"),
    }


def write(folder: Path) -> tuple[list[Path], list[Path]]:
    """The starter set under `folder`: what was written, and what was there and is left as it is."""
    written: list[Path] = []
    kept: list[Path] = []
    for name, text in files().items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
            written.append(path)
        except FileExistsError:
            if not path.is_file():
                raise UsageError(f"{path}: is in the way; its folder cannot be made") from None
            kept.append(path)
        except OSError as fault:
            raise UsageError(f"{path}: {fault.strerror}") from None
    return written, kept


def _bundled(*parts: str) -> str:
    return bundled(*parts).read_text("utf-8")
