"""What does a finding code mean, and whose move is it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from textwrap import fill
from types import MappingProxyType
from typing import ClassVar

from probes import strict_yaml
from probes.bundled import find
from probes.errors import ConfigError, UsageError, did_you_mean
from probes.model import STRICT, Verdict, WhoActs


@dataclass(frozen=True, slots=True)
class FindingCode:
    """One row of `configs/findings.yaml`; `verdict` is the default, `retryable` None where it depends."""

    __pydantic_config__: ClassVar = STRICT

    title: str
    verdict: Verdict
    meaning: str
    advice: str
    who_acts: WhoActs
    retryable: bool | None


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__: ClassVar = STRICT

    codes: Mapping[str, FindingCode]


@lru_cache
def vocabulary() -> Mapping[str, FindingCode]:
    """Every code, in the order of the file."""
    path = find("findings", "configs", "configuration")
    data, lines = strict_yaml.load(path)
    codes = strict_yaml.check(data, _File, path=path, lines=lines).codes
    for code, row in codes.items():
        for key in ("title", "meaning", "advice"):
            if not getattr(row, key).strip():
                line = lines.get(("codes", code, key))
                raise ConfigError("is empty", path=path, line=line, key=f"codes.{code}.{key}")
    return MappingProxyType(dict(codes))


def explain(code: str) -> str:
    """The text of `edgeprobe explain`: one code at length, or the members of a family such as `stream`.

    Raises UsageError with the nearest code.
    """
    known = vocabulary()
    family = [name for name in known if name.startswith(f"{code}.")]
    if code not in known and not family:
        families = {name.partition(".")[0] for name in known}
        raise UsageError(f"finding code {code!r} is not known{did_you_mean(code, {*known, *families})}")
    parts = [_one(code, known[code])] if code in known else []
    if family:
        width = max(map(len, family))
        rows = [f"  {name:<{width}}  {known[name].title}" for name in family]
        parts.append("\n".join([f"{code}.*", *rows]))
    return "\n\n".join(parts)


def _one(code: str, row: FindingCode) -> str:
    retry = {True: "yes", False: "no", None: "depends"}[row.retryable]
    facts = (
        ("verdict", f"{row.verdict} unless the finding says otherwise"),
        ("who acts", row.who_acts),
        ("retry", retry),
        ("do", row.advice),
    )
    lines = [f"{code}: {row.title}", "", fill(row.meaning, 78, break_on_hyphens=False), ""]
    lines += [
        fill(text, 78, initial_indent=f"{word:<10}", subsequent_indent=" " * 10, break_on_hyphens=False)
        for word, text in facts
    ]
    return "\n".join(lines)
