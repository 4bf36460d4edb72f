"""What did the canary measure, as Prometheus reads it?

A run is taken when it is over, as a whole: its events name no target, and runs of many lanes share this sink.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from probes.canary import AlertState
from probes.metric_rows import CATALOGUE, MOST_KINDS_OF_FINDING
from probes.model import Finished, Layer, Verdict
from probes.sinks.of_runs import certificates, cutoffs, outcomes
from probes.sinks.series import Series, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime, timedelta

    from probes.canary import Alert, Turn
    from probes.model import Event, Run
    from probes.sinks.of_runs import Outcome

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
OTHER = "other"


class Metrics:
    """`codes`: each finding code and its default verdict, as `configs/findings.yaml` has them."""

    def __init__(self, codes: Mapping[str, Verdict]) -> None:
        self._codes = codes
        self._lock = Lock()
        self._series = Series()
        self._targets: frozenset[str] | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self._series)
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        with self._lock:
            return generate_latest(self._registry)

    # --- what was measured

    def __call__(self, event: Event) -> None:
        if isinstance(event, Finished):
            with self._lock:
                if self._targets is None or event.run.target.name in self._targets:
                    self._run(event.run)

    def _run(self, run: Run) -> None:
        target = run.target.name
        for outcome in outcomes(run, self._codes):
            self._outcome(outcome, {"target": target, "route": outcome.route})
        for route, moment in certificates(run).items():
            self._series.put(
                "edgeprobe_certificate_expiry_timestamp_seconds", moment, target=target, route=route
            )
        for (route, kind), seconds in cutoffs(run).items():
            self._series.put("edgeprobe_cutoff_seconds", seconds, target=target, route=route, kind=kind)
        for finding in run.findings:
            if not finding.accepted:
                name, verdict = "edgeprobe_findings_total", finding.verdict
                self._kind_of(name, target, finding.code, finding.layer, verdict=verdict)

    def _outcome(self, outcome: Outcome, where: dict[str, str]) -> None:
        series, seen = self._series, outcome.sample
        for result in outcome.wire:
            series.count("edgeprobe_wire_requests_total", "result", result, **where)
        if outcome.result is not None:
            series.count("edgeprobe_calls_total", "result", outcome.result, client=outcome.client, **where)
        if outcome.slo is not None:
            series.count("edgeprobe_slo_requests_total", "result", outcome.slo, **where)
        if seen is None:
            return
        series.add("edgeprobe_tainted_samples_total", float(seen.tainted), target=where["target"])
        if seen.prompt_tokens is not None and seen.cached_tokens is not None:
            series.add("edgeprobe_prompt_tokens_total", seen.prompt_tokens, **where)
            series.add("edgeprobe_prompt_tokens_cached_total", seen.cached_tokens, **where)
        if seen.connection is not None:
            under = {"kind": outcome.kind, "connection": seen.connection, "cache": seen.cache, **where}
            self._times(under, outcome.stream, ttft=seen.ttft, tpot=seen.tpot, total=seen.total)

    def _times(self, under: dict[str, str], stream: str, **seconds: float | None) -> None:
        for name, value in seconds.items():
            if value is not None:
                more = {"stream": stream} if name == "total" else {}
                self._series.observe(f"edgeprobe_{name}_seconds", value, **under, **more)

    def _kind_of(self, name: str, target: str, code: str, layer: Layer, **more: str) -> None:
        """Count one of a code and a layer, as long as there are not too many kinds of them."""
        labels = {"target": target, "code": code if code in self._codes else OTHER, "layer": layer, **more}
        full = self._series.kinds(name, target) >= MOST_KINDS_OF_FINDING
        if full and not self._series.has(name, **labels):
            labels |= {"code": OTHER, "layer": Layer.UNKNOWN}
        self._series.add(name, **labels)

    # --- what came of the turns

    def entries(self, intervals: Mapping[str, timedelta], targets: Collection[str]) -> None:
        """What is watched from now on, by the names of entries and targets; series of what is not are dropped."""
        with self._lock:
            series = self._series
            for label, names in (("entry", intervals), ("target", targets)):
                series.keep(label, {shown(name) for name in names})
            self._targets = frozenset(targets)
            for entry, interval in intervals.items():
                series.put("edgeprobe_entry_interval_seconds", interval.total_seconds(), entry=entry)

    def due(self, entry: str, at: datetime) -> None:
        self._put("edgeprobe_entry_next_due_timestamp_seconds", at.timestamp(), entry=entry)

    def turn(self, turn: Turn) -> None:
        with self._lock:
            if turn.missed is not None:
                self._series.count("edgeprobe_turns_missed_total", "reason", turn.missed, entry=turn.entry)
            elif turn.verdict is not None:
                conclusive = "yes" if turn.conclusive else "no"
                self._series.add(
                    "edgeprobe_turns_total", entry=turn.entry, verdict=turn.verdict, conclusive=conclusive
                )
        if turn.conclusive and turn.verdict in {Verdict.PASS, Verdict.WARN}:
            self.control(None)  # nobody asks the control address again while all is well
        if turn.conclusive and turn.ended is not None:
            self.last_success(turn.entry, turn.ended)

    def last_success(self, entry: str, at: datetime | None) -> None:
        """When it was last conclusive; `None` where it never was."""
        if at is not None:
            self._put("edgeprobe_entry_last_success_timestamp_seconds", at.timestamp(), entry=entry)

    def lag(self, seconds: float) -> None:
        with self._lock:
            self._series.observe("edgeprobe_lag_seconds", max(seconds, 0.0))

    def budget(self, target: str, kind: str, left: float | None) -> None:
        """`kind`: requests, tokens or usd; `left`: `None` is unlimited."""
        self._put("edgeprobe_budget_left", left, target=target, kind=kind)

    # --- what was said

    def alerts(self, alerts: Iterable[Alert], undelivered: int) -> None:
        """All that are open now; those that are resolved are left out."""
        with self._lock:
            self._series.clear("edgeprobe_alerts_open")
            for alert in alerts:
                if alert.state is AlertState.OPEN:
                    key = alert.key
                    self._kind_of("edgeprobe_alerts_open", key.target, key.code, key.layer, about=key.about)
            self._series.put("edgeprobe_alerts_undelivered", undelivered)

    def comparison(self, target: str, verdict: Verdict) -> None:
        """Of before and after a mark."""
        with self._lock:
            self._series.count("edgeprobe_comparisons_total", "verdict", verdict, target=target)

    # --- whether the canary itself is well

    def reload(self, ok: bool, at: datetime) -> None:
        with self._lock:
            self._series.count("edgeprobe_config_reloads_total", "result", "taken" if ok else "refused")
        self._put("edgeprobe_config_last_reload_successful", ok)
        if ok:
            self._put("edgeprobe_config_last_reload_success_timestamp_seconds", at.timestamp())

    def must_fail(self, ok: bool | None, at: datetime | None) -> None:
        """`ok`: the planted fault was found, or `None` where that was not told; without `at` it is switched off."""
        self._put("edgeprobe_must_fail_enabled", at is not None)
        self._put("edgeprobe_must_fail_ok", ok)
        self._put("edgeprobe_must_fail_timestamp_seconds", None if at is None else at.timestamp())

    def control(self, ok: bool | None) -> None:
        self._put("edgeprobe_control_ok", ok)

    def store(self, errors: int, ok: bool) -> None:
        """`errors`: all of this process so far."""
        self._put("edgeprobe_store_ok", ok)
        self._put("edgeprobe_store_errors_total", errors)

    def _put(self, name: str, value: float | None, **labels: str) -> None:
        with self._lock:
            self._series.put(name, None if value is None or math.isnan(value) else value, **labels)


__all__ = ["CATALOGUE", "CONTENT_TYPE", "OTHER", "Metrics"]
