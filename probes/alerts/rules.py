"""Which findings wake somebody, and how sure must they be?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.canary import About, AlertKey
from probes.model import Layer, Verdict

if TYPE_CHECKING:
    from probes.alerts.needs import Entry
    from probes.model import Finding

# Said by an answer or a certificate, and said again each time as long as the rule stands: no blip of a network.
_DETERMINISTIC = frozenset(
    {
        "auth.in_front", "auth.open", "auth.rejected", "blocked", "cached.private", "challenged", "client.guard",
        "client.trust", "error.replaced", "headers.rejected", "model.not_found", "proxy.intercepts", "redirected",
        "regression.cutoff", "regression.outcome", "request.encoding", "request.rejected", "size.rejected",
        "unreachable.dns", "unreachable.family", "unreachable.tls", "wrong_base_url",
    }
)  # fmt: skip
_DETERMINISTIC_FAMILIES = frozenset({"blocked", "leak"})
_BLOCK, _CHANCE = (2, 2), (2, 3)
_OURS = frozenset({"client.trust", "proxy.intercepts"})
"""Of this machine's surroundings: its trust store, its proxy."""


def pages(finding: Finding) -> bool:
    """Whether customers are hurt by it: a fail that nobody accepted. A warning wakes nobody."""
    return finding.verdict is Verdict.FAIL and not finding.accepted


def key_of(finding: Finding, target: str) -> AlertKey:
    """What it is grouped by; clients, routes and vendor codes are the content."""
    ours = finding.layer in {Layer.PROBE, Layer.PROXY} or finding.code in _OURS
    about = About.PROBE if ours or finding.code.startswith("probe.") else About.SERVICE
    return AlertKey(target, about, finding.layer, finding.product, finding.code)


def confirmations(finding: Finding, entry: Entry | None = None) -> tuple[int, int]:
    """(k, n): `k` bad of `n` results in a row open an alert, so it is asked again up to `n - 1` times at once.

    Deterministic blocks take 2 of 2, what a network does by chance 2 of 3, unless the entry says otherwise.
    """
    if entry is not None and entry.alert is not None:
        return entry.alert.k, entry.alert.n
    return _BLOCK if _deterministic(finding) else _CHANCE


def most_asked(entry: Entry) -> int:
    """How many results of one turn there are at the most, the first one included."""
    return entry.alert.n if entry.alert is not None else max(_BLOCK[1], _CHANCE[1])


def looks_back(finding: Finding, entry: Entry) -> tuple[int, int]:
    """(k, n) over all results, those of earlier intervals too: one of two nodes that refuses answers every other time,
    and would never be bad twice in a row.
    """
    k, n = confirmations(finding, entry)
    return (k, n) if entry.alert is not None else (k, max(n, 3))


def _deterministic(finding: Finding) -> bool:
    return finding.code in _DETERMINISTIC or finding.code.partition(".")[0] in _DETERMINISTIC_FAMILIES
