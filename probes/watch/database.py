"""Which database does a canary's file mean?

By its SQLAlchemy URL, in which `$NAME` stands for what a variable holds: all of it, or its user, password, host or name.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from probes.errors import UsageError, did_you_mean
from probes.watch.cron import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import URL

VARIABLE = re.compile(r"\$(?:([A-Z_][A-Z0-9_]*)|\{([A-Z_][A-Z0-9_]*)\})", re.ASCII)
"""In capitals, so that hardly a password is taken for one."""
SUCH_AS = (
    "such as sqlite:///reports/edgeprobe.db or postgresql+psycopg://canary:$DB_PASSWORD@db.example/canary"
)
_KINDS = ("mariadb", "mssql", "mysql", "oracle", "postgresql", "sqlite")
_PACKAGES = {"psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary", "MySQLdb": "mysqlclient"}
_PARTS = ("username", "password", "host", "database")
_FILES = (".db", ".sqlite", ".sqlite3")


def names(url: str) -> tuple[str, ...]:
    """The variables that stand in it."""
    return tuple(dict.fromkeys(plain or braced for plain, braced in VARIABLE.findall(url)))


def resolved(url: str, value: Callable[[str], str]) -> str:
    """The URL with what its variables hold; raises UsageError for one that is none, with no word of what they hold."""
    held = {name: value(name) for name in names(url)}

    def filled(text: str) -> str:
        return VARIABLE.sub(lambda found: held[found[1] or found[2]], text)

    if VARIABLE.fullmatch(url):
        check(filled(url))
        return filled(url)
    parts: dict[str, Any] = {
        part: filled(text) for part in _PARTS if (text := getattr(_read(url), part)) is not None
    }
    return _read(url).set(**parts).render_as_string(hide_password=False)


def problem(url: str) -> str | None:
    """What is wrong with it as it stands in a file; of what a variable holds nothing is known yet."""
    if VARIABLE.fullmatch(url):
        return None
    try:
        check(url)
        read = _read(url)
    except UsageError as wrong:
        return str(wrong)
    in_clear = [read.password or "", *(str(v) for k, v in read.query.items() if "pass" in k.lower())]
    if any(VARIABLE.sub("", text) for text in in_clear):
        return "holds a password; put it into a variable and name that here, such as postgresql+psycopg://canary:$DB_PASSWORD@db.example/canary"
    return None


def check(url: str) -> None:
    """Raises UsageError where no database can be opened by it; the text repeats nothing of it that may be secret."""
    read = _read(url)
    kind = read.get_backend_name()
    if kind == "sqlite" and read.database in {None, "", ":memory:"}:
        raise UsageError("a database in memory remembers nothing; name a file: sqlite:///FILE")
    from sqlalchemy.exc import NoSuchModuleError

    try:
        dialect = read.get_dialect()
        dialect.import_dbapi()
    except NoSuchModuleError:
        near = did_you_mean(kind, _KINDS)
        raise UsageError(f"{read.drivername} is no database that SQLAlchemy knows{near}") from None
    except ImportError as missing:
        name = str(missing.name or read.get_driver_name())
        package = _PACKAGES.get(name, name)
        raise UsageError(
            f"needs the driver {name}, which is not installed: pip install '{package}'"
        ) from None
    if dialect.is_async:
        raise UsageError(
            f"{read.drivername} is for asyncio; take a driver that is not, such as {_plain(kind)}"
        )


def _plain(kind: str) -> str:
    return {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}.get(kind, kind)


def _read(url: str) -> URL:
    if find_spec("sqlalchemy") is None:
        raise UsageError(MISSING)
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        file = url if url.endswith(_FILES) and "://" not in url else None
        meant = f"; did you mean sqlite:///{file}?" if file else f", {SUCH_AS}"
        raise UsageError(f"must be the URL of a database{meant}") from None
