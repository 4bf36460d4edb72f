"""Which call of an official SDK makes the request?"""

from __future__ import annotations

import json
import shlex
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from probes.api_paths import endpoint
from probes.written.node import OVER_1_1, joined
from probes.written.parts import Line, Piece, headers, pieces, place
from probes.written.python import literal
from probes.written.sdk_own import Version, is_own, version

if TYPE_CHECKING:
    from collections.abc import Callable

    from probes.complaint import Told
    from probes.written.sdk_own import Language


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
_UNSENDABLE = {
    "python": frozenset({"transfer-encoding"}),
    "node": frozenset({"connection", "expect", "host", "transfer-encoding"}),
}
"""Headers that what lies below an SDK makes itself or refuses."""


_WITHOUT_PROXIES = {"openai": (1, 55, 3), "anthropic": (0, 40, 0)}
_DECODED = "unquote_plus({})"
_DECODED_IN_NODE = "decodeURIComponent({}.replaceAll('+', ' '))"
"""A variable is spelt as in a URL, and the SDK spells it so once more."""


class _Call(NamedTuple):
    api: str
    base_url: list[Piece]
    method: _Method
    key: list[Piece]
    headers: dict[str, list[Piece]]
    query: dict[str, list[Piece]]
    body: dict[str, Any]


def as_sdk(told: Told, language: Language = "python") -> str | None:
    """`None` where no call of the SDK makes it: another path, no JSON, an argument missing that it insists on, a header
    or a way to the host that it has not.
    """
    call = _call(told, language)
    if call is None:
        return None
    return _python(call, told) if language == "python" else _node(call, told)


def _call(told: Told, language: Language) -> _Call | None:
    found = endpoint(told.url)
    if found is None or found.api is None or told.method != "POST":
        return None
    if told.connect_to or told.proxy or told.family is not None:
        return None
    where, method = place(told.url), _METHODS[found.path]
    path, _, search = where.path.partition("?")
    query = parse_qsl(search, keep_blank_values=True)
    try:
        body = json.loads(told.body)
    except (ValueError, RecursionError):
        return None
    if (
        not path.endswith(found.path)
        or not isinstance(body, dict)
        or not set(method.needs.split()) <= set(body)
        or len(dict(query)) < len(query)
    ):
        return None
    lines, known = headers(told), version(told, language)
    if not _sendable(lines, language) or (
        known is not None and known.number.startswith("0.") and known.api == "openai"
    ):
        return None
    key, own = _key(lines, found.api)
    return _Call(
        found.api,
        pieces(f"{where.scheme}://{where.authority}{path.removesuffix(found.path)}", told),
        method,
        key,
        {
            line.name: line.value
            for line in lines
            if line.name.lower() != own
            and not is_own(line.name, "".join(part.text for part in line.value), told, found.api, language)
        },
        {name: pieces(value, told) for name, value in query},
        body,
    )


def _sendable(lines: list[Line], language: Language) -> bool:
    """By a mapping of names to texts in ASCII."""
    named = [line.name.lower() for line in lines if line != Line(line.name, [Piece("keep-alive")])]
    return (
        len(set(named)) == len(named)
        and not _UNSENDABLE[language] & set(named)
        and all(part.text.isascii() for line in lines for part in line.value)
    )


def _key(lines: list[Line], api: str) -> tuple[list[Piece], str]:
    """The key that the SDK is given, and the header that it makes of it: another one with a key, or another scheme, is
    sent beside it.
    """
    said = {line.name.lower(): line.value for line in lines}
    plain = said.get("x-api-key")
    scheme = said.get("authorization") or [Piece("")]
    bearer = None
    if not scheme[0].variable and scheme[0].text.lower().startswith("bearer "):
        rest = scheme[0].text[len("bearer ") :]
        bearer = [*([Piece(rest)] if rest else []), *scheme[1:]]
    if api == "anthropic":
        return plain or bearer or [Piece("none")], "x-api-key" if plain else ""
    return bearer or plain or [Piece("none")], "authorization" if bearer else ""


# --- Python ----------------------------------------------------------------------------------------------


def _python(call: _Call, told: Told) -> str:
    name = "Anthropic" if call.api == "anthropic" else "OpenAI"
    arguments = _arguments(call, told)
    made = f"client.{call.method.name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    streamed = call.body.get("stream") is True
    shown = f"for event in {made}:\n    print(event)\n" if streamed else f"print({made})\n"
    code = f"client = {_client(call, name)}\n\ntry:\n{indent(shown, '    ')}{_STATUS}"
    needs = "import os\n" if "os.environ[" in code else ""
    needs += "from urllib.parse import unquote_plus\n" if "unquote_plus(" in code else ""
    needs += "\n" if needs else ""
    return f"{_head(told, call)}{needs}from {call.api} import {name}, APIStatusError\n\n{code}"


_STATUS = "except APIStatusError as refused:\n    print('HTTP', refused.status_code)\n    raise\n"
"""Of an answer that is a page the SDK says no status."""


def _head(told: Told, call: _Call) -> str:
    """How it is run, with the version that was told."""
    known, said = version(told, "python"), _limits(told, "#")
    exact = f"=={known.number}{_older(known)}" if known is not None and known.api == call.api else ""
    return f"{said}# uv run --with {call.api}{exact} python FILE\n"


def _limits(told: Told, mark: str) -> str:
    return f"{mark} {OVER_1_1}\n" if told.http_version == "2" else ""


def _older(known: Version) -> str:
    """What it breaks on today: it sets `proxies`, which httpx has no more."""
    number = tuple(int(part) for part in known.number.split(".")[:3])
    return " --with 'httpx<0.28'" if number < _WITHOUT_PROXIES[known.api] else ""


def as_sdk_line(told: Told, client: str) -> str | None:
    """A line of a shell that makes the call as this client, such as `openai-py-async`; `None` as `as_sdk`."""
    call, (api, _, mode) = _call(told, "python"), client.partition("-py")
    if call is None or api != call.api or mode not in {"", "-async", "-aiohttp"}:
        return None
    made = f".{call.method.name}({', '.join(_arguments(call, told))})"
    name = "Anthropic" if call.api == "anthropic" else "OpenAI"
    needs = "from urllib.parse import unquote_plus; " if call.query else ""
    streamed = call.body.get("stream") is True
    if not mode:
        code = f"import os, {api}; {needs}answer = {api}.{_client(call, name)}{made}; "
        code += "[print(event) for event in answer]" if streamed else "print(answer)"
    else:
        http = f", http_client={api}.DefaultAioHttpClient()" if mode == "-aiohttp" else ""
        answer = f"{api}.{_client(call, f'Async{name}', http)}{made}"
        inner = f"[print(event) async for event in await {answer}]" if streamed else f"print(await {answer})"
        code = f"import asyncio, os, {api}; {needs}exec({f'async def ask(): {inner}'!r}); asyncio.run(ask())"
    return shlex.join(["python", "-c", code])


def _client(call: _Call, name: str, more: str = "") -> str:
    return f"{name}(api_key={literal(call.key)}, base_url={literal(call.base_url)}, max_retries=0{more})"


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
        each = ", ".join(f"{key!r}: {literal(value, _DECODED)}" for key, value in call.query.items())
        arguments.append(f"extra_query={{{each}}}")
    return arguments


# --- JavaScript ------------------------------------------------------------------------------------------


def _node(call: _Call, told: Told) -> str:
    name, module = ("Anthropic", "@anthropic-ai/sdk") if call.api == "anthropic" else ("OpenAI", "openai")
    given = [f"apiKey: {joined(call.key)}", f"baseURL: {joined(call.base_url)}", "maxRetries: 0"]
    if call.headers:
        each = ", ".join(f"{json.dumps(key)}: {joined(value)}" for key, value in call.headers.items())
        given.append(f"defaultHeaders: {{ {each} }}")
    if call.query:
        each = ", ".join(
            f"{json.dumps(key)}: {joined(value, _DECODED_IN_NODE)}" for key, value in call.query.items()
        )
        given.append(f"defaultQuery: {{ {each} }}")
    body = _value(call.body, told, joined, json.dumps)
    made = f"await client.{call.method.name}({body})"
    shown = (
        f"for await (const event of {made}) console.log(event)"
        if call.body.get("stream") is True
        else f"console.log({made})"
    )
    known = version(told, "node")
    exact = f"@{known.number}" if known is not None and known.api == call.api else ""
    head = f"{_limits(told, '//')}// npm install {module}{exact}\n"
    return f"{head}import {name} from '{module}'\n\nconst client = new {name}({{ {', '.join(given)} }})\n{shown}\n"


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
