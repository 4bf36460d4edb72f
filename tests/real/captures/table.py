"""Which servers are recorded?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from captures import apache, caddy, haproxy, litellm, modsecurity, nginx, smg, squid, varnish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from captures.asked import Product

# The name is that of the file in samples/.
PRODUCTS: Mapping[str, Product] = {
    "apache": apache.PRODUCT,
    "caddy": caddy.PRODUCT,
    "caddy-debian": caddy.DEBIAN,
    "haproxy": haproxy.PRODUCT,
    "litellm": litellm.PRODUCT,
    "modsecurity": modsecurity.PRODUCT,
    "nginx": nginx.PRODUCT,
    "smg": smg.PRODUCT,
    "squid": squid.PRODUCT,
    "varnish": varnish.PRODUCT,
}
