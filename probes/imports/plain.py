"""What was written, before its secrets are taken out?

It lives no longer than its form's module needs to read it; `private.told` makes a `Told` of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from probes.complaint import Form

_OPEN, _SHUT = "\ue000", "\ue001"
"""Around the name of a shell variable whose value the text does not tell; both are of the private use of Unicode."""


def unresolved(name: str) -> str:
    """What stands for a shell variable until the secrets are taken out."""
    return f"{_OPEN}{name}{_SHUT}"


def cleaned(text: str) -> str:
    """Without what `unresolved` writes."""
    return text.replace(_OPEN, "\ufffd").replace(_SHUT, "\ufffd")


UNRESOLVED = rf"{_OPEN}([A-Za-z_]\w*){_SHUT}"


@dataclass(slots=True, repr=False)
class Plain:
    """`headers` as on the wire, without those that frame the message. `user`: `name:password`, of Basic."""

    form: Form
    method: str
    url: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    user: str | None = None
    client: str | None = None
    version: str | None = None
    http_version: Literal["1.1", "2"] | None = None
    family: Literal[4, 6] | None = None
    connect_to: str | None = None
    proxy: str | None = None
    seen: str | None = None
    notes: list[str] = field(default_factory=list)
