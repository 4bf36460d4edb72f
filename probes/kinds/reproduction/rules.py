"""Which rule or setting of which product is to be changed, for this request alone?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from probes import strict_yaml
from probes.bundled import find
from probes.model import STRICT, Factor

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Rule:
    """`products`: by their names in the signatures, any where there is none; `factors` and `codes` (families, too)
    likewise. `vendor_codes`: of the product's own. `text` holds {method}, {path} and {host}, and may hold {value}: what
    it is that makes the request fail.
    """

    __pydantic_config__: ClassVar = STRICT

    text: str
    products: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()
    codes: tuple[str, ...] = ()
    vendor_codes: tuple[str, ...] = ()

    def fits(self, product: str | None, factor: Factor | None, code: str, vendor_code: str | None) -> bool:
        return (
            (not self.products or product in self.products)
            and (not self.factors or factor in self.factors)
            and (not self.codes or any(code == one or code.startswith(f"{one}.") for one in self.codes))
            and (not self.vendor_codes or vendor_code in self.vendor_codes)
        )


@dataclass(frozen=True, slots=True)
class Rules:
    __pydantic_config__: ClassVar = STRICT

    rules: tuple[Rule, ...]


@lru_cache
def rules() -> Rules:
    return strict_yaml.read(find("rules", "configs", "configuration"), Rules)


def rule(
    product: str | None, factor: Factor | None, code: str, vendor_code: str | None, words: Mapping[str, str]
) -> str:
    """The first row that fits, with the request's own words in it."""
    text = next(
        (row.text for row in rules().rules if row.fits(product, factor, code, vendor_code)),
        "",
    )
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return " ".join(text.split())
