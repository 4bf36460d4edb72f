"""What does OpenAI's Responses API say?

Shapes and events as of openai-python 3.57 (`types/responses/`); errors and models are those of the chat dialect.
"""

from __future__ import annotations

import itertools
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from probes.lab.dialects import CREATED, OpenAI, Refusal, event, is_cap, is_messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.lab.jobs import Job

_LEAST_CAP = 16  # OpenAI refuses a smaller one


class Responses(OpenAI):
    """One per request: its events are numbered."""

    id_prefix = "resp_"

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def check(self, body: Mapping[str, Any], fields: Mapping[str, str]) -> None:  # noqa: ARG002 - Anthropic looks
        bad, said, cap = HTTPStatus.BAD_REQUEST, body.get("input"), body.get("max_output_tokens")
        if not isinstance(body.get("model"), str):
            raise Refusal(bad, "you must provide a model parameter")
        if said is None:
            message = "Missing required parameter: 'input'."
            raise Refusal(bad, message, param="input", code="missing_required_parameter")
        if not (isinstance(said, str) or is_messages(said)):
            message = "Invalid type for 'input': expected a string or an array of objects."
            raise Refusal(bad, message, param="input", code="invalid_type")
        if not is_cap(cap) or (cap is not None and cap < _LEAST_CAP):
            message = f"Invalid 'max_output_tokens': expected an integer of {_LEAST_CAP} or more."
            raise Refusal(bad, message, param="max_output_tokens", code="integer_below_min_value")

    def answer(self, job: Job) -> dict[str, Any]:
        cut = job.finish == "length"
        return self._response(job, "incomplete" if cut else "completed", job.text)

    def opening(self, job: Job) -> Iterator[bytes]:
        begun = self._response(job, "in_progress")
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)
        item = _item(job, "in_progress") | {"content": []}
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.content_part.added", **_place(job), part=_part(""))

    def token(self, job: Job, n: int, text: str) -> bytes:  # noqa: ARG002 - a chat's first piece may open a call
        return self._event("response.output_text.delta", **_place(job), delta=text, logprobs=[])

    def closing(self, job: Job) -> Iterator[bytes]:
        answer = self.answer(job)
        yield self._event("response.output_text.done", **_place(job), text=job.text, logprobs=[])
        yield self._event("response.content_part.done", **_place(job), part=_part(job.text))
        yield self._event("response.output_item.done", output_index=0, item=answer["output"][0])
        yield self._event(f"response.{answer['status']}", response=answer)

    def _event(self, name: str, **members: object) -> bytes:
        return event(name, sequence_number=next(self._numbers), **members)

    def _response(self, job: Job, status: str, text: str | None = None) -> dict[str, Any]:
        return {
            "id": job.id,
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": None,
            "model": job.model,
            "output": [] if text is None else [_item(job, status, text)],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": _usage(job) if text is not None and job.counts else None,
        }


def _item(job: Job, status: str, text: str = "") -> dict[str, Any]:
    shape = {"id": _place(job)["item_id"], "type": "message", "role": "assistant", "status": status}
    return {**shape, "content": [_part(text)]}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _place(job: Job) -> dict[str, Any]:
    """Where in the response an event belongs."""
    return {"item_id": job.id.replace("resp_", "msg_", 1), "output_index": 0, "content_index": 0}


def _usage(job: Job) -> dict[str, Any]:
    said = len(job.tokens)
    return {
        "input_tokens": job.prompt_tokens,
        **({} if job.cached is None else {"input_tokens_details": {"cached_tokens": job.cached}}),
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": job.prompt_tokens + said,
    }
