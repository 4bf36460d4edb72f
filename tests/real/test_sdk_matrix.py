"""Do the real SDKs of other versions run, each as itself, and is it told which of them a rule refuses?"""

import json
from dataclasses import replace

import pytest
from sdk_cache import sdk_cache

from probes import lab
from probes.clients import environments
from probes.clock import Clock
from probes.lab.faults import Answer, Do, Fault
from probes.lab.when import HeaderTest, When
from probes.model import Raised
from probes.sdk_versions import sdk

pytestmark = pytest.mark.real
PYTHON = ("openai==0.28.1", "openai==1.*", "openai==2.*", "openai==3.*")
NODE = ("npm:openai@7.*", "npm:ai@7.*", "fetch")
ANTHROPIC = ("anthropic==0.*", "anthropic==1.*", "anthropic==2.*", "npm:@anthropic-ai/sdk@1.*")
EARLY = "openai==1.3.0"


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    """One for all of the file."""
    with sdk_cache(tmp_path_factory.mktemp("sdks")):
        asked = [*PYTHON, *NODE[:-1], *ANTHROPIC, EARLY]
        environments.prepare(map(sdk, asked))
        yield


@pytest.fixture
def matrix(edgeprobe, monkeypatch):
    """Gives the run of the matrix through these clients against a lab with these faults."""

    def call(clients, *faults, api="openai", more=()):
        with lab.serve(faults, clock=Clock(), prefill=0.05, tpot=0.005) as running:
            monkeypatch.setenv("SOME_KEY", running.api_key)
            base = running.base_url.removesuffix("/v1") if api == "anthropic" else running.base_url
            said = edgeprobe(
                "run", "sdk-matrix", "--base-url", base, "--api", api, "--model", running.model,
                "--key-env", "SOME_KEY", "--no-store", "--json", "-",
                *(part for name in clients for part in ("--client", name)), *more,
            )  # fmt: skip
            assert running.api_key not in said.out + said.err
        return json.loads(said.out)

    return call


def agents(run):
    """Client → what it announced."""
    return {
        exchange["client"]: {name.lower(): value for name, value in exchange["request"]["headers"]}.get(
            "user-agent"
        )
        for exchange in run["exchanges"]
    }


@pytest.mark.timeout(900)
def test_every_version_runs_as_itself(matrix):
    """Python's from 0.28 on and Node's: each announces the version that was asked for, and its bytes and times are known."""
    run = matrix((*PYTHON, *NODE), more=("--sdk", EARLY, "--sdk", "openai==1.99.99"))
    assert run["verdict"] == "pass", [f["title"] for f in run["findings"] if f["verdict"] != "pass"]
    assert [(row["client"], row["reason"]) for row in run["skipped"]] == [
        ("openai==1.99.99", "openai 1.99.99 can't be installed: there is no such version")
    ]
    said = agents(run)
    assert said.keys() == {*PYTHON, *NODE, EARLY}
    assert said["openai==0.28.1"] == "OpenAI/v1 PythonBindings/0.28.1"
    assert said[EARLY] == "OpenAI/Python 1.3.0"
    for line in "123":
        assert said[f"openai=={line}.*"].startswith(f"OpenAI/Python {line}.")
        assert said[f"openai=={line}.*"].endswith(run["versions"][f"openai=={line}.*"])
    assert said["npm:openai@7.*"] == f"OpenAI/JS {run['versions']['npm:openai@7.*']}"
    assert "ai-sdk" in said["npm:ai@7.*"]
    assert said["fetch"] == "node"
    for exchange in run["exchanges"]:
        line = exchange["timeline"]
        assert line["connect"] <= line["upload_start"] <= line["headers"] <= line["end"], exchange["client"]
        assert exchange["conditions"]["connection"] == "new"
    assert all(call["returned"] for call in run["calls"])


@pytest.mark.timeout(900)
def test_anthropics(matrix):
    """Their three lines and Node's."""
    run = matrix(ANTHROPIC, api="anthropic")
    assert run["verdict"] == "pass", [f["title"] for f in run["findings"] if f["verdict"] != "pass"]
    said = agents(run)
    for line in "012":
        assert said[f"anthropic=={line}.*"].startswith(f"Anthropic/Python {line}.")
    assert said["npm:@anthropic-ai/sdk@1.*"].startswith("Anthropic/JS 1.")


REFUSED = Do(answer=Answer(page="cf-1010", otherwise="plain"))
RULES = {
    "a header that came later": (
        When(headers=(HeaderTest(name="x-stainless-read-timeout"),)),
        "openai: first bad 1.109.1, last good 1.3.0",
    ),
    "an old user agent": (
        When(headers=(HeaderTest(name="user-agent", contains="PythonBindings"),)),
        "openai: last bad 0.28.1, first good 1.3.0",
    ),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("when", "title"), RULES.values(), ids=RULES)
def test_a_rule_for_some_versions(matrix, when, title):
    """The two versions on either side of it are named, and who refused."""
    rule = Fault("of-versions", "Some versions get page 1010.", REFUSED, when)
    run = matrix(("openai==0.28.1", "openai==1.*", "openai==3.*"), rule, more=("--sdk", EARLY))
    [table] = [finding for finding in run["findings"] if finding["code"] == "client.versions"]
    assert (table["title"], table["verdict"]) == (title, "fail")
    refused = [finding for finding in run["findings"] if finding["code"] == "blocked.client"]
    assert {(finding["product"], finding["vendor_code"]) for finding in refused} == {("Cloudflare", "1010")}


def test_it_is_never_another_version_that_is_told(matrix, monkeypatch):
    """What ran in place of the version asked for is no evidence of it."""
    real = environments.of
    monkeypatch.setattr(
        environments, "of", lambda client: (found := real(client)) and replace(found, version="1.0.0")
    )
    run = matrix(("openai==0.28.1",))
    assert run["verdict"] != "pass"
    [raised] = {tuple(call["raised"].values()) for call in run["calls"]}
    assert Raised(*raised) == Raised("probes.WrongVersion", "openai 0.28.1 ran in place of 1.0.0")
