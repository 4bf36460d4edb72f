"""How fast are a stream's facts read, against nothing but parsing its JSON?

`uv run python tests/bench/stream.py [ROUNDS]` prints JSON: MB/s, and the ratio of the times.
"""

from __future__ import annotations

import json
import platform
import sys
import time

from probes.wire.content import Content
from probes.wire.sse import Parser

EVENTS = 5_000
FRAGMENT = 1_400  # bytes, about what one TCP segment carries


def best(rounds: int, work) -> float:
    """Seconds of the fastest round: the rest is other people's work."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main(rounds: int) -> dict[str, object]:
    texts = [
        json.dumps(
            {
                "id": "chatcmpl-0123456789",
                "object": "chat.completion.chunk",
                "created": 1_790_000_000,
                "model": "m",
                "choices": [{"index": 0, "delta": {"content": f" word{n}"}, "finish_reason": None}],
            }
        )
        for n in range(EVENTS)
    ]
    stream = "".join(f"data: {text}\n\n" for text in texts).encode()
    fragments = [stream[at : at + FRAGMENT] for at in range(0, len(stream), FRAGMENT)]

    def parse_json() -> None:
        for text in texts:
            json.loads(text)

    def parse_events() -> None:
        parser = Parser()
        assert sum(len(parser.feed(part)) for part in fragments) == EVENTS

    def read_facts() -> None:
        content = Content("text/event-stream", "", 1 << 30)
        for at, part in enumerate(fragments):
            content.feed(part, float(at))
        assert content.result(complete=True)["facts"]["tokens"] == EVENTS

    alone, events, facts = (best(rounds, work) for work in (parse_json, parse_events, read_facts))
    rate = {"json": alone, "events": events, "facts": facts}
    return {
        "bench": "stream",
        "ratio": round(facts / alone, 2),
        "n": rounds,
        "mb_per_s": {name: round(len(stream) / 1e6 / seconds, 1) for name, seconds in rate.items()},
        "conditions": {
            "events": EVENTS,
            "bytes": len(stream),
            "fragment": FRAGMENT,
            "python": platform.python_version(),
            "statistic": "fastest",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))
