"""Which questions can be asked?

One file per question; each has a `SPEC`, named here by one line.
"""

from probes.kinds import completion, identity, length, streaming
from probes.kinds.spec import KindSpec

KINDS: dict[str, KindSpec] = {
    "identity": identity.SPEC,
    "completion": completion.SPEC,
    "streaming": streaming.SPEC,
    "length": length.SPEC,
}
