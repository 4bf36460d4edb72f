"""Is every finding code explained, with somebody's move?"""

from __future__ import annotations

import pytest

from probes.errors import UsageError
from probes.model import Verdict
from probes.vocabulary import explain, vocabulary

CODES = [
    "ok",
    "blocked.client",
    "blocked.content",
    "blocked.size",
    "blocked.source",
    "blocked",
    "challenged",
    "ratelimited",
    "ratelimited.no_hint",
    "ratelimited.bad_hint",
    "quota.exhausted",
    "overloaded",
    "size.rejected",
    "headers.rejected",
    "lost_in_burst",
    "timeout.first_byte",
    "timeout.idle",
    "timeout.total",
    "timeout.upload",
    "timeout.connect",
    "slo.missed",
    "unreachable.dns",
    "unreachable.connect",
    "unreachable.family",
    "unreachable.tls",
    "unreachable.reset",
    "response.malformed",
    "response.headers_too_large",
    "unreachable.origin",
    "connection.stale",
    "tls.expiring",
    "redirected",
    "wrong_base_url",
    "stream.truncated",
    "stream.masked",
    "stream.buffered",
    "stream.stalled",
    "stream.malformed",
    "stream.error_event",
    "stream.corrupted",
    "stream.content_type",
    "stream.compressed",
    "stream.no_usage",
    "stream.usage_differs",
    "stream.usage_wrong",
    "stream.no_end",
    "stream.sdk_unsafe",
    "body.html",
    "body.empty",
    "body.not_json",
    "body.error_in_200",
    "body.shape",
    "body.encoding",
    "body.early_200",
    "request.encoding",
    "auth.rejected",
    "auth.in_front",
    "auth.open",
    "model.not_found",
    "models.unlisted",
    "request.rejected",
    "server.error",
    "error.replaced",
    "cache.off",
    "cache.partial",
    "cache.unreported",
    "cache.unstable_prefix",
    "cache.slow_hit",
    "cached.private",
    "regression.outcome",
    "regression.latency",
    "regression.cutoff",
    "regression.cache",
    "regression.fingerprint",
    "client.guard",
    "client.timeout",
    "client.parser",
    "client.versions",
    "client.trust",
    "proxy.intercepts",
    "retry.amplified",
    "routed.uneven",
    "leak.internal_address",
    "leak.secret_in_clear",
    "leak.secret_echoed",
    "probe.blocked",
    "probe.bug",
    "probe.tainted",
    "not_measured",
    "not_told",
    "acceptance.expired",
    "acceptance.unused",
    "usage.over_cap",
]
WARN = {
    "acceptance.expired",
    "acceptance.unused",
    "usage.over_cap",
    "body.early_200",
    "stream.sdk_unsafe",
    "client.parser",
    "client.versions",
    "stream.no_usage",
    "stream.usage_differs",
    "stream.usage_wrong",
    "stream.no_end",
    "models.unlisted",
    "slo.missed",
    "tls.expiring",
    "leak.internal_address",
    "routed.uneven",
    "cache.off",
    "cache.partial",
    "cache.unreported",
    "cache.unstable_prefix",
    "cache.slow_hit",
    "regression.fingerprint",
}
INCONCLUSIVE = {
    "ratelimited",
    "ratelimited.no_hint",
    "ratelimited.bad_hint",
    "quota.exhausted",
    "overloaded",
    "probe.blocked",
    "probe.bug",
    "probe.tainted",
    "not_measured",
    "not_told",
}


def test_every_code_of_the_contract_is_there():
    """The vocabulary is the contract's, no code more or less."""
    assert sorted(vocabulary()) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_default_verdict(code: str):
    """The default is fail, but for the codes that the contract lists as milder."""
    expected = (
        Verdict.PASS
        if code == "ok"
        else Verdict.WARN
        if code in WARN
        else Verdict.INCONCLUSIVE
        if code in INCONCLUSIVE
        else Verdict.FAIL
    )
    assert vocabulary()[code].verdict is expected


@pytest.mark.parametrize("code", CODES)
def test_every_code_says_what_to_do(code: str):
    """No finding without a title, a meaning and an instruction of one sentence."""
    row = vocabulary()[code]
    assert row.title
    assert not row.title.endswith(".")
    assert row.meaning.strip().endswith(".")
    assert row.advice.endswith(".")
    assert ". " not in row.advice


@pytest.mark.parametrize("code", CODES)
def test_explain_tells_all(code: str):
    """`explain` shows title, meaning, verdict, whose move and what to do, within 80 columns."""
    text, row = explain(code), vocabulary()[code]
    flat = " ".join(text.split())
    for part in (row.title, row.meaning, row.advice, row.verdict, row.who_acts):
        assert " ".join(part.split()) in flat
    assert max(map(len, text.splitlines())) <= 90


def test_explain_lists_a_family():
    """A family that is no code itself lists its members; one that is does both."""
    assert "stream.masked" in explain("stream")
    assert "blocked.client" in explain("blocked")
    assert vocabulary()["blocked"].title in explain("blocked")


@pytest.mark.parametrize(
    "word, near", [("steam", "stream"), ("blocked.clinet", "blocked.client"), ("okay", "ok")]
)
def test_explain_suggests_the_nearest(word: str, near: str):
    """An unknown code is refused with the nearest one."""
    with pytest.raises(UsageError, match=f"did you mean {near}"):
        explain(word)
