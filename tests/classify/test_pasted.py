"""What people paste, and what is said of it."""

from __future__ import annotations

import json

import pytest
from pasted_forms import har, raw, verbose

from probes.classify import classify, to_document
from probes.classify.told import rows
from probes.model import Confidence, Layer, WhoActs

CLOUDFLARE = {"server": "cloudflare", "cf-ray": "8c0ffee0ddba11ad-FRA"}
PLAIN = {**CLOUDFLARE, "content-type": "text/plain; charset=UTF-8"}
JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html"}
NGINX = "<html>\n<head><title>{0}</title></head>\n<body>\n<center><h1>{0}</h1></center>\n<hr><center>nginx/1.18.0 (Ubuntu)</center>\n</body>\n</html>\n"
BAD_KEY = '{"error":{"message":"Incorrect API key provided: sk-no.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}'
CF_1010 = (
    '{"type":"https://developers.cloudflare.com/x","title":"Error 1010: Access denied","status":403,"error_code":1010,'
    '"error_name":"browser_signature_banned","error_category":"access_denied","ray_id":"8c0ffee0ddba11ad",'
    '"zone":"api.example.com","cloudflare_error":true,"retryable":false}'
)
TRACE = 'Traceback (most recent call last):\n  File "/app/job.py", line 12, in <module>\n    client.chat.completions.create(\n'
SQUID = {"server": "squid/5.7", "x-squid-error": "ERR_ACCESS_DENIED 0", "via": "1.1 gw3 (squid/5.7)", **HTML}
SQUIDS = "<html><head><title>ERROR: The requested URL could not be retrieved</title></head></html>"
EDGE, ORIGIN, UNKNOWN = Layer.EDGE, Layer.ORIGIN, Layer.UNKNOWN
HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW
CF, NX = "Cloudflare", "nginx"

# What each holds, and (layer, product, code, vendor code, confidence) of each answer in it. The shapes were seen in the
# issues named; hosts, rays and ids are made up.
PASTED = {
    # --- responses
    "curl -i over HTTP/2, without a reason phrase": (raw(403, PLAIN, "error code: 1010", version="2"), [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    "curl -v": (verbose(403, PLAIN, "error code: 1010"), [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    "the origin's 401 behind Cloudflare": (raw(401, {**CLOUDFLARE, **JSON}, BAD_KEY), [(ORIGIN, None, "auth.rejected", "invalid_api_key", MEDIUM)]),
    "100-continue, then the answer": (
        "HTTP/1.1 100 Continue\r\n\r\n" + raw(413, HTML, NGINX.format("413 Request Entity Too Large")),
        [(EDGE, NX, "size.rejected", None, HIGH)]),
    "a redirect, then the answer": (
        raw(301, {"location": "https://api.example.com/v1/", **HTML}, "Moved\r\n\r\n") + raw(401, JSON, BAD_KEY),
        [(UNKNOWN, None, "redirected", None, LOW), (ORIGIN, None, "auth.rejected", "invalid_api_key", MEDIUM)]),
    "a proxy's consent to CONNECT is no answer": (
        "HTTP/1.1 200 Connection established\r\n\r\n" + raw(403, PLAIN, "error code: 1010"),
        [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    "status and headers only": (raw(403, {**CLOUDFLARE, "cf-mitigated": "challenge"}, ""), [(EDGE, CF, "challenged", None, HIGH)]),
    "a good status and headers only": (raw(200, JSON, ""), [(UNKNOWN, None, "not_told", None, LOW)]),
    "a good answer": (
        raw(200, JSON, '{"choices":[{"message":{"role":"assistant","content":"Hi."}}]}'), [(ORIGIN, None, "ok", None, MEDIUM)]),
    "a status line alone": ("HTTP/1.1 502 Bad Gateway", [(UNKNOWN, None, "unreachable.origin", None, LOW)]),
    "without an empty line before the body": (
        "HTTP/1.1 403 Forbidden\nServer: cloudflare\nContent-Type: text/plain\nerror code: 1020\n", [(EDGE, CF, "blocked", "1020", HIGH)]),
    "in a fence of Markdown": (f"see\n```http\n{raw(403, PLAIN, 'error code: 1010', end=chr(10))}\n```\nthanks", [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    "indented, as code": (
        "\n".join(f"    {line}" for line in raw(403, PLAIN, "error code: 1010", end="\n").split("\n")),
        [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    "an error inside a stream": (
        raw(200, {"content-type": "text/event-stream"}, 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":{"message":"no","code":"x"}}\n\n', end="\n"),
        [(UNKNOWN, None, "stream.error_event", "x", LOW)]),
    "the beginning of a stream is no cut stream": (
        raw(200, {"content-type": "text/event-stream"}, 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', end="\n"),
        [(UNKNOWN, None, "not_told", None, LOW)]),
    # --- traps
    "server: cloudflare alone is transit": (
        raw(403, {**CLOUDFLARE, **HTML}, "<html><head><title>Forbidden</title></head><body>Access denied</body></html>"),
        [(UNKNOWN, None, "blocked", None, LOW)]),
    "a CSP that names a CDN proves nothing": (
        raw(403, {**HTML, "content-security-policy": "default-src https://cdnjs.cloudflare.com"}, "<html><body>No</body></html>"),
        [(UNKNOWN, None, "blocked", None, LOW)]),
    "an API's shape with a cf_ type is the edge's": (
        raw(502, JSON, '{"error":{"code":502,"message":"Bad gateway.","param":null,"type":"cf_bad_gateway"}}'),
        [(EDGE, CF, "unreachable.origin", "502", HIGH)]),
    "Anthropic's 413 is made by its edge": (
        raw(413, {**JSON, "server": "cloudflare"}, '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'),
        [(EDGE, "Anthropic", "size.rejected", "request_too_large", MEDIUM)]),
    "the same without headers is not proven the API's": (
        "anthropic.RequestTooLargeError: Error code: 413 - {'error': {'type': 'request_too_large', 'message': 'Request exceeds the maximum size'}}",
        [(ORIGIN, None, "size.rejected", None, LOW)]),
    "a 504 with the CDN's branding is ambiguous": (
        raw(504, {**CLOUDFLARE, **HTML}, "<!DOCTYPE html><html><head><title>api.example.com | 504: Gateway time-out</title></head></html>"),
        [(UNKNOWN, CF, "timeout.first_byte", "504", LOW)]),
    "a block page with 200 is a block": (
        raw(200, {**CLOUDFLARE, **HTML}, "<html><head><title>Attention Required! | Cloudflare</title></head><body><h1>Sorry, you have been blocked</h1></body></html>"),
        [(EDGE, CF, "blocked", None, HIGH)]),
    "nginx writes its name on what it passes on": (raw(502, {"server": "nginx"}, "bad gateway"), [(UNKNOWN, None, "unreachable.origin", None, LOW)]),
    "a 502 page of nginx through Cloudflare is nginx's": (
        raw(502, {**CLOUDFLARE, **HTML}, NGINX.format("502 Bad Gateway")), [(EDGE, NX, "unreachable.origin", None, HIGH)]),
    "words in a sentence are no page": ("Our docs say that error code: 1010 means a banned client, and so does Cloudflare.", []),
    # --- whose proxy
    "Squid, with nothing that tells whose": (raw(403, SQUID, SQUIDS), [(UNKNOWN, "Squid", "blocked", None, LOW)]),
    "Squid, asked for the whole URL": (
        verbose(403, SQUID, SQUIDS).replace("POST /v1", "POST http://api.example.com/v1"), [(Layer.PROXY, "Squid", "unreachable.connect", None, MEDIUM)]),
    "Squid, asked without a proxy": (verbose(403, SQUID, SQUIDS), [(EDGE, "Squid", "blocked", None, HIGH)]),
    "Squid inside a proxy's tunnel": (
        "* Establish HTTP proxy tunnel to api.example.com:443\n> CONNECT api.example.com:443 HTTP/1.1\n> Host: api.example.com:443\n>\n"
        "< HTTP/1.1 200 Connection established\n<\n* CONNECT tunnel established, response 200\n" + verbose(403, SQUID, SQUIDS),
        [(UNKNOWN, "Squid", "blocked", None, LOW)]),
    # --- a status that was guessed
    "a number under code": ('{"error":{"message":"x","code":504}}', [(Layer.GATEWAY, None, "timeout.first_byte", "504", LOW)]),
    "Anthropic's word in OpenAI's shape": (
        '{"error":{"message":"No","type":"permission_error","param":null,"code":"forbidden"}}', [(ORIGIN, None, "auth.rejected", "forbidden", LOW)]),
    "a code that the edge alone writes": (
        '{"error":{"code":502,"message":"Bad gateway.","param":null,"type":"cf_bad_gateway"}}', [(EDGE, CF, "unreachable.origin", "502", LOW)]),
    # --- a status line alone
    "a status that Cloudflare alone uses, and its first headers": ("HTTP/2 524\ndate: x\nserver: cloudf", [(EDGE, CF, "timeout.first_byte", "524", LOW)]),
    "the same from another server": ("HTTP/2 524\ndate: x\nserver: nginx", [(UNKNOWN, None, "server.error", None, LOW)]),
    # --- bodies alone
    "JSON of Cloudflare alone": (CF_1010, [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "an API's JSON alone names its error": (BAD_KEY, [(ORIGIN, None, "auth.rejected", "invalid_api_key", MEDIUM)]),
    "JSON that names no known error": ('{"error": {"message": "something went wrong"}}', [(UNKNOWN, None, "not_told", None, LOW)]),
    "a page of nginx alone": (NGINX.format("504 Gateway Time-out"), [(EDGE, NX, "timeout.first_byte", None, MEDIUM)]),
    "plain text alone": ("error code: 1010\n", [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "Markdown alone": (
        "---\nerror_code: 1010\nerror_name: browser_signature_banned\nstatus: 403\nray_id: 8c0ffee0ddba11ad\ncloudflare_error: true\n---\n\n# Error 1010: Access denied\n",
        [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "a request's JSON is no answer": ('{"model": "m", "messages": [{"role": "user", "content": "hi"}]}', []),
    # --- pages as text
    "ModSecurity's page": (
        ("we get\n\nNot Acceptable!\n\nAn appropriate representation of the requested resource could not be found on this server. "
         "This error was generated by Mod_Security.\n"), [(EDGE, "ModSecurity", "blocked", None, MEDIUM)]),
    "the page of a proxy of one's own": (
        'Network Error (tcp_error)\n\nA communication error occurred: "Operation timed out"\nThe Web Server may be down.\n',
        [(Layer.PROXY, "Blue Coat", "unreachable.connect", None, MEDIUM)]),
    "Cloudflare's block page": (  # soketi/soketi#1118
        ("Sorry, you have been blocked\nYou are unable to access api.example.com\n\nWhy have I been blocked?\n\nThis website is "
        "using a security service.\n\nCloudflare Ray ID: 8c0ffee0ddba11ad • Your IP: 192.0.2.7 • Performance & security by Cloudflare"),
        [(EDGE, CF, "blocked", None, MEDIUM)]),
    "Cloudflare's 1020, old form": (  # team-telnyx/telnyx-node#134
        "Error 1020 Ray ID: 8c0ffee0ddba11ad • 2026-11-29 23:19:14 UTC\nAccess denied\n", [(EDGE, CF, "blocked", "1020", MEDIUM)]),
    "Cloudflare's 1006": (  # bitwarden/clients#806
        "Error 1006 Ray ID: 8c0ffee0ddba11ad • 2026-11-29 23:24:59 UTC", [(EDGE, CF, "blocked.source", "1006", MEDIUM)]),
    "Cloudflare's 1015": (
        "Error 1015 Ray ID: 8c0ffee0ddba11ad • 2026-11-29 23:24:59 UTC\nYou are being rate limited", [(EDGE, CF, "ratelimited", "1015", MEDIUM)]),
    "Cloudflare's 1033": (
        "Error 1033 Ray ID: 8c0ffee0ddba11ad\nCloudflare Tunnel error", [(EDGE, CF, "unreachable.origin", "1033", MEDIUM)]),
    "Cloudflare's 524": (  # acheong08/ChatGPT#447
        ("A timeout occurred Error code 524\nVisit cloudflare.com for more information.\n2026-11-29 20:14:11 UTC\nYou\nBrowser\n"
        "Working\nFrankfurt\nCloudflare\nWorking\napi.example.com\nHost\nError\nCloudflare Ray ID: 8c0ffee0ddba11ad"),
        [(EDGE, CF, "timeout.first_byte", "524", MEDIUM)]),
    "Cloudflare's 522": (
        "Connection timed out Error code 522\nVisit cloudflare.com for more information.", [(EDGE, CF, "unreachable.origin", "522", MEDIUM)]),
    "Cloudflare's 502 may be the origin's": (
        "Bad gateway Error code 502\nVisit cloudflare.com for more information.", [(UNKNOWN, CF, "unreachable.origin", "502", LOW)]),
    "a challenge": ("Just a moment...\nVerifying you are human.\nRay ID: 8c0ffee0ddba11ad", [(EDGE, CF, "challenged", None, MEDIUM)]),
    "nginx in two lines": ("504 Gateway Time-out\nnginx\n", [(EDGE, NX, "timeout.first_byte", None, MEDIUM)]),
    "nginx in one line": ("504 Gateway Time-out nginx/1.18.0 (Ubuntu)", [(EDGE, NX, "timeout.first_byte", None, MEDIUM)]),
    "nginx with its rule": ("502 Bad Gateway\n------------------------------------\nnginx/1.4.6 (Ubuntu)", [(EDGE, NX, "unreachable.origin", None, MEDIUM)]),
    "HAProxy": ("503 Service Unavailable\nNo server is available to handle this request.", [(EDGE, "HAProxy", "unreachable.origin", None, MEDIUM)]),
    "Apache": ("Proxy Error\nThe proxy server received an invalid response from an upstream server.", [(EDGE, "Apache", "unreachable.origin", None, MEDIUM)]),
    "Varnish": (
        "Error 503 Backend fetch failed\nBackend fetch failed\nGuru Meditation:\nXID: 32770\nVarnish cache server",
        [(EDGE, "Varnish", "unreachable.origin", None, MEDIUM)]),
    "a heading that many servers write": ("502 Bad Gateway", []),
    # --- exceptions
    "the OpenAI SDK, body as Python prints it": (
        f"{TRACE}openai.PermissionDeniedError: Error code: 403 - {json.loads(CF_1010)!r}", [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "the OpenAI SDK 3, which prints the message only": (
        f"{TRACE}openai.AuthenticationError: Error code: 401 - Incorrect API key provided: sk-no. You can find your API key at https://platform.openai.com/account/api-keys.",
        [(ORIGIN, "OpenAI", "auth.rejected", None, LOW)]),
    "the OpenAI SDK 3 at a page, of which it prints nothing": (
        f"{TRACE}openai.PermissionDeniedError: Error code: 403", [(UNKNOWN, None, "blocked", None, LOW)]),
    "the same at a 524, a status that only Cloudflare uses": (
        f"{TRACE}openai.InternalServerError: Error code: 524", [(EDGE, CF, "timeout.first_byte", "524", LOW)]),
    "the Anthropic SDK with a page and no status": (
        f"{TRACE}anthropic.InternalServerError: {NGINX.format('502 Bad Gateway')}", [(EDGE, NX, "unreachable.origin", None, MEDIUM)]),
    "the Anthropic SDK with JSON": (
        "anthropic.APIStatusError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}, 'request_id': 'req_011CTest'}",
        [(ORIGIN, None, "overloaded", "overloaded_error", MEDIUM)]),
    "the Node SDK": (
        "PermissionDeniedError: 403 error code: 1010\n    at APIError.generate (/app/node_modules/openai/error.js:51:20)\n",
        [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "words behind the message": (
        f"{TRACE}openai.PermissionDeniedError: Error code: 403 - error code: 1010 when calling http://127.0.0.1:8511/v1/chat/completions",
        [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "words behind the message, in brackets": (
        "PermissionDeniedError: 403 error code: 1010 (https://api.example.com/v1/messages, attempt 3)", [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "words behind the message, without a status": (
        "openai.PermissionDeniedError: error code: 1010 while calling https://api.example.com/v1/chat/completions", [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "words behind a status alone": ("openai.PermissionDeniedError: Error code: 403 - denied when calling http://h/v1", [(UNKNOWN, None, "blocked", None, LOW)]),
    "the Node SDK with headers and a page": (  # idootop/mi-gpt#33
        ("PermissionDeniedError: 403 <html>\n<head><title>403 Forbidden</title></head>\n<body>\n<center><h1>403 Forbidden</h1></center>\n"
        "<hr><center>cloudflare</center>\n</body>\n</html>\n    at APIError.generate (/app/error.js:51:20) {\n  status: 403,\n\n"
        "  headers: {\n    'cf-ray': '8c0ffee0ddba11ad-HYD',\n    server: 'cloudflare',\n    'content-type': 'text/html'\n  },\n}\n"),
        [(EDGE, CF, "blocked", None, MEDIUM)]),
    "the Node SDK without a body": ("InternalServerError: 502 status code (no body)\n    at x (y.js:1:1)", [(UNKNOWN, None, "unreachable.origin", None, LOW)]),
    "the Vercel AI SDK": (
        ("AI_APICallError: Forbidden\n    at x (y.js:1:1) {\n  cause: undefined,\n  url: 'https://api.example.com/v1/chat/completions',\n"
        "  statusCode: 403,\n  responseHeaders: {\n    'cf-ray': '8c0ffee0ddba11ad-FRA',\n    server: 'cloudflare'\n  },\n"
        "  responseBody: 'error code: 1010',\n  isRetryable: false\n}\n"),
        [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    "LiteLLM around the OpenAI SDK": (  # BerriAI/litellm#4348
        ("litellm.exceptions.BadRequestError: litellm.BadRequestError: BadRequestError: OpenAIException - Error code: 400 - "
        "{'error': {'message': \"Missing parameter 'tool_call_id'.\", 'type': 'invalid_request_error', 'param': 'm', 'code': None}}"),
        [(ORIGIN, None, "request.rejected", None, MEDIUM)]),
    "LiteLLM with JSON": (  # alexdredmon/arcode#34
        'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"no"}}. Received Model Group=m\nAvailable Model Group Fallbacks=None',
        [(ORIGIN, None, "request.rejected", "invalid_request_error", MEDIUM)]),
    "LiteLLM without a connection": ("litellm.APIError: APIError: OpenAIException - Connection error.", [(UNKNOWN, None, "not_told", None, LOW)]),
    "a coding agent": (  # anthropics/claude-code#16737
        '  ⎿ API Error: 524 <!DOCTYPE html>\n    <html class="no-js" lang="en-US">\n    <head>\n    <title>api.example.com | 524: A timeout occurred</title>\n    </head></html>',
        [(EDGE, CF, "timeout.first_byte", "524", MEDIUM)]),
    "a coding agent, in brackets": (  # anthropics/claude-code#3197
        "API Error (520 <!DOCTYPE html>\n<html>\n<head>\n<title>api.example.com | 520: Web server is returning an unknown error</title>\n</head>\n</html>)",
        [(EDGE, CF, "unreachable.origin", "520", MEDIUM)]),
    "the OpenAI SDK 0.x": (  # yoheinakajima/babyagi#64
        "openai.error.APIError: HTTP code 502 from API (<!DOCTYPE html>\n<html>\n<head>\n<title>api.example.com | 502: Bad gateway</title></head></html>)",
        [(UNKNOWN, CF, "unreachable.origin", "502", LOW)]),
    "a platform that quotes axios": (  # langgenius/dify#12276
        "Failed to invoke tool: Request failed with status code 524 and <!DOCTYPE html> <html> <head> <title>api.example.com | 524: A timeout occurred</title></head></html>",
        [(EDGE, CF, "timeout.first_byte", "524", MEDIUM)]),
    "an IDE": (  # anomalyco/opencode#24284
        "Reason: Anthropic API error: [403] Forbidden <!doctype html> <html> <head> <title>Access denied | api.example.com used Cloudflare to restrict access | api.example.com | Cloudflare</title></head></html>",
        [(EDGE, CF, "blocked", None, MEDIUM)]),
    "requests": ("requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://api.example.com/v1/chat/completions", [(UNKNOWN, None, "blocked", None, LOW)]),
    "httpx": ("httpx.HTTPStatusError: Server error '502 Bad Gateway' for url 'https://api.example.com/v1'\nFor more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/502", [(UNKNOWN, None, "unreachable.origin", None, LOW)]),
    "a log line and what was raised then are one": (
        ('2026-11-29 INFO httpx HTTP Request: POST https://api.example.com/v1/chat/completions "HTTP/1.1 403 Forbidden"\n'
        "openai.PermissionDeniedError: Error code: 403 - error code: 1010"),
        [(EDGE, CF, "blocked.client", "1010", MEDIUM)]),
    "a time-out of the SDK": (f"{TRACE}openai.APITimeoutError: Request timed out.", [(Layer.CLIENT, "OpenAI SDK", "client.timeout", None, LOW)]),
    "a time-out of the SDK that was read for": (
        ("httpx2.ReadTimeout: The read operation timed out\n\nThe above exception was the direct cause of the following exception:\n\n"
        f"{TRACE}openai.APITimeoutError: Request timed out."),
        [(Layer.CLIENT, "httpx", "client.timeout", None, MEDIUM)]),
    "Node's own 300 s": (
        "TypeError: fetch failed\n  [cause]: HeadersTimeoutError: Headers Timeout Error\n    code: 'UND_ERR_HEADERS_TIMEOUT'\n  }",
        [(Layer.CLIENT, "undici", "client.timeout", None, MEDIUM)]),
    "Node's own 300 s, in a sentence": (
        "Every run fails after exactly 300 s with\nHeaders Timeout Error", [(Layer.CLIENT, "undici", "client.timeout", None, MEDIUM)]),
    "Node's own 300 s between two chunks": ("BodyTimeoutError: Body Timeout Error", [(Layer.CLIENT, "undici", "client.timeout", None, MEDIUM)]),
    "with what it came from": (
        ("httpcore.ConnectTimeout: timed out\n\nThe above exception was the direct cause of the following exception:\n\n"
        f"{TRACE}openai.APITimeoutError: Request timed out."),
        [(Layer.NETWORK, None, "timeout.connect", None, MEDIUM)]),
    "no connection, and no cause": (f"{TRACE}openai.APIConnectionError: Connection error.", [(UNKNOWN, None, "not_told", None, LOW)]),
    "no connection for want of trust": (  # BerriAI/litellm#8700
        ("httpcore.ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1006)\n\n"
        "The above exception was the direct cause of the following exception:\n\nopenai.APIConnectionError: Connection error."),
        [(Layer.TLS, None, "unreachable.tls", None, MEDIUM)]),
    "a name that does not resolve": ("Error: getaddrinfo ENOTFOUND api.example.com", [(Layer.DNS, None, "unreachable.dns", None, MEDIUM)]),
    "curl's own words": ("curl: (7) Failed to connect to api.example.com port 443 after 12 ms: Couldn't connect to server", [(Layer.NETWORK, None, "unreachable.connect", None, MEDIUM)]),
    "curl's time-out": ("curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received", [(Layer.CLIENT, "curl", "client.timeout", None, MEDIUM)]),
    "a stream that broke off": (
        "httpx.RemoteProtocolError: peer closed connection without sending complete message body (incomplete chunked read)",
        [(UNKNOWN, None, "stream.truncated", None, LOW)]),
    "a proxy that refuses the tunnel": (
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded (Caused by ProxyError('Unable to connect to proxy', OSError('Tunnel connection failed: 403 Forbidden')))",
        [(Layer.PROXY, None, "unreachable.connect", None, MEDIUM)]),
    "an error of the program itself": ("ValueError: invalid literal for int() with base 10: 'x'", []),
    # --- rays
    "a ray id": ("8c0ffee0ddba11ad-FRA", [(UNKNOWN, None, "not_told", None, LOW)]),
    "a ray id in a sentence": ("It happened again, ray 8c0ffee0ddba11ad.", [(UNKNOWN, None, "not_told", None, LOW)]),
    "a hash is no ray": ("commit 8c0ffee0ddba11ad is deployed", []),
    "a ray that an answer names is that answer's": (
        f"{raw(403, PLAIN, 'error code: 1010', end=chr(10))}\n\nRay ID: 8c0ffee0ddba11ad", [(EDGE, CF, "blocked.client", "1010", HIGH)]),
    # --- nothing
    "nothing": ("", []),
    "small talk": ("Hello, the API is slow today. Can you have a look?\n\nBest, Jo", []),
}  # fmt: skip


def told(answer):
    found = answer.attribution
    return (
        found.layer,
        found.product,
        found.code.removesuffix(".no_hint"),
        found.vendor_code,
        found.confidence,
    )


@pytest.mark.parametrize("text, expected", PASTED.values(), ids=PASTED)
def test_what_is_said_of_a_pasted_text(text, expected):
    """Layer, product, code, vendor code and confidence of each answer, in the order of the text."""
    assert [told(answer) for answer in classify(text.encode())] == expected


@pytest.mark.parametrize(
    "text",
    [text for text, expected in PASTED.values() if expected],
    ids=[k for k, v in PASTED.items() if v[1]],
)
def test_every_answer_says_whose_move_it_is(text):
    """Nothing is told without a title, an advice, somebody who acts and, where it is not certain, a next test."""
    for answer in classify(text.encode()):
        assert answer.title
        assert answer.advice.endswith(".")
        assert isinstance(answer.who_acts, WhoActs)
        assert answer.attribution.layer is not UNKNOWN or answer.attribution.next_test


TICKET = f"""Hi all,

since this morning our nightly job fails. In Python:

{TRACE}openai.PermissionDeniedError: Error code: 403 - {json.loads(CF_1010)!r}

With curl it looks different:

$ curl -i https://api.example.com/v1/chat/completions -H "Authorization: Bearer sk-proj-abcDEF1234567890abcdef12"
{raw(401, {**CLOUDFLARE, "cf-ray": "8c0ffee0ddba11ae-FRA", "x-request-id": "req_1", **JSON}, BAD_KEY, version="2", end=chr(10))}

and the web page says

A timeout occurred Error code 524
Visit cloudflare.com for more information.
2026-11-29 20:14:11 UTC
You
Browser
Working
Cloudflare Ray ID: 8c0ffee0ddba11af • Your IP: 192.0.2.4

A colleague in Amsterdam sees ray id 8c0ffee0ddba11b0-AMS.

Kind regards
Jo
"""


@pytest.mark.parametrize("quoted", [0, 1, 2], ids=["as written", "quoted", "quoted twice"])
def test_a_ticket_with_four_answers(quoted):
    """Each on its own evidence, in the order of the text, with what it can be looked up by."""
    text = TICKET
    for _ in range(quoted):
        text = "\n".join(f"> {line}" for line in text.split("\n"))
    answers = classify(text.encode())
    assert [told(answer) for answer in answers] == [
        (EDGE, CF, "blocked.client", "1010", MEDIUM),
        (ORIGIN, None, "auth.rejected", "invalid_api_key", MEDIUM),
        (EDGE, CF, "timeout.first_byte", "524", MEDIUM),
        (UNKNOWN, None, "not_told", None, LOW),
    ]
    looked_up = [answer.attribution.extracted for answer in answers]
    assert [(found["ray"], found.get("colo")) for found in looked_up] == [
        ("8c0ffee0ddba11ad", None),
        ("8c0ffee0ddba11ae", "FRA"),
        ("8c0ffee0ddba11af", None),
        ("8c0ffee0ddba11b0", "AMS"),
    ]
    assert looked_up[0]["zone"] == "api.example.com"
    assert looked_up[1]["request_id"] == "req_1"
    assert answers[3].attribution.transit == ("Cloudflare",)


def test_a_har_file_shows_what_failed():
    """By status, by no answer at all, by a block page under 200; good entries and assets are left out."""
    good = '{"choices":[{"message":{"role":"assistant","content":"Hi."}}]}'
    block = "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>"
    dead = {
        "request": {"method": "GET", "url": "https://api.example.com/v1/models"},
        "response": {"status": 0, "_error": "net::ERR_CONNECTION_REFUSED"},
    }
    text = har(
        (200, JSON, good), (403, PLAIN, "error code: 1010"), (200, {**CLOUDFLARE, **HTML}, block), dead
    )
    answers = classify(text.encode())
    assert [answer.form for answer in answers] == ["HAR entry 2", "HAR entry 3", "HAR entry 4"]
    assert [answer.attribution.code for answer in answers] == [
        "blocked.client",
        "blocked",
        "unreachable.connect",
    ]
    assert [answer.attribution.code for answer in classify(har((200, JSON, good)).encode())] == ["ok"]


def test_the_json_is_the_contract():
    """`edgeprobe.classify/1`: the attribution of a run, and four keys."""
    document = to_document(classify(TICKET.encode()))
    assert list(document) == ["schema", "blocks"]
    assert document["schema"] == "edgeprobe.classify/1"
    attribution = [
        "layer",
        "product",
        "code",
        "vendor_code",
        "signature",
        "confidence",
        "runner_up",
        "transit",
        "next_test",
    ]
    for block in document["blocks"]:
        assert list(block) == [*attribution, "title", "advice", "retryable", "who_acts"]
    assert json.loads(json.dumps(document)) == document
    assert document["blocks"][0]["layer"] == "edge"
    assert document["blocks"][3] | {"next_test": "", "advice": "", "title": ""} == {
        "layer": "unknown", "product": None, "code": "not_told", "vendor_code": None, "signature": None, "confidence": "low",
        "runner_up": None, "transit": ["Cloudflare"], "next_test": "", "title": "", "advice": "", "retryable": None, "who_acts": "operator",
    }  # fmt: skip


def test_a_good_answer_asks_nothing_of_anybody():
    """No retry, no mover, and no check that nobody runs."""
    (answer,) = classify(
        raw(200, JSON, '{"choices":[{"message":{"role":"assistant","content":"Hi."}}]}').encode()
    )
    said = dict(rows(answer))
    assert "retry" not in said
    assert said["do"].startswith("Nothing")
    assert answer.retryable is None


@pytest.mark.parametrize(
    "line",
    [
        "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: {url}",
        "httpx.HTTPStatusError: Client error '403 Forbidden' for url '{url}'",
        'INFO HTTP Request: POST {url} "HTTP/1.1 403 Forbidden"',
        'POST "{url}": 403 Forbidden',
        "reqwest::Error: HTTP status client error (403 Forbidden) for url ({url})",
    ],
    ids=["requests", "httpx", "a log", "Go", "reqwest"],
)
def test_the_next_test_is_for_the_api_that_was_asked(line):
    """Where the client tells the URL, the command has it."""
    (answer,) = classify(line.format(url="https://api.example.com/v1/chat/completions").encode())
    assert answer.next_test is not None
    assert "--base-url https://api.example.com/v1 " in (answer.next_test.command or "")
