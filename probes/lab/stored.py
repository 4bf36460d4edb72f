"""Which responses are kept, to be fetched by their ids?

As OpenAI has it (https://developers.openai.com/api/docs/guides/background): those that were made in the background and
stored; a stream can be fetched of those that were begun as one.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from probes.lab.dialects import Refusal

if TYPE_CHECKING:
    from probes.lab.http1 import Request
    from probes.lab.jobs import Job

STORED = "/v1/responses/"


class Kept:
    def __init__(self) -> None:
        self._jobs: dict[str, tuple[Job, float]] = {}

    def keep(self, job: Job, since: float) -> None:
        self._jobs[job.id] = (job, since)

    def fetch(self, request: Request) -> tuple[Job, float]:
        """The response of the request's path, and when it was asked for."""
        name = request.path.removeprefix(STORED)
        if name not in self._jobs:
            raise Refusal(HTTPStatus.NOT_FOUND, f"Response with id '{name}' not found.")
        asked = parse_qs(request.target.partition("?")[2]).get("stream") == ["true"]
        job, since = self._jobs[name]
        if not (asked and job.stream):
            raise Refusal(HTTPStatus.BAD_REQUEST, "Only streams that were begun as such can be fetched here.")
        return job, since
