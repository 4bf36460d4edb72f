"""What is wrong with a canary's file that no type can say?"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes.errors import UsageError, did_you_mean
from probes.redact import looks_like_key
from probes.watch import database
from probes.watch.cron import check_cron
from probes.watch.forms import in_short
from probes.watch.times import Timetable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from probes.strict_yaml import KeyPath
    from probes.watch.config import Active, Canary, Daily, DeadMan, Entry, Maintenance, Receiver, Retention

    Problem = tuple[KeyPath, str]

LEAST, MOST = timedelta(seconds=10), timedelta(days=31)
"""Between two times of an entry, of which each is a run of many requests; of the canary's time, as `--time-scale` has it."""
LONGEST_SETTLE = timedelta(hours=1)
MOST_CONFIRMED = 20
_LOAD = ": each time is a whole run, and more of them are a load on the service"
LONGEST_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LISTEN = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(\d{1,5})")
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def problems(canary: Canary) -> Iterator[Problem]:
    """Key path and problem, in the order of the keys; no text repeats what may be a secret."""
    yield from _addresses(canary)
    if canary.settle is not None:
        yield from _within(("settle",), _settle(canary.settle))
    yield from _within(("retention",), _retention(canary.retention))
    yield from _names("sinks", canary.sinks)
    for index, sink in enumerate(canary.sinks):
        yield from _within(("sinks", index), _receiver(sink))
    yield from _names("maintenance", canary.maintenance)
    for index, window in enumerate(canary.maintenance):
        yield from _within(("maintenance", index), _maintenance(window))
        yield from _targets(("maintenance", index, "targets"), window.targets, canary)
    for target, daily in canary.budgets.items():
        yield from _targets(("budgets",), (target,), canary)
        yield from _within(("budgets", target), _daily(daily))
    yield from _names("entries", canary.entries)
    for index, entry in enumerate(canary.entries):
        yield from _within(("entries", index), (*_when(entry), *_how(entry)))
    if not canary.entries:
        yield ("entries",), "is empty: nothing would be watched"


def _addresses(canary: Canary) -> Iterator[Problem]:
    if canary.database is not None and (wrong := database.problem(canary.database)) is not None:
        yield ("database",), wrong
    if canary.listen is not None:
        address = _LISTEN.fullmatch(canary.listen)
        if address is None or int(address[1]) >= 2**16:
            yield ("listen",), "must be HOST:PORT, such as 127.0.0.1:9469, or null"
    if canary.control is not None and not is_url(canary.control):
        yield (
            ("control",),
            "must be an http or https URL that is not the target's, such as https://example.com/",
        )
    if canary.dead_man is not None:
        yield from _dead_man(canary.dead_man)
    if canary.link is not None and ("{run}" not in canary.link or not is_url(canary.link)):
        yield ("link",), "must be an http or https URL with {run} in it, where the run's id goes"


def _settle(settle: timedelta) -> Iterator[Problem]:
    if settle > LONGEST_SETTLE:
        yield (), f"must be at most {in_short(LONGEST_SETTLE)}"


def _retention(kept: Retention) -> Iterator[Problem]:
    for key in ("raw_days", "failed_days"):
        if (days := getattr(kept, key)) < 1:
            yield (key,), f"must be 1 or more, not {days}"
    if kept.failed_days < kept.raw_days:
        said = f"must be {kept.raw_days} (raw_days) or more, not {kept.failed_days}"
        yield ("failed_days",), f"{said}: a run with a failure is kept for longer than others"


def _within(at: KeyPath, found: Iterable[Problem]) -> Iterator[Problem]:
    for key, problem in found:
        yield (*at, *key), problem


def _names(what: str, rows: Sequence[Any]) -> Iterator[Problem]:
    """A row is known by its name, in metrics and in the memory."""
    for index, row in enumerate(rows):
        if not row.name.strip():
            yield (what, index, "name"), "is empty"
        elif len(row.name) > LONGEST_NAME:
            yield (what, index, "name"), f"has {len(row.name)} characters; {LONGEST_NAME} are the most"
        elif what != "maintenance" and not _NAME.fullmatch(row.name):
            near = re.sub(r"[^A-Za-z0-9._-]+", "-", row.name).strip("-._")
            said = "must be letters, digits, dots, dashes and underscores, the first a letter or digit"
            yield (what, index, "name"), f"{said}{f'; did you mean {near}?' if near else ''}"
        elif not row.name.isprintable():
            yield (what, index, "name"), "must be one line of text that can be shown"
        elif row.name in {other.name for other in rows[:index]}:
            yield (what, index, "name"), f"{row.name} stands twice"


def _targets(at: KeyPath, names: Sequence[str], canary: Canary) -> Iterator[Problem]:
    watched = {entry.target for entry in canary.entries}
    for index, name in enumerate(names):
        if name not in watched:
            place = (*at, name) if at == ("budgets",) else (*at, index)
            yield place, f"{name!r} is the target of no entry{did_you_mean(name, watched)}"


def _dead_man(dead_man: DeadMan) -> Iterator[Problem]:
    if (dead_man.url is None) == (dead_man.url_env is None):
        yield ("dead_man",), "must have one of url and url_env"
    if dead_man.url is not None and not is_url(dead_man.url):
        yield ("dead_man", "url"), "must be an http or https URL"
    if dead_man.url_env is not None:
        yield from _variable(("dead_man", "url_env"), dead_man.url_env)


def _receiver(sink: Receiver) -> Iterator[Problem]:
    if (sink.webhook_env is None) == (sink.notify_env is None):
        yield (), "must have one of webhook_env and notify_env, the variable that holds its address"
    if sink.secret_env is not None and sink.webhook_env is None:
        yield ("secret_env",), "goes with webhook_env: only our own webhook is signed"
    if sink.webhook_env is not None and sink.secret_env is None:
        yield (), "has no secret_env: whoever receives a webhook must be able to tell that it is ours"
    for key in ("webhook_env", "secret_env", "notify_env"):
        if (variable := getattr(sink, key)) is not None:
            yield from _variable((key,), variable)
    if not sink.about:
        yield ("about",), "is empty: it would never be told anything"


def _maintenance(window: Maintenance) -> Iterator[Problem]:
    once = window.begin is not None or window.until is not None
    recurs = window.cron is not None or window.lasts is not None
    if once == recurs:
        yield (), "must have either from and until, or cron and lasts"
    elif once and (window.begin is None or window.until is None):
        yield (), f"has no {'from' if window.begin is None else 'until'}"
    elif recurs and (window.cron is None or window.lasts is None):
        yield (), f"has no {'cron' if window.cron is None else 'lasts'}"
    if window.begin is not None and window.until is not None and window.until <= window.begin:
        yield ("until",), "is not later than from"
    if window.cron is not None and (wrong := _cron(window.cron)):
        yield ("cron",), wrong


def _daily(daily: Daily) -> Iterator[Problem]:
    for key in ("requests_per_day", "tokens_per_day", "usd_per_day"):
        value = getattr(daily, key)
        if value is not None and not value > 0:
            yield (key,), f"must be above 0, not {value:g}"


def _when(entry: Entry) -> Iterator[Problem]:
    due = [key for key in ("every", "at", "cron") if getattr(entry, key)]
    if len(due) != 1:
        yield (), f"must have one of every, at and cron{', not ' + ' and '.join(due) if due else ''}"
    if entry.every is not None and not LEAST <= entry.every <= MOST:
        yield (
            ("every",),
            f"must be from 10s to 31d, not {in_short(entry.every)}{_LOAD if entry.every < LEAST else ''}",
        )
    if len(set(entry.at)) < len(entry.at):
        yield ("at",), "names a time twice"
    if entry.timezone != "UTC" and due == ["every"]:
        yield ("timezone",), "goes with at or cron; the hours of active have their own"
    if entry.cron is not None and (wrong := _cron(entry.cron)):
        yield ("cron",), wrong
    elif len(due) == 1 and Timetable(entry).after(_SOME_DAY) is None:
        yield (), f"is never due: its {due[0]} never comes{' in its active hours' if entry.active else ''}"
    if entry.active is not None:
        yield from _within(("active",), _active(entry.active))
        yield from _never(entry)


def _never(entry: Entry) -> Iterator[Problem]:
    """Times of day that its active hours leave out."""
    for index, at in enumerate(entry.at):
        if Timetable(replace(entry, every=None, at=(at,), cron=None)).after(_SOME_DAY) is None:
            yield ("at", index), f"{at:%H:%M} never comes in the entry's active hours"


def _active(active: Active) -> Iterator[Problem]:
    if not active.days:
        yield ("days",), "is empty"
    if active.begin == active.until != time():
        yield ("until",), "is the same as from; leave both out for the whole day"


def _how(entry: Entry) -> Iterator[Problem]:
    if not 0 < entry.sample <= 1:
        yield ("sample",), f"must be above 0 and up to 1, not {entry.sample:g}"
    elif entry.sample < 1 and entry.tier == "cheap":
        yield ("sample",), "goes with `tier: expensive`: what is cheap always runs"
    if entry.alert is not None and not 1 <= entry.alert.k <= entry.alert.n <= MOST_CONFIRMED:
        yield ("alert",), f"must be k of n with 1 <= k <= n <= {MOST_CONFIRMED}"


def _cron(expression: str) -> str | None:
    try:
        check_cron(expression)
    except UsageError as wrong:
        return str(wrong)
    return None


def _variable(at: KeyPath, variable: str) -> Iterator[Problem]:
    """The text is not repeated: it may be the secret itself."""
    if not _VARIABLE.fullmatch(variable) or looks_like_key(variable):
        yield (
            at,
            "must be the name of an environment variable, such as OPS_WEBHOOK; secrets live in the environment",
        )


def is_url(text: str) -> bool:
    """An http or https one, with a host."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in {"http", "https"}
        and bool(parts.hostname)
        and port != 0
        and not re.search(r"\s", text)
    )
