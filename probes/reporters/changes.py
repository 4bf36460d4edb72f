"""What a run that was judged again says otherwise than before, for the console and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TextIO

from probes.reporters.console import Page
from probes.reporters.markdown import inert

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 5_000
"""Characters of Markdown: what GitHub takes in a comment beside a whole report."""
_CELL = 400


class Row(NamedTuple):
    """`rows` are (what, `before → after`)."""

    about: str
    rows: tuple[tuple[str, str], ...]


class Changes(NamedTuple):
    """`judged`: when and by what; `same`: what was compared, in words."""

    judged: str
    same: str
    rows: Sequence[Row]

    @property
    def headline(self) -> str:
        if not self.rows:
            return f"nothing changed: {self.same}"
        return f"what changed, judged again {self.judged}"


def report(changes: Changes, out: TextIO) -> None:
    """Plain ASCII, wrapped at 80 columns, where `out` is not a terminal."""
    page = Page(out)
    page.blank()
    page.line(changes.headline, style="bold")
    for about, rows in changes.rows:
        page.line(about)
        for label, text in rows:
            page.row(label, text)


def markdown(changes: Changes, out: TextIO) -> None:
    said = changes.headline
    out.write(f"\n### {inert(said[:1].upper() + said[1:])}\n\n")
    room = LIMIT
    for number, (about, rows) in enumerate(changes.rows):
        cells = (f"{inert(label)}: {inert(text[:_CELL])}" for label, text in rows)
        line = f"- **{inert(about[:_CELL])}** {'; '.join(cells)}\n"
        room -= len(line)
        if room < 0:
            out.write(f"- {len(changes.rows) - number} more, which the console shows\n")
            return
        out.write(line)
