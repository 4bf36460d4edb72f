"""Do people get the notice, through Apprise, and do a stranger's words do nothing there?"""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest
from receiving import OK, receiving, status
from test_webhook import ALERT, NOTICE, silent

from probes.canary import About, AlertState, Told, Undelivered
from probes.sinks.notify import inert, notify


def by_json(receiver):
    """Apprise's own form of a POST of JSON, with a password and a path that are secret."""
    return receiver.url.replace("http://", "json://user:pa55word@")


@pytest.mark.parametrize(
    ("told", "about", "kind", "title"),
    [
        (Told.OPENED, About.SERVICE, "failure", ALERT.title),
        (Told.OPENED, About.BLIND, "warning", ALERT.title),
        (Told.UPDATED, About.SERVICE, "failure", f"(update) {ALERT.title}"),
        (Told.RESOLVED, About.SERVICE, "success", ALERT.title),
    ],
    ids=["opened", "blind", "updated", "resolved"],
)
def test_it_is_sent_in_the_tone_of_what_happened(told, about, kind, title):
    """Title and text as they are, once."""
    alert = replace(ALERT, key=replace(ALERT.key, about=about), state=AlertState.OPEN)
    with receiving() as receiver:
        notify(by_json(receiver))(replace(NOTICE, told=told, alert=alert))
    (body,) = [json.loads(body) for body in receiver.bodies]
    assert (body["type"], body["title"], body["message"]) == (kind, title, ALERT.text)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (status(500), "answered 500"),
        (status(429), "answered 429"),
        (status(404), "answered 404"),
        (b"", "no answer"),
        (b"\x00\xff\r\n\r\n", "no answer"),
        (silent, "no answer"),
    ],
    ids=["500", "429", "404", "closed", "bytes", "silent"],
)
def test_what_was_not_taken_says_so_and_no_secret(answer, why, caplog, capfd):
    """Neither in its reason, nor in a log, nor on the terminal."""
    caplog.set_level(logging.DEBUG)
    with receiving(answer) as receiver, pytest.raises(Undelivered, match=f"^{why}") as told:
        notify(f"{by_json(receiver)}?rto=0.3&cto=1", timeout=2)(NOTICE)
    seen = capfd.readouterr()
    for text in (str(told.value), seen.out, seen.err):
        assert "pa55word" not in text
        assert "very-secret" not in text


def test_a_redirect_is_not_followed():
    """The notice, and what the URL authorises, stay with whom the operator named."""
    with receiving(OK) as elsewhere:
        away = status(307, f"location: {elsewhere.url}\r\n".encode())
        with receiving(away) as receiver, pytest.raises(Undelivered, match="answered 307"):
            notify(by_json(receiver))(NOTICE)
    assert elsewhere.bodies == []


@pytest.mark.parametrize(
    "url", ["", "nonsense", "no-such-service://secret-1234/x", "slack://short", "json://"]
)
def test_a_url_that_is_none_is_told_at_once_and_without_it(url):
    """Before the canary begins."""
    with pytest.raises(ValueError, match="not the Apprise URL") as told:
        notify(url)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "text",
    ["<!channel> hi", "<@U123>", "@here @everyone", "[free money](http://evil.example)", "<http://evil.example|bank>", "*bold* `code`"],
)  # fmt: skip
def test_words_of_a_stranger_mention_and_link_nobody(text):
    """They look alike and mean nothing."""
    made = inert(text)
    assert not set("<>@*`") & set(made)
    assert "](" not in made
    assert len(made) in {len(text), len(text) + 1}
