"""Which request does an SDK make of its call's arguments, told as JSON?

    {"client": "openai-py", "version": "1.40.0", "base_url": "https://api.example.com/v1",
     "method": "chat.completions.create", "arguments": {"model": "m", "messages": [...]}}

or the arguments alone, where the API and its URL are told beside them.
"""

from __future__ import annotations

import json
from typing import Any

from probes import config
from probes.api_paths import ENDPOINTS
from probes.complaint import Told, reference
from probes.errors import UsageError, did_you_mean
from probes.imports import private
from probes.imports.plain import Plain, cleaned, unresolved
from probes.imports.taken import KEY, Taken
from probes.imports.whose import sent_by

_CLIENTS = {"openai": "openai-py", "anthropic": "anthropic-py"}
_METHODS = {
    "chat.completions.create": "/chat/completions",
    "chat.completions.parse": "/chat/completions",
    "chat.completions.stream": "/chat/completions",
    "beta.chat.completions.parse": "/chat/completions",
    "beta.chat.completions.stream": "/chat/completions",
    "completions.create": "/completions",
    "responses.create": "/responses",
    "responses.stream": "/responses",
    "embeddings.create": "/embeddings",
    "messages.create": "/messages",
    "messages.stream": "/messages",
    "models.list": "/models",
}
"""Of the official SDKs → the end of its path."""
_KEYS = frozenset({"client", "version", "base_url", "method", "arguments", "api_key", "headers"})
_OF_THE_CALL = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})


def told(text: str, taken: Taken, *, api: str | None = None, base_url: str | None = None) -> Told:
    """`api`, `base_url`: of the target, for a text that does not say them."""
    try:
        document = json.loads(cleaned(text))
    except (ValueError, RecursionError) as fault:
        at = f"line {fault.lineno}: " if isinstance(fault, json.JSONDecodeError) else ""
        raise UsageError(f"{at}is no JSON") from None
    if not isinstance(document, dict):
        raise UsageError("must be a JSON object: the call, or its arguments alone")
    call = document if "arguments" in document else {"arguments": document}
    for key in call:
        if key not in _KEYS:
            shown = private.without_keys(str(key))[:40]
            raise UsageError(f"{shown}: unknown key{did_you_mean(shown, _KEYS)}")
    if not isinstance(call["arguments"], dict):
        raise UsageError("arguments: must be an object")
    return private.told(_request(call, api, base_url), taken)


def _request(call: dict[str, Any], api: str | None, base_url: str | None) -> Plain:
    arguments = dict(call["arguments"])
    method = _method(call, arguments, api)
    end = _METHODS[method]
    whose = ENDPOINTS[end].api or api or "openai"
    name = _text(call, "client") or _CLIENTS[whose]
    known = config.clients()
    if name not in known:
        raise UsageError(
            f"client: {private.without_keys(name)[:40]!r} is not known{did_you_mean(name, known)}"
        )
    if known[name].api not in {None, whose}:
        raise UsageError(f"client: {name} has no {method}, which is of the API {whose}")
    url = _text(call, "base_url") or base_url
    if url is None:
        raise UsageError("base_url: is missing; say it here, or by --base-url or --target")
    path = f"/v1{end}" if whose == "anthropic" else end
    version = _text(call, "version")
    plain = Plain(
        "sdk", "GET" if end == "/models" else "POST", url.rstrip("/") + path, client=name, version=version
    )
    _spread(call, arguments, plain, method)
    own = sent_by(known[name], version)
    extra = {header.lower() for header, _ in plain.headers}
    plain.headers = [*((n, _with_key(v, call)) for n, v in own if n.lower() not in extra), *plain.headers]
    if plain.method == "POST":
        plain.body = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False).encode(
            "utf-8", "replace"
        )
    return plain


def _method(call: dict[str, Any], arguments: dict[str, Any], api: str | None) -> str:
    said = _text(call, "method")
    if said is not None:
        name = said.removeprefix("client.").removesuffix("()").replace("with_raw_response.", "")
        if name not in _METHODS:
            raise UsageError(
                f"method: {private.without_keys(name)[:60]!r} is not known{did_you_mean(name, _METHODS)}"
            )
        return name
    client = _text(call, "client") or ""
    if "messages" in arguments:
        anthropic = client.startswith("anthropic") or (not client and api == "anthropic")
        return "messages.create" if anthropic else "chat.completions.create"
    if "input" in arguments:
        return "responses.create"
    if "prompt" in arguments:
        return "completions.create"
    raise UsageError("method: is missing, and neither messages nor input nor prompt says what is called")


def _spread(call: dict[str, Any], arguments: dict[str, Any], plain: Plain, method: str) -> None:
    """What an SDK takes out of the arguments before they become the body."""
    extra = {key: arguments.pop(key) for key in _OF_THE_CALL if key in arguments}
    if method.endswith(".stream"):
        arguments["stream"] = True
    for rows in (call.get("headers"), extra.get("extra_headers")):
        for name, value in rows.items() if isinstance(rows, dict) else ():
            plain.headers.append((str(name), str(value)))
    if isinstance(extra.get("extra_body"), dict):
        arguments |= extra["extra_body"]
    if isinstance(extra.get("extra_query"), dict):
        pairs = "&".join(f"{name}={value}" for name, value in extra["extra_query"].items())
        plain.url += f"?{pairs}"
    if "timeout" in extra:
        plain.notes.append("the timeout of the call is left out")


def _with_key(value: str, call: dict[str, Any]) -> str:
    """The headers of the client with the key that was told; without one its place stays open."""
    return value.replace(reference(KEY), _text(call, "api_key") or unresolved(KEY))


def _text(call: dict[str, Any], key: str) -> str | None:
    value = call.get(key)
    if value is None or isinstance(value, str):
        return value or None
    raise UsageError(f"{key}: must be a text")
