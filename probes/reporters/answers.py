"""What a pasted text says, as a person reads it: one answer after the other, in the order of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TextIO

from rich.text import Text

from probes.reporters.console import Page

if TYPE_CHECKING:
    from collections.abc import Sequence


class Row(NamedTuple):
    """An answer: `tag` names code, layer and product; `rows` are (label, text); `command` makes the next test."""

    title: str
    tag: str
    rows: tuple[tuple[str, str], ...]
    command: str | None = None


def report(answers: Sequence[Row], out: TextIO) -> None:
    """Plain ASCII, wrapped at 80 columns, where `out` is not a terminal."""
    page = Page(out)
    for number, answer in enumerate(answers, 1):
        if number > 1:
            page.blank()
        place = f"{number} of {len(answers)}  " if len(answers) > 1 else ""
        page.heading(
            Text(place, style="dim").append(page.clean(answer.title), style="bold not dim"), answer.tag
        )
        for label, text in answer.rows:
            page.row(label, text)
        if answer.command:
            page.command("try", answer.command)
