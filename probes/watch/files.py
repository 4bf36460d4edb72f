"""Has anything been changed in the canary's files?

Looked up instead of notified of: a ConfigMap of Kubernetes is a chain of symbolic links, and an editor writes a new file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.watch.watched import digest

if TYPE_CHECKING:
    from pathlib import Path


class Files:
    """As they were when the canary was last read, whether that went well or not."""

    def __init__(self, files: tuple[Path, ...], read: str) -> None:
        self._files, self._digest = files, read
        self._stamps: list[tuple[int, ...] | None] = []

    def changed(self) -> bool:
        """Since they were last looked at; true once for each change. A file that was only touched is as it was."""
        stamps = _stamps(self._files)
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        before, self._digest = self._digest, digest(self._files)
        return self._digest != before


def _stamps(files: tuple[Path, ...]) -> list[tuple[int, ...] | None]:
    found: list[tuple[int, ...] | None] = []
    for path in files:
        try:
            stat = path.stat()
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except OSError:
            found.append(None)
    return found
