"""How far is the run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from probes.model import Began, Called, Event, Finished, Found, Started

if TYPE_CHECKING:
    from typing import TextIO


class Progress:
    """One status line on a terminal; nothing elsewhere, where lines would only be noise in a log."""

    def __init__(self, out: TextIO) -> None:
        self._console = Console(file=out, highlight=False, markup=False, emoji=False)
        self._status = self._console.status("starting") if out.isatty() else None
        self._running: dict[str, int] = {}
        self._found = 0

    def __call__(self, event: Event) -> None:
        if self._status is None or isinstance(event, Began):
            return
        if isinstance(event, Started):
            self._running[event.case.id] = 0
        elif isinstance(event, Called) and event.call.case in self._running:
            self._running[event.call.case] += 1
        elif isinstance(event, Found):
            self._found += 1
            self._running.pop(event.finding.case, None)
        elif isinstance(event, Finished):
            self.close()
            return
        cases = ", ".join(f"{name} ({n} sent)" for name, n in self._running.items())
        self._status.update(f"{cases or 'ending'} · {self._found} found")
        self._status.start()

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
