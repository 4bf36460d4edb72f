"""How does a user of the official Anthropic Python SDK send?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import anthropic

from probes.clients.official_sdk import AsyncSdkSender, SdkSender, no_aiohttp

if TYPE_CHECKING:
    from probes.model import Ask


class Anthropic:
    """What both of its senders say of the SDK."""

    module: ClassVar = anthropic

    @staticmethod
    def resource(sdk: Any, ask: Ask) -> Any:  # noqa: ARG004 - it has one
        return sdk.messages

    @staticmethod
    def text(answer: Any) -> Any:
        return "".join(block.text for block in answer.content) if getattr(answer, "content", None) else answer

    @staticmethod
    def delta(event: Any) -> str:
        return getattr(getattr(event, "delta", None), "text", None) or ""


class Sender(Anthropic, SdkSender):
    client_class: ClassVar = anthropic.Anthropic


class AsyncSender(Anthropic, AsyncSdkSender):
    client_class: ClassVar = anthropic.AsyncAnthropic


class AiohttpSender(AsyncSender):
    http_class: ClassVar[str] = "DefaultAioHttpClient"
    unavailable = staticmethod(no_aiohttp)
