"""Which command shows the same to somebody who does not have edgeprobe?"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from probes.clients import dialect
from probes.config import conversation
from probes.credentials import made_up_key
from probes.model import Ask, Reproduce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Case


def curl_command(
    case: Case, endpoint: str, headers: Mapping[str, str | None], data: str | None = None
) -> str:
    """A curl line with a made-up key and `headers`; fit to be pasted into a shell. `data`: `@-` for standard input."""
    route = case.target.routes[case.route]
    ask = Ask(endpoint, recipe="invalid", cap=1, key="made_up")
    auth = (
        f"x-api-key: {made_up_key('anthropic')}"
        if case.target.api == "anthropic"
        else f"authorization: Bearer {made_up_key('openai')}"
    )
    words = ["curl", "-sS", "-i", dialect.url(case.target, route, ask)]
    for name, value in headers.items():
        words += ["-A", value or ""] if name == "user-agent" else ["-H", f"{name}: {value or ''}"]
    words += [
        "-H",
        "content-type: application/json",
        "-H",
        auth,
        "-d" if data is None else "--data-binary",
        json.dumps(dialect.body(case.target, ask, "")) if data is None else data,
    ]
    if route.family is not None:
        words.append(f"-{route.family}")
    if route.connect_to:
        words += ["--connect-to", f"::{route.connect_to}"]
    return shlex.join(words)


def sized_command(case: Case, endpoint: str, size: int, headers: Mapping[str, str | None]) -> str:
    """The same with a body of `size` bytes, which the shell makes."""
    ask = Ask(endpoint, recipe="invalid", cap=1, filler=1, key="made_up")
    body = json.dumps(dialect.body(case.target, ask, "x"), separators=(",", ":"))
    at = body.index('"content":"') + len('"content":"')
    before, after = shlex.quote(body[:at]), shlex.quote(body[at + 1 :])
    many = size - len(body) + 1
    made = f"printf %s {before}; head -c {many} /dev/zero | tr '\\0' a; printf %s {after}"
    return f"{{ {made}; }} | {curl_command(case, endpoint, headers, data='@-')}"


_SDKS = {
    "openai_sdk": ("openai", "OpenAI", "chat.completions"),
    "anthropic_sdk": ("anthropic", "Anthropic", "messages"),
}


def python_command(case: Case, client: str) -> Reproduce:
    """The SDK itself, where the factor is one that only it carries; verified by the run, which did just this.

    Of an emulated client its headers, sent by plain httpx.
    """
    declared, target, url = case.client(client), case.target, case.target.routes[case.route].base_url
    key = made_up_key(target.api)
    if declared.kind in _SDKS:
        module, name, resource = _SDKS[declared.kind]
        given = f"api_key={key!r}, base_url={url!r}, max_retries=0"
        call = f".{resource}.create(model={target.model!r}, max_tokens=1, messages='edgeprobe')"
        if declared.mode == "sync":
            return _python(f"import {module}; {module}.{name}({given}){call}", verified=True)
        http = f", http_client={module}.DefaultAioHttpClient()" if declared.mode == "aiohttp" else ""
        run = f"asyncio.run({module}.Async{name}({given}{http}){call})"
        return _python(f"import asyncio, {module}; {run}", verified=True)
    sent = {
        name: value.replace("{key}", key)
        for name, value in declared.headers
        if name.lower() not in {"host", "content-length"}
    }
    where = dialect.url(target, case.target.routes[case.route], Ask(conversation(target)))
    code = f"import httpx; print(httpx.post({where!r}, headers={sent!r}, json={{'messages': 'edgeprobe'}}))"
    return _python(code, verified=False)


def _python(code: str, *, verified: bool) -> Reproduce:
    return Reproduce(shlex.join(["python", "-c", code]), verified=verified)
