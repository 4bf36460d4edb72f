"""Which signatures are a target's own?

`configs/signatures/local/<target>.yaml` where the user stands, in the shape of the catalogue: the pages of one's own zone,
as `edgeprobe calibrate` keeps them. They are asked together with the catalogue, for that target alone.
"""

from __future__ import annotations

from pathlib import Path as File
from typing import TYPE_CHECKING

from probes import signatures, strict_yaml
from probes.model import Exchange, Timeline, WireRequest
from probes.response import Response
from probes.signatures import STRENGTHS, Catalogue, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.signature_rows import Sample
    from probes.signatures import Signature

FOLDER = File("configs/signatures/local")


def file_of(target: str) -> File:
    return FOLDER / f"{target}.yaml"


def files() -> list[File]:
    return sorted(FOLDER.glob("*.yaml"))


def catalogue_for(target: str | None) -> Catalogue:
    """The catalogue, and among signatures of one strength the target's own first. Raises ConfigError as `read` does."""
    path = file_of(target) if target is not None else None
    if path is None or not path.is_file():
        return catalogue()
    own, whole = read(path), catalogue()
    ranked = sorted((*own.signatures, *whole.signatures), key=lambda one: STRENGTHS.index(one.row.strength))
    return Catalogue(tuple(ranked), (*whole.marks, *own.marks))


def read(path: File, *, called: File | None = None) -> Catalogue:
    """The signatures of such a file, in its order; `called` is its name in messages.

    Raises ConfigError with file, line and key: what the catalogue's reader refuses, and what the catalogue's tests would:
    an id of the catalogue's, a finding code that is not known, a sample that does not match, `exclusive`.
    """
    compiler, product = signatures.read(path)
    own = compiler.signatures(product, set())
    for index, signature in enumerate(own):
        for key, problem in _problems(signature):
            strict_yaml.refuse(problem, called or path, compiler.lines, ("signatures", index, *key))
    return Catalogue(tuple(own), tuple(compiler.marks(product)))


def _problems(signature: Signature) -> Iterator[tuple[strict_yaml.KeyPath, str]]:
    row = signature.row
    if any(row.id == one.id for one in catalogue().signatures):
        yield ("id",), f"{row.id!r} stands in the catalogue; give it another"
    if row.strength == "exclusive":
        yield ("strength",), "is strong at most here: exclusive takes two sources, as the catalogue has them"
    if not (row.match.json or row.match.body):
        yield ("match",), "names nothing in the body: headers and a status are not one zone's alone"
    for number, sample in enumerate(row.samples):
        if not signature.matches(sampled(sample)):
            yield ("samples", number), "is not matched by its own signature"


def sampled(sample: Sample) -> Response:
    """A sample as conditions look at it."""
    body = sample.body.encode("utf-8", "replace")
    seen = Exchange(
        id="sample",
        request=WireRequest("GET", "", (), 0, None, None),
        status=sample.status,
        headers={name: [value] for name, value in sample.headers.items()},
        body_head=body,
        body_tail=b"",
        body_bytes=len(body),
        body_digest=None,
        body_encoding=None,
        timeline=Timeline(),
        facts={},
    )
    return Response.of(seen)
