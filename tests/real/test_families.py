"""Is a broken address family told although every client falls back to the other?"""

from __future__ import annotations

import socket
from contextlib import contextmanager

import pytest
from asking import an_api, ask
from servers import free_port

from probes import lab
from probes.clock import Clock

pytestmark = [pytest.mark.real, pytest.mark.realtime]
NAME = "two-families.example"
CLIENTS = ("openai-py", "openai-py-async", "openai-py-aiohttp", "httpx")
"""Those that look names up in this process."""


@pytest.fixture(autouse=True)
def _both(monkeypatch):
    """A name with an address in each family, IPv6 first, as resolvers tell it where both work."""
    real = socket.getaddrinfo

    def resolved(host, *arguments, **more):
        name = host.decode() if isinstance(host, bytes) else host
        if name != NAME:
            return real(host, *arguments, **more)
        return [*real("::1", *arguments, **more), *real("127.0.0.1", *arguments, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


@contextmanager
def refusing(host, port):
    """The same port in the other family stays with us, and takes no connection."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as held:
        held.bind((host, port))
        yield


@pytest.mark.parametrize(
    ("works", "broken"), [("127.0.0.1", "::1"), ("::1", "127.0.0.1")], ids=["IPv4", "IPv6"]
)
def test_one_family_is_broken(edgeprobe, monkeypatch, works, broken):
    """`connection` names the family; completions come through the other and are good."""
    asked = [flag for name in CLIENTS for flag in ("--client", name)]
    with an_api(host=works) as origin, refusing(broken, origin.server.port):
        run = ask(edgeprobe, monkeypatch, "smoke", f"http://{NAME}:{origin.server.port}/v1", *asked)
    [found] = run.troubles()
    assert (found["code"], found["layer"], found["kind"]) == ("unreachable.family", "network", "connection")
    assert (found["factor"], found["observed"]) == ("family", {"k": 3, "n": 3})
    assert found["title"].startswith(f"The host has IPv{6 if ':' in broken else 4} addresses")
    assert found["verdict"] == "warn"  # this machine's own
    good = {f["kind"] for f in run.document["findings"] if f["code"] == "ok"}
    assert good >= {"completion", "streaming", "identity", "error_format"}
    peers = {e["conditions"].get("peer") for e in run.exchanges if e["client"] in {"httpx", "openai-py"}}
    host = f"[{works}]" if ":" in works else works
    assert peers <= {f"{host}:{origin.server.port}", None}


def test_both_families_work(edgeprobe, monkeypatch):
    """Both are named in the green."""
    port, speed = free_port(), {"clock": Clock(), "prefill": 0.02, "tpot": 0.02}
    with lab.serve(port=port, **speed), lab.serve(port=port, host="::1", **speed):
        run = ask(edgeprobe, monkeypatch, "smoke", f"http://{NAME}:{port}/v1", "--client", "httpx")
    [found] = [f for f in run.document["findings"] if f["kind"] == "connection"]
    assert (found["code"], run.troubles()) == ("ok", [])
    assert "127.0.0.1 " in found["detail"]
    assert "::1 " in found["detail"]
