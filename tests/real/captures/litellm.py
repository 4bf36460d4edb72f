"""The LiteLLM proxy: its own answers, and how it words those of the provider behind it.

Each model group has the name of the origin that serves it. After its first failure a group is left alone for a minute,
so that whatever is asked twice has a second one.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from processes import answers, free_port, program, running

from captures.asked import Case, Product, chat, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEY = "sk-of-these-tests-and-nobody-else-0001"  # a weak one and it does not start
_CONFIG = """
general_settings: {{master_key: {key}}}
router_settings: {{num_retries: 0, allowed_fails: 0, cooldown_time: 60}}
litellm_settings: {{num_retries: 0}}
model_list:
"""
_MODEL = """
  - model_name: {name}
    litellm_params: {{model: openai/m, api_base: "http://127.0.0.1:{port}/v1", api_key: sk-test, timeout: 1, max_retries: 0}}
"""


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "litellm.yaml"
        groups = [(origin + again, at) for origin, at in ports.items() for again in ("", "-again")]
        models = "".join(_MODEL.format(name=group, port=at) for group, at in groups)
        config.write_text(_CONFIG.format(key=_KEY) + models)
        command = [
            program("litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port),
            "--telemetry", "False",
        ]  # fmt: skip
        environment = {"HOME": name, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}

        def ready() -> bool:
            return answers(f"http://127.0.0.1:{port}/health/liveliness")

        log = Path(name) / "litellm.log"
        with running(command, log, ready, within=90, patience=1, environment=environment):
            yield _cases(port)


def _cases(port: int) -> dict[str, Case]:
    key = f"Authorization: Bearer {_KEY}\r\n"
    requests = {
        "no key": chat("healthy"),
        "another key, no database": chat("healthy", extra="Authorization: Bearer sk-another\r\n"),
        "no such model": chat("none", extra=key),
        "no such model, asked for messages": chat("none", path="/v1/messages", extra=key),
        "no such path": post("/v1/chat", extra=key),
        "a JSON body that ends early": post("/v1/chat/completions", body=b'{"model": ', extra=key),
        "no messages": post("/v1/chat/completions", body=b'{"model": "healthy"}', extra=key),
        "provider refuses the key": chat("keyless", extra=key),
        "provider refuses the key, asked for messages": chat("keyless-again", path="/v1/messages", extra=key),
        "provider refuses a value": chat("invalid", extra=key),
        "provider has no such model": chat("modelless", extra=key),
        "provider limits the rate": chat("limited", extra=key),
        "provider overloaded": chat("busy", extra=key),
        "provider's empty 502": chat("empty", extra=key),
        "provider stops in mid-body": chat("stopping", extra=key),
        "provider closes": chat("closing", extra=key),
        "provider sends a bad header": chat("garbled", extra=key),
        "provider silent": chat("silent", extra=key),
        "provider refuses": chat("refused", extra=key),
        "provider refuses, asked for messages": chat("refused-again", path="/v1/messages", extra=key),
    }
    return {
        **{name: Case(port, request) for name, request in requests.items()},
        "deployment cooling down": Case(port, chat("keyless", extra=key), repeats=2),
        "healthy origin": Case(port, chat("healthy", extra=key), passed_on=True),
    }


def _version() -> str:
    """Asking itself takes it as long as a start."""
    python = Path(program("litellm")).with_name("python")
    return told_by(str(python), "-c", "import importlib.metadata as m; print(m.version('litellm'))")


PRODUCT = Product("litellm", _version, _running)
