"""`edgeprobe validate`, `edgeprobe init` and the schemas for editors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probes import bundled, classify, schemas, signatures
from probes.classify.pages import pages
from probes.suite import load_suite

TARGET = "version: 1\nname: t\napi: openai\nmodel: m\nkey_env: A_KEY\nroutes:\n  edge:\n    base_url: https://a.example/v1\n"
SUITE = "version: 1\nname: mine\ncases:\n  - {kind: completion}\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of files, where the user stands: path → text."""
    monkeypatch.chdir(tmp_path)

    def files(**texts: str) -> Path:
        for name, text in texts.items():
            folder = Path("suites" if name.startswith("suite") else "configs/targets")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.yaml").write_text(text)
        return tmp_path

    return files


def test_what_came_with_the_package_is_valid(edgeprobe, here):
    """Every file, and the message says how much was read."""
    here()
    said = edgeprobe("validate", "--env")
    assert (said.code, said.err) == (0, "")
    for what in (
        "targets",
        "suites",
        "clients",
        "signatures",
        "finding codes",
        "timers",
        "prices",
        "lab faults",
        "copied pages",
    ):
        assert f" {what}" in said.out


MISTAKES = {
    "target": (
        {"prod": TARGET.replace("base_url", "base_ur")},
        (),
        ["configs/targets/prod.yaml:8: routes.edge.base_ur: unknown key; did you mean base_url?"],
    ),
    "suite": (
        {"suite-a": SUITE.replace("completion", "completoin")},
        (),
        ["suites/suite-a.yaml:4: cases[0].kind: unknown kind 'completoin'; did you mean completion?"],
    ),
    "a suite's client": (
        {"suite-a": SUITE.replace("}", ", clients: crul}"), "prod": TARGET},
        (),
        ["suites/suite-a.yaml:4: cases[0].clients: client 'crul' is not known; did you mean curl?"],
    ),
    "several files": (
        {"a": TARGET.replace("openai", "opnai"), "b": TARGET + "x: 1\n", "suite-c": "version: 2\n"},
        (),
        ["configs/targets/a.yaml:3: api", "configs/targets/b.yaml:9: x", "suites/suite-c.yaml:1: version"],
    ),
    "only what is asked for": (
        {"a": TARGET.replace("openai", "opnai"), "b": TARGET + "x: 1\n", "suite-c": "version: 2\n"},
        ("smoke", "--target", "b"),
        ["configs/targets/b.yaml:9: x: unknown key"],
    ),
    "unknown target": ({"prod": TARGET}, ("--target", "prd"), ["target 'prd' is not known; did you mean prod?"]),
    "unknown suite": ({}, ("smok",), ["suite 'smok' is not known; did you mean smoke?"]),
    "unset key": (
        {"prod": TARGET},
        ("--env",),
        ["configs/targets/prod.yaml:5: key_env: A_KEY is not set: it holds the key of target t"],
    ),
    "unset header and certificate": (
        {"prod": TARGET.replace("A_KEY", "null") + "    headers: {X-A: {env: A_HEADER}}\n    client_cert: {env: A_CERT}\n"},
        ("--env",),
        [
            "configs/targets/prod.yaml:9: routes.edge.headers: A_HEADER is not set",
            "configs/targets/prod.yaml:10: routes.edge.client_cert: A_CERT is not set",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "arguments", "problems"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_wrong(edgeprobe, here, files, arguments, problems):
    """Each file's first mistake on a line of its own, with path, line and key; exit code 2."""
    here(**files)
    said = edgeprobe("validate", *arguments)
    lines = said.err.splitlines()
    assert (said.code, said.out, len(lines)) == (2, "", len(problems)), said.err
    for line, problem in zip(lines, problems, strict=True):
        assert line.startswith(problem)


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("clients", "kind: curl", "knd: curl"),
        ("findings", "retryable", "retriable"),
        ("timers", "tolerance", "tolerence"),
        ("prices", "checked:", "cheked:"),
        ("replies", "retry:", "retries:"),
        ("rules", "products:", "product:"),
        ("pasted", "signature:", "signatur:"),
    ],
)
def test_the_tables_are_read_too(edgeprobe, here, table, old, new):
    """A local one in place of the bundled."""
    here()
    text = bundled.bundled("configs", f"{table}.yaml").read_text("utf-8")
    Path("configs").mkdir()
    # The last one: comments stand above.
    at = text.rindex(old)
    Path(f"configs/{table}.yaml").write_text(text[:at] + new + text[at + len(old) :], "utf-8")
    said = edgeprobe("validate", "smoke")
    assert said.code == 2
    assert f"configs/{table}.yaml:" in said.err
    assert "unknown key; did you mean" in said.err


def test_an_acceptance_that_has_expired_is_noted(edgeprobe, here):
    """It is no mistake of the file, and runs will warn of it."""
    held = "accepted:\n- {code: blocked.client, reason: x, until: 2099-01-01}\n"
    here(prod=TARGET + held + "- {code: body.html, reason: x, until: 2025-03-01}\n")
    said = edgeprobe("validate")
    assert said.code == 0
    [note] = [line for line in said.out.splitlines() if line.startswith("note")]
    line = len((TARGET + held).splitlines()) + 1
    assert f"configs/targets/prod.yaml:{line}: accepted[1]: has expired on 2025-03-01" in note
    assert "ok       1 target," in said.out


def test_variables_that_are_set(edgeprobe, here, monkeypatch):
    """Are found so; without --env nobody asks."""
    here(prod=TARGET)
    assert edgeprobe("validate").code == 0
    monkeypatch.setenv("A_KEY", "x")
    assert edgeprobe("validate", "--env").code == 0


# --- init ------------------------------------------------------------------------------------------------


def test_the_starter_set(edgeprobe, here, monkeypatch):
    """What init writes is valid, is what plan takes without a flag, and says what to do next."""
    here()
    said = edgeprobe("init")
    assert said.code == 0
    for path in (
        "configs/targets/prod.yaml",
        "suites/smoke.yaml",
        "configs/canary.yaml",
        "configs/schemas/target.json",
    ):
        assert f"wrote    {path}" in said.out
    assert "edgeprobe validate" in said.out
    assert edgeprobe("validate").code == 0
    assert "prod (openai" in edgeprobe("plan", "smoke").out
    assert load_suite("smoke").rows == load_suite(str(bundled.bundled("suites", "smoke.yaml"))).rows


def test_init_never_overwrites(edgeprobe, here):
    """What is there stays as it is, and the rest is added."""
    here(prod="mine\n")
    said = edgeprobe("init")
    assert said.code == 0
    assert Path("configs/targets/prod.yaml").read_text() == "mine\n"
    assert "kept     configs/targets/prod.yaml" in said.out
    assert "wrote    suites/smoke.yaml" in said.out


def test_init_elsewhere(edgeprobe, here):
    """In a folder that is made, with the way there."""
    here()
    said = edgeprobe("init", "new/place")
    assert said.code == 0
    assert Path("new/place/configs/targets/prod.yaml").is_file()
    assert "cd new/place" in said.out


def test_init_where_a_file_is_in_the_way(edgeprobe, here):
    """A file that stands where a folder is needed is left alone."""
    here()
    Path("configs").write_text("mine")
    said = edgeprobe("init")
    assert said.code == 2
    assert "configs" in said.err
    assert Path("configs").read_text() == "mine"


def test_the_starter_target_shows_keys_that_exist(edgeprobe, here):
    """Its comments are valid once they are no longer comments."""
    here()
    edgeprobe("init")
    path = Path("configs/targets/prod.yaml")
    lines = path.read_text().splitlines()
    start = lines.index("version: 1")
    awake = [line if n < start else line.replace("# ", "", 1) if line.lstrip().startswith("#") else line
             for n, line in enumerate(lines)]  # fmt: skip
    path.write_text("\n".join(awake) + "\n")
    said = edgeprobe("validate", "--target", "prod")
    assert said.code == 0, said.err


# --- schemas ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_shipped_schemas_are_current(edgeprobe, name):
    """`edgeprobe validate --schema NAME > configs/schemas/NAME.json` makes them so."""
    shipped = bundled.bundled("configs", "schemas", f"{name}.json").read_text("utf-8")
    assert shipped == edgeprobe("validate", "--schema", name).out == schemas.text(name)


def objects(schema: dict) -> list[dict]:
    return [part for part in (schema, *schema["$defs"].values()) if "enum" not in part]


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_schemas_refuse_what_the_reader_refuses(name):
    """Unknown keys and another version; a route has no name but its key."""
    schema = schemas.SCHEMAS[name]()
    assert all(part["additionalProperties"] is False for part in objects(schema))
    assert schema["properties"]["version"] == {"const": 1}
    assert "version" in schema["required"]
    assert "name" not in schema["$defs"].get("Route", {"properties": {}})["properties"]


def test_schemas_say_what_each_key_of_a_target_is(here):
    """Every key at the top and of a route is described, and no key that is not there."""
    schema = schemas.target_schema()
    for part in (schema, schema["$defs"]["Route"]):
        silent = {key for key, value in part["properties"].items() if "description" not in value}
        assert silent <= {"version"}
    described = {key for about in schemas.ABOUT.values() for key in about}
    everywhere = [*objects(schema), *objects(schemas.suite_schema()), *objects(schemas.canary_schema())]
    assert described <= {key for part in everywhere for key in part["properties"]}


def test_the_starter_names_schemas_that_are_there(edgeprobe, here):
    """Editors find them by the first line."""
    folder = here()
    edgeprobe("init")
    for name in ("configs/targets/prod.yaml", "suites/smoke.yaml", "configs/canary.yaml"):
        first = (folder / name).read_text().splitlines()[0]
        schema = (folder / name).parent / first.partition("$schema=")[2]
        assert json.loads(schema.read_text())["additionalProperties"] is False


# --- what classify reads ---------------------------------------------------------------------------------

COPIED = "400 Bad Request\nnginx/1.22.1\n"
OTHER = "502 Bad Gateway\nnginx/1.22.1\n"


@pytest.fixture
def of_ones_own(tmp_path, monkeypatch):
    """A copy of nginx.yaml where the user stands, with one signature under another name; nothing read before."""
    monkeypatch.chdir(tmp_path)
    caches = (signatures.catalogue, pages, classify._judge)
    for one in caches:
        one.cache_clear()
    text = bundled.bundled("configs", "signatures", "nginx.yaml").read_text("utf-8")
    assert text.count("id: nginx.400\n") == 1
    Path("configs/signatures").mkdir(parents=True)
    Path("configs/signatures/nginx.yaml").write_text(text.replace("id: nginx.400\n", "id: nginx.mine\n"))
    Path("pasted.txt").write_text(OTHER)
    yield
    for one in caches:
        one.cache_clear()


def test_a_signature_file_of_ones_own_breaks_no_classify(edgeprobe, of_ones_own):
    """What it no longer has is not known as a copied page, and validate says so; all else is."""
    said = edgeprobe("validate")
    note = "note     configs/signatures/nginx.yaml: has no nginx.400: such a page is not known where it is pasted as text"
    assert (said.code, said.out.splitlines()[0]) == (0, note)
    assert "edge | nginx" in edgeprobe("classify", "pasted.txt").out
    Path("pasted.txt").write_text(COPIED)
    assert "nginx" not in edgeprobe("classify", "pasted.txt").out


def test_validate_refuses_what_classify_refuses(edgeprobe, of_ones_own):
    """Copied pages of one's own that name a signature which is not there: both files are the user's and named."""
    Path("configs/pasted.yaml").write_text(bundled.bundled("configs", "pasted.yaml").read_text("utf-8"))
    problem = "signature: no signature 'nginx.400'; configs/signatures/nginx.yaml has none of that name"
    for words in (("validate",), ("classify", "pasted.txt")):
        said = edgeprobe(*words)
        assert said.code == 2
        assert problem in said.err
        assert "configs/pasted.yaml:" in said.err
