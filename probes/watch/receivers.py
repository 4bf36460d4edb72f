"""Who is told of alerts, and can they be?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.errors import UsageError
from probes.sinks.notify import notify
from probes.sinks.webhook import webhook
from probes.watch.cron import MISSING

if TYPE_CHECKING:
    from probes.canary import Deliver
    from probes.credentials import Secrets
    from probes.watch.watched import Watched


def receivers(watched: Watched, secrets: Secrets) -> dict[str, Deliver]:
    """By name; UsageError where a variable is not set or holds no address, at the line that names it."""
    return {sink.name: receiver(watched, index, secrets) for index, sink in enumerate(watched.canary.sinks)}


def receiver(watched: Watched, index: int, secrets: Secrets) -> Deliver:
    """One of them; nothing is sent."""
    at, sink = ("sinks", index), watched.canary.sinks[index]
    if sink.webhook_env is not None:
        url, key = (watched.value_at((*at, name), secrets) for name in ("webhook_env", "secret_env"))
        return webhook(url, key)
    url = watched.value_at((*at, "notify_env"), secrets)
    try:
        return notify(url)
    except ImportError:
        raise UsageError(f"notify_env {MISSING}") from None
    except ValueError as wrong:
        watched.refuse((*at, "notify_env"), f"{sink.notify_env}: {wrong}")
