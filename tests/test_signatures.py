"""Does each signature know its own samples, and does a wrong file get a helpful refusal?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from exchanges import exchange

from probes import strict_yaml
from probes.attribution import attribute
from probes.bundled import names
from probes.errors import ConfigError
from probes.model import Confidence, Layer
from probes.signature_rows import Product
from probes.signatures import Signature, catalogue, load
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = [
    pytest.param(signature, sample, id=f"{signature.id}-{n}")
    for signature in catalogue().signatures
    for n, sample in enumerate(signature.row.samples)
]
CONFIDENCE = {"exclusive": Confidence.HIGH, "strong": Confidence.MEDIUM, "supporting": Confidence.LOW}


def write(folder: Path, text: str) -> Path:
    path = folder / "acme.yaml"
    path.write_text(text)
    return path


GOOD = """\
version: 1
product: acme
layer: edge
transit: {x-acme: ""}
signatures:
  - id: acme.403
    code: blocked
    strength: strong
    match: {status: [403], body: ["^no$"]}
    source: ["https://acme.example/errors"]
    samples: [{status: 403, origin: docs, body: "no"}]
"""


@pytest.mark.parametrize("signature, sample", SAMPLES)
def test_sample_is_attributed_to_its_own_signature(signature: Signature, sample):
    """A sample yields the code, layer, product and confidence of the signature that carries it."""
    seen = exchange(sample.status, sample.body, sample.headers, url="")
    found = attribute(seen, catalogue())
    assert (found.signature, found.code, found.layer) == (signature.id, signature.row.code, signature.layer)
    if signature.product:
        assert found.product == signature.product
    assert found.confidence == (
        Confidence.LOW if signature.layer is Layer.UNKNOWN else CONFIDENCE[signature.row.strength]
    )


@pytest.mark.parametrize("signature, sample", SAMPLES)
def test_sample_is_no_other_products(signature: Signature, sample):
    """No named product but its own claims a sample."""
    found = attribute(exchange(sample.status, sample.body, sample.headers, url=""), catalogue())
    assert found.product in {signature.product, None}
    assert found.product not in found.transit


def test_every_code_is_in_the_vocabulary():
    """A signature names a finding code that exists."""
    assert {one.row.code for one in catalogue().signatures} <= set(vocabulary())


def test_every_signature_has_source_and_sample():
    """A signature says where its fact is from and carries a response that proves it."""
    assert [one.id for one in catalogue().signatures if not (one.row.source and one.row.samples)] == []


def test_a_shape_that_anybody_speaks_is_never_exclusive():
    """Without a product nothing is exclusive, and without a layer nothing is more than supporting."""
    for one in catalogue().signatures:
        assert one.product or one.row.strength != "exclusive", one.id
        assert one.layer is not Layer.UNKNOWN or one.row.strength == "supporting", one.id


def test_loading_every_file_is_fast():
    """The bundled catalogue is compiled in under 60 ms."""
    files = list(names("configs/signatures").values())
    took = []
    for _ in range(3):
        start = time.perf_counter()
        load(files)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.06


def test_a_file_of_ones_own_is_used(tmp_path: Path):
    """A product is added with one file."""
    mine = load([write(tmp_path, GOOD)])
    found = attribute(exchange(403, "no", {"X-Acme": "1"}), mine)
    assert (found.product, found.code, found.transit) == ("acme", "blocked", ())


@pytest.mark.parametrize(
    "was, is_, line, said",
    [
        ("strength: strong", "strenght: strong", 8, "did you mean strength?"),
        ("strength: strong", "strength: certain", 8, "certain"),
        ('body: ["^no$"]', 'body: ["^(no$"]', 9, "not a regex"),
        ('body: ["^no$"]', 'body: ["cloudflare"]', 9, "starts with ^ or with a tag"),
        ('{x-acme: ""}', '{x-acme: "["}', 4, "not a regex"),
        ("status: [403],", "status: [4x],", 9, "neither a status"),
        ("status: [403],", "status: [403], json: {error: {equals: 1}},", 9, "not a path"),
        ("    source:", '    extract: {ray: {header: cf-ray, regex: "^a"}}\n    source:', 10, "no group"),
    ],
    ids=[
        "unknown key",
        "bad word",
        "bad regex",
        "unanchored",
        "bad mark",
        "bad status",
        "bad path",
        "no group",
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, was: str, is_: str, line: int, said: str):
    """A mistake in a signature file names file, line and remedy."""
    path = write(tmp_path, GOOD.replace(was, is_, 1))
    with pytest.raises(ConfigError) as told:
        load([path])
    assert str(told.value).startswith(f"{path}:{line}: ")
    assert said in str(told.value)


def test_an_id_stands_once(tmp_path: Path):
    """Two signatures can't share an id."""
    again = GOOD[GOOD.index("  - id") :]
    with pytest.raises(ConfigError, match="stands twice"):
        load([write(tmp_path, GOOD + again)])


def test_files_are_named_after_their_product():
    """`configs/signatures/<product>.yaml` holds that product, or none."""
    for stem, path in names("configs/signatures").items():
        data, lines = strict_yaml.load(path)
        assert strict_yaml.check(data, Product, path=path, lines=lines).product in {stem, None}
