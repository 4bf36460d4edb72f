"""Where are the secrets that were taken out of a text?

In this process alone, as if they were variables of its environment; never in a file, a command line or a log.
"""

from __future__ import annotations

import re

from probes.complaint import reference

PREFIX = "TOLD_"
KEY = f"{PREFIX}KEY"
"""The variable of the key that authorizes a request; of a placeholder it has no value."""
_LEAST = 8
"""Characters from which on a value is looked for wherever it stands."""


class Taken:
    """`repr` shows no value."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def __repr__(self) -> str:
        return "Taken()"

    def take(self, value: str, name: str) -> str:
        """Its variable: the same for the same value. `name`: of what it is, such as of a header."""
        known = next((variable for variable, held in self._values.items() if held == value), None)
        if known is not None:
            return known
        wanted = PREFIX + (re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper() or "SECRET")
        variable, number = wanted, 1
        while variable in self._values:
            number += 1
            variable = f"{wanted}_{number}"
        self._values[variable] = value
        return variable

    @property
    def environ(self) -> dict[str, str]:
        """Variable → value, to be laid over the process's own."""
        return dict(self._values)

    def hidden(self, text: str) -> str:
        """With references where one of the values stands."""
        for variable, value in sorted(self._values.items(), key=lambda item: -len(item[1])):
            if len(value) >= _LEAST:
                text = text.replace(value, reference(variable))
        return text
