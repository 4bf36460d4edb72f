"""What makes a real edge refuse a request that somebody told: the header, the text, the size, the version of HTTP, the
stack?
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace

import pytest
import trustme
from processes import installed
from servers import apache, nginx
from test_tls_stack import Fingerprinting

from probes import lab
from probes.clock import Clock
from probes.complaint import Told
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.kinds.reproduction.outcome import outcome
from probes.model import Factor
from probes.repro import asking

pytestmark = [pytest.mark.real, pytest.mark.realtime]
KEY = "EDGEPROBE_REAL_KEY"
_RULE_SET = "/usr/share/modsecurity-crs/owasp-crs.load"
_CRS = f"""
SecRuleEngine On
SecRequestBodyAccess On
SecRequestBodyLimit 13107200
SecRequestBodyNoFilesLimit 131072
SecRequestBodyLimitAction Reject
SecTmpDir {{folder}}
SecDataDir {{folder}}
SecAuditEngine Off
SecRule REQUEST_HEADERS:Content-Type "^application/json" \\
  "id:'200001',phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"
SecRule REQBODY_ERROR "!@eq 0" "id:'200002',phase:2,t:none,log,deny,status:400,severity:2"
Include {_RULE_SET}
"""
_WORDS = "The quick brown fox jumps over the lazy dog. " * 12
AGENT = ("User-Agent", "OpenAI/Python 3.57.0")


def told(url, *texts, headers=(AGENT,), **more):
    messages = [{"role": "user", "content": text} for text in texts or ("Say hello.",)]
    body = json.dumps({"model": lab.MODEL, "messages": messages, "max_tokens": 8}).encode()
    sent = (*headers, ("Content-Type", "application/json"), ("Authorization", f"Bearer {{env:{KEY}}}"))
    return Told("POST", f"{url}/chat/completions", sent, body, "http", secrets=(KEY,), **more)


def ask(request, url, *, owned=True):
    """The finding of the reproduction, its rows by their words, and the word."""
    target = target_from_flags(url, "openai", lab.MODEL, key_env=KEY, env_proxy=False, owned=owned)
    secrets = Secrets({**os.environ, KEY: lab.LAB_KEY})
    run = asking.ask(request, target, "edge", secrets, clock=Clock(), seed=1)
    found = next(finding for finding in run.findings if finding.kind == "reproduction")
    rows: dict[str, str] = {}
    for word, text in found.detail:
        rows[word] = f"{rows.get(word, '')} {text}"
    return found, rows, outcome(run.findings)


def test_nginx_by_a_user_agent(tmp_path, origin):
    """The word is found, and what to change in nginx is said."""
    rule = 'if ($http_user_agent ~* "openai") { return 403; }'
    with nginx(tmp_path, origin, rule) as url:
        found, rows, word = ask(told(url), url)
    assert word.startswith("REPRODUCED")
    assert (found.code, found.product, found.factor) == ("blocked.client", "nginx", Factor.USER_AGENT)
    assert "the word 'OpenAI'" in rows["because"]
    assert "location = /v1/chat/completions" in rows["rule"]


def test_nginx_by_the_size(tmp_path, origin):
    """`client_max_body_size` is found to the byte, with neutral text."""
    with nginx(tmp_path, origin, "client_max_body_size 20k;") as url:
        found, rows, word = ask(told(url, "word " * 8_000), url)
    assert word.startswith("REPRODUCED")
    assert (found.code, found.factor) == ("size.rejected", Factor.SIZE)
    assert "20,480 bytes pass, 20,481 don't" in rows["because"]


def test_nginx_by_a_slash_at_the_end(tmp_path, origin):
    """nginx merges slashes, so that of both forms of the path only the one at its end is named."""
    rule = "location ~ ./$ { return 404; }"
    with nginx(tmp_path, origin, rule) as url:
        request = told(url)
        written = request.url.replace("/v1/", "//v1//") + "/"
        _, rows, word = ask(replace(request, url=written), url)
    assert word.startswith("REPRODUCED")
    assert "a slash at the end of the path: '/v1/chat/completions/'" in rows["because"]
    assert "doubled" not in rows["because"]


@pytest.mark.parametrize("let", ["", "[147]"], ids=["none", "three in ten let through"])
def test_nginx_by_the_version_of_http(tmp_path, origin, let):
    """What is refused over HTTP/2 alone, though every header is the same. `let`: ends of a connection's number."""
    authority = trustme.CA()
    certificate = tmp_path / "server.pem"
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(str(certificate))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    rule = f'set $of "$server_protocol $connection"; if ($of ~ "^HTTP/2.0 .*(?<!{let or "x"})$") {{ return 403; }}'
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        patched.setenv("CURL_CA_BUNDLE", str(tmp_path / "ca.pem"))
        with nginx(tmp_path, origin, rule, certificate=certificate, http2=True) as url:
            found, rows, word = ask(told(url, http_version="2", client="curl"), url)
    assert word.startswith("REPRODUCED")
    assert (found.code, found.factor) == ("blocked.client", Factor.HTTP_VERSION), rows
    assert "HTTP version" in rows["because"]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        pytest.param("cat ../../../etc/passwd", "/etc/passwd", id="a path"),
        pytest.param("<script>alert(1)</script>", "script", id="a tag"),
    ],
)
def test_the_core_rule_set_by_a_text(origin, text, piece):
    """The piece of a harmless prompt that trips ModSecurity's rules is found on a target of one's own."""
    installed(_RULE_SET)
    with apache(origin, _CRS, modules=("unique_id", "security2")) as url:
        request = told(url, f"{_WORDS}What does {text} do? {_WORDS}", headers=(AGENT, ("Accept", "*/*")))
        found, rows, word = ask(request, url)
    assert word.startswith("REPRODUCED"), rows
    assert (found.code, found.factor) == ("blocked.content", Factor.BODY), rows
    assert "suffices" in rows["because"]
    shown = rows["because"].split("text in the field messages: ", 1)[1].split(" suffices")[0]
    assert piece in shown or shown.strip("'") in text, rows
    assert len(shown) <= len(text) + 2, rows
    assert "SecRule REQUEST_URI" in rows["rule"]


def test_the_core_rule_set_by_a_size(origin):
    """ModSecurity's limit of a body is found to the byte."""
    installed(_RULE_SET)
    with apache(origin, _CRS, modules=("unique_id", "security2")) as url:
        found, rows, word = ask(told(url, "word " * 30_000, headers=(AGENT, ("Accept", "*/*"))), url)
    assert word.startswith("REPRODUCED"), rows
    assert found.factor is Factor.SIZE, rows
    assert "131,071 bytes pass, 131,072 don't" in rows["because"], rows


@pytest.mark.parametrize("passes", [0.0, 0.3])
def test_a_stack_by_its_tls(monkeypatch, tmp_path, passes):
    """The same header bytes over another TLS stack pass (the field's case 5): no header is blamed."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "ca.pem"))
    server = Fingerprinting(authority, passes)
    threading.Thread(target=server.serve, daemon=True).start()
    url = f"https://127.0.0.1:{server.port}/v1"
    try:
        ask(told(url, client="httpx"), url)
        server.refused = server.seen[0]
        found, rows, word = ask(told(url, client="httpx", seen="403 Forbidden"), url)
    finally:
        server.close()
    assert word.startswith("REPRODUCED"), rows
    assert (found.code, found.factor, found.confidence) == ("blocked.client", Factor.TLS, "medium"), rows
    assert "let pass over curl" in rows["because"]
