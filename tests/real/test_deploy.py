"""Do the programs that the files are for take them, and read a canary by them?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from processes import answers, free_port, program, running

sys.path.append(str(Path(__file__).parents[1] / "sinks"))

from test_metrics import alert, everything

from probes.bundled import bundled
from probes.sinks.served import serve

pytestmark = pytest.mark.real
FOLDER = Path(str(bundled("configs", "deploy")))
TESTS = Path(__file__).parent
PANELS = [p for p in json.loads((FOLDER / "grafana.json").read_text("utf-8"))["panels"] if "targets" in p]


def ran(name, *arguments, cwd=None, given=None):
    done = subprocess.run(
        [program(name), *map(str, arguments)],
        capture_output=True,
        check=False,
        cwd=cwd,
        input=given,
        timeout=60,
    )
    return done.returncode, (done.stdout + done.stderr).decode()


def test_promtool_takes_the_metrics():
    """Names, types, units and help as Prometheus' own linter wants them."""
    assert ran("promtool", "check", "metrics", given=everything().text()) == (0, "")


def test_promtool_takes_the_configuration():
    """With its rules."""
    code, said = ran("promtool", "check", "config", FOLDER / "prometheus.yml")
    assert code == 0, said


def test_the_rules_say_what_they_should_over_time(tmp_path):
    """Each alert comes when it is meant to, and no sooner."""
    for source in (FOLDER / "alerts.yml", TESTS / "alerts_test.yml"):
        shutil.copy(source, tmp_path)
    code, said = ran("promtool", "test", "rules", "alerts_test.yml", cwd=tmp_path)
    assert code == 0, said


def test_systemd_takes_the_unit(tmp_path):
    """The program apart, which is not installed here; and it may do little."""
    unit = tmp_path / "edgeprobe.service"
    text = (FOLDER / unit.name).read_text("utf-8")
    unit.write_text(text.replace("/opt/edgeprobe/bin/edgeprobe watch", "/bin/true"))
    assert ran("systemd-analyze", "verify", "--man=no", unit) == (0, "")
    code, said = ran("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
    assert code == 0, said


def test_hadolint_takes_the_containerfile():
    """What it is told to leave has its reason beside it."""
    assert ran("hadolint", "--no-color", FOLDER / "Containerfile") == (0, "")


@pytest.mark.parametrize("name", ["kubernetes.yaml", "kubernetes-cronjob.yaml"])
def test_kubernetes_takes_the_manifests(name):
    """By the schemas of its API, without a key that they do not know."""
    code, said = ran("kubernetes-validate", "--strict", FOLDER / name)
    assert code == 0, said


def asked(base, path, **query):
    with urllib.request.urlopen(f"{base}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=5) as answer:
        return json.load(answer)["data"]


def until(holds, what):
    end = time.monotonic() + 30
    while not (found := holds()):
        assert time.monotonic() < end, what
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def canary():
    """One of which all is known, and customers are hurt; with what serves it."""
    metrics, now = everything(), datetime.now(UTC)
    metrics.alerts([alert()], 0)
    metrics.entries({"smoke": timedelta(hours=1)}, ["prod"])
    metrics.due("smoke", now)
    metrics.store(errors=0, ok=True)
    metrics.budget("prod", "tokens", 10)
    metrics.must_fail(ok=True, at=now)
    with serve("127.0.0.1:0", metrics, lambda: None, lambda: None) as served:
        yield served


@pytest.fixture(scope="module")
def prometheus(canary, tmp_path_factory):
    """Debian's, by the files as they are but for the address and a shorter interval."""
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text("utf-8"))
    config["global"] = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [canary.address]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(FOLDER / "alerts.yml", folder)
    base = f"http://127.0.0.1:{port}"
    arguments = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(arguments, folder / "log", lambda: answers(f"{base}/-/ready"), within=30):
        yield base


def test_a_prometheus_reads_a_canary_and_alerts(prometheus):
    """It takes every series, and of all the rules those fire that are true of this canary."""

    def up():
        [target] = asked(prometheus, "targets")["activeTargets"] or [{}]
        assert not target.get("lastError"), target
        return target.get("health") == "up"

    until(up, "never scraped")

    def firing():
        alerts = asked(prometheus, "alerts")["alerts"]
        return {a["labels"]["alertname"] for a in alerts if a["state"] == "firing"}

    until(lambda: "EdgeprobeCustomersHurt" in firing(), "never alerted")
    assert firing() <= {"EdgeprobeCustomersHurt", "EdgeprobeCertificateExpires"}
    groups = asked(prometheus, "rules")["groups"]
    assert [rule["lastError"] for group in groups for rule in group["rules"] if rule.get("lastError")] == []


@pytest.mark.parametrize("panel", PANELS, ids=[panel["title"] for panel in PANELS])
def test_a_prometheus_takes_the_queries_of_the_dashboard(prometheus, panel):
    """As Grafana would send them."""
    for target in panel["targets"]:
        query = target["expr"].replace("$target", ".*").replace("$window", "1h")
        assert "result" in asked(prometheus, "query", query=query)
