"""What does `edgeprobe mark` do?"""

from __future__ import annotations

import getpass
import re
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from probes import outputs
from probes.canary import Mark
from probes.change.sides import before_mark
from probes.config import EXAMPLE, TARGETS
from probes.errors import UsageError, did_you_mean
from probes.marks.audit_log import marks_since
from probes.marks.cloudflare_api import Api
from probes.marks.times import moment
from probes.memory import Memory
from probes.reporters import marks as reporter
from probes.stored import Archive

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from probes.model import Run

_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}", re.ASCII)
_ID = re.compile(r"[0-9a-f]{32}")
_MOST = 1000
_INSTANT = timedelta(microseconds=1)
_OTHER_CLOCK = "the canary of this database runs in lab time, ahead of this clock"
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_OF = {
    "text": {"at", "author", "baseline", "target"},
    "list": {"since", "target"},
    "remove": {"target"},
    "import": {"account", "since", "target", "token_env", "zone"},
}
_NEAR, _CHOICES, _SHOWN = 10, 6, 60
_DEFAULT = {"list": "7d", "import": "24h"}


def run(arguments: Namespace) -> int:
    """0; 3 where the audit log could not be read to its end. UsageError for a mistake in the call."""
    what = _what(arguments)
    now = datetime.now(UTC)
    if arguments.target is not None:
        _known(arguments.target)
    with outputs.without_commands(sys.stdout):
        if what == "import":
            return _import(arguments, now)
        if what == "remove":
            return _remove(arguments, now)
        return _list(arguments, now) if what == "list" else _write(arguments, now)


def _what(arguments: Namespace) -> str:
    given = [name for name in _OF if getattr(arguments, _ATTRIBUTE.get(name, name)) not in (None, False)]
    if len(given) != 1:
        raise UsageError(
            'mark: say what was changed, "bot rule off", or one of --list, --remove and --import cloudflare'
        )
    for flag in sorted(set().union(*_OF.values()) - _OF[given[0]]):
        if getattr(arguments, flag) is not None:
            fits = [name for name, flags in _OF.items() if flag in flags]
            raise UsageError(f"--{flag.replace('_', '-')}: goes with {_called(fits)}")
    return given[0]


_ATTRIBUTE = {"import": "log"}


def _called(names: Iterable[str]) -> str:
    return " or ".join("TEXT" if name == "text" else f"--{name}" for name in names)


def _known(name: str) -> None:
    """A name that no run has would never be found again; where targets are by flags or elsewhere, any may be right."""
    own = sorted({path.stem for path in Path(TARGETS).glob("*.yaml")} - {EXAMPLE})
    if own and name not in own:
        raise UsageError(f"--target {name}: not in ./{TARGETS}{did_you_mean(name, own)}")


# --- one mark --------------------------------------------------------------------------------------------


def _write(arguments: Namespace, now: datetime) -> int:
    text = " ".join(arguments.text.split())
    if not text or len(text) > _MOST:
        raise UsageError(f"mark: the text is {'empty' if not text else f'longer than {_MOST} characters'}")
    name = arguments.baseline
    if name is not None and not _NAME.fullmatch(name):
        raise UsageError(
            f"--baseline {name}: a name begins with a letter, and goes on with letters, digits, '.', '_' and '-': v1.2"
        )
    author, by = (
        (arguments.author, "") if arguments.author else (_user(), "the user here; --author names another")
    )
    at = moment(arguments.at, now, "--at") if arguments.at is not None else now
    runs: list[Run] = []
    window = ""
    with Memory.open(arguments.db) as memory:
        if ahead := _ahead(memory, now):
            if arguments.at is not None:
                raise UsageError(
                    f"--at {arguments.at}: {_OTHER_CLOCK}; only what is changed now can be marked in it"
                )
            at = ahead
        mark = Mark(at, text, author=author, target=arguments.target, baseline=name)
        if name is not None:
            with Archive(arguments.db) as archive:
                runs, window = before_mark(mark, archive)
            mark = replace(mark, runs=tuple(run.id for run in runs))
        before = [old for old in memory.marks(_EVER) if name is not None and old.baseline == name]
        moved = next((old for old in reversed(before) if _other(old, mark)), None)
        if not runs and (lost := next((old for old in before if old.runs), None)):
            raise UsageError(_would_be_lost(lost, window))
        _keep(memory, [mark, *(replace(old, baseline=None, runs=()) for old in before if _other(old, mark))])
    clock = _OTHER_CLOCK if ahead else ""
    by = by if author else ""
    reporter.written(mark, now, sys.stdout, by=by, moved=moved, runs=runs, window=window, clock=clock)
    return 0


def _would_be_lost(old: Mark, window: str) -> str:
    """Said with the name that a gate relies on, where no run could take it over."""
    return (
        f"--baseline {old.baseline}: no run is kept {window}; nothing is marked, and {old.baseline} stays what it is, "
        f'before {old.at:%Y-%m-%d %H:%M:%S} UTC, "{old.text[:_SHOWN]}": run first, or leave --baseline out'
    )


def _ahead(memory: Memory, now: datetime) -> datetime | None:
    """Behind all that the canary has stored, where its clock is ahead of this one, as in the lab's time."""
    newest = memory.newest()
    return newest + _INSTANT if newest is not None and newest > now else None


def _other(old: Mark, mark: Mark) -> bool:
    """Not the same one, told anew."""
    return (old.at, old.text, old.source) != (mark.at, mark.text, mark.source)


def _user() -> str | None:
    with suppress(
        OSError, KeyError, ImportError
    ):  # which of them where nobody is logged in depends on the version
        return getpass.getuser()
    return None


def _keep(memory: Memory, marks: Iterable[Mark]) -> None:
    for mark in marks:
        memory.mark(mark)
    if memory.fault is not None:
        raise UsageError(f"not marked: {memory.fault}")


# --- one taken back --------------------------------------------------------------------------------------


def _remove(arguments: Namespace, now: datetime) -> int:
    with Memory.open(arguments.db, make=False) as memory:
        marks = memory.marks(_EVER, now + timedelta(days=1))
        mine = [mark for mark in marks if arguments.target is None or mark.target in {None, arguments.target}]
        mark = _meant(arguments.remove, mine, now)
        memory.unmark(mark)
        if memory.fault is not None:
            raise UsageError(f"not removed: {memory.fault}")
    reporter.removed(mark, sys.stdout)
    return 0


def _meant(word: str, marks: Sequence[Mark], now: datetime) -> Mark:
    """By its baseline's name, its time (to the minute where no seconds are said), its text, or a part of that."""
    found = _at(word, marks, now) or [mark for mark in marks if word in {mark.baseline, mark.text}]
    found = found or [mark for mark in marks if word.lower() in mark.text.lower()]
    if not found:
        known = [*(mark.text for mark in marks), *(mark.baseline for mark in marks if mark.baseline)]
        raise UsageError(f"--remove {word}: no mark reads so{did_you_mean(word, known[-_NEAR:])}")
    return _the_one(word, found)


def _at(word: str, marks: Sequence[Mark], now: datetime) -> list[Mark]:
    try:
        at = moment(word, now, "--remove")
    except UsageError:  # then it is no time
        return []
    length = timedelta(minutes=1) if at.second == 0 else timedelta(seconds=1)
    return [mark for mark in marks if at <= mark.at < at + length]


def _the_one(word: str, found: Sequence[Mark]) -> Mark:
    if len(found) == 1:
        return found[0]
    more = f" and {len(found) - _CHOICES} more" if len(found) > _CHOICES else ""
    choices = ", ".join(f'{mark.at:%Y-%m-%dT%H:%M:%SZ} "{mark.text[:_SHOWN]}"' for mark in found[:_CHOICES])
    raise UsageError(
        f"--remove {word}: which of {len(found)}? {choices}{more}; a time or a whole text names one"
    )


# --- those that are there --------------------------------------------------------------------------------


def _list(arguments: Namespace, now: datetime) -> int:
    since = moment(arguments.since or _DEFAULT["list"], now, "--since")
    with Memory.open(arguments.db, make=False) as memory:
        found = memory.marks(since)
    fit = [mark for mark in found if arguments.target is None or mark.target in {None, arguments.target}]
    reporter.listed(fit, since, sys.stdout)
    return 0


# --- those of the CDN ------------------------------------------------------------------------------------


def _import(arguments: Namespace, now: datetime) -> int:
    if not _ID.fullmatch(arguments.account or ""):
        raise UsageError(
            f"--account {arguments.account or 'is missing'}: the account's id is 32 hexadecimal digits, as in the "
            "dashboard's address"
        )
    since = moment(arguments.since or _DEFAULT["import"], now, "--since")
    with Api.from_env(arguments.token_env) as asked, Memory.open(arguments.db) as memory:
        found = marks_since(
            asked, arguments.account, since, now, zone=arguments.zone, target=arguments.target
        )
        first = min((mark.at for mark in found.marks), default=now)
        known = set(memory.marks(first, now + timedelta(days=1))) if found.marks else set()
        _keep(memory, found.marks)
    new = [mark for mark in found.marks if mark not in known]
    if found.marks or found.fault is None:
        reporter.imported(new, found.marks, since, sys.stdout)
    reporter.left_out(found.beside, found.other_zones, found.unreadable, arguments.zone, sys.stdout)
    if found.fault is None:
        return 0
    kept = "; what was read is kept" if found.marks else ""
    if found.fault.mistake:
        raise UsageError(f"the audit log: {found.fault}{kept}")
    sys.stderr.write(f"edgeprobe: the audit log was not read to its end: {found.fault}{kept}\n")
    return 3
