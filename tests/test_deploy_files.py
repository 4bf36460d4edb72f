"""The files to run a canary with: they name what exists, and their table of metrics is the catalogue."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from probes.bundled import bundled
from probes.metric_rows import CATALOGUE, MOST_SERIES

FOLDER = bundled("configs", "deploy")
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
PANELS = [
    panel
    for panel in json.loads((FOLDER / "grafana.json").read_text("utf-8"))["panels"]
    if "targets" in panel
]
EXPRESSIONS = [
    *((rule.get("alert") or rule["record"], rule["expr"]) for rule in RULES),
    *((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]),
]  # fmt: skip
OF_OTHERS = {"up", "process_cpu_seconds_total", "process_resident_memory_bytes"}


def known(name: str) -> bool:
    whole = re.sub(r"_(bucket|sum|count)$", "", name)
    of_histogram = whole in CATALOGUE and CATALOGUE[whole].type == "histogram" and whole != name
    return (
        name in OF_OTHERS | RECORDED
        or of_histogram
        or (name in CATALOGUE and CATALOGUE[name].type != "histogram")
    )


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / name).read_text("utf-8")))


@pytest.mark.parametrize(("what", "expression"), EXPRESSIONS, ids=[what for what, _ in EXPRESSIONS])
def test_rules_and_panels_ask_for_metrics_that_there_are(what, expression):
    """A name that was mistyped is a panel without data, and an alert that never comes."""
    names = re.findall(r"\b(?:edgeprobe[a-z0-9_:]+|process_[a-z_]+|up)\b", re.sub(r'"[^"]*"', "", expression))
    assert names
    assert [name for name in names if not known(name)] == []


def test_labels_that_rules_and_panels_look_for_can_be_there():
    """Each value that is matched is one of the closed set."""
    for what, expression in EXPRESSIONS:
        for name, matchers in re.findall(r"(edgeprobe_\w+)\{([^}]*)\}", expression):
            row = CATALOGUE[re.sub(r"_bucket$", "", name)]
            for label, values in re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', matchers):
                assert label in row.labels, (what, name, label)
                domain = row.labels[label]
                assert domain is None or set(values.split("|")) <= set(domain), (what, name, values)


def test_every_metric_is_drawn_or_watched():
    """One that nobody looks at is not worth its series."""
    used = " ".join(expression for _, expression in EXPRESSIONS)
    idle = [name for name in CATALOGUE if not re.search(rf"\b{name}(_bucket)?\b", used)]
    assert idle == IDLE


IDLE = [
    "edgeprobe_tainted_samples_total",
    "edgeprobe_turns_total",
    "edgeprobe_config_last_reload_success_timestamp_seconds",
    "edgeprobe_config_reloads_total",
    "edgeprobe_store_errors_total",
]
"""Looked up when something is wrong."""


def test_panels_stand_beside_each_other():
    """None lies over another."""
    taken = set()
    for panel in json.loads((FOLDER / "grafana.json").read_text("utf-8"))["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def table() -> list[str]:
    rows = ["| metric | type | labels | what it says |", "|---|---|---|---|"]
    for row in CATALOGUE.values():
        labels = [
            f"`{label}`" if domain is None else f"`{label}` ({', '.join(domain)})"
            for label, domain in row.labels.items()
        ]
        rows.append(f"| `{row.name}` | {row.type} | {' '.join(labels)} | {row.help} |")
    return rows


def test_the_table_of_metrics_is_the_catalogue():
    """Names, types, labels with their values, and help: a change there is a change for whoever has rules on them."""
    written = (FOLDER / "README.md").read_text("utf-8").splitlines()
    begins = written.index(table()[0])
    assert written[begins : begins + len(table())] == table()


def test_prometheus_takes_as_many_series_as_there_may_be():
    """One more would cost all of a scrape."""
    [job] = documents("prometheus.yml")[0]["scrape_configs"]
    assert (job["job_name"], job["sample_limit"]) == ("edgeprobe", MOST_SERIES)


def pods() -> list[dict[str, Any]]:
    found = [d["spec"]["template"]["spec"] for d in documents("kubernetes.yaml") if d["kind"] == "Deployment"]
    [job] = documents("kubernetes-cronjob.yaml")
    return [*found, job["spec"]["jobTemplate"]["spec"]["template"]["spec"]]


@pytest.mark.parametrize("pod", pods(), ids=["deployment", "cron job"])
def test_a_pod_mounts_what_it_has_and_may_do_nothing(pod):
    """Each mount has its volume, and none is unused; no root, no writing but to what is meant for it."""
    [container] = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["args"][0] == "watch"
    paths = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert not [p for p in paths for other in paths if p != other and p.startswith(f"{other}/")]


def test_one_canary_at_a_time():
    """Two would spend twice and say everything twice."""
    [deployment] = [d for d in documents("kubernetes.yaml") if d["kind"] == "Deployment"]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (1, "Recreate")
    assert documents("kubernetes-cronjob.yaml")[0]["spec"]["concurrencyPolicy"] == "Forbid"
