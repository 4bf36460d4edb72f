"""Targets from files and flags, clients, secrets: what is read, what is refused, with which words."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from probes import bundled, client_rules, clients, config
from probes.errors import UsageError
from probes.model import Acceptance, Budget, Client, EnvRef, Limits, Prices, Refusals, Route, Slo, Target
from probes.sdk_versions import PACKAGES

GOOD = """\
version: 1
name: prod
api: openai
model: qwen3-32b
key_env: PROD_KEY
endpoints: [chat]
owned: true
routes:
  edge: {base_url: "https://api.example.com/v1/"}
  origin: {base_url: https://api.example.com/v1, connect_to: "10.0.0.5:443", headers: {X-Bypass: {env: BYPASS}}}
limits: {concurrency: 2, per_minute: 60}
budget: {requests: 200, tokens: 20000, usd: null}
"""
LITERAL = "sk-proj-" + "a1B2c3D4e5F6g7H8"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with an empty `configs/targets`, where the user stands."""
    monkeypatch.chdir(tmp_path)
    Path("configs/targets").mkdir(parents=True)
    return tmp_path


def target_file(text: str, name: str = "prod") -> Path:
    path = Path(f"configs/targets/{name}.yaml")
    path.write_text(text, "utf-8")
    return path


def test_a_target_file(here):
    """Every key lands in the model; a trailing slash goes, a route is named by its key, defaults are the contract's."""
    target_file(GOOD)
    edge = Route("edge", "https://api.example.com/v1")
    origin = Route(
        "origin", "https://api.example.com/v1", "10.0.0.5:443", headers={"X-Bypass": EnvRef("BYPASS")}
    )
    assert config.load_target("prod") == Target(
        name="prod",
        api="openai",
        model="qwen3-32b",
        routes={"edge": edge, "origin": origin},
        key_env="PROD_KEY",
        endpoints=("chat",),
        owned=True,
        limits=Limits(concurrency=2, per_minute=60, deadline=10.0, body_mib=32.0),
        budget=Budget(requests=200, tokens=20000, usd=None),
    )


def test_every_key_of_a_target_file(here):
    """Those that say what counts, what it may cost and what was promised."""
    text = (
        edited("connect_to:", "client_cert: {env: CERT}, client_key: {env: KEY}, connect_to:")
        + """\
clients: {must_pass: [openai-py, curl], may_fail: [httpx]}
accepted: [{code: blocked.client, client: httpx, reason: scrapers, until: 2027-03-01}, {code: cache.off, reason: x}]
slo: {ttft: 2, tpot: 0.08}
output_cap: max_completion_tokens
reasoning: off
prices: {input: 0.5, output: 2}
"""
    )
    target_file(text.replace("usd: null", "usd: 1.5"))
    target = config.load_target("prod")
    assert target.clients == Refusals(("openai-py", "curl"), ("httpx",))
    assert target.accepted == (
        Acceptance("blocked.client", "scrapers", "httpx", date(2027, 3, 1)),
        Acceptance("cache.off", "x"),
    )
    assert (target.slo, target.prices, target.budget.usd) == (Slo(2.0, 0.08), Prices(0.5, 2.0), 1.5)
    assert (target.output_cap, target.reasoning) == ("max_completion_tokens", "off")
    origin = target.routes["origin"]
    assert (origin.client_cert, origin.client_key) == (EnvRef("CERT"), EnvRef("KEY"))


def test_money_of_a_listed_model(here):
    """A model of the price list needs no price of its own."""
    target_file(edited("usd: null", "usd: 1").replace("qwen3-32b", "gpt-4o-mini"))
    assert config.load_target("prod").budget.usd == 1.0


def test_the_bundled_example_loads(here):
    """What people copy is valid."""
    assert config.load_target("example").name == "example"


def edited(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


URL = '"https://api.example.com/v1/"'
BAD_URL = "must be an absolute http or https URL, such as https://api.example.com/v1"
BAD_ENV = "must be the name of an environment variable, such as PROD_KEY; secrets live in the environment"
SECRET = "looks like a secret; secrets live in the environment: name the variable here (key_env: PROD_KEY)"
ORIGIN = 'connect_to: "10.0.0.5:443"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            edited("edge: {base_url", "edge: {base_ur"),
            ":9: routes.edge.base_ur: unknown key; did you mean base_url?",
            id="misspelt key",
        ),
        pytest.param(
            edited(f"{{base_url: {URL}}}", "{}"), ":9: routes.edge.base_url: is required", id="no base_url"
        ),
        pytest.param(
            edited("edge: {", "edge: {name: x, "),
            ":9: routes.edge.name: unknown key; the key above is the name",
            id="route with a name",
        ),
        pytest.param(
            edited("edge: {", "edge: {nam: x, "),
            ":9: routes.edge.nam: unknown key; valid: base_url, client_cert, client_key, connect_to,"
            " env_proxy, family, headers, http_version, proxy",
            id="name is not suggested",
        ),
        pytest.param(
            GOOD + "output_cap: max\n",
            ":13: output_cap: 'max' is not valid; valid: auto, max_completion_tokens, max_tokens",
            id="output cap",
        ),
        pytest.param(
            GOOD + "reasoning: on\n", ":13: reasoning: true is not valid; valid: off", id="reasoning on"
        ),
        pytest.param(
            GOOD + "clients: {must_pas: [curl]}\n",
            ":13: clients.must_pas: unknown key; did you mean must_pass?",
            id="clients misspelt",
        ),
        pytest.param(
            GOOD + "clients: {must_pass: [crul]}\n",
            ":13: clients.must_pass[0]: client 'crul' is not known; did you mean curl?",
            id="no such client",
        ),
        pytest.param(
            GOOD + "clients:\n  may_fail:\n    - curl\n    - anthropic-py\n",
            ":16: clients.may_fail[1]: anthropic-py speaks anthropic, this target openai",
            id="foreign client",
        ),
        pytest.param(
            GOOD + "clients: {must_pass: [curl], may_fail: [curl]}\n",
            ":13: clients.may_fail[0]: curl must pass as well; name it in one of the two",
            id="both sides",
        ),
        pytest.param(
            GOOD + "accepted: [{code: blocked.client}]\n",
            ":13: accepted[0].reason: is required",
            id="acceptance without a reason",
        ),
        pytest.param(
            GOOD + "accepted: [{code: blocked.client, reason: ' '}]\n",
            ":13: accepted[0].reason: is empty; say why it is accepted",
            id="empty reason",
        ),
        pytest.param(
            GOOD + "accepted:\n  - {code: blockd.client, reason: x}\n",
            ":14: accepted[0].code: finding code 'blockd.client' is not known; did you mean blocked.client?",
            id="no such code",
        ),
        pytest.param(
            GOOD + "accepted: [{code: ok, reason: x}]\n",
            ":13: accepted[0].code: ok needs no acceptance",
            id="ok is accepted",
        ),
        pytest.param(
            GOOD + "accepted: [{code: blocked, reason: x, client: crul}]\n",
            ":13: accepted[0].client: client 'crul' is not known; did you mean curl?",
            id="acceptance of nobody",
        ),
        pytest.param(
            GOOD + "accepted: [{code: blocked, reason: x, until: 2027-02-30}]\n",
            ":13: accepted[0].until: should be a valid date in the format YYYY-MM-DD, day value is outside expected"
            " range, not '2027-02-30'",
            id="no such day",
        ),
        pytest.param(
            GOOD + "slo: {ttft: 0}\n",
            ":13: slo.ttft: must be above 0, not 0",
            id="SLO of nothing",
        ),
        pytest.param(
            GOOD + "prices: {input: 1}\n",
            ":13: prices.output: is required",
            id="half a price",
        ),
        pytest.param(
            GOOD + "prices: {input: -1, output: 1}\n",
            ":13: prices.input: must be at least 0, not -1",
            id="negative price",
        ),
        pytest.param(
            GOOD + "prices: {input: 1, output: 4, cached: 2}\n",
            ":13: prices.cached: must be at most 1, the price of input, not 2",
            id="cached above input",
        ),
        pytest.param(
            edited("usd: null", "usd: 1"),
            ":12: budget.usd: cannot be kept: no price of qwen3-32b is known; give the target prices: {input: …,"
            " output: …} in usd per million tokens",
            id="money without a price",
        ),
        pytest.param(
            edited("connect_to:", "client_key: {env: K}, connect_to:"),
            ":10: routes.origin.client_key: goes with a client_cert",
            id="key without its certificate",
        ),
        pytest.param(
            edited("connect_to:", "client_cert: /etc/cert.pem, connect_to:"),
            ":10: routes.origin.client_cert: must be a mapping, not '/etc/cert.pem'",
            id="certificate's path",
        ),
        pytest.param(
            edited(URL, "api.example.com/v1"), f":9: routes.edge.base_url: {BAD_URL}", id="no scheme"
        ),
        pytest.param(edited(URL, "ftp://a.example/v1"), f":9: routes.edge.base_url: {BAD_URL}", id="ftp"),
        pytest.param(edited(URL, '"https:///v1"'), f":9: routes.edge.base_url: {BAD_URL}", id="no host"),
        pytest.param(
            edited(URL, '"https://a:99999/v1"'), f":9: routes.edge.base_url: {BAD_URL}", id="bad port"
        ),
        pytest.param(edited(URL, '"https://a b/v1"'), f":9: routes.edge.base_url: {BAD_URL}", id="blank"),
        pytest.param(
            edited(URL, '"https://a.example/v1?x=1"'),
            ":9: routes.edge.base_url: must end with its path: no query, no fragment",
            id="query",
        ),
        pytest.param(
            edited(URL, '"https://a.example/v1#x"'),
            ":9: routes.edge.base_url: must end with its path: no query, no fragment",
            id="fragment",
        ),
        pytest.param(
            edited(URL, '"https://me@a.example/v1"'),
            ":9: routes.edge.base_url: holds a user name or password; secrets live in the environment",
            id="user in URL",
        ),
        pytest.param(
            edited(URL, '"https://me:hush@a.example/v1"'),
            f":9: routes.edge.base_url: {SECRET}",
            id="password",
        ),
        pytest.param(
            edited(ORIGIN, "connect_to: 10.0.0.5"),
            ":10: routes.origin.connect_to: must be HOST:PORT, such as 10.0.0.5:443 or [2001:db8::1]:443",
            id="no port",
        ),
        pytest.param(
            edited(ORIGIN, 'connect_to: "2001:db8::1:443"'),
            ":10: routes.origin.connect_to: must be HOST:PORT, such as 10.0.0.5:443 or [2001:db8::1]:443",
            id="IPv6 without brackets",
        ),
        pytest.param(
            edited(ORIGIN, ORIGIN + ", proxy: 'http://p:3128'"),
            ":10: routes.origin.connect_to: cannot be had together with proxy, which does the dialling",
            id="connect_to and proxy",
        ),
        pytest.param(
            edited(ORIGIN, ORIGIN + ", family: 6"),
            ":10: routes.origin.family: 10.0.0.5 is an IPv4 address",
            id="an address of the other family",
        ),
        pytest.param(
            edited(ORIGIN, "family: 5"),
            ":10: routes.origin.family: 5 is not valid; valid: 4 or 6",
            id="no family",
        ),
        pytest.param(
            edited(ORIGIN, "family: 4, proxy: 'http://p:3128'"),
            ":10: routes.origin.family: cannot be had together with proxy, which does the dialling",
            id="family and proxy",
        ),
        pytest.param(
            edited(ORIGIN, "http_version: 2"),
            ":10: routes.origin.http_version: must be text, not 2; put it in quotes",
            id="a version that is a number",
        ),
        pytest.param(
            edited(ORIGIN, "proxy: 'http://me@p:3128'"),
            ":10: routes.origin.proxy: holds a user name or password; secrets live in the environment (HTTPS_PROXY)",
            id="user in proxy",
        ),
        pytest.param(
            edited("{env: BYPASS}", "hunter2"),
            ":10: routes.origin.headers.X-Bypass: must be {env: VARIABLE}: secrets live in the environment",
            id="literal header",
        ),
        pytest.param(
            edited("{env: BYPASS}", "{env: not-a-name}"),
            f":10: routes.origin.headers.X-Bypass.env: {BAD_ENV}",
            id="no variable name",
        ),
        pytest.param(
            edited("{X-Bypass:", '{"X Bypass":'),
            ":10: routes.origin.headers.X Bypass: is not the name of an HTTP header",
            id="header name",
        ),
        pytest.param(edited("PROD_KEY", LITERAL), f":5: key_env: {SECRET}", id="literal key"),
        pytest.param(edited("PROD_KEY", "tell-nobody"), f":5: key_env: {BAD_ENV}", id="key_env no variable"),
        pytest.param(
            edited("api: openai", f"api: {LITERAL}"), f":3: api: {SECRET}", id="key in a wrong place"
        ),
        pytest.param(f"{GOOD}# was {LITERAL}\n", f":13: {SECRET}", id="key in a comment"),
        pytest.param(
            edited("api: openai", "api: opnai"),
            ":3: api: 'opnai' is not valid; did you mean openai?",
            id="api",
        ),
        pytest.param(
            edited("[chat]", "[chat, chats]"),
            ":6: endpoints[1]: 'chats' is no endpoint of the openai API; did you mean chat?",
            id="endpoint",
        ),
        pytest.param(
            edited("concurrency: 2", "concurrency: 0"),
            ":11: limits.concurrency: must be above 0, not 0",
            id="0",
        ),
        pytest.param(
            edited("concurrency: 2", f"concurrency: {10**23}"),
            ":11: limits.concurrency: must be at most 1000",
            id="absurd",
        ),
        pytest.param(
            edited("concurrency: 2", "deadline: .inf"),
            ":11: limits.deadline: must be at most 7200",
            id="inf",
        ),
        pytest.param(
            edited("tokens: 20000", "tokens: -1"), ":12: budget.tokens: must be at least 0, not -1", id="-1"
        ),
        pytest.param(
            edited("usd: null", "usd: one"),
            ":12: budget.usd: must be a number, not 'one'",
            id="budget is text",
        ),
        pytest.param(
            GOOD[: GOOD.index("routes:")] + "routes: {}\n",
            ":8: routes: is empty; the customers' way in is `edge: {base_url: …}`",
            id="no routes",
        ),
        pytest.param(GOOD[: GOOD.index("routes:")], ":1: routes: is required", id="routes missing"),
        pytest.param(
            GOOD[: GOOD.index("routes:")] + "routes: [a]\n",
            ":8: routes: must be a mapping, not a list",
            id="routes a list",
        ),
        pytest.param(
            edited("name: prod", "name: a/b"),
            ":2: name: must be letters, digits, dots, dashes and underscores",
            id="name",
        ),
    ],
)
def test_a_bad_target_file(here, text, message):
    """Each mistake is answered by path, line, key and what to do, and no message repeats a secret."""
    path = target_file(text)
    with pytest.raises(UsageError) as caught:
        config.load_target("prod")
    assert str(caught.value) == f"{path}{message}"
    assert not any(secret in str(caught.value) for secret in (LITERAL, "hunter2", "hush", "tell-nobody"))


def test_which_target_is_meant_without_a_name(here):
    """The only file, else the operator is told what there is."""
    with pytest.raises(
        UsageError,
        match=r"no target: ./configs/targets holds none; make one with `edgeprobe init`, or name the API by --base-url",
    ):
        config.load_target()
    target_file(GOOD)
    assert config.load_target().name == "prod"
    target_file(GOOD, "staging")
    with pytest.raises(
        UsageError, match=r"which target\? say --target NAME; ./configs/targets holds prod, staging"
    ):
        config.load_target()
    with pytest.raises(UsageError, match=r"target 'stagin' is not known; did you mean staging\?"):
        config.load_target("stagin")
    with pytest.raises(UsageError, match=r"target x/y.yaml: no such file"):
        config.load_target("x/y.yaml")


# --- flags -----------------------------------------------------------------------------------------------


def test_a_target_from_flags():
    """`--base-url` is edge, `--connect-to` adds origin, `--route` others; a proxy is not for the address dialled."""
    target = config.target_from_flags(
        "https://api.example.com/v1/",
        "openai",
        "m",
        routes={"eu": "https://eu.example.com/v1"},
        connect_to="[2001:db8::1]:443",
        proxy="http://proxy:3128",
        env_proxy=False,
        headers={"X-A": "VAR"},
        owned=True,
        vantage="fra",
    )
    common = {"env_proxy": False, "headers": {"X-A": EnvRef("VAR")}}
    assert target == Target(
        name="api.example.com",
        api="openai",
        model="m",
        key_env="OPENAI_API_KEY",
        owned=True,
        vantage="fra",
        routes={
            "edge": Route("edge", "https://api.example.com/v1", proxy="http://proxy:3128", **common),
            "eu": Route("eu", "https://eu.example.com/v1", proxy="http://proxy:3128", **common),
            "origin": Route("origin", "https://api.example.com/v1", "[2001:db8::1]:443", **common),
        },
    )


@pytest.mark.parametrize(
    ("flags", "key_env"),
    [
        pytest.param({"api": "anthropic"}, "ANTHROPIC_API_KEY", id="the dialect's own"),
        pytest.param({"key_env": "MINE"}, "MINE", id="named"),
        pytest.param({"no_key": True}, None, id="keyless"),
    ],
)
def test_which_key(flags, key_env):
    """The variable is the dialect's usual one unless said otherwise."""
    api = flags.pop("api", "openai")
    assert config.target_from_flags("http://localhost:8000/v1", api, "m", **flags).key_env == key_env


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param({"base_url": "localhost:8000"}, f"--base-url: {BAD_URL}", id="no scheme"),
        pytest.param(
            {"base_url": "https://a:hush@b/v1"},
            "--base-url: holds a user name or password; secrets live in the environment",
            id="password",
        ),
        pytest.param({"base_url": "https://[::1"}, f"--base-url: {BAD_URL}", id="broken IPv6"),
        pytest.param({"api": "opena"}, "--api: 'opena' is not valid; did you mean openai?", id="api"),
        pytest.param({"model": " "}, "--model: is empty", id="model"),
        pytest.param({"key_env": LITERAL}, f"--key-env: {BAD_ENV}", id="literal key"),
        pytest.param(
            {"key_env": "A", "no_key": True}, "--key-env and --no-key exclude each other", id="both"
        ),
        pytest.param({"routes": {"eu": "eu"}}, f"--route eu: {BAD_URL}", id="route"),
        pytest.param(
            {"routes": {"edge": "http://b/v1"}}, "--route edge: that route is --base-url", id="edge twice"
        ),
        pytest.param(
            {"routes": {"origin": "http://b/v1"}, "connect_to": "a:1"},
            "--connect-to: it adds the route origin, which --route already names",
            id="origin twice",
        ),
        pytest.param(
            {"connect_to": "a"},
            "--connect-to: must be HOST:PORT, such as 10.0.0.5:443 or [2001:db8::1]:443",
            id="address",
        ),
        pytest.param(
            {"proxy": "proxy:3128"},
            "--proxy: must be an absolute http or https URL, such as http://proxy.example.com:3128",
            id="proxy",
        ),
        pytest.param({"headers": {"X-A": "a b"}}, f"--header X-A: {BAD_ENV}", id="header"),
        pytest.param(
            {"endpoints": ["message"]},
            "--endpoint: 'message' is no endpoint of the openai API; valid: chat, models, responses",
            id="endpoint",
        ),
    ],
)
def test_bad_flags(flags, message):
    """The message names the flag and never repeats a secret."""
    given = {"base_url": "https://api.example.com/v1", "api": "openai", "model": "m", **flags}
    with pytest.raises(UsageError) as caught:
        config.target_from_flags(**given)
    assert str(caught.value) == message


def test_assignments():
    """`NAME=VALUE` flags become a mapping; only the first `=` counts."""
    assert config.assignments("--route", ["a=http://x/?q=1", "b=c"], "NAME=URL") == {
        "a": "http://x/?q=1",
        "b": "c",
    }
    for bad in ("a", "=b", "a="):
        with pytest.raises(UsageError, match=r"^--route: write --route NAME=URL$"):
            config.assignments("--route", [bad], "NAME=URL")
    with pytest.raises(UsageError, match=r"^--route: a is given twice$"):
        config.assignments("--route", ["a=b", "a=c"], "NAME=URL")


@pytest.mark.parametrize(
    ("api", "declared", "tested"),
    [("openai", [], ("chat",)), ("anthropic", [], ("messages",)), ("openai", ["responses"], ("responses",))],
    ids=["openai", "anthropic", "declared"],
)
def test_endpoints(api, declared, tested):
    """Without a declaration the dialect's main endpoint is tested."""
    target = config.target_from_flags("http://a/v1", api, "m", endpoints=declared)
    assert config.endpoints(target) == tested
    assert target.endpoints == tuple(declared)


# --- secrets ---------------------------------------------------------------------------------------------


def test_secrets_are_read_when_asked_for(here):
    """Key and headers come from the environment; a keyless target gets the placeholder."""
    target_file(GOOD)
    target = config.load_target("prod")
    environ = {
        "PROD_KEY": "sk-secret-value",
        "BYPASS": "letmein",
        "HTTPS_PROXY": "http://u:p%40ssword@proxy:1",
    }
    secrets = config.Secrets(environ)
    assert secrets.key(target) == "sk-secret-value"
    assert secrets.headers(target.routes["origin"]) == {"X-Bypass": "letmein"}
    assert secrets.headers(target.routes["edge"]) == {}
    assert (
        secrets.key(config.target_from_flags("http://a/v1", "openai", "m", no_key=True)) == config.PLACEHOLDER
    )
    assert set(secrets.values(target)) == {"sk-secret-value", "letmein", "p%40ssword", "p@ssword"}
    assert "secret" not in repr(secrets)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        pytest.param({}, "PROD_KEY is not set: it holds the key of target prod; set it", id="unset"),
        pytest.param(
            {"PROD_KEY": ""}, "PROD_KEY is empty: it holds the key of target prod; set it", id="empty"
        ),
        pytest.param({"PROD_KEY": "k\n"}, "PROD_KEY has blanks or line breaks", id="line break"),
        pytest.param({"PROD_KEY": "schlüssel"}, "PROD_KEY has blanks or line breaks", id="not ASCII"),
    ],
)
def test_a_secret_that_cannot_be_had(here, environ, said):
    """The message names the variable and who wants it, not the value."""
    target_file(GOOD)
    target = config.load_target("prod")
    secrets = config.Secrets(environ)
    assert secrets.values(target) == tuple(filter(None, environ.values()))
    with pytest.raises(UsageError, match=f"^{said}"):
        secrets.key(target)
    with pytest.raises(
        UsageError, match=r"^BYPASS is not set: it holds the header X-Bypass of route origin; set it$"
    ):
        secrets.headers(target.routes["origin"])


def test_a_made_up_key_has_the_dialects_shape():
    """Plainly fake, in the vendor's shape, the same for the same salt."""
    assert config.made_up_key("openai").startswith("sk-EdgeprobeMadeUpKey")
    assert len(config.made_up_key("openai")) == 51
    assert config.made_up_key("anthropic").startswith("sk-ant-api03-EdgeprobeMadeUpKey")
    assert config.made_up_key("anthropic").endswith("AA")
    assert len(config.made_up_key("anthropic")) == 108
    assert (
        config.made_up_key("openai", "a")
        == config.made_up_key("openai", "a")
        != config.made_up_key("openai", "b")
    )


# --- clients ---------------------------------------------------------------------------------------------


def test_the_bundled_clients(here):
    """Names, kinds and APIs of the genuine ways to send, and that the others are emulated."""
    known = config.clients().values()
    rows = [(c.name, c.kind, c.mode, c.api, c.edits) for c in known if c.genuine and c.package is None]
    assert rows == [
        ("openai-py", "openai_sdk", "sync", "openai", True),
        ("openai-py-async", "openai_sdk", "async", "openai", True),
        ("openai-py-aiohttp", "openai_sdk", "aiohttp", "openai", True),
        ("anthropic-py", "anthropic_sdk", "sync", "anthropic", True),
        ("anthropic-py-async", "anthropic_sdk", "async", "anthropic", True),
        ("anthropic-py-aiohttp", "anthropic_sdk", "aiohttp", "anthropic", True),
        ("httpx", "raw_httpx", "sync", None, True),
        ("curl", "curl", "sync", None, True),
        ("curl-h2", "curl", "h2", None, True),
        ("aiohttp-py", "raw_aiohttp", "sync", None, True),
        ("node", "raw_node", "sync", None, True),
    ]
    apart = {(c.name, c.kind, c.api) for c in known if c.package is not None}
    assert {("openai==0.28.1", "isolated", "openai"), ("npm:ai@7.*", "node_sdk", None)} <= apart
    assert {c.kind for c in known if not c.genuine} == {"emulated"}


def test_every_kind_of_client_has_its_modes():
    """What a row may say is what there is a sender for; the dialer asks nothing and is no client of a row."""
    assert client_rules.MODES.keys() == clients.KINDS.keys() - {"dialer"}
    for kind, modes in client_rules.MODES.items():
        for mode in modes:
            package = next(iter(PACKAGES.get(kind, {})), None)
            assert clients.unavailable(Client("x", kind, mode=mode, package=package, version="1.*")) is None


EMULATED = (
    "kind: emulated, genuine: false, source: seen, headers: "
    "[[Host, '{host}'], [Content-Length, '{length}'], [Authorization, 'Bearer {key}']]"
)
BAD_ROWS = {
    "no source": (
        EMULATED.replace("source: seen, ", ""),
        (
            "clients.x.source: is missing: say where these headers were seen, repository and version, or how they "
            "were captured"
        ),
    ),
    "genuine": (
        EMULATED.replace("false", "true"),
        "clients.x.genuine: must be false: only the headers of an emulated client are its own",
    ),
    "no host": (
        EMULATED.replace("[Host, '{host}'], ", ""),
        "clients.x.headers: must hold host with the value {host}",
    ),
    "a length of its own": (
        EMULATED.replace("{length}", "12"),
        "clients.x.headers: must hold content-length with the value {length}",
    ),
    "no key": (
        EMULATED.replace("{key}", "sk"),
        "clients.x.headers: must hold {key} in the header that carries the key",
    ),
    "no authorization": (
        EMULATED.replace("Authorization", "x-api-key"),
        "clients.x.headers: must hold authorization: a client of both dialects has it replaced for anthropic",
    ),
    "an SDK that is not genuine": (
        "kind: openai_sdk, genuine: false",
        "clients.x.genuine: only a client of the kind emulated is not genuine",
    ),
    "headers of a genuine client": (
        "kind: curl, source: seen",
        "clients.x.source: goes with the kind emulated; a genuine client sends its own",
    ),
    "a kind": ("kind: curll", "clients.x.kind: unknown kind 'curll'; did you mean curl?"),
    "a package of a client that has none": (
        "kind: curl, package: openai",
        "clients.x.package: goes with the kinds isolated and node_sdk",
    ),
    "an SDK that is not known": (
        "kind: isolated, package: httpx, version: '1.*'",
        "clients.x.package: must be one of openai, anthropic",
    ),
    "a range of versions": (
        "kind: node_sdk, package: openai, version: '>=4'",
        "clients.x.version: must be one version (1.40.0) or the newest of a line (1.*)",
    ),
    "a mode": ("kind: curl, mode: async", "clients.x.mode: curl has no mode 'async'; it has sync, h2"),
}


@pytest.mark.parametrize(("row", "said"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_client_row_that_cannot_be_is_refused(here, row, said):
    """With its line, its key and what it must be."""
    Path("configs/clients.yaml").write_text(f"version: 1\nclients:\n  x: {{{row}}}\n")
    with pytest.raises(UsageError) as caught:
        config.clients()
    assert str(caught.value) == f"configs/clients.yaml:3: {said}"


def test_a_good_row_of_an_emulated_client(here):
    """Its headers are pairs, in their order."""
    Path("configs/clients.yaml").write_text(f"version: 1\nclients:\n  x: {{{EMULATED}}}\n")
    assert config.clients()["x"].headers[0] == ("Host", "{host}")


def test_a_client_row_is_read_strictly(here):
    """A misspelt key of a row is refused."""
    Path("configs/clients.yaml").write_text("version: 1\nclients:\n  x: {kind: curl, genuin: true}\n")
    with pytest.raises(
        UsageError, match=r"^configs/clients.yaml:3: clients.x.genuin: unknown key; did you mean genuine\?$"
    ):
        config.clients()


CLIENTS = """\
version: 1
clients:
  openai-py: {kind: openai_sdk, api: openai}
  anthropic-py: {kind: anthropic_sdk, api: anthropic}
  curl: {kind: curl}
  litellm: {kind: emulated, genuine: false, source: seen, headers: [
    [Host, "{host}"], [Content-Length, "{length}"], [Authorization, "Bearer {key}"]]}
"""


@pytest.mark.parametrize(
    ("api", "spec", "names"),
    [
        ("openai", "all", ["openai-py", "curl", "litellm"]),
        ("openai", "genuine", ["openai-py", "curl"]),
        ("anthropic", "genuine", ["anthropic-py", "curl"]),
        ("openai", "curl", ["curl"]),
        ("openai", ["curl", "anthropic-py", "openai-py", "curl"], ["curl", "openai-py"]),
    ],
    ids=["all", "genuine", "genuine of anthropic", "one", "named"],
)
def test_select(here, api, spec, names):
    """An SDK is used on targets of its own API only."""
    Path("configs/clients.yaml").write_text(CLIENTS)
    target = config.target_from_flags("http://a/v1", api, "m")
    assert [client.name for client in config.select(config.clients(), spec, target)] == names


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("genuin", "client 'genuin' is not known; did you mean genuine?"),
        (["curl", "openai"], "client 'openai' is not known; did you mean openai-py?"),
    ],
    ids=["word", "name"],
)
def test_select_an_unknown_name(here, spec, said):
    """The nearest valid name is offered."""
    target = config.target_from_flags("http://a/v1", "openai", "m")
    with pytest.raises(UsageError) as caught:
        config.select(config.clients(), spec, target)
    assert str(caught.value) == said


def test_a_local_file_hides_the_bundled_one(here):
    """The look-up prefers what lies where the user stands, and says its path as the user would."""
    assert bundled.names("configs/targets")["example"] == bundled.bundled(
        "configs", "targets", "example.yaml"
    )
    local = target_file(GOOD, "example")
    assert bundled.find("example", "configs/targets", "target") == local
