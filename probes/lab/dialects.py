"""What do the OpenAI and Anthropic APIs say, and in which words?

Shapes as of openai-python 3.57 and anthropic-sdk-python 2.14 (`types/`), error bodies as the two services send them
(https://platform.openai.com/docs/guides/error-codes, https://docs.claude.com/en/api/errors).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from probes.lab.behaviour import WELL, Behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GREETING = ("Hello", "!", " How", " can", " I", " help", " you", "?")
UNBOUNDED = 1000
"""Tokens of a counting answer that nobody capped."""
WINDOW = 128_000
CREATED = 1_764_000_000
_CAPS = ("max_completion_tokens", "max_output_tokens", "max_tokens")


class Refusal(Exception):  # noqa: N818 - it says what the API does
    """A request the API does not take; `param` and `code` are said in OpenAI's dialect alone."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code


@dataclass(frozen=True, slots=True)
class Job:
    """An accepted request: `tokens` is the text still to be said, in the pieces it is said in. `counts`: whether the
    answer says how many they were.
    """

    id: str
    model: str
    tokens: tuple[str, ...]
    finish: str
    prompt_tokens: int
    stream: bool
    include_usage: bool
    counts: bool = True

    @property
    def text(self) -> str:
        return "".join(self.tokens)


class Dialect(Protocol):
    id_header: str
    id_prefix: str

    def check(self, body: Mapping[str, Any], fields: Mapping[str, str]) -> None: ...
    def refusal(self, fault: Refusal, request_id: str) -> dict[str, Any]: ...
    def answer(self, job: Job) -> dict[str, Any]: ...
    def opening(self, job: Job) -> Iterator[bytes]: ...
    def token(self, job: Job, text: str) -> bytes: ...
    def closing(self, job: Job) -> Iterator[bytes]: ...
    def models(self, model: str) -> dict[str, Any]: ...
    def bad_key(self, key: str | None) -> Refusal: ...


def plan(body: Mapping[str, Any], job_id: str, behaviour: Behaviour = WELL) -> Job:
    """How the model answers: a prompt with "count" in it is counted for until the cap, any other is greeted.

    A prompt has one token for every four bytes of its texts, rounded up, and three for every message.
    """
    texts = _said(body)
    cap = asked_cap(body) if behaviour.caps else None
    if texts and "count" in texts[-1].lower():
        said, finish = tuple(f"{n} " for n in range(1, min(cap or UNBOUNDED, WINDOW) + 1)), "length"
    else:
        said = GREETING[:cap]
        finish = "stop" if said == GREETING else "length"
    if (enough := behaviour.stops_after) is not None and enough < len(said):
        said, finish = said[:enough], "stop"
    size = sum(-(-len(text.encode(errors="replace")) // 4) + 3 for text in (*texts, *_system(body)))
    options = body.get("stream_options")
    return Job(
        id=job_id,
        model=body["model"],
        tokens=said,
        finish=finish,
        prompt_tokens=size,
        stream=bool(body.get("stream")),
        include_usage=behaviour.usage and isinstance(options, dict) and options.get("include_usage") is True,
        counts=behaviour.usage,
    )


def asked_cap(body: Mapping[str, Any]) -> int | None:
    """The most tokens that the request asks for."""
    return next((body[name] for name in _CAPS if body.get(name)), None)


class OpenAI:
    id_header = "x-request-id"
    id_prefix = "chatcmpl-"

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
        message = {"role": "assistant", "content": job.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": job.finish}
        usage = {"usage": _openai_usage(job)} if job.counts else {}
        return {**_openai_envelope(job, "chat.completion"), "choices": [choice], **usage}

    def opening(self, job: Job) -> Iterator[bytes]:
        yield self._chunk(job, {"role": "assistant", "content": ""})

    def token(self, job: Job, text: str) -> bytes:
        return self._chunk(job, {"content": text})

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

    def _chunk(self, job: Job, delta: Mapping[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if job.include_usage else {}
        return _data({**_openai_envelope(job, "chat.completion.chunk"), "choices": [choice], **usage})


class Anthropic:
    id_header = "request-id"
    id_prefix = "msg_"

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
        return {**self._message(job), "content": [{"type": "text", "text": job.text}], **self._end(job)}

    def opening(self, job: Job) -> Iterator[bytes]:
        yield event("message_start", message=self._message(job))
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield event("ping")

    def token(self, job: Job, text: str) -> bytes:  # noqa: ARG002 - OpenAI repeats the envelope
        return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def closing(self, job: Job) -> Iterator[bytes]:
        yield event("content_block_stop", index=0)
        end = self._end(job)
        usage = {"usage": {"output_tokens": len(job.tokens)}} if job.counts else {}
        yield event("message_delta", delta={k: v for k, v in end.items() if k != "usage"}, **usage)
        yield event("message_stop")

    def models(self, model: str) -> dict[str, Any]:
        one = {"type": "model", "id": model, "display_name": model, "created_at": "2026-08-01T00:00:00Z"}
        return {"data": [one], "has_more": False, "first_id": model, "last_id": model}

    def _message(self, job: Job) -> dict[str, Any]:
        shape = {"id": job.id, "type": "message", "role": "assistant", "model": job.model, "content": []}
        return {**shape, "stop_reason": None, "stop_sequence": None, **_anthropic_usage(job, 1)}

    def _end(self, job: Job) -> dict[str, Any]:
        reason = "max_tokens" if job.finish == "length" else "end_turn"
        return {"stop_reason": reason, "stop_sequence": None, **_anthropic_usage(job, len(job.tokens))}


def _anthropic_usage(job: Job, said: int) -> dict[str, Any]:
    return {"usage": {"input_tokens": job.prompt_tokens, "output_tokens": said}} if job.counts else {}


def _openai_envelope(job: Job, kind: str) -> dict[str, Any]:
    return {"id": job.id, "object": kind, "created": CREATED, "model": job.model}


def _openai_usage(job: Job) -> dict[str, Any]:
    total = job.prompt_tokens + len(job.tokens)
    return {
        "prompt_tokens": job.prompt_tokens,
        "completion_tokens": len(job.tokens),
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def _data(event: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps(event, separators=(",", ":")).encode()


def event(name: str, **members: object) -> bytes:
    return b"event: %b\n%b" % (name.encode(), _data({"type": name, **members}))


def is_cap(value: object) -> bool:
    return value is None or (isinstance(value, int) and value > 0)


def is_messages(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(message, dict) for message in value)


def _said(body: Mapping[str, Any]) -> list[str]:
    """The texts of a prompt: messages, or the input of a response, which may be one string."""
    said = body.get("messages", body.get("input"))
    return [said] if isinstance(said, str) else [_text(message) for message in said or ()]


def _text(message: Mapping[str, Any]) -> str:
    """The texts of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _system(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Anthropic's system prompt stands beside the messages."""
    return (_text({"content": body["system"]}),) if body.get("system") else ()
