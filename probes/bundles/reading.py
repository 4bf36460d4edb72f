"""What does a bundle hold, which may come from anybody?

Nothing is unpacked to a disk, and no more is read than a bundle may have. What is not one is a UsageError.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from probes import complaint
from probes.bundles import (
    MANIFEST,
    MOST_BYTES,
    MOST_MEMBERS,
    MOST_PACKED,
    MOST_RATIO,
    REQUEST,
    RUN,
    SCHEMA,
    SIGNATURES,
    SMALL,
    SUFFIX,
)
from probes.document import from_document, misfit
from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.complaint import Told
    from probes.model import Run

_NAME = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}/)?[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", re.ASCII)
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}", re.ASCII)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


def is_bundle(name: str) -> bool:
    """By its name: what is in it, only reading tells."""
    return Path(name).suffix.lower() == SUFFIX


def run(path: str | Path) -> Run:
    """The run in it, with what a replay needs."""
    document = _Members(path).json(RUN)
    try:
        return from_document(document)
    except UsageError as fault:
        raise UsageError(_said(path, str(fault))) from None


def signatures(path: str | Path) -> Mapping[str, Any]:
    """What its run was judged by beside the bundled ones, as `own_signatures.carried` gave it."""
    members = _Members(path)
    found = members.json(SIGNATURES) if members.has(SIGNATURES) else {}
    if not isinstance(found, dict):
        raise UsageError(_said(path, f"{SIGNATURES}: holds no signatures"))
    return found


def told(path: str | Path) -> Told | None:
    """The request that it is about; `None` where its run has none.

    No variable that it names may be filled in for that alone: a stranger wrote them.
    """
    members = _Members(path)
    if not members.has(REQUEST):
        return None
    try:
        found = complaint.from_document(members.json(REQUEST))
    except ValidationError as fault:
        raise UsageError(_said(path, f"{REQUEST}: damaged: {misfit(fault)}")) from None
    if (why := _cannot_be_sent(found)) is not None:
        raise UsageError(f"{path}: {REQUEST}: {why}")
    return found


def _cannot_be_sent(found: Told) -> str | None:
    """Why it is no HTTP request that may be sent."""
    try:
        parts = urlsplit(found.url)
        port = parts.port
    except (ValueError, AttributeError):
        return "its url is none"
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        return "its url must be one of http or https"
    if not found.url.isascii() or re.search(r"[\x00-\x20\x7f]", found.url):
        return "its url holds what no URL can"
    if not isinstance(found.method, str) or not _METHOD.fullmatch(found.method):
        return "its method is none"
    for name, value in found.headers:
        if not _METHOD.fullmatch(name) or re.search(r"[\x00\r\n]", value):
            return f"header {name[:40]!r} is none"
    return None


class _Members:
    """The members of one bundle, each read in full at most once it is asked for."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            if self._path.stat().st_size > MOST_PACKED + MOST_BYTES:
                raise UsageError(_said(path, "larger than a bundle may be"))
            with zipfile.ZipFile(self._path) as archive:
                self._infos = {info.filename: info for info in archive.infolist()}
                everything = archive.infolist()
        except FileNotFoundError:
            raise UsageError(f"no bundle {path}") from None
        except IsADirectoryError:
            raise UsageError(_said(path, "is a folder")) from None
        except zipfile.BadZipFile:
            raise UsageError(_said(path, "not a zip")) from None
        except _BROKEN as fault:
            raise UsageError(_said(path, f"damaged: {fault}")) from None
        if (why := _refused(everything)) is not None:
            raise UsageError(_said(path, why))
        schema = self._schema()
        if schema != SCHEMA:
            raise UsageError(_said(path, f"its schema is {schema!r}; this edgeprobe reads {SCHEMA}"))

    def has(self, name: str) -> bool:
        return name in self._infos

    def json(self, name: str) -> Any:
        if name not in self._infos:
            raise UsageError(_said(self._path, f"{name} is not in it{self._why_not(name)}"))
        try:
            return json.loads(self._data(name))
        except (ValueError, RecursionError):
            raise UsageError(_said(self._path, f"{name}: not JSON")) from None

    def _data(self, name: str) -> bytes:
        """No more than was declared, whatever it unpacks to."""
        info = self._infos[name]
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(info) as member:
                data = member.read(info.file_size + 1)
        except _BROKEN as fault:
            raise UsageError(_said(self._path, f"{name}: damaged: {fault}")) from None
        if len(data) != info.file_size:
            raise UsageError(_said(self._path, f"{name}: damaged: not as large as it says"))
        return data

    def _schema(self) -> str:
        if MANIFEST not in self._infos:
            return "none"
        document = self.json(MANIFEST)
        return str(document.get("schema")) if isinstance(document, dict) else "none"

    def _why_not(self, name: str) -> str:
        rows = self.json(MANIFEST).get("left_out")
        rows = rows if isinstance(rows, list) else []
        said = next((row for row in rows if isinstance(row, dict) and row.get("name") == name), None)
        return f": {str(said.get('why'))[:100]}" if said else ""


def _refused(infos: list[zipfile.ZipInfo]) -> str | None:
    """What no bundle is."""
    if len(infos) > MOST_MEMBERS:
        return f"{len(infos):,} members, more than the {MOST_MEMBERS:,} a bundle may have"
    if len({info.filename for info in infos}) < len(infos):
        return "a member is in it twice"
    if (total := sum(info.file_size for info in infos)) > MOST_BYTES:
        return f"{total:,} bytes unpacked, more than the {MOST_BYTES:,} a bundle may have"
    return next((why for info in infos if (why := _misfit(info)) is not None), None)


def _misfit(info: zipfile.ZipInfo) -> str | None:
    if not _NAME.fullmatch(info.filename):
        return f"a member is called {info.filename[:80]!r}, which no bundle has"
    if info.flag_bits & 0x1:
        return f"{info.filename}: is encrypted"
    ratio = info.file_size // max(info.compress_size, 1)
    if info.file_size > SMALL and ratio > 2 * MOST_RATIO:
        return f"{info.filename}: packed {ratio:,} to 1, as no report packs"
    return None


def _said(path: str | Path, why: str) -> str:
    return f"{path}: {why}"
