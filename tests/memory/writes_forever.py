"""Writes runs until it is killed: one line for each event that is in the database."""

import sys
from datetime import timedelta

from memories import NOW, alert, events, run

from probes.memory import Memory

memory = Memory.open()
for n in range(10_000):
    made = run(NOW + timedelta(seconds=n))
    sink = memory.recording()
    for event in events(made):
        sink(event)
        sys.stdout.write(f"{made.id} {type(event).__name__}\n")
        sys.stdout.flush()
    memory.keep(alert(f"a{n}"))
