"""Suites: which cases they give, under which ids, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes import bundled, config, suite
from probes.errors import UsageError
from probes.model import Client, Skipped

KINDS = {
    "identity": {"repeats": 3, "name": "x", "rounds": [1, 2]},
    "completion": {},
    "length": {"hold": 130.0, "any": None, "fast": False},
}
CLIENTS = {
    c.name: c
    for c in (
        Client("openai-py", "openai_sdk", "openai"),
        Client("anthropic-py", "anthropic_sdk", "anthropic"),
        Client("curl", "curl"),
        Client("litellm", "raw_httpx", genuine=False),
    )
}
TARGET = config.target_from_flags(
    "https://a.example/v1", "openai", "m", routes={"eu": "https://eu.example/v1"}
)


@pytest.fixture
def built(tmp_path):
    """Rows of a suite → its cases and what was skipped."""

    def build(rows, seed=1, target=TARGET, **more):
        path = tmp_path / "s.yaml"
        path.write_text(f"version: 1\nname: s\ncases:\n{rows}", "utf-8")
        return suite.cases(suite.load_suite(str(path)), target, seed, kinds=KINDS, clients=CLIENTS, **more)

    return build


@pytest.mark.parametrize("name", ["identity", "smoke", "long", "demo"])
def test_the_bundled_suites(name, tmp_path, monkeypatch):
    """Each that ships loads, fits the kinds there are, and has a case for either API."""
    monkeypatch.chdir(tmp_path)
    loaded = suite.load_suite(name)
    assert loaded.name == name
    assert loaded.path == bundled.bundled("suites", f"{name}.yaml")
    for api in ("openai", "anthropic"):
        cases, skipped = suite.cases(loaded, config.target_from_flags("http://a/v1", api, "m"), 1)
        assert cases
        assert not skipped


def test_a_case(built):
    """Id, client rows, defaults under what the row says, and the customers' route."""
    cases, skipped = built("  - {kind: identity, clients: all, with: {repeats: 5, name: a/b c}}\n")
    (case,) = cases
    assert case.id == "s/identity/name=a%2Fb%20c/repeats=5"
    assert (case.suite, case.kind, case.route, case.target) == ("s", "identity", "edge", TARGET)
    assert [client.name for client in case.clients] == ["openai-py", "curl", "litellm"]
    assert case.params == {"repeats": 5, "name": "a/b c", "rounds": [1, 2]}
    assert skipped == []


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("{kind: completion}", "s/completion"),
        ("{kind: completion, route: eu}", "s/completion/route=eu"),
        ("{kind: length, with: {hold: 130, fast: true}}", "s/length/fast=true/hold=130"),
        ("{kind: length, with: {hold: 1.5}}", "s/length/hold=1.5"),
        ("{kind: identity, with: {rounds: [1, 20]}}", "s/identity/rounds=1,20"),
    ],
    ids=["bare", "route", "bool and whole number", "fraction", "list"],
)
def test_ids_are_readable(built, row, name):
    """`suite/kind[/key=value…]`, keys sorted, values as one would write them."""
    assert built(f"  - {row}\n")[0][0].id == name


def test_the_generator_depends_on_seed_and_id_alone(built):
    """The same in every process, another for another seed or case."""
    rows = "  - {kind: completion}\n  - {kind: identity}\n"
    first, second = built(rows)[0]
    again = built(rows)[0][0]
    other = built(rows, seed=2)[0][0]
    drawn = first.rng.random()
    assert drawn == again.rng.random() == 0.4846923588409804
    assert len({drawn, second.rng.random(), other.rng.random()}) == 3


def test_set_overrides_every_case_that_has_the_parameter(built):
    """`--set` beats the row, is typed by the default and shows in the id."""
    cases, _ = built(
        "  - {kind: identity, with: {repeats: 5}}\n  - {kind: completion}\n  - {kind: length}\n",
        overrides={"repeats": "1", "rounds": "7,8", "fast": "true", "hold": "12"},
    )
    assert [case.id for case in cases] == [
        "s/identity/repeats=1/rounds=7,8",
        "s/completion",
        "s/length/fast=true/hold=12",
    ]
    assert cases[0].params["rounds"] == [7, 8]


REACHED = {
    "rows apart by it: those that say it": (
        "  - {kind: completion}\n  - {kind: identity}\n  - {kind: identity, with: {repeats: 5}}\n",
        "repeats",
        ["s/completion", "s/identity", "s/identity/repeats=9"],
    ),
    "rows apart by another one: all of them": (
        "  - {kind: identity, with: {repeats: 5}}\n  - {kind: identity, with: {name: b}}\n",
        "repeats",
        ["s/identity/repeats=9", "s/identity/name=b/repeats=9"],
    ),
    "rows of two routes: both": (
        "  - {kind: identity, with: {repeats: 5}}\n  - {kind: identity, route: eu}\n",
        "repeats",
        ["s/identity/repeats=9", "s/identity/repeats=9/route=eu"],
    ),
}


@pytest.mark.parametrize(("rows", "key", "ids"), REACHED.values(), ids=REACHED)
def test_set_reaches_the_rows_that_it_can_mean(built, rows, key, ids):
    """All, but where that would make one case of two: then those that say it themselves."""
    assert [case.id for case in built(rows, overrides={key: "9"})[0]] == ids


def test_set_that_makes_one_case_of_two_is_told_of_itself(built):
    """The file is right; its line would mislead."""
    rows = "  - {kind: identity, with: {repeats: 2}}\n  - {kind: identity, with: {repeats: 5}}\n"
    with pytest.raises(UsageError) as caught:
        built(rows, overrides={"repeats": "9"})
    assert str(caught.value) == "--set repeats: cases[0] and cases[1] of s would be the same"


# Each bundled suite: what `--set` reaches of it, by how many cases say it then.
BUNDLED = {
    "gate repeats": ("gate", "repeats", "200", ["gate/streaming/repeats=200"]),
    "streams deadline": (
        "streams",
        "deadline",
        "90",
        [
            *(f"streams/streaming/cap=256,deadline=90,patience={p},recipe={r}" for p, r in ((600, "count"), (60, "script"), (60, "tool"))),
            *(f"streams/{kind}/deadline=90" for kind in ("buffering", "lifetimes", "resumed")),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "key", "value", "ids"), BUNDLED.values(), ids=BUNDLED)
def test_set_of_the_bundled_suites(name, key, value, ids):
    """More samples for the gate, and one deadline for every long stream."""
    target = replace(TARGET, endpoints=("chat", "responses"))
    built, _ = suite.cases(suite.load_suite(name), target, 1, overrides={key: value})
    assert [c.id for c in built if f"{key}={value}" in c.id] == [each.replace(",", "/") for each in ids]


def test_set_route_is_for_every_case(built):
    """`--set route=NAME` beats the rows, and the ids say by which way was asked."""
    cases, skipped = built(
        "  - {kind: identity}\n  - {kind: completion, route: edge}\n", overrides={"route": "eu"}
    )
    assert [(case.id, case.route) for case in cases] == [
        ("s/identity/route=eu", "eu"),
        ("s/completion/route=eu", "eu"),
    ]
    assert skipped == []


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"route": "edeg"}, "--set route: route 'edeg' is not one of target a.example; did you mean edge?"),
        ({"repeat": "1"}, "--set repeat: no case of s has it; did you mean repeats?"),
        ({"hold": "1"}, "--set hold: no case of s has it; valid: name, repeats, rounds, route"),
        ({"repeats": "x"}, "--set repeats: must be a whole number, not 'x'"),
        ({"repeats": "1.5"}, "--set repeats: must be a whole number, not '1.5'"),
    ],
    ids=["a route misspelt", "misspelt", "of another kind", "text", "fraction"],
)
def test_bad_overrides(built, overrides, said):
    """A `--set` that fits nothing is a mistake, not ignored."""
    with pytest.raises(UsageError) as caught:
        built("  - {kind: identity}\n", overrides=overrides)
    assert str(caught.value) == said


OUTSIDE = [
    ("identity", "repeats", 0, "at least 1"),
    ("identity", "repeats", 10**30, "at most 20"),
    ("identity", "patience", 0, "at least 0.1"),
    ("completion", "cap", -1, "at least 1"),
    ("streaming", "cap", 0, "at least 1"),
    ("length", "tokens", 0, "at least 1"),
    ("length", "hold", 0, "at least 1"),
    ("length", "deadline", 0, "at least 0.1"),
    ("length", "deadline", ".nan", "at least 0.1"),
    ("length", "pairs", 0, "at least 1"),
    ("length", "speeds", "[0.1, -1]", "a list of numbers, each at least 0.0001"),
    ("length", "speeds", "[a]", "a list of numbers, each at least 0.0001"),
]


@pytest.mark.parametrize(
    ("kind", "key", "value", "said"), OUTSIDE, ids=[f"{k}={v}" for _, k, v, _ in OUTSIDE]
)
def test_a_parameter_that_would_ask_for_nothing_is_refused(tmp_path, kind, key, value, said):
    """In a file with its line, by `--set` with the flag: a case that sends nothing must not pass."""
    path = tmp_path / "s.yaml"
    path.write_text(f"version: 1\nname: s\ncases:\n  - {{kind: {kind}, with: {{{key}: {value}}}}}\n", "utf-8")
    with pytest.raises(UsageError) as in_file:
        suite.cases(suite.load_suite(str(path)), TARGET, 1)
    assert str(in_file.value).startswith(f"{path}:4: cases[0].with.{key}: must be {said}, not ")
    path.write_text(f"version: 1\nname: s\ncases:\n  - {{kind: {kind}}}\n", "utf-8")
    text = str(value).strip("[]")
    with pytest.raises(UsageError) as by_flag:
        suite.cases(suite.load_suite(str(path)), TARGET, 1, overrides={key: text})
    assert str(by_flag.value) == f"--set {key}: must be {said}, not {text}"


def test_every_number_has_limits_that_its_default_keeps():
    """A new parameter that is a number says what it may be."""
    for kind, spec in suite.KINDS.items():
        for key, default in spec.defaults.items():
            numbers = default if isinstance(default, list | tuple) else [default]
            if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
                least, most = spec.limits[key]
                assert all(least <= n <= most for n in numbers), (kind, key)
        assert spec.limits.keys() <= spec.defaults.keys()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        pytest.param("{kind: identiy}", "kind: unknown kind 'identiy'; did you mean identity?", id="kind"),
        pytest.param("{kind: identity, wiht: {}}", "wiht: unknown key; did you mean with?", id="key"),
        pytest.param(
            "{kind: length, twin: {factor: route}}",
            "twin: unknown key; valid: clients, kind, route, seconds, with",
            id="later",
        ),
        pytest.param(
            "{kind: identity, with: {repeat: 1}}",
            "with.repeat: unknown parameter of identity; did you mean repeats?",
            id="parameter",
        ),
        pytest.param(
            "{kind: identity, with: {repeats: three}}",
            "with.repeats: must be a whole number, not 'three'",
            id="type",
        ),
        pytest.param(
            "{kind: identity, with: {repeats: true}}",
            "with.repeats: must be a whole number, not True",
            id="true",
        ),
        pytest.param("{kind: identity, with: {rounds: 1}}", "with.rounds: must be a list, not 1", id="list"),
        pytest.param("{kind: identity, with: {name: 1}}", "with.name: must be text, not 1", id="text"),
        pytest.param(
            "{kind: length, with: {hold: true}}", "with.hold: must be a number, not True", id="number"
        ),
        pytest.param("{kind: length, with: {fast: 1}}", "with.fast: must be true or false, not 1", id="bool"),
        pytest.param(
            "{kind: identity, clients: genuin}",
            "clients: client 'genuin' is not known; did you mean genuine?",
            id="clients",
        ),
        pytest.param(
            "{kind: identity, clients: [crul]}",
            "clients: client 'crul' is not known; did you mean curl?",
            id="client",
        ),
        pytest.param(
            "{kind: completion, clients: curl}",
            "the same case as cases[0]; name all its clients in one row",
            id="twice",
        ),
    ],
)
def test_bad_rows(built, tmp_path, row, said):
    """Each mistake is answered by path, line, key and the nearest valid word."""
    with pytest.raises(UsageError) as caught:
        built(f"  - {{kind: completion}}\n  - {row}\n")
    key = "cases[1]: " if said.startswith("the same") else "cases[1]."
    assert str(caught.value) == f"{tmp_path}/s.yaml:5: {key}{said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: s\ncases: []\n", ":3: cases: is empty"),
        (
            "name: a/b\ncases: [{kind: x}]\n",
            ":2: name: must be letters, digits, dots, dashes and underscores",
        ),
        ("cases: [{kind: x}]\n", ":1: name: is required"),
    ],
    ids=["no cases", "slash in the name", "no name"],
)
def test_bad_suites(tmp_path, text, said):
    """What is wrong with the file as a whole."""
    path = tmp_path / "s.yaml"
    path.write_text(f"version: 1\n{text}")
    with pytest.raises(UsageError) as caught:
        suite.load_suite(str(path))
    assert str(caught.value) == f"{path}{said}"


def test_an_unknown_suite():
    """The nearest name is offered."""
    with pytest.raises(UsageError, match=r"^suite 'smok' is not known; did you mean smoke\?$"):
        suite.load_suite("smok")


def test_what_cannot_be_had_is_listed(built):
    """A foreign SDK, a route that is not there, a case without clients: skipped with the reason."""
    cases, skipped = built(
        "  - {kind: identity, clients: [anthropic-py, curl]}\n"
        "  - {kind: completion, route: origin}\n"
        "  - {kind: length, clients: anthropic-py}\n"
    )
    assert [case.id for case in cases] == ["s/identity"]
    assert skipped == [
        Skipped("s/identity", "anthropic-py", "speaks anthropic, the target openai"),
        Skipped("s/completion/route=origin", None, "route origin is not there"),
        Skipped("s/length", "anthropic-py", "speaks anthropic, the target openai"),
        Skipped("s/length", None, "none of its clients is left"),
    ]


def test_only_some_clients(built):
    """`--client` narrows what the rows select; a name nobody has is a mistake."""
    cases, skipped = built("  - {kind: identity}\n  - {kind: completion, clients: litellm}\n", only=["curl"])
    assert [[client.name for client in case.clients] for case in cases] == [["curl"]]
    assert skipped == [Skipped("s/completion", None, "none of its clients is left")]
    with pytest.raises(UsageError, match=r"^client 'crul' is not known; did you mean curl\?$"):
        built("  - {kind: identity}\n", only=["crul"])


def test_a_client_of_another_api_says_so(built):
    """Where only foreign SDKs were asked for by `--client`, the reason is that, not a mere absence."""
    cases, (skipped,) = built("  - {kind: identity}\n", only=["anthropic-py"])
    assert cases == []
    assert skipped == Skipped("s/identity", None, "anthropic-py speaks anthropic, the target openai")


def test_a_target_without_edge_uses_its_first_route(built):
    """A file may name its only route as it likes."""
    target = replace(TARGET, routes={"eu": TARGET.routes["eu"]})
    assert built("  - {kind: completion}\n", target=target)[0][0].route == "eu"
