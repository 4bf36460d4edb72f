"""Is a true inference server behind a true gateway and edge told as it is, and are its figures its own?

tests/real/engine/install brings the engine. Nothing else asks it meanwhile, so that all that it counts is ours.
"""

from __future__ import annotations

import json
import re
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from servers import ENGINE_MODEL, nginx, smg, vllm

if TYPE_CHECKING:
    from typing import Any

pytestmark = [pytest.mark.real, pytest.mark.realtime, pytest.mark.engine, pytest.mark.timeout(900)]
BLOCK = 128
"""Tokens of a prompt that it caches together; its last token is never taken from the cache."""
TOOLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
caching = pytest.mark.parametrize("engine", [TOOLS], indirect=True, scope="module", ids=["caching"])
not_caching = pytest.mark.parametrize(
    "engine", [("--no-enable-prefix-caching",)], indirect=True, scope="module", ids=["not caching"]
)
apis = pytest.mark.parametrize("api", ["openai", "anthropic"])
ENDPOINTS = {"openai": ("chat", "responses"), "anthropic": ("messages",)}


@pytest.fixture(scope="module")
def engine(request, tmp_path_factory):
    """Its host:port."""
    with vllm(tmp_path_factory.mktemp("vllm"), *request.param) as running:
        yield running


@pytest.fixture(scope="module")
def edge(engine, tmp_path_factory):
    """nginx in front of smg in front of the engine."""
    with smg(tmp_path_factory.mktemp("smg"), engine) as gateway:
        behind = gateway.removeprefix("http://").removesuffix("/v1")
        with nginx(tmp_path_factory.mktemp("nginx"), behind) as base_url:
            yield base_url


@dataclass(frozen=True)
class Told:
    """A run as JSON with its exit code, and what the engine itself counted meanwhile."""

    code: int
    document: dict[str, Any]
    counted: dict[str, int]

    @property
    def findings(self):
        return [(f["kind"], f["code"], f["verdict"]) for f in self.document["findings"]]

    @property
    def troubles(self):
        return [f for f in self.document["findings"] if f["verdict"] != "pass"]

    def the_only(self, code):
        [found] = self.document["findings"]
        assert found["code"] == code, found
        return found

    def reads(self, label):
        """(tokens from the cache, tokens of the prompt) of each answer of that label."""
        return [
            _cached(e["usage"]) for e in self.document["exchanges"] if e["label"].split("/", 2)[2:] == [label]
        ]


def _cached(usage):
    if "prompt_tokens" in usage:
        return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]
    read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
    return read, read + written + usage["input_tokens"]


@pytest.fixture
def told(edgeprobe, engine, edge):
    """Gives a suite's run through the edge."""

    def call(suite, api, *flags):
        base_url = edge if api == "openai" else edge.removesuffix("/v1")
        endpoints = [flag for name in ENDPOINTS[api] for flag in ("--endpoint", name)]
        target = ["--base-url", base_url, "--api", api, "--model", ENGINE_MODEL, "--no-key", *endpoints]
        before = counters(engine)
        said = edgeprobe("run", suite, *target, *flags, "--no-store", "--json", "-")
        assert said.out.startswith("{"), said.err
        after = counters(engine)
        return Told(said.code, json.loads(said.out), {name: after[name] - before[name] for name in after})

    return call


def counters(engine):
    """What the engine has counted since it came up."""
    with urllib.request.urlopen(f"http://{engine}/metrics") as response:
        rows = re.findall(r"^vllm:(\w+)_total\{[^}]*\} (\S+)$", response.read().decode(), re.MULTILINE)
    return {name: round(float(value)) for name, value in rows}


@caching
@apis
@pytest.mark.parametrize("suite", ["smoke", "streams"])
def test_all_is_well(told, suite, api):
    """Whole answers and streams through each genuine client, a tool's call among them; every token is in the spend."""
    run = told(suite, api)
    assert (run.code, run.troubles) == (0, [])
    asked = {"smoke": {"completion", "streaming", "identity", "error_format", "connection"}}
    also = {"responses"} if api == "openai" else set()
    assert {kind for kind, *_ in run.findings} == asked.get(suite, {"streaming", "buffering"} | also)
    assert not any("tool calls were not tested" in str(f["detail"]) for f in run.document["findings"])
    assert spent(run) == counted(run)


@caching
@apis
def test_the_cache_is_found(told, api):
    """Each read hits, and what usage tells of it is what the engine counted, through both dialects' streams."""
    run = told("cache", api)
    assert run.code == 0, run.troubles
    run.the_only("ok")
    for label in ("cold", "kept/cold", "broken"):
        assert {read for read, _ in run.reads(label)} == {0}, label
    for label in ("warm", "kept/warm"):
        reads = run.reads(label)
        assert len(reads) >= 5
        assert [read for read, _ in reads] == [(tokens - 1) // BLOCK * BLOCK for _, tokens in reads]
    assert all(read >= tokens // 2 for read, tokens in run.reads("moved"))
    usages = [e["usage"] for e in run.document["exchanges"]]
    assert run.counted["prefix_cache_hits"] == sum(_cached(usage)[0] for usage in usages)
    assert run.counted["prefix_cache_queries"] == sum(_cached(usage)[1] for usage in usages)
    assert spent(run) == counted(run)


@caching
@apis
def test_the_curve(told, api):
    """The more tokens a prompt has, the later comes the first one of the answer, and nothing was read from the cache."""
    for _ in range(3):  # other work on this machine leaves it open, and that is what it says then
        run = told("curve", api, "--set", "repeats=8")
        if not {f["reason"] for f in run.troubles} & {"drift", "too_few"}:
            break
    assert run.code == 0, run.troubles
    figures = run.the_only("ok")["figures"]
    first = [figure["value"] for name, figure in figures.items() if name.startswith("ttft@")]
    assert len(first) == 6
    assert first == sorted(first)
    assert run.counted["prefix_cache_hits"] == 0
    assert spent(run) == counted(run)


@not_caching
@apis
def test_a_cache_that_is_off_is_found(told, api):
    """By usage that tells of none and by times that are the same."""
    run = told("cache", api)
    assert run.code == 0, run.troubles
    run.the_only("cache.off")
    assert run.counted["prefix_cache_hits"] == 0
    assert spent(run) == counted(run)


def spent(run):
    return run.document["spend"]["input_tokens"], run.document["spend"]["output_tokens"]


def counted(run):
    return run.counted["prompt_tokens"], run.counted["generation_tokens"]
