"""Which programs show what a finding says?"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from probes import complaint
from probes.model import Factor, Layer
from probes.redact import safe_text
from probes.reproducers import FOLDER, names, told
from probes.written import as_curl, as_node, as_python, as_sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.complaint import Told
    from probes.model import Finding, Run

_INLINE = 16 * 1024
"""Bytes of a body that are written into a program."""


_NOT_RUN = "not run"
_OVER_1_1 = frozenset({".cjs", ".sdk.py", ".sdk.mjs"})


class Reproducer(NamedTuple):
    """`files`: name in the folder → content. `told` is `None` where only the finding's own command is known."""

    finding: Finding
    name: str
    told: Told | None
    files: dict[str, str | bytes]


def reproducers(run: Run) -> list[Reproducer]:
    """One for each finding that fails, as far as a request can show it."""
    named = zip(run.findings, names(run.findings), strict=True)
    failing = [(finding, name) for finding, name in named if name is not None]
    made = [_reproducer(run, finding, name) for finding, name in failing]
    return [one for one in made if one.files]


def _reproducer(run: Run, finding: Finding, name: str) -> Reproducer:
    said = told(finding, run.calls, run.cases)
    files = dict(_files(finding, name, said))
    return Reproducer(finding, name, said, files)


def _files(finding: Finding, name: str, said: Told | None) -> Iterator[tuple[str, str | bytes]]:
    own = finding.reproduce.command if finding.reproduce is not None else None
    body = f"{name}.body" if said is not None and len(said.body) > _INLINE else None
    if own is not None and own.startswith(f"sh {FOLDER}/"):
        own = None
    if own is None and said is not None:
        own = as_curl(said, body_file=body)
    about = [safe_text(finding.title), *(f"needs {variable}" for variable in said.secrets)] if said else []
    if own is not None:
        run = finding.reproduce is not None and finding.reproduce.verified
        notes = [f"# {line}" for line in [*about, *([] if run else [_NOT_RUN])]]
        head = ["#!/bin/sh", *notes, *_set(own, ".sh", said)]
        yield f"{name}.sh", "\n".join([*head, 'cd "$(dirname "$0")" || exit', own, ""])
    if said is None:
        return
    programs: dict[str, str | None] = {
        ".py": as_python(said, body_file=body),
        ".cjs": as_node(said, body_file=body),
        ".sdk.py": None if body else as_sdk(said),
        ".sdk.mjs": None if body else as_sdk(said, "node"),
    }
    for suffix, code in programs.items():
        mark = "#" if suffix.endswith(".py") else "//"
        if code is not None and _shows(suffix, finding, said):
            head = [*(f"{mark} {line}" for line in [*about, _NOT_RUN]), *_set(code, suffix, said)]
            yield f"{name}{suffix}", "".join(f"{line}\n" for line in head) + code
    if body is not None:
        yield body, said.body
    yield f"{name}.json", json.dumps(complaint.to_document(said), indent=1) + "\n"


_READS = {".sh": r"\$\{?{}\b", ".py": r'environ\["{}"\]', ".js": r"\bprocess\.env\.{}\b"}
"""How a language reads the variable."""


def _set(code: str, suffix: str, said: Told | None) -> list[str]:
    """Lines that end a program where a variable is not set that it reads: what it sent without would mislead."""
    language = suffix if suffix == ".sh" else ".py" if suffix.endswith(".py") else ".js"
    found = [
        name
        for name in (said.secrets if said is not None else ())
        if name.isascii()
        and name.isidentifier()  # a stranger may have named it
        and re.search(_READS[language].replace("{}", re.escape(name)), code)
    ]
    if language == ".sh":
        return [f': "${{{name}:?set {name}}}"' for name in found]
    if language == ".py":
        needs = ["import os"] if found else []
        return [
            *needs,
            *(f'if not os.environ.get("{name}"):\n    raise SystemExit("set {name}")' for name in found),
        ]
    return [f"if (!process.env.{name}) {{ console.error('set {name}'); process.exit(1) }}" for name in found]


def _shows(suffix: str, finding: Finding, said: Told) -> bool:
    """Whether the program has what makes it fail, where that is no part of the request's bytes."""
    client = said.client or ""
    if finding.layer is Layer.CLIENT or finding.factor is Factor.TLS:
        return suffix in _same_software(client, own_calls=finding.layer is Layer.CLIENT)
    if finding.factor is Factor.CONNECTION:  # each program has a fresh one
        return False
    if finding.factor is Factor.HTTP_VERSION and said.http_version == "2":
        return suffix not in _OVER_1_1
    return not (finding.factor is Factor.ROUTE and said.proxy and suffix == ".cjs")


def _same_software(client: str, *, own_calls: bool) -> frozenset[str]:
    """Programs that run on what the client runs on; of `own_calls` only its own calls."""
    if client in {"openai-py", "anthropic-py"}:
        return frozenset({".sdk.py"} if own_calls else {".sdk.py", ".py"})
    if client == "httpx" and not own_calls:
        return frozenset({".py"})
    return frozenset({".cjs"}) if client == "node" and not own_calls else frozenset()
