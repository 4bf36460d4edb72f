"""How do people hear of an alert, wherever they are reached?

By Apprise, which knows Slack, PagerDuty, e-mail and a hundred others by a URL of its own: https://appriseit.com/services/
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.canary import Severity, Told, Undelivered

if TYPE_CHECKING:
    from probes.canary import Alert, Deliver, Notice

TIMEOUT = 20.0
"""Seconds for all requests that a service takes."""
_STATUS = re.compile(r"\berror=(\d{3})\b")
# What chats look for: `<!channel>`, `@here`, `*bold*`, code. Each has a twin that means nothing to them.
_INERT = str.maketrans("<>@*`", "‹›＠∗ʼ")  # noqa: RUF001 - they are to look alike


def notify(url: str, *, timeout: float = TIMEOUT) -> Deliver:
    """A sink that hands each notice to the service of an Apprise URL; raises ValueError, without the URL, for one that
    is none.
    """
    from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType  # noqa: PLC0415 - of an extra, and slow

    asset = AppriseAsset(app_id="edgeprobe", http_redirects=False, secure_logging=True, async_mode=False)
    service = Apprise.instantiate(url, asset=asset)
    if service is None:
        raise ValueError("not the Apprise URL of a service that is known and can be used here")
    kinds = {Severity.FAIL: NotifyType.FAILURE, Severity.WARN: NotifyType.WARNING}

    def deliver(notice: Notice) -> None:
        box = Apprise(asset=asset)
        box.add(service)
        alert = notice.alert
        result = box.notify(
            body=inert(alert.text),
            title=inert(title(notice)),
            notify_type=NotifyType.SUCCESS if notice.told is Told.RESOLVED else kinds[alert.severity],
            body_format=NotifyFormat.TEXT,
            timeout=timeout,
        )
        if not result:
            raise _fault(result.status.name, [entry.message for entry in result.logs()])

    return deliver


def title(notice: Notice) -> str:
    """That of the alert; that it is told again is said."""
    alert: Alert = notice.alert
    return f"(update) {alert.title}" if notice.told is Told.UPDATED else alert.title


def inert(text: str) -> str:
    """Text that no chat makes a mention, a link with another name, or markup of."""
    return text.replace("](", "] (").translate(_INERT)


def _fault(status: str, messages: list[str]) -> Undelivered:
    """The answer's status alone: what a service says may hold its URL, which is a secret."""
    found = [match[1] for message in messages if (match := _STATUS.search(message))]
    return Undelivered.answered(int(found[-1])) if found else Undelivered(f"no answer ({status.lower()})")
