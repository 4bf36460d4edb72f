"""What does `edgeprobe report --fired` add to a run?"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from probes import outputs
from probes.errors import UsageError
from probes.marks import fired
from probes.marks.cloudflare_api import Api, Unread

if TYPE_CHECKING:
    from argparse import Namespace

    from probes.model import Run

_ID = re.compile(r"[0-9a-f]{32}")


def with_rules(run: Run, arguments: Namespace) -> int:
    """0; 2 where the token may not read the events, 3 where they could not be read. The run is shown in any case."""
    if not _ID.fullmatch(arguments.zone or ""):
        raise UsageError(
            f"--zone {arguments.zone or 'is missing'}: the zone's id is 32 hexadecimal digits, as on its overview page"
        )
    told, code = run, 0
    if not fired.rays_of(run):
        said = "no refusal by Cloudflare in this run has a ray to ask by"
    else:
        said = ""
        with Api.from_env(arguments.token_env) as api:
            try:
                told = fired.with_rules(run, api, arguments.zone)
            except Unread as fault:
                said, code = f"the firewall events were not read: {fault}", 2 if fault.mistake else 3
    outputs.show(told, arguments)
    if said:
        sys.stderr.write(f"edgeprobe: {said}\n")
    return code
