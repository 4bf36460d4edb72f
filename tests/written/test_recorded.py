"""Is a recorded request written again as it went out?"""

import hashlib
from dataclasses import replace

import pytest
from labruns import lab_run

from probes.complaint import Told
from probes.model import Ask, Dial, EnvRef, Raw
from probes.redact import REDACTED
from probes.written import of_exchange

HEALTHY = "smoke"


def recorded(run):
    cases = {case.id: case for case in run.cases}
    return [(exchange, call, cases[call.case]) for call in run.calls for exchange in call.exchanges]


def test_every_request_of_a_suite_can_be_written_again():
    """Its body to the byte where the digest says so; by no client it is another JSON."""
    written = 0
    for exchange, call, case in recorded(lab_run("smoke")):
        told = of_exchange(exchange, call, case)
        if isinstance(call.trial.request, Dial):
            assert told is None
            continue
        assert isinstance(told, Told)
        assert told.url == exchange.request.url
        digest = f"sha256:{hashlib.sha256(told.body).hexdigest()}"
        assert exchange.request.body_digest in {digest, None} or told.notes
        assert REDACTED not in str(told.headers)
        written += digest == exchange.request.body_digest
    assert written > 5


def of_kind(request):
    return next(row for row in recorded(lab_run("smoke")) if request(row[1].trial.request))


def test_the_key_is_named_by_its_variable():
    """That of the target; one that was made up stands there, since it opens nothing."""
    own = of_exchange(*of_kind(lambda asked: isinstance(asked, Ask) and asked.key == "target"))
    made_up = of_exchange(*of_kind(lambda asked: isinstance(asked, Ask) and asked.key == "made_up"))
    said = {name.lower(): value for name, value in own.headers}
    assert said["authorization"] == "Bearer {env:EDGEPROBE_LAB_KEY}"
    assert "EDGEPROBE_LAB_KEY" in own.secrets
    said = {name.lower(): value for name, value in made_up.headers}
    assert said["authorization"].startswith("Bearer sk-EdgeprobeMadeUpKey0")


def test_what_was_taken_out_is_named_or_left_out():
    """A header of the route by its variable; of another nobody knows the value, and a note says so."""
    exchange, call, case = of_kind(lambda asked: isinstance(asked, Ask))
    headers = (("X-Bypass", REDACTED), ("Cookie", f"a={REDACTED}"), ("X-A", "1"))
    exchange = replace(exchange, request=replace(exchange.request, headers=headers))
    route = replace(case.target.routes["edge"], headers={"x-bypass": EnvRef("BYPASS")})
    told = of_exchange(exchange, call, replace(case, target=replace(case.target, routes={"edge": route})))
    assert told.headers == (("X-Bypass", "{env:BYPASS}"), ("X-A", "1"))
    assert told.notes == ("header Cookie: its value was taken out, and the header is left out",)
    assert "BYPASS" in told.secrets


RAW = Raw("POST", "/x", (("Authorization", "Bearer {env:MINE}"),), b"{env:MINE}", secrets=("MINE",))


@pytest.mark.parametrize(
    ("raw", "written"),
    [(RAW, True), (replace(RAW, body=REDACTED.encode(), secrets=()), False)],
    ids=["its variables", "a body that was taken out"],
)
def test_a_raw_request_keeps_its_variables(raw, written):
    """And is not written where a secret of nobody knows whom stood in its body."""
    exchange, call, case = of_kind(lambda asked: isinstance(asked, Ask))
    sent = replace(exchange.request, headers=(("Authorization", f"Bearer {REDACTED}"),), body_bytes=9)
    told = of_exchange(
        replace(exchange, request=sent), replace(call, trial=replace(call.trial, request=raw)), case
    )
    assert (told is not None) == written
    if told is not None:
        assert told.headers == RAW.headers
        assert told.body == RAW.body
        assert told.url.endswith("/x")
        assert "MINE" in told.secrets


@pytest.mark.parametrize(
    "url", ["http://[::1/", "http://host:99999999/", "file:///etc/passwd", "http:///x", "x"]
)
def test_what_a_redirect_named_that_is_no_url_is_not_written(url):
    """Rather than a program that does something else."""
    exchange, call, case = of_kind(lambda asked: isinstance(asked, Ask))
    assert of_exchange(replace(exchange, request=replace(exchange.request, url=url)), call, case) is None


ASKED = {
    "by a variable": ("Bearer {env:MINE}", "a={env:MINE}", "Bearer {env:MINE}", "a={env:MINE}", ("MINE",)),
    "a value that nobody kept": (
        f"Bearer {REDACTED}", f"a={REDACTED}", "{env:TAKEN_OUT_AUTHORIZATION}", "{env:TAKEN_OUT_COOKIE_2}",
        ("MINE", "TAKEN_OUT_AUTHORIZATION", "TAKEN_OUT_COOKIE_2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("key", "cookie", "said_key", "said_cookie", "needed"), ASKED.values(), ids=ASKED)
def test_what_was_asked_for_is_never_left_out(key, cookie, said_key, said_cookie, needed):
    """A header that was told is sent again, with a variable in the place of what is secret."""
    exchange, call, case = of_kind(lambda asked: isinstance(asked, Ask))
    raw = Raw("POST", "/x", (("Authorization", key), ("Cookie", cookie)), b"{}", secrets=("MINE",))
    wire = (("Authorization", f"Bearer {REDACTED}"), ("Cookie", f"a={REDACTED}"))
    sent = replace(exchange.request, headers=wire, body_bytes=2)
    told = of_exchange(
        replace(exchange, request=sent), replace(call, trial=replace(call.trial, request=raw)), case
    )
    assert told.headers == (("Authorization", said_key), ("Cookie", said_cookie))
    assert set(needed) <= set(told.secrets)
    assert told.notes == ()
