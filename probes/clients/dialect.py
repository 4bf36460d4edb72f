"""What does an `Ask` become in the dialect of each API?"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from probes.budget import FILLER_BYTES
from probes.clients import reasoning, tool
from probes.clients.filler import filler
from probes.complaint import reference
from probes.credentials import made_up_key

if TYPE_CHECKING:
    from probes.credentials import Secrets
    from probes.model import Ask, Raw, Route, Target

PATHS = {
    ("openai", "chat"): "/chat/completions",
    ("openai", "responses"): "/responses",
    ("openai", "models"): "/models",
    ("anthropic", "messages"): "/v1/messages",
    ("anthropic", "models"): "/v1/models",
}
JSON = (("content-type", "application/json"), ("accept", "application/json"))
ANTHROPIC_VERSION = "2023-06-01"  # what its documentation tells users of plain HTTP to send
_HELLO = "Say hello in one short sentence."
_COUNT = (
    "Count upwards from one in English words, one number per line: one, two, three, and so on. "
    "Do not stop, do not summarise, do not skip a number; go on until you are cut off."
)
_PONDER = (
    "Think it through from the beginning, step by step and with every intermediate result: find all ways to place eight "
    "queens on a chessboard so that none attacks another, and prove for each that it is one. Do not stop early. "
)
_SCRIPT = (
    "Repeat this line three times, character for character, and say nothing else: "
    "Zürich, Łódź, Ελλάδα, Москва, 東京, 서울, القاهرة, 🙂🚀."
)


def url(target: Target, route: Route, ask: Ask) -> str:
    """The full URL, `base_url` being as the API's SDK takes it."""
    path = PATHS[target.api, ask.endpoint]
    if ask.fetches is not None:
        path += f"/{quote(ask.fetches, safe='')}?stream=true"
    return route.base_url.rstrip("/") + path


def method(ask: Ask) -> str:
    return "GET" if ask.endpoint == "models" or ask.fetches is not None else "POST"


def body(target: Target, ask: Ask, salt: str) -> dict[str, Any]:
    """The JSON body, which is also the SDK call's keyword arguments, see `reasoning.as_arguments`.

    The salt stands first, so that no prefix cache can answer for the model. Beside a filler it is another message that
    is invalid: some servers repeat what they refuse (https://github.com/vllm-project/vllm quotes pydantic's `input`).
    """
    if ask.given is not None:
        return dict(ask.given)
    said = _said(ask, salt)
    invalid = ask.recipe == "invalid"
    if ask.endpoint == "responses":
        # A string is good input here, so what is refused by its type is a number.
        out: dict[str, Any] = {
            "model": ask.model or target.model,
            "input": 0 if invalid else said,
            "max_output_tokens": ask.cap,
        }
        called = tool.body("responses") if ask.recipe == "tool" else {}
        if ask.kept:
            # https://developers.openai.com/api/docs/guides/background: only what is stored goes on without its client.
            out |= {"background": True, "store": True}
        out |= _placed(ask)
        return out | called | ({"stream": True} if ask.stream else {}) | reasoning.effort(target, ask)
    messages: Any = [{"role": "user", "content": _marked(said) if _marks(target, ask) else said}]
    if invalid:
        filled = {"role": "user", "content": filler(ask.filler, salt)}
        messages = [filled, "edgeprobe"] if ask.filler else "edgeprobe"
    out = {"model": ask.model or target.model, "messages": messages, ask.cap_name: ask.cap}
    if ask.stream:
        out["stream"] = True
        if target.api == "openai" and ask.usage:
            out["stream_options"] = {"include_usage": True}
    if ask.endless and target.api == "openai":
        # https://docs.vllm.ai/en/v0.11.0/serving/openai_compatible_server.html, extra parameters; SGLang has both, too.
        out |= {"ignore_eos": True, "min_tokens": ask.cap}
    out |= _placed(ask)
    if ask.recipe == "tool":
        out |= tool.body(ask.endpoint)
    return out | (reasoning.effort(target, ask) or reasoning.off(target, ask))


def _said(ask: Ask, salt: str) -> str:
    texts = {"count": _COUNT, "ponder": _PONDER + _COUNT, "script": _SCRIPT, "tool": tool.QUESTION}
    text = texts.get(ask.recipe, _HELLO)
    if ask.prompt_tokens:
        text = f"{filler(ask.prompt_tokens * FILLER_BYTES, salt)}\n\n{text}"
    text = f"[{salt}] {text}" if salt else text
    if ask.arm == "broken":
        return f"{ask.line}\n{text}"
    return f"{text}\n{ask.line}" if ask.arm == "moved" else text


def _placed(ask: Ask) -> dict[str, str]:
    """https://platform.openai.com/docs/guides/prompt-caching: which replica takes it."""
    return {} if ask.cache_key is None else {"prompt_cache_key": ask.cache_key}


def _marks(target: Target, ask: Ask) -> bool:
    """https://platform.claude.com/docs/en/build-with-claude/prompt-caching: nothing is cached unasked."""
    return target.api == "anthropic" and ask.arm is not None and ask.prompt_tokens > 0


def _marked(said: str) -> list[dict[str, Any]]:
    """In two parts, the first of them up to the question and to be cached."""
    first, gap, question = said.partition("\n\n")
    return [
        {"type": "text", "text": first + gap, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": question},
    ]


def encoded(target: Target, ask: Ask, salt: str) -> bytes:
    plain = json.dumps(body(target, ask, salt), separators=(",", ":"), ensure_ascii=False).encode()
    return gzip.compress(plain, mtime=0) if ask.gzipped else plain


def key(target: Target, request: Ask | Raw, secrets: Secrets) -> str:
    return made_up_key(target.api) if request.key == "made_up" else secrets.key(target)


def headers(target: Target, route: Route, ask: Ask, secrets: Secrets) -> list[tuple[str, str]]:
    """What a user of plain HTTP sends, by the API's own documentation, and the route's own headers."""
    coding = [("content-encoding", "gzip")] if ask.gzipped else []
    return [("content-type", "application/json"), *coding, *_own(target, route, ask, secrets)]


def filled(raw: Raw, secrets: Secrets) -> Raw:
    """With the values of the variables that it names; for the wire alone."""
    if not raw.secrets:
        return raw
    values = {reference(name): secrets.value(name, "a secret of the request") for name in raw.secrets}

    def text(said: str) -> str:
        for token, value in values.items():
            said = said.replace(token, value)
        return said

    body = raw.body
    for token, value in values.items():
        body = body.replace(token.encode(), value.encode())
    headers = tuple((name, text(value)) for name, value in raw.headers)
    return replace(raw, path=text(raw.path), headers=headers, body=body)


def raw_url(route: Route, raw: Raw) -> str:
    base = route.base_url.rstrip("/")
    if raw.rooted:
        parts = urlsplit(base)
        base = f"{parts.scheme}://{parts.netloc}"
    return base + raw.path


def raw_headers(target: Target, route: Route, raw: Raw, secrets: Secrets) -> tuple[tuple[str, str], ...]:
    """Those given, and with a key the API's and the route's own."""
    return raw.headers if raw.key is None else (*raw.headers, *_own(target, route, raw, secrets))


def _own(target: Target, route: Route, request: Ask | Raw, secrets: Secrets) -> list[tuple[str, str]]:
    value = key(target, request, secrets)
    if target.api == "anthropic":
        auth = [("x-api-key", value), ("anthropic-version", ANTHROPIC_VERSION)]
    else:
        auth = [("authorization", f"Bearer {value}")]
    return [*auth, *secrets.headers(route).items()]
