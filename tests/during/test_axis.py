"""Does what happened stand beside what the command printed, and can neither do harm?"""

from __future__ import annotations

import io

import pytest
from made import HOLDING, KNOCKING, knock, knocks, stream, told

from probes.during.axis import AXIS
from probes.during.child import _Lines
from probes.reporters.console import plain

STREAMS = [stream(1, 0.0, 9.2), stream(2, 2.5, 6.7), stream(3, 5.0, 15.0, "interrupted")]
SHOWN = """\
    time  short  long  what the command printed
    -8 s  .      |
     ...  6 rows without trouble
    -1 s  .      |||
    +0 s  .      |||   $ deploy --to prod
                       rolling out
    +1 s  X      XX|
    +2 s  X        |   pod a is gone
                       (ended with 0)
    +3 s  .        |
     ...  8 rows without trouble
   +12 s           :
short: . good  X failed  ? untold; long: | open  X cut  : ended"""


def axis(calls, **more):
    [found, *_] = told(calls, **more)
    return dict(found.detail)[AXIS]


def test_the_axis():
    """A row for each second, with a mark for each short request, a column for each lane of streams, and the lines."""
    lines = [(8.2, "rolling out"), (10.0, "pod a is gone")]
    said = axis([*knocks(but=(9, 10)), *STREAMS], lines=lines, words=("deploy", "--to", "prod"))
    assert said == SHOWN


def test_a_long_command_fits_on_a_screen():
    """However long it takes, there are as many rows, and requests beyond a few are counted."""
    said = axis(
        [knock(at / 2, "no route" if at == 300 else "good stream") for at in range(2000)], ended=900.0
    )
    assert len(said.splitlines()) < 45
    assert "119. 1X" in said


def test_many_lines_are_counted():
    """Of one second the first are shown."""
    said = axis(knocks(), lines=[(8.1, f"line {n}") for n in range(50)], more=7)
    assert "line 2" in said
    assert "line 3" not in said
    assert "(47 more lines)" in said
    assert "(ended with 0; 7 more lines not kept)" in said


HOSTILE = {
    "colour": (b"\x1b[31mred\x1b[0m\n", ["red"]),
    "title of the terminal": (b"\x1b]0;evil\x07text\n", ["text"]),
    "written over": (b"10 %\r50 %\r100 %\n", ["100 %"]),
    "line end of others": (b"done\r\n", ["done"]),
    "no line end": (b"half", ["half"]),
    "empty lines": (b"\n\n \na\n", ["a"]),
    "no UTF-8": (b"\xff\xfe\n", ["\ufffd\ufffd"]),
    "endless": (b"x" * 100_000 + b"\n", ["x" * 300]),
    "a bell": (b"ring\x07\n", ["ring\x07"]),
}


@pytest.mark.parametrize(("printed", "kept"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("size", [1, 4096], ids=["byte by byte", "at once"])
def test_what_is_kept_of_the_output(printed, kept, size):
    """Lines of text, without what moves a cursor, in whatever pieces they come."""
    lines = []
    taken = _Lines(lines.append)
    for start in range(0, len(printed), size):
        taken.feed(printed[start : start + size], 1.0)
    taken.close()
    assert [line.text for line in lines] == kept


def test_hostile_lines_are_shown_harmless():
    """Controls, bidi marks and separators are spelt out on the axis and on the console."""
    lines = [(8.2, "ring\x07 \u202egnp.exe \u2028 \x9b31m")]
    [found, *_] = told(knocks(), lines=lines)
    said = dict(found.detail)[AXIS]
    assert said.isascii()
    assert "ring\\x07" in said
    assert not set(plain(found)) & {"\x07", "\x9b", "\u202e", "\u2028"}


def test_secrets_are_taken_out():
    """Of the command's words and of what it prints."""
    from probes.during.child import Line
    from probes.during.judging import judged
    from probes.during.timed import Command
    from probes.redact import Redactor

    secret = "sk-canary-1234567890abcdef"
    ran = Command(("deploy", secret), 8.0, 10.0, 0, lines=(Line(8.5, f"token {secret}"),))
    said = io.StringIO()
    for found in judged(KNOCKING, HOLDING, knocks(), ran, Redactor([secret]).text):
        said.write(str(found))
    assert "canary" not in said.getvalue()
