"""How does each page begin?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.reporters.assets import policy, style
from probes.reporters.figures import text

if TYPE_CHECKING:
    from collections.abc import Iterator


def head(title: str, *, plots: bool, script: str) -> Iterator[str]:
    """Down to the beginning of what is shown. `script`: what draws the plots, where there are any."""
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy(plots=plots, script=script)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>edgeprobe {text(title)}</title>"
    yield f"<style>{style(plots=plots)}</style>"
    yield "</head>"
    yield "<body>"
    yield "<main>"


def heads(*titles: str) -> str:
    """Of the columns of a table, in HTML."""
    cells = "".join(f'<th scope="col">{title}</th>' for title in titles)
    return f"<thead><tr>{cells}</tr></thead>"
