"""What did the answer say that came with a request, in few words?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.imports.private import without_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST = 120
_IDS = {
    "cf-ray": "ray",
    "x-request-id": "request id",
    "request-id": "request id",
    "x-amz-cf-id": "CloudFront id",
}


def words(
    status: int, headers: Mapping[str, Sequence[str]], body: bytes | None, error: str = ""
) -> str | None:
    """Such as `403 error code: 1010, ray 8f…`; `None` where there was no answer to tell of."""
    parts = [str(status) if status else "no answer", error]
    kind = ", ".join(headers.get("content-type", ()))
    text = " ".join((body or b"")[: 4 * _MOST].decode("utf-8", "replace").split())
    if status and text and not text.startswith("<") and "event-stream" not in kind:
        parts.append(text[:_MOST])
    ids = [f"{word} {headers[name][0]}" for name, word in _IDS.items() if headers.get(name)]
    said = " ".join(part for part in parts if part)
    return without_keys(", ".join([said, *ids])) if status or error else None
