"""Does every notice arrive, in order, however its sink behaves and whoever is stopped meanwhile?"""

from __future__ import annotations

import socket
import threading
import time
from datetime import timedelta

import pytest
from receiving import OK, receiving, status
from watched import Receiver, Scene, finding, good

from probes.alerts.delivery import LONGEST, pause
from probes.canary import Undelivered
from probes.sinks.webhook import webhook

BAD, FINE = [finding()], [good()]


class Sink:
    """Takes what comes, but for the first `failing` times."""

    def __init__(self, failing=0):
        self.failing, self.tries, self.heard = failing, 0, []

    def __call__(self, notice):
        self.tries += 1
        if self.tries <= self.failing:
            raise Undelivered("answered 503")
        self.heard.append(notice.told.value)


def settled(scene):
    """When no sink is being sent to."""
    while any(thread.name.startswith("sink ") for thread in threading.enumerate()):
        time.sleep(0.002)
    return scene


def test_it_is_sent_as_soon_as_it_is_told():
    """Without waiting for the next tick, and once."""
    sink = Sink()
    scene = Scene(deliver={"ops": sink})
    settled(scene.turn(BAD, BAD))
    assert sink.heard == ["opened"]
    scene.tick()
    scene.restart()
    scene.tick()
    settled(scene)
    assert sink.tries == 1
    assert scene.alerting.undelivered() == []
    assert scene.last.delivered is not None


def test_what_was_not_taken_is_tried_again_ever_later():
    """Not before its pause is over, and until it is taken; its reason stands with it."""
    sink = Sink(failing=3)
    scene = Scene(deliver={"ops": sink})
    settled(scene.turn(BAD, BAD))
    for tries in (1, 2, 3):
        assert sink.tries == tries
        (waiting,) = scene.alerting.undelivered()
        assert (waiting.tries, waiting.fault) == (tries, "answered 503")
        scene.tick(after=pause(tries) - timedelta(seconds=1))
        settled(scene)
        assert sink.tries == tries
        scene.tick(after=timedelta(seconds=1))
        settled(scene)
    assert sink.heard == ["opened"]
    assert scene.alerting.undelivered() == []
    assert scene.last.fault is None


def test_a_sink_that_fails_is_a_line_of_the_log_and_that_it_works_again_is_one(capsys):
    """Not each try; with the time."""
    scene = Scene(deliver={"ops": Sink(failing=3), "chat": Sink()}, sinks=(Receiver(), Receiver("chat")))
    settled(scene.turn(BAD, BAD))
    for tries in (1, 2, 3):
        scene.tick(after=pause(tries))
        settled(scene)
    settled(scene.turn(FINE).turn(FINE))
    assert [line.partition("  ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "edgeprobe: sink ops cannot be told: answered 503; tried again until it can",
        "edgeprobe: sink ops can be told again",
    ]


def test_a_notice_that_is_refused_is_one_line_of_the_log(capsys):
    """Over restarts too, while what others say is delivered."""

    def picky(notice):
        if notice.alert.key.code == "blocked.client":
            raise Undelivered.answered(400)

    scene = Scene(deliver={"ops": picky})
    settled(scene.turn(BAD, BAD))
    other = [finding(code="model.not_found")]
    settled(scene.turn(other, other))
    for _ in range(3):
        scene.tick(after=LONGEST)
        settled(scene)
    scene.restart()
    scene.tick(after=LONGEST)
    settled(scene)
    said = (
        "sink ops refuses one notice (opened of blocked.client on prod): answered 400; others are delivered"
    )
    assert [line.partition("edgeprobe: ")[2] for line in capsys.readouterr().err.splitlines()] == [said]


@pytest.mark.parametrize(
    ("away", "first"),
    [
        (timedelta(), "clients: "),
        (timedelta(minutes=1, seconds=59), "clients: "),
        (timedelta(minutes=2, seconds=1), "told late: this was at 14:06 UTC"),
        (timedelta(hours=12), "told late: this was at 2026-11-30 14:06 UTC"),
    ],
    ids=["at once", "soon", "late", "on another day"],
)
def test_what_is_told_late_says_when_it_was_news(away, first):
    """What is kept of it is as it was made."""
    heard = []

    def back(notice):
        if scene.wall.now() - notice.made < away:
            raise Undelivered("answered 503")
        heard.append(notice.alert)

    scene = Scene()
    scene.deliver = {"ops": back}
    scene.restart()
    settled(scene.turn(BAD, BAD))
    if away:
        scene.tick(after=away)
        settled(scene)
    assert heard[0].text.splitlines()[0].startswith(first)
    assert heard[0].title == scene.last.alert.title
    assert "told late" not in scene.last.alert.text


def test_what_is_over_by_now_says_so_where_it_is_told_to_have_begun():
    """Before the end is told: who is woken reads that there is nothing left to do."""
    heard, away = [], True

    def back(notice):
        if away:
            raise Undelivered("answered 503")
        heard.append((notice.told.value, notice.alert.title, notice.alert.text.splitlines()[0]))

    scene = Scene(deliver={"ops": back})
    settled(scene.turn(BAD, BAD))
    for _ in range(2):
        settled(scene.turn(FINE))
    away = False
    scene.tick(after=LONGEST)
    settled(scene)
    (opened, title, first), (resolved, end, last) = heard
    assert (opened, first) == (
        "opened",
        "told late: this was at 14:06 UTC; over since 14:16 UTC, which is told next",
    )
    assert title.startswith("(told late, over by now) [edge · Cloudflare 1010] ")
    assert (resolved, last) == ("resolved", "told late: this was at 14:16 UTC")
    assert end.startswith("[resolved] ")


@pytest.mark.parametrize("tries", [1, 2, 7, 50, 10_000])
def test_pauses_grow_up_to_a_quarter_of_an_hour(tries):
    """And no further."""
    assert pause(tries) <= pause(tries + 1) <= LONGEST == timedelta(minutes=15)


def test_the_end_is_never_told_before_the_beginning():
    """A sink that is away hears all of it later, in order."""
    sink = Sink(failing=1)
    scene = Scene(deliver={"ops": sink})
    settled(scene.turn(BAD, BAD, after=timedelta(seconds=1)))
    for _ in range(2):
        settled(scene.turn(FINE, after=timedelta(seconds=1)))
    assert sink.heard == []
    scene.tick()
    settled(scene)
    assert sink.heard == ["opened", "resolved"]


def test_a_notice_that_is_refused_for_good_holds_up_no_other_alert():
    """What a sink can't take waits for its own next try."""
    heard = []

    def picky(notice):
        if notice.alert.key.code == "blocked.client":
            raise Undelivered("answered 400")
        heard.append((notice.alert.key.code, notice.told.value))

    scene = Scene(deliver={"ops": picky})
    settled(scene.turn(BAD, BAD))
    other = [finding(code="model.not_found")]
    settled(scene.turn(other, other))
    assert heard == [("model.not_found", "opened")]
    assert {notice.alert.key.code for notice in scene.alerting.undelivered()} == {"blocked.client"}


@pytest.mark.parametrize("restarted", [False, True], ids=["", "started anew"])
@pytest.mark.parametrize("code", [400, 403, 413, 422])
def test_a_notice_that_is_refused_for_good_holds_up_nothing_of_its_alert(code, restarted):
    """That it is over is told, and then nobody tells any more that it was opened."""
    heard, tried = [], []

    def picky(notice):
        tried.append(notice.told.value)
        if notice.told.value == "opened":
            raise Undelivered.answered(code)
        heard.append(notice.told.value)

    scene = Scene(deliver={"ops": picky})
    settled(scene.turn(BAD, BAD))
    assert [notice.fault for notice in scene.alerting.undelivered()] == [f"answered {code}"]
    if restarted:
        scene.restart()
    for _ in range(2):
        settled(scene.turn(FINE))
    assert heard == ["resolved"]
    assert scene.alerting.undelivered() == []
    scene.restart()
    scene.tick(after=2 * LONGEST)
    settled(scene)
    assert (scene.alerting.undelivered(), tried[-1]) == ([], "resolved")


@pytest.mark.parametrize("code", [302, 401, 404, 408, 425, 429, 500, 503])
def test_what_is_not_refused_for_its_own_sake_is_waited_for(code):
    """It is told in order later."""
    heard = []

    def busy(notice):
        if scene.wall.time < until:
            raise Undelivered.answered(code)
        heard.append(notice.told.value)

    scene = Scene(deliver={"ops": busy})
    until = scene.wall.time + timedelta(hours=12)
    settled(scene.turn(BAD, BAD))
    for _ in range(2):
        settled(scene.turn(FINE))
    assert heard == []
    scene.tick(after=timedelta(hours=24))
    settled(scene)
    assert heard == ["opened", "resolved"]


def test_another_process_goes_on_with_it():
    """What one could not deliver, and when it is to be tried again, is in the memory."""
    scene = Scene(deliver={"ops": Sink(failing=99)})
    settled(scene.turn(BAD, BAD))
    scene.deliver = {"ops": (sink := Sink())}
    scene.restart()
    scene.tick(after=timedelta(seconds=9))
    settled(scene)
    assert sink.tries == 0
    scene.tick(after=timedelta(seconds=1))
    settled(scene)
    assert sink.heard == ["opened"]


def test_an_attempt_is_counted_before_it_is_made():
    """Whoever is killed in it tries again after its pause, and not at once and for ever."""
    scene = Scene()
    seen = []
    scene.deliver = {"ops": lambda notice: seen.append(scene.memory.notices[notice.id])}
    scene.restart()
    settled(scene.turn(BAD, BAD))
    assert [(notice.tries, notice.delivered) for notice in seen] == [(1, None)]
    assert seen[0].next_try == scene.wall.time + pause(1)


def test_at_the_end_what_is_due_is_sent():
    """All of it, not only what is under way: a canary that runs once from cron has no other time."""
    gate, heard = threading.Event(), []

    def slow(notice):
        gate.wait()
        heard.append(notice.told.value)

    scene = Scene(deliver={"ops": slow})
    scene.turn(BAD, BAD).turn(FINE).turn(FINE)
    threading.Timer(0.05, gate.set).start()
    scene.alerting.close(timeout=60)
    assert heard == ["opened", "resolved"]


def test_a_slow_sink_holds_nobody_up():
    """Neither the turn that tells it nor another sink."""
    gate, sink = threading.Event(), Sink()
    scene = Scene(
        deliver={"slow": lambda notice: gate.wait(), "ops": sink}, sinks=(Receiver("slow"), Receiver("ops"))
    )
    scene.turn(BAD, BAD).turn(FINE).turn(FINE)
    while sink.heard != ["opened", "resolved"]:
        time.sleep(0.002)
    assert {notice.sink for notice in scene.alerting.undelivered()} == {"slow"}
    scene.alerting.close(timeout=0.01)
    gate.set()
    settled(scene)
    assert scene.told.count(("opened", "blocked.client")) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_sink_with_a_bug_is_tried_again():
    """Its thread ends; the next is due after the pause."""
    sink = Sink()

    def broken(notice):
        sink.tries += 1
        if sink.tries == 1:
            raise KeyError("a bug")
        sink(notice)

    scene = Scene(deliver={"ops": broken})
    settled(scene.turn(BAD, BAD))
    assert len(scene.alerting.undelivered()) == 1
    scene.tick(after=timedelta(seconds=10))
    settled(scene)
    assert sink.heard == ["opened"]


def test_a_clock_that_was_set_back_holds_nothing_up():
    """A time that lies further ahead than any pause is no time."""
    sink = Sink(failing=1)
    scene = Scene(deliver={"ops": sink})
    settled(scene.turn(BAD, BAD))
    scene.tick(after=timedelta(days=-1))
    settled(scene)
    assert sink.heard == ["opened"]


def test_a_sink_that_left_the_file_is_not_waited_for():
    """It counts as undelivered no more, and hears of it when it comes back."""
    sink = Sink(failing=1)
    scene = Scene(deliver={"ops": sink})
    settled(scene.turn(BAD, BAD))
    scene.alerting.reload(scene.watching, {})
    assert scene.alerting.undelivered() == []
    scene.wall.time += timedelta(minutes=1)
    scene.alerting.reload(scene.watching, {"ops": sink})
    settled(scene)
    assert sink.heard == ["opened"]


def test_a_webhook_that_was_down_gets_it_all():
    """Over a real socket: 503 twice, then everything in order."""
    with receiving(status(503), status(503), OK) as receiver:
        scene = Scene(deliver={"ops": webhook(receiver.url, "secret-of-both")})
        settled(scene.turn(BAD, BAD))
        assert len(scene.alerting.undelivered()) == 1
        settled(scene.turn(FINE))
        settled(scene.turn(FINE))
        scene.tick()
        settled(scene)
    assert scene.alerting.undelivered() == []
    assert len(receiver.bodies) == 4
    assert [b'"told": "opened"' in body for body in receiver.bodies] == [True, True, True, False]
    assert receiver.headers(0)["edgeprobe-notice"] == receiver.headers(2)["edgeprobe-notice"]


def test_a_resolver_that_hangs_holds_nobody_up(monkeypatch):
    """It counts against the time limit; the other sink hears at once, and the webhook when names are resolved again."""
    real, gate, hung = socket.getaddrinfo, threading.Event(), []

    def resolve(host, *more, **options):
        named = host in {"receiver.example", b"receiver.example"}
        if named and not gate.is_set():
            hung.append(host)
            gate.wait()
        return real("127.0.0.1" if named else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    sink = Sink()
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "receiver.example")
        deliver = {"hook": webhook(url, "secret-of-both", timeout=5), "ops": sink}
        scene = Scene(deliver=deliver, sinks=(Receiver("hook"), Receiver("ops")))
        settled(scene.turn(BAD, BAD))
        assert (sink.heard, len(hung)) == (["opened"], 1)
        assert [notice.fault for notice in scene.alerting.undelivered()] == ["no answer within 5 s"]
        gate.set()
        scene.tick()
        settled(scene)
    assert scene.alerting.undelivered() == []
    assert len(receiver.bodies) == 1
