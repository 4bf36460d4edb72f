"""How do runs that are kept as files count for a page, beside those of a database?"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from probes.memory.database import Database
from probes.memory.recording import put

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection

    from probes.model import Run


@contextmanager
def sources(database: Database, others: Sequence[Run]) -> Iterator[Sequence[Connection]]:
    """What a page is read from. `others` are put into a database of their own for as long as this lasts: who reads a
    canary's writes nothing into it.
    """
    with ExitStack() as stack:
        found = [database]
        if others:
            folder = stack.enter_context(TemporaryDirectory(prefix="edgeprobe-"))
            found.append(own := Database(f"sqlite:///{Path(folder) / 'runs.db'}"))
            stack.callback(own.close)
            for run in others:
                own.write(partial(put, run=run))
        yield [stack.enter_context(each.reading()) for each in found]
