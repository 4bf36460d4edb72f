"""How does a run become a bundle?

The same run makes the same bytes. What goes in passes a redactor once more: what was told, and what of this machine is
in a traceback, never passed the one of the calls.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import probes
from probes import complaint, own_signatures, store
from probes.bundles import (
    MANIFEST,
    MOST_BYTES,
    MOST_MEMBERS,
    MOST_PACKED,
    MOST_RATIO,
    REQUEST,
    RUN,
    SCHEMA,
    SIGNATURES,
    SMALL,
)
from probes.bundles.columns import columns
from probes.bundles.environment import environment
from probes.bundles.har import har
from probes.bundles.programs import reproducers
from probes.bundles.readme import readme
from probes.complaint import Told
from probes.credentials import made_up_key
from probes.document import plain, to_document
from probes.model import Raw
from probes.redact import Redactor
from probes.reproducers import FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.bundles.programs import Reproducer
    from probes.credentials import Secrets
    from probes.model import Run

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time of day that a zip can hold; that of the run stands in the run."""


class _Member(NamedTuple):
    name: str
    data: bytes


def save(
    run: Run, path: Path, secrets: Secrets, signatures: Mapping[str, Any] | None = None, *, here: bool = False
) -> None:
    """Whole or not at all, readable by its owner only; UsageError where it cannot be written. `signatures`: those that
    another bundle brought; else those here go with it. `here`: see `environment`.
    """
    store.write(path, packed(run, secrets, signatures, here=here))


def packed(
    run: Run, secrets: Secrets, signatures: Mapping[str, Any] | None = None, *, here: bool = False
) -> bytes:
    """The zip."""
    shown = reproducers(run)
    redactor = _redactor(run, secrets)
    if signatures is None:
        signatures = own_signatures.carried(run.target.name)
    members, left_out = _within(_members(run, shown, signatures, redactor, here=here))
    manifest = {
        "schema": SCHEMA,
        "run": run.id,
        "edgeprobe": probes.__version__,
        "verdict": run.verdict,
        "members": [
            {
                "name": one.name,
                "bytes": len(one.data),
                "sha256": hashlib.sha256(one.data).hexdigest(),
            }
            for one in members
        ],
        "left_out": left_out,
        "findings": [
            {
                "case": one.finding.case,
                "code": one.finding.code,
                "client": one.finding.client,
                "title": one.finding.title,
                "reproducer": f"{FOLDER}/{one.name}",
            }
            for one in shown
        ],
    }
    return _zip([_Member(MANIFEST, _json(manifest, redactor)), *members])


def _members(
    run: Run, shown: list[Reproducer], signatures: Mapping[str, Any], redactor: Redactor, *, here: bool
) -> list[_Member]:
    """The most needed first: what is too much is left out from the end."""
    told = next(
        (value for case in run.cases for value in case.params.values() if isinstance(value, Told)), None
    )
    told = told or next((one.told for one in shown if one.told is not None), None)
    found = [
        _Member("README.txt", redactor.text(readme(run, shown)).encode()),
        _Member("environment.json", _json(environment(run, here=here), redactor)),
    ]
    if told is not None:
        found.append(_Member(REQUEST, _request(told, redactor)))
    if signatures:
        found.append(_Member(SIGNATURES, _json(signatures, redactor)))
    found.append(_Member(RUN, _json(to_document(run, chunks=True), redactor)))
    for one in shown:
        for name, content in one.files.items():
            data = redactor.data(content) if isinstance(content, bytes) else redactor.text(content).encode()
            if name.endswith(".json") and one.told is not None:
                data = _request(one.told, redactor)
            found.append(_Member(f"{FOLDER}/{name}", data))
    return [
        *found,
        _Member("exchanges.har", _json(har(run), redactor)),
        _Member("chunks.csv", redactor.text(columns(run)).encode()),
    ]


def _request(told: Told, redactor: Redactor) -> bytes:
    """Its body is looked through before base64 hides it."""
    return _json(complaint.to_document(replace(told, body=redactor.data(told.body))), redactor)


def _json(document: Any, redactor: Redactor) -> bytes:
    # ASCII, so that what a hostile server sent is harmless to `cat`, too.
    text = json.dumps(plain(redactor.tree(document)), ensure_ascii=True, allow_nan=False, indent=1)
    return f"{text}\n".encode("ascii")


# --- what must not be in it ------------------------------------------------------------------------------


def _redactor(run: Run, secrets: Secrets) -> Redactor:
    """A key that was made up stays: it opens nothing, and what shows a refusal needs it."""
    named = {
        name
        for call in run.calls
        if isinstance(call.trial.request, Raw)
        for name in call.trial.request.secrets
    }
    values = [*secrets.values(run.target), *secrets.known(named), *_folders()]
    headers = [name for route in run.target.routes.values() for name in route.headers]
    return Redactor(values, headers, spared=[made_up_key("openai"), made_up_key("anthropic")])


def _folders() -> list[str]:
    """Of this machine, as they stand in a traceback; the innermost goes first, since it is the longest."""
    package = Path(probes.__file__).parent
    return [str(path) for path in (package, package.parent, Path.home(), Path.cwd(), Path(sys.prefix))]


# --- how much may be in it -------------------------------------------------------------------------------


def _within(members: list[_Member]) -> tuple[list[_Member], list[dict[str, Any]]]:
    kept: list[_Member] = []
    left_out: list[dict[str, Any]] = []
    room, packed_room = MOST_BYTES, MOST_PACKED
    for member in members:
        size, small = len(member.data), len(_packed(member.data))
        if size > room or small > packed_room or len(kept) >= MOST_MEMBERS - 1:
            left_out.append({"name": member.name, "bytes": size, "why": "the bundle would be too large"})
            continue
        room, packed_room = room - size, packed_room - small
        kept.append(member)
    return kept, left_out


def _packed(data: bytes) -> bytes:
    """As it goes in: what packs so well that it looks like a bomb goes in as it is."""
    small = zlib.compress(data, 6)
    return data if _bomb(len(data), len(small)) else small


def _bomb(size: int, small: int) -> bool:
    return size > SMALL and size > MOST_RATIO * small


def _zip(members: list[_Member]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o600 << 16
            info.create_system = 3
            bomb = _bomb(len(data), len(zlib.compress(data, 6)))
            info.compress_type = zipfile.ZIP_STORED if bomb else zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()
