"""When does an alert open, grow and end?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from watched import EVERY, NAMES, START, Entry, KofN, Receiver, Scene, finding, good, run_of, unclear

from probes.alerts import Asked, confirmations, key_of, pages
from probes.alerts.evidence import clients_of, passing
from probes.canary import About, AlertState, Told
from probes.model import Attribution, Factor, Layer, Verdict
from probes.vocabulary import vocabulary

BLOCK, RESET = [finding()], [finding("unreachable.reset")]
FINE = [good()]


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("blocked.client", 2), ("blocked", 2), ("challenged", 2), ("auth.rejected", 2), ("model.not_found", 2),
        ("unreachable.tls", 2), ("unreachable.dns", 2), ("redirected", 2), ("wrong_base_url", 2),
        ("leak.secret_echoed", 2), ("regression.outcome", 2), ("timeout.first_byte", 3), ("timeout.idle", 3),
        ("timeout.connect", 3), ("unreachable.reset", 3), ("unreachable.connect", 3), ("unreachable.origin", 3),
        ("server.error", 3), ("stream.truncated", 3), ("body.error_in_200", 3), ("regression.latency", 3),
    ],
)  # fmt: skip
def test_blocks_are_sure_sooner_than_what_a_network_does_by_chance(code, most):
    """2 of 2 against 2 of 3, each of a code that there is."""
    assert code in vocabulary()
    assert confirmations(finding(code)) == (2, most)


def test_an_entry_has_rules_of_its_own():
    """They hold for every finding."""
    assert confirmations(finding(), Entry(alert=KofN(3, 5))) == (3, 5)


@pytest.mark.parametrize(
    ("found", "wakes"),
    [
        (finding(), True),
        (replace(finding(), accepted=True), False),
        (finding(verdict=Verdict.WARN), False),
        (unclear(), False),
        (good(), False),
    ],
    ids=["fail", "accepted", "warn", "inconclusive", "pass"],
)
def test_a_fail_that_nobody_accepted_wakes_somebody(found, wakes):
    """And nothing else."""
    assert pages(found) is wakes
    scene = Scene()
    for _ in range(3):
        scene.turn([found], conclusive=True)
    assert bool(scene.open) is wakes


@pytest.mark.parametrize(
    ("found", "about"),
    [
        (finding(), About.SERVICE),
        (finding("client.timeout", layer=Layer.CLIENT), About.SERVICE),
        (finding("client.trust", layer=Layer.CLIENT), About.PROBE),
        (finding("proxy.intercepts", layer=Layer.PROXY), About.PROBE),
        (finding("probe.bug", layer=Layer.PROBE), About.PROBE),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_what_is_wrong_around_the_probe_is_told_of_the_probe(found, about):
    """Its proxy and its trust store are not the customers'."""
    assert key_of(found, "prod").about is about


# --- opening ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "opens"),
    [
        ([(BLOCK, BLOCK)], 1),
        ([(BLOCK, FINE)], None),
        ([(BLOCK, FINE), (BLOCK, FINE)], 2),
        ([(BLOCK,), (BLOCK,)], 2),
        ([(BLOCK,), (FINE,), (BLOCK,)], 3),
        ([(BLOCK,), (FINE,), (FINE,), (BLOCK,)], None),
        ([(RESET, RESET)], 1),
        ([(RESET, FINE, RESET)], 1),
        ([(RESET, FINE, FINE), (RESET, FINE, FINE)], None),
        ([(RESET,), (RESET,)], 2),
        ([(RESET,), (BLOCK,)], 2),
        ([(BLOCK,), ([unclear()],), (BLOCK,)], 3),
        ([([finding(), finding("server.error")],)], None),
    ],
    ids=[
        "confirmed at once", "gone at once", "every other answer", "in two intervals", "2 of 3", "1 of 4",
        "a reset again", "a reset 2 of 3", "a reset 2 of 6", "a reset in two intervals", "one way, then another",
        "unclear between", "two ways in one answer",
    ],
)  # fmt: skip
def test_it_opens_when_it_is_sure(turns, opens):
    """At the turn that makes it sure, and not before."""
    scene, opened = Scene(), None
    for number, asked in enumerate(turns, 1):
        scene.turn(*asked)
        if scene.open and opened is None:
            opened = number
    assert opened == opens
    assert scene.count(Told.OPENED) == (opens is not None)


def test_an_entry_that_wants_more_gets_more():
    """3 of 5 over its turns."""
    scene = Scene(entries=(Entry(alert=KofN(3, 5)),))
    for found, is_open in ((BLOCK, 0), (BLOCK, 0), (FINE, 0), (FINE, 0), (BLOCK, 1)):
        scene.turn(found)
        assert len(scene.open) == is_open
    scene = Scene(entries=(Entry(alert=KofN(3, 5)),))
    for found in (BLOCK, FINE, BLOCK, FINE, FINE, BLOCK):  # 3 of 6
        scene.turn(found)
    assert scene.open == []


def test_what_lies_far_back_is_no_neighbour():
    """Two blips hours apart are two blips."""
    scene = Scene()
    scene.turn(BLOCK).turn(BLOCK, after=timedelta(hours=3))
    assert scene.told == []
    scene.tick(after=timedelta(hours=3))
    assert [alert.state for alert in scene.memory.rows.values()] == [AlertState.DISMISSED]


def test_a_run_that_proves_nothing_neither_opens_nor_ends():
    """Our own network was down, or our own lag spoilt it."""
    scene = Scene()
    for _ in range(4):
        scene.turn(BLOCK, BLOCK, conclusive=False)
    assert [alert.key.about for alert in scene.open] == [About.BLIND]
    scene = Scene()
    scene.turn(BLOCK, BLOCK).turn(FINE, conclusive=False).turn(FINE, conclusive=False)
    assert "blocked.client" in [alert.key.code for alert in scene.open]


def test_it_says_since_when_how_often_and_whom():
    """`since` is the first bad answer, and every result counts."""
    scene = Scene()
    both = [finding(clients=("openai-py", "httpx")), good(("curl",))]
    scene.turn(both).turn(both).turn(both)
    alert = scene.open[0]
    assert (alert.since, alert.opened, alert.intervals) == (START + EVERY, START + 2 * EVERY, 3)
    assert (alert.observed.k, alert.observed.n) == (6, 6)
    assert (alert.clients, alert.routes, alert.entries) == (
        ("httpx", "openai-py"),
        ("edge",),
        ("smoke-prod",),
    )
    assert scene.count(Told.OPENED) == len(scene.memory.notices) == 1


def test_one_alert_grows_with_whom_it_hurts():
    """A further client is an update, told once; the first that recovers is none."""
    scene = Scene()
    more = [finding(clients=("openai-py", "httpx"))]
    scene.turn(BLOCK, BLOCK).turn(BLOCK).turn(more, more).turn(more).turn(BLOCK).turn(
        [*BLOCK, good(("httpx", "curl"))]
    )
    assert scene.told == [("opened", "blocked.client"), ("updated", "blocked.client")]
    assert scene.open[0].clients == ("httpx", "openai-py")
    scene.turn([*BLOCK, good(("httpx", "curl"))])
    assert scene.open[0].clients == ("openai-py",)
    assert len(scene.memory.notices) == 2


def test_other_entries_hurt_in_the_same_way_share_the_alert():
    """It ends when all of them pass again."""
    one, two = Entry(), Entry("streams-prod")
    scene = Scene(entries=(one, two))
    scene.turn(BLOCK, BLOCK, entry=one).turn(BLOCK, BLOCK, entry=two)
    assert len(scene.open) == 1
    assert scene.open[0].entries == ("smoke-prod", "streams-prod")
    scene.turn(FINE, entry=one).turn(FINE, entry=one)
    assert scene.open
    scene.turn(FINE, entry=two).turn(FINE, entry=two)
    assert scene.told[-1][0] == "resolved"


def test_its_end_names_everybody_who_was_hurt():
    """Those too that were well before the last one was, with their entries."""
    one, two = Entry(), Entry("streams-prod")
    scene = Scene(entries=(one, two))
    both = [finding(clients=("httpx", "openai-py")), good(("curl",))]
    curl = [finding(clients=("curl",)), good(("httpx", "openai-py"))]
    scene.turn(both, both, entry=one).turn(curl, curl, entry=two)
    assert scene.last.alert.clients == ("curl", "httpx", "openai-py")
    scene.turn([finding(), good(("curl", "httpx"))], entry=one).turn(
        [finding(), good(("curl", "httpx"))], entry=one
    )
    scene.turn(FINE, entry=two).turn(FINE, entry=two)
    assert (scene.open[0].clients, scene.open[0].entries) == (("openai-py",), ("smoke-prod",))
    scene.turn(FINE, entry=one).turn(FINE, entry=one)
    over = scene.last
    assert over.told is Told.RESOLVED
    assert over.alert.clients == ("curl", "httpx", "openai-py")
    assert over.alert.entries == ("smoke-prod", "streams-prod")
    assert "curl, httpx, openai-py" in over.alert.text


def test_targets_layers_products_and_codes_are_told_apart():
    """Each of them is an alert of its own."""
    scene = Scene(entries=(Entry(), Entry("other", "dr")))
    both = [finding(), finding("server.error", layer=Layer.ORIGIN, product="vLLM", vendor_code="500")]
    scene.turn(both, both).turn(BLOCK, BLOCK, entry=scene.watching.entries[1])
    assert len({alert.key for alert in scene.open}) == len(scene.open) == 3


# --- ending ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "ends"),
    [
        ([FINE, FINE], True),
        ([FINE], False),
        ([FINE, BLOCK, FINE], False),
        ([[unclear()], [unclear()]], False),
        ([[good(("curl",))], [good(("curl",))]], False),
        ([FINE, [unclear()], FINE], True),
        ([[finding("server.error")]] * 3, False),
        ([[finding(verdict=Verdict.WARN)]] * 2, True),
        ([[replace(finding(), accepted=True)]] * 2, True),
        ([[finding("leak.internal_address", verdict=Verdict.WARN)]] * 2, False),
    ],
    ids=["two passes", "one pass", "not in a row", "unclear", "another client", "unclear between", "fails otherwise",
         "only warns", "accepted", "warned of something else"],
)  # fmt: skip
def test_it_ends_when_the_same_client_passes_as_often_as_made_it_sure(turns, ends):
    """Nothing else ends it."""
    scene = Scene()
    scene.turn(BLOCK, BLOCK)
    for found in turns:
        scene.turn([*found, unclear(("httpx",))])
    assert ("resolved", "blocked.client") in scene.told or not ends
    assert ("blocked.client" not in [alert.key.code for alert in scene.open]) is ends


def test_a_client_that_was_not_asked_has_not_passed():
    """A case that is clean through the others says nothing of it, while it belongs to the case."""
    scene = Scene()
    scene.turn(BLOCK, BLOCK)
    asked = run_of([good(("curl", "httpx"))])
    left_out = replace(asked, calls=tuple(call for call in asked.calls if call.trial.client != "openai-py"))
    for _ in range(3):
        scene.wall.time += EVERY
        turn = replace(_turn(scene), due=scene.wall.time)
        scene.alerting.observe(turn, Asked(left_out, left_out.findings), entry=scene.watching.entries[0])
    assert scene.open


def _turn(scene):
    from probes.canary import Turn

    return Turn("smoke-prod", "prod", scene.wall.time, conclusive=True)


def test_what_is_asked_no_more_is_let_go():
    """A client that left the suite, an entry that left the file."""
    scene = Scene()
    scene.turn(BLOCK, BLOCK).turn([good(("curl",))], names=("curl",)).turn([good(("curl",))], names=("curl",))
    assert scene.told[-1][0] == "resolved"
    scene = Scene()
    scene.turn(BLOCK, BLOCK)
    scene.alerting.reload(replace(scene.watching, entries=()), {})
    assert scene.told[-1][0] == "resolved"
    assert not scene.open


def test_a_case_that_was_left_out_is_not_passed():
    """Asked again in part, the cases that were not asked say nothing."""
    scene = Scene()
    scene.turn(BLOCK, BLOCK)
    other = run_of([good(case="smoke/streaming")], case="smoke/streaming")
    for _ in range(3):
        scene.wall.time += EVERY
        entry = scene.watching.entries[0]
        scene.alerting.observe(_turn(scene), Asked(run_of([unclear()]), [unclear()]), entry=entry,
                               again=[Asked(other, other.findings, part=True)])  # fmt: skip
    assert scene.open


# --- flapping --------------------------------------------------------------------------------------------


def test_flapping_is_one_alert_that_says_so():
    """The third time within twelve intervals it stays open, is told once, and ends after six passes in a row."""
    scene = Scene()
    for _ in range(2):
        scene.turn(BLOCK, BLOCK).turn(FINE).turn(FINE)
    assert [what for what, _ in scene.told] == ["opened", "resolved"] * 2
    scene.turn(BLOCK, BLOCK)
    assert "[flapping" in scene.last.alert.title
    told = len(scene.told)
    for _ in range(3):
        scene.turn(FINE).turn(FINE).turn(FINE).turn(BLOCK, BLOCK)
    assert len(scene.told) == told
    assert scene.open[0].flaps == 5
    for _ in range(6):
        assert len(scene.told) == told
        scene.turn(FINE)
    assert scene.told[-1][0] == "resolved"


def test_outbreaks_far_apart_are_none():
    """Each is an alert of its own, and none is flapping."""
    scene = Scene()
    for _ in range(4):
        scene.turn(BLOCK, BLOCK)
        for _ in range(12):
            scene.turn(FINE)
    assert [what for what, _ in scene.told] == ["opened", "resolved"] * 4
    assert len({notice.alert.id for notice in scene.memory.notices.values()}) == 4
    assert not any("flapping" in notice.alert.title for notice in scene.memory.notices.values())


# --- whom a finding is about -----------------------------------------------------------------------------


def test_clients_that_met_the_same_answer_are_found_beside_the_one_that_is_named():
    """A twin names one of several; its control, which passed in the same case, is none of them."""
    made = Attribution(Layer.EDGE, "blocked.client", "Cloudflare", "1010")
    isolated = finding(factor=Factor.USER_AGENT, evidence=("x-openai-py", "x-curl"))
    run = run_of([isolated, good(("curl",))])
    run = replace(run, calls=tuple(
        replace(call, exchanges=tuple(replace(ex, attribution=made) for ex in call.exchanges)) for call in run.calls
    ))  # fmt: skip
    assert clients_of(isolated, run) == ("openai-py", "httpx")
    assert passing(Asked(run, run.findings)) == ("curl",)


def test_what_only_warns_has_passed_where_nothing_is_unclear():
    """A case of warnings alone was asked, and hurts nobody."""
    scene = Scene()
    scene.turn(BLOCK, BLOCK)
    for _ in range(2):
        scene.turn([finding("models.unlisted", verdict=Verdict.WARN)])
    assert scene.told[-1] == ("resolved", "blocked.client")


def test_evidence_from_other_cases_counts():
    """What is concluded of a whole run stands in one case and hurts the clients of all."""
    elsewhere = replace(finding("regression.outcome", NAMES), case="smoke/error_format")
    assert clients_of(elsewhere, run_of([elsewhere])) == NAMES
    scene = Scene()
    scene.turn([elsewhere], [elsewhere]).turn(FINE).turn(FINE)
    assert scene.told == [("opened", "regression.outcome"), ("resolved", "regression.outcome")]


def test_sinks_hear_what_they_want_to():
    """By what it is about, and by how severe it is."""
    sinks = (
        Receiver("pager", (About.SERVICE,), "fail"),
        Receiver("chat"),
        Receiver("health", (About.BLIND,)),
    )
    scene = Scene(sinks=sinks)
    scene.turn(BLOCK, BLOCK).turn([unclear()], conclusive=False).turn([unclear()], conclusive=False)
    heard = [(notice.sink, notice.alert.key.about.value) for notice in scene.memory.notices.values()]
    assert heard == [("pager", "service"), ("chat", "service"), ("chat", "blind"), ("health", "blind")]


@pytest.mark.parametrize("names", [NAMES])
def test_every_client_is_one_alert(names):
    """With all of them in it."""
    scene = Scene()
    everybody = [finding("unreachable.reset", names)]
    scene.turn(everybody, everybody)
    assert len(scene.open) == 1
    assert scene.open[0].clients == names
