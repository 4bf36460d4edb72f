"""Strict reading: what is refused, with which words, on which line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import Field

from probes import strict_yaml
from probes.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Inner:
    size: int
    ratio: float = 1.0
    params: Annotated[Mapping[str, Any], Field(alias="with")] = field(default_factory=dict)


@dataclass(frozen=True)
class Outer:
    name: str
    kind: Literal["small", "large"] = "small"
    rows: tuple[Inner, ...] = ()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    flag: bool = False
    either: Inner | str | None = None


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "f.yaml"
    path.write_text(text, "utf-8")
    return path


def test_reads_a_file_as_dataclasses(tmp_path):
    """Nested mappings become dataclasses, lists tuples, aliases their fields; `version` is not part of it."""
    text = "version: 1\nname: x\nrows: [{size: 1, with: {a: 1}}]\nby_name: {b: {size: 2, ratio: 3}}\nflag: true\n"
    read = strict_yaml.read(write(tmp_path, text), Outer)
    assert read == Outer("x", rows=(Inner(1, params={"a": 1}),), by_name={"b": Inner(2, 3.0)}, flag=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", ":1: must be a mapping that starts with `version: 1`", id="empty"),
        pytest.param("- a\n", ":1: must be a mapping that starts with `version: 1`", id="a list"),
        pytest.param("name: x\n", ":1: version: is required; write `version: 1`", id="no version"),
        pytest.param(
            "name: x\nversion: 2\n", ":2: version: is 2; this edgeprobe reads version 1", id="version 2"
        ),
        pytest.param(
            "version: '1'\n", ":1: version: is '1'; this edgeprobe reads version 1", id="version text"
        ),
        pytest.param(
            "version: true\n", ":1: version: is true; this edgeprobe reads version 1", id="version true"
        ),
        pytest.param(
            "version: 1\nname: [x\n", ":3: not YAML: did not find expected ',' or ']'", id="not YAML"
        ),
        pytest.param("version: 1\nname: x\nname: y\n", ":3: name: stands twice", id="key twice"),
        pytest.param("version: 1\nnaem: x\n", ":2: naem: unknown key; did you mean name?", id="unknown key"),
        pytest.param(
            "version: 1\nname: x\nrows:\n  - {size: 1}\n  - {size: 1, wiht: {}}\n",
            ":5: rows[1].wiht: unknown key; did you mean with?",
            id="unknown key, near an alias",
        ),
        pytest.param(
            "version: 1\nname: x\nby_name:\n  b: {size: 1}\n  c:\n    zzz: 1\n",
            ":6: by_name.c.zzz: unknown key; valid: ratio, size, with",
            id="unknown key, none near",
        ),
        pytest.param("version: 1\nkind: small\n", ":1: name: is required", id="missing"),
        pytest.param(
            "version: 1\nname: x\nrows:\n  - ratio: 2\n", ":4: rows[0].size: is required", id="missing inside"
        ),
        pytest.param(
            "version: 1\nname: 5\n", ":2: name: must be text, not 5; put it in quotes", id="number as text"
        ),
        pytest.param(
            "version: 1\nname: x\nflag: 1\n", ":3: flag: must be true or false, not 1", id="1 is not true"
        ),
        pytest.param(
            "version: 1\nname: x\nrows: [{size: '4'}]\n",
            ":3: rows[0].size: must be a whole number, not '4'",
            id="text as number",
        ),
        pytest.param(
            "version: 1\nname: x\nrows: [{size: true}]\n",
            ":3: rows[0].size: must be a whole number, not true",
            id="true is not 1",
        ),
        pytest.param(
            "version: 1\nname: x\nrows: {size: 1}\n", ":3: rows: must be a list, not a mapping", id="no list"
        ),
        pytest.param(
            "version: 1\nname: x\nrows: [5]\n", ":3: rows[0]: must be a mapping, not 5", id="no mapping"
        ),
        pytest.param(
            "version: 1\nname: x\nkind: smal\n",
            ":3: kind: 'smal' is not valid; did you mean small?",
            id="literal",
        ),
        pytest.param(
            f"version: 1\nname: x\nflag: {'y' * 99}\n",
            f":3: flag: must be true or false, not '{'y' * 59}…",
            id="long value",
        ),
        pytest.param(
            "version: 1\nname: x\non: 3\n",
            ":3: on: YAML reads this key as bool; put it in quotes",
            id="key is a bool",
        ),
        pytest.param(
            "version: 1\nname: x\nrows: &a [*a]\n",
            ":3: rows: is an alias of what holds it",
            id="endless alias",
        ),
        pytest.param(
            "version: 1\nname: !!python/name:os.system x\n",
            ":2: not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'",
            id="python tag",
        ),
        pytest.param(
            "version: 1\nname: 'a\x07'\n", ": not YAML: control characters are not allowed", id="control"
        ),
    ],
)
def test_says_what_is_wrong_where(tmp_path, text, message):
    """Each mistake is answered by path, line, key path and the nearest valid word."""
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        strict_yaml.read(path, Outer)
    assert str(caught.value) == f"{path}{message}"


def test_an_unknown_key_comes_before_what_it_causes(tmp_path):
    """A misspelt required key is reported as misspelt, not as missing."""
    with pytest.raises(ConfigError, match=r":3: rows\[0\].siez: unknown key; did you mean size\?"):
        strict_yaml.read(write(tmp_path, "version: 1\nname: x\nrows: [{siez: 1}]\n"), Outer)


def test_missing_and_binary_files(tmp_path):
    """A file that can't be read says why, without a traceback."""
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file or directory"):
        strict_yaml.load(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(ConfigError, match=r"b\.yaml: is not UTF-8"):
        strict_yaml.load(tmp_path / "b.yaml")


def test_keys_that_the_caller_filled_in_are_never_suggested(tmp_path):
    """What the file cannot hold is no advice."""
    path = write(tmp_path, "version: 1\nby_name: {b: {rati: 1}}\n")
    data, lines = strict_yaml.load(path)
    data["name"] = "x"
    data["by_name"]["b"]["ratio"] = 1.0
    with pytest.raises(ConfigError, match=r"by_name\.b\.rati: unknown key; valid: size, with"):
        strict_yaml.check(data, Outer, path=path, lines=lines)


def test_anchors_and_merge_keys_are_read(tmp_path):
    """Plain YAML reuse works."""
    text = "version: 1\nname: x\nby_name:\n  a: &a {size: 1}\n  b: {<<: *a, ratio: 2}\n"
    read = strict_yaml.read(write(tmp_path, text), Outer)
    assert read.by_name == {"a": Inner(1), "b": Inner(1, 2.0)}
