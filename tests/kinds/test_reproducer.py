"""Does a command that a finding shows send what the client sends?"""

import shlex
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from canned import case

from probes import config
from probes.kinds.identity.reproducer import python_command

ANSWER = b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"
AGENTS = {
    "openai-py": "OpenAI/Python",
    "openai-py-async": "AsyncOpenAI/Python",
    "openai-py-aiohttp": "AsyncOpenAI/Python",
    "anthropic-py": "Anthropic/Python",
    "anthropic-py-async": "AsyncAnthropic/Python",
    "anthropic-py-aiohttp": "AsyncAnthropic/Python",
    "axios": "axios/",
    "browser": "Mozilla/5.0",
    "claude-cli": "claude-cli/",
}


@pytest.mark.parametrize("name", AGENTS)
def test_the_command_sends_as_the_client(name):
    """Run as it stands, it announces the same software, with a key that nobody knows."""
    client = config.clients()[name]
    heads = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run():
            sock, _ = listener.accept()
            with sock:
                raw = b""
                while b"\r\n\r\n" not in raw or not raw.endswith(b"}"):
                    raw += sock.recv(65536)
                heads.append(raw.partition(b"\r\n\r\n")[0].decode("latin-1"))
                sock.sendall(ANSWER)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        asked = case(clients=(client,), base_url=f"http://127.0.0.1:{listener.getsockname()[1]}")
        target = replace(asked.target, api=client.api or "openai")
        command = python_command(replace(asked, target=target), name)
        subprocess.run([sys.executable, *shlex.split(command.command)[1:]], capture_output=True, check=False)
        thread.join(5)
    (head,) = heads
    sent = dict(line.split(": ", 1) for line in head.lower().split("\r\n")[1:])
    assert sent["user-agent"].startswith(AGENTS[name].lower())
    assert "edgeprobemadeupkey" in sent.get("authorization", "") + sent.get("x-api-key", "")
    assert command.verified is client.genuine
