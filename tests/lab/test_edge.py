"""Does the edge pass what it should, and spoil what it is told to?"""

import http.client
import json
import socket
import struct
import threading
import time
from contextlib import ExitStack, contextmanager

import openai
import pytest
from conftest import CLOCK, ask, send, settled

from probes.clock import Clock
from probes.errors import UsageError
from probes.lab import LAB_KEY, serve
from probes.lab.edge import Edge
from probes.lab.faults import catalogue

SDK = [("User-Agent", "OpenAI/Python 3.57.0"), ("Accept", "application/json"), ("X-Stainless-Lang", "python")]


def sdk(lab):
    return openai.OpenAI(base_url=lab.base_url, api_key=LAB_KEY, max_retries=0)


STREAM = ask("count", 12, stream=True)


def test_proxied_answers_carry_both_marks(lab):
    """The origin's fields stay, `server` becomes the edge's, ray and cache status are added."""
    straight, through = send(lab.origin_url, ask()), send(lab.base_url, ask())
    assert (straight.get("server"), through.get("server")) == ("uvicorn", "cloudflare")
    assert through.get("cf-cache-status") == "DYNAMIC"
    assert through.get("cf-ray").endswith("-FRA")
    assert len(through.get("cf-ray")) == 20
    assert through.get("x-request-id")
    assert through.json["choices"] == straight.json["choices"]


def test_nothing_is_buffered():
    """The role chunk of a stream is there long before the first token."""
    with serve(clock=Clock(0.05), prefill=4, tpot=0) as slow:
        connection = http.client.HTTPConnection("127.0.0.1", slow.edge.server.port)
        began = time.monotonic()
        connection.request(
            "POST",
            "/v1/chat/completions",
            json.dumps(ask(stream=True)),
            {"Authorization": f"Bearer {LAB_KEY}"},
        )
        response = connection.getresponse()
        response.readline()
        first = time.monotonic() - began
        response.read()
        connection.close()
        whole = time.monotonic() - began
        assert first < 0.1
        assert whole >= 0.2


def test_connections_are_kept(lab):
    """Two requests share one connection, refused or answered."""
    connection = http.client.HTTPConnection("127.0.0.1", lab.edge.server.port)
    sockets = set()
    for key in ("wrong", LAB_KEY, LAB_KEY):
        connection.request(
            "POST", "/v1/chat/completions", json.dumps(ask()), {"Authorization": f"Bearer {key}"}
        )
        sockets.add(connection.sock.getsockname())
        connection.getresponse().read()
    connection.close()
    assert len(sockets) == 1


@pytest.mark.parametrize(
    ("fault", "accept", "content_type", "starts"),
    [
        ("ai-crawler-rule", "application/json", "application/json; charset=utf-8", "{"),
        ("ai-crawler-rule", "*/*", "text/plain; charset=UTF-8", "error code: 1010"),
        ("ai-crawler-rule-html", "application/json", "text/html; charset=UTF-8", "<!DOCTYPE html>"),
        ("ai-crawler-rule-markdown", "*/*", "text/markdown; charset=utf-8", "---"),
        ("ai-crawler-rule-plain", "application/json", "text/plain; charset=UTF-8", "error code: 1010"),
        ("firewall-rule-ua", "application/problem+json", "application/problem+json; charset=utf-8", "{"),
        ("firewall-rule-ua", "text/markdown, */*", "text/markdown; charset=utf-8", "---"),
        ("firewall-rule-ua", "*/*", "text/html; charset=UTF-8", "<!DOCTYPE html>"),
    ],
)
def test_blocks_are_negotiated(fault, accept, content_type, starts):
    """One block has as many bodies as clients have Accept headers."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, ask(), headers=[("User-Agent", "OpenAI/JS"), ("Accept", accept)])
        assert (reply.status, reply.get("content-type")) == (403, content_type)
        assert reply.body.decode().startswith(starts)
        assert reply.get("cf-ray")
        assert reply.get("cf-cache-status") is None
        assert not lab.origin.requests
        assert send(lab.base_url, ask(), headers=[("User-Agent", "curl/8"), ("Accept", accept)]).status == 200


def without(*names):
    return [pair for pair in SDK if pair[0] not in names]


@pytest.mark.parametrize(
    ("fault", "refused", "passed"),
    [
        ("sdk-headers-rule", SDK, without("X-Stainless-Lang")),
        ("ua-and-sdk-headers-rule", SDK, without("User-Agent")),
        ("ua-and-sdk-headers-rule", SDK, without("X-Stainless-Lang")),
        ("accept-rule", SDK, without("Accept")),
        ("python-challenge", SDK, without("User-Agent")),
        ("nginx-ua-rule", SDK, without("User-Agent")),
    ],
)
def test_rules_look_at_what_they_say(fault, refused, passed):
    """Each rule refuses its own headers and lets the rest through."""
    with serve([fault], clock=CLOCK) as lab:
        assert send(lab.base_url, ask(cap=1), headers=refused).status == 403
        assert send(lab.base_url, ask(cap=1), headers=passed).status == 200


@pytest.mark.parametrize(
    ("fault", "statuses"),
    [("ua-rule-every-second", [200, 403, 200, 403]), ("block-after-6", [200] * 6 + [403, 403])],
)
def test_counting_is_exact(fault, statuses):
    """`every` and `after` count the requests that match."""
    with serve([fault], clock=CLOCK, prefill=0, tpot=0) as lab:
        assert [send(lab.base_url, ask(), headers=SDK).status for _ in statuses] == statuses


def test_bodies_decide():
    """Size and content of the request."""
    with serve(["body-limit-1m", "backtick-rule"], clock=CLOCK) as lab:
        assert send(lab.base_url, ask("x" * 1_048_577, 1)).status == 413
        assert send(lab.base_url, ask("x" * 500_000, 1)).status == 200
        assert send(lab.base_url, ask("`ls`", 1)).status == 403


@pytest.mark.parametrize(
    ("fault", "status", "retry_after"),
    [
        ("rate-limit", 429, "30"),
        ("rate-limit-unhinted", 429, None),
        ("page-502", 502, "60"),
        ("page-520", 520, "60"),
        ("page-521", 521, "120"),
        ("page-522", 522, "120"),
        ("page-523", 523, "120"),
        ("page-524", 524, "120"),
        ("page-525", 525, None),
        ("page-526", 526, None),
        ("page-530", 530, "120"),
    ],
)
def test_cloudflare_pages_say_when_to_retry(fault, status, retry_after):
    """Status, header and JSON member agree."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, ask(), headers=SDK)
        assert (reply.status, reply.get("retry-after")) == (status, retry_after)
        assert reply.json["cloudflare_error"] is True
        assert str(reply.json.get("retry_after")) == str(retry_after)
        assert reply.json["error_code"] == {429: 1015, 530: 1033}.get(status, status)
        assert reply.get("cf-ray") == f"{reply.json['ray_id']}-FRA"


@pytest.mark.parametrize(
    ("profile", "status", "server"), [("cloudflare", 521, "cloudflare"), ("nginx", 502, "nginx")]
)
def test_dead_upstream_has_the_page_of_the_product(profile, status, server):
    """Refused connections are answered by the edge itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Edge(("127.0.0.1", port), CLOCK, profile_name=profile).server as server_:
        reply = send(server_.root_url, ask())
    assert (reply.status, reply.get("server")) == (status, server)


@contextmanager
def in_front_of(said, how="close"):
    """An edge whose upstream says these bytes and leaves."""
    with socket.create_server(("127.0.0.1", 0)) as upstream:

        def answer():
            sock, _ = upstream.accept()
            with sock:
                sock.recv(65536)
                sock.sendall(said)
                if how == "reset":
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        thread = threading.Thread(target=answer)
        thread.start()
        with Edge(upstream.getsockname(), CLOCK).server as edge:
            yield edge.root_url
        thread.join()


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 OK\r\n\r\n"])
def test_garbled_upstream_is_520(said, how):
    """An upstream that does not speak HTTP."""
    with in_front_of(said, how) as url:
        assert send(url, ask()).status == 520


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
COUNTED = b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nhi"


@pytest.mark.parametrize(
    ("said", "how", "wire", "end"),
    [
        pytest.param(CHUNKED, "close", b"2\r\nhi\r\n", "closed", id="chunked, closed"),
        pytest.param(CHUNKED, "reset", b"2\r\nhi\r\n", "reset", id="chunked, reset"),
        pytest.param(CHUNKED + b"zz\r\n", "close", b"", "closed", id="chunked, garbled"),
        pytest.param(COUNTED, "close", b"hi", "closed", id="counted, short"),
        pytest.param(COUNTED + b"all", "close", b"hiall", "closed", id="counted, whole"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhi", "close", b"hi", "closed", id="until close"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + COUNTED, "close", b"hi", "closed", id="interim"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", "close", b"", "closed", id="no body"),
    ],
)
def test_ends_are_passed_on(said, how, wire, end):
    """However the upstream ends its answer, the client sees it end that way."""
    with in_front_of(said, how) as url:
        reply = send(url, ask())
        assert (reply.wire[: len(wire)], reply.end) == (wire, end)
        if b"Set-Cookie" in said:
            assert [pair for pair in reply.fields if "cookie" in pair[0].lower()] == [
                ("Set-Cookie", "a"),
                ("set-cookie", "b"),
            ]


@contextmanager
def deaf():
    """An address that takes no more connections."""
    with socket.socket() as listener, ExitStack() as queue:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()


def test_deaf_upstream_is_522():
    """No connection within 19 s."""
    with deaf() as address, Edge(address, CLOCK).server as edge:
        reply = send(edge.root_url, ask())
        assert reply.status == 522
        assert 19 <= reply.seconds < 79


def test_close_does_not_wait_for_a_deaf_upstream():
    """Connections that are still being made end too."""
    with deaf() as address, socket.socket() as sock:
        with Edge(address, Clock(1)).server as edge:
            sock.connect(("127.0.0.1", edge.port))
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            time.sleep(0.05)
            began = time.monotonic()
        assert time.monotonic() - began < 5  # of the 19 it would have waited


def test_read_timer_hits_the_silent_twin_only():
    """The same answer of 460 tokens: 524 after 125 s without stream, whole with it."""
    with serve(["read-timer"], clock=CLOCK) as lab:
        cut = send(lab.base_url, ask("count", 460), headers=SDK)
        assert (cut.status, cut.json["error_name"]) == (524, "origin_response_timeout")
        assert 125 <= cut.seconds < 185
        whole = send(lab.base_url, ask("count", 460, stream=True), headers=SDK)
        assert (whole.status, whole.tidy) == (200, True)
        assert whole.seconds > 127
        arrival = lab.origin.requests[0]
        assert settled(arrival).ended is False  # the edge hung up on it


@pytest.mark.parametrize(
    ("fault", "body", "status", "seconds"),
    [
        ("read-timer-60", ask("count", 400), 504, 60),
        ("silent-close-60", ask("count", 400), None, 60),
        ("total-timer-100", ask("count", 400), None, 100),
        ("total-timer-100", ask("count", 400, stream=True), 200, 100),
        ("cut-30", ask("count", 200, stream=True), 200, 30),
    ],
)
def test_timers_run_as_said(fault, body, status, seconds):
    """Each timer ends the response when it says, not before."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, body)
        assert reply.status == status
        assert seconds <= reply.seconds < seconds + 60
        assert status == 504 or not reply.wire.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("fault", "end", "tidy"),
    [("cut-clean", "closed", True), ("cut-close", "closed", False), ("cut-reset", "reset", False)],
)
def test_streams_are_cut_three_ways(fault, end, tidy):
    """After five events: terminator, close or reset; other requests pass."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, STREAM)
        assert (reply.status, reply.end, reply.tidy) == (200, end, tidy)
        assert reply.body.count(b"\n\n") == 5
        assert send(lab.base_url, ask()).tidy


@pytest.mark.parametrize(
    ("fault", "path", "last"),
    [
        ("no-done", "/v1/chat/completions", '"finish_reason":"length"'),
        ("no-message-stop", "/v1/messages", "message_delta"),
        ("done-too-soon", "/v1/chat/completions", "[DONE]"),
        ("error-then-done", "/v1/chat/completions", "[DONE]"),
        ("error-event", "/v1/chat/completions", "server_error"),
        ("error-event-messages", "/v1/messages", "api_error"),
    ],
)
def test_streams_end_in_the_words_given(fault, path, last):
    """The framing is tidy and the last event is the one that was asked for."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, STREAM, path=path, headers=[("anthropic-version", "1")])
        assert reply.tidy
        assert last in reply.body.decode().split("\n\n")[-2]


def test_cut_in_the_middle_of_an_event():
    """The body stops after so many bytes."""
    with serve(["cut-mid-event"], clock=CLOCK) as lab:
        reply = send(lab.base_url, STREAM)
        assert (len(reply.body), reply.tidy) == (700, True)
        assert not reply.body.endswith(b"\n\n")


@pytest.mark.parametrize("fault", ["one-byte-writes", "crlf", "cr", "crlf-one-byte", "comments"])
def test_legal_streams_are_read_by_the_sdk(fault):
    """Odd but conformant bytes say the same."""
    with serve([fault], clock=CLOCK) as lab, sdk(lab) as client:
        stream = client.chat.completions.create(**ask("count", 3), stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "1 2 3 "


def test_line_ends_and_comments_are_as_said():
    """The bytes, not only what an SDK makes of them."""
    with serve(["crlf", "comments"], clock=CLOCK) as lab:
        body = send(lab.base_url, STREAM).body
        assert b"\n" not in body.replace(b"\r\n", b"")
        assert body.startswith(b": keep-alive\r\n\r\n")
        assert body.count(b": keep-alive") >= 3
    with serve(["one-byte-writes"], clock=CLOCK) as lab:
        assert send(lab.base_url, STREAM).wire.startswith(b"1\r\nd\r\n1\r\na\r\n1\r\nt\r\n")


def test_content_type_can_be_wrong_or_missing():
    """Headers of a proxied answer can be set and dropped."""
    with serve(["stream-as-html"], clock=CLOCK) as lab:
        assert send(lab.base_url, STREAM).get("content-type") == "text/html"
    with serve(["stream-untyped"], clock=CLOCK) as lab:
        assert send(lab.base_url, STREAM).get("content-type") is None


def test_only_bad_keys_see_the_page():
    """The origin's 401 leaves as a page; good keys and other errors pass."""
    with serve(["bad-key-page"], clock=CLOCK) as lab:
        page = send(lab.base_url, ask(), key="wrong")
        assert (page.status, b"Sorry, you have been blocked" in page.body) == (403, True)
        assert [send(lab.base_url, ask(cap=1)).status, send(lab.base_url, b"{").status] == [200, 400]


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        ("html-200", 200, b"<!DOCTYPE html>"),
        ("empty-200", 200, b""),
        ("broken-json-200", 200, b'{"id"'),
        ("error-in-200", 200, b'{"error"'),
        ("redirect-307", 307, b""),
        ("redirect-elsewhere", 301, b""),
        ("challenge-all", 403, b"<!DOCTYPE html>"),
        ("terminal-escapes", 400, b'{"error"'),
    ],
)
def test_bodies_are_as_said(fault, status, body):
    """Answers of the edge's own, whole by their framing."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, ask())
        assert (reply.status, reply.body[: len(body)], reply.tidy) == (status, body, True)
        assert (reply.get("cf-mitigated") == "challenge") == (fault == "challenge-all")


def test_redirect_leads_to_the_answer():
    """A client that follows 307 gets through."""
    with serve(["redirect-307"], clock=CLOCK) as lab, sdk(lab) as client:
        assert client.chat.completions.create(**ask()).choices[0].message.content


def test_key_is_echoed():
    """In body and headers, for redaction to find."""
    with serve(["key-echo"], clock=CLOCK) as lab:
        reply = send(lab.base_url, ask(), key="sk-canary-1")
        assert "sk-canary-1" in reply.json["error"]["message"]
        assert reply.get("x-debug-authorization") == "Bearer sk-canary-1"
        assert reply.get("x-debug-key") == "sk-canary-1"


@pytest.mark.parametrize(
    ("fault", "end"), [("reset-all", "reset"), ("close-all", "closed"), ("ua-reset", "reset")]
)
def test_connections_end_without_an_answer(fault, end):
    """Not one byte comes back."""
    with serve([fault], clock=CLOCK) as lab:
        reply = send(lab.base_url, ask(), headers=SDK)
        assert (reply.status, reply.end) == (None, end)


def test_first_named_fault_wins():
    """Two that set the same thing do not mix."""
    with serve(["block-all", "rate-limit"], clock=CLOCK) as lab:
        assert send(lab.base_url, ask()).status == 403


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"faults": ["read-timr"]}, "read-timer"),
        ({"profile": "cloudfare"}, "cloudflare"),
    ],
)
def test_mistakes_name_the_nearest(arguments, says):
    """An unknown fault or profile is a usage error."""
    with pytest.raises(UsageError, match=f"did you mean {says}"), serve(clock=CLOCK, **arguments):
        pass


@pytest.mark.parametrize("fault", catalogue())
def test_every_fault_runs_and_closes(fault):
    """No row of the table breaks the lab."""
    with serve([fault], clock=CLOCK, prefill=0, tpot=0) as lab:
        if fault not in {"silent", "ua-hang"}:
            send(lab.base_url, STREAM, headers=SDK)
            send(lab.base_url, STREAM, path="/v1/messages", headers=[*SDK, ("anthropic-version", "1")])


@pytest.mark.parametrize(
    ("path", "accept", "status", "media", "says"),
    [
        ("1010", "application/json", 403, "application/json", b'"error_code": 1010'),
        ("1010", "*/*", 403, "text/html", b"used Cloudflare to restrict access"),
        ("1015", "text/markdown", 429, "text/markdown", b"error_code: 1015"),
        ("524", "application/json", 524, "application/json", b'"error_code": 524'),
        ("1999", "application/json", 500, "application/json", b'"error_code": 500'),
    ],
    ids=["json", "html", "markdown", "5xx", "a code that is not there"],
)
def test_error_pages_can_be_asked_for(lab, path, accept, status, media, says):
    """By their code, in the form that Accept names, without the marks of a proxied answer."""
    root = lab.edge.server.root_url
    reply = send(root, method="GET", path=f"/cdn-cgi/error/{path}", headers=[("Accept", accept)])
    assert (reply.status, reply.get("content-type").partition(";")[0]) == (status, media)
    assert says in reply.body
    assert reply.get("cf-ray")
    assert reply.get("cf-cache-status") is None


def test_a_page_of_the_zones_own_is_shown_and_served():
    """On request and for a real error alike, in its one form."""
    with serve(("own-error-pages", "ai-crawler-rule"), clock=CLOCK) as own:
        root = own.edge.server.root_url
        shown = send(root, method="GET", path="/cdn-cgi/error/1010", headers=[("Accept", "application/json")])
        met = send(own.edge.server.root_url, ask(), headers=SDK)
    for reply in (shown, met):
        assert (reply.status, reply.get("content-type")) == (403, "text/html; charset=UTF-8")
        assert b"not served by Example Corp" in reply.body


def test_an_edge_may_pass_the_paths_of_error_pages_on():
    """Then the origin answers, with the marks of a proxied answer."""
    with serve(("error-paths-passed-on",), clock=CLOCK) as passing:
        reply = send(passing.edge.server.root_url, method="GET", path="/cdn-cgi/error/1010")
    assert (reply.status, reply.get("cf-cache-status")) == (404, "DYNAMIC")
