"""What does `--fired` add to a stored run, and to a pasted answer?"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probes import outputs
from probes.errors import UsageError
from probes.marks import fired
from probes.marks.cloudflare_api import Api, Unread

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from probes.model import Run

_ID = re.compile(r"[0-9a-f]{32}")
_SINCE = "24h"


def check(arguments: Namespace, *others: str) -> None:
    """UsageError for a flag that goes with `--fired` alone, for one of `others` that doesn't, and for no zone."""
    if not arguments.fired:
        for flag in ("zone", "token_env", "since"):
            if getattr(arguments, flag, None) is not None:
                raise UsageError(f"--{flag.replace('_', '-')}: goes with --fired")
        return
    for flag in others:
        if getattr(arguments, flag):
            raise UsageError(f"--fired and --{flag} exclude each other")
    if not _ID.fullmatch(arguments.zone or ""):
        raise UsageError(
            f"--zone {arguments.zone or 'is missing'}: the zone's id is 32 hexadecimal digits, as on its overview page"
        )


def with_rules(run: Run, arguments: Namespace) -> int:
    """0; 2 where the token may not read the events, 3 where they could not be read. The run is shown in any case."""
    if not fired.rays_of(run):
        outputs.show(run, arguments)
        sys.stderr.write("edgeprobe: no refusal by Cloudflare in this run has a ray to ask by\n")
        return 0
    with Api.from_env(arguments.token_env) as api:
        try:
            told, code = fired.with_rules(run, api, arguments.zone), 0
        except Unread as fault:
            told, code = run, _unread(fault)
    outputs.show(told, arguments)
    return code


def rules_of(rays: Sequence[str], arguments: Namespace) -> tuple[Mapping[str, str], int]:
    """Ray → which rule fired, in words, and the exit code as of `with_rules`. Of the first rays alone, if they are many."""
    from probes.marks.times import moment  # noqa: PLC0415 - with pydantic, which a paste alone does not need

    now = datetime.now(UTC)
    since = moment(arguments.since or _SINCE, now, "--since")
    asked = list(dict.fromkeys(rays))[: fired.MOST]
    if not asked:
        sys.stderr.write("edgeprobe: no refusal by Cloudflare with a ray in it to ask by\n")
        return {}, 0
    with Api.from_env(arguments.token_env) as api:
        try:
            found = fired.events(api, arguments.zone, asked, since, now)
        except Unread as fault:
            return {}, _unread(fault)
    return {ray: fired.said({ray: events}) for ray, events in found.items()}, 0


def _unread(fault: Unread) -> int:
    sys.stderr.write(f"edgeprobe: the firewall events were not read: {fault}\n")
    return 2 if fault.mistake else 3
