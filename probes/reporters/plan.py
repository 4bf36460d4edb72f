"""What would a run send, and what could it cost at the most?"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Skipped, Target

Row = tuple[str, str, int, int, float]
"""(case, clients, requests, tokens, seconds), each at the most."""


def report(rows: Sequence[Row], skipped: Sequence[Skipped], target: Target, out: TextIO) -> None:
    lines = [f"target   {target.name} ({target.api}, {target.model})"]
    for name, route in target.routes.items():
        lines.append(
            f"route    {name:<8} {route.base_url}{f' at {route.connect_to}' if route.connect_to else ''}"
        )
    width = max((len(row[0]) for row in rows), default=7)
    lines += ["", f"{'case':<{width}}  requests    tokens  seconds  clients"]
    for case, clients, requests, tokens, seconds in rows:
        lines.append(f"{case:<{width}}  {requests:>8}  {tokens:>8,}  {seconds:>7.0f}  {clients}")
    requests, tokens = sum(row[2] for row in rows), sum(row[3] for row in rows)
    budget = target.budget
    lines += [
        f"{'at most':<{width}}  {requests:>8}  {tokens:>8,}",
        f"budget   {_or_none(budget.requests)} requests, {_or_none(budget.tokens)} tokens",
        *(f"skipped  {s.case}{f' with {s.client}' if s.client else ''}: {s.reason}" for s in skipped),
        "nothing was sent",
    ]
    out.write("\n".join(lines) + "\n")


def _or_none(ceiling: int | None) -> str:
    return "no limit of" if ceiling is None else f"{ceiling:,}"
