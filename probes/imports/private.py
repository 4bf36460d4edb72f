"""What of a request is secret, and what stands in its place?"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from probes import config
from probes.complaint import Told, digest_of, reference
from probes.errors import UsageError
from probes.imports.plain import UNRESOLVED, Plain, unresolved
from probes.imports.taken import KEY
from probes.redact import REDACTED, looks_like_key, safe_text, with_keys_as
from probes.secretive import AUTHORIZING, in_body, in_query, in_words

if TYPE_CHECKING:
    from probes.imports.taken import Taken

_STANDARD = frozenset({
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "content-encoding",
    "content-language", "content-length", "content-type", "date", "dnt", "expect", "host", "if-modified-since", "if-none-match",
    "keep-alive", "openai-beta", "anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access", "origin",
    "pragma", "priority", "range", "referer", "te", "trailer", "transfer-encoding", "upgrade", "upgrade-insecure-requests",
    "user-agent", "x-requested-with",
})  # fmt: skip
_OF_A_BROWSER = ("sec-fetch-", "sec-ch-", "sec-gpc")
_PLACEHOLDER = re.compile(
    r"""\.{3}|…|^[<\[{(].*[>\]})]$|\*{3}|x{4}|•{3}|redacted|your|placeholder|^(?:my[-_]?)?(?:api[-_]?)?(?:key|token|secret)$
    |(?-i:^[A-Z]+(?:_[A-Z]+)+$)|^\$?\{\{.*\}\}$|^%\w+%$|^(?:key|token)?[-_ ]?here$""",
    re.IGNORECASE | re.VERBOSE,
)
_BESIDE = re.compile(rf"(\s*(?:{UNRESOLVED.replace('(', '(?:')}|[^ -~])\s*|^\s+|\s+$)")
"""In a secret, variables of the shell, and what no header can carry."""
_TOO_SHORT = 4
_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "digest", "negotiate"})


def told(plain: Plain, taken: Taken) -> Told:
    """What `plain` says, with a reference wherever a secret stood; the values are in `taken`."""
    if looks_like_key(f"{plain.method} {plain.connect_to or ''}") or re.search(
        UNRESOLVED, plain.connect_to or ""
    ):
        raise UsageError("the method or the address that is dialled holds a secret, or a shell variable")
    found = _Private(taken)
    said = found.referenced
    url = said(found.url(plain))
    headers = tuple(
        (one, said(kept)) for name, value in plain.headers for one, kept in found.header(name, value)
    )
    if plain.user is not None and "authorization" not in {name.lower() for name, _ in headers}:
        headers = (("Authorization", said(found.basic(plain.user))), *headers)
    body = found.body(plain.body)
    proxy = found.proxy(plain)
    version = plain.version and said(found.text(plain.version, "version"))
    seen = plain.seen and taken.hidden(said(found.text(plain.seen, "answer")))
    notes = [taken.hidden(said(found.text(note, "note"))) for note in (*plain.notes, *found.notes)]
    return Told(
        method=plain.method,
        url=url,
        headers=headers,
        body=body,
        form=plain.form,
        client=plain.client,
        version=version,
        http_version=plain.http_version,
        family=plain.family,
        connect_to=plain.connect_to,
        proxy=proxy,
        secrets=tuple(found.variables),
        digests=tuple(found.digests),
        seen=seen,
        notes=tuple(dict.fromkeys(notes)),
    )


def without_keys(text: str) -> str:
    """For people: without what has the shape of a key, and without what may not be shown on a terminal."""
    return safe_text(with_keys_as(re.sub(UNRESOLVED, r"$\1", text), lambda _: REDACTED))


def shown_url(url: str) -> str:
    """For people, in a list to choose from: without user, query and fragment."""
    return without_keys(re.sub(r"//[^/@]*@", "//", re.split(r"[?#]", url)[0]))[:200]


class _Private:
    """`variables`: those that references stand for. `digests`: of headers that nobody knows.

    What was taken out stands as a variable of the shell does, until `referenced` writes the references.
    """

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self.variables: dict[str, None] = {}
        self.digests: list[tuple[str, str]] = []
        self.notes: list[str] = []

    # --- the parts of a request --------------------------------------------------------------------------

    def url(self, plain: Plain) -> str:
        try:
            parts = urlsplit(plain.url)
            user, host = parts.username, parts.hostname
            _ = parts.port
        except ValueError:
            raise UsageError("the URL cannot be read: its host or port is malformed") from None
        if parts.scheme not in {"http", "https"} or not host or re.search(r"[\s\x00-\x1f]", plain.url):
            raise UsageError("the URL cannot be read: it must be an absolute http or https URL")
        if re.search(UNRESOLVED, parts.netloc):
            raise UsageError("the host of the URL is a shell variable whose value is not told; write it out")
        if user is not None:
            plain.user = plain.user or unquote(parts.netloc.rpartition("@")[0])
        if parts.fragment:
            self.notes.append("the fragment of the URL is never sent, and is left out")
        query = in_query(parts.query, lambda value: self._secret(value, "QUERY"))
        path = self.text(parts.path or "/", "path")
        netloc = parts.netloc.rpartition("@")[2]
        if with_keys_as(netloc, lambda _: "") != netloc:
            raise UsageError("the URL cannot be read: its host looks like a key")
        return urlunsplit((parts.scheme, netloc, path, self._shaped(query, "query"), ""))

    def header(self, name: str, value: str) -> list[tuple[str, str]]:
        """The pair as it is kept; none where it can't be kept."""
        low = name.lower()
        if with_keys_as(name, lambda _: "") != name or re.search(UNRESOLVED, name):
            self.notes.append("a header whose name holds a secret is left out")
            return []
        if low in AUTHORIZING:
            return [(name, self._authorizing(name, value))]
        if low == "proxy-authorization":
            self.notes.append(f"{name} is for a proxy, and is left out")
            return []
        if low == "cookie":
            return [(name, "; ".join(map(self._cookie, value.split(";"))))]
        if low in _known() or low.startswith(_OF_A_BROWSER):
            return [(name, self.text(value, name))]
        return self._unknown(name, value)

    def body(self, body: bytes) -> bytes:
        """Any bytes; what is no secret stays to the byte."""
        said = in_body(body.decode("utf-8", "surrogateescape"), lambda value: self._secret(value, "BODY"))
        return self.referenced(self._shaped(said, "BODY")).encode("utf-8", "surrogateescape")

    def basic(self, user: str) -> str:
        pair = user if ":" in user else f"{user}:"
        if re.search(UNRESOLVED, pair):
            raise UsageError(
                "the user or password is a shell variable whose value is not told; write a header instead"
            )
        return f"Basic {self._secret(base64.b64encode(pair.encode()).decode('ascii'), KEY)}"

    def proxy(self, plain: Plain) -> str | None:
        if plain.proxy is None:
            return None
        said = plain.proxy if "://" in plain.proxy else f"http://{plain.proxy}"
        try:
            parts = urlsplit(said)
            named = parts.username is not None
        except ValueError:
            named, parts = False, None
        if parts is None or parts.scheme not in {"http", "https"} or re.search(UNRESOLVED, said):
            self.notes.append("the proxy is none that can be gone through here, and is left out")
            return None
        if named:
            self.notes.append("the user and password of the proxy are left out; put them into HTTPS_PROXY")
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def text(self, said: str, name: str) -> str:
        """Without what its name, or the shape of a key, says to be secret."""
        return self._shaped(in_words(said, lambda value: self._secret(value, name)), name)

    def referenced(self, said: str) -> str:
        """With references for what was taken out, and for variables of the shell."""
        return re.sub(UNRESOLVED, lambda match: reference(self._variable(match[1])), said)

    # --- what is secret ----------------------------------------------------------------------------------

    def _authorizing(self, name: str, value: str) -> str:
        scheme, blank, rest = value.partition(" ")
        lead, secret = (scheme + blank, rest.strip()) if scheme.lower() in _SCHEMES else ("", value.strip())
        if re.fullmatch(UNRESOLVED, secret):
            return lead + secret
        if not secret:
            self.notes.append(f"{name} is empty")
            return lead.strip()
        bare = re.sub(UNRESOLVED, "", secret)
        if bare != secret or len(secret) < _TOO_SHORT or _PLACEHOLDER.search(secret):
            self.notes.append(f"{name} holds a placeholder: the key was taken out of it before it was pasted")
            return lead + unresolved(KEY)
        return lead + self._secret(secret, KEY)

    def _cookie(self, cookie: str) -> str:
        name, equals, value = cookie.strip().partition("=")
        return (
            f"{self.text(name, 'cookie')}={self._secret(value, f'COOKIE_{name}')}"
            if equals and value
            else cookie.strip()
        )

    def _unknown(self, name: str, value: str) -> list[tuple[str, str]]:
        if re.fullmatch(UNRESOLVED, value.strip()):
            return [(name, value.strip())]
        if not value.strip():
            return [(name, "")]
        bare = re.sub(UNRESOLVED, "", value)
        if bare != value or not (value.isascii() and value.isprintable()):
            why = "a shell variable is part of its value" if bare != value else "its value is not plain ASCII"
            self.notes.append(f"{name} is left out: {why}, and nobody here knows what it is")
            return []
        self.digests.append((name, digest_of(name, value.strip())))
        return [(name, self._secret(value.strip(), name))]

    def _secret(self, value: str, name: str) -> str:
        """All of it but what stands beside it."""
        pieces = enumerate(_BESIDE.split(value))
        return "".join(piece if at % 2 else self._piece(piece, name) for at, piece in pieces)

    def _piece(self, value: str, name: str) -> str:
        return (
            unresolved(self._variable(self._taken.take(value, name.removeprefix("TOLD_")))) if value else ""
        )

    def _variable(self, name: str) -> str:
        self.variables[name] = None
        return name

    def _shaped(self, said: str, name: str) -> str:
        return with_keys_as(said, lambda secret: self._secret(secret, name))


@lru_cache
def _known() -> frozenset[str]:
    """Standard headers, and those that the clients of the table send."""
    rows = (name.lower() for client in config.clients().values() for name, _ in client.headers)
    return _STANDARD | frozenset(rows)
