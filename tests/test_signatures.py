"""Does each signature know its own samples, and does a wrong file get a helpful refusal?"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from exchanges import exchange

from probes import strict_yaml
from probes.attribution import attribute
from probes.bundled import names
from probes.classify.pages import pages
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
EVERY = [pytest.param(signature, id=signature.id) for signature in catalogue().signatures]
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
    verified: docs
    source: ["https://acme.example/errors"]
    samples: [{status: 403, origin: docs, body: "no"}]
"""


@pytest.mark.parametrize("signature, sample", SAMPLES)
def test_sample_is_attributed_to_its_own_signature(signature: Signature, sample):
    """A sample yields the code, layer, product and confidence of the signature that carries it."""
    seen = exchange(sample.status, sample.body, sample.headers, url="")
    found = attribute(seen, catalogue())
    code = found.code.removesuffix(".no_hint")
    assert (found.signature, code, found.layer) == (signature.id, signature.row.code, signature.layer)
    assert found.advice == signature.row.advice
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


@pytest.mark.parametrize("one", EVERY)
def test_every_signature_has_source_and_sample(one: Signature):
    """A signature says where its fact is from, or that it has no proof, and carries a response that shows it."""
    assert one.row.source
    assert one.row.samples
    urls = [source for source in one.row.source if re.fullmatch(r"https://[^\s]+", source)]
    assert urls == ([] if one.row.verified == "none" else list(one.row.source))


@pytest.mark.parametrize("one", EVERY)
def test_only_what_is_verified_is_more_than_supporting(one: Signature):
    """What rests on no source and no capture is never exclusive, nor strong."""
    assert one.row.verified != "none" or one.row.strength == "supporting"
    captured = [sample.origin == "capture" for sample in one.row.samples]
    assert (one.row.verified == "capture") == any(captured) == all(captured)


FORMS = {"json", "plain", "markdown", "html", "page", "text", "imitates"}


def form(one: Signature) -> tuple[str | None, str]:
    """Signatures of one product that read the same form of its answers share their proof, since the codes differ only."""
    return one.product, next((part for part in one.id.split(".")[1:] if part in FORMS), one.id)


def test_what_is_exclusive_was_seen_twice():
    """It rests on a capture, or on two quotations of different places that show its form."""
    places: defaultdict[tuple[str | None, str], set[str]] = defaultdict(set)
    captured = set()
    for one in catalogue().signatures:
        for sample in one.row.samples:
            if sample.origin == "capture":
                captured.add(form(one))
            elif sample.source:
                places[form(one)].add(sample.source)
    for one in catalogue().signatures:
        if one.row.strength == "exclusive":
            assert form(one) in captured or len(places[form(one)]) > 1, one.id


@pytest.mark.parametrize("_signature, sample", SAMPLES)
def test_a_sample_says_where_it_was_taken(_signature: Signature, sample):
    """What was quoted begins with the address of its place, what was captured with the program; what was composed names
    none.
    """
    assert (sample.source is None) == (sample.origin == "composed")
    if sample.origin == "capture":
        assert re.match(r"[a-z]+/[\d.]+, \w", sample.source)
    elif sample.source:
        assert re.match(r"https://[^\s,]+\.\S", sample.source)


@pytest.mark.parametrize("one", [one for one in EVERY if one.values[0].row.advice])
def test_advice_is_one_sentence(one: Signature):
    """It starts with a capital, ends with a full stop, stands on one line, and spares the probe no rule."""
    advice = one.row.advice
    assert re.fullmatch(r"[A-Z][^\n]{20,220}\.", advice)
    assert not re.search(r"[.!?] [A-Z]", advice)
    assert not re.search(r"(?i)probe|monitor|exempt", advice)


def test_advice_stands_where_a_product_refuses():
    """Whatever a product of the edge makes itself comes with what to change there, unless nobody can."""
    bare = {one.id for one in catalogue().signatures if one.layer is Layer.EDGE and not one.row.advice}
    assert bare == {
        "cloudflare.other.json",
        "cloudflare.other.markdown",
        "cloudflare.other.plain",
        "cloudflare.short.400",
        "nginx.400",
        "haproxy.400",
    }


def test_a_shape_that_anybody_speaks_is_never_exclusive():
    """Without a product nothing is exclusive, and without a layer nothing is more than supporting."""
    for one in catalogue().signatures:
        assert one.product or one.row.strength != "exclusive", one.id
        assert one.layer is not Layer.UNKNOWN or one.row.strength == "supporting", one.id


@pytest.mark.parametrize("name", ["signatures", "pasted"])
def test_every_regex_of_ours_compiles(name: str):
    """They are compiled when they are first used, so that a mistake in one would show late."""
    found = catalogue().signatures if name == "signatures" else pages().as_text.signatures
    for one in found:
        conditions = [test.regex for test in one._json if test.regex]
        for regex in (*one._body, *(pattern for _, pattern in one._headers), *conditions):
            assert regex.check()
        for _, reader in one._readers:
            assert reader.regex is None or reader.regex.check().groups
    assert all(regex.check() for _, _, marks in catalogue().marks for _, regex in marks)


def test_loading_every_file_is_fast():
    """The bundled catalogue is compiled in under 0.5 ms of this process's own time a signature."""
    files = list(names("configs/signatures").values())
    took = []
    for _ in range(8):
        start = time.process_time()
        load(files)
        took.append(time.process_time() - start)
    assert min(took) < 0.0005 * len(catalogue().signatures)


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
        ("code: blocked", "code: bloked", 7, "did you mean blocked?"),
        ('body: ["^no$"]', 'body: ["^(no$"]', 9, "not a regex"),
        ('body: ["^no$"]', 'body: ["cloudflare"]', 9, "starts with ^ or with a tag"),
        ('body: ["^no$"]', 'json: {$.error: {regex: "no"}}', 9, "a JSON regex starts with ^"),
        ('{x-acme: ""}', '{x-acme: "["}', 4, "not a regex"),
        ("status: [403],", "status: [4x],", 9, "neither a status"),
        ("status: [403],", "status: [403], json: {error: {equals: 1}},", 9, "not a path"),
        ("    source:", '    extract: {ray: {header: cf-ray, regex: "^a"}}\n    source:', 11, "no group"),
        ("verified: docs", "verified: none", 8, "supporting at most"),
        ("verified: docs", "verified: rumour", 10, "rumour"),
    ],
    ids=[
        "unknown key",
        "bad word",
        "unknown code",
        "bad regex",
        "unanchored",
        "unanchored JSON",
        "bad mark",
        "bad status",
        "bad path",
        "no group",
        "unverified",
        "bad proof",
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, was: str, is_: str, line: int, said: str):
    """A mistake in a signature file names file, line and remedy."""
    path = write(tmp_path, GOOD.replace(was, is_, 1))
    with pytest.raises(ConfigError) as told:
        load([path])
    assert str(told.value).startswith(f"{path}:{line}: ")
    assert said in str(told.value)


def test_statuses_may_be_a_span(tmp_path: Path):
    """From one to another, both included."""
    mine = load([write(tmp_path, GOOD.replace("status: [403]", "status: [400-402, 404-499]"))])
    (one,) = mine.signatures
    assert {400, 402, 404, 499} <= one.statuses
    assert not {399, 403, 500} & one.statuses


def test_an_id_stands_once(tmp_path: Path):
    """Two signatures can't share an id."""
    again = GOOD[GOOD.index("  - id") :]
    with pytest.raises(ConfigError, match="stands twice"):
        load([write(tmp_path, GOOD + again)])


def test_files_are_named_after_their_product():
    """`configs/signatures/<product>.yaml` holds that product, written as people write it, or none."""
    for stem, path in names("configs/signatures").items():
        data, lines = strict_yaml.load(path)
        product = strict_yaml.check(data, Product, path=path, lines=lines).product
        assert product is None or product.lower().replace(" ", "-") == stem
