"""Which version of which SDK does `--sdk` name, and what is refused?"""

import pytest

from probes import config
from probes.conduct import Order, plan
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.sdk_versions import sdk

GOOD = {
    "openai==1.40.0": ("isolated", "openai", "1.40.0", "openai", True),
    "openai==1.*": ("isolated", "openai", "1.*", "openai", True),
    "openai==0.28.1": ("isolated", "openai", "0.28.1", "openai", False),
    "anthropic==0.40.0": ("isolated", "anthropic", "0.40.0", "anthropic", True),
    "npm:openai@6.49.0": ("node_sdk", "openai", "6.49.0", "openai", False),
    "npm:@anthropic-ai/sdk@1.*": ("node_sdk", "@anthropic-ai/sdk", "1.*", "anthropic", False),
    "npm:ai@7": ("node_sdk", "ai", "7", None, False),
}
HOW = (
    "say openai==1.40.0, the newest of a line as openai==1.*, or for Node npm:openai@6.49.0 or npm:openai@6.*"
)
BAD = {
    "openai>=1.40": "a range is more than one version",
    "openai==1.40,<2": "a range is more than one version",
    "openai~=1.40": "a range is more than one version",
    "openai": "it needs a single version",
    "openai==latest": "it needs a single version",
    "npm:openai==6.1.0": "it needs a single version",
    "npm:openai@^6": "a range is more than one version",
    "opnai==1.0": "'opnai' is no SDK that is known; did you mean openai?",
    "httpx==0.27": "'httpx' is no SDK that is known; valid: anthropic, openai",
    "npm:fetch@1": "'fetch' is no SDK that is known; valid: @anthropic-ai/sdk, ai, openai",
    "==1.0": None,
}


@pytest.mark.parametrize(("spec", "said"), GOOD.items(), ids=GOOD)
def test_a_version(spec, said):
    """The client is called as it was asked for, and is asked only by that name."""
    client = sdk(spec)
    assert (client.kind, client.package, client.version, client.api, client.edits) == said
    assert (client.name, client.apart, client.genuine) == (spec, True, True)


@pytest.mark.parametrize(("spec", "said"), BAD.items(), ids=BAD)
def test_what_is_no_single_version_is_refused(spec, said):
    """With what can be said instead."""
    with pytest.raises(UsageError) as caught:
        sdk(spec)
    told = f"{said}; {HOW}" if said else HOW
    assert str(caught.value) == f"--sdk {spec}: {told}"


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_the_matrix_has_each_line_of_the_targets_sdks(api):
    """And the clients of the flag beside those of the suite, where they speak the target's API."""
    target = config.target_from_flags("https://a.example/v1", api, "m", no_key=True)
    order = Order(("sdk-matrix",), target, sdks=(sdk("openai==1.40.0"), sdk("npm:ai@5.*")))
    planned = plan(order, Secrets({}))
    [case] = planned.cases
    names = {client.name for client in case.clients}
    lines = {
        "openai": {
            "openai==0.28.1", "openai==1.*", "openai==2.*", "openai==3.*", "npm:openai@6.*", "npm:openai@7.*",
            "openai==1.40.0",
        },
        "anthropic": {
            "anthropic==0.*", "anthropic==1.*", "anthropic==2.*", "npm:@anthropic-ai/sdk@0.*",
            "npm:@anthropic-ai/sdk@1.*",
        },
    }  # fmt: skip
    assert names == lines[api] | {"npm:ai@5.*", "npm:ai@6.*", "npm:ai@7.*", "fetch"}
    left_out = {row.client: row.reason for row in planned.skipped}
    assert left_out.get("openai==1.40.0") == (
        "speaks openai, the target anthropic" if api == "anthropic" else None
    )


def test_a_flag_adds_to_every_row():
    """Whatever the suite asks, and beside a choice of clients."""
    target = config.target_from_flags("https://a.example/v1", "openai", "m", no_key=True)
    order = Order(("smoke",), target, only=("httpx",), sdks=(sdk("openai==1.40.0"),))
    for case in plan(order, Secrets({})).cases:
        assert {client.name for client in case.clients} >= {"httpx", "openai==1.40.0"}
