"""How does a user of the official OpenAI Python SDK send?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import openai
import openai.resources.chat.completions  # else the SDK imports these within the first call, on the deadline's time
import openai.resources.responses

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
        answer = _resource(sdk, ask).create(**arguments)
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
        answer = await _resource(sdk, ask).create(**arguments)
        if not ask.stream:
            return shown(_text(answer))
        said = Joined()
        async for chunk in answer:
            said.add(_delta(chunk))
        return str(said)


class AiohttpSender(AsyncSender):
    http_class: ClassVar[str] = "DefaultAioHttpClient"
    unavailable = staticmethod(no_aiohttp)


def _resource(sdk: Any, ask: Ask) -> Any:
    return sdk.responses if ask.endpoint == "responses" else sdk.chat.completions


def _delta(chunk: Any) -> str:
    """The visible text of a chat chunk or of an event of a response."""
    if getattr(chunk, "type", None) == "response.output_text.delta":
        return str(chunk.delta)
    choices = getattr(chunk, "choices", None)
    return (choices[0].delta.content or "") if choices else ""


def _text(answer: Any) -> Any:
    """The text where the SDK returned a completion or a response; a `str` where the server did not send JSON."""
    if getattr(answer, "choices", None):
        return answer.choices[0].message.content
    return answer.output_text if getattr(answer, "output", None) else answer
