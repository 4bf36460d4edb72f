"""Which request does a curl line make, as people write it and browsers copy it?

The line may stand in a ticket, behind a prompt, in Markdown or in the form for Windows' command prompt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.errors import UsageError
from probes.imports import cmd_words, curl_line, private, shell
from probes.imports.choice import choose
from probes.imports.plain import cleaned

if TYPE_CHECKING:
    from pathlib import Path

    from probes.complaint import Told
    from probes.imports.shell_words import Command
    from probes.imports.taken import Taken

_CURL = re.compile(
    r"(?<![\w./-])(?:/[\w./-]+/)?curl(?:\.exe)?(?=[ \t]+(?:-|['\"$\\^]|https?:|<|[\w.-]+[.:][\w/])|[ \t]*\\\r?\n)"
)
_MOST, _MOST_FAULTS = 200, 8
"""Lines that are looked at, and that can't be read: each of a hostile text may reach to its end."""
_LONG = 4096
_POWERSHELL = re.compile(r"\b(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b", re.IGNORECASE)


def told(text: str, taken: Taken, entry: int | None = None, folder: Path | None = None) -> Told:
    """`entry`: which of several lines, from 1. `folder`: where `@FILE` stands."""
    text = cleaned(text)
    found = lines(text)
    if not found:
        if _POWERSHELL.search(text):
            raise UsageError("holds a request of PowerShell's; copy it as cURL (bash)")
        raise UsageError("holds no curl line that names a URL")
    numbered = dict(enumerate(found, 1))
    chosen = choose(numbered, {number: _shown(one) for number, one in numbered.items()}, entry, "curl lines")
    return private.told(curl_line.request(chosen, text, folder), taken)


def holds_one(text: str) -> bool:
    """Whether a curl line with a URL stands in it, be it one that can't be read."""
    try:
        return bool(lines(cleaned(text)))
    except UsageError:
        return True


def lines(text: str) -> list[Command]:
    """The curl lines of a text that name a URL."""
    found: list[Command] = []
    faults: list[UsageError] = []
    after = 0
    looked = 0
    for match in _CURL.finditer(text):
        if match.start() < after:
            continue
        looked += 1
        if looked > _MOST:
            raise UsageError(f"holds more than {_MOST} curl lines; cut out the one that is meant")
        try:
            made = _read(text, match.start())
        except UsageError as fault:  # may be prose that only looks like one
            faults.append(fault)
            if len(faults) == _MOST_FAULTS:
                break
            continue
        made.words = [_one_text(word) for word in made.words]
        while made.words and not _CURL.match(f"{made.words[0]} -"):
            made.words.pop(0)
        names_url = any(_is_url(word) for word in made.words[1:])
        found += [made] if names_url else []
        if names_url or made.end - match.start() > _LONG:  # a short one may be prose, with the line behind it
            after = made.end
    if faults and not found:
        raise faults[0]
    return found


def _read(text: str, at: int) -> Command:
    if cmd_words.is_cmd(text, at):
        return cmd_words.command(text, at)
    return shell.command(text, _begin(text, at), ticked=text[at - 1 : at] == "`")


def _begin(text: str, at: int) -> int:
    """Of the line, where what stands before curl gives it its input."""
    start = text.rfind("\n", 0, at) + 1
    before = text[start:at]
    if "|" not in before or re.search(r"`|^\s*\|", before):
        return at
    first = re.search(r"\b(?:cat|echo|printf)\b", before)
    return start + first.start() if first is not None else at


def _one_text(word: str) -> str:
    """Bytes that were written one by one, as the characters that they are."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _is_url(word: str) -> bool:
    bare = word.removeprefix("--url=")
    return (
        re.match(
            r"https?://.|[\w.-]*[\w-]\.[A-Za-z]{2,}(?:[:/?]|$)|localhost\b|\ue000\w+\ue001/|[\w.-]+:\d+", bare
        )
        is not None
    )


def _shown(one: Command) -> str:
    urls = [word for word in one.words[1:] if _is_url(word)]
    url = next((word for word in urls if "://" in word), urls[0])
    return f"{private.shown_url(url)} (line {one.line})"
