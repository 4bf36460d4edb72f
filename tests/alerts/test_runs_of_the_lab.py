"""What do runs against an edge that is broken and mended make of it?"""

from __future__ import annotations

from functools import cache

import pytest
from labruns import lab_run
from watched import EVERY, Scene

from probes.alerts import Asked
from probes.canary import About, Turn
from probes.model import Verdict

SDKS = ("openai-py", "openai-py-aiohttp", "openai-py-async")
EVERYBODY = ("curl", "httpx", *SDKS)


@cache
def measured(*faults):
    """A run that had the time that it needs; on a busy machine it is asked again."""
    for _ in range(5):
        run = lab_run.__wrapped__("smoke", *faults)
        if not any(f.code == "not_measured" or f.code.startswith("timeout") for f in run.findings):
            return run
    return pytest.fail("this machine is too busy for a lab in scaled time")
    return None


def take(scene, *runs):
    scene.wall.time += EVERY
    first, *others = runs
    known = first.verdict in {Verdict.PASS, Verdict.WARN, Verdict.FAIL}
    turn = Turn("smoke-prod", "prod", scene.wall.time, began=scene.wall.time, run=first.id, conclusive=known)
    again = [Asked(run, run.findings, part=True) for run in others]
    scene.alerting.observe(turn, Asked(first, first.findings), entry=scene.watching.entries[0], again=again)


@pytest.mark.parametrize(
    ("fault", "alerts"),
    [
        ("ai-crawler-rule", {"blocked.client": SDKS}),
        ("close-all", {"unreachable.reset": EVERYBODY}),
        ("broken-json-200", {"body.not_json": EVERYBODY}),
        ("any-key-passes", {"auth.open": ("httpx",)}),
        ("busy-503", {}),
        ("block-all", {}),
        ("challenge-all", {}),
    ],
)
def test_a_fault_is_one_alert_that_names_whom_it_hurts(fault, alerts):
    """Opened by the turn that confirmed it, still one after the next, over after two good ones; what is only of the
    probe is none.
    """
    scene = Scene()
    bad, fine = measured(fault), measured()
    take(scene, bad, bad)
    assert {alert.key.code: alert.clients for alert in scene.open} == alerts
    take(scene, bad)
    hurt = [alert for alert in scene.open if alert.key.about is About.SERVICE]
    assert {alert.key.code: alert.clients for alert in hurt} == alerts
    take(scene, fine)
    take(scene, fine)
    assert scene.open == []
    service = [told for told, code in scene.told if code != "not_measured"]
    assert service == ["opened"] * len(alerts) + ["resolved"] * len(alerts)


def test_the_text_is_of_what_customers_meet():
    """The client, the layer, the product's own code, who is fine, and whose move it is."""
    scene = Scene()
    bad = measured("ai-crawler-rule")
    take(scene, bad, bad)
    (alert,) = scene.open
    assert alert.title.startswith("[edge · Cloudflare 1010] ")
    assert "openai-py" in alert.title.partition(": prod since ")[0]
    assert "seen: 403 " in alert.text
    assert (
        "clients: openai-py, openai-py-aiohttp, openai-py-async (3 of 5); curl and httpx are fine"
        in alert.text
    )
    assert "do: operator: " in alert.text
    assert f"report: edgeprobe report {bad.id}" in alert.text
