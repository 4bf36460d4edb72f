"""How does a user of the official Anthropic Python SDK send?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import anthropic

from probes.clients.observed import Joined, shown
from probes.clients.official_sdk import AsyncSdkSender, SdkSender, no_aiohttp

if TYPE_CHECKING:
    from probes.model import Ask


class Sender(SdkSender):
    module: ClassVar = anthropic
    client_class: ClassVar = anthropic.Anthropic

    def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> str:
        if ask.endpoint == "models":
            return shown(sdk.models.list())
        answer = sdk.messages.create(**arguments)
        if not ask.stream:
            return shown(_text(answer))
        said = Joined()
        for event in answer:
            said.add(_delta(event))
        return str(said)


class AsyncSender(AsyncSdkSender):
    module: ClassVar = anthropic
    client_class: ClassVar = anthropic.AsyncAnthropic

    async def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> str:
        if ask.endpoint == "models":
            return shown(await sdk.models.list())
        answer = await sdk.messages.create(**arguments)
        if not ask.stream:
            return shown(_text(answer))
        said = Joined()
        async for event in answer:
            said.add(_delta(event))
        return str(said)


class AiohttpSender(AsyncSender):
    http_class: ClassVar[str] = "DefaultAioHttpClient"
    unavailable = staticmethod(no_aiohttp)


def _delta(event: Any) -> str:
    return getattr(getattr(event, "delta", None), "text", None) or ""


def _text(answer: Any) -> Any:
    """The message's text where the SDK returned a message; a `str` where the server did not send JSON."""
    return "".join(block.text for block in answer.content) if getattr(answer, "content", None) else answer
