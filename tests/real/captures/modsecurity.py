"""ModSecurity with the OWASP Core Rule Set in Apache: what it refuses of an LLM API's ordinary traffic, and how.

Nothing here is an attack: each request is one that a client of such an API makes and a rule of the package forbids.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from processes import installed
from servers import apache

from captures.apache import in_front_of
from captures.asked import Case, Product, passed_on, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RULE_SET = "/usr/share/modsecurity-crs/owasp-crs.load"
# The package's own modsecurity.conf-recommended with the engine on, but for logs that only root may write.
_RULES = """
SecRuleEngine On
SecRequestBodyAccess On
SecRequestBodyLimit 13107200
SecRequestBodyNoFilesLimit 131072
SecRequestBodyLimitAction Reject
SecTmpDir {folder}
SecDataDir {folder}
SecAuditEngine Off
SecRule REQUEST_HEADERS:Content-Type "^application/json" \
  "id:'200001',phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"
SecRule REQBODY_ERROR "!@eq 0" "id:'200002',phase:2,t:none,log,deny,status:400,severity:2"
Include {rule_set}
ProxyTimeout 1
"""
_LONG = json.dumps({"messages": [{"role": "user", "content": "word " * 28_000}]}).encode()


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    requests = {
        "rule 911100, DELETE of a file": post("/healthy").replace(b"POST", b"DELETE", 1),
        "rule 920420, a body of bytes": post("/healthy").replace(b"application/json", b"audio/wav", 1),
        "a JSON body that ends early": post("/healthy", body=b'{"messages": ['),
        "a JSON body over SecRequestBodyNoFilesLimit": post("/healthy", body=_LONG),
        "upstream refuses": post("/refused"),
    }
    modules = ("unique_id", "security2")
    rules = _RULES.replace("{rule_set}", _RULE_SET) + in_front_of(ports)
    with apache(f"127.0.0.1:{ports['refused']}", rules, modules=modules) as url:
        port = urlsplit(url).port or 0
        own = {name: Case(port, request) for name, request in requests.items()}
        yield {**own, **passed_on(port)}


def _version() -> str:
    installed(_RULE_SET)
    return told_by("dpkg-query", "-W", "-f", "${Version}", "libapache2-mod-security2")


PRODUCT = Product("modsecurity", _version, _running)
