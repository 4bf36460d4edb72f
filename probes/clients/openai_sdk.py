"""How does a user of the official OpenAI Python SDK send?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import openai
import openai.resources.chat.completions  # else the SDK imports these within the first call, on the deadline's time
import openai.resources.responses

from probes.clients.official_sdk import AsyncSdkSender, SdkSender, no_aiohttp

if TYPE_CHECKING:
    from probes.model import Ask


class OpenAI:
    """What both of its senders say of the SDK."""

    module: ClassVar = openai

    @staticmethod
    def resource(sdk: Any, ask: Ask) -> Any:
        return sdk.responses if ask.endpoint == "responses" else sdk.chat.completions

    @classmethod
    def begun(cls, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> Any:
        if ask.fetches is not None:
            return sdk.responses.retrieve(ask.fetches, stream=True)
        return cls.resource(sdk, ask).create(**arguments)

    @staticmethod
    def text(answer: Any) -> Any:
        if getattr(answer, "choices", None):
            return answer.choices[0].message.content
        return answer.output_text if getattr(answer, "output", None) else answer

    @staticmethod
    def delta(event: Any) -> str:
        """Of a chat chunk or of an event of a response."""
        if getattr(event, "type", None) == "response.output_text.delta":
            return str(event.delta)
        choices = getattr(event, "choices", None)
        return (choices[0].delta.content or "") if choices else ""


class Sender(OpenAI, SdkSender):
    client_class: ClassVar = openai.OpenAI


class AsyncSender(OpenAI, AsyncSdkSender):
    client_class: ClassVar = openai.AsyncOpenAI


class AiohttpSender(AsyncSender):
    http_class: ClassVar[str] = "DefaultAioHttpClient"
    unavailable = staticmethod(no_aiohttp)
