"""One response in each form in which people paste it."""

from __future__ import annotations

import base64
import json

REASONS = {403: "Forbidden", 429: "Too Many Requests", 502: "Bad Gateway", 504: "Gateway Timeout"}


def raw(status, headers, body, *, version="1.1", end="\r\n"):
    """As `curl -i` prints it."""
    reason = f" {REASONS.get(status, 'Reason')}" if version == "1.1" else " "
    lines = [f"HTTP/{version} {status}{reason}", *(f"{name}: {value}" for name, value in headers.items())]
    return end.join([*lines, "", ""]) + body


def verbose(status, headers, body, *, key="Bearer s3cretValueWithoutShape"):
    """As `curl -v` prints it, standard error and output in one."""
    asked = [
        "POST /v1/chat/completions HTTP/2",
        "Host: api.example.com",
        "User-Agent: OpenAI/Python 3.57.0",
        f"Authorization: {key}",
        "Content-Length: 33",
        "",
    ]
    lines = ["*   Trying 192.0.2.10:443...", "* Connected to api.example.com (192.0.2.10) port 443"]
    lines += ["* ALPN: curl offers h2,http/1.1", *(f"> {line}" for line in asked)]
    lines += ["} [33 bytes data]", "* upload completely sent off: 33 bytes", f"< HTTP/2 {status} "]
    lines += [
        *(f"< {name}: {value}" for name, value in headers.items()),
        "< ",
        f"{{ [{len(body)} bytes data]",
    ]
    return "\n".join(lines) + f"\n{body}* Connection #0 to host api.example.com left intact\n"


def har(*entries):
    """As a browser or proxy exports it; entries are (status, headers, body) or whole ones."""
    return json.dumps(
        {"log": {"version": "1.2", "entries": [_entry(*e) if isinstance(e, tuple) else e for e in entries]}}
    )


def _entry(
    status,
    headers,
    body,
    *,
    url="https://api.example.com/v1/chat/completions?key=not-for-anyone",
    packed=True,
):
    content = {"size": len(body), "mimeType": headers.get("content-type", ""), "text": body}
    if packed:
        content |= {"text": base64.b64encode(body.encode()).decode(), "encoding": "base64"}
    return {
        "request": {"method": "POST", "url": url, "headers": [{"name": ":method", "value": "POST"}]},
        "response": {
            "status": status,
            "statusText": "",
            "headers": [{"name": name, "value": value} for name, value in headers.items()],
            "content": content,
        },
        "timings": {
            "blocked": 2,
            "dns": -1,
            "connect": -1,
            "ssl": -1,
            "send": 1,
            "wait": 125_004,
            "receive": 3,
        },
    }


def python(status, body):
    """As the Anthropic SDK, and the OpenAI SDK up to 2.x, say it in a traceback."""
    try:
        said = repr(json.loads(body))
    except (ValueError, RecursionError):
        said = body.strip()
    return (
        'Traceback (most recent call last):\n  File "/app/job.py", line 12, in <module>\n    client.chat.completions'
        f".create(\nopenai.APIStatusError: Error code: {status} - {said}\n"
    )
