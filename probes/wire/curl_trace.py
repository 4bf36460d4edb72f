"""What does curl's own trace say of an exchange?

Reads `curl --raw --trace - --trace-time` line by line while curl runs, and its `--write-out '%{json}'` at the end.
The format: a time of day and a section head per line, then a hex dump of 16 bytes a line.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from .chunks import Dechunker
from .content import BodyLimit
from .tape import Tape

_SECTION = re.compile(r"^(\d\d):(\d\d):(\d\d)\.(\d+) (==|=>|<=) (Info|Send|Recv)(?: (header|data|SSL data))?")
_HEX_COLUMNS = slice(6, 54)
_DAY = 86_400.0
# Exit statuses of curl(1) → how the transport ended.
_EXITS = {
    5: "proxy", 97: "proxy", 6: "dns", 7: "connect", 28: "deadline", 35: "tls", 51: "tls", 53: "tls", 54: "tls",
    58: "tls", 59: "tls", 60: "tls", 77: "tls", 83: "tls", 90: "tls", 91: "tls", 18: "closed", 52: "closed",
    55: "reset", 56: "reset", 92: "reset", 63: "limit", 16: "protocol", 27: "oversize", 100: "oversize",
}  # fmt: skip
_UNREADABLE = re.compile(r"illegal|invalid|malformed", re.IGNORECASE)
# Headers above 300 KiB, of which curl 7.88 says in HTTP/2 only that its own function failed. Of a line above 100 KiB it
# says "Out of memory" (27), later ones "A value or data field grew larger than allowed" (100).
_OVERSIZE = re.compile(r"too large response headers|too many response headers|returned -902", re.IGNORECASE)
_BY_VARIABLE = re.compile(r"Info: Uses proxy env variable (?!no_proxy)", re.IGNORECASE)
_SWITCHING = 101  # to another protocol, which nobody asked for
# The last is that of RST_STREAM: curl 7.88 says "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)".
_RESET = re.compile(r"\breset\b|broken pipe|not closed cleanly: ")
_PHASES = {"dns": "dns", "connect": "connect", "tls": "tls", "proxy": "connect"}


class Trace:
    """`upload`: bytes of the request's body. `scale`: machine seconds per real-world second. `proxied`: curl was told
    of a proxy; of one that it takes from the environment it says so itself. `streamed`: a stream was asked for. Feed
    lines, then `finish`.
    """

    def __init__(
        self,
        url: str,
        *,
        upload: int = 0,
        body_limit: int,
        scale: float = 1.0,
        proxied: bool = False,
        streamed: bool = False,
    ) -> None:
        self._upload = upload
        self._scale = scale
        self._first: float | None = None
        self._time = 0.0
        self.tape = Tape(lambda: self._time, body_limit, streamed=streamed)
        self.tape.url = url
        self.tape.conditions |= {"connection": "new", "proxy": proxied}
        self._section: tuple[str, str] | None = None
        self._data = bytearray()
        self._head: list[bytes] = []
        self._dechunk: Dechunker | None = None
        self._body_open = False
        self._refused: str | None = None
        self._upgraded = False
        self.over_limit = False

    def line(self, line: str) -> None:
        found = _SECTION.match(line)
        if found is None:
            if self._section and self._section[1] in {"header", "data"}:
                self._data += bytes.fromhex(line[_HEX_COLUMNS])
            return
        self._flush()
        hours, minutes, seconds, fraction, _, direction, what = found.groups()
        at = int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")
        self._first = at if self._first is None else self._first
        self._time = ((at - self._first) % _DAY) / self._scale
        self._section = (direction, what or "")
        # Before it is dialled, so that one that cannot be reached is known for what it is.
        self.tape.conditions["proxy"] |= _BY_VARIABLE.search(line) is not None

    def finish(self, write_out: str, stopped: str | None, exit_code: int = 0) -> dict[str, Any]:
        """The exchange, as `Tape.result`; `stopped` is why the probe ended curl, when it did; `exit_code` counts where
        the write-out has none, as before curl 7.75.
        """
        self._flush()
        try:
            said: dict[str, Any] = json.loads(write_out[write_out.index("{") :])
        except ValueError:
            said = {}
        self._timings(said)
        tape, code = self.tape, int(said.get("exitcode") or exit_code)
        if self.over_limit or stopped:
            tape.ended(stopped)  # a limit is on the tape already
        elif code < 0:
            tape.ended("interrupted")  # by a signal that was not ours
        elif code:
            self._failed(_EXITS.get(code, "protocol"), str(said.get("errormsg") or f"curl exit {code}"))
        elif self._dechunk is not None and not self._dechunk.done:
            self._failed("closed", "the connection closed inside a chunked body")
        elif tape.status is None:
            self._failed("closed", "the connection closed inside the head of the response")
        else:
            tape.whole()
        if (total := said.get("time_total")) is not None:
            tape.marks["end"] = max(float(total) / self._scale, self._time)
        return tape.result()

    def _timings(self, said: dict[str, Any]) -> None:
        for mark, key in (
            ("dns", "time_namelookup"),
            ("connect", "time_connect"),
            ("tls", "time_appconnect"),
        ):
            if (seconds := float(said.get(key) or 0.0)) > 0:
                self.tape.marks[mark] = seconds / self._scale
        self._order()
        if said.get("remote_ip"):
            ip, port = str(said["remote_ip"]), said.get("remote_port")
            self.tape.conditions["peer"] = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
        if said.get("http_version") not in {None, "0"}:
            self.tape.conditions["http_version"] = f"HTTP/{said['http_version']}"

    def _order(self) -> None:
        """The write-out reads its clock later than the trace, and notes a connect only after its TLS: a step is over
        when the next one is, at the latest.
        """
        marks, latest = self.tape.marks, math.inf
        for name in ("upload_start", "tls", "connect", "dns"):
            if name in marks:
                latest = marks[name] = min(marks[name], latest)

    def _failed(self, kind: str, text: str) -> None:
        if self._refused is not None:
            kind, text = "proxy", self._refused
        elif self.tape.status is None and (kind == "oversize" or _OVERSIZE.search(text)):
            # A first line that never ended is shown by no trace: nothing says that it was HTTP's.
            unheard = kind == "oversize" and not self.tape.heard
            kind = "protocol" if self.tape.foreign or unheard else "oversize"
        elif kind in {"reset", "closed"} and (
            self._upgraded or self.tape.foreign or _UNREADABLE.search(text)
        ):
            kind = "protocol"
        elif kind in {"reset", "tls"} and _RESET.search(text.lower()):
            kind = "reset"
        elif kind == "reset" or (kind == "protocol" and "goaway" in text.lower()):
            kind = "closed"
        phase = _PHASES.get(kind) or self._reached()
        self.tape.error = {"kind": kind, "phase": phase, "text": text}
        self.tape.ended("deadline" if kind == "deadline" else None)

    def _reached(self) -> str:
        """The phase that curl was in, by what had been done."""
        tape, marks = self.tape, self.tape.marks
        if tape.status is not None:
            return "body"
        if "upload_start" in marks:
            uploading = tape.sent_body < self._upload
            return "connect" if tape.asked_for_tunnel else "upload" if uploading else "headers"
        if "connect" in marks:
            return "tls"
        return "connect" if "dns" in marks else "dns"

    def _flush(self) -> None:
        if self._section is None:
            return
        (direction, what), data = self._section, bytes(self._data)
        self._section, self._data = None, bytearray()
        if direction == "Send" and what in {"header", "data"}:
            self.tape.wrote(data, self.tape.now())
            self.tape.conditions["proxy"] |= self.tape.asked_of_proxy
        elif what == "SSL data":
            self.tape.marks.setdefault("connect", self._time)  # curl counts a connect only after its TLS
        elif direction == "Recv" and what == "header":
            self.tape.read(data)
            self._header(data)
        elif direction == "Recv" and what == "data" and self._body_open:
            self.tape.read(data)
            self._body(data)

    def _header(self, line: bytes) -> None:
        if line.startswith(b"HTTP/"):
            self._head.clear()  # curl 7.88 shows no empty line after an interim answer
        if line not in {b"\r\n", b"\n"}:
            self._head.append(line)
            return
        first, *rest = self._head or [b""]
        self._head = []
        parts = first.split(None, 2)
        status = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0
        if 100 <= status < 200 or self._of_proxy(first, status):
            self._upgraded |= status == _SWITCHING
            return
        pairs = [
            (name.strip(), value.strip()) for name, _, value in (header.partition(b":") for header in rest)
        ]
        try:
            self.tape.head(status, pairs, parts[0].decode("ascii", "replace") if parts else "")
        except BodyLimit:
            self.over_limit = True
            return
        codings = ",".join(self.tape.headers.get("transfer-encoding", [])).lower()
        self._dechunk = Dechunker() if "chunked" in codings else None
        self._body_open = True

    def _of_proxy(self, first: bytes, status: int) -> bool:
        """Whether this answers our CONNECT: after a yes a new request follows in the tunnel."""
        if not self.tape.asked_for_tunnel:
            return False
        self.tape.conditions["proxy"] = True
        if 200 <= status < 300:
            self.tape.tunnelled()
        else:
            self._refused = b" ".join(first.split()[1:]).decode("latin-1")
        return True

    def _body(self, data: bytes) -> None:
        if self._dechunk is not None:
            data = self._dechunk.feed(data)
        try:
            self.tape.body(data)
        except BodyLimit as error:
            self.tape.failed(error)
            self.over_limit = True
