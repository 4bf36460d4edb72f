"""Which clients can ask, as whom, and what keeps one from it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Client


class Row(NamedTuple):
    """`unavailable`: why it can't be used on this machine; the rest is then not known of it."""

    client: Client
    version: str | None
    user_agent: str | None
    unavailable: str | None


_HEADINGS = ("client", "is", "api", "version", "available", "user agent")


def report(rows: Sequence[Row], out: TextIO) -> None:
    table = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(_HEADINGS) - 1)]
    for *cells, last in table:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
        out.write("  ".join([*padded, last]).rstrip() + "\n")
    out.write("\nemulated: the header set only; TLS and framing are ours\n")
    for row in rows:
        if row.unavailable is not None:
            out.write(f"{row.client.name}: {row.unavailable}\n")


def _cells(row: Row) -> tuple[str, ...]:
    client = row.client
    return (
        client.name,
        "genuine" if client.genuine else "emulated",
        client.api or "any",
        row.version or "-",
        "yes" if row.unavailable is None else "no",
        row.user_agent or "-",
    )
