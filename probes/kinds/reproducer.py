"""Which command shows the same to somebody who does not have edgeprobe?"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from probes.clients import dialect
from probes.credentials import made_up_key
from probes.model import Ask, Reproduce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Case


def curl_command(case: Case, endpoint: str, headers: Mapping[str, str | None]) -> str:
    """A curl line with a made-up key and `headers`; fit to be pasted into a shell."""
    route = case.target.routes[case.route]
    ask = Ask(endpoint, recipe="invalid", cap=1, key="made_up")
    auth = (
        f"x-api-key: {made_up_key('anthropic')}"
        if case.target.api == "anthropic"
        else f"authorization: Bearer {made_up_key('openai')}"
    )
    words = ["curl", "-sS", "-i", dialect.url(case.target, route, ask)]
    for name, value in headers.items():
        words += ["-A", value or ""] if name == "user-agent" else ["-H", f"{name}: {value or ''}"]
    words += [
        "-H",
        "content-type: application/json",
        "-H",
        auth,
        "-d",
        json.dumps(dialect.body(case.target, ask, "")),
    ]
    if route.connect_to:
        words += ["--connect-to", f"::{route.connect_to}"]
    return shlex.join(words)


def python_command(case: Case, client: str) -> Reproduce:
    """The SDK itself, where the factor is one that only it carries; verified by the run, which did just this."""
    target, url = case.target, case.target.routes[case.route].base_url
    if case.client(client).kind == "anthropic_sdk":
        code = (
            f"import anthropic; anthropic.Anthropic(api_key='{made_up_key('anthropic')}', base_url={url!r}, max_retries=0)"
            f".messages.create(model={target.model!r}, max_tokens=1, messages='edgeprobe')"
        )
    elif case.client(client).kind == "openai_sdk":
        code = (
            f"import openai; openai.OpenAI(api_key='{made_up_key('openai')}', base_url={url!r}, max_retries=0)"
            f".chat.completions.create(model={target.model!r}, max_tokens=1, messages='edgeprobe')"
        )
    else:
        code = f"import httpx; print(httpx.post({url!r} + '/chat/completions', json={{'messages': 'edgeprobe'}}))"
    return Reproduce(shlex.join(["python", "-c", code]), verified=case.client(client).api is not None)
