"""Which call of an official SDK makes the request?"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl

from probes.api_paths import endpoint
from probes.written.node import joined
from probes.written.parts import Piece, pieces, place
from probes.written.python import literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from probes.complaint import Told


class _Method(NamedTuple):
    """`needs`: the arguments that it insists on; `takes`: those that it has by name, too. The rest of a body goes in by
    `extra_body`, which makes the same JSON.
    """

    name: str
    needs: str
    takes: str


_METHODS = {
    "/chat/completions": _Method(
        "chat.completions.create",
        "model messages",
        "max_tokens max_completion_tokens stream stream_options temperature top_p stop tools tool_choice response_format "
        "metadata reasoning_effort n seed user store",
    ),
    "/completions": _Method(
        "completions.create",
        "model prompt",
        "max_tokens stream stream_options temperature top_p stop n seed user",
    ),
    "/responses": _Method(
        "responses.create",
        "",
        "model input instructions max_output_tokens stream temperature top_p tools tool_choice metadata reasoning user "
        "store background",
    ),
    # Without its encoding the SDK asks for base64.
    "/embeddings": _Method("embeddings.create", "model input encoding_format", "user"),
    "/v1/messages": _Method(
        "messages.create",
        "model messages max_tokens",
        "stream system temperature top_p top_k stop_sequences tools tool_choice metadata thinking",
    ),
}
_OWN = frozenset(
    [
        "authorization",
        "x-api-key",
        "content-type",
        "accept",
        "accept-encoding",
        "host",
        "content-length",
        "connection",
        "anthropic-version",
        "idempotency-key",
    ]
)


class _Call(NamedTuple):
    api: str
    base_url: str
    method: _Method
    key: list[Piece]
    headers: dict[str, list[Piece]]
    query: dict[str, str]
    body: dict[str, Any]


def as_sdk(told: Told, language: Literal["python", "node"] = "python") -> str | None:
    """`None` where no call of the SDK makes it: another path, no JSON, or an argument missing that it insists on."""
    call = _call(told)
    if call is None:
        return None
    return _python(call, told) if language == "python" else _node(call, told)


def _call(told: Told) -> _Call | None:
    found = endpoint(told.url)
    if found is None or found.api is None or told.method != "POST":
        return None
    where, method = place(told.url), _METHODS[found.path]
    path, _, query = where.path.partition("?")
    try:
        body = json.loads(told.body)
    except (ValueError, RecursionError):
        return None
    if (
        not path.endswith(found.path)
        or not isinstance(body, dict)
        or not set(method.needs.split()) <= set(body)
    ):
        return None
    said = {name.lower(): value for name, value in told.headers}
    scheme, _, token = said.get("authorization", "").partition(" ")
    key = said.get("x-api-key") if found.api == "anthropic" else token if scheme.lower() == "bearer" else ""
    return _Call(
        found.api,
        f"{where.scheme}://{where.authority}{path.removesuffix(found.path)}",
        method,
        pieces(key or "none", told),
        {name: pieces(value, told) for name, value in told.headers if not _of_the_sdk(name, value)},
        dict(parse_qsl(query, keep_blank_values=True)),
        body,
    )


def _of_the_sdk(name: str, value: str) -> bool:
    name = name.lower()
    own_agent = name == "user-agent" and value.startswith(
        ("OpenAI/", "AsyncOpenAI/", "Anthropic/", "AsyncAnthropic/")
    )
    return name in _OWN or own_agent or name.startswith("x-stainless-")


# --- Python ----------------------------------------------------------------------------------------------


def _python(call: _Call, told: Told) -> str:
    name = "Anthropic" if call.api == "anthropic" else "OpenAI"
    arguments = _arguments(call, told)
    made = f"client.{call.method.name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    streamed = call.body.get("stream") is True
    shown = f"for event in {made}:\n    print(event)\n" if streamed else f"print({made})\n"
    code = f"client = {_client(call, name)}\n\n{shown}"
    needs = "import os\n\n" if "os.environ[" in code else ""
    return f"{needs}from {call.api} import {name}\n\n{code}"


def as_sdk_line(told: Told, client: str) -> str | None:
    """A line of a shell that makes the call as this client, such as `openai-py-async`; `None` as `as_sdk`."""
    call, (api, _, mode) = _call(told), client.partition("-py")
    if call is None or api != call.api or mode not in {"", "-async", "-aiohttp"}:
        return None
    made = f".{call.method.name}({', '.join(_arguments(call, told))})"
    name = "Anthropic" if call.api == "anthropic" else "OpenAI"
    streamed = call.body.get("stream") is True
    if not mode:
        code = f"import os, {api}; answer = {api}.{_client(call, name)}{made}; "
        code += "[print(event) for event in answer]" if streamed else "print(answer)"
    else:
        http = f", http_client={api}.DefaultAioHttpClient()" if mode == "-aiohttp" else ""
        answer = f"{api}.{_client(call, f'Async{name}', http)}{made}"
        inner = f"[print(event) async for event in await {answer}]" if streamed else f"print(await {answer})"
        code = f"import asyncio, os, {api}; exec({f'async def ask(): {inner}'!r}); asyncio.run(ask())"
    return shlex.join(["python", "-c", code])


def _client(call: _Call, name: str, more: str = "") -> str:
    return f"{name}(api_key={literal(call.key)}, base_url={call.base_url!r}, max_retries=0{more})"


def _arguments(call: _Call, told: Told) -> list[str]:
    known = {*call.method.needs.split(), *call.method.takes.split()}
    named = {key: value for key, value in call.body.items() if key in known}
    beside = {key: value for key, value in call.body.items() if key not in named}
    arguments = [f"{key}={_value(value, told, literal, repr)}" for key, value in named.items()]
    if beside:
        arguments.append(f"extra_body={_value(beside, told, literal, repr)}")
    if call.headers:
        each = ", ".join(f"{key!r}: {literal(value)}" for key, value in call.headers.items())
        arguments.append(f"extra_headers={{{each}}}")
    if call.query:
        arguments.append(f"extra_query={call.query!r}")
    return arguments


# --- JavaScript ------------------------------------------------------------------------------------------


def _node(call: _Call, told: Told) -> str:
    name, module = ("Anthropic", "@anthropic-ai/sdk") if call.api == "anthropic" else ("OpenAI", "openai")
    given = [f"apiKey: {joined(call.key)}", f"baseURL: {json.dumps(call.base_url)}", "maxRetries: 0"]
    if call.headers:
        each = ", ".join(f"{json.dumps(key)}: {joined(value)}" for key, value in call.headers.items())
        given.append(f"defaultHeaders: {{ {each} }}")
    if call.query:
        given.append(f"defaultQuery: {json.dumps(call.query)}")
    body = _value(call.body, told, joined, json.dumps)
    made = f"await client.{call.method.name}({body})"
    shown = (
        f"for await (const event of {made}) console.log(event)"
        if call.body.get("stream") is True
        else f"console.log({made})"
    )
    return f"import {name} from '{module}'\n\nconst client = new {name}({{ {', '.join(given)} }})\n{shown}\n"


# --- both ------------------------------------------------------------------------------------------------


def _value(value: Any, told: Told, text: Callable[[list[Piece]], str], plain: Callable[[Any], str]) -> str:
    """JSON as an expression of the language, the variables in its texts too."""
    if isinstance(value, str):
        return text(pieces(value, told))
    if isinstance(value, dict):
        rows = (f"{plain(key)}: {_value(item, told, text, plain)}" for key, item in value.items())
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item, told, text, plain) for item in value) + "]"
    return plain(value)
