"""Is a change of a real nginx noticed from outside, and the right trait blamed?"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import trustme
from servers import nginx, program, reload_nginx

from probes import lab
from probes.canary import Mark
from probes.change.differences import Outcome, compared, differences
from probes.change.fingerprint import fingerprint
from probes.change.gate import Gate
from probes.change.told import findings
from probes.clock import Clock
from probes.comparison import Side
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.model import Confidence, Layer, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from probes.model import Finding, Run

pytestmark = [pytest.mark.real, pytest.mark.realtime]
CODE = "regression.fingerprint"
OPEN = "proxy_http_version 1.1; proxy_buffering off;"
SUITE = """
version: 1
name: look
cases:
  - {kind: identity, clients: genuine, with: {patience: 60}}
  - {kind: completion, clients: genuine, with: {patience: 60}}
  - {kind: streaming, clients: genuine, with: {patience: 60}}
"""
SMALL = """
version: 1
name: small
cases:
  - {kind: completion, clients: [openai-py, httpx, curl], with: {patience: 60}}
  - {kind: streaming, clients: [openai-py, httpx, curl], with: {patience: 60}}
"""
BUFFERING = (
    "version: 1\nname: held\ncases:\n  - {kind: buffering, clients: [openai-py], with: {tokens: 160}}\n"
)
LENGTH = (
    "version: 1\nname: long\ncases:\n  - {kind: length, clients: [openai-py], with: {hold: 3, tokens: 250}}\n"
)
REFUSED = ("client", "let in → refused with 403 by nginx")
GZIP = "gzip on; gzip_proxied any; gzip_min_length 1; gzip_types text/event-stream;"


@pytest.fixture
def origin() -> Iterator[str]:
    """A healthy keyless API, in real time; as host:port."""
    program("curl")
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.02) as running:
        yield f"127.0.0.1:{running.origin.server.port}"


@dataclass
class Looker:
    """Runs a suite against an edge, as often as it is asked to."""

    folder: Path

    def __call__(self, base_url: str, suite: str = SUITE, **settings: str) -> Run:
        file = self.folder / "suite.yaml"
        file.write_text(suite)
        target = target_from_flags(base_url, "openai", lab.MODEL, no_key=True, env_proxy=False)
        return conduct(
            Order((str(file),), target, overrides=settings or None, seed=7), Secrets(dict(os.environ))
        )


@pytest.fixture
def look(tmp_path) -> Looker:
    return Looker(tmp_path)


def told(before: Run, after: Run, *marks: Mark) -> list[Finding]:
    return list(findings(compared(fingerprint([before]), fingerprint([after])), "look/baseline", marks))


def gated(before: Run, after: Run) -> dict[str, Finding]:
    """What the gate says got worse, by its code."""
    side = Side(before.id, (before.id,), before.started, before.finished, before.target.name)
    found = Gate(side, [before], 0.2)(after)
    return {one.code: one for one in found if one.code.startswith("regression.")}


def changes(before: Run, after: Run) -> set[tuple[str, str]]:
    """(Trait, before → after) of each, with nginx's version left out."""
    found = differences(fingerprint([before]), fingerprint([after]))
    return {
        (
            change.of,
            re.sub(r"[\d.]{5,}", "N", f"{','.join(change.before.values)} → {','.join(change.after.values)}"),
        )
        for change in found
    }


def test_a_reload_that_changes_nothing_is_silent(look, origin, tmp_path):
    """Every trait is as before, and was looked at."""
    with nginx(tmp_path, origin, reloads=True) as base_url:
        before = look(base_url)
        reload_nginx(tmp_path, base_url, origin)
        after = look(base_url)
    assert gated(before, after) == {}
    [found] = told(before, after)
    assert (found.code, found.verdict, found.title) == ("ok", Verdict.PASS, "The edge looks as before"), found
    for trait in (
        "headers",
        "client",
        "content-encoding",
        "framing",
        "HTTP version",
        "products on the way",
    ):
        assert trait in found.detail[0][1], trait


@pytest.mark.timeout(300)
def test_thirty_looks_at_one_edge_are_alike(look, origin, tmp_path):
    """One by one and as two halves: what differs from answer to answer is no change."""
    with nginx(tmp_path, origin, "add_header X-Trace $request_id;", reloads=True) as base_url:
        runs = [look(base_url, SMALL) for _ in range(30)]
    for before, after in pairwise(runs):
        assert changes(before, after) == set()
    halves = fingerprint(runs[::2]), fingerprint(runs[1::2])
    assert differences(*halves) == ()
    assert any(change.outcome is Outcome.SAME for change in compared(*halves))


@pytest.mark.parametrize(
    "rules, changed, whose, title",
    [
        pytest.param(
            "if ($http_user_agent ~* openai) { return 403; }",
            {REFUSED},
            (Layer.EDGE, "nginx"),
            "openai-py, openai-py-aiohttp, openai-py-async are refused with 403 by nginx",
            id="a user-agent rule",
        ),
        pytest.param(
            GZIP,
            {("content-encoding", "none → gzip")},
            (Layer.UNKNOWN, None),
            "Event streams of chat/completions come compressed with gzip",
            id="gzip of event streams",
        ),
        pytest.param(
            "add_header X-Edge-Rule 7 always;",
            {("header x-edge-rule", " → there")},
            (Layer.UNKNOWN, None),
            "The header x-edge-rule is new",
            id="a header more",
        ),
        pytest.param(
            "server_tokens off;",
            {("header server", "nginx/N → nginx")},
            (Layer.EDGE, "nginx"),
            "The header server went from nginx/",
            id="another server header",
        ),
        pytest.param(
            f"server_tokens off; {GZIP} gzip_vary on;",
            {
                ("header server", "nginx/N → nginx"),
                ("content-encoding", "none → gzip"),
                ("header vary", " → Accept-Encoding"),
            },
            (Layer.EDGE, "nginx"),
            "Event streams of chat/completions come compressed with gzip",
            id="three at once are one finding",
        ),
    ],
)
def test_a_change_is_noticed_and_named(look, origin, tmp_path, rules, changed, whose, title):
    """What was changed in the configuration is what is said to have changed, and nothing else is."""
    with nginx(tmp_path, origin, reloads=True) as base_url:
        before = look(base_url)
        reload_nginx(tmp_path, base_url, origin, rules)
        after = look(base_url)
    assert changes(before, after) == changed
    worse = gated(before, after)
    blamed = "regression.outcome" if changed == {REFUSED} else CODE
    assert set(worse) == {blamed}
    assert (worse[blamed].layer, worse[blamed].product) == whose
    [found] = told(before, after)
    assert (found.code, found.verdict, found.confidence) == (CODE, Verdict.WARN, Confidence.MEDIUM)
    assert (found.layer, found.product) == whose
    assert found.title.startswith(title)
    assert f"seen since {after.started:%Y-%m-%d %H:%M}" in found.title
    marked = Mark(after.started - timedelta(seconds=1), "new rules", author="ann")
    [meant] = told(before, after, marked)
    assert (meant.code, meant.verdict) == ("ok", Verdict.PASS)
    assert any("new rules" in text and "by ann" in text for _, text in meant.detail)
    [unmeant] = told(before, after, replace(marked, at=before.started - timedelta(days=1)))
    assert unmeant.verdict is Verdict.WARN


def test_another_issuer_is_noticed_and_a_renewal_is_not(look, origin, tmp_path, monkeypatch):
    """A new certificate by the same authority looks as before; one by another is a change of TLS."""
    first, second = (trustme.CA(organization_name=name) for name in ("First Authority", "Second Authority"))
    files = [tmp_path / f"{number}.pem" for number in range(3)]
    for authority, file in zip((first, first, second), files, strict=True):
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    trusted = tmp_path / "authorities.pem"
    trusted.write_bytes(first.cert_pem.bytes() + second.cert_pem.bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    for stronger in ("SSL_CERT_DIR", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(stronger, raising=False)
    with nginx(tmp_path, origin, reloads=True, certificate=files[0]) as base_url:
        before = look(base_url)
        reload_nginx(tmp_path, base_url, origin, certificate=files[1])
        renewed = look(base_url)
        reload_nginx(tmp_path, base_url, origin, certificate=files[2])
        after = look(base_url)
    assert changes(before, renewed) == set()
    assert gated(before, renewed) == {}
    assert gated(renewed, after)[CODE].layer is Layer.TLS
    assert changes(renewed, after) == {("certificate issuer", "First Authority → Second Authority")}
    [found] = told(renewed, after)
    assert (found.code, found.layer) == (CODE, Layer.TLS)
    assert found.title.startswith(
        "The certificate comes from Second Authority, no longer from First Authority"
    )


def test_buffering_is_noticed(look, tmp_path):
    """As nginx comes, with buffers and HTTP/1.0 to the origin, streams are held back."""
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.02) as running:
        upstream = f"127.0.0.1:{running.origin.server.port}"
        with nginx(tmp_path, upstream, reloads=True) as base_url:
            before = look(base_url, BUFFERING)
            reload_nginx(tmp_path, base_url, upstream, proxy="proxy_buffering on; proxy_http_version 1.0;")
            after = look(base_url, BUFFERING)
    assert gated(before, after)
    assert ("stream delivery", "as it is made → held back") in changes(before, after)
    [found] = told(before, after)
    assert (found.code, found.verdict) == (CODE, Verdict.WARN)
    assert found.title.startswith("Streams are held back")


def test_another_timer_is_noticed(look, tmp_path):
    """Its two cutoffs, and whose they are."""
    with lab.serve(clock=Clock(), keys=None, prefill=0.02, tpot=0.02) as running:
        upstream = f"127.0.0.1:{running.origin.server.port}"
        runs = []
        with nginx(tmp_path, upstream, reloads=True) as base_url:
            for seconds in (2, 1):
                timer = f"{OPEN} proxy_read_timeout {seconds}s;"
                reload_nginx(tmp_path, base_url, upstream, proxy=timer)
                runs.append(look(base_url, LENGTH))
    assert set(gated(*runs)) == {"regression.cutoff"}, [f.title for f in gated(*runs).values()]
    assert gated(*runs)["regression.cutoff"].product == "nginx"
    [found] = told(*runs)
    assert (found.code, found.layer, found.product) == (CODE, Layer.EDGE, "nginx")
    assert found.title.startswith("The cutoff of long answers went from 2.0 s to 1.0 s")
