"""Which questions can be asked?

One file per question; each has a `SPEC`, named here by one line.
"""

from probes.kinds import completion, connection, error_format, identity, length, models, responses, streaming
from probes.kinds.spec import KindSpec

KINDS: dict[str, KindSpec] = {
    "connection": connection.SPEC,
    "identity": identity.SPEC,
    "completion": completion.SPEC,
    "streaming": streaming.SPEC,
    "models": models.SPEC,
    "error_format": error_format.SPEC,
    "responses": responses.SPEC,
    "length": length.SPEC,
}
