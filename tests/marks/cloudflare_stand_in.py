"""A stand-in for Cloudflare's API on the loopback: the audit log (version 2) and the GraphQL of firewall events, as
documented, over real HTTP.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from probes.marks.cloudflare_api import Api

TOKEN = "read-only-canary-token-5f83ba91"
ACCOUNT, ZONE = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
JSON = {"content-type": "application/json"}


def entry(
    product="bot_management",
    request=None,
    *,
    at="2026-11-30T14:05:00Z",
    action="update",
    result="success",
    uri=f"/zones/{ZONE}/bot_management",
    zone="example.com",
    **more,
):
    """One of the log's, in the shape that its documentation shows."""
    return {
        "id": "f174be97c14447e0a1bd9ce1d9a4bb3e",
        "account": {"id": ACCOUNT, "name": "Example"},
        "action": {"description": "", "result": result, "time": at, "type": action},
        "actor": {"context": "dash", "email": "ops@example.com", "ip_address": "192.0.2.7", "type": "user"},
        "raw": {"cf_ray_id": "8e8dd2156ef28414", "method": "PUT", "status_code": 200, "uri": uri},
        "resource": {"id": ZONE, "product": product, "request": request, "response": {}, "type": product},
        "zone": {"id": ZONE, "name": zone} if zone else {},
    } | more


def errors(*messages, code=10000):
    return {
        "success": False,
        "errors": [{"code": code, "message": text} for text in messages],
        "result": None,
    }


@dataclass
class StandIn:
    """`log`: its entries, the newest first; `page`: how many go into one. `answers`: taken in turn before anything is
    looked up, each (status, headers, body) or `None` for silence. `events`: ray → rows.
    """

    base_url: str
    log: list = field(default_factory=list)
    page: int = 2
    answers: list = field(default_factory=list)
    events: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    graphql: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def api(self):
        """One for all: the library takes long to make its client."""
        return Api(TOKEN, self.base_url)

    def forget(self):
        self.log, self.page, self.answers, self.events = [], 2, [], {}
        self.asked, self.graphql, self.headers = [], [], []

    def audit(self, query):
        begin = int(query.get("cursor", ["0"])[0])
        rows = self.log[begin : begin + self.page]
        more = {"cursor": str(begin + self.page)} if begin + self.page < len(self.log) else {}
        return {
            "success": True,
            "errors": [],
            "result": rows,
            "result_info": {"count": str(len(rows)), **more},
        }

    def fired(self, body):
        self.graphql.append(body)
        variables = body["variables"]
        if variables["zone"] != ZONE:
            return {"data": {"viewer": {"zones": []}}, "errors": None}
        found = {n: self.events.get(v["rayName"], []) for n, v in variables.items() if n != "zone"}
        return {"data": {"viewer": {"zones": [found]}}, "errors": None}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        url = urlsplit(self.path)
        self._answer(url, lambda: self.server.stand_in.audit(parse_qs(url.query)))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._answer(urlsplit(self.path), lambda: self.server.stand_in.fired(body))

    def _answer(self, url, found):
        here = self.server.stand_in
        here.asked.append(parse_qs(url.query))
        here.headers.append({name.lower(): value for name, value in self.headers.items()})
        planned = here.answers.pop(0) if here.answers else ()
        if planned is None:
            here.over.wait()
            self.close_connection = True
            return
        if planned:
            self._write(*planned)
        elif self.headers.get("authorization") != f"Bearer {TOKEN}":
            self._write(401, JSON, errors("Authentication error"))
        elif url.path not in {f"/accounts/{ACCOUNT}/logs/audit", "/graphql"}:
            self._write(404, JSON, errors("not found"))
        else:
            self._write(200, JSON, found())

    def _write(self, status, headers, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"content-length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        if int(headers.get("content-length", 0)) > len(data):
            self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def standing_in(**more):
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.stand_in = StandIn(f"http://127.0.0.1:{server.server_address[1]}", **more)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.stand_in
        finally:
            server.stand_in.over.set()
            server.shutdown()
    thread.join()
