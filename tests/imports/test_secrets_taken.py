"""A key in a paste is in this process alone: in no request as told, no error, no note."""

from __future__ import annotations

import json
import traceback

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.complaint import to_document
from probes.errors import UsageError
from probes.imports import curl, har, raw_request, sdk_call
from probes.imports.taken import Taken

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvw0123456789"
keys = st.text(ALPHABET, min_size=24, max_size=60).map(lambda text: f"sk-A1{text}")
URL = "https://api.example.com/v1/chat/completions"
HAR_ONE = (
    '{{"log": {{"entries": [{{"request": {{"method": "POST", "url": "{url}?key={key}", "headers": [{{"name": "cookie", "value": '
    '"a={key}"}}], "postData": {{"text": "{key}"}}}}, "response": {{"status": 403, "content": {{"text": "bad key {key}"}}}}}}]}}}}'
)
HAR_TWO = (
    '{{"log": {{"entries": [{{"request": {{"method": "{key}", "url": "{url}/{key}"}}, "response": {{"status": 403}}}}, {{"request": '
    '{{"method": "{key}", "url": "{url}/{key}"}}, "response": {{"status": 403}}}}]}}}}'
)
PLACES = (
    "curl {url} -H 'Authorization: Bearer {key}'",
    "curl {url} -H 'X-API-Key: {key}' -d '{{}}'",
    "curl {url} -H 'X-Nobody-Knows: {key}'",
    "curl {url} -H '{key}: 1'",
    "curl {url} -A 'me {key}'",
    "curl '{url}?api_key={key}'",
    "curl '{url}/{key}/x'",
    "curl https://me:{key}@api.example.com/v1",
    "curl https://{key}.example.com/v1",
    "curl {url} -u me:{key}",
    "curl {url} -b 'session={key}'",
    "curl {url} -e 'https://a.example/?token={key}'",
    "curl {url} -x http://me:{key}@proxy.example:3128",
    'curl {url} -d \'{{"api_key": "{key}"}}\'',
    "curl {url} -d 'my key is {key} indeed'",
    "curl {url} --{key}",
    "curl {url} -{key}",
    "curl {url} -X {key}",
    "curl {url} -m {key}",
    "curl {url} -d @{key}",
    "curl {url} --resolve {key}",
    "curl {url} --connect-to ::{key}:1",
    "curl {url} -H 'Authorization: Bearer {key}' --next",
    "curl {url}?key={key}\ncurl {url}?key={key}",
    "curl {url} -H 'Authorization: Bearer {key}",
    "export KEY={key}\ncurl {url} -H \"Authorization: Bearer $KEY\" -H 'Proxy-Authorization: Basic {key}'",
    "POST /v1/{key} HTTP/1.1\nHost: api.example.com\nAuthorization: {key}\n\n{key}",
    "POST /v1 HTTP/1.1\nHost: api.example.com\n{key}\n\n",
    "POST {key} HTTP/1.1\nHost: api.example.com\n\n",
    '{{"base_url": "{url}", "api_key": "{key}", "arguments": {{"messages": ["{key}"]}}}}',
    '{{"base_url": "{url}", "method": "{key}", "arguments": {{}}}}',
    '{{"base_url": "{url}", "client": "{key}", "arguments": {{"messages": []}}}}',
    '{{"{key}": 1, "arguments": {{}}}}',
    HAR_ONE,
    HAR_TWO,
)  # fmt: skip
FORMS = (curl.told, har.told, raw_request.told, sdk_call.told)


def read(form, text):
    """What comes of it: a request or an error."""
    taken = Taken()
    try:
        return form(text, taken), None, taken
    except UsageError as fault:
        return None, fault, taken


@settings(max_examples=300, deadline=None)
@given(keys, st.sampled_from(PLACES))
def test_a_planted_key_is_nowhere(key, place):
    """Whatever form takes a text with a key in it, nothing that it gives or raises holds the key."""
    text = place.format(url=URL, key=key)
    for form in FORMS:
        found, refused, taken = read(form, text)
        if found is None:
            assert key not in str(refused)
            assert key not in "".join(traceback.format_exception(refused, limit=0))
            continue
        assert key not in repr(found)
        assert key not in json.dumps(to_document(found))
        assert key.encode() not in found.body
        assert key not in repr(taken)
        assert {f"{{env:{name}}}" for name in taken.environ} <= {f"{{env:{name}}}" for name in found.secrets}


def test_a_password_is_nowhere():
    """A password without a key's shape goes by its place."""
    taken = Taken()
    found = curl.told(
        f"curl -u 'me:tr0ub4dor' -b 'sid=hunter2hunter2' '{URL}?token=correcthorse' -d '{{}}'", taken
    )
    for secret in ("tr0ub4dor", "hunter2", "correcthorse"):
        assert secret not in repr(found)
    assert len(taken.environ) == 3
