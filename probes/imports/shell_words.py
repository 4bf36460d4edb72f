"""What words does bash make of a command?

Quotes, `$'…'`, lines that go on, here-documents, comments, `$(cat <<EOF …)`. Of a variable whose value is not known the
name stays (`plain.unresolved`). What would have to be run is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from probes.errors import UsageError
from probes.imports.plain import unresolved

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BRACED = re.compile(r"\{([A-Za-z_]\w*)(?::?-([^}]{0,1000}))?\}", re.ASCII)
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v", "\\": "\\", "'": "'",
    '"': '"', "?": "?",
}  # fmt: skip
_CODE = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})", re.ASCII)

_DEEPEST = 4
"""`$(…)` within `$(…)`."""


@dataclass(slots=True, repr=False)
class Command:
    """`stdin`: what a here-document, a here-string or the `echo` before a pipe gives it. `line` counts from 1 in the text;
    `end` is where it ended in it, and `by` what ended it.
    """

    words: list[str] = field(default_factory=list)
    stdin: str | None = None
    line: int = 1
    end: int = 0
    by: str = ""


def printed(found: Command) -> str | None:
    """What a command prints, where that is plain."""
    match found.words:
        case ["echo", "-n", one] | ["printf", one] | ["printf", "%s", one]:
            return one
        case ["echo", *rest]:
            return " ".join(rest) + "\n"
        case ["cat"]:
            return found.stdin
    return None


class Reader:
    def __init__(
        self, text: str, at: int, variables: dict[str, str], *, ticked: bool = False, depth: int = 0
    ) -> None:
        self._text = text
        self._at = at
        self._variables = variables
        self._ticked = ticked
        self._depth = depth
        self._waiting: list[tuple[str, bool, bool]] = []  # here-documents: end, expanded, tabs left out

    def command(self) -> Command:
        found = Command(line=self._line())
        while True:
            word = self._word(found)
            if word is not None:
                found.words.append(word)
                continue
            by = self._operator(found)
            if by is not None:
                found.end, found.by = self._at, by
                if self._waiting:
                    found.stdin = self._documents()
                return found

    # --- between words -----------------------------------------------------------------------------------

    def _operator(self, found: Command) -> str | None:
        """What ends the command; `None` where it goes on."""
        rest = self._text[self._at : self._at + 3]
        if rest.startswith("<<<"):
            self._at += 3
            said = self._next_word(found)
            found.stdin = f"{said}\n"
            return None
        if rest.startswith("<<"):
            self._document()
            return None
        if rest[:1] in {">", "<"}:
            self._at += 2 if rest[:2] in {">>", ">&", "<&", ">|"} else 1
            target = self._next_word(found)
            if rest[0] == "<":
                found.words += ["<", target]
            return None
        for sign in ("&&", "||", "|&"):
            if rest.startswith(sign):
                self._at += 2
                return "|" if sign == "|&" else sign
        if rest.startswith("&>"):
            self._at += 2
            self._next_word(found)
            return None
        self._at += len(rest[:1])
        return rest[:1] if rest[:1] != "`" else ""

    def _next_word(self, found: Command) -> str:
        word = self._word(found)
        if word is None:
            raise UsageError(f"line {self._line()}: nothing stands behind < or >")
        return word

    def _blanks(self) -> None:
        while True:
            going_on = re.compile(r"[ \t]+|\\[ \t]*\r?\n(?:[ \t]*>[ \t])?|\r(?=\n)").match(
                self._text, self._at
            )
            if going_on is None:
                break
            self._at = going_on.end()
        if self._text[self._at : self._at + 1] == "#":
            self._at = self._line_end(self._at)

    def _line_end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end

    def _line(self, at: int | None = None) -> int:
        return self._text.count("\n", 0, self._at if at is None else at) + 1

    # --- here-documents ----------------------------------------------------------------------------------

    def _document(self) -> None:
        match = re.compile(r"<<(-?)[ \t]*(['\"\\]?)([\w.+-]+)['\"]?").match(self._text, self._at)
        if match is None:
            raise UsageError(f"line {self._line()}: the end of the here-document is not named")
        self._at = match.end()
        self._waiting.append((match[3], not match[2], bool(match[1])))

    def _documents(self) -> str:
        """The last of those that wait, which begin on the next line; the command's own rest of the line is passed over."""
        said = ""
        at = self._line_end(self._at - 1 if self._text[self._at - 1 : self._at] == "\n" else self._at) + 1
        for end, expanded, tabs in self._waiting:
            lines: list[str] = []
            while True:
                if at > len(self._text):
                    raise UsageError(f"line {self._line()}: the here-document has no end: {end} is missing")
                until = self._line_end(at)
                line = self._text[at:until].removesuffix("\r")
                at = until + 1
                line = line.lstrip("\t") if tabs else line
                if line.strip() == end:
                    break
                lines.append(f"{line}\n")
            said = "".join(lines)
            within = Reader(said, 0, self._variables, depth=self._depth)
            said = within.expanded("") if expanded else said
        if (
            self._text[self._at - 1 : self._at] == "\n"
            or not self._text[self._at : self._line_end(self._at)].strip()
        ):
            self._at = at
        self._waiting = []
        return said

    # --- a word ------------------------------------------------------------------------------------------

    def _word(self, found: Command) -> str | None:
        """`None` where an operator or the end stands."""
        self._blanks()
        parts: list[str] = []
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign in " \t\r\n;&|<>)" or (sign == "`" and self._ticked):
                break
            if sign == "\\" and re.compile(r"\\[ \t]*\r?\n").match(self._text, self._at):
                break
            parts.append(self._part(sign))
        if not parts:
            return None
        word = "".join(parts)
        if word.isdecimal() and self._text[self._at : self._at + 1] in {"<", ">"}:
            return self._word(found) if self._operator(found) is None else None  # 2>&1
        return word

    def _part(self, sign: str) -> str:
        following = self._text[self._at : self._at + 2]
        if sign == "'":
            return self._single()
        if sign == '"' or following == '$"':
            self._at += 2 if sign == "$" else 1
            return self.expanded('"')
        if following == "$'":
            self._at += 2
            return self._ansi()
        if sign == "\\":
            self._at += 2
            return following[1:]
        if sign in "$`":
            return self._variable()
        self._at += 1
        return sign

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise UsageError(f"line {self._line()}: a quote (') is not closed")
        said, self._at = self._text[self._at + 1 : end], end + 1
        return said

    def expanded(self, until: str) -> str:
        """What stands in double quotes, or in a here-document (`until` empty) up to its end."""
        parts: list[str] = []
        began = self._at
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == until:
                self._at += 1
                return "".join(parts)
            if sign == "\\":
                parts.append(self._escaped(until))
            elif sign in "$`":
                parts.append(self._variable())
            else:
                parts.append(sign)
                self._at += 1
        if until:
            raise UsageError(f'line {self._line(began)}: a quote (") is not closed')
        return "".join(parts)

    def _escaped(self, quote: str) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if following == "\n":
            return ""
        return (
            following if following in {"$", "`", "\\"} or (following == quote and quote) else f"\\{following}"
        )

    def _ansi(self) -> str:
        parts: list[str] = []
        began = self._at
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._at += 1
            if sign == "'":
                return "".join(parts)
            if sign != "\\":
                parts.append(sign)
                continue
            code = _CODE.match(self._text, self._at)
            if code is not None:
                self._at = code.end()
                parts.append(_character(code))
            else:
                letter = self._text[self._at : self._at + 1]
                self._at += 1
                parts.append(_ESCAPES.get(letter, f"\\{letter}"))
        raise UsageError(f"line {self._line(began)}: a quote ($') is not closed")

    def _variable(self) -> str:
        if self._text.startswith("$(", self._at) and (said := self._printed()) is not None:
            return said
        if self._text[self._at] == "`" or self._text.startswith("$(", self._at):
            raise UsageError(
                f"line {self._line()}: $(…) and `…` are not run; write what they print in their place, or a file as @FILE"
            )
        self._at += 1
        braced = _BRACED.match(self._text, self._at)
        named = braced or _NAME.match(self._text, self._at)
        if named is None:
            return "$"
        self._at = named.end()
        name = named[1] if braced else named[0]
        if name in self._variables:
            return self._variables[name]
        return braced[2] if braced and braced[2] else unresolved(name)

    def _printed(self) -> str | None:
        """What stands for `$(…)` where it is plain, such as a here-document by `cat`; `None` where it would have to be run."""
        if self._depth == _DEEPEST:
            return None
        inner = Reader(self._text, self._at + 2, self._variables, ticked=self._ticked, depth=self._depth + 1)
        said = printed(inner.command())
        closed = re.compile(r"\s*\)").match(self._text, inner._at - (self._text[inner._at - 1] == ")"))
        if said is None or closed is None:
            return None
        self._at = closed.end()
        return said.rstrip("\n")


def _character(code: re.Match[str]) -> str:
    r"""`\x` and octal are bytes, which curl sends as they are."""
    if code[1] or code[4]:
        byte = int(code[1], 16) if code[1] else int(code[4], 8) & 0xFF
        return bytes([byte]).decode("utf-8", "surrogateescape")
    number = int(code[2] or code[3], 16)
    return chr(number) if number < 0x110000 and number not in range(0xD800, 0xE000) else "\ufffd"
