"""Which rule refused is told by the ray of the answer, and never guessed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import refused
from cloudflare_stand_in import JSON, TOKEN, ZONE, errors

from probes import store
from probes.marks import fired
from probes.marks.cloudflare_api import Unread
from probes.marks.fired import events, ray_of, said

RAY, OTHER = "8f3a2b3c4d5e6f70", "1fe68f0af33cb97a"
SINCE, UNTIL = datetime(2026, 11, 30, 14, tzinfo=UTC), datetime(2026, 11, 30, 15, tzinfo=UTC)


def event(action="block", source="bic", ray=RAY, **more):
    return {"action": action, "source": source, "rayName": ray, "datetime": "2026-11-30T14:05:00Z"} | more


TOLD = {
    "a product's own": ([event()], f"block by Browser Integrity Check (ray {RAY})"),
    "a rule": (
        [event(source="firewallCustom", ruleId="ab12", rulesetId="cd34", description="no  AI\n bots")],
        f'block by custom rule, rule ab12 of ruleset cd34, "no AI bots" (ray {RAY})',
    ),
    "a rule without a set": (
        [event("managed_challenge", "rateLimit", ruleId="ab12")],
        f"managed_challenge by rate limiting rule, rule ab12 (ray {RAY})",
    ),
    "a source that is new": ([event(source="quantumShield")], f"block by quantumShield (ray {RAY})"),
    "no source": ([event(source=None)], f"block by a source that is not named (ray {RAY})"),
    "the refusal first": (
        [event("log", "firewallManaged"), event()],
        f"block by Browser Integrity Check (ray {RAY})\nlog by managed rule (ray {RAY})",
    ),
    "the same twice": ([event(), event()], f"block by Browser Integrity Check (ray {RAY})"),
    "none that refuses": (
        [event("skip", "firewallCustom", ruleId="ab12")],
        f"skip by custom rule, rule ab12 (ray {RAY})\nnone of these refuses; what did may have been left out, since events are sampled",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "text"), TOLD.values(), ids=TOLD)
def test_what_is_told(cloudflare, rows, text):
    """Action, product, rule, its set and its description, as far as they are there."""
    cloudflare.events = {RAY: rows}
    found = events(cloudflare.api, ZONE, [RAY], SINCE, UNTIL)
    assert said(found) == text


NOTHING = {
    "none": [],
    "null": None,
    "no list": {"a": 1},
    "of another ray": [event(ray=OTHER)],
    "without a ray": [{"action": "block", "source": "bic"}],
    "without an action": [event(None)],
    "an action of another shape": [event(["block"])],
    "no objects": [None, 7, "block"],
}


@pytest.mark.parametrize("rows", NOTHING.values(), ids=NOTHING)
def test_that_none_is_there_proves_nothing(cloudflare, rows):
    """And it is said."""
    cloudflare.events = {RAY: rows}
    found = events(cloudflare.api, ZONE, [RAY], SINCE, UNTIL)
    assert found == {RAY: []}
    assert "sampled and come late, so this proves nothing" in said(found)


def test_like_refusals(cloudflare):
    """What is there of some of them is told once, with of how many it was asked."""
    third = "0" * 16
    cloudflare.events = {RAY: [event()], OTHER: [event(ray=OTHER)], third: []}
    found = events(cloudflare.api, ZONE, [RAY, OTHER, third], SINCE, UNTIL)
    assert said(found) == f"block by Browser Integrity Check (ray {RAY} and 1 more of 3 asked)"
    assert f"no firewall event of ray {RAY} and 2 more is there" in said(dict.fromkeys(found, ()))


def test_one_request_for_all(cloudflare):
    """The rays go as variables, with the span of time, and each gets its own answer."""
    cloudflare.events = {RAY: [event()], OTHER: [event("block", "uaBlock", OTHER)]}
    found = events(cloudflare.api, ZONE, [RAY, OTHER, RAY], SINCE, UNTIL)
    assert {ray: rows[0].source for ray, rows in found.items()} == {RAY: "bic", OTHER: "uaBlock"}
    [asked] = cloudflare.graphql
    span = {"datetime_geq": "2026-11-30T14:00:00Z", "datetime_leq": "2026-11-30T15:00:00Z"}
    assert asked["variables"] == {
        "zone": ZONE,
        "r0": {"rayName": RAY, **span},
        "r1": {"rayName": OTHER, **span},
    }
    assert RAY not in asked["query"]
    assert asked["query"].count("firewallEventsAdaptive(") == 2


@pytest.mark.parametrize(
    ("header", "ray"),
    [(f"{RAY}-FRA", RAY), (RAY, RAY), (None, None), ("", None), ("x-FRA", None), (f"{RAY}-FRA, {OTHER}-AMS", None),
     (RAY.upper(), None), (f"{RAY}-fra", None)],
)  # fmt: skip
def test_the_digits_of_a_ray(header, ray):
    """Without the place; what is no ray is asked for by nobody."""
    assert ray_of(header) == ray


def graphql_error(message, **extensions):
    return {"data": None, "errors": [{"message": message, "extensions": extensions}]}


BROKEN = {
    "no permission": (
        (200, JSON, graphql_error("not authorized for that account", code="authz")),
        r"may not read this: it needs Analytics: Read of that zone \(not authorized",
        True,
    ),
    "no permission, in words": ((200, JSON, graphql_error("zone 'x' does not have access to the path")), "needs Analytics", True),
    "too long ago": ((200, JSON, graphql_error("cannot request data older than 2678400s")), "cannot request data older", False),
    "403": ((403, JSON, errors("no")), "403, the token may not read this: it needs Analytics: Read", True),
    "too many": ((429, JSON | {"retry-after": "300"}, errors()), "429, too many requests; it asks to wait 300 s", False),
    "no zone": ((200, JSON, {"data": {"viewer": {"zones": []}}}), "does not see that zone", True),
    "no data": ((200, JSON, {"data": None}), "none of firewall events", False),
    "another shape": ((200, JSON, {"data": {"viewer": {"zones": {}}}}), "none of firewall events", False),
    "errors of another shape": ((200, JSON, {"errors": {"a": 1}, "data": 3}), "none of firewall events", False),
    "no JSON": ((200, JSON, b"<html>"), "no JSON object", False),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "why", "mistake"), BROKEN.values(), ids=BROKEN)
def test_what_is_said_where_they_cannot_be_read(cloudflare, answer, why, mistake):
    """Asked once, told why, and whose move it is."""
    cloudflare.answers = [answer]
    with pytest.raises(Unread, match=why) as met:
        events(cloudflare.api, ZONE, [RAY], SINCE, UNTIL)
    assert met.value.mistake is mistake
    assert len(cloudflare.asked) == 1


# --- of a run --------------------------------------------------------------------------------------------


@pytest.fixture
def blocked(reports):
    """The id of a stored run in which the edge refused."""
    made = refused.run()
    store.save(made)
    return made.id


def test_a_run_says_which_rule_it_was(edgeprobe, cloudflare, blocked):
    """`report RUN --fired` adds it to each refusal, in every format; a hostile description harms nobody."""
    rule = {"ruleId": "ab12", "description": "\x1b[2Jno \u202eAI bots"}
    first, second, third, limited, own = refused.RAYS
    cloudflare.events = {ray: [event(source="firewallCustom", ray=ray, **rule)] for ray in (second, third)}
    cloudflare.events[limited] = [event("block", "rateLimit", limited)]
    done = edgeprobe("report", blocked, "--fired", "--zone", ZONE)
    assert (done.code, done.err) == (0, "")
    shown = " ".join(done.out.split())
    assert 'rule block by custom rule, rule ab12, "' in shown
    assert f"(ray {second} and 1 more of 3 asked)" in shown
    assert f"rule block by rate limiting rule (ray {limited})" in shown
    assert done.out.replace("\n", "").isprintable()
    [asked] = cloudflare.graphql
    filters = [asked["variables"][f"r{n}"] for n in range(4)]
    assert {one["rayName"] for one in filters} == {first, second, third, limited}
    assert own not in str(asked)
    assert filters[0]["datetime_geq"] == "2026-11-30T14:04:00Z"
    assert filters[0]["datetime_leq"] == "2026-11-30T14:06:04Z"


def test_in_json_and_not_kept(edgeprobe, cloudflare, blocked):
    """The rule stands in the JSON of that report, and the stored run stays as it was."""
    ray = refused.RAYS[1]
    cloudflare.events = {ray: [event(ray=ray, ruleId="ab12")]}
    done = edgeprobe("report", blocked, "--fired", "--zone", ZONE, "--json", "-")
    details = [finding["detail"] or "" for finding in json.loads(done.out)["findings"]]
    assert ["rule ab12" in text for text in details] == [True, False, False, False]
    assert "ab12" not in edgeprobe("report", blocked).out


def test_a_run_whose_rule_is_not_found(edgeprobe, cloudflare, blocked):
    """It says that this proves nothing."""
    done = edgeprobe("report", blocked, "--fired", "--zone", ZONE)
    assert (done.code, done.err) == (0, "")
    assert "so this proves nothing" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("answer", "code"),
    [((403, JSON, errors("no")), 2), ((429, JSON, errors()), 3), ((200, JSON, b"<html>"), 3)],
    ids=["no permission", "too many", "no JSON"],
)
def test_events_that_cannot_be_read(edgeprobe, cloudflare, blocked, answer, code):
    """The run is shown all the same, and why the rule isn't."""
    cloudflare.answers = [answer]
    done = edgeprobe("report", blocked, "--fired", "--zone", ZONE)
    assert done.code == code
    assert "blocked.client" in done.out
    assert "edgeprobe: the firewall events were not read: " in done.err


def test_a_run_without_a_refusal(edgeprobe, cloudflare, reports):
    """Nothing is asked, and that is said."""
    store.save(refused.run([2, 3]))
    done = edgeprobe("report", refused.run().id, "--fired", "--zone", ZONE)
    assert (done.code, cloudflare.asked) == (0, [])
    assert "no refusal by Cloudflare in this run has a ray" in done.err


CHOSEN = {
    1: {0: [1]},
    2: {0: [1], 1: [3]},
    3: {0: [1, 0], 1: [3]},
    9: {0: [1, 0, 2], 1: [3]},
}  # fmt: skip


@pytest.mark.parametrize(("most", "chosen"), CHOSEN.items())
def test_which_rays_are_asked_for(monkeypatch, most, chosen):
    """First the one that each finding names, then the others, as many as one request bears."""
    monkeypatch.setattr(fired, "MOST", most)
    found = fired.rays_of(refused.run())
    assert found == {number: [refused.RAYS[n] for n in rays] for number, rays in chosen.items()}


MISTAKES = {
    "no zone": (("--fired",), "--zone is missing: the zone's id is 32 hexadecimal digits"),
    "a zone's name": (("--fired", "--zone", "example.com"), "--zone example.com: the zone's id is"),
    "a zone alone": (("--zone", ZONE), "--zone: goes with --fired"),
    "a token alone": (("--token-env", "X"), "--token-env: goes with --fired"),
    "judged again": (("--fired", "--zone", ZONE, "--rejudge"), "exclude each other"),
    "no token": (("--fired", "--zone", ZONE, "--token-env", "NOT_SET"), "NOT_SET is not set: it holds a token"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "said"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_the_call(edgeprobe, cloudflare, blocked, words, said):
    """They are told, and nothing is asked."""
    done = edgeprobe("report", blocked, *words)
    assert (done.code, cloudflare.asked) == (2, [])
    assert said in done.err


def test_the_token_is_in_nothing_that_is_shown(edgeprobe, cloudflare, blocked):
    """Also where the API says it back."""
    for answer in ((403, JSON, errors(TOKEN)), (200, JSON, graphql_error(f"bad {TOKEN}"))):
        cloudflare.answers = [answer]
        done = edgeprobe("report", blocked, "--fired", "--zone", ZONE, "--json", "-")
        assert TOKEN not in done.out + done.err


# --- of a paste ------------------------------------------------------------------------------------------

TICKET = f"""Hello, since noon we get this:

HTTP/2 403
server: cloudflare
cf-ray: {RAY}-FRA

error code: 1010

and my colleague ray id {OTHER}
"""


@pytest.fixture
def ticket(tmp_path):
    path = tmp_path / "ticket.txt"
    path.write_text(TICKET)
    return str(path)


def test_a_paste_says_which_rule_it_was(edgeprobe, cloudflare, ticket):
    """`classify FILE --fired` adds it to each answer that has a ray, and asks once, of the last day."""
    cloudflare.events = {RAY: [event(source="firewallCustom", ruleId="ab12")]}
    done = edgeprobe("classify", ticket, "--fired", "--zone", ZONE)
    assert (done.code, done.err) == (0, "")
    shown = " ".join(done.out.split())
    assert f"rule block by custom rule, rule ab12 (ray {RAY})" in shown
    assert f"rule no firewall event of ray {OTHER} is there." in shown
    [asked] = cloudflare.graphql
    since, until = (
        datetime.fromisoformat(asked["variables"]["r0"][f"datetime_{end}"]) for end in ("geq", "leq")
    )
    assert until - since == timedelta(hours=24)


def test_a_paste_of_another_day(edgeprobe, cloudflare, ticket):
    """`--since` says from when on to look."""
    edgeprobe("classify", ticket, "--fired", "--zone", ZONE, "--since", "2026-11-01T00:00Z")
    assert cloudflare.graphql[0]["variables"]["r0"]["datetime_geq"] == "2026-11-01T00:00:00Z"


PASTES = {
    "not read": ((), TICKET, [(403, JSON, errors("no"))], 2, "were not read: 403"),
    "no ray": ((), "HTTP/2 403\nserver: cloudflare\n\nerror code: 1010\n", [], 0, "no refusal by Cloudflare"),
    "a reply": (("--reply",), TICKET, [], 2, "--fired and --reply exclude each other"),
    "no time": (("--since", "soon"), TICKET, [], 2, "--since soon: no time"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "text", "answers", "code", "said"), PASTES.values(), ids=PASTES)
def test_a_paste_whose_rule_is_not_told(edgeprobe, cloudflare, ticket, words, text, answers, code, said):
    """It says why; what is wrong with the call is said before anything else."""
    Path(ticket).write_text(text)
    cloudflare.answers = answers
    done = edgeprobe("classify", ticket, "--fired", "--zone", ZONE, *words)
    assert done.code == code
    assert said in done.err
    assert "blocked.client" in done.out or words


def test_a_paste_without_asking(edgeprobe, cloudflare, ticket):
    """Nothing is sent, and a flag of `--fired` alone is refused."""
    assert edgeprobe("classify", ticket).code == 0
    assert "--since: goes with --fired" in edgeprobe("classify", ticket, "--since", "7d").err
    assert cloudflare.asked == []
