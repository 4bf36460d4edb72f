"""Is what is read without pydantic what pydantic would have read, and nothing that it would have refused?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes import misfits, shapes, strict_yaml
from probes.bundled import bundled, names
from probes.errors import ConfigError
from probes.signature_rows import Product


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    size: int
    ratio: float = 1.0
    colour: Colour | None = None


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    kind: Literal["small", "large"] = "small"
    rows: tuple[Inner, ...] = ()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    by_colour: Mapping[Colour, str] = field(default_factory=dict)
    flag: bool | None = False
    either: int | str = 0
    three: bool | int | str | None = None
    list_or_text: tuple[str, ...] | str = ()


@dataclass(frozen=True)
class Ruled:
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size must be 0 or more")


@dataclass(frozen=True)
class Doubtful:
    anything: Any = None
    when: date | None = None
    two: Inner | Outer | None = None
    number: int | float = 0
    pair: tuple[int, str] = (0, "")


WORDS = st.sampled_from(["red", "blue", "small", "large", "x", "", "1", "true"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=True, width=16) | WORDS
KEYS = st.sampled_from(["name", "kind", "rows", "by_name", "by_colour", "flag", "either", "three", "list_or_text", "size", "ratio", "colour", "red", "other"])  # fmt: skip
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12)  # fmt: skip
INNER = st.fixed_dictionaries({"size": st.integers()}, optional={"ratio": st.floats() | st.integers(), "colour": WORDS | st.none(), "other": SCALARS})  # fmt: skip
NEARLY = st.fixed_dictionaries(
    {"name": WORDS},
    optional={
        "kind": WORDS,
        "rows": st.lists(INNER | SCALARS, max_size=2),
        "by_name": st.dictionaries(WORDS, INNER, max_size=2),
        "by_colour": st.dictionaries(WORDS, WORDS, max_size=2),
        "flag": SCALARS,
        "either": SCALARS,
        "three": SCALARS,
        "list_or_text": st.lists(SCALARS, max_size=2) | SCALARS,
    },
)


@settings(max_examples=600, deadline=None)
@given(NEARLY | TREES)
def test_what_it_takes_pydantic_takes_alike(data):
    """Types included: 1 is not true, 1 becomes 1.0 where a number may have a fraction."""
    try:
        read = shapes.built(data, Outer)
    except shapes.Misfit:
        return
    assert repr(misfits.check(data, Outer, "x", {})) == repr(read)


@pytest.mark.parametrize(
    "data",
    [{"name": "x"}, {"name": "x", "rows": [{"size": 1, "ratio": 2, "colour": "red"}], "by_colour": {"red": "a"}, "three": True, "list_or_text": ["a"]}],
    ids=["least", "full"],
)  # fmt: skip
def test_what_is_right_is_taken(data):
    """The quick way is taken at all."""
    assert shapes.built(data, Outer) == misfits.check(data, Outer, "x", {})


@pytest.mark.parametrize("key", ["anything", "when", "two", "number", "pair"])
def test_what_it_does_not_know_is_left_to_pydantic(key):
    """Never guessed."""
    with pytest.raises(shapes.Misfit):
        shapes.built({key: None if key == "anything" else 1.5}, Doubtful)


def test_a_rule_of_a_class_is_told_with_its_place():
    """Its ValueError is pydantic's to explain."""
    with pytest.raises(ConfigError, match="size must be 0 or more"):
        strict_yaml.check({"size": -1}, Ruled, path="x")
    assert strict_yaml.check({"size": 1}, Ruled, path="x") == Ruled(1)


@pytest.mark.parametrize("path", names("configs/signatures").values(), ids=lambda path: path.stem)
def test_every_file_of_the_catalogue_is_read_alike(path):
    """And without pydantic."""
    data, lines = strict_yaml.load(path)
    assert shapes.built(data, Product) == misfits.check(data, Product, path, lines)


@pytest.mark.parametrize("name", ["findings", "timers", "pasted", "replies", "rules"])
def test_what_is_read_at_every_start_needs_no_pydantic(name):
    """Merge keys, anchors and numbers are what PyYAML makes of them."""
    import yaml

    data, _ = strict_yaml.load(bundled("configs", f"{name}.yaml"))
    plain = yaml.safe_load(bundled("configs", f"{name}.yaml").read_text())
    assert plain.pop("version") == 1
    assert data == plain


@pytest.mark.parametrize("path", names("configs/signatures").values(), ids=lambda path: path.stem)
def test_the_walk_reads_what_pyyaml_reads(path):
    """Of every signature file."""
    import yaml

    plain = yaml.safe_load(path.read_text())
    assert plain.pop("version") == 1
    assert strict_yaml.load(path)[0] == plain
