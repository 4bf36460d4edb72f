"""What do the official Python SDKs have in common as clients?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self

from probes.clients import Outcome, SendLimits, Setting, dialect, reasoning
from probes.clients.observed import Joined, http_client, left_waiting, observe, shown
from probes.model import Ask, Route, Trial
from probes.wire.loop import LoopThread

if TYPE_CHECKING:
    from types import ModuleType


class SdkSender(ABC):
    """An SDK is its module, its client class, and how a call is made with it."""

    module: ClassVar[ModuleType]
    client_class: ClassVar[Any]
    http_class: ClassVar[str] = "DefaultHttpxClient"
    """Of the SDK's own: what it makes for itself when it is given no HTTP client."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @staticmethod
    def unavailable() -> str | None:
        return None

    @classmethod
    def version(cls) -> str | None:
        return version(cls.module.__name__)

    @classmethod
    def user_agent(cls) -> str | None:
        return f"{cls.client_class.__name__}/Python {cls.version()}"

    @classmethod
    def family(cls) -> str:
        """The HTTP library that this version of the SDK rides on, without guessing."""
        base: type = cls.module.DefaultHttpxClient.__mro__[1]
        return base.__module__.partition(".")[0]

    def connect(self, route: Route) -> Session:
        return Session(self, route)

    @staticmethod
    @abstractmethod
    def resource(sdk: Any, ask: Ask) -> Any:
        """What of the SDK has the `create` that is called."""

    @classmethod
    def begun(cls, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> Any:
        """What the SDK makes of the request; to be awaited where it is async."""
        return cls.resource(sdk, ask).create(**arguments)

    @staticmethod
    @abstractmethod
    def text(answer: Any) -> Any:
        """The text of a whole answer; the answer itself where the server did not send what the SDK wants."""

    @staticmethod
    @abstractmethod
    def delta(event: Any) -> str:
        """The visible text of one event of a stream."""

    def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> Any:
        """Make the call as a user would and describe what it returned; a coroutine that does where the SDK is async."""
        if ask.endpoint == "models":
            return shown(sdk.models.list())
        answer = self.begun(sdk, ask, arguments)
        if not ask.stream:
            return shown(self.text(answer))
        said = Joined()
        for event in answer:
            said.add(self.delta(event))
        return str(said)


class AsyncSdkSender(SdkSender):
    http_class: ClassVar[str] = "DefaultAsyncHttpxClient"

    async def call(self, sdk: Any, ask: Ask, arguments: dict[str, Any]) -> str:
        if ask.endpoint == "models":
            return shown(await sdk.models.list())
        answer = await self.begun(sdk, ask, arguments)
        if not ask.stream:
            return shown(self.text(answer))
        said = Joined()
        async for event in answer:
            said.add(self.delta(event))
        return str(said)

    def connect(self, route: Route) -> Session:
        return AsyncSession(self, route)


def no_aiohttp() -> str | None:
    """Why an SDK can't ride on aiohttp here, or `None`."""
    return (
        None
        if find_spec("aiohttp")
        else "aiohttp is not installed: it comes with the extra, edgeprobe[aiohttp]"
    )


class Session:
    """One SDK client object and its pool. `max_retries=0`: a probe that retries hides what it looks for, but where the
    trial asks for what a customer meets.
    """

    def __init__(self, sender: SdkSender, route: Route) -> None:
        self._sender = sender
        self._route = route
        setting = sender.setting
        cert = setting.secrets.client_cert(route)
        made = getattr(sender.module, sender.http_class)
        self._http = http_client(made, sender.family(), route, cert, setting.client.mode)
        self._sdk = sender.client_class(
            api_key="EMPTY",
            base_url=route.base_url,
            http_client=self._http,
            max_retries=0,
            default_headers=setting.secrets.headers(route) or None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        request = trial.request
        assert isinstance(request, Ask)
        setting = self._sender.setting
        key = dialect.key(setting.target, request, setting.secrets)
        retries = self._sender.module.DEFAULT_MAX_RETRIES if trial.retries else 0
        sdk = self._sdk.with_options(api_key=key, max_retries=retries)
        arguments = reasoning.as_arguments(dialect.body(setting.target, request, trial.salt))
        return observe(
            setting,
            self._route,
            request,
            limits,
            lambda: self._call(sdk, request, arguments, pauses=trial.retries),
        )

    def _call(self, sdk: Any, ask: Ask, arguments: dict[str, Any], *, pauses: bool) -> str:
        call = partial(self._sender.call, sdk, ask, arguments)
        said: str = left_waiting(call) if pauses else call()
        return said


class AsyncSession(Session):
    """Its client lives on a loop of its own."""

    def __enter__(self) -> Self:
        self._loop = LoopThread()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._loop.run(self._http.aclose())
        finally:
            self._loop.close()

    def _call(self, sdk: Any, ask: Ask, arguments: dict[str, Any], *, pauses: bool) -> str:  # noqa: ARG002 - it sleeps on the loop
        said: str = self._loop.run(self._sender.call(sdk, ask, arguments))
        return said
