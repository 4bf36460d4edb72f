"""Programs that we did not write, each as a context manager that gives its base URL and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from processes import ENGINE, accepts, answers, free_port, installed, own_folder, program, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NGINX = """
daemon off;
{process}
pid nginx.pid;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {{
    listen {listen};
    {rules}
    location / {{
      proxy_pass http://{upstream};
      proxy_set_header Connection "";
      {proxy}
    }}
  }}
}}
"""


_HAPROXY = """
global
  maxconn 64
defaults
  mode http
  retries 0
  timeout connect 1s
  timeout client 30s
  timeout server 30s
frontend edge
  bind {listen}
  {rules}
  default_backend api
backend api
  {behind}
  server one {upstream}
"""
_APACHE = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Mutex file:{folder} default
Listen 127.0.0.1:{port}
{modules}
{rules}
ProxyPass / http://{upstream}/ flushpackets=on
"""
_APACHE_MODULES = (
    "mpm_event",
    "authz_core",
    "authz_user",
    "authn_core",
    "authn_file",
    "auth_basic",
    "alias",
    "env",
    "setenvif",
    "rewrite",
    "headers",
    "reqtimeout",
    "proxy",
    "proxy_http",
)
_VARNISH = """
vcl 4.1;
import std;
backend api {{ .host = "{host}"; .port = "{port}"; .connect_timeout = 1s; {behind} }}
{rules}
"""
_SQUID = """
http_port 127.0.0.1:{port}
pid_filename {folder}/squid.pid
cache_log {folder}/cache.log
access_log stdio:{folder}/access.log
logfile_rotate 0
buffered_logs off
coredump_dir {folder}
visible_hostname edgeprobe.test
shutdown_lifetime 0 seconds
max_filedescriptors 1024
pinger_enable off
netdb_filename none
cache deny all
connect_timeout 1 second
connect_retries 0
forward_max_tries 1
{rules}
http_access allow all
"""

ENGINE_MODEL = "tiny"


@contextmanager
def nginx(
    folder: Path,
    upstream: str,
    rules: str = "",
    *,
    certificate: Path | None = None,
    http2: bool = False,
    proxy: str = "proxy_http_version 1.1; proxy_buffering off;",
    reloads: bool = False,
    main: str = "",
) -> Iterator[str]:
    """nginx in front of `upstream` (host:port); `rules` stand in its server block, `proxy` beside its proxy_pass, files
    lie in `folder`. `http2`: offered beside HTTP/1.1, with a certificate. `reloads`: by `reload_nginx`.
    `main`: directives outside of everything.
    """
    command, port = program("nginx"), free_port()
    config = folder / "nginx.conf"
    written = _nginx_config(port, upstream, rules, certificate, proxy, http2=http2, reloads=reloads)
    config.write_text(f"{main}\n{written}")
    arguments = [command, "-e", "stderr", "-p", str(folder), "-c", str(config)]
    scheme = "http" if certificate is None else "https"
    with running(arguments, folder / "nginx.log", lambda: accepts(port)):
        yield f"{scheme}://127.0.0.1:{port}/v1"


def reload_nginx(
    folder: Path,
    base_url: str,
    upstream: str,
    rules: str = "",
    *,
    certificate: Path | None = None,
    proxy: str = "proxy_http_version 1.1; proxy_buffering off;",
) -> None:
    """Configures the nginx of that folder and URL anew; returns when nobody serves by the old configuration."""
    port = int(base_url.removesuffix("/v1").rpartition(":")[2])
    config = _nginx_config(port, upstream, rules, certificate, proxy, reloads=True)
    (folder / "nginx.conf").write_text(config)
    master = int((folder / "nginx.pid").read_text())
    workers = Path(f"/proc/{master}/task/{master}/children")
    old = set(workers.read_text().split())
    os.kill(master, signal.SIGHUP)
    until = time.monotonic() + 15
    while not (now := set(workers.read_text().split())) or now & old:
        assert time.monotonic() < until, (folder / "nginx.log").read_text()
        time.sleep(0.02)


def _nginx_config(
    port: int,
    upstream: str,
    rules: str,
    certificate: Path | None,
    proxy: str,
    *,
    http2: bool = False,
    reloads: bool = False,
) -> str:
    listen, process = f"127.0.0.1:{port}", "master_process off;"
    if certificate is not None:
        listen += " ssl http2" if http2 else " ssl"
        rules += f" ssl_certificate {certificate}; ssl_certificate_key {certificate};"
    if reloads:  # its worker must reach our folder
        process = "worker_processes 1;" + (" user root;" if os.geteuid() == 0 else "")
    return _NGINX.format(process=process, listen=listen, rules=rules, upstream=upstream, proxy=proxy)


@contextmanager
def haproxy(
    folder: Path, upstream: str, rules: str = "", *, behind: str = "", certificate: Path | None = None
) -> Iterator[str]:
    """HAProxy in front of `upstream`; `rules` stand in its frontend, `behind` in its backend."""
    command, port = program("haproxy"), free_port()
    listen, scheme = f"127.0.0.1:{port}", "http"
    if certificate is not None:
        listen, scheme = f"{listen} ssl crt {certificate} alpn h2,http/1.1", "https"
    config = folder / "haproxy.cfg"
    config.write_text(_HAPROXY.format(listen=listen, rules=rules, behind=behind, upstream=upstream))
    with running([command, "-db", "-f", str(config)], folder / "haproxy.log", lambda: accepts(port)):
        yield f"{scheme}://127.0.0.1:{port}/v1"


@contextmanager
def apache(upstream: str, rules: str = "", *, modules: Sequence[str] = ()) -> Iterator[str]:
    """Apache's mod_proxy in front of `upstream`; `rules` stand in its main server, `{folder}` in them is its own."""
    command, port = program("apache2"), free_port()
    places = [Path(command).parents[1] / "lib/apache2/modules", Path("/usr/lib/apache2/modules")]
    lying = next(place for place in places if place.is_dir())
    load = "\n".join(
        f"LoadModule {name}_module {lying}/mod_{name}.so" for name in (*_APACHE_MODULES, *modules)
    )
    with own_folder() as (folder, user):
        config = folder / "apache.conf"
        config.write_text(
            _APACHE.format(
                folder=folder,
                port=port,
                modules=load,
                rules=rules.replace("{folder}", str(folder)),
                upstream=upstream,
            )
        )
        arguments = [command, "-X", "-d", str(folder), "-f", str(config)]
        with running(arguments, folder / "apache.log", lambda: accepts(port), user=user):
            yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def varnish(upstream: str, rules: str = "", *, behind: str = "") -> Iterator[str]:
    """Varnish as a shared cache in front of `upstream`; `rules` are subroutines of VCL, before the built-in ones,
    `behind` are attributes of its backend.
    """
    command, port = program("varnishd"), free_port()
    host, _, its_port = upstream.rpartition(":")
    with own_folder() as (folder, user):
        config = folder / "edge.vcl"
        config.write_text(_VARNISH.format(host=host, port=its_port, rules=rules, behind=behind))
        arguments = [
            command, "-F", "-j", "none", "-n", str(folder), "-a", f"127.0.0.1:{port}",
            "-f", str(config), "-s", "malloc,16m",
        ]  # fmt: skip
        with running(arguments, folder / "varnish.log", lambda: accepts(port), user=user):
            yield f"http://127.0.0.1:{port}/v1"


@dataclass(frozen=True)
class Squid:
    """A forward proxy's URL, and what it says it was asked for."""

    url: str
    log: Path

    def asked(self) -> list[str]:
        """`CONNECT host:port` or `POST url`, in order."""
        rows = [line.split() for line in self.log.read_text().splitlines()]
        return [f"{row[5]} {row[6]}" for row in rows]


@contextmanager
def squid(rules: str = "") -> Iterator[Squid]:
    """Squid as a forward proxy that serves anybody; `rules` stand before that."""
    command, port = program("squid"), free_port()
    with own_folder() as (folder, user):
        config = folder / "squid.conf"
        config.write_text(_SQUID.format(folder=folder, port=port, rules=rules))
        arguments = [command, "-N", "-f", str(config)]
        # Asked to end it takes its time, even without a client.
        with running(arguments, folder / "squid.log", lambda: accepts(port), patience=0, user=user):
            yield Squid(f"http://127.0.0.1:{port}", folder / "access.log")


@contextmanager
def smg(folder: Path, worker: str) -> Iterator[str]:
    """The Shepherd Model Gateway (https://github.com/lightseekorg/smg) in front of one worker (host:port)."""
    command, port = program("smg"), free_port()
    arguments = [
        command, "launch", "--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin",
        "--worker-urls", f"http://{worker}", "--log-level", "warn",
        "--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port()),
    ]  # fmt: skip
    base_url = f"http://127.0.0.1:{port}/v1"
    # Asked to end it would keep its port open for 5 s, for load balancers to notice.
    with running(arguments, folder / "smg.log", lambda: answers(f"{base_url}/models"), patience=0):
        yield base_url


@contextmanager
def vllm(folder: Path, *flags: str) -> Iterator[str]:
    """A true inference server with a model that knows nothing, as tests/real/engine/install made both; its host:port."""
    installed(str(ENGINE / "installed"))
    at, port = "127.0.0.1", free_port()
    arguments = [
        str(ENGINE / "bin/vllm"), "serve", str(ENGINE / "model"), "--served-model-name", ENGINE_MODEL,
        "--host", at, "--port", str(port), "--max-model-len", "16384", "--dtype", "bfloat16", "--enforce-eager",
        "--enable-prompt-tokens-details", *flags,
    ]  # fmt: skip
    alone = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    environment = {**alone, "VLLM_CPU_KVCACHE_SPACE": "1"}
    # On two idle cores it takes 95 s.
    with running(
        arguments,
        folder / "vllm.log",
        lambda: answers(f"http://{at}:{port}/health"),
        patience=30,
        within=600,
        environment=environment,
    ):
        yield f"{at}:{port}"
