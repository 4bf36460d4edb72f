"""What came of a calibration, as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from probes.reporters.console import Page

if TYPE_CHECKING:
    from collections.abc import Iterable


def report(title: str, tag: str, rows: Iterable[tuple[str, str]], out: TextIO) -> None:
    """Plain ASCII, wrapped at 80 columns, where `out` is not a terminal; `rows` are (label, text)."""
    page = Page(out)
    page.heading(Text(page.clean(title), style="bold"), tag)
    for label, text in rows:
        page.row(label, text)
