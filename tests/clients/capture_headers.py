"""Which headers do other clients really send?

`python tests/clients/capture_headers.py FOLDER [NAME…]` runs each program below against a raw socket on this machine
and prints the rows of configs/clients.yaml that it saw. FOLDER holds what the programs need:

    npm install --prefix FOLDER openai@6.49.0 @anthropic-ai/sdk@1.14.0 ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 \
        zod@4 axios@1.21.1 undici@7 @openai/codex @anthropic-ai/claude-code     # newer ones need Node 22
    uv venv FOLDER/venv && uv pip install --python FOLDER/venv requests aiohttp litellm==1.106.12
    apt-get install default-jdk-headless libokhttp-java golang-go ruby cargo librust-reqwest-dev chromium

Values that the sender fills in stand as `{host}`, `{length}` and `{key}`. No program reaches farther than this machine
where it is run under `unshare -n` with the loopback device up.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KEY = "sk-capture-not-a-secret-000000"
ANSWER = b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}'
BODY = '{"model":"m","messages":"x","max_tokens":1}'


@dataclass(frozen=True)
class Program:
    """`text`: its source, in which @URL@ and @KEY@ are replaced; `api` where it speaks one only; `package`: where its version is."""

    language: str
    text: str
    package: str = ""
    api: str | None = None
    version: str = ""
    source: str = ""


NODE_OPENAI = """
import OpenAI from 'openai';
const c = new OpenAI({apiKey: '@KEY@', baseURL: '@URL@/v1', maxRetries: 0});
await c.chat.completions.create({model: 'm', messages: [{role: 'user', content: 'x'}], max_tokens: 1}).catch(() => 0);
"""
NODE_ANTHROPIC = """
import Anthropic from '@anthropic-ai/sdk';
const c = new Anthropic({apiKey: '@KEY@', baseURL: '@URL@', maxRetries: 0});
await c.messages.create({model: 'm', messages: [{role: 'user', content: 'x'}], max_tokens: 1}).catch(() => 0);
"""
NODE_AI = """
import {CALL} from 'ai';
import {createOpenAICompatible} from '@ai-sdk/openai-compatible';
const p = createOpenAICompatible({name: 'x', apiKey: '@KEY@', baseURL: '@URL@/v1'});
const r = await Promise.resolve(CALL({model: p('m'), prompt: 'x', maxRetries: 0, onError() {}})).catch(() => 0);
if (r && r.textStream) for await (const _ of r.textStream);
"""
PLAIN = "{'authorization': 'Bearer @KEY@', 'content-type': 'application/json'}"
NODE_AXIOS = f"""
import axios from 'axios';
await axios.post('@URL@/v1/chat/completions', '{BODY}', {{headers: {PLAIN}}}).catch(() => 0);
"""
NODE_UNDICI = f"""
import {{request}} from 'undici';
await request('@URL@/v1/chat/completions', {{method: 'POST', body: '{BODY}', headers: {PLAIN}}});
"""
NODE_FETCH = f"""
await fetch('@URL@/v1/chat/completions', {{method: 'POST', body: '{BODY}', headers: {PLAIN}}});
"""
PY_REQUESTS = f"""
import requests
requests.post('@URL@/v1/chat/completions', data='{BODY}', headers={PLAIN})
"""
PY_AIOHTTP = f"""
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as s, s.post('@URL@/v1/chat/completions', data=b'{BODY}', headers={PLAIN}) as r:
        await r.read()
asyncio.run(main())
"""
PY_URLLIB = f"""
import urllib.request
asked = urllib.request.Request('@URL@/v1/chat/completions', data=b'{BODY}', headers={PLAIN})
urllib.request.urlopen(asked)
"""
PY_LITELLM = """
import litellm
litellm.completion(model='openai/m', messages=[{'role': 'user', 'content': 'x'}], api_base='@URL@/v1', api_key='@KEY@',
                   max_retries=0, max_tokens=1)
"""
JAVA = f"""
import java.net.URI; import java.net.http.*; import java.net.http.HttpRequest.BodyPublishers;
public class Ask {{ public static void main(String[] a) throws Exception {{
  HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build().send(
    HttpRequest.newBuilder(URI.create("@URL@/v1/chat/completions")).header("authorization", "Bearer @KEY@")
      .header("content-type", "application/json").POST(BodyPublishers.ofString("{BODY.replace('"', chr(92) + '"')}")).build(),
    HttpResponse.BodyHandlers.ofString()); }} }}
"""
GO = f"""
package main
import ("net/http"; "strings")
func main() {{
  r, _ := http.NewRequest("POST", "@URL@/v1/chat/completions", strings.NewReader(`{BODY}`))
  r.Header.Set("authorization", "Bearer @KEY@")
  r.Header.Set("content-type", "application/json")
  http.DefaultClient.Do(r)
}}
"""
# SDKs that no registry at hand serves: the headers that their source sets, written by the library that they ride on.
GO_SDK = """
package main
import ("net/http"; "runtime"; "strings")
func main() {
  r, _ := http.NewRequest("POST", "@URL@/v1/chat/completions", strings.NewReader(`@BODY@`))
  r.Header.Set("Content-Type", "application/json")
  r.Header.Set("Accept", "application/json")
  r.Header.Set("X-Stainless-Retry-Count", "0")
  r.Header.Set("User-Agent", "@AGENT@ @VERSION@")
  r.Header.Set("X-Stainless-Lang", "go")
  r.Header.Set("X-Stainless-Package-Version", "@VERSION@")
  r.Header.Set("X-Stainless-OS", "Linux")
  r.Header.Set("X-Stainless-Arch", "x64")
  r.Header.Set("X-Stainless-Runtime", "go")
  r.Header.Set("X-Stainless-Runtime-Version", runtime.Version())
  @AUTH@
  http.DefaultClient.Do(r)
}
""".replace("@BODY@", BODY)
GO_OPENAI = (
    GO_SDK.replace("@AGENT@", "OpenAI/Go")
    .replace("@VERSION@", "3.58.0")
    .replace("@AUTH@", 'r.Header.Set("authorization", "Bearer @KEY@")')
)
GO_ANTHROPIC = (
    GO_SDK.replace("@AGENT@", "Anthropic/Go")
    .replace("@VERSION@", "1.4.1")
    .replace("@AUTH@", 'r.Header.Set("anthropic-version", "2023-06-01"); r.Header.Set("X-Api-Key", "@KEY@")')
)
RUBY_SDK = f"""
require "net/http"; require "stringio"
uri = URI("@URL@/v1/chat/completions")
r = Net::HTTPGenericRequest.new("POST", true, true, uri.to_s)
{{"x-stainless-arch" => "x64", "x-stainless-lang" => "ruby", "x-stainless-os" => "Linux",
 "x-stainless-package-version" => "@VERSION@", "x-stainless-runtime" => RUBY_ENGINE,
 "x-stainless-runtime-version" => RUBY_ENGINE_VERSION, "accept" => "application/json",
 "content-type" => "application/json", "user-agent" => "@AGENT@ @VERSION@",
 @AUTH@, "x-stainless-retry-count" => "0", "x-stainless-timeout" => "600.0",
}}.each {{ |name, value| r[name] = value }}
body = '{BODY}'
r["content-length"] ||= body.bytesize.to_s
r.body_stream = StringIO.new(body)
Net::HTTP.new(uri.host, uri.port).request(r)
"""
RUBY_OPENAI = (
    RUBY_SDK.replace("@AGENT@", "OpenAI::Client/Ruby")
    .replace("@VERSION@", "0.23.3")
    .replace("@AUTH@", '"authorization" => "Bearer @KEY@"')
)
RUBY_ANTHROPIC = (
    RUBY_SDK.replace("@AGENT@", "Anthropic::Client/Ruby")
    .replace("@VERSION@", "1.20.0")
    .replace("@AUTH@", '"anthropic-version" => "2023-06-01", "x-api-key" => "@KEY@"')
)
# Its headers are sorted by their names. X-Stainless-OS-Version, the kernel's, is left out: no two machines have the same.
JAVA_SDK = f"""
import okhttp3.*;
public class Ask {{ public static void main(String[] a) throws Exception {{
  RequestBody body = RequestBody.create(MediaType.get("application/json"), "{BODY.replace('"', chr(92) + '"')}".getBytes());
  new OkHttpClient().newCall(new Request.Builder().url("@URL@/v1/chat/completions").post(body)
    @FIRST@
    .addHeader("X-Stainless-Lang", "java").addHeader("X-Stainless-OS", "Linux")
    .addHeader("X-Stainless-Package-Version", "@VERSION@").addHeader("X-Stainless-Retry-Count", "0")
    .addHeader("X-Stainless-Runtime", "JRE")
    .addHeader("X-Stainless-Runtime-Version", System.getProperty("java.version"))
    .addHeader("X-Stainless-Read-Timeout", "600").addHeader("X-Stainless-Timeout", "600").build()).execute();
  System.exit(0); }} }}
"""
JAVA_OPENAI = JAVA_SDK.replace(
    "@FIRST@",
    '.addHeader("Authorization", "Bearer @KEY@").addHeader("User-Agent", "OpenAIClientImpl/Java @VERSION@")'
    '.addHeader("X-Stainless-Arch", "x64")',
).replace("@VERSION@", "4.40.0")
JAVA_ANTHROPIC = JAVA_SDK.replace(
    "@FIRST@",
    '.addHeader("anthropic-version", "2023-06-01").addHeader("User-Agent", "AnthropicClientImpl/Java @VERSION@")'
    '.addHeader("X-Api-Key", "@KEY@").addHeader("X-Stainless-Arch", "x64")'
    '.addHeader("X-Stainless-Kotlin-Version", "1.9.10")',
).replace("@VERSION@", "2.69.0")
RUST = f"""
fn main() {{
    let _ = reqwest::blocking::Client::new().post("@URL@/v1/chat/completions")
        .header("authorization", "Bearer @KEY@").header("content-type", "application/json")
        .body(r#"{BODY}"#).send();
}}
"""
CARGO = {
    "Cargo.toml": """
[package]
name = "ask"
version = "0.0.0"
edition = "2021"
[dependencies]
reqwest = { version = "0.11", default-features = false, features = ["blocking"] }
""",
    ".cargo/config.toml": """
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
""",
}
OKHTTP = f"""
import okhttp3.*;
public class Ask {{ public static void main(String[] a) throws Exception {{
  new OkHttpClient().newCall(new Request.Builder().url("@URL@/v1/chat/completions")
    .header("authorization", "Bearer @KEY@")
    .post(RequestBody.create(MediaType.get("application/json"), "{BODY.replace('"', chr(92) + '"')}".getBytes())).build()).execute();
  System.exit(0); }} }}
"""
PAGE = f"""
<script>fetch('@URL@/v1/chat/completions', {{method: 'POST', body: '{BODY}', headers: {PLAIN}}})</script>
"""
CODEX = """
model_providers.x={name="x",base_url="@URL@/v1",env_key="OPENAI_API_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}
"""
PROGRAMS = {
    "openai-js": Program("node", NODE_OPENAI, "openai", "openai"),
    "anthropic-js": Program("node", NODE_ANTHROPIC, "@anthropic-ai/sdk", "anthropic"),
    "vercel-ai": Program("node", NODE_AI.replace("CALL", "generateText"), "ai", "openai"),
    "vercel-ai-stream": Program("node", NODE_AI.replace("CALL", "streamText"), "ai", "openai"),
    "axios": Program("node", NODE_AXIOS, "axios"),
    "undici": Program("node", NODE_UNDICI, "undici"),
    "node-fetch": Program("node", NODE_FETCH),
    "python-requests": Program("python", PY_REQUESTS, "requests"),
    "aiohttp": Program("python", PY_AIOHTTP, "aiohttp"),
    "urllib": Program("python", PY_URLLIB),
    "litellm": Program("python", PY_LITELLM, "litellm", "openai"),
    "java-http-client": Program("java", JAVA),
    "go-http-client": Program("go", GO),
    "okhttp": Program("java", OKHTTP, version="3.13.1"),
    "openai-go": Program(
        "go",
        GO_OPENAI,
        api="openai",
        version="3.58.0",
        source="openai/openai-go 3.58.0, internal/requestconfig/requestconfig.go at 015dc5e, as net/http of Go 1.19 writes it",
    ),
    "anthropic-go": Program(
        "go",
        GO_ANTHROPIC,
        api="anthropic",
        version="1.4.1",
        source="anthropics/anthropic-sdk-go 1.4.1, internal/requestconfig/requestconfig.go at 0006a88, as net/http of Go 1.19 writes it",
    ),
    "openai-ruby": Program(
        "ruby",
        RUBY_OPENAI,
        api="openai",
        version="0.23.3",
        source="openai/openai-ruby 0.23.3, lib/openai/internal/transport at 048d8c0, as Net::HTTP of Ruby 3.1 writes it",
    ),
    "anthropic-ruby": Program(
        "ruby",
        RUBY_ANTHROPIC,
        api="anthropic",
        version="1.20.0",
        source="anthropics/anthropic-sdk-ruby 1.20.0 (CHANGELOG.md at d8729d4), client.rb and internal/transport of lib/anthropic at 1ad6a96 and 99c01e4 (user agent since 1.14.0), as Net::HTTP of Ruby 3.1 writes it",
    ),
    "openai-java": Program(
        "java",
        JAVA_OPENAI,
        api="openai",
        version="4.40.0",
        source="openai/openai-java 4.40.0 (CHANGELOG.md at 0154b8d), ClientOptions.kt at 0446c58 and OkHttpClient.kt at bc7afb0, without the versions of kernel and Kotlin, as OkHttp 3.13 writes it",
    ),
    "anthropic-java": Program(
        "java",
        JAVA_ANTHROPIC,
        api="anthropic",
        version="2.69.0",
        source="anthropics/anthropic-sdk-java 2.69.0 (build.gradle.kts at 010bfae), ClientOptions.kt at 03bb766, AnthropicBackend.kt at 578003a and OkHttpClient.kt at 2448092, without the version of the kernel, as OkHttp 3.13 writes it",
    ),
    "reqwest": Program("rust", RUST, version="0.11.13"),
    "claude-cli": Program("claude", "", "@anthropic-ai/claude-code", "anthropic"),
    "codex": Program("codex", CODEX, "@openai/codex", "openai"),
    "browser": Program("browser", PAGE),
}


class Listener:
    """Answers every request with a 401, and the preflight of a browser; keeps the head of each POST."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            sock, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        allow = b"access-control-allow-origin: *\r\naccess-control-allow-headers: *, authorization\r\n"
        with sock:
            raw = b""
            while data := sock.recv(65536):
                raw += data
                head, end, body = raw.partition(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                if not end or len(body) < size:
                    continue
                raw = body[size:]
                if head.startswith(b"POST "):
                    self.heads.append(head)
                status = b"204 No Content" if head.startswith(b"OPTIONS ") else b"401 Unauthorized"
                length = b"" if status.startswith(b"204") else b"content-length: %d\r\n" % len(ANSWER)
                sock.sendall(
                    b"HTTP/1.1 %s\r\ncontent-type: application/json\r\n%s%s\r\n" % (status, length, allow)
                )
                sock.sendall(b"" if status.startswith(b"204") else ANSWER)


def run(program: Program, folder: Path, url: str) -> None:
    """The program against `url`, with a home of its own."""
    text = program.text.replace("@URL@", url).replace("@KEY@", KEY)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        here = Path(made)
        file = {
            "node": "ask.mjs",
            "java": "Ask.java",
            "go": "ask.go",
            "browser": "ask.html",
            "rust": "src/main.rs",
        }
        path = here / file.get(program.language, "ask.py")
        beside = CARGO if program.language == "rust" else {}
        for name, written in {str(path): text, **beside}.items():
            (here / name).parent.mkdir(exist_ok=True)
            (here / name).write_text(written)
        command = {
            "node": ["node", path],
            "python": [folder / "venv/bin/python", path],
            "java": ["java", "-cp", "/usr/share/java/okhttp.jar:/usr/share/java/okio.jar", path],
            "ruby": ["ruby", path],
            "go": ["go", "run", path],
            "rust": ["cargo", "run", "--offline", "-q"],
            "claude": [folder / "node_modules/.bin/claude", "-p", "x"],
            "codex": [folder / "node_modules/.bin/codex", "exec", "--skip-git-repo-check", "-c", text.strip(),
                      "-c", "model_provider=x", "x"],
            "browser": ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={here}", f"file://{path}"],
        }[program.language]  # fmt: skip
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(here),
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
        }
        environ |= {
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
        }
        environ |= {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))}
        environ |= {"GOCACHE": str(here / "go"), "GO111MODULE": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with suppress(subprocess.TimeoutExpired):  # a browser does not end by itself
            subprocess.run(
                [str(word) for word in command],
                cwd=here,
                env=environ,
                capture_output=True,
                timeout=40,
                check=False,
                stdin=subprocess.DEVNULL,
            )


def version(name: str, program: Program, folder: Path) -> str:
    if program.version:
        return program.version
    if program.language in {"node", "claude", "codex"} and program.package:
        return json.loads((folder / "node_modules" / program.package / "package.json").read_text())["version"]
    if program.package:
        code = f"from importlib.metadata import version; print(version({program.package!r}))"
        command = [str(folder / "venv/bin/python"), "-c", code]
    else:
        command = {
            "node": ["node", "-p", "process.version.slice(1)"],
            "python": [
                str(folder / "venv/bin/python"),
                "-c",
                "import platform; print(platform.python_version())",
            ],
            "java": ["java", "--version"],
            "go": ["go", "version"],
            "browser": ["chromium", "--version"],
        }[program.language]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return next(word.removeprefix("go") for word in words if word.removeprefix("go")[:1].isdigit())


def pairs(head: bytes) -> list[tuple[str, str]]:
    found = []
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(": ")
        fixed = {"host": "{host}", "content-length": "{length}"}.get(name.lower(), value)
        found.append((name, fixed.replace(KEY, "{key}")))
    return found


def row(name: str, program: Program, head: bytes, seen_with: str) -> str:
    api = f", api: {program.api}" if program.api else ""
    lines = [
        f"  {name}:",
        f"    {{kind: emulated, genuine: false, edits: true{api}, version: {seen_with!r},",
        f"     source: {json.dumps(program.source or f'captured by tests/clients/capture_headers.py on {platform.system()}')},",
        "     headers: [",
    ]
    lines += [f"       [{name}, {json.dumps(value)}]," for name, value in pairs(head)]
    return "\n".join([*lines, "     ]}"])


def main(folder: Path, names: list[str]) -> int:
    missing = 0
    for name in names or PROGRAMS:
        program, listener = PROGRAMS[name], Listener()
        run(program, folder, listener.url)
        if listener.heads:
            print(row(name, program, listener.heads[0], version(name, program, folder)), flush=True)
        else:
            missing += 1
            print(f"  # {name}: sent nothing", flush=True)
    return missing


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
