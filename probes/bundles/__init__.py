"""What does somebody on another machine need, to judge a run again and to see the same?

A bundle is a zip, `edgeprobe.bundle/1`: the run as it is stored, what passed on the wire in the forms of other tools, and
the requests that failed as programs. `reports/README.md` describes it.
"""

SCHEMA = "edgeprobe.bundle/1"
SUFFIX = ".zip"
MANIFEST = "manifest.json"
RUN = "run.json"
REQUEST = "request.json"
SIGNATURES = "signatures.json"
MOST_MEMBERS = 1_000
MOST_BYTES = 64 * 1024 * 1024
"""Of all members unpacked."""
MOST_PACKED = 20 * 1024 * 1024
"""Mail and ticket systems take no more than about that."""
MOST_RATIO = 100
"""Of a member beyond `SMALL` to what it is packed; more is no report, and is stored unpacked."""
SMALL = 1024 * 1024
