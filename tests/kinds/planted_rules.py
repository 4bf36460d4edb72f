"""Rules of which it is known what is to be said, and the whole flow that is asked about them; nothing is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from canned import CURL, HTTPX, answer, case

from probes.complaint import Told
from probes.kinds.reproduction import reproduction
from probes.model import Call, Client, Factor, Reason, Verdict
from probes.runner import drive

HTTP2 = Client("curl-h2", "curl", "h2", edits=True)
AIOHTTP = Client("aiohttp-py", "raw_aiohttp", "async", edits=True)
HEADERS = (
    ("User-Agent", "OpenAI/Python 3.57.0"),
    ("X-Stainless-Lang", "python"),
    ("X-Stainless-OS", "Linux"),
    ("X-Request-Source", "batch"),
    ("Accept", "application/json"),
    ("Content-Type", "application/json"),
    ("Authorization", "Bearer sk-none"),
)
TURNS = [f"Turn {turn}: see `code` and `more`, please." for turn in range(12)]


def told(*texts, scheme="http", **more):
    messages = [{"role": "user", "content": text} for text in texts or ("Hi there.",)]
    body = json.dumps({"model": "m", "messages": messages, "max_tokens": 16}).encode()
    return Told("POST", f"{scheme}://a.example/v1/chat/completions", HEADERS, body, "http", **more)


def has(trial, name, word=""):
    return any(given.lower() == name and word in value for given, value in trial.request.headers)


PLAIN = told()


@dataclass
class Rule:
    """`hits`: a trial that it is for. `right`: what must be said. After `until` requests it is for nobody, after `since` for
    everybody.
    """

    hits: Callable
    right: Callable
    told: Told = PLAIN
    clients: tuple = (HTTPX, CURL, AIOHTTP)
    until: int | None = None
    since: int | None = None

    def holds(self, trial, asked):
        if self.since is not None and asked > self.since:
            return True
        return self.hits(trial) and (self.until is None or asked <= self.until)


def says(*texts):
    return lambda found, rows: all(text in rows["because"] for text in texts)


def a_word(_rng):
    return Rule(lambda trial: has(trial, "user-agent", "OpenAI"), says("the word 'OpenAI'"))


def a_family(_rng):
    return Rule(lambda trial: has(trial, "x-stainless-lang"), says("header x-stainless-lang, of"))


def a_size(rng):
    least = rng.randint(300, 9_000)
    return Rule(
        lambda trial: len(trial.request.body) >= least,
        says(f"{least - 1:,} bytes pass, {least:,} don't"),
        told("word " * 2_000),
    )


def a_text(rng):
    before = rng.randint(0, 900)
    return Rule(
        lambda trial: b"../../etc" in trial.request.body,
        says("'../../etc' suffices"),
        told(f"{'a' * before}../../etc{'b' * (900 - before)}"),
    )


def a_stack(_rng):
    return Rule(
        lambda trial: trial.client == "httpx",
        lambda found, rows: (
            found.factor is Factor.TLS and "over httpx, let pass over curl" in rows["because"]
        ),
        told(scheme="https", client="httpx"),
    )


def a_version_of_http(_rng):
    return Rule(
        lambda trial: trial.client == "curl-h2",
        lambda found, rows: found.factor is Factor.HTTP_VERSION,
        told(scheme="https", client="curl", http_version="2"),
        (HTTPX, CURL, HTTP2),
    )


def the_source(_rng):
    return Rule(lambda trial: True, lambda found, rows: rows["outcome"].strip().startswith("CANNOT"))


def what_adds_up(rng):
    turns = rng.randint(2, len(TURNS))
    return Rule(
        lambda trial: trial.request.body.count(b"`") >= 4 * turns,
        says(f"fails from turn {turns} on"),
        told(*TURNS),
    )


def an_idle_connection(rng):
    """Right is a bracket that the limit lies in."""
    limit = rng.choice([4.0, 50.0, 60.0, 100.0, 350.0])

    def right(found, rows):
        bracket = [float(number) for number in re.findall(r"([\d.]+)(?= and| s of)", rows["because"])]
        bracket = bracket if len(bracket) == 2 else [0.0, *bracket]
        return (found.code, found.factor) == ("connection.stale", Factor.CONNECTION) and (
            bracket[0] < limit <= bracket[1]
        )

    return Rule(
        lambda trial: trial.session is not None and trial.start >= limit, right, told(seen="ECONNRESET")
    )


def one_that_goes(rng):
    """By itself, while it is looked for; what was proven before may still be named."""
    found = a_word(rng)
    return replace(
        found,
        until=rng.randint(14, 28),
        right=lambda finding, rows: finding.reason is Reason.DRIFT or found.right(finding, rows),
    )


def one_that_comes_for_everybody(rng):
    """So that from a time on the control fails as well."""
    return replace(
        a_word(rng),
        since=rng.randint(10, 22),
        right=lambda found, rows: found.factor is None and found.verdict is Verdict.INCONCLUSIVE,
    )


RULES = (
    a_word, a_family, a_size, a_text, a_stack, a_version_of_http, the_source, what_adds_up, an_idle_connection,
    one_that_goes, one_that_comes_for_everybody,
)  # fmt: skip


def outcome(rule, share, rng):
    """Right, wrong, unsure, or the rule let everything through; and how many requests that took."""
    asked = case("reproduction", rule.clients, told=rule.told)
    asked = replace(asked, target=replace(asked.target, owned=True))
    sent = 0

    def call(trial, repeat):
        nonlocal sent
        sent += 1
        hit = rule.holds(trial, sent) and rng.random() >= share
        reused = trial.session is not None and trial.start > 0
        got = answer("good" if not hit else "reset" if reused else "refused")
        name = f"{trial.label}/{repeat}"
        conditions = {"connection": "reused"} if reused else {}
        return Call(
            name, asked.id, trial, repeat, (replace(got, id=name, conditions=conditions),), own_lag=0.0
        )

    [found] = drive(reproduction(asked), lambda planned: [call(*each) for each in planned])
    rows = {"because": ""}
    for word, text in found.detail:
        rows[word] = f"{rows.get(word, '')} {text}"
    if "NOT REPRODUCED" in rows["outcome"]:
        return "unseen", sent
    if rule.right(found, rows):
        return "right", sent
    sure = (
        found.verdict is Verdict.FAIL and found.confidence != "low" and "not narrowed" not in rows["because"]
    )
    return "wrong" if sure else "unsure", sent
