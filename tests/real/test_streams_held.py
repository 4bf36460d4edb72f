"""Are real servers that hold streams back told from those that pass them on, and is it said by what they do?

In front of the lab's streaming origin; where a server holds on purpose, it is its own setting that does it.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from asking import an_api, ask, at, certificate
from servers import apache, haproxy, nginx, smg, varnish

pytestmark = [pytest.mark.real, pytest.mark.realtime, pytest.mark.timeout(300)]
GZIP = "gzip on; gzip_types text/event-stream; gzip_min_length 1; gzip_proxied any;"
BUFFERED = "proxy_http_version 1.1; proxy_buffering on;"
AS_NGINX_COMES = "proxy_buffering on; proxy_http_version 1.0;"
"""Asked in HTTP/1.0 an origin knows no chunks, and nginx gives out what fills a buffer."""
IF_TAKEN = 'if (bereq.http.Accept-Encoding ~ "gzip") { set beresp.do_gzip = true; }'
DEFLATE = "AddOutputFilterByType DEFLATE text/event-stream"


def vcl(said: str) -> str:
    return f"sub vcl_backend_response {{ {said} }}"


SERVERS = {
    "nginx": nginx,
    "nginx, buffering, chunks": lambda folder, origin: nginx(folder, origin, proxy=BUFFERED),
    "nginx, buffering": lambda folder, origin: nginx(folder, origin, proxy=AS_NGINX_COMES),
    "nginx, gzip": lambda folder, origin: nginx(folder, origin, GZIP),
    "nginx, buffering, gzip": lambda folder, origin: nginx(folder, origin, GZIP, proxy=BUFFERED),
    "HAProxy": haproxy,
    "HAProxy, no delay": lambda folder, origin: haproxy(folder, origin, behind="option http-no-delay"),
    "HAProxy, gzip": lambda folder, origin: haproxy(
        folder, origin, "compression algo gzip\n  compression type text/event-stream", behind="option http-no-delay"
    ),
    "Varnish": lambda _, origin: varnish(origin),
    "Varnish, gzip": lambda _, origin: varnish(origin, vcl(IF_TAKEN)),
    "Varnish, whole": lambda _, origin: varnish(origin, vcl("set beresp.do_stream = false;")),
    "Apache": lambda _, origin: apache(origin),
    "Apache, gzip": lambda _, origin: apache(origin, DEFLATE, modules=("filter", "deflate")),
    "smg": smg,
}  # fmt: skip


@contextmanager
def told(edgeprobe, monkeypatch, tmp_path, server, *flags, keyed=True):
    """What the kind finds through this server."""
    with an_api(keyed=keyed) as origin, SERVERS[server](tmp_path, at(origin)) as base_url:
        suite = tmp_path / "held.yaml"
        suite.write_text("version: 1\nname: held\ncases:\n  - {kind: buffering, clients: [openai-py]}\n")
        more = [flag.format(origin=f"http://{at(origin)}/v1") for flag in flags]
        run = ask(edgeprobe, monkeypatch, str(suite), base_url, "--set", "tokens=160", *more)
        yield [f for f in run.document["findings"] if f["kind"] == "buffering"]


@pytest.mark.parametrize(
    "server",
    [
        "nginx", "nginx, buffering, chunks", "nginx, gzip", "HAProxy, no delay", "HAProxy, gzip", "Varnish", "Apache",
        "Apache, gzip", "smg",
    ],
)  # fmt: skip
def test_who_passes_streams_on(edgeprobe, monkeypatch, tmp_path, server):
    """Compressed or not: what comes as it is made is good."""
    with told(edgeprobe, monkeypatch, tmp_path, server, keyed=server != "smg") as findings:
        assert [(f["code"], f["verdict"]) for f in findings] == [("ok", "pass")], findings


@pytest.mark.parametrize(
    "server, factor, says",
    [
        ("nginx, buffering", None, "in the middle of an event"),
        ("nginx, buffering, gzip", "accept_encoding", "flows with Accept-Encoding: identity"),
        ("Varnish, gzip", "accept_encoding", "flows with Accept-Encoding: identity"),
        ("Varnish, whole", None, "Content-Length"),
    ],
)
def test_who_holds_them_back(edgeprobe, monkeypatch, tmp_path, server, factor, says):
    """By what, and what to change in the product that was recognised."""
    with told(edgeprobe, monkeypatch, tmp_path, server) as [found]:
        assert (found["code"], found["verdict"], found["factor"]) == ("stream.buffered", "fail", factor), (
            found
        )
        assert says in found["detail"]
        assert server.partition(",")[0] in found["advice"]
        assert found["confidence"] == "high"


def test_haproxy_waits_for_more(edgeprobe, monkeypatch, tmp_path):
    """Without its option it gives out what came in 0.2 s at a time: a warning, since nothing says that it is not the origin."""
    with told(edgeprobe, monkeypatch, tmp_path, "HAProxy") as [found]:
        assert (found["code"], found["verdict"], found["layer"]) == ("stream.buffered", "warn", "unknown"), (
            found
        )
        assert "given out in steps" in found["title"], found


@pytest.mark.parametrize(
    "server, factor, product",
    [
        ("nginx, buffering", "route", "nginx"),
        ("nginx, buffering, gzip", "accept_encoding", "nginx"),
        ("Varnish, whole", "route", "Varnish"),
        ("HAProxy", "route", None),
    ],
)
def test_the_origin_route_tells_the_layer(edgeprobe, monkeypatch, tmp_path, server, factor, product):
    """What flows there and not here is held by what stands between."""
    with told(edgeprobe, monkeypatch, tmp_path, server, "--route", "origin={origin}") as [found]:
        assert (found["code"], found["verdict"]) == ("stream.buffered", "fail"), found
        assert (found["factor"], found["layer"], found["product"]) == (factor, "edge", product), found


# --- one version of HTTP beside the other ----------------------------------------------------------------

FLOWING = "proxy_http_version 1.1; proxy_buffering off;"


@contextmanager
def by_version(edgeprobe, monkeypatch, tmp_path, rest, over_2, *, http2=True):
    """What the suite's own row finds where nginx treats requests over HTTP/2 as `over_2` says, and all others as `rest`."""
    with an_api() as origin:
        beside = (
            f"location @second {{ proxy_pass http://{at(origin)}; proxy_set_header Connection ''; {over_2} }}"
        )
        fork = 'error_page 418 = @second; if ($server_protocol = "HTTP/2.0") { return 418; }'
        more = {"certificate": certificate(tmp_path, monkeypatch), "http2": http2, "proxy": f"{fork} {rest}"}
        with nginx(tmp_path, at(origin), beside, **more) as base_url:
            suite = tmp_path / "held.yaml"
            suite.write_text("version: 1\nname: held\ncases:\n  - {kind: buffering, clients: genuine}\n")
            run = ask(edgeprobe, monkeypatch, str(suite), base_url, "--set", "tokens=160")
            [found] = [f for f in run.document["findings"] if f["kind"] == "buffering"]
            yield found, run


@pytest.mark.parametrize(
    "rest, over_2, when",
    [(AS_NGINX_COMES, FLOWING, "HTTP/1.1"), (FLOWING, AS_NGINX_COMES, "HTTP/2")],
    ids=["HTTP/1.1", "HTTP/2"],
)
def test_held_over_one_version_of_http(edgeprobe, monkeypatch, tmp_path, rest, over_2, when):
    """The factor is proven, three times of three, and nothing else differed on the wire."""
    with by_version(edgeprobe, monkeypatch, tmp_path, rest, over_2) as (found, run):
        assert (found["code"], found["factor"], found["observed"]) == (
            "stream.buffered",
            "http_version",
            {"k": 3, "n": 3},
        ), found
        assert f"over {when} alone" in found["title"]
        assert (found["confidence"], found["confounders"]) == ("high", []), found
        spoken = {e["id"]: e["conditions"]["http_version"] for e in run.exchanges}
        assert {spoken[found["control"]], spoken[found["variant"]]} == {"HTTP/1.1", "HTTP/2"}


@pytest.mark.parametrize(
    "rules, code", [(AS_NGINX_COMES, "stream.buffered"), (FLOWING, "ok")], ids=["held", "flows"]
)
def test_both_versions_of_http_alike(edgeprobe, monkeypatch, tmp_path, rules, code):
    """Asked over both, and neither is called the factor."""
    with by_version(edgeprobe, monkeypatch, tmp_path, rules, rules) as (found, run):
        assert (found["code"], found["factor"]) == (code, None), found
        assert "not tested" not in found["detail"]
        assert "HTTP/2" in {e["conditions"]["http_version"] for e in run.exchanges}


def test_http2_that_a_server_does_not_speak(edgeprobe, monkeypatch, tmp_path):
    """Offered and not taken: it is said that the two were not compared."""
    with by_version(edgeprobe, monkeypatch, tmp_path, AS_NGINX_COMES, FLOWING, http2=False) as (found, _):
        assert (found["code"], found["factor"]) == ("stream.buffered", None), found
        assert "the server agreed on HTTP/1.1 where HTTP/2 was offered" in found["detail"]


# --- one method beside the other -------------------------------------------------------------------------


@pytest.mark.parametrize("held", [True, False], ids=["held", "passed on"])
def test_a_stream_that_is_fetched_by_get(edgeprobe, monkeypatch, tmp_path, held):
    """Where nginx buffers the path of stored responses alone, those that are begun by POST flow."""
    with an_api() as origin:
        stored = f"location ~ ^/v1/responses/ {{ proxy_pass http://{at(origin)}; {AS_NGINX_COMES if held else FLOWING} }}"
        with nginx(tmp_path, at(origin), stored) as base_url:
            suite = tmp_path / "fetched.yaml"
            suite.write_text(
                "version: 1\nname: fetched\ncases:\n  - {kind: resumed, clients: [openai-py, httpx, curl]}\n"
            )
            flags = ("--endpoint", "responses", "--set", "stored=true", "--set", "tokens=500")
            run = ask(edgeprobe, monkeypatch, str(suite), base_url, *flags)
    found, *more = [f for f in run.document["findings"] if f["kind"] == "resumed"]
    assert not more, (found, more)
    if held:
        assert (found["code"], found["verdict"]) == ("stream.buffered", "fail"), found
        assert found["observed"] == {"k": 3, "n": 3}
        assert "nginx" in found["advice"]
    else:
        assert (found["code"], found["verdict"]) == ("ok", "pass"), found
