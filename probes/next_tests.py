"""By which command can the next test be made, where one of ours can make it?

The words of a next test name it; the test named first that the command line can make, and that the case has not just
made, is the command. What stands in capitals in one is to be filled in.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from probes.api_paths import endpoint
from probes.bundled import names
from probes.target_flags import YOUR_MODEL, YOUR_TARGET, as_flags

if TYPE_CHECKING:
    from probes.model import Case, Target

SUITES = {
    "connection": "smoke", "completion": "smoke", "streaming": "smoke", "error_format": "smoke", "identity": "identity",
    "models": "edge", "request_encoding": "edge", "responses": "edge", "keepalive": "keepalive", "burst": "burst",
    "length": "long", "buffering": "streams", "lifetimes": "streams", "resumed": "streams",
    "sdk_versions": "sdk-matrix", "ttft_curve": "curve", "prompt_cache": "cache",
}  # fmt: skip
"""Kind → the bundled suite that asks it, where a finding was made in a suite of one's own."""
_DEMO = "demo"
_TARGETS = "configs/targets"
_ORIGIN = "origin"
_HAS_ORIGIN = ", once the target has a route origin"


class Test(NamedTuple):
    """`words`: a regex that finds it in a sentence. `suite`: `None` is the one in which it was found. `made_by`: kinds that
    make it themselves. `change`: what has to be said of the target differently.
    """

    words: str
    suite: str | None
    more: tuple[str, ...] = ()
    made_by: tuple[str, ...] = ()
    change: str | None = None


TESTS = (
    Test(r"\(--set (?P<set>pairs=\d+)\)", "long"),
    Test(r"\(--set (?P<set>deadline=[\d.]+)\)", "burst"),
    # `long` asks for the same stream itself, and for a longer one.
    Test(r"the same stream straight to the origin", "streams", change=_ORIGIN, made_by=("length",)),
    Test(r"the same stream by plain httpx or curl", "streams", ("--client", "httpx", "--client", "curl"), ("streaming", "responses", "buffering", "lifetimes", "length")),
    Test(r"straight to the (?:origin|upstream|backend|target|model server|integration)|past Squid", None, change=_ORIGIN),
    Test(r"without (?:the|any) proxy", None, change="no proxy"),
    Test(r"the same base URL with https", None, change="https"),
    Test(r"with stream on", "long", made_by=("length",)),
    Test(r"suite identity|vary client|another client|fewest headers|with curl's user agent", "identity", made_by=("identity",)),
    Test(r"bodies of half the size|bodies around 1 MiB|with a small body", "identity", ("--set", "sizes=65536,1048576"), ("identity",)),
    Test(r"with (?:the stage or )?/v1 added or removed", "smoke", made_by=("completion", "streaming")),
    Test(r"the other addresses of the name", "smoke", made_by=("connection",)),
    Test(r"a completion with the model|completions through each client", "smoke", made_by=("completion",)),
    Test(r"a minute later|the same request again", None),
)  # fmt: skip


class NextTest(NamedTuple):
    words: str
    command: str | None = None

    def __str__(self) -> str:
        return f"{self.words}: `{self.command}`" if self.command else self.words


class _Named(NamedTuple):
    """A target as a command names it: by flags that can be changed, or by the name of its file."""

    words: tuple[str, ...]
    flags: bool = False
    origin: bool = False


_ANY = _Named(("--target", YOUR_TARGET))


def of_finding(words: str, case: Case) -> NextTest:
    """Against the case's own target, in its own time; nothing for the demonstration, whose lab is gone."""
    if case.suite == _DEMO:
        return NextTest(words)
    suite = case.suite if case.suite in SUITES.values() else SUITES.get(case.kind, "smoke")
    named = _by_target(case.target)
    if named is None:
        return NextTest(words)
    found = _chosen(words, named, case.kind, suite, from_origin=case.route == _ORIGIN)
    if found.command is None or case.time_scale == 1.0:
        return found
    return found._replace(command=f"{found.command} --time-scale {case.time_scale:g}")


def of_answer(words: str, url: str, target: str | None = None) -> NextTest:
    """Against `target` where it has a file, else the API that `url` was a request to, else any target."""
    named = _Named(("--target", target)) if target is not None and target in names(_TARGETS) else None
    return _chosen(words, named or _by_url(url) or _ANY)


def _chosen(
    words: str, named: _Named, kind: str = "", asked: str = "smoke", *, from_origin: bool = False
) -> NextTest:
    found = [(match, test) for test in TESTS if (match := re.search(test.words, words))]
    for match, test in sorted(found, key=lambda each: each[0].start()):
        if kind in test.made_by or (from_origin and test.change == _ORIGIN):
            continue
        if (changed := _changed(named, test.change)) is None:
            continue
        said = ("--set", match["set"]) if "set" in match.groupdict() else test.more
        suite = test.suite or asked
        if "set" in match.groupdict():
            words = f"{words[: match.start()].rstrip()}{words[match.end() :]}"
        if test.change == _ORIGIN and not named.flags and not named.origin:
            words = f"{words[: match.end()]}{_HAS_ORIGIN}{words[match.end() :]}"
        return NextTest(words, shlex.join(("edgeprobe", "run", suite, *changed, *said)))
    return NextTest(words)


def _changed(named: _Named, change: str | None) -> tuple[str, ...] | None:
    """The words for the target with that change; `None` where only its file can make it."""
    words = named.words
    if change == _ORIGIN:
        way = ("--connect-to", "HOST:PORT") if named.flags and not named.origin else ()
        return (*words, *way, "--set", "route=origin")
    if change is None or not named.flags:
        return words if change is None else None
    if change == "https":
        return tuple(re.sub(r"^http:", "https:", word) for word in words)
    left = [word for n, word in enumerate(words) if "--proxy" not in (word, words[n - 1] if n else "")]
    return (*left, *([] if "--no-env-proxy" in left else ["--no-env-proxy"]))


# --- how a target is named -------------------------------------------------------------------------------


def _by_target(target: Target) -> _Named | None:
    """`None` where it was made of a URL, in a way that no flag says: it has no file that could be named."""
    target = _without_families(target)
    flags, edge = as_flags(target), target.routes.get("edge")
    if flags is None and edge is not None and target.name == urlsplit(edge.base_url).hostname:
        return _Named(("--target", target.name)) if target.name in names(_TARGETS) else None
    words = ("--target", target.name) if flags is None else flags
    return _Named(words, flags is not None, _ORIGIN in target.routes)


def _without_families(target: Target) -> Target:
    """As it was before a flow added a route of it over one IP family alone."""
    ways = {
        name: way
        for name, way in target.routes.items()
        if (base := target.routes.get(re.sub(r"-ipv[46]\Z", "", name))) is way
        or base is None
        or replace(way, name=base.name, family=base.family) != base
    }
    return replace(target, routes=ways)


_HOST = re.compile(r"[\w.-]+(?::\d{1,5})?|\[[\dA-Fa-f:.]+\](?::\d{1,5})?", re.ASCII)
_PATH = re.compile(r"[\w./~%-]*", re.ASCII)


def _by_url(url: str) -> _Named | None:
    """Nothing of its user, query and fragment; `None` where it is no URL of an API, or may be somebody's trick."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host, path = parts.netloc.rpartition("@")[2], parts.path.rstrip("/")
    asked = endpoint(url)
    if (
        asked is None
        or asked.api is None
        or not path.endswith(asked.path)
        or parts.scheme not in {"http", "https"}
        or not (_HOST.fullmatch(host) and _PATH.fullmatch(path))
    ):
        return None
    base = f"{parts.scheme}://{host}{path.removesuffix(asked.path)}"
    return _Named(("--base-url", base, "--api", asked.api, "--model", YOUR_MODEL), flags=True)
