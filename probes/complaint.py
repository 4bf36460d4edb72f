"""What did a customer send, as it was told?

Frozen nouns alone, like those of `model`. No secret is in them: where one stood, `{env:NAME}` names the variable that
holds it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

Form = Literal["curl", "har", "http", "sdk", "bundle"]


def reference(variable: str) -> str:
    """What stands in the place of a secret, in a header, a URL or a body."""
    return f"{{env:{variable}}}"


@dataclass(frozen=True, slots=True)
class Told:
    """One HTTP request as somebody told it.

    `url`: absolute, without fragment, user and password; path and query are as written. `headers`: names, case, order
    and values as written, without those that frame the message (`Host` where it is the URL's, `Content-Length`,
    `Transfer-Encoding`, HTTP/2's pseudo-headers). `client`: the name of the client whose own software sends it, such as
    `curl` or `openai-py`; `None` where nobody said. `version`: of that software, as the user agent or the person says.
    `http_version`, `family`, `connect_to`, `proxy`: as far as the form tells them.
    `secrets`: the variables that `{env:NAME}` may stand for in it; no other is ever filled in.
    `digests`: of headers whose value was taken out since nobody knows what it is: name → `digest_of` the value.
    `differs`: those of them whose value here is another one than was told.
    `seen`: the answer that came with it, in words (`403 error code: 1010, ray …`), where the form has one.
    `notes`: what of the form is not part of the request and was left out, or was taken another way than written, and why.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "val_json_bytes": "base64"}

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    form: Form
    client: str | None = None
    version: str | None = None
    http_version: Literal["1.1", "2"] | None = None
    family: Literal[4, 6] | None = None
    connect_to: str | None = None
    proxy: str | None = None
    secrets: tuple[str, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()
    differs: tuple[str, ...] = ()
    seen: str | None = None
    notes: tuple[str, ...] = ()


def digest_of(name: str, value: str) -> str:
    """Tells another value of a header from this one, and so little of it that the value is not found by trying: slow, and
    shared by one value in 65,536.
    """
    made = hashlib.scrypt(value.encode(), salt=name.lower().encode(), n=2**14, r=8, p=1, dklen=2)
    return f"scrypt:{made.hex()}"


def to_document(told: Told) -> dict[str, Any]:
    """As JSON-like data; the body in base64."""
    return asdict(told) | {"body": base64.b64encode(told.body).decode("ascii")}


def from_document(stored: object) -> Told:
    """What `to_document` wrote; pydantic's ValidationError for anything else."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - most that knows these nouns reads no document

    told: Told = TypeAdapter(Told).validate_json(json.dumps(stored))
    return told
