"""How is a request written, for somebody who does not have edgeprobe?

Pure functions of a `Told`: the same bytes go out, and a secret stays a variable of the shell, `os.environ` or
`process.env`. `body_file`: the name of a file that holds the body, where it is too long for the text; one with secrets
in it is always written out.
"""

from probes.written.curl import as_curl
from probes.written.node import as_node
from probes.written.python import as_python
from probes.written.recorded import of_exchange
from probes.written.sdk import as_sdk, as_sdk_line

__all__ = ["as_curl", "as_node", "as_python", "as_sdk", "as_sdk_line", "of_exchange"]
