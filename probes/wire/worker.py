"""What does another version of an SDK do, in an interpreter of its own?

Run by its path in that environment, with the number of a descriptor; nothing of ours is importable there but this folder,
so that it is the SDK asked for that runs. The job, with the key, is JSON on standard input. Two lines go out: that it is
ready, with the version that was really loaded, and what came of the call.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_TEXT = 300
_OURS = "edgeprobe_wire"


def _recorder() -> Any:
    """The recorder, with this folder as a package of its own name, beside which nothing of ours is found."""
    folder = Path(__file__).parent
    where = [str(folder)]
    spec = importlib.util.spec_from_file_location(
        _OURS, folder / "__init__.py", submodule_search_locations=where
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[_OURS] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{_OURS}.recorder")


def main(descriptor: int, job: dict[str, Any]) -> None:
    _proxies(job)
    recorder = _recorder()
    sdk = importlib.import_module(job["package"])
    session = Legacy(sdk, job) if not hasattr(sdk, "Client") and hasattr(sdk, "ChatCompletion") else Modern(
        sdk, job, recorder
    )  # fmt: skip
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:

        def tell(said: dict[str, Any]) -> None:
            out.write(json.dumps(said) + "\n")
            out.flush()

        tell({"e": "ready", "version": version(sdk)})
        tell({"e": "result", **outcome(session, job, recorder)})


def version(sdk: Any) -> str:
    """Of the module that was imported, as it says itself."""
    said = getattr(sdk, "__version__", None) or importlib.import_module(f"{sdk.__name__}.version").VERSION
    return str(said)


def outcome(session: Any, job: dict[str, Any], recorder: Any) -> dict[str, Any]:
    """`returned` or `raised` as the SDK's caller met it, and the exchanges."""
    scale = job["scale"]
    settings = {name: job[name] for name in ("deadline", "body_limit", "streamed", "family", "edits")}
    dialled = tuple(job["connect_to"]) if job["connect_to"] else None
    raised = returned = None
    with recorder.recording(
        lambda: time.monotonic() / scale, scale=scale, connect_to=dialled, **settings
    ) as record:
        try:
            returned = str(session.call())[:_TEXT]
        except Exception as error:  # noqa: BLE001 - told to the interpreter that waits for it: what the SDK's user meets
            raised = [f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}", str(error)]
    return {
        "returned": returned,
        "raised": raised,
        "exchanges": [_plain(result) for result in record.results()],
    }


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    kept = ("body_head", "body_tail")
    return {**result, **{name: base64.b64encode(result[name]).decode() for name in kept}}


def _proxies(job: dict[str, Any]) -> None:
    """Before the SDK looks for them: the route's, those of the environment, or none."""
    if job["proxy"] or not job["env_proxy"]:
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]
    if job["proxy"]:
        os.environ["http_proxy"] = os.environ["https_proxy"] = job["proxy"]


def _loaded(package: str) -> None:
    """What an SDK else imports within its first call, on the deadline's time."""
    for module in ("resources.chat.completions", "resources.responses", "resources.messages", "_streaming"):
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{package}.{module}")


class Modern:
    """Of the SDKs that ride on the httpx family: their own default client, observed."""

    def __init__(self, sdk: Any, job: dict[str, Any], recorder: Any) -> None:
        self._job = job
        made = getattr(sdk, "OpenAI", None) or sdk.Anthropic
        self._sdk = made(
            api_key=job["key"],
            base_url=job["base_url"],
            max_retries=0,
            default_headers=job["headers"] or None,
        )
        _loaded(sdk.__name__)
        recorder.attach(recorder.http_client_of(self._sdk), proxies=bool(job["proxy"]) or job["env_proxy"])

    def call(self) -> str:
        endpoint, sdk = self._job["endpoint"], self._sdk
        if endpoint == "models":
            return f"models: {sdk.models.list()}"
        resource = {"chat": lambda: sdk.chat.completions, "messages": lambda: sdk.messages}.get(
            endpoint, lambda: sdk.responses
        )()
        answer = resource.create(**self._arguments(resource.create))
        return _said(answer) if not self._job["streamed"] else _joined(answer)

    def _arguments(self, create: Any) -> dict[str, Any]:
        """Of a question of ours, what this version has no argument for goes by `extra_body`; what a customer passes is
        passed as it is.
        """
        given: dict[str, Any] = self._job["arguments"]
        if self._job["given"]:
            return given
        known = inspect.signature(create).parameters
        extra = {name: value for name, value in given.items() if name not in known}
        if not extra:
            return given
        kept = {name: value for name, value in given.items() if name in known}
        return {**kept, "extra_body": {**kept.get("extra_body", {}), **extra}}


class Legacy:
    """openai 0.28 and before: functions of the module, on requests. A header can't be edited below it."""

    def __init__(self, sdk: Any, job: dict[str, Any]) -> None:
        importlib.import_module(f"{_OURS}.urllib3_session").observe()
        requestor: Any = importlib.import_module("openai.api_requestor")
        requestor.MAX_CONNECTION_RETRIES = 0
        self._sdk, self._job = sdk, job

    def call(self) -> str:
        job = self._job
        more = {"api_key": job["key"], "api_base": job["base_url"], "headers": job["headers"] or None}
        if job["endpoint"] == "models":
            return f"models: {self._sdk.Model.list(**more)}"
        if job["endpoint"] != "chat":
            raise NotImplementedError(f"this version knows no {job['endpoint']}")
        arguments = {**job["arguments"], **job["arguments"].pop("extra_body", {})}
        answer = self._sdk.ChatCompletion.create(**more, **arguments)
        return _said(answer) if not job["streamed"] else _joined(answer)


def _said(answer: Any) -> str:
    if getattr(answer, "choices", None):
        text: Any = answer.choices[0].message.content
    elif getattr(answer, "content", None):
        text = "".join(getattr(block, "text", "") for block in answer.content)
    else:
        text = getattr(answer, "output_text", None) or answer
    return f"{type(text).__name__}: {text}"


def _joined(answer: Any) -> str:
    count, kept = 0, ""
    for event in answer:
        count += 1
        if len(kept) < _TEXT:
            kept += _delta(event)
    return f"{count} chunks: {kept[:_TEXT]}"


def _delta(event: Any) -> str:
    if getattr(event, "choices", None):
        return getattr(event.choices[0].delta, "content", None) or ""
    delta = getattr(event, "delta", None)
    return delta if isinstance(delta, str) else getattr(delta, "text", None) or ""


if __name__ == "__main__":
    main(int(sys.argv[1]), json.load(sys.stdin))
