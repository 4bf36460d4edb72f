"""What does a real nginx answer when it refuses a request, or when what is behind it is gone, slow or broken?

`python tests/real/capture_nginx.py` prints each answer as a sample for `configs/signatures/nginx.yaml`; the test beside
it records them again and compares.
"""

from __future__ import annotations

import json
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trustme

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
_CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36"
)
_READ_TIMEOUT, _BODY_TIMEOUT = 1, 1

# Every location shows one cause. `{name}` is the port of the upstream that behaves so.
_CONFIG = """
daemon off;
master_process off;
pid nginx.pid;
error_log error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  proxy_connect_timeout 1s; proxy_read_timeout {read_timeout}s; client_body_timeout {body_timeout}s;
  limit_req_zone $server_port zone=first:32k rate=1r/m;
  limit_req_zone $server_port zone=second:32k rate=1r/m;
  server {{
    listen 127.0.0.1:{plain};
    root {root};
    location = /return-301 {{ return 301 https://api.example.com$request_uri; }}
    location = /return-308 {{ return 308 https://api.example.com$request_uri; }}
    location = /return-401 {{ return 401; }}
    location = /return-403 {{ return 403; }}
    location = /return-408 {{ return 408; }}
    location = /deny {{ deny all; }}
    location = /password {{ auth_basic "inner"; auth_basic_user_file {root}/index.html; }}
    location = /loop {{ rewrite ^ /loop last; }}
    location = /limit {{ limit_req zone=first; proxy_pass http://127.0.0.1:{healthy}; }}
    location = /limit-429 {{ limit_req zone=second; limit_req_status 429; proxy_pass http://127.0.0.1:{healthy}; }}
    location = /healthy {{ proxy_pass http://127.0.0.1:{healthy}; }}
    location = /refused {{ proxy_pass http://127.0.0.1:{refused}; }}
    location = /quiet {{ server_tokens off; proxy_pass http://127.0.0.1:{refused}; }}
    location = /closed {{ proxy_pass http://127.0.0.1:{closing}; }}
    location = /garbled {{ proxy_pass http://127.0.0.1:{garbled}; }}
    location = /header {{ proxy_pass http://127.0.0.1:{fat}; }}
    location = /slow {{ proxy_pass http://127.0.0.1:{silent}; }}
  }}
  server {{ listen 127.0.0.1:{tls} ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}; }}
}}
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response as it stood on the wire, without its date."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class _Case:
    request: bytes
    tls_port: bool = False
    repeats: int = 1


def _post(path: str, *, size: int | None = None, body: bytes = b"{}", extra: str = "") -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body) if size is None else size}\r\nConnection: close\r\n{extra}\r\n"
    )
    return head.encode() + body


CASES = {
    "request line": _Case(b"nothing of HTTP\r\n\r\n"),
    "no host": _Case(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
    "header too large": _Case(_post("/healthy", extra=f"X-Trace: {'a' * 40_000}\r\n")),
    "plain HTTP to the TLS port": _Case(_post("/"), tls_port=True),
    "return 301": _Case(_post("/return-301")),
    "return 308": _Case(_post("/return-308")),
    "return 401": _Case(_post("/return-401")),
    "return 403": _Case(_post("/return-403")),
    "deny all": _Case(_post("/deny")),
    "auth_basic": _Case(_post("/password", extra="Authorization: Bearer sk-test\r\n")),
    "no such file": _Case(b"GET /v1/models HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n"),
    "POST to a file": _Case(_post("/index.html")),
    "return 408": _Case(_post("/return-408")),
    "body never finished": _Case(_post("/healthy", size=100_000)),
    "body over 1 MiB": _Case(_post("/healthy", size=1024 * 1024 + 1)),
    "URL too large": _Case(_post("/healthy?" + "a" * 40_000)),
    "limit_req_status 429": _Case(_post("/limit-429"), repeats=2),
    "rewrite loop": _Case(_post("/loop")),
    "upstream refuses": _Case(_post("/refused")),
    "upstream refuses, server_tokens off": _Case(_post("/quiet")),
    "upstream refuses, asked by Chrome": _Case(_post("/refused", extra=f"User-Agent: {_CHROME}\r\n")),
    "upstream closes": _Case(_post("/closed")),
    "upstream sends a bad header": _Case(_post("/garbled")),
    "upstream header too large": _Case(_post("/header")),
    "limit_req": _Case(_post("/limit"), repeats=2),
    "upstream silent": _Case(_post("/slow")),
}

_GOOD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
)
_UPSTREAMS = {
    "healthy": _GOOD,
    "closing": b"",
    # Without a status line nginx 1.22 hands the bytes on as HTTP/0.9; a header that is none makes it answer itself.
    "garbled": b"HTTP/1.1 200 OK\r\nX-Bad\x00: 1\r\n\r\n",
    "fat": b"HTTP/1.1 200 OK\r\nX-Fat: " + b"a" * 70_000 + b"\r\n\r\n",
    "silent": None,
}


def record() -> tuple[str, dict[str, Answer | None]]:
    """nginx's version and its answer to each case; None where it hung up without one."""
    with tempfile.TemporaryDirectory() as folder, upstreams() as ports:
        root = Path(folder)
        certificate = root / "certificate.pem"
        trustme.CA().issue_cert("api.example.com").private_key_and_cert_chain_pem.write_to_path(certificate)
        (root / "index.html").write_text("hello")
        plain, tls, refused = free_ports(3)
        (root / "nginx.conf").write_text(
            _CONFIG.format(
                root=root, certificate=certificate, plain=plain, tls=tls, refused=refused,
                read_timeout=_READ_TIMEOUT, body_timeout=_BODY_TIMEOUT, **ports,
            )
        )  # fmt: skip
        with _nginx(root, plain):
            answers = {name: _ask(case, tls if case.tls_port else plain) for name, case in CASES.items()}
    return _version(), answers


def _version() -> str:
    told = subprocess.run([str(NGINX), "-v"], capture_output=True, text=True, check=True).stderr
    return told.strip().removeprefix("nginx version: ")


@contextmanager
def _nginx(root: Path, port: int) -> Iterator[None]:
    command = [str(NGINX), "-p", str(root), "-e", "error.log", "-c", "nginx.conf"]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE) as process:
        try:
            _wait_for(port, process)
            yield
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    process.kill()
    raise RuntimeError(process.communicate()[1].decode())


@contextmanager
def upstreams() -> Iterator[dict[str, int]]:
    """Raw servers that read the request and answer with fixed bytes, hang up, or say nothing."""
    over = threading.Event()
    servers = {name: _upstream(answer, over) for name, answer in _UPSTREAMS.items()}
    try:
        yield {name: server.server_address[1] for name, server in servers.items()}
    finally:
        over.set()
        for server in servers.values():
            server.shutdown()
            server.server_close()


def _upstream(answer: bytes | None, over: threading.Event) -> socketserver.ThreadingTCPServer:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            if answer is None:
                over.wait(10)
            else:
                self.request.sendall(answer)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def _ask(case: _Case, port: int) -> Answer | None:
    answers = [answer_of(case.request, port) for _ in range(case.repeats)]
    return answers[-1]


def answer_of(request: bytes, port: int) -> Answer | None:
    """What comes back before the other side closes; None where nothing does."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        return _parsed(_all_of(connection))


def _all_of(connection: socket.socket) -> bytes:
    got = b""
    try:
        while piece := connection.recv(65536):
            got += piece
    except ConnectionResetError:  # after its answer nginx may cut off a body that it does not want
        pass
    return got


def _parsed(got: bytes) -> Answer | None:
    if not got:
        return None
    head, _, body = got.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    kept = {name.lower(): value for name, value in headers.items() if name.lower() != "date"}
    return Answer(int(status.split()[1]), kept, body.decode())


def _main() -> None:
    version, answers = record()
    for name, answer in answers.items():
        if answer is None:
            print(f"# {name}: closed without an answer")
            continue
        headers = ", ".join(f"{key}: {json.dumps(value)}" for key, value in answer.headers.items())
        print(
            f"      - {{status: {answer.status}, origin: capture, source: {json.dumps(f'{version}, {name}')}, "
            f"headers: {{{headers}}}, body: {json.dumps(answer.body)}}}"
        )


if __name__ == "__main__":
    _main()
