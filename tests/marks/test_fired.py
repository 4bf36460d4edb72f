"""Which rule refused is told by the ray of the answer, and never guessed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from cloudflare_stand_in import JSON, TOKEN, ZONE, errors

from probes import lab
from probes.clock import Clock
from probes.marks import fired
from probes.marks.cloudflare_api import Unread
from probes.marks.fired import events, ray_of, said

RAY, OTHER = "8f3a2b3c4d5e6f70", "1fe68f0af33cb97a"
SINCE, UNTIL = datetime(2026, 11, 30, 14, tzinfo=UTC), datetime(2026, 11, 30, 15, tzinfo=UTC)


def event(action="block", source="bic", ray=RAY, **more):
    return {"action": action, "source": source, "rayName": ray, "datetime": "2026-11-30T14:05:00Z"} | more


TOLD = {
    "a product's own": ([event()], f"ray {RAY}: block by Browser Integrity Check"),
    "a rule": (
        [event(source="firewallCustom", ruleId="ab12", rulesetId="cd34", description="no  AI\n bots")],
        f'ray {RAY}: block by custom rule, rule ab12 of ruleset cd34, "no AI bots"',
    ),
    "a rule without a set": (
        [event("managed_challenge", "rateLimit", ruleId="ab12")],
        f"ray {RAY}: managed_challenge by rate limiting rule, rule ab12",
    ),
    "a source that is new": ([event(source="quantumShield")], f"ray {RAY}: block by quantumShield"),
    "no source": ([event(source=None)], f"ray {RAY}: block by a source that is not named"),
    "the refusal first": (
        [event("log", "firewallManaged"), event()],
        f"ray {RAY}: block by Browser Integrity Check\nlog by managed rule",
    ),
    "none that refuses": (
        [event("skip", "firewallCustom", ruleId="ab12")],
        f"ray {RAY}: skip by custom rule, rule ab12\nnone of these refuses; what did may have been left out, since events are sampled",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "text"), TOLD.values(), ids=TOLD)
def test_what_is_told(cloudflare, rows, text):
    """Action, product, rule, its set and its description, as far as they are there."""
    cloudflare.events = {RAY: rows}
    found = events(cloudflare.api, ZONE, [RAY], SINCE, UNTIL)
    assert said(found[RAY], RAY) == text


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
    assert "sampled and come late, so this proves nothing" in said(found[RAY], RAY)


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
def blocked(edgeprobe, at):
    """The id of a stored run in which the edge refused, and the rays of its refusals."""
    with lab.serve(["ai-crawler-rule"], clock=Clock(0.02), keys=None) as broken:
        done = edgeprobe(
            "run", "identity", *at(broken), "--client", "openai-py", "--client", "curl", "--json", "-"
        )
    run = json.loads(done.out)
    rays = {e["headers"]["cf-ray"][0][:16] for e in run["exchanges"] if e["status"] == 403}
    assert rays
    return run["id"], rays


def test_a_run_says_which_rule_it_was(edgeprobe, cloudflare, blocked):
    """`report RUN --fired` adds it to the refusal, in every format; a hostile description harms nobody."""
    name, rays = blocked
    rule = {"ruleId": "ab12", "description": "\x1b[2Jno \u202eAI bots"}
    cloudflare.events = {ray: [event(source="firewallCustom", ray=ray, **rule)] for ray in rays}
    done = edgeprobe("report", name, "--fired", "--zone", ZONE)
    assert done.code == 0
    shown = " ".join(done.out.split())
    assert 'block by custom rule, rule ab12, "' in shown
    assert done.out.replace("\n", "").isprintable()
    assert len(cloudflare.asked) == 1
    as_json = json.loads(edgeprobe("report", name, "--fired", "--zone", ZONE, "--json", "-").out)
    assert any("rule ab12" in (finding["detail"] or "") for finding in as_json["findings"])
    assert "rule ab12" not in edgeprobe("report", name).out


def test_a_run_whose_rule_is_not_found(edgeprobe, cloudflare, blocked):
    """It says that this proves nothing."""
    done = edgeprobe("report", blocked[0], "--fired", "--zone", ZONE)
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
    done = edgeprobe("report", blocked[0], "--fired", "--zone", ZONE)
    assert done.code == code
    assert "blocked.client" in done.out
    assert "edgeprobe: the firewall events were not read: " in done.err


def test_a_run_without_a_refusal(edgeprobe, cloudflare, at_lab):
    """Nothing is asked, and that is said."""
    run = json.loads(edgeprobe("run", "identity", *at_lab, "--client", "curl", "--json", "-").out)
    done = edgeprobe("report", run["id"], "--fired", "--zone", ZONE)
    assert (done.code, cloudflare.asked) == (0, [])
    assert "no refusal by Cloudflare in this run has a ray" in done.err


def test_no_more_rays_than_one_request_bears(edgeprobe, cloudflare, blocked, monkeypatch):
    """Of the findings beyond, nothing is said."""
    monkeypatch.setattr(fired, "MOST", 1)
    done = edgeprobe("report", blocked[0], "--fired", "--zone", ZONE)
    assert done.code == 0
    assert len(cloudflare.graphql[0]["variables"]) == 2


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
    done = edgeprobe("report", blocked[0], *words)
    assert (done.code, cloudflare.asked) == (2, [])
    assert said in done.err


def test_the_token_is_in_nothing_that_is_shown(edgeprobe, cloudflare, blocked):
    """Also where the API says it back."""
    for answer in ((403, JSON, errors(TOKEN)), (200, JSON, graphql_error(f"bad {TOKEN}"))):
        cloudflare.answers = [answer]
        done = edgeprobe("report", blocked[0], "--fired", "--zone", ZONE, "--json", "-")
        assert TOKEN not in done.out + done.err
