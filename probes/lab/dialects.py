"""What do the OpenAI and Anthropic APIs say, and in which words?

Shapes as of openai-python 3.57 and anthropic-sdk-python 2.14 (`types/`), error bodies as the two services send them
(https://platform.openai.com/docs/guides/error-codes, https://docs.claude.com/en/api/errors).
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.lab.jobs import Job

CREATED = 1_764_000_000


class Refusal(Exception):  # noqa: N818 - it says what the API does
    """A request the API does not take; `param` and `code` are said in OpenAI's dialect alone."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code


class Dialect(Protocol):
    id_header: str
    id_prefix: str
    caches_unasked: bool

    def check(self, body: Mapping[str, Any], fields: Mapping[str, str]) -> None: ...
    def refusal(self, fault: Refusal, request_id: str) -> dict[str, Any]: ...
    def answer(self, job: Job) -> dict[str, Any]: ...
    def opening(self, job: Job) -> Iterator[bytes]: ...
    def token(self, job: Job, n: int, text: str) -> bytes: ...
    def closing(self, job: Job) -> Iterator[bytes]: ...
    def models(self, model: str) -> dict[str, Any]: ...
    def bad_key(self, key: str | None) -> Refusal: ...


class OpenAI:
    id_header = "x-request-id"
    id_prefix = "chatcmpl-"
    caches_unasked = True

    def check(self, body: Mapping[str, Any], fields: Mapping[str, str]) -> None:  # noqa: ARG002 - Anthropic looks
        bad = HTTPStatus.BAD_REQUEST
        if not isinstance(body.get("model"), str):
            raise Refusal(bad, "you must provide a model parameter")
        if "messages" not in body:
            message = "Missing required parameter: 'messages'."
            raise Refusal(bad, message, param="messages", code="missing_required_parameter")
        if not is_messages(body["messages"]):
            got = "a string" if isinstance(body["messages"], str) else "something else"
            message = f"Invalid type for 'messages': expected an array of objects, but got {got} instead."
            raise Refusal(bad, message, param="messages", code="invalid_type")
        for param in ("max_tokens", "max_completion_tokens"):
            if not is_cap(body.get(param)):
                message = f"Invalid value for '{param}': expected an integer above 0."
                raise Refusal(bad, message, param=param, code="invalid_value")

    def refusal(self, fault: Refusal, request_id: str) -> dict[str, Any]:  # noqa: ARG002 - Anthropic repeats it
        return {
            "error": {
                "message": fault.message,
                "type": "invalid_request_error",
                "param": fault.param,
                "code": fault.code,
            }
        }

    def bad_key(self, key: str | None) -> Refusal:
        if not key:
            message = "You didn't provide an API key. Provide it in an Authorization header: Bearer YOUR_KEY."
            return Refusal(HTTPStatus.UNAUTHORIZED, message)
        masked = key if len(key) <= 8 else f"{key[:4]}{'*' * (len(key) - 8)}{key[-4:]}"
        message = f"Incorrect API key provided: {masked}."
        return Refusal(HTTPStatus.UNAUTHORIZED, message, code="invalid_api_key")

    def answer(self, job: Job) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": job.text, "refusal": None}
        if job.tool:
            message |= {"content": None, "tool_calls": [_call(job, job.text)]}
        if job.thinks:
            message["reasoning_content"] = job.thought
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": job.finish}
        usage = {"usage": _openai_usage(job)} if job.counts else {}
        return {**_openai_envelope(job, "chat.completion"), "choices": [choice], **usage}

    def opening(self, job: Job) -> Iterator[bytes]:
        if job.role:
            yield self._chunk(job, {"role": "assistant", "content": ""})

    def token(self, job: Job, n: int, text: str) -> bytes:
        if n < job.thinks:
            return self._chunk(job, {"reasoning_content": text})
        if not job.tool:
            return self._chunk(job, {"content": text})
        call = _call(job, text) if n == job.thinks else {"function": {"arguments": text}}
        return self._chunk(job, {"tool_calls": [{"index": 0, **call}]})

    def closing(self, job: Job) -> Iterator[bytes]:
        yield self._chunk(job, {}, job.finish)
        if job.include_usage:
            envelope = _openai_envelope(job, "chat.completion.chunk")
            yield _data({**envelope, "choices": [], "usage": _openai_usage(job)})
        yield b"data: [DONE]\n\n"

    def models(self, model: str) -> dict[str, Any]:
        return {
            "object": "list",
            "data": [{"id": model, "object": "model", "created": CREATED, "owned_by": "lab"}],
        }

    def _chunk(self, job: Job, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if job.include_usage else {}
        return _data({**_openai_envelope(job, "chat.completion.chunk"), "choices": [choice], **usage})


class Anthropic:
    id_header = "request-id"
    id_prefix = "msg_"
    caches_unasked = False

    def check(self, body: Mapping[str, Any], fields: Mapping[str, str]) -> None:
        problem = None
        if "anthropic-version" not in fields:
            problem = "anthropic-version: header is required"
        elif not isinstance(body.get("model"), str):
            problem = "model: Field required"
        elif body.get("max_tokens") is None:
            problem = "max_tokens: Field required"
        elif not is_cap(body["max_tokens"]):
            problem = "max_tokens: Input should be a valid integer above 0"
        elif not is_messages(body.get("messages")):
            problem = (
                "messages: Input should be a valid list" if "messages" in body else "messages: Field required"
            )
        if problem:
            raise Refusal(HTTPStatus.BAD_REQUEST, problem)

    def refusal(self, fault: Refusal, request_id: str) -> dict[str, Any]:
        kinds: dict[int, str] = {401: "authentication_error", 404: "not_found_error"}
        error = {"type": kinds.get(fault.status, "invalid_request_error"), "message": fault.message}
        return {"type": "error", "error": error, "request_id": request_id}

    def bad_key(self, key: str | None) -> Refusal:
        message = "invalid x-api-key" if key else "x-api-key header is required"
        return Refusal(HTTPStatus.UNAUTHORIZED, message)

    def answer(self, job: Job) -> dict[str, Any]:
        block = {**_tool_use(job), "input": _input(job)} if job.tool else {"type": "text", "text": job.text}
        return {**self._message(job), "content": [block], **self._end(job)}

    def opening(self, job: Job) -> Iterator[bytes]:
        yield event("message_start", message=self._message(job))
        if not job.thinks:
            yield self._begun(job, 0)
        else:
            yield event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
        yield event("ping")

    def token(self, job: Job, n: int, text: str) -> bytes:
        if n < job.thinks:
            return event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": text})
        block = 1 if job.thinks else 0
        between = b""
        if job.thinks and n == job.thinks:
            between = event("content_block_stop", index=0) + self._begun(job, block)
        field = (
            {"type": "input_json_delta", "partial_json": text}
            if job.tool
            else {"type": "text_delta", "text": text}
        )
        return between + event("content_block_delta", index=block, delta=field)

    @staticmethod
    def _begun(job: Job, index: int) -> bytes:
        block = _tool_use(job) if job.tool else {"type": "text", "text": ""}
        return event("content_block_start", index=index, content_block=block)

    def closing(self, job: Job) -> Iterator[bytes]:
        yield event("content_block_stop", index=1 if job.thinks else 0)
        end = self._end(job)
        usage = {"usage": {"output_tokens": len(job.tokens)}} if job.counts else {}
        if job.last:
            usage = _anthropic_usage(job, len(job.tokens))
        yield event("message_delta", delta={k: v for k, v in end.items() if k != "usage"}, **usage)
        yield event("message_stop")

    def models(self, model: str) -> dict[str, Any]:
        one = {"type": "model", "id": model, "display_name": model, "created_at": "2026-08-01T00:00:00Z"}
        return {"data": [one], "has_more": False, "first_id": model, "last_id": model}

    def _message(self, job: Job) -> dict[str, Any]:
        shape = {"id": job.id, "type": "message", "role": "assistant", "model": job.model, "content": []}
        usage = {"usage": {"input_tokens": 0, "output_tokens": 0}} if job.last else _anthropic_usage(job, 1)
        return {**shape, "stop_reason": None, "stop_sequence": None, **usage}

    def _end(self, job: Job) -> dict[str, Any]:
        reason = _STOP_REASONS.get(job.finish or "")
        return {"stop_reason": reason, "stop_sequence": None, **_anthropic_usage(job, len(job.tokens))}


_STOP_REASONS = {"length": "max_tokens", "stop": "end_turn", "tool_calls": "tool_use"}


def _call(job: Job, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_{job.id}",
        "type": "function",
        "function": {"name": job.tool, "arguments": arguments},
    }


def _tool_use(job: Job) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{job.id}", "name": job.tool, "input": {}}


def _input(job: Job) -> dict[str, Any]:
    """None where the cap cut the arguments short."""
    parsed = json.loads(job.text) if job.finish == "tool_calls" else {}
    return parsed if isinstance(parsed, dict) else {}


def _anthropic_usage(job: Job, said: int) -> dict[str, Any]:
    if not job.counts:
        return {}
    tokens = {"input_tokens": job.prompt_tokens}
    if job.cached is not None:
        tokens = {
            "input_tokens": job.prompt_tokens - job.cached - job.written,
            "cache_creation_input_tokens": job.written,
            "cache_read_input_tokens": job.cached,
        }
    return {"usage": {**tokens, "output_tokens": said}}


def _openai_envelope(job: Job, kind: str) -> dict[str, Any]:
    return {"id": job.id, "object": kind, "created": CREATED, "model": job.model}


def _openai_usage(job: Job) -> dict[str, Any]:
    total = job.prompt_tokens + len(job.tokens)
    return {
        "prompt_tokens": job.prompt_tokens,
        "completion_tokens": len(job.tokens),
        "total_tokens": total,
        **({} if job.cached is None else _openai_cached(job, job.cached)),
    }


def _openai_cached(job: Job, cached: int) -> dict[str, Any]:
    if job.names == "deepseek":
        return {
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": job.prompt_tokens - cached,
        }
    return {"prompt_tokens_details": {"cached_tokens": cached}}


def _data(event: Mapping[str, Any]) -> bytes:
    """Characters as they are, as the APIs send them, and not escaped."""
    said = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return b"data: %b\n\n" % said.encode("utf-8", "replace")


def event(name: str, **members: object) -> bytes:
    return b"event: %b\n%b" % (name.encode(), _data({"type": name, **members}))


def is_cap(value: object) -> bool:
    return value is None or (isinstance(value, int) and value > 0)


def is_messages(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(message, dict) for message in value)
