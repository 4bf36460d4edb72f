"""Can a lab be broken and mended while it runs?"""

from __future__ import annotations

import httpx
import pytest

from probes import lab
from probes.clock import Clock
from probes.errors import UsageError


def test_faults_come_and_go():
    """A request meets the faults that are armed when it comes; of an unknown name the lab stays as it was."""
    with lab.serve(clock=Clock(0.02), keys=None) as served, httpx.Client(trust_env=False) as client:

        def status() -> int:
            return client.get(f"{served.base_url}/models", headers={"user-agent": "OpenAI/x"}).status_code

        seen = [status()]
        served.arm(["ai-crawler-rule"])
        seen.append(status())
        with pytest.raises(UsageError, match="did you mean ai-crawler-rule"):
            served.arm(["ai-crawler-rul"])
        seen.append(status())
        served.arm([])
        seen.append(status())
    assert seen == [200, 403, 403, 200]


def test_a_fault_that_is_armed_again_counts_anew():
    """Every second request means every second one since it was armed."""
    with lab.serve(clock=Clock(0.02), keys=None) as served, httpx.Client(trust_env=False) as client:

        def statuses() -> list[int]:
            served.arm(["ua-rule-every-second"])
            ask = [
                client.get(f"{served.base_url}/models", headers={"user-agent": "openai"}) for _ in range(3)
            ]
            return [answer.status_code for answer in ask]

        assert statuses() == statuses() == [200, 403, 200]
