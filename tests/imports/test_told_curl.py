"""Curl lines as people write them and browsers copy them, and the request that each makes."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager

import pytest

from probes.complaint import digest_of
from probes.errors import UsageError
from probes.imports import curl
from probes.imports.taken import Taken

URL = "https://api.example.com/v1/chat/completions"
BODY = '{"model":"m","messages":[{"role":"user","content":"Hi."}]}'
KEY = "sk-Abcdefghijklmnop0123456789"
JSON = ("Content-Type", "application/json")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
AGENT = ("User-Agent", "curl/8.9.1")
ANY = ("Accept", "*/*")
AUTH = ("Authorization", "Bearer {env:TOLD_KEY}")

CHROME = (
    f"curl '{URL}' \\\n  -H 'accept: */*' \\\n  -H 'sec-fetch-mode: cors' \\\n  -H 'user-agent: Mozilla/5.0 (X11)' \\\n"
    '  --data-raw $\'{"q":"it\\\'s"}\' \\\n  --compressed'
)


def read(text, **more):
    taken = Taken()
    return curl.told(text, taken, **more), taken.environ


@pytest.fixture(autouse=True)
def _one_curl(monkeypatch):
    """What is installed here must not matter."""
    monkeypatch.setattr(curl.curl_line.Sender, "version", staticmethod(lambda: "8.9.1"))


# What is written, and what of the request is looked at.
ROWS = {
    "a GET": (f"curl {URL}", {"version": None, "method": "GET", "url": URL, "headers": (AGENT, ANY), "body": b""}),
    "the documentation's line": (
        f"curl {URL} \\\n  -H \"Content-Type: application/json\" \\\n  -H \"Authorization: Bearer $OPENAI_API_KEY\" \\\n  -d '{BODY}'",
        {"method": "POST", "headers": (AGENT, ANY, JSON, ("Authorization", "Bearer {env:OPENAI_API_KEY}")),
         "body": BODY.encode(), "secrets": ("OPENAI_API_KEY",)}),
    "a variable in braces": (f'curl {URL} -H "Authorization: Bearer ${{MY_KEY}}"', {"secrets": ("MY_KEY",)}),
    "a variable with a default": (f'curl {URL} -H "Authorization: Bearer ${{MY_KEY:-{KEY}}}"', {"secrets": ("TOLD_KEY",)}),
    "a variable that a line before sets": (
        f'export OPENAI_API_KEY={KEY}\ncurl {URL} -H "Authorization: Bearer $OPENAI_API_KEY"', {"secrets": ("TOLD_KEY",)}),
    "a variable that stands before the command": (
        f"OPENAI_API_KEY='{KEY}' curl {URL} -H \"Authorization: Bearer $OPENAI_API_KEY\"", {"secrets": ("TOLD_KEY",)}),
    "no variable in single quotes": (f"curl {URL} -d 'cost $5 $A'", {"body": b"cost $5 $A", "secrets": ()}),
    "a key": (f"curl -H 'Authorization: Bearer {KEY}' {URL}", {"headers": (AGENT, ANY, AUTH), "secrets": ("TOLD_KEY",)}),
    "x-api-key": (f"curl -H 'x-api-key: {KEY}' {URL}", {"headers": (AGENT, ANY, ("x-api-key", "{env:TOLD_KEY}"))}),
    "Azure's api-key": (f"curl -H 'api-key: 0123456789abcdef' {URL}", {"headers": (AGENT, ANY, ("api-key", "{env:TOLD_KEY}"))}),
    "a placeholder in words": (f"curl -H 'Authorization: Bearer YOUR_API_KEY' {URL}", {"headers": (AGENT, ANY, AUTH)}),
    "a placeholder of dots": (f"curl -H 'Authorization: Bearer sk-...' {URL}", {"headers": (AGENT, ANY, AUTH)}),
    "a placeholder in brackets": (f"curl -H 'Authorization: Bearer <token>' {URL}", {"headers": (AGENT, ANY, AUTH)}),
    "a placeholder of a template": (f"curl -H 'Authorization: Bearer {{{{api_key}}}}' {URL}", {"headers": (AGENT, ANY, AUTH)}),
    "a placeholder of stars": (f"curl -H 'Authorization: Bearer sk-ab***yz' {URL}", {"headers": (AGENT, ANY, AUTH)}),
    "a key in the query": (f"curl '{URL}?key=abcdef0123&alt=sse'", {"url": f"{URL}?key={{env:TOLD_QUERY}}&alt=sse"}),
    "a short secret in the query": (f"curl '{URL}?token=x1&SIG=y&n=2'", {
        "url": f"{URL}?token={{env:TOLD_QUERY}}&SIG={{env:TOLD_QUERY_2}}&n=2"}),
    "a form with a password": (f"curl {URL} -d 'user=me&password=a\"b&api_key=c'", {
        "body": b"user=me&password={env:TOLD_BODY}&api_key={env:TOLD_BODY_2}"}),
    "a multipart form with a password": (f"curl {URL} -F passwd=geheim", {
        "body": b'--------------------------edgeprobe0000000\r\nContent-Disposition: form-data; name="passwd"\r\n\r\n{env:TOLD_BODY}\r\n'
                b"--------------------------edgeprobe0000000--\r\n"}),
    "secrets in JSON": (f"""curl {URL} -d '{{"token":"a b","secret_key":"c","max_tokens":"4","bearer":"it\\"s"}}'""", {
        "body": b'{"token":"{env:TOLD_BODY}","secret_key":"{env:TOLD_BODY_2}","max_tokens":"4","bearer":"{env:TOLD_BODY_3}"}'}),
    "a secret in JSON within a text": (f"""curl {URL} -d '{{"content":"so {{\\"password\\": \\"d\\"}}: code=1"}}'""", {
        "body": b'{"content":"so {\\"password\\": \\"{env:TOLD_BODY}\\"}: code=1"}'}),
    "a signed link in JSON": (f"""curl {URL} -d '{{"url":"https://s3/x?X-Amz-Signature=ab&X-Amz-Date=1"}}'""", {
        "body": b'{"url":"https://s3/x?X-Amz-Signature={env:TOLD_BODY}&X-Amz-Date=1"}'}),
    "a secret that is no header's": (f"""curl {URL} -d '{{"secret":" p\u00e4 ss"}}'""", {
        "body": '{"secret":" {env:TOLD_BODY}\u00e4 {env:TOLD_BODY_2}"}'.encode()}),
    "a secret around a variable": (f"""curl {URL} -d "{{\\"secret\\":\\"pre$K\\"}}\"""", {
        "body": b'{"secret":"{env:TOLD_BODY}{env:K}"}', "secrets": ("TOLD_BODY", "K")}),
    "a link within a secret": (f"""curl {URL} -d '{{"secret":"https://x?token=a"}}'""", {"body": b'{"secret":"{env:TOLD_BODY}"}'}),
    "a secret in the user agent": (f"curl -A 'me/1 token=ab' {URL}", {
        "headers": (("User-Agent", "me/1 token={env:TOLD_USER_AGENT}"), ANY)}),
    "a user and password": (
        "curl -u me:geheim https://h.example/v1",
        {"headers": (("Authorization", "Basic {env:TOLD_KEY}"), AGENT, ANY)}),
    "a user and password in the URL": (
        "curl https://me:geheim@h.example/v1",
        {"url": "https://h.example/v1", "headers": (("Authorization", "Basic {env:TOLD_KEY}"), AGENT, ANY)}),
    "--oauth2-bearer": (f"curl --oauth2-bearer {KEY} {URL}", {"headers": (AUTH, AGENT, ANY)}),
    "cookies": (f"curl -b 'a=1; __cf_bm=xyz' {URL}", {
        "headers": (AGENT, ANY, ("Cookie", "a={env:TOLD_COOKIE_A}; __cf_bm={env:TOLD_COOKIE___CF_BM}"))}),
    "cookies of a file": (f"curl -b jar.txt {URL}", {"headers": (AGENT, ANY), "notes": ("the cookies of a file (-b FILE) are left out",)}),
    "a header that nobody knows": (f"curl -H 'X-Tenant: acme' {URL}", {
        "headers": (AGENT, ANY, ("X-Tenant", "{env:TOLD_X_TENANT}")),
        "digests": (("X-Tenant", digest_of("x-tenant", "acme")),)}),
    "a header of an SDK": (f"curl -H 'X-Stainless-Lang: python' {URL}", {"headers": (AGENT, ANY, ("X-Stainless-Lang", "python"))}),
    "several headers of one name": (
        f"curl -H 'Accept-Language: de' -H 'Accept-Language: en' {URL}",
        {"headers": (AGENT, ANY, ("Accept-Language", "de"), ("Accept-Language", "en"))}),
    "an empty header": (f"curl -H 'Origin;' {URL}", {"headers": (AGENT, ANY, ("Origin", ""))}),
    "a header taken away": (f"curl -H 'Accept:' -H 'User-Agent:' {URL}", {"headers": ()}),
    "another Host": (f"curl -H 'Host: other.example' {URL}", {"headers": (AGENT, ANY, ("Host", "other.example"))}),
    "the URL's own Host": (f"curl -H 'Host: api.example.com' {URL}", {"headers": (AGENT, ANY)}),
    "a user agent": (f"curl -A 'OpenAI/Python 1.40.0' {URL}", {"headers": (("User-Agent", "OpenAI/Python 1.40.0"), ANY)}),
    "a curl's user agent": (f"curl -A curl/8.1.2 {URL}", {"version": "8.1.2"}),
    "a user agent by -H": (f"curl -H 'user-agent: x/1' {URL}", {"headers": (ANY, ("user-agent", "x/1"))}),
    "a referer": (f"curl -e https://a.example/ {URL}", {"headers": (AGENT, ANY, ("Referer", "https://a.example/"))}),
    "--json": (f"curl --json '{BODY}' {URL}", {
        "method": "POST", "headers": (AGENT, JSON, ("Accept", "application/json")), "body": BODY.encode()}),
    "-d twice": (f"curl -d a=1 -d b=2 {URL}", {"body": b"a=1&b=2", "headers": (AGENT, ANY, FORM)}),
    "--data-raw with an @": (f"curl --data-raw @x {URL}", {"body": b"@x"}),
    "--data-urlencode": (f"curl --data-urlencode 'q=a b&c' {URL}", {"body": b"q=a+b%26c"}),
    "-G": (f"curl -G -d limit=2 --data-urlencode 'q=a b' {URL}", {
        "method": "GET", "url": f"{URL}?limit=2&q=a+b", "body": b"", "headers": (AGENT, ANY)}),
    "-I": (f"curl -I {URL}", {"method": "HEAD"}),
    "glued short options": (f"curl -sSXPATCH -d1 {URL}", {"method": "PATCH", "body": b"1"}),
    "--name=value": (f"curl --request=DELETE {URL}", {"method": "DELETE"}),
    "an option cut short": (f"curl --head --compr {URL}", {
        "notes": ("--compressed: which codings their curl asks for is not told; deflate, gzip, br, zstd are taken",),
        "headers": (AGENT, ANY, ("Accept-Encoding", "deflate, gzip, br, zstd"))}),
    "--url": (f"curl --url {URL}", {"url": URL}),
    "no scheme": ("curl api.example.com/v1/models", {"url": "http://api.example.com/v1/models"}),
    "a fragment": (f"curl '{URL}#top'", {"url": URL}),
    "a path that curl tidies": ("curl https://h.example//v1/../Chat/%2f/.", {"url": "https://h.example//Chat/%2f/"}),
    "a path kept as it is": ("curl --path-as-is https://h.example/a/../b", {"url": "https://h.example/a/../b"}),
    "--resolve": (f"curl --resolve api.example.com:443:203.0.113.7 {URL}", {"connect_to": "203.0.113.7:443"}),
    "--connect-to": (f"curl --connect-to ::edge.example:8443 {URL}", {"connect_to": "edge.example:8443"}),
    "a family": (f"curl -6 {URL}", {"family": 6}),
    "HTTP/2": (f"curl --http2 {URL}", {"http_version": "2", "client": "curl-h2"}),
    "HTTP/1.1": (f"curl --http1.1 {URL}", {"http_version": "1.1", "client": "curl"}),
    "a proxy with a password": (f"curl -x http://me:geheim@proxy.example:3128 {URL}", {"proxy": "http://proxy.example:3128"}),
    "-k and -L": (f"curl -kL {URL}", {"notes": (
        "-k is left out: here the certificate is checked", "-L is left out: a redirect is told, and not followed")}),
    "how it is shown": (f"curl -sSvi -o out.json -w '%{{http_code}}' --fail -m 30 {URL}", {"notes": ("curl gave up after 30 s",)}),
    "redirections and a pipe": (f"curl -s {URL} 2>&1 | jq .", {"url": URL, "notes": ()}),
    "ANSI-C quoting": (
        f"curl {URL} --data-raw $'{{\"a\":\"it\\'s \\u0021\\n\\xc3\\xa9\"}}'", {"body": b'{"a":"it\'s !\n\xc3\xa9"}'}),
    "a quote in single quotes": (f"curl {URL} -d 'it'\\''s'", {"body": b"it's"}),
    "escapes in double quotes": (f'curl {URL} -d "{{\\"a\\": \\"\\$x\\"}}"', {"body": b'{"a": "$x"}'}),
    "a body on several lines": (f"curl {URL} -d '{{\n  \"a\": 1\n}}'", {"body": b'{\n  "a": 1\n}'}),
    "a here-document": (f"curl {URL} -d @- <<'EOF'\n{{\"a\": \"$x\"}}\nEOF\nThanks!", {"body": b'{"a": "$x"}'}),
    "a here-document kept to the byte": (f"curl {URL} --data-binary @- <<EOF\na\nb\nEOF\n", {"body": b"a\nb\n"}),
    "a here-string": (f"curl {URL} -d @- <<< '{{}}'", {"body": b"{}"}),
    "echo before a pipe": (f"echo '{BODY}' | curl {URL} -d @-", {"body": BODY.encode()}),
    "a body that a line before takes from a here-document": (
        f"body=$(cat <<'EOF'\n{{\"a\": \"$x `y`) it's\",\nb=1}}\nEOF\n)\ncurl {URL} -d \"$body$b\"",
        {"body": b'{"a": "$x `y`) it\'s",\nb=1}{env:b}', "secrets": ("b",)}),
    "one with variables in it": (
        f'M=gpt\nbody=$(cat <<EOF\n{{"m": "$M", "home": "$HOME", "price": "\\$5"}}\n\nEOF\n)\ncurl {URL} --data-raw "$body"',
        {"body": b'{"m": "gpt", "home": "{env:HOME}", "price": "$5"}', "secrets": ("HOME",)}),
    "one indented by tabs, in quotes": (
        f"\texport BODY=\"$(cat <<-'END'\n\t{{\"a\": 1}}\n\tEND\n)\"\ncurl {URL} -d \"${{BODY}}\"", {"body": b'{"a": 1}'}),
    "one in the line itself": (
        f"curl {URL} \\\n  -d \"$(cat <<EOF\n{{\"a\": \"$K\"}}\nEOF\n)\" \\\n  -H 'Content-Type: application/json'",
        {"body": b'{"a": "{env:K}"}', "headers": (AGENT, ANY, JSON), "secrets": ("K",)}),
    "one with a key in it": (
        f'body=$(cat <<EOF\n{{"api_key": "{KEY}"}}\nEOF\n)\ncurl {URL} -d "$body"', {"secrets": ("TOLD_BODY",)}),
    "what is printed in place": (f"curl {URL} -d \"$(echo '{{}}')\" -H \"$(printf '%s' 'Origin: x')\"", {
        "body": b"{}", "headers": (AGENT, ANY, ("Origin", "x"), FORM)}),
    "a here-document before a pipe": (f"cat <<'EOF' | curl {URL} -d @-\n{BODY}\nEOF\n", {"body": BODY.encode()}),
    "a multipart form": (f"curl {URL} -F model=whisper", {
        "body": b'--------------------------edgeprobe0000000\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper\r\n'
                b"--------------------------edgeprobe0000000--\r\n",
        "headers": (AGENT, ANY, ("Content-Type", "multipart/form-data; boundary=------------------------edgeprobe0000000"))}),
    "Chrome on Linux": (
        CHROME,
        {"headers": (("Accept-Encoding", "deflate, gzip, br, zstd"), ("accept", "*/*"), ("sec-fetch-mode", "cors"),
                     ("user-agent", "Mozilla/5.0 (X11)"), FORM), "body": b'{"q":"it\'s"}',
         "notes": ("--compressed: which codings their curl asks for is not told; deflate, gzip, br, zstd are taken",
                   "a browser sent it: its TLS and HTTP/2 are not imitated here, only its headers are")}),
    "Firefox": (
        f"curl --http2 '{URL}' -X POST -H 'User-Agent: Mozilla/5.0' -H 'Accept: */*' -H 'Priority: u=4' --data-raw '{{}}'",
        {"method": "POST", "http_version": "2", "headers": (("User-Agent", "Mozilla/5.0"), ANY, ("Priority", "u=4"), FORM)}),
    "Chrome on Windows": (
        f'curl "{URL}" ^\r\n  -H "accept: */*" ^\r\n  --data-raw "{{\\"a\\":\\"b c\\"}}" ^\r\n  --compressed\r\n',
        {"body": b'{"a":"b c"}', "headers": (AGENT, ("Accept-Encoding", "deflate, gzip, br, zstd"), ("accept", "*/*"), FORM)}),
    "Chrome on Windows, quotes escaped": (
        f'curl ^"{URL}^" ^\n  -H ^"accept: */*^" ^\n  --data-raw ^"^{{^\\^"a^\\^":^\\^"50^% ^& more^\\^"^}}^"',
        {"url": URL, "body": b'{"a":"50% & more"}'}),
    "quotes doubled on Windows": (f'curl "{URL}" ^\n --data-raw "{{""a"":1}}"', {"body": b'{"a":1}'}),
    "behind a prompt": (f"me@host:~$ curl -s {URL}\n{{}}\nme@host:~$", {"url": URL}),
    "continued behind prompts": (f"$ curl -s {URL} \\\n> -H 'Accept: a/b'\n", {"headers": (AGENT, ("Accept", "a/b"))}),
    "in Markdown": (f"I run `curl -s {URL}` and get 403.", {"url": URL}),
    "in a fence": (f"```bash\ncurl -s {URL}\n```\nWhy?", {"url": URL}),
    "in a ticket": (
        f"Since today curl fails for us, curl -v says nothing more.\n\n  curl {URL} \\\n    -d '{{}}'\n\nIt's urgent (don't close).\n",
        {"url": URL, "body": b"{}"}),
    "curl.exe": (f"PS C:\\> curl.exe -s {URL}", {"url": URL}),
    "a path to curl": (f"/usr/bin/curl -s {URL}", {"url": URL}),
    "with its trace": (
        f"$ curl -v {URL}\n> GET /v1/chat/completions HTTP/2\n> User-Agent: curl/7.81.0\n> Accept: */*\n",
        {"headers": (("User-Agent", "curl/7.81.0"), ANY), "version": "7.81.0"}),
    "a comment behind it": (f"curl {URL} # the key is right", {"url": URL}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_line_makes_this_request(name):
    """Each line gives the request that curl would send, without its secrets."""
    text, wanted = ROWS[name]
    found, environ = read(text)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.form == "curl"
    for value in environ.values():
        assert len(value) < 6 or value not in repr(found)


@pytest.mark.parametrize("name", [name for name in ROWS if "placeholder" in name])
def test_a_placeholder_is_said(name):
    """Of a key that was taken out before it was pasted there is a note, and no value."""
    found, environ = read(ROWS[name][0])
    assert found.secrets == ("TOLD_KEY",)
    assert "placeholder" in " ".join(found.notes)
    assert environ == {}


REFUSED = {
    "nothing": ("it does not work", "no curl line"),
    "no URL": ("curl -s -H 'a: b'", "no curl line that names a URL"),
    "PowerShell": (f"Invoke-WebRequest -Uri {URL}", "PowerShell"),
    "an unknown option": (f"curl --haeder x {URL}", "no option --haeder; did you mean header?"),
    "an unknown letter": (f"curl -W {URL}", "no option -W"),
    "an open quote": (f"curl {URL} -d '{{", "line 1: a quote (') is not closed"),
    "an open quote on Windows": (f'curl "{URL}" ^\n -d "{{', "is not closed"),
    "a here-document without an end": (f"curl {URL} -d @- <<EOF\n{{}}\n", "EOF is missing"),
    "a value that was cut off": (f"curl {URL} -H", "--header has no value"),
    "what would have to be run of a here-document": (
        f'curl {URL} -d "$(sed s/a/b/ <<EOF\n{{}}\nEOF\n)"', "line 1: $(…) and `…` are not run"),
    "what a here-document would run": (f'curl {URL} -d "$(cat <<EOF\n$(id)\nEOF\n)"', "$(…) and `…` are not run"),
    "what is printed in place without end": (f"curl {URL} -d " + "$(echo " * 5000, "$(…) and `…` are not run"),
    "a here-document in place without an end": (f'curl {URL} -d "$(cat <<EOF\n{{}}\n)"', "EOF is missing"),
    "what would have to be run": (f'curl {URL} -d "$(cat body.json)"', "line 1: $(…) and `…` are not run"),
    "a file, of a text without a place": (f"curl {URL} -d @body.json", "line 1: @body.json is a file"),
    "standard input that is not told": (f"curl {URL} -d @-", "standard input"),
    "a file of options": (f"curl -K opts {URL}", "the file of -K"),
    "two URLs": (f"curl {URL} {URL}", "names 2 URLs"),
    "two lines": (f"curl {URL}?key=abc\ncurl -d 1 {URL}", "holds 2 curl lines; say which by --entry N:\n    1  https://api.example.com"),
    "more than anybody pastes": ("curl a.example/b\n" * 300, "holds more than 200 curl lines"),
    "a host that is a variable": ('curl "$BASE/v1/chat.completions"', "shell variable"),
    "a form and data": (f"curl -F a=1 -d b {URL}", "exclude each other"),
    "an upload": (f"curl -T x {URL}", "-X PUT --data-binary"),
    "a signature": (f"curl --aws-sigv4 aws:amz {URL}", "signs with the time"),
    "a malformed address": (f"curl --resolve nonsense {URL}", "--resolve can't be read"),
    "a port that is none": ("curl https://h.example:99999/v1", "host or port is malformed"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused(name):
    """What is wrong is said, with its line where it has one."""
    text, said = REFUSED[name]
    with pytest.raises(UsageError) as refused:
        read(text)
    assert said in str(refused.value)


def test_one_of_several_is_chosen():
    """`--entry` says which; one that is not there is refused with those that are."""
    text = f"curl {URL}\nor\ncurl -d 1 https://b.example/v1"
    assert read(text, entry=2)[0].url == "https://b.example/v1"
    with pytest.raises(UsageError, match="--entry 3"):
        read(text, entry=3)


FILES = {
    "-d": ("-d @body.json", b'{"a":1}'),
    "--data-binary": ("--data-binary @body.json", b'{"a":\n1}\n'),
    "--json": ("--json @body.json", b'{"a":\n1}\n'),
    "--data-urlencode": ("--data-urlencode q@body.json", b"q=%7B%22a%22%3A%0A1%7D%0A"),
}


@pytest.mark.parametrize("option", FILES)
def test_a_file_beside_the_text_is_read(option, tmp_path):
    """`@FILE` is a file beside the paste."""
    said, body = FILES[option]
    (tmp_path / "body.json").write_bytes(b'{"a":\n1}\n')
    assert read(f"curl {URL} {said}", folder=tmp_path)[0].body == body


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "~/.ssh/id_rsa", "missing.json", "link"])
def test_no_other_file_is(name, tmp_path):
    """A stranger's line reads no file of this machine but one beside it."""
    folder = tmp_path / "paste"
    folder.mkdir()
    (tmp_path / "x").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "x")
    with pytest.raises(UsageError, match="line 1: @"):
        read(f"curl {URL} --data-binary '@{name}'", folder=folder)


# --- held against curl itself ----------------------------------------------------------------------------

REAL = {
    "GET": "curl -s URL/v1/models",
    "documentation": f"curl -s URL/v1/chat -H 'Content-Type: application/json' -H 'Authorization: Bearer {KEY}' -d '{BODY}'",
    "json": f"curl -s --json '{BODY}' URL/v1/chat",
    "json with a header": f"curl -s --json '{BODY}' -H 'content-type: a/b' URL/v1/chat",
    "own order": "curl -s -H 'B: 2' -A me/1 -e http://a.example/ -b 'c=d' -H 'A: 1' -d x=1 URL/v1",
    "user": "curl -s -u me:geheim URL/v1",
    "user in the URL": "curl -s http://me:geheim@HOST/v1",
    "taken away": "curl -s -H 'Accept:' -H 'User-Agent:' -H 'X-Empty;' URL/v1",
    "data": "curl -s -d a=1 -d 'b=2 3' --data-urlencode 'c=ä &' URL/v1",
    "query": "curl -s -G -d a=1 --data-urlencode 'c=ä &' 'URL/v1?z=0'",
    "ansi": "curl -s URL/v1 --data-raw $'a\\tb\\x41\\u00e9\\'\\\\n\\101'",
    "here-document": "curl -s URL/v1 --data-binary @- <<EOF\na \\$b\nc\\\nd\nEOF",
    "a body by cat": 'v=1\nbody=$(cat <<EOF\n{"a": "b\\$c) $v"}\n\nEOF\n)\ncurl -s URL/v1 -d "$body"',
    "a quoted one": "body=$(cat <<'EOF'\n{\"a\": \"b$c) `it's\"}\nEOF\n)\ncurl -s URL/v1 --data-binary \"$body\"",
    "one in its line": "curl -s URL/v1 -d \"$(cat <<-EOF\n\t{\"a\": 1}\n\tEOF\n)\" -H 'B: 2'",
    "quotes": "curl -s URL/v1 -d \"a\\\"b\\\\c\\d 'e'\"'f\"g'\\h",
    "method": "curl -s -XDELETE URL/v1/a%20b/../c",
    "range": "curl -s -r 0-9 URL/v1",
    "bearer": f"curl -s --oauth2-bearer {KEY} URL/v1",
    "pipe": "printf '%s' '{}' | curl -s URL/v1 -d @- -H 'Expect:'",
}  # fmt: skip


@contextmanager
def hearing():
    """A server that keeps what it hears."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            peer, _ = door.accept()
            with peer:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += peer.recv(65536)
                head, _, body = data.partition(b"\r\n\r\n")
                rows = dict(row.split(b": ", 1) for row in head.lower().split(b"\r\n")[1:] if b": " in row)
                while len(body) < int(rows.get(b"content-length", b"0")):
                    body += peer.recv(65536)
                heard.append(head + b"\r\n\r\n" + body)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield door.getsockname()[1], heard


@pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None, reason="needs bash and curl"
)
@pytest.mark.parametrize("name", REAL)
def test_it_is_what_curl_sends(name, monkeypatch):
    """Method, path, headers in their order and body are those that bash and curl put on the wire."""
    monkeypatch.undo()
    with hearing() as (port, heard):
        text = REAL[name].replace("URL", f"http://127.0.0.1:{port}").replace("HOST", f"127.0.0.1:{port}")
        subprocess.run(["bash", "-c", text], check=True, timeout=20, capture_output=True)
        head, _, body = heard[0].partition(b"\r\n\r\n")
        found, environ = read(text)

    def filled(said):
        for variable, value in environ.items():
            said = said.replace(f"{{env:{variable}}}", value)
        return said

    line, *rows = head.decode().split("\r\n")
    method, path, _ = line.split(" ")
    sent = [tuple(row.split(": ", 1)) if ": " in row else (row.removesuffix(":"), "") for row in rows]
    kept = [row for row in sent if row[0].lower() not in {"host", "content-length"}]
    assert (found.method, [(name, filled(value)) for name, value in found.headers]) == (method, kept)
    assert filled(found.body.decode()).encode() == body
    told = filled(found.url.removeprefix(f"http://127.0.0.1:{port}"))
    assert re.sub("%..", lambda code: code[0].upper(), path) == told  # whose case depends on curl's version
