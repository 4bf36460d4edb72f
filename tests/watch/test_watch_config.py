"""configs/canary.yaml: what it may say, and how a mistake in it is told: by its line, its key and the nearest valid value."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from probes.bundled import bundled
from probes.canary import About
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.watch.forms import clock_time, duration, in_short, moment, weekdays
from probes.watch.receivers import receivers as sinks_of
from probes.watch.watched import load, read_canary

TARGET = "version: 1\nname: prod\napi: openai\nmodel: m\nkey_env: A_KEY\nroutes:\n  edge:\n    base_url: https://a.example/v1\n"
GOOD = """version: 1
entries:
  - {name: smoke, suite: smoke, target: prod, every: 5m}
"""
WHOLE = """version: 1
database: postgresql+psycopg://canary:${DB_PASSWORD}@db.example/canary
listen: "[::1]:9469"
control: https://example.com/
dead_man: {url_env: HEARTBEAT_URL, every: 10m}
link: https://reports.example/{run}
must_fail: null
retention: {raw_days: 7}
sinks:
  - {name: ops, webhook_env: OPS_WEBHOOK, secret_env: OPS_SECRET, about: [service, blind], min: fail}
  - {name: chat, notify_env: CHAT_URL}
maintenance:
  - {name: db upgrade, from: 2026-12-01T22:00:00+01:00, until: 2026-12-01T23:00:00Z, targets: [prod]}
  - {name: weekly, cron: "0 3 * * sun", lasts: 1h, timezone: Europe/Berlin}
budgets: {prod: {requests_per_day: 5000, usd_per_day: 5.0}}
entries:
  - {name: smoke, suite: smoke, target: prod, every: 5m}
  - {name: long, suite: long, target: prod, at: ["03:10"], timezone: Europe/Berlin, tier: expensive, sample: 0.5}
  - name: streams
    suite: streams
    target: prod
    cron: "*/20 * * * *"
    active: {days: mon-fri, from: "07:00", until: "22:00", timezone: Europe/Berlin}
    clients: [openai-py]
    set: {streams: 4}
    alert: {k: 2, n: 3}
"""


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """Writes the file, beside a target `prod`, where the user stands."""
    monkeypatch.chdir(tmp_path)
    Path("configs/targets").mkdir(parents=True)
    Path("configs/targets/prod.yaml").write_text(TARGET)

    def write(text: str) -> Path:
        path = Path("configs/canary.yaml")
        path.write_text(text)
        return path

    return write


def test_every_key(canary):
    """Is read into what it means."""
    read = read_canary(canary(WHOLE))[0]
    assert (read.must_fail, read.dead_man.every) == (None, timedelta(minutes=10))
    assert (read.retention.raw_days, read.retention.failed_days) == (7, 365)
    assert read.sinks[0].about == (About.SERVICE, About.BLIND)
    assert read.sinks[1].about == tuple(About)
    once = read.maintenance[0]
    assert once.until - once.begin == timedelta(hours=2)
    streams = read.entry("streams")
    assert streams.active.days == (0, 1, 2, 3, 4)
    assert (streams.active.begin.hour, streams.active.until.hour) == (7, 22)
    assert streams.overrides == {"streams": "4"}
    assert (streams.alert.k, streams.alert.n) == (2, 3)


def test_a_whole_file_can_be_watched(canary):
    """With its targets and suites; all files that count are known."""
    canary(WHOLE)
    watched = load()
    assert set(watched.targets) == {"prod"}
    assert [path.name for path in watched.files][-2:] == ["canary.yaml", "prod.yaml"]
    assert {"smoke.yaml", "long.yaml", "streams.yaml"} <= {path.name for path in watched.files}


def test_the_example_is_valid(canary):
    """As it is, and with every line that is commented out."""
    text = bundled("configs", "starter", "canary.yaml").read_text()
    canary(text)
    assert len(load().canary.entries) == 1
    more = text.replace("sinks: []\n", "sinks:\n").replace("maintenance: []\n", "maintenance:\n")
    lines = [
        line[2:] if line.startswith(("# - {", "# - name", "#   ", "# link:", "# dead_man:")) else line
        for line in more.splitlines()
    ]
    lines = [
        ""
        if line.strip().startswith(('at: ["03:10", "15', 'cron: "*/20 * * * *"    ', "every: 5m    "))
        else line
        for line in lines
    ]
    lines = [
        f"  {line}" if line.startswith(("- ", "  ")) and not line.startswith("  -") else line
        for line in lines
    ]
    canary("\n".join(lines))
    watched = load()
    assert len(watched.canary.entries) == 3
    assert (len(watched.canary.sinks), len(watched.canary.maintenance)) == (2, 2)


def said(key: str, value: str) -> str:
    """GOOD with one more key at the top, on line 2."""
    return GOOD.replace("entries:", f"{key}: {value}\nentries:")


def entry(rest: str) -> str:
    return GOOD.replace("every: 5m", rest)


MISTAKES = {
    "no file's version": ("entries: []\n", ":1: version: is required"),
    "another version": (GOOD.replace("1", "2", 1), ":1: version: is 2"),
    "no entries": ("version: 1\n", ": entries: is required"),
    "entries empty": ("version: 1\nentries: []\n", ":2: entries: is empty"),
    "a list for a mapping": ("- 1\n", ":1: must be a mapping"),
    "key misspelt": (said("listn", "null"), ":2: listn: unknown key; did you mean listen?"),
    "entry's key misspelt": (entry("evry: 5m"), ":3: entries[0].evry: unknown key; did you mean every?"),
    "from misspelt": (
        entry('every: 5m, active: {form: "07:00"}'), ":3: entries[0].active.form: unknown key; did you mean from?",
    ),
    "no due": (entry("tier: cheap"), ":3: entries[0]: must have one of every, at and cron"),
    "two dues": (entry('every: 5m, cron: "* * * * *"'), ":3: entries[0]: must have one of every, at and cron, not every and cron"),
    "a number for a duration": (entry("every: 5"), ":3: entries[0].every: must be a duration, such as 30s, 5m, 1h30m or 2d, not 5"),
    "a duration with a blank": (entry("every: 5 min"), "entries[0].every: must be a duration, such as 30s, 5m, 1h30m or 2d, not '5 min'"),
    "no time": (entry("every: 0s"), "entries[0].every: must be more than 0s"),
    "too rare": (entry("every: 60d"), "entries[0].every: must be from 10s to 31d, not 60d"),
    "too often": (
        entry("every: 9s"),
        ":3: entries[0].every: must be from 10s to 31d, not 9s: each time is a whole run, and more of them are a load on the service",
    ),
    "base 60": (entry("at: [22:00]"), ':3: entries[0].at[0]: must be a time of day, such as "07:30", not 1320; put it in quotes'),
    "no such hour": (entry('at: ["25:00"]'), ":3: entries[0].at[0]: must be a time of day"),
    "an hour twice": (entry('at: ["03:10", "03:10"]'), ":3: entries[0].at: names a time twice"),
    "time zone misspelt": (
        entry('at: ["03:10"], timezone: Europe/Berln'), ":3: entries[0].timezone: must be a time zone, not 'Europe/Berln'; did you mean Europe/Berlin?",
    ),
    "a path for a time zone": (entry('at: ["03:10"], timezone: ../../etc/passwd'), "timezone: must be a time zone"),
    "NUL in a time zone": (entry('at: ["03:10"], timezone: "a\\0b"'), "timezone: must be a time zone"),
    "time zone of every": (entry("every: 5m, timezone: Europe/Berlin"), "timezone: goes with at or cron"),
    "cron": (entry('cron: "61 * * * *"'), ":3: entries[0].cron: its minute is not valid"),
    "cron of no day that is": (entry('cron: "0 0 31 2 *"'), ":3: entries[0].cron: never comes: none of its months has such a day"),
    "cron of no month that is": (entry('cron: "0 0 31 13 *"'), ":3: entries[0].cron: its month is not valid"),
    "cron of no day at all": (entry('cron: "0 0 32 2 *"'), ":3: entries[0].cron: its day-of-month is not valid"),
    "window that never comes": (
        said("maintenance", '[{name: a, cron: "0 3 30 2 *", lasts: 1h}]'), ":2: maintenance[0].cron: never comes",
    ),
    "never due": (
        entry('cron: "0 3 * * *", active: {from: "07:00", until: "22:00"}'), ":3: entries[0]: is never due",
    ),
    "day misspelt": (entry("every: 5m, active: {days: mo-fri}"), "active.days: must be days, such as mon-fri or sat,sun, not 'mo-fri'; did you mean mon?"),
    "days as a list": (entry("every: 5m, active: {days: [mon]}"), "active.days: must be days"),
    "sample of what is cheap": (entry("every: 5m, sample: 0.5"), "sample: goes with `tier: expensive`"),
    "sample of more than all": (entry("every: 5m, tier: expensive, sample: 50"), "sample: must be above 0 and up to 1, not 50"),
    "tier": (entry("every: 5m, tier: expensiv"), "tier: 'expensiv' is not valid; did you mean expensive?"),
    "k above n": (entry("every: 5m, alert: {k: 3, n: 2}"), "alert: must be k of n"),
    "suite misspelt": (GOOD.replace("suite: smoke", "suite: smok"), ":3: entries[0].suite: suite 'smok' is not known; did you mean smoke?"),
    "target misspelt": (GOOD.replace("target: prod", "target: prd"), ":3: entries[0].target: target 'prd' is not known; did you mean prod?"),
    "client misspelt": (entry("every: 5m, clients: [crul]"), ":3: entries[0].clients: client 'crul' is not known; did you mean curl?"),
    "parameter misspelt": (entry("every: 5m, set: {repeat: 3}"), ":3: entries[0].set: repeat: no case of smoke has it; did you mean repeats?"),
    "parameter's value": (entry("every: 5m, set: {repeats: many}"), ":3: entries[0].set: repeats: "),
    "client of another API": (entry("every: 5m, clients: [anthropic-py]"), ":3: entries[0]: asks nothing"),
    "name twice": (GOOD + GOOD.splitlines()[2] + "\n", ":4: entries[1].name: smoke stands twice"),
    "name": (
        GOOD.replace("name: smoke", 'name: "a b/c"'),
        ":3: entries[0].name: must be letters, digits, dots, dashes and underscores, the first a letter or digit; did you mean a-b-c?",
    ),
    "name of a hidden file": (GOOD.replace("name: smoke", "name: ..smoke"), "the first a letter or digit; did you mean smoke?"),
    "name of nothing": (GOOD.replace("name: smoke", 'name: " "'), "entries[0].name: is empty"),
    "name too long": (GOOD.replace("name: smoke", f"name: {'a' * 65}"), ":3: entries[0].name: has 65 characters; 64 are the most"),
    "sink's name too long": (said("sinks", f"[{{name: {'a' * 65}, notify_env: A}}]"), ":2: sinks[0].name: has 65 characters"),
    "window's name of two lines": (
        said("maintenance", '[{name: "a\\nb", cron: "0 3 * * *", lasts: 1h}]'), ":2: maintenance[0].name: must be one line of text",
    ),
    "no database": (said("database", "http://db.example/canary"), ":2: database: http is no database that SQLAlchemy knows; valid: mariadb"),
    "database misspelt": (
        said("database", "postgresq+psycopg://canary@db.example/canary"),
        ":2: database: postgresq+psycopg is no database that SQLAlchemy knows; did you mean postgresql?",
    ),
    "a file for a database": (
        said("database", "reports/my.db"), ":2: database: must be the URL of a database; did you mean sqlite:///reports/my.db?",
    ),
    "text for a database": (said("database", "postgres"), ":2: database: must be the URL of a database, such as sqlite:///reports/"),
    "database in memory": (said("database", '"sqlite://"'), ":2: database: a database in memory remembers nothing; name a file: sqlite:///FILE"),
    "driver not installed": (
        said("database", "mysql+pymysql://canary@db.example/canary"),
        ":2: database: needs the driver pymysql, which is not installed: pip install 'pymysql'",
    ),
    "driver of another name": (
        said("database", "postgresql+psycopg2://canary@db.example/canary"),
        "needs the driver psycopg2, which is not installed: pip install 'psycopg2-binary'",
    ),
    "password in clear": (
        said("database", "postgresql+psycopg://canary:abcdefghijkl@db.example/canary"),
        ":2: database: looks like a secret; secrets live in the environment: name the variable here (url_env: HEARTBEAT_URL; database: postgresql+psycopg://canary:$DB_PASSWORD@",
    ),
    "password beside a variable": (
        said("database", "postgresql+psycopg://canary:abcdefghijkl$PW@db.example/canary"), ":2: database: looks like a secret",
    ),
    "password as no variable is written": (
        said("database", "postgresql+psycopg://canary:$abcdefghijkl@db.example/canary"), ":2: database: looks like a secret",
    ),
    "password behind": (
        said("database", "postgresql+psycopg://canary@db.example/canary?password=abcdefghijkl"), ":2: database: holds a password; put it into a variable",
    ),
    "failures kept for less": (
        said("retention", "{raw_days: 30, failed_days: 7}"), ":2: retention.failed_days: must be 30 (raw_days) or more, not 7",
    ),
    "failures kept for less by default": (said("retention", "{raw_days: 400}"), ":2: retention.failed_days: must be 400 (raw_days) or more, not 365"),
    "hours of no length": (
        entry('every: 5m, active: {from: "07:00", until: "07:00"}'),
        ":3: entries[0].active.until: is the same as from; leave both out for the whole day",
    ),
    "one time out of hours": (
        entry('at: ["12:00", "03:10"], active: {from: "07:00", until: "22:00"}'),
        ":3: entries[0].at[1]: 03:10 never comes in the entry's active hours",
    ),
    "listen": (said("listen", "9469"), ":2: listen: must be text"),
    "listen's port": (said("listen", "127.0.0.1:99999"), ":2: listen: must be HOST:PORT"),
    "control": (said("control", "example.com"), ":2: control: must be an http or https URL"),
    "link": (said("link", "https://a.example/"), ":2: link: must be an http or https URL with {run} in it"),
    "dead man without": (said("dead_man", "{every: 5m}"), ":2: dead_man: must have one of url and url_env"),
    "an address for a variable": (
        said("dead_man", "{url_env: https://a.example/x}"), ":2: dead_man.url_env: must be the name of an environment variable",
    ),
    "a key": (said("control", "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"), ":2: control: looks like a secret"),
    "sink of nothing": (said("sinks", "[{name: a}]"), ":2: sinks[0]: must have one of webhook_env and notify_env"),
    "sink unsigned": (said("sinks", "[{name: a, webhook_env: A}]"), ":2: sinks[0]: has no secret_env"),
    "sink's about": (said("sinks", "[{name: a, notify_env: A, about: [servise]}]"), "'servise' is not valid; did you mean service?"),
    "window of both": (said("maintenance", "[{name: a, from: 2026-12-01T22:00:00Z, lasts: 1h}]"), "maintenance[0]: must have either"),
    "window of half": (said("maintenance", "[{name: a, from: 2026-12-01T22:00:00Z}]"), "maintenance[0]: has no until"),
    "window backwards": (
        said("maintenance", "[{name: a, from: 2026-12-01T22:00:00Z, until: 2026-12-01T22:00:00+01:00}]"), "until: is not later than from",
    ),
    "window without offset": (
        said("maintenance", "[{name: a, from: 2026-12-01T22:00:00, until: 2026-12-01T23:00:00Z}]"), "from: must be a time with its offset",
    ),
    "window's target": (
        said("maintenance", '[{name: a, cron: "0 3 * * *", lasts: 1h, targets: [prd]}]'), "targets[0]: 'prd' is the target of no entry; did you mean prod?",
    ),
    "budget's target": (said("budgets", "{prd: {requests_per_day: 1}}"), ":2: budgets.prd: 'prd' is the target of no entry; did you mean prod?"),
    "budget of nothing": (said("budgets", "{prod: {requests_per_day: 0}}"), ":2: budgets.prod.requests_per_day: must be above 0, not 0"),
    "settle": (said("settle", "2h"), ":2: settle: must be at most 1h"),
    "retention": (said("retention", "{raw_days: 0}"), ":2: retention.raw_days: must be 1 or more, not 0"),
    "an alias of itself": ("version: 1\nentries: &a [*a]\n", "is an alias of what holds it"),
    "no UTF-8": ("version: 1\nentries: \x00\n", "not YAML"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(canary, text, told):
    """Are told with the file, the line and the key; no mistake of a file is an exception of ours."""
    canary(text)
    with pytest.raises(UsageError) as raised:
        load()
    assert str(raised.value).startswith("configs/canary.yaml:")
    assert told in str(raised.value)
    assert "abcdefghijkl" not in str(raised.value)


HELD = {
    "DB": "postgresql+psycopg://u:p@h/n",
    "PW": "a/b@c:d%",
    "HOST": "db.example",
    "BAD": "not-a-url",
    "FILE_DB": "sqlite:///a.db",
}


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("$DB", "postgresql+psycopg://u:p@h/n"),
        ("${FILE_DB}", "sqlite:///a.db"),
        ("postgresql+psycopg://u:$PW@${HOST}/n", "postgresql+psycopg://u:a%2Fb%40c%3Ad%25@db.example/n"),
        ("sqlite:///reports/x.db", "sqlite:///reports/x.db"),
        ("null", None),
    ],
    ids=["all of it", "in braces", "parts", "none", "no URL"],
)
def test_variables_stand_in_the_database_s_url(canary, url, opened):
    """What one holds is a part of the URL, whatever characters it has."""
    canary(said("database", url))
    assert load().database_url(Secrets(HELD)) == opened


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "postgresql+psycopg://u:$NOT_SET@h/n",
            "NOT_SET is not set: it holds a part of the database's URL; set it",
        ),
        ("$BAD", "BAD: must be the URL of a database, such as "),
    ],
    ids=["unset", "no URL"],
)
def test_a_variable_that_holds_no_database_is_told_at_its_line(canary, url, told):
    """With no word of what it holds."""
    canary(said("database", url))
    with pytest.raises(UsageError) as raised:
        load().database_url(Secrets(HELD))
    assert str(raised.value).startswith(f"configs/canary.yaml:2: database: {told}")
    assert "not-a-url" not in str(raised.value)


SINKS = "[{name: ops, webhook_env: HOOK, secret_env: HOOK_KEY}, {name: chat, notify_env: CHAT}]"


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({}, "sinks[0].webhook_env: HOOK is not set: it holds the address of sink ops; set it"),
        ({"HOOK": "http://a/"}, "sinks[0].secret_env: HOOK_KEY is not set: it holds the key that sink ops is signed with; set it"),
        ({"HOOK": "abcdefghijkl", "HOOK_KEY": "k"}, "sinks[0].webhook_env: HOOK: must hold an http or https URL: it is the address of sink ops"),
        ({"HOOK": "ftp://abcdefghijkl/", "HOOK_KEY": "k"}, "sinks[0].webhook_env: HOOK: must hold an http or https URL"),
        ({"HOOK": "https:///abcdefghijkl", "HOOK_KEY": "k"}, "sinks[0].webhook_env: HOOK: must hold an http or https URL"),
        ({"HOOK": "http://a/", "HOOK_KEY": "k"}, "sinks[1].notify_env: CHAT is not set"),
        ({"HOOK": "http://a/", "HOOK_KEY": "k", "CHAT": "slak://abcdefghijkl"}, "sinks[1].notify_env: CHAT: not the Apprise URL of a service"),
    ],
    ids=["webhook", "its key", "no URL", "no web", "no host", "no address", "no service"],
)  # fmt: skip
def test_a_sink_that_cannot_be_told_is_named_by_its_line(canary, held, told):
    """As it is when the canary starts, and when it takes a file over."""
    canary(said("sinks", SINKS))
    with pytest.raises(UsageError) as raised:
        sinks_of(load(), Secrets(held))
    assert str(raised.value).startswith(f"configs/canary.yaml:2: {told}")
    assert "abcdefghijkl" not in str(raised.value)


def test_what_retention_hours_and_names_may_be(canary):
    """The longest name, a whole day written out, days alike."""
    text = entry('every: 5m, active: {from: "00:00", until: "24:00"}').replace(
        "name: smoke", f"name: {'a' * 64}"
    )
    canary(text.replace("entries:", "retention: {raw_days: 400, failed_days: 400}\nentries:"))
    assert load().canary.retention.failed_days == 400


def test_a_mistake_in_a_target_is_told_in_its_own_file(canary):
    """And not at the entry that names it."""
    canary(GOOD)
    Path("configs/targets/prod.yaml").write_text(TARGET.replace("base_url", "base_ur"))
    with pytest.raises(UsageError, match=r"^configs/targets/prod.yaml:8: routes.edge.base_ur: unknown key"):
        load()


def test_no_file(tmp_path, monkeypatch):
    """Says how to make one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"configs/canary.yaml: no such file; make one with `edgeprobe init`"
    ):
        load()


@pytest.mark.parametrize("text", ["30s", "5m", "1h30m", "2d", "1d1h1m1s"])
def test_durations_are_said_as_they_are_read(text):
    """In both directions."""
    assert in_short(duration(text)) == text


@pytest.mark.parametrize(
    ("reading", "wrong"),
    [
        (duration, ["", "5", "m5", "5m 3s", "-5m", "5M", "1.5h", "5s5m", None, 5, "9999999s", "\u0665m"]),
        (clock_time, ["", "7:30", "24:01", "07:60", "0730", None, 1320, "07:30:00", "0\u0667:30"]),
        (weekdays, ["", "monday", "mon-", "-fri", "mon,,tue", "mon-tue-wed", None, ["mon"], "mon/fri"]),
        (moment, ["", "2026-12-01", "2026-12-01T22:00:00", "tomorrow", None, 5, "2026-13-01T00:00:00Z"]),
    ],
    ids=lambda said: getattr(said, "__name__", None),
)
def test_wrong_forms(reading, wrong):
    """Are refused with what would be right."""
    for text in wrong:
        with pytest.raises(ValueError, match=r"must be "):
            reading(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon-fri", (0, 1, 2, 3, 4)),
        ("sat,sun", (5, 6)),
        ("fri-mon", (0, 4, 5, 6)),
        ("Wed", (2,)),
        ("mon-sun", tuple(range(7))),
    ],
)
def test_days(text, days):
    """Ranges run over the end of the week."""
    assert weekdays(text) == days


def test_validate_reads_the_canary(edgeprobe, canary, monkeypatch):
    """And with --env looks up the variables that it names."""
    canary(WHOLE)
    monkeypatch.setenv("A_KEY", "x")
    assert "3 entries of the canary" in edgeprobe("validate").out
    missing = edgeprobe("validate", "--env")
    assert missing.code == 2
    assert [line.partition(":")[2].partition(": it holds")[0] for line in missing.err.splitlines()] == [
        "2: database: DB_PASSWORD is not set", "5: dead_man.url_env: HEARTBEAT_URL is not set",
        "10: sinks[0].webhook_env: OPS_WEBHOOK is not set", "10: sinks[0].secret_env: OPS_SECRET is not set",
        "11: sinks[1].notify_env: CHAT_URL is not set",
    ]  # fmt: skip
    canary(WHOLE.replace("every: 5m", "evry: 5m"))
    wrong = edgeprobe("validate")
    assert (wrong.code, wrong.err) == (
        2,
        "configs/canary.yaml:17: entries[0].evry: unknown key; did you mean every?\n",
    )


def test_validate_refuses_an_address_that_watch_refuses(edgeprobe, canary, monkeypatch):
    """Each at its line, with nothing of what the variable holds; good ones pass, and nothing is sent."""
    canary(said("sinks", SINKS).replace("version: 1\n", "version: 1\ndead_man: {url_env: BEAT}\n"))
    for name in ("A_KEY", "HOOK_KEY"):
        monkeypatch.setenv(name, "x")
    for name, value in (("HOOK", "abcdefghijkl"), ("CHAT", "slak://abcdefghijkl"), ("BEAT", "abcdefghijkl")):
        monkeypatch.setenv(name, value)
    wrong = edgeprobe("validate", "--env")
    assert (wrong.code, wrong.err.splitlines()) == (2, [
        "configs/canary.yaml:2: dead_man.url_env: BEAT: must hold an http or https URL: it is the dead man's address",
        "configs/canary.yaml:3: sinks[0].webhook_env: HOOK: must hold an http or https URL: it is the address of sink ops",
        "configs/canary.yaml:3: sinks[1].notify_env: CHAT: not the Apprise URL of a service that is known and can be used here",
    ])  # fmt: skip
    for name, value in (
        ("HOOK", "https://a.example/x"),
        ("CHAT", "json://a.example/"),
        ("BEAT", "http://a.example"),
    ):
        monkeypatch.setenv(name, value)
    assert (edgeprobe("validate", "--env").err, edgeprobe("validate").err) == ("", "")


def test_more_series_of_metrics_than_prometheus_would_take_are_refused(canary, monkeypatch):
    """With how many there may be, before the first is served; suites on one target add up to what they ask together."""
    canary(GOOD)
    load()
    monkeypatch.setattr("probes.watch.watched.MOST_SERIES", 500)
    with pytest.raises(
        UsageError, match=r"canary.yaml:2: entries: up to [\d,]+ series of metrics, 500 are the most"
    ):
        load()
