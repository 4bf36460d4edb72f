"""How much CPU does the recorder add to a streamed SDK call?

`uv run python tests/bench/recorder.py [PAIRS]` prints JSON; the aim is a ratio of at most 1.05.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
import socket
import sys
import time
from statistics import median

import openai

from probes.wire.recorder import attach, recording

CHUNKS = 200
BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "delta": {"content": " word"}, "finish_reason": None}],
}


def serve(ready) -> None:
    """In a process of its own, so that its CPU is not counted."""
    event = b"data: " + json.dumps(BODY).encode() + b"\n\n"
    part = b"%x\r\n%s\r\n" % (len(event), event)
    last = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ready.send(listener.getsockname()[1])
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with sock:
                asked = b""
                while not asked.endswith(b"}"):  # closing on unread bytes would be a reset
                    asked += sock.recv(65536)
                sock.sendall(head)
                for _ in range(CHUNKS):
                    sock.sendall(part)
                    time.sleep(0.0002)  # one chunk a read, as from a real model
                sock.sendall(last)


def one_call(sdk) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    stream = sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
    n = sum(1 for _ in stream)
    stream.close()
    assert n == CHUNKS, n
    return time.process_time() - began


def recorded_call(sdk) -> float:
    began = time.process_time()
    with recording(time.monotonic, deadline=60.0) as record:
        one_call(sdk)
    (tape,) = record.results()
    took = time.process_time() - began
    assert tape["facts"]["tokens"] == CHUNKS
    return took


def pair(plain, observed, *, first: bool) -> tuple[float, float]:
    """(without, with); who goes first changes, since the second finds warmer caches."""
    if first:
        return one_call(plain), recorded_call(observed)
    with_it = recorded_call(observed)
    return one_call(plain), with_it


def main(pairs: int) -> dict[str, object]:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    plain = openai.OpenAI(api_key="EMPTY", base_url=url, max_retries=0)
    observed = openai.OpenAI(api_key="EMPTY", base_url=url, max_retries=0)
    attach(observed._client)
    with plain, observed:
        for _ in range(3):
            pair(plain, observed, first=True)
        times = [pair(plain, observed, first=number % 2 == 0) for number in range(pairs)]
    server.terminate()
    server.join()
    without, with_it = median(t[0] for t in times), median(t[1] for t in times)
    return {
        "bench": "recorder",
        "ratio": round(median(t[1] / t[0] for t in times), 3),
        "aim": 1.05,
        "n": pairs,
        "cpu_ms": {"without": round(without * 1000, 2), "with": round(with_it * 1000, 2)},
        "conditions": {
            "chunks": CHUNKS,
            "connection": "new",
            "openai": openai.__version__,
            "python": platform.python_version(),
            "order": "interleaved",
            "statistic": "median of the pairs' ratios",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)))
