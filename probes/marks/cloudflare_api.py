"""What does Cloudflare's API answer to a token that may only read?

By its official library, which is loaded when it is used. Nothing is asked twice, and what goes wrong is an Unread.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from probes.credentials import Secrets
from probes.errors import UsageError
from probes.redact import Redactor, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from cloudflare import Cloudflare

TOKEN_ENV = "CLOUDFLARE_API_TOKEN"  # noqa: S105 - the variable's name
TIMEOUT = 30.0
MOST_PAGES, PAGE = 100, 100
_SAID = 200
AUDIT, EVENTS = "Account Settings: Read", "Analytics: Read of that zone"
_STATUS = {
    400: "the request is refused",
    401: "the token is not taken",
    403: "the token may not read this: it needs {needs}",
    404: "there is no such account, or the token does not see it",
    429: "too many requests",
}
_MISTAKES = frozenset({400, 401, 403, 404})


class Unread(Exception):  # noqa: N818 - what was asked for was not read
    """Why; `mistake`: the operator's to mend, such as a token without its permission."""

    def __init__(self, text: str, *, mistake: bool = False) -> None:
        super().__init__(text)
        self.mistake = mistake


class Api:
    """`base_url` is the library's own, so is the variable CLOUDFLARE_BASE_URL that stands for it."""

    def __init__(self, token: str, base_url: str | None = None) -> None:
        try:
            from cloudflare import Cloudflare  # noqa: PLC0415 - a second, and an extra
        except ModuleNotFoundError as missing:
            raise UsageError(
                f"Cloudflare's API is asked by {missing.name}: pip install 'edgeprobe[cloudflare]'"
            ) from None
        self._client: Cloudflare = Cloudflare(
            api_token=token, base_url=base_url, max_retries=0, timeout=TIMEOUT
        )
        # Taken from the environment, each goes in the token's place (`Cloudflare.auth_headers`).
        self._client.api_email = self._client.api_key = self._client.user_service_key = None
        self._redactor = Redactor([token])

    @classmethod
    def from_env(cls, variable: str | None) -> Self:
        """With the token in it, by default in TOKEN_ENV; UsageError where it is not set."""
        return cls(Secrets().value(variable or TOKEN_ENV, "a token for Cloudflare's API that may only read"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def audit_log(self, account: str, since: datetime, before: datetime) -> Iterator[list[dict[str, Any]]]:
        """Its pages, the newest first: changes that were not only looked at and did not fail."""
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            page = self._page(account, since, before, cursor)
            found = [entry for entry in page["result"] if isinstance(entry, dict)]
            yield found
            cursor = _cursor(page)
            if cursor is None or not found:
                return
            if cursor in seen:
                raise Unread("its pages go in circles")
            seen.add(cursor)
        raise Unread(f"it has more than {MOST_PAGES * PAGE:,} entries of that time; ask for less of it")

    def _page(self, account: str, since: datetime, before: datetime, cursor: str | None) -> dict[str, Any]:
        from cloudflare import omit  # noqa: PLC0415 - as above

        with self._asking(AUDIT):
            answer = self._client.accounts.logs.audit.with_raw_response.list(
                account_id=account,
                since=_written(since),
                before=_written(before),
                action_result={"not": ["failure"]},
                action_type={"not": ["view"]},
                direction="desc",
                limit=PAGE,
                cursor=cursor or omit,
            )
        page = _document(answer.http_response.content)
        if page.get("success") is False:
            raise Unread(self._said(page) or "it says that it failed, and not why")
        result = page.get("result")
        if not isinstance(result, list) and (result is not None or page.get("success") is not True):
            raise Unread("its answer is none of an audit log")
        return {**page, "result": result or []}

    def firewall_events(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Of the one zone that a GraphQL query asks for: alias → what came."""
        from httpx import Response  # noqa: PLC0415 - as above

        with self._asking(EVENTS):
            answer = self._client.post(
                "/graphql", cast_to=Response, body={"query": query, "variables": dict(variables)}
            )
        page = _document(answer.content)
        if said := self._said(page):
            raise _refused(said, page)
        viewer = (page.get("data") or {}).get("viewer") if isinstance(page.get("data"), dict) else None
        zones = viewer.get("zones") if isinstance(viewer, dict) else None
        if not isinstance(zones, list):
            raise Unread("its answer is none of firewall events")
        if not zones or not isinstance(zones[0], dict):
            raise Unread("the token does not see that zone", mistake=True)
        return zones[0]

    @contextmanager
    def _asking(self, needs: str) -> Iterator[None]:
        import cloudflare  # noqa: PLC0415 - as above

        try:
            yield
        except cloudflare.APIStatusError as fault:
            raise self._by_status(fault, needs) from None
        except cloudflare.APITimeoutError:
            raise Unread(f"no answer within {TIMEOUT:g} s") from None
        except cloudflare.APIConnectionError as fault:
            cause = fault.__cause__
            why = f": {type(cause).__name__}: {cause}" if cause is not None else ""
            raise Unread(self._clean(f"no connection, or no whole answer{why}")) from None

    def _by_status(self, fault: Any, needs: str) -> Unread:
        status = fault.status_code
        text = f"{status}, {_STATUS[status].format(needs=needs)}" if status in _STATUS else f"{status}"
        if status == 429 and (wait := fault.response.headers.get("retry-after")):
            text += f"; it asks to wait {self._clean(wait)} s"
        said = self._said(fault.body) if isinstance(fault.body, dict) else ""
        return Unread(f"{text}{f' ({said})' if said else ''}", mistake=status in _MISTAKES)

    def _said(self, page: Mapping[str, Any]) -> str:
        """The messages of its errors."""
        errors = page.get("errors")
        rows = errors if isinstance(errors, list) else []
        messages = [row.get("message") for row in rows if isinstance(row, dict)]
        return self._clean("; ".join(text for text in messages if isinstance(text, str)))

    def _clean(self, text: str) -> str:
        said = safe_text(" ".join(self._redactor.text(text).split()))
        return said if len(said) <= _SAID else f"{said[:_SAID]}…"


def _refused(said: str, page: Mapping[str, Any]) -> Unread:
    """GraphQL says under status 200 that a token may not ask."""
    rows = [row.get("extensions") for row in page["errors"] if isinstance(row, dict)]
    codes = {row.get("code") for row in rows if isinstance(row, dict) and isinstance(row.get("code"), str)}
    if codes & {"authz", "authn"} or "not authorized" in said or "does not have access" in said:
        return Unread(f"the token may not read this: it needs {EVENTS} ({said})", mistake=True)
    return Unread(said)


def _document(body: bytes) -> dict[str, Any]:
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict):
        raise Unread("its answer is no JSON object")
    return page


def _cursor(page: Mapping[str, Any]) -> str | None:
    """Documented as `result_info.cursor`; the library's own pages look for `result_info.cursors.after` alone, and end
    after the first.
    """
    info = page.get("result_info")
    if not isinstance(info, dict):
        return None
    cursors = info.get("cursors")
    found: Sequence[Any] = (info.get("cursor"), cursors.get("after") if isinstance(cursors, dict) else None)
    return next((cursor for cursor in found if isinstance(cursor, str) and cursor), None)


def _written(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
