"""Which questions can be asked?

One file per question; each has a `SPEC`, named here by one line.
"""

from probes.kinds import (
    buffering,
    burst,
    completion,
    connection,
    error_format,
    identity,
    keepalive,
    length,
    lifetimes,
    models,
    prompt_cache,
    reproduction,
    request_encoding,
    responses,
    resumed,
    sdk_versions,
    streaming,
    ttft_curve,
)
from probes.kinds.spec import KindSpec

KINDS: dict[str, KindSpec] = {
    "connection": connection.SPEC,
    "identity": identity.SPEC,
    "completion": completion.SPEC,
    "streaming": streaming.SPEC,
    "models": models.SPEC,
    "error_format": error_format.SPEC,
    "request_encoding": request_encoding.SPEC,
    "responses": responses.SPEC,
    "keepalive": keepalive.SPEC,
    "burst": burst.SPEC,
    "length": length.SPEC,
    "buffering": buffering.SPEC,
    "lifetimes": lifetimes.SPEC,
    "resumed": resumed.SPEC,
    "prompt_cache": prompt_cache.SPEC,
    "reproduction": reproduction.SPEC,
    "sdk_versions": sdk_versions.SPEC,
    "ttft_curve": ttft_curve.SPEC,
}
