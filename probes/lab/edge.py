"""What does the layer in front of the origin do to a request?

A reverse proxy with the marks of a product (a profile) and the faults it is armed with. It passes bytes on as they
come, buffers nothing, and ends a response as the upstream ended it.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

from probes.lab.armed import Armed
from probes.lab.connection import Connection, Gone, Uplink
from probes.lab.faults import Answer, Do, Fault
from probes.lab.http1 import Fields, Head, Malformed, Request, response_head
from probes.lab.pages import Rendered, filled, filled_lines, profile, render
from probes.lab.relay import Instead, Relay
from probes.lab.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.clock import Clock

_RAY_STEP = 0x9E3779B97F4A7C15  # odd, so rays do not repeat; the same in every lab, so runs can be compared
_RAY_MASK = 0xFFFFFFFFFFFFFFFF


class Edge:
    """`upstream` is the host and port dialled for every request."""

    def __init__(
        self,
        upstream: tuple[str, int],
        clock: Clock,
        faults: Sequence[str | Fault] = (),
        *,
        profile_name: str = "cloudflare",
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._upstream = upstream
        self.armed = Armed(faults)
        self._profile = profile(profile_name)
        self._server = {"server": self._profile.server} if self._profile.server else {}
        self._rays = itertools.count(1)
        self._restart: float | None = None
        self.server = Server(self._handle, clock, host, port, greet=self._greet, late=self._late)

    def _greet(self, client: Connection) -> None:
        client.uplink = self._uplink

    def _uplink(self, head: Head) -> Uplink:
        do = self.armed.at_head(Request(head, b"", b""))
        return Uplink(do.uplink, do.upload_timer.seconds if do.upload_timer else None)

    def _late(self, client: Connection, head: Head) -> None:
        request = Request(head, b"", b"")
        timer = self.armed.at_head(request).upload_timer
        assert timer is not None
        if timer.answer is not None and not (timer.answer.own == "upload" and self._profile.upload is None):
            self._say(client, request, timer.answer, self._words(client, request))
        elif timer.how == "reset":
            client.reset()

    def _handle(self, client: Connection, request: Request) -> bool:
        with self.armed.befalling(request, client.idled) as do:
            client.patience = do.idle_close
            return self._treat(client, request, do)

    def _treat(self, client: Connection, request: Request, do: Do) -> bool:
        words = self._words(client, request)
        if request.target == "/cdn-cgi/trace" and self._profile.trace and not do.end:
            # No rule of the zone's owner stands before it.
            trace = Answer(headers={"content-type": "text/plain"}, body=self._profile.trace)
            return self._say(client, request, trace, words)
        if do.answer and (do.under is None or do.off_path(request)):
            return self._say(client, request, do.dressed(do.answer), words)
        if (page := self._profile.error_page(request.target)) and not (do.end or do.no_error_paths):
            return self._say(client, request, do.dressed(Answer(page=page)), words)
        if do.end == "hang":
            client.wait(None)
        if do.end:
            if do.end == "reset":
                client.reset()
            return False
        return self._forward(client, request, do, words)

    def _forward(self, client: Connection, request: Request, do: Do, words: dict[str, str]) -> bool:
        repeats = do.first_byte_timer.repeats if do.first_byte_timer else 0
        try:
            while True:
                try:
                    return self._relayed(client, request, do, words)
                except Instead as instead:
                    if not (instead.unheard and repeats):
                        answer = instead.answer
                        break
                    repeats -= 1
        except Malformed:
            answer = Answer(page=self._profile.garbled)
        except TimeoutError:
            answer = Answer(page=self._profile.unreached)
        except OSError:
            answer = Answer(page=self._profile.refused)
        return self._say(client, request, do.dressed(answer), words)

    def _relayed(self, client: Connection, request: Request, do: Do, words: dict[str, str]) -> bool:
        with self.server.dial(self._upstream, self._profile.connect) as upstream:
            with suppress(Gone):  # an upstream may answer and close before it has read everything
                upstream.send(do.passed_on(request))
            ends = self._restarts(do, client.clock.now())
            relay = Relay(client, upstream, do, lambda fields: self._marked(fields, do, words), ends)
            return relay.run(request.method) and not request.head.closes

    def _restarts(self, do: Do, now: float) -> float | None:
        """When this edge does, where that is still to come; by its first request that it is to happen to."""
        if do.restart is None:
            return None
        self._restart = now + do.restart if self._restart is None else self._restart
        return self._restart if self._restart > now else None

    def _marked(self, fields: Fields, do: Do, words: dict[str, str]) -> Fields:
        """The fields of a proxied answer as they leave here."""
        dropped = {name.lower() for name in do.drop_headers}
        kept = tuple((name, value) for name, value in fields if name.lower() not in dropped)
        marks = {**self._server, **self._profile.proxied, **do.add_headers}
        return _set(kept, filled(marks, words))

    def _say(self, client: Connection, request: Request, answer: Answer, words: dict[str, str]) -> bool:
        """Answers in the edge's own name."""
        rendered = self._rendered(request, answer, words)
        marks = self._profile.proxied if answer.proxied else self._profile.own
        length = {"content-length": str(len(rendered.body))}
        closing = {"connection": "close"} if request.head.closes else {}
        fields = (
            ("date", words["date"]),
            *rendered.fields,
            *self._server.items(),
            *filled(marks, words),
        )
        fields = _set(_set(fields, tuple({**length, **closing}.items())), filled(answer.headers, words))
        body = b"" if request.method == "HEAD" else rendered.body
        client.send(response_head(rendered.status, fields) + body)
        return not request.head.closes

    def _rendered(self, request: Request, answer: Answer, words: dict[str, str]) -> Rendered:
        page = answer.page or (getattr(self._profile, answer.own) if answer.own else None)
        if page is None:
            return Rendered(answer.status, (), filled_lines(answer.body, words))
        accept = request.head.get("accept")
        return render(page, words, accept, shape=answer.shape, otherwise=answer.otherwise)

    def _words(self, client: Connection, request: Request) -> dict[str, str]:
        """What templates may say of this request."""
        now = datetime.now(UTC)
        host = request.head.get("host") or ""
        authorization = request.head.get("authorization") or ""
        return {
            "ray": f"{next(self._rays) * _RAY_STEP & _RAY_MASK:016x}",
            "host": host,
            "zone": host.rpartition(":")[0] or host,
            "port": host.rpartition(":")[2],
            "ip": client.peer,
            "target": request.target,
            "authorization": authorization,
            "key": request.head.get("x-api-key") or authorization.partition(" ")[2],
            "now": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "date": format_datetime(now, usegmt=True),
        }


def _set(fields: Fields, new: Fields) -> Fields:
    """`new` in the places of fields of the same name, the others behind; a repeated name keeps its first place."""
    values = {name.lower(): value for name, value in new}
    placed: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, value in fields:
        low = name.lower()
        if low in values and low in seen:
            continue
        seen.add(low)
        placed.append((name, values.get(low, value)))
    return (*placed, *((name, value) for name, value in new if name.lower() not in seen))
