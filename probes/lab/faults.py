"""What is broken, for which requests?

A fault is a YAML row that says only what the bytes and times do (`configs/lab/faults.yaml`): `when` picks requests,
`do` says what befalls them. What a probe should call it stands apart, in `configs/lab/expectations.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from probes.bundled import bundled
from probes.errors import ConfigError, UsageError, did_you_mean
from probes.lab.behaviour import Behaviour
from probes.lab.holding import Hold
from probes.lab.pages import ShapeName, pages
from probes.lab.request_body import with_last_line_first, with_line
from probes.lab.when import When
from probes.model import STRICT
from probes.strict_yaml import read

if TYPE_CHECKING:
    from probes.lab.http1 import Request

How = Literal["clean", "close", "reset"]
"""End of a body: with its terminator, by FIN before it, or by RST."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the edge's own making: a `page`, its profile's `own` page for an occasion, or what is said here.

    `shape` forces one, else Accept decides and `otherwise` where it names none. `headers` and `body` are templates.
    `proxied`: it carries the headers of an answer that came from behind.
    """

    __pydantic_config__: ClassVar = STRICT

    page: str | None = None
    own: Literal["late", "upload"] | None = None
    shape: ShapeName | None = None
    otherwise: ShapeName = "html"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    proxied: bool = False


@dataclass(frozen=True, slots=True)
class Timer:
    """After `seconds` the upstream is dropped; the client gets `answer` if no byte went out yet, else `last_words` and
    `how`. Before the first byte the upstream is asked `repeats` times more, each time with as long to answer.
    """

    __pydantic_config__: ClassVar = STRICT

    seconds: float
    answer: Answer | None = None
    how: How = "close"
    last_words: str = ""
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Replace:
    """An upstream answer with one of these statuses is dropped for `answer`."""

    __pydantic_config__: ClassVar = STRICT

    statuses: tuple[int, ...]
    answer: Answer


@dataclass(frozen=True, slots=True)
class Cut:
    """The response ends early: after so many SSE events, body bytes or seconds since it began, or `before` the first
    event that contains the text; `last_words` go out first.
    """

    __pydantic_config__: ClassVar = STRICT

    how: How
    after_events: int | None = None
    after_bytes: int | None = None
    after_seconds: float | None = None
    before: str | None = None
    last_words: str = ""


@dataclass(frozen=True, slots=True)
class Fill:
    """`text` is written into a body at its start and whenever `every` seconds pass without a byte: into event streams,
    or without `events` into all other bodies.
    """

    __pydantic_config__: ClassVar = STRICT

    text: str
    every: float
    events: bool = True


@dataclass(frozen=True, slots=True)
class Do:
    """What befalls a request: `answer` or `end` at once, the rest on the way to and from the upstream.

    `upload_timer` runs from the request's head until its last byte, `first_byte_timer` from there until the upstream's
    first byte, `idle_timer` between its bytes, `total_timer` over all. `uplink`: bytes of a request's body that arrive
    in a second; it and `upload_timer` are decided by the head alone. `rewrite`: in each event of a stream, what matches
    the regular expression becomes the text. `decoded_by`: events are decoded in pieces of so many bytes, each for itself,
    which takes characters that lie across two for damaged ones; `cut_by`: the first byte of such a piece is lost where it goes on
    a character. `one_byte_writes`: every body byte in its own
    chunk and write. `under`: the API is served below this path and nowhere else, where `answer` is given. `sets`:
    fields of the request as it is passed on. `prompt_line`: stands in front of its first message, with another number in the place
    of `#` each time; `last_line_first`: its last line stands there. `idle_close`: the connection is closed when no other request comes on it
    for so long. `model`: how the model behind behaves. `own_pages`: page → the one that the zone's owner has put in its
    place. `gzip`: streams leave compressed, each piece flushed or when the compressor gives it out. `restart`: so many
    seconds after the first such request came, all that are open are closed, once. `no_error_paths`: the pages cannot be asked for at a path of their own.
    """

    __pydantic_config__: ClassVar = STRICT

    answer: Answer | None = None
    end: Literal["close", "reset", "hang"] | None = None
    uplink: float | None = None
    upload_timer: Timer | None = None
    first_byte_timer: Timer | None = None
    idle_timer: Timer | None = None
    total_timer: Timer | None = None
    replace: Replace | None = None
    cut: Cut | None = None
    fill: Fill | None = None
    rewrite: Mapping[str, str] = field(default_factory=dict)
    decoded_by: int | None = None
    cut_by: int | None = None
    hold: Hold | None = None
    gzip: Literal["flushed", "unflushed"] | None = None
    restart: float | None = None
    line_end: Literal["lf", "crlf", "cr"] = "lf"
    one_byte_writes: bool = False
    add_headers: Mapping[str, str] = field(default_factory=dict)
    drop_headers: tuple[str, ...] = ()
    under: str | None = None
    sets: Mapping[str, str] = field(default_factory=dict)
    idle_close: float | None = None
    prompt_line: str | None = None
    last_line_first: bool = False
    model: Behaviour | None = None
    own_pages: Mapping[str, str] = field(default_factory=dict)
    no_error_paths: bool = False

    def dressed(self, answer: Answer) -> Answer:
        """With the zone's own page in place of the edge's."""
        return replace(answer, page=self.own_pages.get(answer.page, answer.page)) if answer.page else answer

    def passed_on(self, request: Request) -> bytes:
        """The request as the upstream gets it."""
        if self.prompt_line is not None:
            request = with_line(request, self.prompt_line)
        if self.last_line_first:
            request = with_last_line_first(request)
        if self.under is None and not self.sets:
            return request.head.raw + request.raw_body
        method, target, version = request.head.start
        new = {name.lower() for name in self.sets}
        kept = [(name, value) for name, value in request.head.fields if name.lower() not in new]
        fields = [f"{name}: {value}" for name, value in (*kept, *self.sets.items())]
        first = f"{method} {target.removeprefix(self.under or '')} {version}"
        return "\r\n".join([first, *fields, "", ""]).encode("latin-1") + request.raw_body

    def off_path(self, request: Request) -> bool:
        return self.under is not None and not request.target.startswith(f"{self.under}/")

    @property
    def reshapes(self) -> bool:
        """Whether body bytes are touched at all; else they pass as they are."""
        by_content = self.cut is not None and self.cut.after_seconds is None
        bytewise = self.line_end != "lf" or self.one_byte_writes or self.decoded_by or self.cut_by
        return bool(by_content or self.fill is not None or bytewise or self.rewrite)


@dataclass(frozen=True, slots=True)
class Fault:
    __pydantic_config__: ClassVar = STRICT

    id: str
    about: str
    do: Do
    when: When = field(default_factory=When)


@dataclass(frozen=True, slots=True)
class Faults:
    __pydantic_config__: ClassVar = STRICT

    faults: tuple[Fault, ...]


@lru_cache
def catalogue() -> Mapping[str, Fault]:
    """Every fault by its id."""
    path = bundled("configs", "lab", "faults.yaml")
    found: dict[str, Fault] = {}
    for fault in read(path, Faults).faults:
        if fault.id in found:
            raise ConfigError("stands twice", path=path, key=fault.id)
        for page in _pages(fault.do):
            if page not in pages():
                problem = f"page {page!r} is not known{did_you_mean(page, pages())}"
                raise ConfigError(problem, path=path, key=fault.id)
        found[fault.id] = fault
    return found


def named(faults: Sequence[str | Fault]) -> tuple[Fault, ...]:
    """The catalogue's faults by their names, others as they are; raises UsageError with the nearest valid name."""
    known = catalogue()
    for name in faults:
        if isinstance(name, str) and name not in known:
            raise UsageError(f"lab fault {name!r} is not known{did_you_mean(name, known)}")
    return tuple(known[fault] if isinstance(fault, str) else fault for fault in faults)


def _pages(do: Do) -> list[str]:
    timers = (do.upload_timer, do.first_byte_timer, do.idle_timer, do.total_timer)
    holders = (*timers, do.replace)
    answers = (do.answer, *(holder.answer for holder in holders if holder))
    return [*(a.page for a in answers if a and a.page), *do.own_pages, *do.own_pages.values()]
