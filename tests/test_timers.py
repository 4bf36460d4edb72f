"""Does a measured time find the timer that it may be?"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from probes.signatures import catalogue
from probes.timers import default, match, timers


@pytest.mark.parametrize(
    "seconds, kind, product, uncertainty, first",
    [
        (125.0, "first_byte", "Cloudflare", 0.4, ("Cloudflare", 125)),
        (125.9, "first_byte", None, 0.0, ("Cloudflare", 125)),
        (120.6, "first_byte", "Cloudflare", 0.4, ("Cloudflare", 120)),
        (100.2, "first_byte", "Cloudflare", 0.4, ("Cloudflare", 100)),
        (30.2, "upload", "Cloudflare", 0.4, ("Cloudflare", 30)),
        (60.0, "first_byte", "nginx", 0.1, ("nginx", 60)),
        (60.0, "first_byte", "Varnish", 0.1, ("Varnish", 60)),
        (15.1, "total", None, 0.1, ("Envoy", 15)),
        (300.0, "first_byte", "undici", 0.1, ("undici", 300)),
    ],
)
def test_the_nearest_timer_of_the_product_comes_first(seconds, kind, product, uncertainty, first):
    """The product's own timer is named before others of the same time."""
    found = match(seconds, kind, product, uncertainty)
    assert (found[0].product, found[0].seconds) == first


@pytest.mark.parametrize(
    "seconds, kind, uncertainty",
    [(125.0, "connect", 0.4), (137.0, "first_byte", 0.5), (47.0, "idle", 0.2), (123.0, "first_byte", 0.5)],
)
def test_no_timer_is_invented(seconds, kind, uncertainty):
    """A time that fits none of that kind matches nothing."""
    assert match(seconds, kind, "Cloudflare", uncertainty) == ()


def test_uncertainty_widens_the_match():
    """What a vague measurement may be is more than what a sharp one may be."""
    assert match(122.5, "first_byte", None, 0.2) == ()
    assert {timer.seconds for timer in match(122.5, "first_byte", None, 2.5)} == {120, 125}


@pytest.mark.parametrize("timer", timers(), ids=lambda t: f"{t.product}, {t.timer}, {t.kind}, {t.seconds:g}")
def test_a_timer_says_where_its_figure_is_from(timer):
    """An address, and no further off than a timer of its length is known to fire."""
    source = urlsplit(timer.source)
    assert (source.scheme, "." in source.netloc, " " in timer.source) == ("https", True, False)
    assert source.path.strip("/")
    assert 0 < timer.tolerance <= max(0.1 * timer.seconds, 0.2)
    assert timer.since is None or re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", timer.since)


def test_no_timer_rests_on_hearsay():
    """A maker's own page, repository or tracker, not a gist, a stranger's issue or another's package."""
    hearsay = ("gist.github.com", "pub.dev", "mandarini", "herokaijp")
    assert not [t.source for t in timers() if any(name in t.source for name in hearsay)]


def test_no_timer_stands_twice():
    """One row for each figure of each kind."""
    rows = [(t.product, t.timer, t.kind, t.seconds) for t in timers()]
    assert len(rows) == len(set(rows))


def test_a_product_has_one_name():
    """The catalogue's, where a product is known by its answers: another spelling would never come first."""
    known = {str(signature.product) for signature in catalogue().signatures if signature.product}
    low = {name.lower().replace(" ", ""): name for name in known}
    spelt = {t.product for t in timers() if t.product.lower().replace(" ", "") in low}
    assert spelt <= known
    assert spelt >= {
        "Akamai", "Apache", "AWS ALB", "AWS API Gateway", "Azure API Management", "Azure Application Gateway",
        "Azure Front Door", "Cloudflare", "CloudFront", "Envoy", "Fastly", "Google Frontend", "HAProxy", "Heroku",
        "Kong", "nginx", "Squid", "Varnish", "Vercel",
    }  # fmt: skip


@pytest.mark.parametrize(
    "seconds, kind, products",
    [
        (30.0, "first_byte", {"CloudFront", "Heroku", "Google Frontend", "Azure Front Door", "gunicorn"}),
        (60.0, "first_byte", {"nginx", "Apache", "Varnish", "AWS ALB", "Kong"}),
        (60.0, "idle", {"nginx", "Varnish", "AWS ALB", "Kong"}),
        (300.0, "first_byte", {"undici", "aiohttp", "Google Frontend", "Azure API Management"}),
        (300.0, "total", {"aiohttp", "Google Frontend", "Vercel"}),
        (600.0, "first_byte", {"OpenAI SDK", "Anthropic SDK", "LiteLLM"}),
        (5.0, "first_byte", {"httpx"}),
    ],
)
def test_all_that_match_are_listed(seconds, kind, products):
    """A time alone names no product, where several have it."""
    assert {timer.product for timer in match(seconds, kind, None, 0.1)} >= products


def test_libraries_without_a_timer_have_none():
    """What waits for ever is nobody's suspect."""
    assert not {t.product for t in timers() if t.kind != "connect"} & {
        "Caddy",
        "axios",
        "python-requests",
        "Vercel AI SDK",
    }


@pytest.mark.parametrize(
    "product, seconds",
    [
        ("Cloudflare", 125),
        ("nginx", 60),
        ("AWS ALB", 60),
        ("CloudFront", 30),
        ("Akamai", 20),
        ("Fastly", 15),
        ("Caddy", None),
        (None, None),
    ],
)
def test_what_a_timer_is_where_nobody_touched_it(product, seconds):
    """Not what it once was, and not what it may be raised to."""
    found = default(product, "first_byte")
    assert (found.seconds if found else None) == seconds


def test_what_is_known_of_raising_a_timer_has_a_source():
    """A way to raise one names where it is documented."""
    known = [timer.raised for timer in timers() if timer.raised]
    assert all(raised.by != "" and raised.source.startswith("https://") for raised in known)
    assert {t.product for t in timers() if t.raised} >= {
        "Cloudflare",
        "nginx",
        "AWS ALB",
        "CloudFront",
        "Heroku",
    }
