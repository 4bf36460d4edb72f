"""A run that fails, with a key in every place where one can stand."""

from __future__ import annotations

import base64
from dataclasses import replace
from urllib.parse import quote

from labruns import KEY, lab_run

from probes.complaint import Told
from probes.model import Raw, Reproduce, Verdict

SECRET = "sk-Canary/7q+Zx9Kp2w8~"
SHAPED = "sk-proj-Shaped0key1of2nobody3knows4"
HIDDEN = "bypass-canary-5f83ba91"
ENVIRON = {KEY: SECRET, "MY_HEADER": HIDDEN}


def encoded(secret):
    """As an echo spells it."""
    found = [secret, quote(secret, safe=""), quote(quote(secret, safe=""), safe="")]
    padded = [b"x" * before + secret.encode() for before in range(3)]
    found += [
        encode(each).decode() for each in padded for encode in (base64.b64encode, base64.urlsafe_b64encode)
    ]
    return found


def spelt(secret):
    """What of each must not be found: of base64 what the bytes beside it do not change."""
    return {encoded(secret)[0], *encoded(secret)[1:3], *(text[4:-4] for text in encoded(secret)[3:])}


def planted():
    run = lab_run("smoke", "ai-crawler-rule")
    every = " ".join([*encoded(SECRET), SHAPED, HIDDEN, f"Bearer {SECRET}"])
    told = Told(
        "POST", f"http://host/x?key={SECRET}", (("X-A", every), ("Authorization", SHAPED)), every.encode(), "http",
        seen=every, notes=(every,), secrets=("MY_HEADER",),
    )  # fmt: skip
    raw = Raw("POST", "/x", (("X-A", every),), every.encode(), secrets=("MY_HEADER",))

    def exchange(one):
        return replace(
            one,
            request=replace(one.request, url=f"{one.request.url}?k={SECRET}", headers=(*one.request.headers, ("X-A", every))),
            headers={**one.headers, "x-echo": [every], "location": [f"/?k={SECRET}"]},
            body_head=every.encode(),
            body_bytes=len(every),
            facts={**one.facts, "errors": [{"message": every}]},
            conditions={**one.conditions, "said": {every: [every]}},
        )  # fmt: skip

    calls = [
        replace(call, exchanges=tuple(map(exchange, call.exchanges)), returned=every) for call in run.calls
    ]
    calls[-1] = replace(calls[-1], trial=replace(calls[-1].trial, request=raw))
    findings = [
        replace(
            finding,
            title=f"{finding.title} {every}",
            detail=(*finding.detail, ("trace", every)),
            reproduce=Reproduce(f"curl -H 'X: {every}'"),
        )
        if finding.verdict is Verdict.FAIL
        else replace(finding, title=every)
        for finding in run.findings
    ]
    cases = (replace(run.cases[0], params={**run.cases[0].params, "told": told}), *run.cases[1:])
    return replace(
        run,
        calls=tuple(calls),
        findings=tuple(findings),
        cases=cases,
        versions={**run.versions, "curl": every},
        vantage=every,
    )
