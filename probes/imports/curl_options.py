"""Which options has curl, and what does each mean for the request?

From its manual (https://curl.se/docs/manpage.html). What is not listed is refused, as nobody knows whether it takes a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from probes.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHORT = {
    "0": "http1.0", "4": "ipv4", "6": "ipv6", "A": "user-agent", "b": "cookie", "c": "cookie-jar", "C": "continue-at",
    "d": "data", "D": "dump-header", "e": "referer", "E": "cert", "f": "fail", "F": "form", "g": "globoff", "G": "get",
    "H": "header", "i": "include", "I": "head", "j": "junk-session-cookies", "J": "remote-header-name", "k": "insecure",
    "K": "config", "L": "location", "m": "max-time", "M": "manual", "n": "netrc", "N": "no-buffer", "o": "output",
    "O": "remote-name", "p": "proxytunnel", "q": "disable", "R": "remote-time", "r": "range", "s": "silent",
    "S": "show-error", "T": "upload-file", "u": "user", "U": "proxy-user", "v": "verbose", "V": "version", "w": "write-out",
    "x": "proxy", "X": "request", "y": "speed-time", "Y": "speed-limit", "Z": "parallel", "z": "time-cond", "1": "tlsv1",
    "#": "progress-bar", ":": "next",
}  # fmt: skip
_VALUED = _names(
    """
    user-agent cookie data data-ascii data-binary data-raw data-urlencode json referer form form-string header request url
    url-query user proxy resolve connect-to max-time oauth2-bearer range unix-socket abstract-unix-socket interface
    dns-servers doh-url noproxy preproxy socks4 socks4a socks5 socks5-hostname proxy1.0 tls-max ciphers tls13-ciphers curves
    cacert capath cert cert-type key key-type pass pinnedpubkey crlfile engine cookie-jar dump-header output output-dir
    write-out stderr trace trace-ascii trace-config config upload-file continue-at speed-time speed-limit limit-rate
    rate retry retry-delay retry-max-time connect-timeout expect100-timeout keepalive-time keepalive-cnt max-redirs
    max-filesize proto proto-default proto-redir proxy-user proxy-header proxy-cacert aws-sigv4 netrc-file time-cond
    local-port happy-eyeballs-timeout-ms request-target etag-save etag-compare hsts alt-svc create-file-mode parallel-max
    libcurl variable ip-tos vlan-priority ech service-name delegation
    """
)
_PLAIN = _names(
    """
    get head compressed insecure ipv4 ipv6 http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only location
    location-trusted globoff path-as-is no-buffer buffer silent show-error verbose include fail fail-with-body fail-early
    progress-bar progress-meter no-progress-meter parallel parallel-immediate remote-name remote-name-all remote-header-name
    remote-time remove-on-error create-dirs junk-session-cookies netrc netrc-optional proxytunnel proxy-insecure basic digest ntlm negotiate anyauth
    tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 ssl ssl-reqd ssl-no-revoke ssl-revoke-best-effort tcp-nodelay no-tcp-nodelay
    tcp-fastopen keepalive no-keepalive no-alpn alpn no-npn no-sessionid sessionid raw tr-encoding ignore-content-length
    disable styled-output no-styled-output trace-time trace-ids post301 post302 post303 retry-all-errors retry-connrefused
    no-clobber clobber disallow-username-in-url xattr suppress-connect-headers haproxy-protocol manual version
    proxy-basic proxy-digest proxy-ntlm proxy-negotiate next form-escape skip-existing
    """
)

IGNORED = _names(
    """
    silent show-error verbose include output output-dir write-out stderr dump-header cookie-jar fail fail-with-body fail-early
    progress-bar progress-meter no-progress-meter no-buffer buffer remote-name remote-name-all remote-header-name remote-time
    create-dirs trace trace-ascii trace-time trace-ids trace-config styled-output no-styled-output disable junk-session-cookies
    connect-timeout expect100-timeout keepalive-time keepalive-cnt keepalive no-keepalive tcp-nodelay no-tcp-nodelay tcp-fastopen
    globoff basic proto-default sessionid no-sessionid raw parallel parallel-immediate parallel-max retry retry-delay
    retry-max-time retry-all-errors retry-connrefused libcurl limit-rate speed-time speed-limit rate create-file-mode remove-on-error
    no-clobber clobber xattr suppress-connect-headers max-redirs max-filesize post301 post302 post303 ssl-no-revoke
    ssl-revoke-best-effort happy-eyeballs-timeout-ms disallow-username-in-url form-escape skip-existing etag-save alpn
    """
)
"""What says how curl itself shows, repeats or waits, and nothing of the request."""
NOTED = {
    "insecure": "-k is left out: here the certificate is checked",
    "location": "-L is left out: a redirect is told, and not followed",
    "location-trusted": "--location-trusted is left out: a redirect is told, and not followed",
    "cert": "the client certificate is left out; a target's file names it by client_cert",
    "key": "the client certificate is left out; a target's file names it by client_cert",
    "cacert": "--cacert is left out; SSL_CERT_FILE names a trust store here",
    "capath": "--capath is left out; SSL_CERT_DIR names a trust store here",
    "netrc": "the user and password of a .netrc are left out",
    "netrc-optional": "the user and password of a .netrc are left out",
    "netrc-file": "the user and password of a .netrc are left out",
    "http1.0": "HTTP/1.0 is not spoken here: HTTP/1.1 instead",
    "http0.9": "HTTP/0.9 is not spoken here",
    "http3": "HTTP/3 is not spoken here",
    "http3-only": "HTTP/3 is not spoken here",
}
"""What is left out and may make a difference."""
REFUSED = {
    "config": "the file of -K holds options; write them into the line",
    "digest": "--digest takes two requests; one alone is asked here",
    "ntlm": "--ntlm takes several requests; one alone is asked here",
    "negotiate": "--negotiate takes several requests; one alone is asked here",
    "anyauth": "--anyauth takes several requests; one alone is asked here",
    "aws-sigv4": "--aws-sigv4 signs with the time of day; write the signed headers as curl -v shows them",
    "unix-socket": "--unix-socket is no way to an edge",
    "abstract-unix-socket": "--abstract-unix-socket is no way to an edge",
    "next": "--next makes several requests; write one curl line for each",
    "upload-file": "-T uploads a file; write it as -X PUT --data-binary @FILE",
    "request-target": "--request-target sends another path than the URL's; write it into the URL",
    "variable": "--variable is not read; write its value in its place",
}


class Option(NamedTuple):
    """`name`: the long one, without dashes; empty for a word that is no option, which is a URL."""

    name: str
    value: str


def options(words: list[str], line: int) -> Iterator[Option]:
    """Those of a curl line, in their order; UsageError for what curl has not."""
    rest = iter(words)
    for word in rest:
        if word == "<":
            next(rest, None)  # a file for standard input, which `stdin` tells where the text has it
        elif word.startswith("--") and len(word) > 2:
            name, given = _long(word.removeprefix("--"), line)
            yield Option(name, _value(rest, name, line) if name in _VALUED and given is None else given or "")
        elif word.startswith("-") and len(word) > 1:
            yield from _bundle(word[1:], rest, line)
        elif word != "--":
            yield Option("", word)


def _long(said: str, line: int) -> tuple[str, str | None]:
    """It takes no `--name=value`, but people write it."""
    name, equals, value = said.partition("=")
    if name in _VALUED | _PLAIN:
        return name, value if equals else None
    unsaid = name.removeprefix("no-")
    if unsaid in _PLAIN:
        return "silent", None
    starts = sorted(known for known in _VALUED | _PLAIN if known.startswith(name))
    if len(starts) == 1:
        return starts[0], value if equals else None
    nearest = did_you_mean(name, _VALUED | _PLAIN)
    near = nearest if "did you mean" in nearest else ""
    shown = name if name.replace("-", "").isalpha() and len(name) < 30 else "…"
    raise UsageError(f"line {line}: curl has no option --{shown}{near}")


def _bundle(letters: str, rest: Iterator[str], line: int) -> Iterator[Option]:
    """`-sSX POST`, `-XPOST`."""
    for number, letter in enumerate(letters, 1):
        name = _SHORT.get(letter)
        if name is None:
            shown = letter if letter.isascii() and letter.isprintable() else "…"
            raise UsageError(f"line {line}: curl has no option -{shown}")
        if name in _VALUED:
            glued = letters[number:]
            yield Option(name, glued or _value(rest, name, line))
            return
        yield Option(name, "")


def _value(rest: Iterator[str], name: str, line: int) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"line {line}: --{name} has no value; the line may have been cut off")
    return value
