"""Which version of which SDK does a flag name?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from probes.errors import UsageError, did_you_mean
from probes.model import Client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKAGES: Mapping[str, Mapping[str, Literal["openai", "anthropic"] | None]] = {
    "isolated": {"openai": "openai", "anthropic": "anthropic"},
    "node_sdk": {"openai": "openai", "@anthropic-ai/sdk": "anthropic", "ai": None, "fetch": None},
}
"""Kind → package → the API that it speaks; `None` is both."""
VERSION = re.compile(r"\d+(?:\.\d+)*(?:\.\*)?")
_SPEC = re.compile(r"(npm:)?(@?[A-Za-z][\w./-]*)(==|@)?(.*)")
_HOW = (
    "say openai==1.40.0, the newest of a line as openai==1.*, or for Node npm:openai@6.49.0 or npm:openai@6.*"
)


def sdk(spec: str) -> Client:
    """The client that `--sdk` names; UsageError where it is no single version of an SDK that is known."""
    found = _SPEC.fullmatch(spec.strip())
    if found is None:
        raise UsageError(f"--sdk {spec}: {_HOW}")
    npm, package, sign, version = found.groups()
    kind = "node_sdk" if npm else "isolated"
    known = [name for name in PACKAGES[kind] if name != "fetch"]
    if package not in known:
        raise UsageError(
            f"--sdk {spec}: {package!r} is no SDK that is known{did_you_mean(package, known)}; {_HOW}"
        )
    if sign != ("@" if npm else "==") or not VERSION.fullmatch(version):
        why = (
            "a range is more than one version"
            if re.search(r"[<>~^,|]", spec)
            else "it needs a single version"
        )
        raise UsageError(f"--sdk {spec}: {why}; {_HOW}")
    return Client(
        name=f"{npm or ''}{package}{sign}{version}",
        kind=kind,
        api=PACKAGES[kind][package],
        edits=edits(kind, version),
        apart=True,
        package=package,
        version=version,
    )


def edits(kind: str, version: str) -> bool:
    """Headers can be edited below it: of a Python SDK on httpx."""
    return kind == "isolated" and version != "0.28" and not version.startswith("0.28.")


def sdks(specs: Sequence[str]) -> tuple[Client, ...]:
    return tuple(sdk(spec) for spec in dict.fromkeys(specs))
