"""Which metrics are there, what do their labels mean, and how many series may that be?"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Literal

from probes.canary import About, Missed
from probes.model import Layer, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Domain = tuple[str, ...] | None
"""The values of a label that is closed here; `None`: names of the configuration, or finding codes."""

MOST_SERIES = 50_000
"""Of one canary; `prometheus.yml` takes as many of one scrape."""
MOST_KINDS_OF_FINDING = 64
"""Of one target and metric; what is beyond is told as code `other`, layer `unknown`."""

_WAIT = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
_PER_TOKEN = (0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.25, 0.5, 1.0)
_WHOLE = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 100.0, 125.0, 180.0, 300.0, 600.0)
_LAG = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

_LAYERS, _VERDICTS = tuple(Layer), tuple(Verdict)
_CONDITIONS: dict[str, Domain] = {
    "target": None,
    "route": None,
    "kind": None,
    "connection": ("new", "reused"),
    "cache": ("hit", "miss", "unreported"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One metric; `labels` name what their values may be. `most`: series of one target, whatever its labels allow."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Mapping[str, Domain] = field(default_factory=dict)
    buckets: tuple[float, ...] = ()
    most: int | None = None


CATALOGUE: Mapping[str, Row] = {
    row.name: row
    for row in (
        # --- the service
        Row(
            "edgeprobe_calls_total",
            "counter",
            "Plain requests with a good key, by what this client's customers would have got; unknown is what says nothing of the service, such as a limit of our own key.",
            {"target": None, "route": None, "client": None, "result": ("good", "bad", "unknown")},
        ),
        Row(
            "edgeprobe_wire_requests_total",
            "counter",
            "Requests on the wire, each attempt and each redirect, of every probe; 4xx and 5xx are without 429 and 503, stopped is by a limit of our own, broken an answer that ended early.",
            {
                "target": None,
                "route": None,
                "result": ("1xx", "2xx", "3xx", "4xx", "429", "5xx", "503", "timeout", "broken", "no_answer", "stopped"),
            },
        ),
        Row(
            "edgeprobe_slo_requests_total",
            "counter",
            "Plain streamed requests to a target with an slo, by whether they were good and within every limit of it; unknown is not measured, or spoilt by our own lag.",
            {"target": None, "route": None, "result": ("met", "missed", "unknown")},
        ),
        Row(
            "edgeprobe_ttft_seconds",
            "histogram",
            "From the first byte of the request sent to the first token of any channel, of good streams.",
            _CONDITIONS,
            _WAIT,
        ),
        Row(
            "edgeprobe_tpot_seconds",
            "histogram",
            "Per output token after the first, by the server's own count, of good streams.",
            _CONDITIONS,
            _PER_TOKEN,
        ),
        Row(
            "edgeprobe_total_seconds",
            "histogram",
            "From the first byte of the request sent to the end of the good answer.",
            {**_CONDITIONS, "stream": ("yes", "no")},
            _WHOLE,
        ),
        Row(
            "edgeprobe_tainted_samples_total",
            "counter",
            "Good answers of which a time was left out, because this process itself ran late.",
            {"target": None},
        ),
        Row(
            "edgeprobe_prompt_tokens_total",
            "counter",
            "Prompt tokens of good answers whose usage says how many of them came from a cache.",
            {"target": None, "route": None},
        ),
        Row(
            "edgeprobe_prompt_tokens_cached_total",
            "counter",
            "Those of them that came from a cache.",
            {"target": None, "route": None},
        ),
        Row(
            "edgeprobe_cutoff_seconds",
            "gauge",
            "The shortest cutoff that was measured last; not there once such a case passes without meeting one.",
            {"target": None, "route": None, "kind": None},
        ),
        Row(
            "edgeprobe_certificate_expiry_timestamp_seconds",
            "gauge",
            "When the first of the certificates that this route showed in the last run with TLS expires, to the hour.",
            {"target": None, "route": None},
        ),
        Row(
            "edgeprobe_findings_total",
            "counter",
            "Findings that are not accepted, of all runs.",
            {"target": None, "code": None, "layer": _LAYERS, "verdict": _VERDICTS},
            most=MOST_KINDS_OF_FINDING + len(_VERDICTS),
        ),
        # --- what was said
        Row(
            "edgeprobe_alerts_open",
            "gauge",
            "Open alerts.",
            {"target": None, "about": tuple(About), "layer": _LAYERS, "code": None},
            most=MOST_KINDS_OF_FINDING + len(About),
        ),
        Row("edgeprobe_alerts_undelivered", "gauge", "Messages about alerts that a sink has not taken yet."),
        Row(
            "edgeprobe_comparisons_total",
            "counter",
            "What was compared before and after marks; inconclusive is what so few samples could not tell.",
            {"target": None, "verdict": ("pass", "warn", "inconclusive", "fail")},
        ),
        # --- the canary itself
        Row(
            "edgeprobe_turns_total",
            "counter",
            "Turns of an entry that had a run; conclusive is one that said something of the service, good or bad.",
            {"entry": None, "verdict": _VERDICTS, "conclusive": ("yes", "no")},
        ),
        Row(
            "edgeprobe_turns_missed_total",
            "counter",
            "Turns of an entry without a run.",
            {"entry": None, "reason": tuple(Missed)},
        ),
        Row(
            "edgeprobe_entry_last_success_timestamp_seconds",
            "gauge",
            "When the entry last said something conclusive of the service, good or bad.",
            {"entry": None},
        ),
        Row(
            "edgeprobe_entry_next_due_timestamp_seconds",
            "gauge",
            "When the entry is due next; in the past where the canary is late.",
            {"entry": None},
        ),
        Row(
            "edgeprobe_entry_interval_seconds",
            "gauge",
            "The longest time between two turns of the entry inside its active hours.",
            {"entry": None},
        ),
        Row(
            "edgeprobe_lag_seconds",
            "histogram",
            "How much later than planned this process itself acted.",
            buckets=_LAG,
        ),
        Row(
            "edgeprobe_budget_left",
            "gauge",
            "What is left of today's budget (UTC); not there where it is unlimited.",
            {"target": None, "kind": ("requests", "tokens", "usd")},
        ),
        Row(
            "edgeprobe_config_last_reload_successful",
            "gauge",
            "1 where the configuration that was read last is the one in use, 0 where it was refused and the old one kept.",
        ),
        Row(
            "edgeprobe_config_last_reload_success_timestamp_seconds",
            "gauge",
            "When the configuration in use was read.",
        ),
        Row(
            "edgeprobe_config_reloads_total",
            "counter",
            "Times the configuration was read, at the start, after a change and for each SIGHUP: taken over, or refused.",
            {"result": ("taken", "refused")},
        ),
        Row(
            "edgeprobe_must_fail_enabled",
            "gauge",
            "1 where a planted fault is looked for at intervals, 0 where that is switched off.",
        ),
        Row(
            "edgeprobe_must_fail_ok",
            "gauge",
            "1 where the planted fault was found the last time, 0 where detection is broken.",
        ),
        Row("edgeprobe_must_fail_timestamp_seconds", "gauge", "When it was last looked for."),
        Row(
            "edgeprobe_control_ok",
            "gauge",
            "1 where the control address answered, 0 where our own network is in doubt; asked when a turn went badly, and not there since one went well, which proves the network, too.",
        ),
        Row("edgeprobe_store_ok", "gauge", "1 where the last write to the store went well."),
        Row("edgeprobe_store_errors_total", "counter", "Writes to the store that failed."),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """How many routes a target has, and how many clients and probe kinds the entries on it ask with."""

    routes: int
    clients: int
    kinds: int


def most_series(targets: Collection[Asked], entries: int) -> int:
    """What a canary of these targets and so many entries can have at the most, but for those of its process."""
    return sum(
        _series(row, one)
        for row in CATALOGUE.values()
        for one in (targets if "target" in row.labels else [Asked(1, 1, 1)])
        for _ in range(entries if "entry" in row.labels else 1)
    )


def _series(row: Row, one: Asked) -> int:
    """Of one target and one entry; a histogram has its buckets, the one without an end, sum and count."""
    names = {"route": one.routes, "client": one.clients, "kind": one.kinds}
    values = (names.get(name, 1) if domain is None else len(domain) for name, domain in row.labels.items())
    each = prod(values) if row.most is None else row.most
    return each * (len(row.buckets) + 3 if row.type == "histogram" else 1)
