"""What body do the data options of a curl line make?"""

from __future__ import annotations

import mimetypes
import re
from pathlib import Path
from urllib.parse import quote

from probes.errors import UsageError
from probes.redact import looks_like_key

DATA = frozenset({"data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json"})
FORM = frozenset({"form", "form-string"})
BOUNDARY = "------------------------edgeprobe0000000"
"""As long as curl's own, which is drawn anew for each request."""
_MOST_MIB = 64


class Body:
    """`folder`: beside which `@FILE` is looked for, `None` where the text came by standard input."""

    def __init__(self, folder: Path | None, stdin: str | None, line: int) -> None:
        self._folder = folder
        self._stdin = stdin
        self._line = line
        self._data = b""
        self._given = False
        self._parts: list[bytes] = []
        self.json = False

    @property
    def given(self) -> bool:
        return self._given or bool(self._parts)

    @property
    def content_type(self) -> str | None:
        """What curl says of it by itself."""
        if self._parts:
            return f"multipart/form-data; boundary={BOUNDARY}"
        return "application/x-www-form-urlencoded" if self._given and not self.json else None

    @property
    def content(self) -> bytes:
        if not self._parts:
            return self._data
        if self._given:
            raise UsageError(f"line {self._line}: -F and -d exclude each other")
        return b"".join(self._parts) + f"--{BOUNDARY}--\r\n".encode()

    def add(self, name: str, value: str) -> None:
        """One option of `DATA`; several are joined, but for `--json` by `&`."""
        if name == "json":
            self.json = True
            more = self._file(value[1:]) if value.startswith("@") else _bytes(value)
        elif name == "data-urlencode":
            more = self._encoded(value)
        elif name == "data-raw" or not value.startswith("@"):
            more = _bytes(value)
        else:
            more = self._file(value[1:])
            if name != "data-binary":
                more = re.sub(rb"[\r\n\0]", b"", more)
        self._data += (b"" if not self._given or name == "json" else b"&") + more
        self._given = True

    def part(self, name: str, value: str) -> None:
        """One option of `FORM`."""
        field, equals, content = value.partition("=")
        if not equals:
            raise UsageError(f"line {self._line}: -F is written NAME=VALUE or NAME=@FILE")
        said, options = (content, {}) if name == "form-string" else _options(content)
        disposition = f'form-data; name="{_escaped(field)}"'
        kind = options.get("type")
        data: bytes
        if name == "form" and said[:1] in {"@", "<"}:
            data = self._file(said[1:])
            if said[0] == "@":
                shown = options.get("filename", Path(said[1:]).name)
                disposition += f'; filename="{_escaped(shown)}"'
                kind = kind or mimetypes.guess_type(shown)[0] or "application/octet-stream"
        else:
            data = _bytes(said)
        head = f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n"
        head += f"Content-Type: {kind}\r\n" if kind else ""
        self._parts.append(_bytes(head) + b"\r\n" + data + b"\r\n")

    def _encoded(self, value: str) -> bytes:
        found = re.match(r"([^=@]*)([=@])(.*)", value, re.DOTALL)
        if found is None:
            return _quoted(_bytes(value))
        content = self._file(found[3]) if found[2] == "@" else _bytes(found[3])
        lead = f"{found[1]}=" if found[1] else ""
        return _bytes(lead) + _quoted(content)

    def _file(self, name: str) -> bytes:
        if name == "-":
            if self._stdin is None:
                raise UsageError(
                    f"line {self._line}: @- reads standard input, which the text does not tell; write the body into a file "
                    "beside it, and @FILE"
                )
            return _bytes(self._stdin)
        return _read(name, self._folder, self._line)


def _read(name: str, folder: Path | None, line: int) -> bytes:
    """Of a file beside the text, or below it: a stranger's line names no other file of this machine."""
    asked = Path(name)
    shown = asked.name if asked.name.isprintable() and not looks_like_key(name) else "…"
    if folder is None:
        raise UsageError(f"line {line}: @{shown} is a file; save the text as a file beside it, and name that")
    if asked.is_absolute() or ".." in asked.parts or "~" in name[:1]:
        raise UsageError(f"line {line}: @{shown} is not beside the text; put it there, and write @{shown}")
    path = folder / asked
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"line {line}: @{shown} is a link that leads out of its folder")
        if path.stat().st_size > _MOST_MIB * 1024 * 1024:
            raise UsageError(f"line {line}: @{shown} is larger than {_MOST_MIB} MiB")
        return path.read_bytes()
    except (OSError, ValueError):
        raise UsageError(f"line {line}: @{shown} is not there; it is looked for beside the text") from None


def _options(content: str) -> tuple[str, dict[str, str]]:
    """`;type=…`, `;filename=…` behind what a part is made of."""
    if content.startswith('"'):
        closed = re.match(r'"((?:[^"\\]|\\.)*)"(.*)', content, re.DOTALL)
        said, rest = (re.sub(r"\\(.)", r"\1", closed[1]), closed[2]) if closed else (content, "")
    else:
        said, semicolon, rest = content.partition(";")
        rest = semicolon + rest
    found = dict(re.findall(r';\s*(type|filename)=("[^"]*"|[^;]*)', rest))
    return said, {name: value.strip('"') for name, value in found.items()}


def _escaped(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _quoted(content: bytes) -> bytes:
    return quote(content, safe="-._~").replace("%20", "+").encode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
