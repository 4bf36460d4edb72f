"""How would a client send that is not here, by its headers alone?

The row of `configs/clients.yaml` gives names, values, order and case; the TLS, the HTTP framing and the timing are those
of plain httpx, so what is found of such a client holds for its headers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.clients import dialect, raw_httpx
from probes.model import Ask
from probes.wire.codings import decoder

if TYPE_CHECKING:
    import httpx

    from probes.model import Request, Route


class Sender(raw_httpx.Sender):
    @staticmethod
    def version() -> str | None:
        """The row's; what sends is ours."""
        return None

    @staticmethod
    def user_agent() -> str | None:
        """The row's."""
        return None

    def connect(self, route: Route) -> Session:
        return Session(self._setting, route)


class Session(raw_httpx.Session):
    def _order(self, request: Request) -> list[str]:
        return [name.lower() for name, _ in self._row(request)] if isinstance(request, Ask) else []

    def _asked(self, ask: Ask, salt: str) -> httpx.Request:
        """The request that httpx would make, with its headers replaced: those of the row, then the route's."""
        built = super()._asked(ask, salt)
        setting = self._setting
        filled = {
            "{host}": built.headers["host"],
            "{length}": built.headers.get("content-length", "0"),
            "{key}": dialect.key(setting.target, ask, setting.secrets),
        }
        headers = [(name, _filled(value, filled)) for name, value in self._row(ask)]
        built.headers = type(built.headers)([*headers, *setting.secrets.headers(self._route).items()])
        return built

    def _row(self, ask: Ask) -> list[tuple[str, str]]:
        """Without what describes a body where there is none, and with the key as the target's dialect sends it."""
        client, target = self._setting.client, self._setting.target
        rows = [
            (name, _readable(value) if name.lower() == "accept-encoding" else value)
            for name, value in client.headers
        ]
        if dialect.method(ask) == "GET":
            rows = [(name, value) for name, value in rows if not name.lower().startswith("content-")]
        if client.api is None and target.api == "anthropic":
            at = next(i for i, (name, _) in enumerate(rows) if name.lower() == "authorization")
            rows[at : at + 1] = [("x-api-key", "{key}"), ("anthropic-version", dialect.ANTHROPIC_VERSION)]
        return rows


def _readable(codings: str) -> str:
    """Without the codings that can't be read here, such as br: an answer in one of them would say nothing.

    No library that reads them is installed for it, since httpx would then offer them for every client.
    """
    offered = codings.split(",")
    left = [each for each in offered if _known(each.partition(";")[0].strip())]
    return ",".join(left).strip()


def _known(coding: str) -> bool:
    return coding in {"identity", "*"} or decoder(coding) is not None


def _filled(value: str, filled: dict[str, str]) -> str:
    for token, text in filled.items():
        value = value.replace(token, text)
    return value
