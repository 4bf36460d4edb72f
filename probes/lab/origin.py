"""What does a healthy model API answer, and when?

An OpenAI- and Anthropic-compatible origin: chat completions, responses, messages, models. Tokens leave on an absolute schedule,
so lag does not add up: the first `prefill` seconds after the request was read, one every `tpot` seconds after it.
Streams open at once with the role-only chunk (message_start), as engines with chunked prefill do
(https://github.com/vllm-project/vllm/issues/15106), and end when the non-streaming twin would arrive:
after prefill + n * tpot.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from probes.lab.armed import Armed
from probes.lab.behaviour import WELL, Behaviour
from probes.lab.connection import Connection, Gone
from probes.lab.dialects import Anthropic, Dialect, OpenAI, Refusal
from probes.lab.http1 import LAST_CHUNK, Fields, Request, chunk, response_head
from probes.lab.jobs import Job, asked_cap, pieces, plan
from probes.lab.prompt_cache import PromptCache
from probes.lab.request_body import parsed, plain
from probes.lab.responses import Responses
from probes.lab.server import Server
from probes.lab.stamping import answered_by, stamped
from probes.lab.stored import STORED, Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probes.clock import Clock
    from probes.lab.faults import Fault

_PATHS: dict[str, tuple[str, Callable[[], Dialect] | None]] = {
    "/v1/chat/completions": ("POST", OpenAI),
    "/v1/responses": ("POST", Responses),
    "/v1/messages": ("POST", Anthropic),
    "/v1/models": ("GET", None),
    "/health": ("GET", None),
}
"""Path → method and dialect; `None` is spoken in the caller's."""


@dataclass(slots=True)
class Arrival:
    """One request that reached the origin; `at` and `sent` in seconds of `clock.now()`.

    `digest`: SHA-256 of its body, in hex; two arrivals of one digest are one request sent twice, by whomever, since no
    two of the probe's own are alike. `sent`: when each chunk of a stream that holds tokens was handed to the socket. `ended`: `None` while it runs, false when the
    other side left before the last byte.
    """

    method: str
    path: str
    headers: Fields
    body_bytes: int
    digest: str
    at: float
    id: str
    status: int | None = None
    sent: list[float] = field(default_factory=list)
    ended: bool | None = None

    @property
    def number(self) -> int:
        """In the order in which they came."""
        return int(self.id.removeprefix("req_"), 16)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One request being answered."""

    connection: Connection
    request: Request
    dialect: Dialect
    arrival: Arrival
    behaviour: Behaviour
    since: float
    """When the answer was asked for, which is earlier than the arrival where it is fetched."""

    @property
    def chunks(self) -> bool:
        """HTTP/1.0, in which nginx asks where nobody says otherwise, knows no chunks: there the end is the connection's."""
        return self.request.head.start[2] != "HTTP/1.0"


class Origin:
    """`keys=None` is a keyless server; `prefill_per_token` seconds are added for each token of the prompt. Of `faults`
    it has those of the model.
    """

    def __init__(
        self,
        clock: Clock,
        faults: Sequence[str | Fault] = (),
        *,
        keys: frozenset[str] | None,
        model: str,
        prefill: float,
        tpot: float,
        prefill_per_token: float = 0.0,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.requests: list[Arrival] = []
        self.armed = Armed(faults)
        self.server = Server(self._handle, clock, host, port)
        self._clock = clock
        self._keys = keys
        self._model = model
        self._prefill = prefill
        self._prefill_per_token = prefill_per_token
        self._tpot = tpot
        self._ids = itertools.count(1)
        self._kept = Kept()
        self._prompts = PromptCache()

    def _handle(self, connection: Connection, request: Request) -> bool:
        fields = {name.lower(): value for name, value in request.head.fields}
        _, spoken = _at(request.path)
        dialect = (spoken or (Anthropic if "anthropic-version" in fields else OpenAI))()
        arrival = Arrival(
            method=request.method,
            path=request.target,
            headers=request.head.fields,
            body_bytes=len(request.body),
            digest=hashlib.sha256(request.body).hexdigest(),
            at=self._clock.now(),
            id=f"req_{next(self._ids):024x}",
        )
        self.requests.append(arrival)
        try:
            with self.armed.befalling(request) as do:
                turn = _Turn(connection, request, dialect, arrival, do.model or WELL, arrival.at)
                self._answer(turn, fields)
        except Refusal as fault:
            self._send_json(turn, fault.status, dialect.refusal(fault, arrival.id))
        except Gone:
            arrival.ended = False
            raise
        arrival.ended = True
        return not request.head.closes

    def _answer(self, turn: _Turn, fields: dict[str, str]) -> None:
        self._route(turn.request)
        if (
            turn.request.path == "/health"
        ):  # asked by load balancers, which hold no key; an empty 200, as vLLM's
            turn.connection.send(self._head(turn, HTTPStatus.OK, (("content-length", "0"),)))
            return
        self._authorize(turn.dialect, fields)
        if isinstance(turn.dialect, Responses) and turn.request.method == "GET":
            self._fetch(turn)
            return
        if turn.request.method == "GET":
            self._send_json(turn, HTTPStatus.OK, turn.dialect.models(self._model))
            return
        body = parsed(plain(turn.request.body, turn.request.head.get("content-encoding")))
        turn.dialect.check(body, fields)
        if body["model"] != self._model:
            openai = isinstance(turn.dialect, OpenAI)
            message = f"The model `{body['model']}` does not exist or you do not have access to it."
            raise Refusal(
                HTTPStatus.NOT_FOUND,
                message if openai else f"model: {body['model']}",
                code="model_not_found",
            )
        _check_cap(body, turn.behaviour.most)
        number = turn.arrival.number
        worker = answered_by(number, turn.behaviour)
        job = plan(body, f"{turn.dialect.id_prefix}{worker}{number:024x}", turn.behaviour)
        job = self._prompts.meet(
            job, body, turn.behaviour.cache, turn.arrival.at,
            number=number, unasked=turn.dialect.caches_unasked,
            per_token=turn.behaviour.reading(1, self._prefill_per_token),
        )  # fmt: skip
        if body.get("background") and body.get("store"):
            self._kept.keep(job, turn.arrival.at)
        if job.stream:
            self._stream(turn, job)
        else:
            self._wait_until(turn, self._due(turn, job, len(job.tokens)))
            self._send_json(turn, HTTPStatus.OK, turn.dialect.answer(job))

    def _fetch(self, turn: _Turn) -> None:
        """A stored response from its first event on: what is made already at once, the rest as it is made."""
        job, since = self._kept.fetch(turn.request)
        self._stream(replace(turn, since=since), job)

    def _route(self, request: Request) -> None:
        method, _ = _at(request.path)
        if not method:
            message = f"Invalid URL ({request.method} {request.path})"
            raise Refusal(HTTPStatus.NOT_FOUND, message)
        if method != request.method:
            message = f"Not allowed to {request.method} on {request.path}."
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, message, code="method_not_supported")

    def _authorize(self, dialect: Dialect, fields: dict[str, str]) -> None:
        scheme, _, bearer = fields.get("authorization", "").partition(" ")
        key = bearer if scheme.lower() == "bearer" else fields.get("x-api-key")
        if self._keys is not None and key not in self._keys:
            raise dialect.bad_key(key)

    def _due(self, turn: _Turn, job: Job, n: int) -> float:
        """When the token after the first `n` is."""
        how = turn.behaviour
        prefill = self._prefill if how.prefill is None else how.prefill
        read = how.reading(job.prompt_tokens - job.spared, self._prefill_per_token)
        first = turn.since + prefill + read + how.slows * turn.arrival.number
        silent = how.pause.seconds if how.pause is not None and n >= how.pause.after else 0.0
        each = (self._tpot if how.tpot is None else how.tpot) + how.tpot_per_token * job.prompt_tokens
        return first + silent + n * each

    def _stream(self, turn: _Turn, job: Job) -> None:
        dialect, connection = turn.dialect, turn.connection
        fields = (
            ("content-type", "text/event-stream; charset=utf-8"),
            ("cache-control", "no-cache"),
            *((("transfer-encoding", "chunked"),) if turn.chunks else ()),
        )
        end = LAST_CHUNK if turn.chunks else b""
        if turn.behaviour.opens_late:
            self._wait_until(turn, self._due(turn, job, 0))
        head, opened = self._head(turn, HTTPStatus.OK, fields), self._clock.now()
        connection.send(
            head + b"".join(self._made(turn, job, event, opened) for event in dialect.opening(job))
        )
        self._comment(turn, job, self._due(turn, job, 0))
        for first, last, text in pieces(job.tokens, turn.behaviour.per_chunk):
            due = self._due(turn, job, last)
            event = self._made(turn, job, dialect.token(job, first, text), due)
            self._comment(turn, job, due)
            self._wait_until(turn, due)
            connection.send(event)
            turn.arrival.sent.append(self._clock.now())
        due = self._due(turn, job, len(job.tokens))
        self._wait_until(turn, due)
        connection.send(b"".join(self._made(turn, job, event, due) for event in dialect.closing(job)) + end)

    def _made(self, turn: _Turn, job: Job, event: bytes, at: float) -> bytes:
        """An event that is made at `at`, as it leaves."""
        event = stamped(event, turn.behaviour, at, self._due(turn, job, 0))
        return chunk(event) if turn.chunks else event

    def _comment(self, turn: _Turn, job: Job, until: float) -> None:
        """Comments while the model has nothing to say."""
        while (every := turn.behaviour.comments) is not None and until - self._clock.now() > every:
            turn.connection.wait(every)
            turn.connection.send(self._made(turn, job, b": keep-alive\n\n", self._clock.now()))

    def _wait_until(self, turn: _Turn, due: float) -> None:
        turn.connection.wait(due - self._clock.now())

    def _send_json(self, turn: _Turn, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        fields = (("content-type", "application/json"), ("content-length", str(len(data))))
        turn.connection.send(self._head(turn, status, fields) + data)

    def _head(self, turn: _Turn, status: int, fields: Fields) -> bytes:
        turn.arrival.status = status
        elapsed = round((self._clock.now() - turn.arrival.at) * 1000)
        own: Fields = (("date", formatdate(usegmt=True)), ("server", "uvicorn"))
        if isinstance(turn.dialect, OpenAI):
            about: Fields = (
                ("openai-organization", "lab"),
                ("openai-processing-ms", str(elapsed)),
                ("openai-version", "2020-10-01"),
            )
        else:
            about = (("anthropic-organization-id", "lab"),)
        request_id = ((turn.dialect.id_header, turn.arrival.id),)
        closing: Fields = (("connection", "close"),) if turn.request.head.closes else ()
        return response_head(status, (*own, *fields, *about, *request_id, *closing))


def _at(path: str) -> tuple[str, Callable[[], Dialect] | None]:
    """Method and dialect of a path; no method where nothing is there."""
    return ("GET", Responses) if path.startswith(STORED) else _PATHS.get(path, ("", None))


def _check_cap(body: dict[str, Any], most: int | None) -> None:
    """As OpenAI says it: https://github.com/ChatGPTNextWeb/NextChat/issues/3195."""
    cap = asked_cap(body)
    if most is not None and cap is not None and cap > most:
        message = (
            f"max_tokens is too large: {cap}. This model supports at most {most} completion tokens, whereas you "
            f"provided {cap}."
        )
        raise Refusal(HTTPStatus.BAD_REQUEST, message, param="max_tokens")
