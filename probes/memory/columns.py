"""How does a value become one that every database holds alike?"""

from __future__ import annotations

import json
import math
import zlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Float, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from probes.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST = 4096
_MOST = 2**50
"""Of any count: a server's usage may say anything, and sums of these must fit as well."""


class Moment(TypeDecorator[datetime]):
    """Microseconds since 1970 in UTC: exact, in order, and the same in every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - EPOCH) // _MICROSECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else EPOCH + int(value) * _MICROSECOND


class Words(TypeDecorator[str]):
    """Text to look up by. What a database refuses (NUL, half a pair) is U+FFFD, and what is endless is cut."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        whole = str(value)[:_LONGEST].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.replace("\0", "\ufffd")

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value


class Count(TypeDecorator[int]):
    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        return None if value is None else max(min(value, _MOST), -_MOST)

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:
        return None if value is None else int(value)


class Measure(TypeDecorator[float]):
    """Seconds or dollars; what is no number is not known."""

    impl = Float
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    def process_result_value(self, value: float | None, dialect: Dialect) -> float | None:
        return value


class Document(TypeDecorator[Any]):
    """A tree as JSON, in ASCII: any text comes back as it was."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class Packed(TypeDecorator[Any]):
    """The same, compressed: bodies and chunk columns are long and alike."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        return None if value is None else zlib.compress(json.dumps(value, ensure_ascii=True).encode(), 3)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        try:
            return None if value is None else json.loads(zlib.decompress(value))
        except (zlib.error, ValueError):
            raise UsageError("damaged: its document can't be unpacked") from None
