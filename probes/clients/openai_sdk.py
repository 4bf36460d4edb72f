"""How does a user of the official OpenAI Python SDK send?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import openai
import openai.resources.chat.completions  # else the SDK imports it within the first call, on the deadline's time

from probes.clients.observed import Joined, shown
from probes.clients.official_sdk import AsyncSdkSender, SdkSender, no_aiohttp

if TYPE_CHECKING:
    from probes.model import Ask


class Sender(SdkSender):
    module: ClassVar = openai
    client_class: ClassVar = openai.OpenAI

    def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> str:
        if ask.endpoint == "models":
            return shown(sdk.models.list())
        answer = sdk.chat.completions.create(**arguments)
        if not ask.stream:
            return shown(_text(answer))
        said = Joined()
        for chunk in answer:
            said.add(_delta(chunk))
        return str(said)


class AsyncSender(AsyncSdkSender):
    module: ClassVar = openai
    client_class: ClassVar = openai.AsyncOpenAI

    async def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> str:
        if ask.endpoint == "models":
            return shown(await sdk.models.list())
        answer = await sdk.chat.completions.create(**arguments)
        if not ask.stream:
            return shown(_text(answer))
        said = Joined()
        async for chunk in answer:
            said.add(_delta(chunk))
        return str(said)


class AiohttpSender(AsyncSender):
    http_class: ClassVar[str] = "DefaultAioHttpClient"
    unavailable = staticmethod(no_aiohttp)


def _delta(chunk: Any) -> str:
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def _text(answer: Any) -> Any:
    """The message's text where the SDK returned a completion; a `str` where the server did not send JSON."""
    return answer.choices[0].message.content if getattr(answer, "choices", None) else answer
