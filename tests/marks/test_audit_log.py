"""What the CDN's audit log says becomes marks: which entries, in what words, and what is said where it can't be read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cloudflare_stand_in import ACCOUNT, JSON, TOKEN, ZONE, entry, errors, standing_in

from probes.canary import Mark
from probes.marks import cloudflare_api
from probes.marks.audit_log import marks_since
from probes.marks.cloudflare_api import Api

SINCE, BEFORE = datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
AT = datetime(2026, 11, 30, 14, 5, tzinfo=UTC)


def imported(stand_in, **more):
    return marks_since(stand_in.api, ACCOUNT, SINCE, BEFORE, **more)


def zone(path):
    return f"/zones/{ZONE}/{path}"


SAID = {
    "one setting": (
        entry(request={"ai_bots_protection": "block"}),
        "bot_management.ai_bots_protection → block on example.com",
    ),
    "several": (
        entry(request={"fight_mode": True, "ai_bots_protection": "block", "n": 3, "m": None, "o": 1.5}),
        "bot_management: fight_mode → true, ai_bots_protection → block, n → 3 and 2 more on example.com",
    ),
    "a setting that the path names": (
        entry("zone_settings", {"value": "on"}, uri=zone("settings/browser_check?x=1")),
        "zone_settings.browser_check → on on example.com",
    ),
    "settings together": (
        entry(
            "zone_settings", {"items": [{"id": "security_level", "value": "high"}, {"id": "proxy_read_timeout", "value": "100"}]},
            uri=zone("settings"),
        ),
        "zone_settings: security_level → high, proxy_read_timeout → 100 on example.com",
    ),
    "created": (
        entry("dns_records", {"type": "A", "name": "api", "proxied": True}, action="create", uri=zone("dns_records")),
        "dns_records created: type → A, name → api, proxied → true on example.com",
    ),
    "deleted": (
        entry("rulesets", None, action="delete", uri=zone("rulesets/ab/rules/cd"),
              action_={}, resource={"id": "cd", "product": "rulesets"}),
        "rulesets deleted: cd on example.com",
    ),
    "of the account": (entry("rulesets", {"enabled": False}, uri=f"/accounts/{ACCOUNT}/rulesets", zone=None), "rulesets.enabled → false"),
    "what is nested is counted": (
        entry("rulesets", {"rules": [{"expression": "true"}], "meta": {"a": 1}}, uri=zone("rulesets/ab")),
        "rulesets: rules → 1 entry, meta → {…} on example.com",
    ),
    "nothing asked": (
        entry("rulesets", None, uri=zone("rulesets/ab"), resource={"id": "ab", "product": "rulesets"}),
        "rulesets updated: ab on example.com",
    ),
    "the zone itself": (entry("zones", {"paused": True}, uri=f"/zones/{ZONE}"), "zones.paused → true on example.com"),
    "a product nobody knows": (
        entry("novel_thing", {"x": "y"}, uri=zone("novel_thing"), resource={"id": "n1", "product": "novel_thing", "request": {"x": "y"}}),
        "novel_thing updated: n1 on example.com",
    ),
    "only its type": (
        entry(uri=zone("x"), resource={"type": "firewall", "request": {"paused": True}}),
        "firewall.paused → true on example.com",
    ),
    "result by its status": (entry(request={"a": "b"}, result=None), "bot_management.a → b on example.com"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "text"), SAID.values(), ids=SAID)
def test_what_is_said(cloudflare, row, text):
    """What became of which setting, in the log's own names."""
    cloudflare.log = [row]
    found = imported(cloudflare)
    assert [(mark.at, mark.text) for mark in found.marks] == [(AT, text)]
    assert (found.read, found.unreadable, found.fault) == (1, 0, None)


def test_the_whole_of_a_mark(cloudflare):
    """Who, when, which product and setting; of the target it is imported for."""
    cloudflare.log = [entry(request={"fight_mode": True, "ai_bots_protection": "block"})]
    assert imported(cloudflare, target="prod").marks == (
        Mark(
            AT,
            "bot_management: fight_mode → true, ai_bots_protection → block on example.com",
            "cloudflare audit log",
            "ops@example.com",
            "bot_management",
            "fight_mode, ai_bots_protection",
            "prod",
        ),
    )


AUTHORS = {
    "person": ({"email": "ops@example.com", "type": "user"}, "ops@example.com"),
    "person's token": (
        {"email": "ops@example.com", "token_name": "ci"},
        "ops@example.com, token ci",
    ),
    "token": ({"token_name": "terraform", "type": "account"}, "token terraform"),
    "Cloudflare": ({"type": "system"}, "system"),
    "nobody": ({}, None),
    "no object": ("root", None),
}


@pytest.mark.parametrize(("actor", "author"), AUTHORS.values(), ids=AUTHORS)
def test_who_it_was(cloudflare, actor, author):
    """The person where one is named, else the token, else what kind of actor."""
    cloudflare.log = [entry(request={"a": "b"}, actor=actor)]
    assert [mark.author for mark in imported(cloudflare).marks] == [author]


LEFT = {
    "failed": entry(request={"a": "b"}, result="failure"),
    "failed by its status": entry(request={"a": "b"}, result=None, raw={"status_code": 403}),
    "nobody knows whether": entry(request={"a": "b"}, result=None, raw={}),
    "looked at": entry(request={"a": "b"}, action="view"),
    "no action": entry(action={}),
    "an action of another shape": entry() | {"action": "update"},
}


@pytest.mark.parametrize("row", LEFT.values(), ids=LEFT)
def test_what_is_no_change(cloudflare, row):
    """What failed or only looked is not even counted."""
    cloudflare.log = [row]
    found = imported(cloudflare)
    assert (found.marks, found.read) == ((), 0)


BESIDE = {
    "member": ("members", f"/accounts/{ACCOUNT}/members"),
    "token": ("api_tokens", "/user/tokens"),
    "in words": ("Account Members", f"/accounts/{ACCOUNT}/members/ab"),
    "bill": ("billing", f"/accounts/{ACCOUNT}/billing/profile"),
    "logs": ("logpush", zone("logpush/jobs")),
    "alerts": ("alerting", f"/accounts/{ACCOUNT}/alerting/v3/policies"),
    "storage": ("r2", f"/accounts/{ACCOUNT}/r2/buckets"),
}


@pytest.mark.parametrize(("product", "uri"), BESIDE.values(), ids=BESIDE)
def test_what_no_request_passes(cloudflare, product, uri):
    """Counted by its product, and no mark."""
    cloudflare.log = [entry(product, {"a": "b"}, uri=uri)]
    found = imported(cloudflare)
    assert (found.marks, found.beside, found.read) == ((), {product: 1}, 1)


EDGE = {
    "rulesets": zone("rulesets/phases/http_request_firewall_custom/entrypoint"),
    "Load Balancers": zone("load_balancers/ab"),
    "workers": f"/accounts/{ACCOUNT}/workers/scripts/api",
    "Page Rules": zone("pagerules/ab"),
    "cache": zone("cache/tiered_caching"),
    "token_validation": zone("token_validation/rules"),
    "user_agent_blocking": zone("firewall/ua_rules"),
    "User Agent Blocking": "",
    "keyless_certificates": "",
    "IP Access Rules": "",
    "custom_pages": "",
    "Zone Settings": "",
    "": zone("dns_records/ab"),
}


@pytest.mark.parametrize(("product", "uri"), EDGE.items(), ids=[product or "none" for product in EDGE])
def test_what_requests_pass(cloudflare, product, uri):
    """By the path or the product: a mark that tells values."""
    cloudflare.log = [entry(product, {"a": "b"}, uri=f"/client/v4{uri}", resource={
        "product": product, "type": "rule", "request": {"a": "b"},
    })]  # fmt: skip
    [mark] = imported(cloudflare).marks
    assert ".a → b" in mark.text


@pytest.mark.parametrize(
    ("asked", "texts"),
    [("example.com", 2), ("EXAMPLE.com.", 2), (ZONE, 2), ("example.org", 2), ("example.net", 1), (None, 3)],
)
def test_of_one_zone(cloudflare, asked, texts):
    """By its name or id; what belongs to the account is of every zone, and other zones are counted."""
    other = entry(request={"b": "c"}, zone="example.org")
    other["zone"]["id"] = ACCOUNT
    whole = entry("rulesets", {"c": "d"}, uri=f"/accounts/{ACCOUNT}/rulesets", zone=None)
    cloudflare.log = [entry(request={"a": "b"}), other, whole]
    found = imported(cloudflare, zone=asked)
    assert len(found.marks) == texts
    assert sum(found.other_zones.values()) == 3 - texts


# --- pages -----------------------------------------------------------------------------------------------


def many(n):
    return [entry(request={"a": str(n)}, at=f"2026-11-30T14:{n:02}:00Z") for n in reversed(range(n))]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_every_page(cloudflare, n):
    """All of it, in the order of time, asked for once each with the window and without what isn't wanted."""
    cloudflare.log = many(n)
    found = imported(cloudflare)
    assert [mark.text for mark in found.marks] == [f"bot_management.a → {i} on example.com" for i in range(n)]
    assert len(cloudflare.asked) == max(1, -(-n // 2))
    first = cloudflare.asked[0]
    assert first["since"] == ["2026-11-30T00:00:00Z"]
    assert first["before"] == ["2026-12-01T00:00:00Z"]
    assert (first["action_result.not"], first["action_type.not"]) == (["failure"], ["view"])
    assert [page.get("cursor") for page in cloudflare.asked] == [
        None,
        *([str(i)] for i in range(2, max(n, 1), 2)),
    ]


def test_the_other_form_of_a_cursor(cloudflare):
    """`result_info.cursors.after`, which the library knows, leads on, too."""
    page = {"success": True, "result": many(1), "result_info": {"cursors": {"after": "0"}}}
    cloudflare.log = many(2)
    cloudflare.answers = [(200, JSON, page)]
    assert len(imported(cloudflare).marks) == 2
    assert len(cloudflare.asked) == 2


def test_the_same_marks_each_time(cloudflare):
    """However the pages fall."""
    cloudflare.log = many(5)
    first = imported(cloudflare).marks
    cloudflare.page = 3
    assert imported(cloudflare).marks == first


# --- what goes wrong -------------------------------------------------------------------------------------

BROKEN = {
    "no permission": (
        (403, JSON, errors("Unauthorized to access requested resource")),
        r"403, the token may not read this: it needs Account Settings: Read \(Unauthorized to access",
        True,
    ),
    "no token": ((401, JSON, errors("Invalid API Token")), r"401, the token is not taken \(Invalid API Token\)", True),
    "no account": ((404, JSON, errors()), "404, there is no such account", True),
    "refused": ((400, JSON, errors("since is too old")), r"400, the request is refused \(since is too old\)", True),
    "too many": (
        (429, JSON | {"retry-after": "37"}, errors("slow down")),
        r"429, too many requests; it asks to wait 37 s \(slow down\)",
        False,
    ),
    "too many, no hint": ((429, JSON, b""), "429, too many requests$", False),
    "down": ((503, {"content-type": "text/html"}, b"<html>down</html>"), "^503$", False),
    "an error under 200": ((200, JSON, errors("not today")), "^not today$", False),
    "an error that says nothing": ((200, JSON, {"success": False}), "says that it failed", False),
    "no JSON": ((200, JSON, b"<html>"), "no JSON object", False),
    "a list": ((200, JSON, []), "no JSON object", False),
    "too deep": ((200, JSON, b"[" * 200_000), "no JSON object", False),
    "another object": ((200, JSON, {"hello": 1}), "none of an audit log", False),
    "a result of another shape": ((200, JSON, {"success": True, "result": {"a": 1}}), "none of an audit log", False),
    "cut off": ((200, JSON | {"content-length": "999"}, b'{"result": ['), "no connection, or no whole answer", False),
    "an encoding that is none": ((200, JSON | {"content-encoding": "gzip"}, b"x"), "no JSON object", False),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "why", "mistake"), BROKEN.values(), ids=BROKEN)
def test_what_is_said_where_it_cannot_be_read(cloudflare, answer, why, mistake):
    """Asked once, told why, and whose move it is."""
    cloudflare.answers = [answer]
    found = imported(cloudflare)
    assert found.marks == ()
    with pytest.raises(cloudflare_api.Unread, match=why) as met:
        raise found.fault
    assert met.value.mistake is mistake
    assert len(cloudflare.asked) == 1


@pytest.mark.parametrize(("answer", "why", "mistake"), BROKEN.values(), ids=BROKEN)
def test_what_was_read_is_kept(cloudflare, answer, why, mistake):
    """When it breaks at the second page, the first is there, and so is why the rest isn't."""
    cloudflare.log = many(4)
    page = {"success": True, "result": many(4)[:2], "result_info": {"cursor": "2"}}
    cloudflare.answers = [(200, JSON, page), answer]
    found = imported(cloudflare)
    assert len(found.marks) == 2
    assert found.fault is not None


def test_silence(cloudflare, monkeypatch):
    """It ends by the time limit."""
    monkeypatch.setattr(cloudflare_api, "TIMEOUT", 0.3)
    cloudflare.answers = [None]
    with Api(TOKEN, cloudflare.base_url) as api:
        found = marks_since(api, ACCOUNT, SINCE, BEFORE)
    assert "no answer within 0.3 s" in str(found.fault)
    assert len(cloudflare.asked) == 1


def test_nobody_there():
    """A port that refuses is told as that."""
    with standing_in() as gone:
        pass
    with Api(TOKEN, gone.base_url) as api:
        assert "no connection" in str(marks_since(api, ACCOUNT, SINCE, BEFORE).fault)


def test_pages_that_go_in_circles(cloudflare):
    """They end."""
    page = {"success": True, "result": many(1), "result_info": {"cursor": "again"}}
    cloudflare.answers = [(200, JSON, page)] * 10
    found = imported(cloudflare)
    assert "in circles" in str(found.fault)
    assert len(found.marks) == 1
    assert len(cloudflare.asked) == 2


def test_pages_without_an_end(cloudflare, monkeypatch):
    """They end, with what to ask for instead."""
    monkeypatch.setattr(cloudflare_api, "MOST_PAGES", 3)
    cloudflare.log = many(20)
    found = imported(cloudflare)
    assert "ask for less" in str(found.fault)
    assert len(found.marks) == 6


def test_another_credential_in_the_environment(cloudflare, monkeypatch):
    """The token is what is sent, and nothing else: the library would put an e-mail or a global key in its place."""
    for name in ("CLOUDFLARE_EMAIL", "CLOUDFLARE_API_KEY", "CLOUDFLARE_API_USER_SERVICE_KEY"):
        monkeypatch.setenv(name, "another-credential")
    with Api(TOKEN, cloudflare.base_url) as api:
        assert marks_since(api, ACCOUNT, SINCE, BEFORE).fault is None
    assert cloudflare.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert "another-credential" not in str(cloudflare.headers)


# --- a log that means harm -------------------------------------------------------------------------------

HOSTILE = "\x1b[2J\u202e\r\n::error::\x00 <script>" + "x" * 5000
SHAPES = [None, 7, "text", [], {}, [None], {"a": None}, True, 1e308]


def texts(mark):
    return [mark.text, mark.author or "", mark.product or "", mark.setting or ""]


def test_hostile_text(cloudflare):
    """What it says in any place is one harmless line of bounded length."""
    row = entry(HOSTILE, {HOSTILE: HOSTILE}, zone=HOSTILE, actor={"email": HOSTILE, "token_name": HOSTILE})
    row["action"]["description"] = HOSTILE
    cloudflare.log = [row, entry("rulesets", {"description": HOSTILE, HOSTILE: 1})]
    for mark in imported(cloudflare).marks:
        for text in texts(mark):
            assert text.isprintable()
            assert len(text) <= 300


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("place", ["action", "actor", "raw", "resource", "zone", "id"])
def test_any_shape_in_any_place(cloudflare, place, shape):
    """Never an exception, and never a mark without a time."""
    broken = entry(request={"a": "b"}) | {place: shape}
    inside = entry(request={"a": "b"})
    if isinstance(inside[place], dict):
        inside[place] = dict.fromkeys(inside[place], shape)
    cloudflare.log = [broken, inside, shape, entry(request=shape, uri=zone("rulesets"))]
    cloudflare.page = 9
    found = imported(cloudflare)
    assert found.fault is None
    assert all(mark.at == AT for mark in found.marks)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_any_shape_of_a_value(cloudflare, shape):
    """Also under the name of a secret, and where one setting's value stands."""
    asked = [
        {"auth": shape, "x": shape},
        {"value": shape},
        {"id": shape, "value": shape},
        {"items": shape},
        [{"a": shape}],
    ]
    cloudflare.log = [entry("settings", request, uri=zone("settings")) for request in asked]
    cloudflare.page = 9
    found = imported(cloudflare)
    assert (found.fault, found.read) == (None, 5)


TIMES = {"none": None, "no time": "soon", "too far": "0001-01-01T00:00:00+14:00", "number": 1764511500}


@pytest.mark.parametrize("at", TIMES.values(), ids=TIMES)
def test_without_a_time(cloudflare, at):
    """It is counted as what it is."""
    cloudflare.log = [entry(request={"a": "b"}, at=at)]
    found = imported(cloudflare)
    assert (found.marks, found.read, found.unreadable) == ((), 1, 1)


SWITCHES = {
    "truth": (True, "true"),
    "on": ("on", "on"),
    "a word": ("hunter2", "[redacted]"),
    "number": (1234, "[redacted]"),
    "a list": ([1], "[redacted]"),
}


@pytest.mark.parametrize(("value", "told"), SWITCHES.values(), ids=SWITCHES)
def test_a_switch_is_no_secret(cloudflare, value, told):
    """Also of a setting whose name sounds like one."""
    cloudflare.log = [entry("settings", {"value": value}, uri=zone("settings/tls_client_auth"))]
    [mark] = imported(cloudflare).marks
    assert mark.text == f"settings.tls_client_auth → {told} on example.com"


SECRET = "s3cr3t-of-the-origin"
SECRETS = {
    "by its name": entry("tunnel", {"tunnel_secret": SECRET}, uri=zone("tunnel")),
    "of a Worker": entry(
        "workers",
        {"name": "KEY", "text": SECRET},
        uri=f"/accounts/{ACCOUNT}/workers/scripts/a/secrets",
    ),
    "in an expression": entry(
        "rulesets",
        {"expression": f'http.request.headers["x-pass"][0] eq "{SECRET}"'},
        uri=zone("rulesets"),
    ),
    "in a header that a rule sets": entry(
        "rulesets",
        {"action_parameters": {"headers": {"X-Pass": {"value": SECRET}}}},
        uri=zone("rulesets"),
    ),
    "in a list": entry(
        "rulesets", {"rules": [{"expression": f'http.cookie contains "{SECRET}"'}]}, uri=zone("rulesets")
    ),
    "of a product nobody knows": entry("novel", {"x": SECRET}, uri=zone("novel")),
    "shaped as a key": entry(
        "rulesets", {"description": "sk-" + "A1" * 16 + " " + "Bearer " + "a1b2" * 8}, uri=zone("rulesets")
    ),
}


@pytest.mark.parametrize("row", SECRETS.values(), ids=SECRETS)
def test_no_secret_becomes_a_mark(cloudflare, row):
    """A mark goes to everybody who gets alerts; the log is for few."""
    cloudflare.log = [row]
    [mark] = imported(cloudflare).marks
    assert SECRET not in str(mark)
    assert "A1A1A1" not in str(mark)
    assert "a1b2a1b2" not in str(mark)


def test_an_api_that_says_the_token(cloudflare):
    """The token is in no text that is shown."""
    cloudflare.answers = [(403, JSON, errors(f"no rights for {TOKEN}"))]
    found = imported(cloudflare)
    assert "no rights for" in str(found.fault)
    assert TOKEN not in str(found.fault)
