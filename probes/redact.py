"""What of this must nobody see?

Secrets go by value (in any spelling that an echo uses; one too short for that by the name it stands behind), by the name
of the header that carries them, and by the shape of a key. Whatever is stored or shown passes here once, as a `Call`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes import secretive
from probes.complaint import reference
from probes.model import BODY_HEAD, Ask, Dial, Raw
from probes.spellings import pattern, piece_at_end, piece_at_start, spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from probes.model import Call, Exchange, Request

REDACTED = "[redacted]"
_SCHEMES = frozenset({"bearer", "basic", "digest", "negotiate", "token", "apikey"})
_MIN_VALUE = 8
_MAX_DEPTH = 100
_PLACEHOLDERS = frozenset({"placeholder", "undefined", "anonymous", "not-needed", "no-key-required"})

_LEADS = ("Bearer ", "bearer ", "://")  # stay, for what they say of the secret
_SHAPES = re.compile(
    "|".join(
        (
            # Look-behinds stand after the prefix: branches that begin with a literal are searched fast.
            # With a digit or a capital, as every real one has: `sk-folding-cube` is a style sheet's.
            r"sk-(?<![\w-]sk-)(?=[a-z_-]*[A-Z0-9])[\w-]{16,}",
            r"AIza(?<![\w-]AIza)[\w-]{30,}",
            r"hf_(?<![\w-]hf_)[A-Za-z0-9]{20,}",
            r"gsk_(?<![\w-]gsk_)[A-Za-z0-9]{20,}",
            r"xai-(?<![\w-]xai-)[A-Za-z0-9]{20,}",
            *(
                rf"{lead}(?<![\w-]{lead})[A-Za-z0-9]{{30,}}"
                for lead in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")
            ),
            r"github_pat_(?<![\w-]github_pat_)\w{30,}",
            r"glpat-(?<![\w-]glpat-)(?=[a-z_-]*[A-Z0-9])[\w-]{20,}",
            r"xox[abeprs]-(?<![\w-]xox[abeprs]-)(?=[A-Za-z-]*\d)[A-Za-z0-9-]{10,}",
            r"eyJ(?<![\w-]eyJ)[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
            r"A[KS]IA(?<![\w-]A[KS]IA)[0-9A-Z]{16}(?!\w)",
            # `Bearer realm=…` and `Bearer authentication` are words of a challenge, not tokens.
            *(rf"{word} (?=[A-Za-z._~+/=-]*\d)[\w.~+/=-]{{12,}}" for word in ("Bearer", "bearer")),
            r"://[^\s/:@\"']{0,256}:[^\s/@\"']{1,256}(?=@)",
        )
    ),
    re.ASCII,
)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=\[redacted\])")
"""Of an escape whose letter went with the secret that began there: no JSON any more."""
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)


def safe_text(text: str) -> str:
    """`text` from a stranger, fit for a terminal: controls, escapes, line ends and bidi marks become visible."""
    return _HARMFUL.sub(lambda match: ascii(match[0])[1:-1], text)


def looks_like_key(text: str) -> bool:
    """Whether something shaped like an API key, or a password in a URL, stands in `text`."""
    return _SHAPES.search(text) is not None


def with_keys_as(text: str, said: Callable[[str], str]) -> str:
    """Where something shaped like a key or a URL's password stands, what `said` makes of it."""

    def instead(match: re.Match[str]) -> str:
        lead = next((lead for lead in _LEADS if match[0].startswith(lead)), "")
        return lead + said(match[0].removeprefix(lead))

    return _SHAPES.sub(instead, text)


class Redactor:
    """`secrets` go by value, shorter ones than 8 characters behind a name that says so; `headers` are further names whose
    values are secret; `spared` only look like a key.
    """

    def __init__(
        self, secrets: Iterable[str] = (), headers: Iterable[str] = (), spared: Iterable[str] = ()
    ) -> None:
        given = {s for s in secrets if s and s.lower() not in _PLACEHOLDERS}
        values = {s for s in given if len(s) >= _MIN_VALUE}
        self._short = secretive.named(given - values)
        # Longest first: of two secrets that start alike, the whole one goes.
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._spellings = [spelling for value in ordered for spelling in spellings(value)]
        self._values = re.compile("|".join(map(pattern, self._spellings)) or r"(?!)")
        self._spared = frozenset(spared)
        self._headers = secretive.HEADERS | {name.lower() for name in headers}

    def __repr__(self) -> str:
        return "Redactor()"

    def text(self, text: str) -> str:
        text = self._short.sub(rf"\1{REDACTED}", self._values.sub(REDACTED, text))
        return with_keys_as(text, lambda key: key if key in self._spared else REDACTED)

    def data(self, data: bytes, *, cut_start: bool = False, cut_end: bool = False) -> bytes:
        """`cut_start`, `cut_end`: more stood before or after, so a piece of a secret may stand at that edge."""
        text = _HALF_ESCAPE.sub(r"\1", self.text(data.decode("latin-1")))
        if cut_end:
            text = self._without_piece_at_end(text)
        if cut_start:
            text = self._without_piece_at_start(text)
        return text.encode("latin-1")

    def echoed(self, exchange: Exchange) -> str | None:
        """Where a response holds one of the secrets in clear: `header x` or `body`."""
        for name, values in exchange.headers.items():
            if any(self._values.search(value) for value in values):
                return f"header {name}"
        body = (exchange.body_head + exchange.body_tail).decode("latin-1")
        return "body" if self._values.search(body) else None

    def tree(self, tree: Any, _depth: int = 0) -> Any:
        """JSON-like data with every text redacted, keys too; under the name of a secret header the whole value."""
        if isinstance(tree, str):
            return self.text(tree)
        if _depth > _MAX_DEPTH:
            return "[nested too deeply]"
        if isinstance(tree, Mapping):
            return {self.text(str(key)): self._named(str(key), value, _depth) for key, value in tree.items()}
        if isinstance(tree, list | tuple):
            return [self.tree(item, _depth + 1) for item in tree]
        return self.data(tree) if isinstance(tree, bytes) else tree

    def call(self, call: Call) -> Call:
        """The whole of a call: what was planned, what passed on the wire, what the caller was told."""
        raised = call.raised
        return replace(
            call,
            trial=replace(call.trial, request=self._request(call.trial.request)),
            exchanges=tuple(self._exchange(_as_asked(one, call.trial.request)) for one in call.exchanges),
            returned=self._head(call.returned),
            raised=raised and replace(raised, text=self._head(raised.text) or ""),
            conditions=self.tree(call.conditions),
        )

    # --- the parts of a call -----------------------------------------------------------------------------

    def _request(self, request: Request) -> Request:
        if isinstance(request, Dial):
            return request
        if isinstance(request, Ask):
            edits = {name: value and self._header(name, value) for name, value in request.edits.items()}
            return replace(request, edits=edits)
        path, body = self.text(request.path), self.data(request.body)
        headers = tuple(
            (
                self.text(name),
                self.text(value) if _only_names(value, request.secrets) else self._header(name, value),
            )
            for name, value in request.headers
        )
        return replace(request, path=path, headers=headers, body=body)

    def _exchange(self, exchange: Exchange) -> Exchange:
        sent, error, attribution = exchange.request, exchange.error, exchange.attribution
        head, tail = self._body(exchange)
        received = {
            self.text(name): [self._header(name, value) for value in values]
            for name, values in exchange.headers.items()
        }
        return replace(
            exchange,
            request=replace(sent, url=self.text(sent.url), headers=self._pairs(sent.headers)),
            headers=received,
            body_head=head,
            body_tail=tail,
            facts=self.tree(exchange.facts),
            error=error and replace(error, text=self._head(error.text) or ""),
            conditions=self.tree(exchange.conditions),
            attribution=attribution and replace(attribution, extracted=self.tree(attribution.extracted)),
        )

    def _body(self, exchange: Exchange) -> tuple[bytes, bytes]:
        """Head and tail; where they are the whole body, it is redacted in one piece and stays JSON if it was."""
        head, tail, cut = exchange.body_head, exchange.body_tail, exchange.error is not None
        if exchange.elided:
            return self.data(head, cut_end=True), self.data(tail, cut_start=True, cut_end=cut)
        whole = head + tail
        clean = self.data(whole, cut_end=cut)
        if clean == whole:
            return head, tail
        if self._parsed(clean) is None and (document := self._parsed(whole)) is not None:
            clean = json.dumps(self.tree(document)).encode("ascii")
        return clean[:BODY_HEAD], clean[BODY_HEAD:]

    def _parsed(self, data: bytes) -> Any:
        """A JSON body whose numbers hold no secret; `None` where it is none."""

        def number(text: str) -> str | float:
            return REDACTED if self.text(text) != text else json.loads(text)

        try:
            return json.loads(data, parse_int=number, parse_float=number)
        except (ValueError, RecursionError):
            return None

    def _pairs(self, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        return tuple((self.text(name), self._header(name, value)) for name, value in headers)

    def _header(self, name: str, value: str) -> str:
        name = name.lower()
        if name not in self._headers:
            return self.text(value)
        if name in {"cookie", "set-cookie"}:
            return _without_cookie_values(value, attributes=name == "set-cookie")
        scheme, _, rest = value.partition(" ")
        return f"{scheme} {REDACTED}" if rest and scheme.lower() in _SCHEMES else REDACTED

    def _named(self, name: str, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return REDACTED if self._short.fullmatch(f"{name}={value}") else self._header(name, value)
        if isinstance(value, list | tuple) and name.lower() in self._headers:
            return [self._named(name, item, depth + 1) for item in value]
        return self.tree(value, depth + 1)

    # --- a secret that a cut runs through ----------------------------------------------------------------

    def _head(self, text: str | None) -> str | None:
        """A text that its maker may have cut at the end."""
        return text and self._without_piece_at_end(self.text(text))

    def _without_piece_at_end(self, text: str) -> str:
        starts = [at for spelling in self._spellings if (at := piece_at_end(spelling, text)) is not None]
        return text[: min(starts)] + REDACTED if starts else text

    def _without_piece_at_start(self, text: str) -> str:
        ends = [at for spelling in self._spellings if (at := piece_at_start(spelling, text)) is not None]
        return REDACTED + text[max(ends) :] if ends else text


def _only_names(value: str, variables: Iterable[str]) -> bool:
    """Whether what is secret in a header's value is all named by variables, beside a scheme or the names of cookies."""
    known = "|".join(re.escape(reference(name)) for name in variables)
    one = rf"(?:{known})"
    return (
        bool(known)
        and re.fullmatch(rf"(?:[A-Za-z]+ )?{one}|[^\s=;]+={one}(?:; ?[^\s=;]+={one})*", value) is not None
    )


def _as_asked(exchange: Exchange, asked: Request) -> Exchange:
    """Where `asked` refers to a secret, its place is empty, however short the value was."""
    if not (isinstance(asked, Raw) and asked.rooted and asked.secrets):
        return exchange
    references = re.compile("|".join(re.escape(reference(name)) for name in asked.secrets))
    sent = exchange.request
    url, headers = (
        sent.url,
        {name.lower(): value for name, value in asked.headers if references.search(value)},
    )
    if references.search(asked.path):
        parts = urlsplit(url)
        url = f"{parts.scheme}://{parts.netloc}{references.sub(REDACTED, asked.path)}"
    pairs = tuple(
        (name, references.sub(REDACTED, headers.get(name.lower(), value))) for name, value in sent.headers
    )
    return replace(exchange, request=replace(sent, url=url, headers=pairs))


def _without_cookie_values(value: str, *, attributes: bool) -> str:
    """The names stay: a product is known by those of its cookies."""
    first, *rest = value.split(";")
    rest = rest if attributes else list(map(_without_value, rest))
    return ";".join([_without_value(first), *rest])


def _without_value(cookie: str) -> str:
    name, equals, _ = cookie.partition("=")
    return f"{name}={REDACTED}" if equals else REDACTED
