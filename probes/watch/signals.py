"""What does the machine ask of the canary?

A handler runs between any two steps of the main thread, which may hold a lock just then; so it only puts the signal into
a queue that is made for that (`queue.SimpleQueue`, whose `put` is reentrant), and a thread tells of it.
"""

from __future__ import annotations

import queue
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ("SIGTERM", "SIGINT", "SIGHUP")


@contextmanager
def heard(tell: Callable[[str], None]) -> Iterator[None]:
    """Tells the name of each while the context lasts; outside the main thread nothing is heard."""
    came: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def listen() -> None:
        while (name := came.get()) is not None:
            tell(name)

    thread = threading.Thread(target=listen, name="signals", daemon=True)
    thread.start()
    before = {
        number: signal.signal(number, lambda got, _: came.put(signal.Signals(got).name))
        for number in (getattr(signal, name) for name in NAMES)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        came.put(None)
        thread.join()
