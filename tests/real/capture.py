"""What do real servers answer, in their own name and in that of what is behind them?

`python tests/real/capture.py [PRODUCT…]` starts each in front of origins that are healthy, wrong, slow, broken and not
there, and writes `captures/samples/<product>.yaml`; without a name it records all. `--rows` prints what is written there
as samples for `configs/signatures/<product>.yaml` instead.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import pytest
from captures import records
from captures.table import PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(name: str) -> Iterator[str]:
    """The server's own answers as samples of signatures."""
    told = records.load(name)
    for case, one in told.cases.items():
        if one.answer is None or one.passed_on:
            continue
        headers = ", ".join(
            f"{key}: {json.dumps(', '.join(values))}" for key, values in one.answer.values.items()
        )
        source = json.dumps(f"{told.server}, {case}")
        yield (
            f"      - {{status: {one.answer.code}, origin: capture, source: {source}, "
            f"headers: {{{headers}}}, body: {json.dumps(one.answer.body)}}}"
        )


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("product", nargs="*", choices=[[], *PRODUCTS])
    parser.add_argument("--rows", action="store_true", help="print the samples that are there")
    told = parser.parse_args()
    for name in told.product or PRODUCTS:
        if told.rows:
            print("\n".join(rows(name)))
            continue
        try:
            records.save(name, records.record(PRODUCTS[name]))
        except (pytest.skip.Exception, pytest.fail.Exception) as why:
            raise SystemExit(f"{name}: {why}") from None
        print(records.FOLDER / f"{name}.yaml")


if __name__ == "__main__":
    _main()
