"""Which setting of which product lets a stream pass?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.words import listed
from probes.model import Factor

if TYPE_CHECKING:
    from collections.abc import Sequence

_NGINX = "nginx: proxy_buffering off for the path, or the header X-Accel-Buffering: no from the origin"
# Each as the product's own manual names it.
_BUFFERING = {
    "nginx": _NGINX,
    "Kong": f"Kong: response_buffering false on the route ({_NGINX} beneath)",
    "Cloudflare": "Cloudflare: response buffering off for the zone, and no Worker, Snippet or tunnel that reads bodies whole",
    "HAProxy": "HAProxy: option http-no-delay, and no http-response rule or filter that waits for a body",
    "Apache": "Apache: flushpackets=on at ProxyPass",
    "Varnish": "Varnish: beresp.do_stream true, and return (pipe) or (pass) for the path",
    "Squid": "Squid: no ICAP or eCAP service on the path",
    "Caddy": "Caddy: flush_interval -1 in reverse_proxy",
    "Envoy": "Envoy: no buffer filter on the route",
    "Fastly": "Fastly: streaming miss, and no shield that stores the object",
    "Azure Application Gateway": "Azure Application Gateway: response buffer off",
    "Azure API Management": 'Azure API Management: buffer-response="false" at forward-request',
    "AWS API Gateway": "AWS API Gateway: response transfer mode STREAM",
    "Fly.io": "Fly.io: the header Content-Encoding: none from the origin",
}
_COMPRESSION = {
    "nginx": "nginx: text/event-stream out of gzip_types; or proxy_buffering off, with which gzip gives out each event",
    "Cloudflare": "Cloudflare: a compression rule that excludes text/event-stream, or Cache-Control: no-transform from the origin",
    "Apache": "Apache: no DEFLATE or BROTLI_COMPRESS for text/event-stream",
    "Varnish": "Varnish: no beresp.do_gzip for text/event-stream",
    "HAProxy": "HAProxy: text/event-stream out of compression type",
    "Caddy": "Caddy: no encode for text/event-stream",
    "Fly.io": "Fly.io: the header Content-Encoding: none from the origin",
}
_ANY = {
    Factor.ACCEPT_ENCODING: "Exempt text/event-stream from compression, in the origin's own middleware and at each proxy",
    Factor.HTTP_VERSION: "Compare the settings of the listeners for HTTP/1.1 and HTTP/2",
    Factor.SIZE: "Look for what buffers large requests or their answers: a filter, a plugin, a scan of bodies",
}
_ELSE = "Turn response buffering off for event streams on each layer between the origin and the customer"


def advice(factor: Factor | None, products: Sequence[str]) -> str:
    """For those of the products on the way that are known; one recognised in passing need not be the one that buffers."""
    table = _COMPRESSION if factor is Factor.ACCEPT_ENCODING else _BUFFERING
    known = [table[name] for name in products if name in table]
    what = _ANY.get(factor, _ELSE) if factor is not None else _ELSE
    where = (
        f" ({'; '.join(known)})" if known else f"; of {listed(products)} see the manual" if products else ""
    )
    return f"{what}{where}."
