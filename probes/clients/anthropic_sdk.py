"""How does a user of the official Anthropic Python SDK send?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import anthropic

from probes.clients.observed import joined, shown
from probes.clients.official_sdk import SdkSender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Ask


class Sender(SdkSender):
    module: ClassVar = anthropic
    client_class: ClassVar = anthropic.Anthropic

    def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> str:
        if ask.endpoint == "models":
            return shown(sdk.models.list())
        answer = sdk.messages.create(**arguments)
        return joined(_texts(answer)) if ask.stream else shown(_text(answer))


def _texts(stream: Any) -> Iterator[str]:
    for event in stream:
        yield getattr(getattr(event, "delta", None), "text", None) or ""


def _text(answer: Any) -> Any:
    """The message's text where the SDK returned a message; a `str` where the server did not send JSON."""
    return "".join(block.text for block in answer.content) if getattr(answer, "content", None) else answer
