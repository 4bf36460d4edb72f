"""Which signatures are a target's own?

`configs/signatures/local/<target>.yaml` where the user stands, in the shape of the catalogue: the pages of one's own zone,
as `edgeprobe calibrate` keeps them. They are asked together with the catalogue, for that target alone. To another machine
they go as data, with the operator's files of products.
"""

from __future__ import annotations

from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from probes import signatures, strict_yaml
from probes.bundled import bundled, names
from probes.errors import ConfigError
from probes.model import Exchange, Timeline, WireRequest
from probes.response import Response
from probes.signature_rows import Product
from probes.signatures import STRENGTHS, Catalogue, Compiler, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.signature_rows import Sample
    from probes.signatures import Signature

_PRODUCTS = "configs/signatures"
FOLDER = File(_PRODUCTS, "local")


def file_of(target: str) -> File:
    return FOLDER / f"{target}.yaml"


def files() -> list[File]:
    return sorted(FOLDER.glob("*.yaml"))


def catalogue_for(target: str | None) -> Catalogue:
    """The catalogue, and among signatures of one strength the target's own first. Raises ConfigError as `read` does."""
    path = _there(target)
    return catalogue() if path is None else _beside(read(path), catalogue())


def _there(target: str | None) -> File | None:
    """The target's file, where it has one; the name may be a stranger's, and no path elsewhere."""
    path = file_of(target) if target is not None else None
    return path if path is not None and path.parent == FOLDER and path.is_file() else None


def _beside(own: Catalogue, whole: Catalogue) -> Catalogue:
    ranked = sorted((*own.signatures, *whole.signatures), key=lambda one: STRENGTHS.index(one.row.strength))
    return Catalogue(tuple(ranked), (*whole.marks, *own.marks))


# --- on another machine ----------------------------------------------------------------------------------


def carried(target: str) -> dict[str, Any]:
    """What stands here beside the bundled signatures, for another machine: `own` of the target, and `products` by the names
    of their files. Empty where nothing does.
    """
    path, known = _there(target), names(_PRODUCTS)
    own = {} if path is None else {"own": strict_yaml.load(path)[0]}
    shipped = bundled(_PRODUCTS)
    local = {name: file for name, file in known.items() if not file.resolve().is_relative_to(shipped)}
    products = {name: strict_yaml.load(file)[0] for name, file in local.items()}
    return own | ({"products": products} if products else {})


def catalogue_with(brought: Any, target: str, where: str) -> Catalogue:
    """The catalogue as `carried` tells of it elsewhere, each part in the place of what stands here by its name. `where` is
    its name in messages; raises ConfigError for what is none.
    """
    if not isinstance(brought, dict) or not isinstance(brought.get("products", {}), dict):
        raise ConfigError("holds no signatures", path=where)
    made = {
        name: _product(data, f"{where}: products.{name}")
        for name, data in brought.get("products", {}).items()
    }
    kept = [file for name, file in names(_PRODUCTS).items() if name not in made]
    whole = signatures.compiled([*map(signatures.read, kept), *made.values()]) if made else catalogue()
    if "own" in brought:
        return _beside(signatures.compiled([_product(brought["own"], f"{where}: own")]), whole)
    path = _there(target)
    return whole if path is None else _beside(read(path), whole)


def _product(data: Any, where: str) -> tuple[Compiler, Product]:
    """No sample is tried: where a secret was taken out of one, it need not match any more."""
    return Compiler(File(where), {}, ours=False), strict_yaml.check(data, Product, path=where)


# --- as they are written ---------------------------------------------------------------------------------


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
