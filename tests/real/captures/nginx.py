"""nginx: its own pages, and what it makes of the answers that it passes on."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trustme
from processes import accepts, free_port, program, running

from captures.asked import Case, Product, passed_on, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36"
)
# Every location shows one cause. `{name}` is the port of the origin that behaves so.
_CONFIG = """
daemon off;
master_process off;
pid nginx.pid;
error_log error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  proxy_connect_timeout 1s; proxy_read_timeout 1s; client_body_timeout 1s;
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
    location = /quiet {{ server_tokens off; proxy_pass http://127.0.0.1:{refused}; }}
    {origins}
  }}
  server {{ listen 127.0.0.1:{tls} ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}; }}
}}
"""


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    plain, tls = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        certificate = root / "certificate.pem"
        trustme.CA().issue_cert("api.example.com").private_key_and_cert_chain_pem.write_to_path(certificate)
        (root / "index.html").write_text("hello")
        origins = "\n".join(
            f"location = /{name} {{ proxy_pass http://127.0.0.1:{port}; }}" for name, port in ports.items()
        )
        (root / "nginx.conf").write_text(
            _CONFIG.format(root=root, certificate=certificate, plain=plain, tls=tls, origins=origins, **ports)
        )
        command = [program("nginx"), "-p", folder, "-e", "error.log", "-c", "nginx.conf"]
        with running(command, root / "nginx.log", lambda: accepts(plain)):
            yield {**_own(plain, tls), **passed_on(plain)}


def _own(plain: int, tls: int) -> dict[str, Case]:
    requests = {
        "request line": b"nothing of HTTP\r\n\r\n",
        "no host": b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "header too large": post("/healthy", extra=f"X-Trace: {'a' * 40_000}\r\n"),
        "return 301": post("/return-301"),
        "return 308": post("/return-308"),
        "return 401": post("/return-401"),
        "return 403": post("/return-403"),
        "deny all": post("/deny"),
        "auth_basic": post("/password", extra="Authorization: Bearer sk-test\r\n"),
        "no such file": b"GET /v1/models HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n",
        "POST to a file": post("/index.html"),
        "return 408": post("/return-408"),
        "body never finished": post("/healthy", size=100_000),
        "body over 1 MiB": post("/healthy", size=1024 * 1024 + 1),
        "URL too large": post("/healthy?" + "a" * 40_000),
        "rewrite loop": post("/loop"),
        "upstream refuses": post("/refused"),
        "upstream refuses, server_tokens off": post("/quiet"),
        "upstream refuses, asked by Chrome": post("/refused").replace(b"test", _CHROME.encode(), 1),
        "upstream closes": post("/closing"),
        "upstream sends a bad header": post("/garbled"),
        "upstream header too large": post("/fat"),
        "upstream silent": post("/silent"),
    }
    return {
        **{name: Case(plain, request) for name, request in requests.items()},
        "plain HTTP to the TLS port": Case(tls, post("/")),
        "limit_req": Case(plain, post("/limit"), repeats=2),
        "limit_req_status 429": Case(plain, post("/limit-429"), repeats=2),
    }


PRODUCT = Product("nginx", lambda: told_by("nginx", "-v"), _running)
