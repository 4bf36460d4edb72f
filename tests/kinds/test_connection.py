"""Connections to every address: which family, which address, whose certificate."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, CURL, answer, as_text, attributed, case, told
from exchanges import exchange

from probes.clients.dialer import BY_PROXY
from probes.kinds.connection import SLOW
from probes.model import (
    Call,
    Dial,
    Factor,
    Layer,
    NotSent,
    Reason,
    Timeline,
    Verdict,
    WhoActs,
    WireError,
    WireRequest,
    call_id,
)
from probes.runner import judge, worst

TLS = {"version": "TLSv1.3", "alpn": "h2", "issuer": "Let's Encrypt", "days_left": 60.0}
TRACE = "fl=1\nh=a.example\ncolo=FRA\n"


def dialled(family, address, *, connect=0.01, error=None, tls=TLS, **conditions):
    """One address as the dialer saw it; `error` is (kind, phase)."""
    made = exchange(None, error=error)
    shaken = connect is not None and tls is not None and error is None
    return attributed(
        replace(
            made,
            request=WireRequest("", "https://a.example", (), 0, None, None),
            timeline=Timeline(connect=connect, tls=connect + 0.02 if shaken else None, end=0.1),
            conditions={"family": family, "address": address, "tls": tls, **conditions},
        )
    )


def refused(family, address, kind="connect", **conditions):
    return dialled(family, address, connect=None, error=(kind, "connect"), tls=None, **conditions)


def found(v4, v6, trace="not found", *, clients=ALL):
    """What a host with these addresses is told to be; a callable is asked with the repeat."""
    asked, sent = case("connection", clients), []

    def send(planned):
        calls = []
        for trial, repeat in planned:
            name = call_id(asked, trial.label, repeat)
            sent.append(trial)
            if not isinstance(trial.request, Dial):
                last = answer(trace) if isinstance(trace, str) else trace
                calls.append(Call(name, asked.id, trial, repeat, (replace(last, id=f"{name}/0"),)))
                continue
            side = v4 if trial.request.family == 4 else v6
            side = side(repeat) if callable(side) else side
            if isinstance(side, NotSent):
                calls.append(Call(name, asked.id, trial, repeat, not_sent=side))
                continue
            numbered = tuple(replace(e, id=f"{name}/{n}") for n, e in enumerate(side))
            calls.append(Call(name, asked.id, trial, repeat, numbered, returned="" if numbered else BY_PROXY))
        return calls

    return judge(asked, send), sent


def test_both_families_answer():
    """Green names every address, its connect time, the certificate and the site that answers."""
    page = attributed(
        exchange(200, TRACE, {"content-type": "text/plain"}, url="https://a.example/cdn-cgi/trace")
    )
    (fine,), sent = found([dialled(4, "192.0.2.1")], [dialled(6, "2001:db8::1")], page)
    assert (fine.code, fine.verdict) == ("ok", Verdict.PASS)
    assert {name: (f.n, f.conditions["family"]) for name, f in fine.figures.items()} == {
        "connect_ipv4": (1, 4),
        "connect_ipv6": (1, 6),
    }
    assert all(word in fine.detail[0][1] for word in ("192.0.2.1 10 ms", "2001:db8::1", "h2", "60 days left"))
    assert fine.conditions["colo"] == "FRA"
    assert len(sent) == 3


@pytest.mark.parametrize("kind", ["connect", "timeout"])
def test_one_family_is_broken(kind):
    """Three pairs name the family; only a refusal says more than that something is lost on the way."""
    (broken,), sent = found([dialled(4, "192.0.2.1")], [refused(6, "2001:db8::1", kind)])
    assert (broken.code, broken.verdict, broken.factor) == ("unreachable.family", Verdict.FAIL, Factor.FAMILY)
    assert (broken.observed.k, broken.observed.n) == (3, 3)
    assert "IPv6" in broken.title
    assert broken.confidence == ("medium" if kind == "connect" else "low")
    assert len(sent) == 7


def test_a_broken_family_on_this_machine_alone():
    """Without a route of our own nothing is known of the host in that family, and nothing is claimed."""
    (fine,), _ = found([dialled(4, "192.0.2.1")], [refused(6, "2001:db8::1", no_route=True)])
    assert fine.verdict is Verdict.PASS
    assert "IPv6" in dict(fine.detail)["not tested"]


def test_a_broken_family_of_this_machine_is_a_warning():
    """`localhost` that listens in one family is no customer's trouble."""
    (broken, fine), _ = found([dialled(4, "127.0.0.1")], [refused(6, "::1")])
    assert (broken.code, broken.verdict) == ("unreachable.family", Verdict.WARN)
    assert fine.verdict is Verdict.PASS


def test_a_family_that_the_name_does_not_have():
    """No record is no fault."""
    (fine,), sent = found([dialled(4, "192.0.2.1")], [])
    assert fine.verdict is Verdict.PASS
    assert len(sent) == 3


def test_one_dead_address_of_two():
    """It is told with its rate although the other takes every connection."""
    (dead,), _ = found([refused(4, "192.0.2.1"), dialled(4, "192.0.2.2")], [])
    assert (dead.code, dead.verdict) == ("unreachable.connect", Verdict.FAIL)
    assert (dead.observed.k, dead.observed.n) == (3, 3)
    assert dead.title.startswith("1 of the host's 2 addresses")


def test_an_address_that_fails_now_and_then():
    """Once in three is a failure of the service, not a pass."""

    def side(repeat):
        return [refused(4, "192.0.2.1") if repeat == 0 else dialled(4, "192.0.2.1")]

    findings, _ = found(side, [dialled(6, "2001:db8::1")])
    assert [(f.code, f.observed.k, f.observed.n) for f in findings] == [("unreachable.connect", 1, 3)]


def test_nothing_takes_a_connection():
    """Told as it is, and not asked again."""
    findings, sent = found([refused(4, "192.0.2.1")], [refused(6, "2001:db8::1")], "no route")
    assert worst(findings) is Verdict.FAIL
    assert {f.code for f in findings} == {"unreachable.connect"}
    assert len(sent) == 3


def test_a_far_host():
    """Slower than some clients wait is a warning beside the green, by the quickest of three."""
    findings, _ = found([dialled(4, "192.0.2.1", connect=0.4)], [])
    slow, fine = findings
    assert (slow.code, slow.verdict, slow.figures["connect_ipv4"].value) == (
        "timeout.connect",
        Verdict.WARN,
        0.4,
    )
    assert fine.verdict is Verdict.PASS


def test_one_slow_connect_is_noise():
    """A packet was lost once."""

    def side(repeat):
        return [dialled(4, "192.0.2.1", connect=1.2 if repeat == 0 else SLOW / 2)]

    findings, _ = found(side, [])
    assert worst(findings) is Verdict.PASS


# --- certificates ----------------------------------------------------------------------------------------


def untrusted(system, issuer="Example Private CA"):
    trust = {"code": 20, "said": "unable to get local issuer certificate", "system": system}
    return dialled(4, "192.0.2.1", error=("tls", "tls"), tls={**TLS, "issuer": issuer}, trust=trust)


@pytest.mark.parametrize(
    "system, code, layer",
    [(True, "client.trust", Layer.CLIENT), (False, "unreachable.tls", Layer.TLS)],
    ids=["only our store", "no store"],
)
def test_a_certificate_that_is_not_trusted(system, code, layer):
    """Ours alone where the system's store knows it; else the host's, and the issuer is named."""
    (bad,), _ = found([untrusted(system)], [])
    assert (bad.code, bad.layer, bad.verdict) == (code, layer, Verdict.FAIL)
    assert "Example Private CA" in bad.detail[0][1]


NAMES = "Hostname mismatch, certificate is not valid for 'a.example'."


@pytest.mark.parametrize(
    ("said", "tls", "title", "seen"),
    [
        ("certificate has expired", {"days_left": -2.25}, "has expired", "certificate has expired 2.2 days ago"),
        (NAMES, {"names": ["b.example", "c.example"]}, "another name", "it is for b.example and c.example"),
        ("unable to get local issuer certificate", {}, "authority is not known", "does not know its authority, either"),
    ],
    ids=["expired", "another name", "unknown authority"],
)  # fmt: skip
def test_each_fault_of_a_certificate_is_told_apart(said, tls, title, seen):
    """By its title, what was seen of it and what is to be done; the store is spoken of where it is the matter."""
    bad = untrusted(False)
    conditions = bad.conditions | {"tls": {**TLS, **tls}, "trust": {"said": said, "system": False}}
    error = WireError("tls", "tls", f"certificate verify failed: {said} (_ssl.c:1006)")
    (told,), _ = found([attributed(replace(bad, error=error, conditions=conditions))], [])
    assert (told.code, told.who_acts) == ("unreachable.tls", WhoActs.OPERATOR)
    assert title in told.title
    assert seen in told.detail[0][1]
    assert ("store" in told.detail[0][1]) is (title == "authority is not known")
    assert "issuers" not in told.advice


@pytest.mark.parametrize("trusted", [True, False])
def test_something_reads_along(trusted):
    """The issuer's name is evidence whether its authority is trusted here or not."""
    name = "Zscaler Inc."
    seen = dialled(4, "192.0.2.1", tls={**TLS, "issuer": name}) if trusted else untrusted(False, name)
    (bad,), _ = found([seen], [])
    assert (bad.code, bad.layer, bad.product) == ("proxy.intercepts", Layer.PROXY, name)


@pytest.mark.parametrize(
    "days, codes", [(13.5, {"ok", "tls.expiring"}), (14.5, {"ok"}), (-1.0, {"ok", "tls.expiring"})]
)
def test_a_certificate_that_expires(days, codes):
    """Under 14 days is a warning beside the green."""
    findings, _ = found([dialled(4, "192.0.2.1", tls={**TLS, "days_left": days})], [])
    assert {f.code for f in findings} == codes
    assert worst(findings) is (Verdict.WARN if len(codes) > 1 else Verdict.PASS)


def test_a_handshake_that_is_reset():
    """Connected, then cut: not a matter of trust."""
    (bad,), _ = found([dialled(4, "192.0.2.1", error=("reset", "tls"), tls=None)], [])
    assert (bad.code, bad.verdict) == ("unreachable.reset", Verdict.FAIL)


# --- what cannot be dialled ------------------------------------------------------------------------------


def test_through_a_proxy():
    """The proxy chooses the address; an answer through it is all that is claimed."""
    (fine,), _ = found([], [], "good")
    assert (fine.code, fine.confidence) == ("ok", "low")
    findings, _ = found([], [], "no route")
    assert worst(findings) is Verdict.FAIL


def test_not_sent():
    """One side that was not sent leaves the case inconclusive, whatever the other says."""
    findings, _ = found(NotSent.BUDGET, NotSent.BUDGET)
    assert {f.reason for f in findings} == {Reason.BUDGET}
    findings, _ = found([refused(4, "192.0.2.1")], NotSent.BUDGET)
    assert worst(findings) is Verdict.INCONCLUSIVE


def test_the_trace_needs_a_client_that_sends_bytes(monkeypatch):
    """Curl does as well as httpx; without either the site is not asked for."""
    _, sent = found([dialled(4, "192.0.2.1")], [], clients=(CURL,))
    assert [trial.client for trial in sent if not isinstance(trial.request, Dial)] == ["curl"]
    _, sent = found([dialled(4, "192.0.2.1")], [], clients=(ALL[0],))
    assert all(isinstance(trial.request, Dial) for trial in sent)


def test_any_mind_at_all():
    """The answers of other kinds don't break it."""
    findings, _ = told(case("connection"), lambda _: "good")
    assert worst(findings) is Verdict.PASS, as_text(findings)


def test_a_proxy_that_reads_along_in_the_tunnel():
    """What is asked through it shows the certificate as well."""
    page = answer("not found")
    seen = replace(page, conditions={"proxy": True, "tls": {**TLS, "issuer": "Zscaler Inc."}})
    (bad,), _ = found([], [], seen)
    assert (bad.code, bad.layer, bad.product) == ("proxy.intercepts", Layer.PROXY, "Zscaler Inc.")


@pytest.mark.parametrize(
    "url, status, verdict",
    [
        ("http://a.example/cdn-cgi/trace", 404, Verdict.PASS),
        ("http://a.example/cdn-cgi/trace", 503, Verdict.INCONCLUSIVE),
        ("http://a.example/cdn-cgi/trace", 403, Verdict.INCONCLUSIVE),
        ("https://a.example/cdn-cgi/trace", 503, Verdict.PASS),
    ],
)
def test_what_may_be_the_proxys_own_answer(url, status, verdict):
    """Without TLS a proxy can refuse in the host's name, which is no sign of the host."""
    page = exchange(status, "<html><body>No</body></html>", {"content-type": "text/html"}, url=url)
    findings, _ = found([], [], attributed(replace(page, conditions={"proxy": True})))
    assert worst(findings) is verdict, as_text(findings)


def test_a_page_that_the_proxy_signed():
    """Then nothing was seen of the host at all."""
    page = exchange(
        403, "<html>", {"x-squid-error": "ERR_ACCESS_DENIED 0"}, url="http://a.example/cdn-cgi/trace"
    )
    (bad,), _ = found([], [], attributed(replace(page, conditions={"proxy": True})))
    assert (bad.code, bad.layer) == ("unreachable.connect", Layer.PROXY)
    assert bad.verdict is not Verdict.PASS
