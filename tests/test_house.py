"""The rules that the code keeps: which way imports point, how long things are, where exceptions are caught."""

from __future__ import annotations

import ast
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import probes

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(probes.__file__).parent
TESTS = Path(__file__).parent
ARCHITECTURE = TESTS.parent / "ARCHITECTURE.md"
MODULE_LINES, FUNCTION_LINES = 300, 60

# Each row is a layer: its modules may import those of the rows above, and of their own row or folder. A folder stands
# for all that is in it, but for a module that stands in a row of its own.
LAYERS = {
    "the version": "__init__",
    "nouns": "model canary comparison complaint span errors clock log spellings body_text api_paths",
    "rules and words": "bundled pasted_file secretive redact patterns shapes strict_yaml misfits parameters vocabulary timers prices statuses metric_rows moments",
    "what is configured": "credentials refusals acceptance target_rules target_flags sdk_versions client_rules config signature_rows response conditions signatures own_signatures",
    "on the wire": "wire",
    "what an answer means": "handshakes samples sampling endings streams arrivals deaths instances inner_names shared_cache wait_hints attribution twins redirects next_tests classify",
    "how it is asked": "allowance attempts ledger costs pace budget stop output_cap clients written lab imports",
    "questions": "kinds",
    "a run": "redirected passive reproducers bill bundles routed suite circumstances live runner recorded document rejudge store stored memory recall conduct calibration demo",
    "before and after": "change repro",
    "the canary": "alerts watch marks during",
    "whether files are right": "schemas checkup starter",
    "what is shown": "reporters sinks",
    "what is said": "printing outputs ordered classify.command calibration.command bill.command bundles.command rejudge.command change.command watch.command watch.receivers memory.command memory.since_command marks.command marks.fired_command during.command lab.command repro.command commands flags parser options cli pytest_door pytest_plugin",
}
# Where a layer is held to less than all that is above it.
ONLY = {
    "model": "",
    "canary": "model",
    "comparison": "model canary",
    "span": "model canary",
    "errors": "",
    "clock": "",
    "wire": "",
    "reporters": "model canary comparison span redact document",
    "sinks": "model canary errors redact document samples metric_rows",
    "cli": "__init__ errors options commands outputs printing redact",
}
SEAMS = {"clients/observed.py", "runner.py", "conduct.py"}
# Caught in one thread or turn to be raised, or told, in another.
HANDED_ON = {
    "runner.py": "lane",
    "during/measuring.py": "work",
    "live.py": "run",
    "wire/backend.py": "connect_tcp",
    "wire/call.py": "run",
    "wire/worker.py": "outcome",
    "watch/lanes.py": "_one",
    "watch/chores.py": "_once",
    "watch/turns.py": "take",
}


@lru_cache
def modules() -> dict[str, ast.Module]:
    """Every module of ours by its path in the package."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "_bundled" not in path.parts)
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def names(path: str) -> list[str]:
    """`clients/curl.py` → `clients.curl`, `clients`: a module and the folders that stand for it."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def roots(tree: ast.AST, folder: str) -> set[str]:
    """Every module that is imported anywhere in `tree`, which lies in `folder`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            here = ["probes", *([folder] if folder else [])][: None if node.level <= 1 else 1 - node.level]
            base = ".".join([*(here if node.level else []), *([node.module] if node.module else [])])
            each = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name.removeprefix("probes.") in KNOWN else base for name in each}
    return found


def imported(path: str, tree: ast.AST) -> set[str]:
    """Those of them that are ours, by their names without `probes`."""
    folder = ".".join(path.split("/")[:-1])
    ours = {name for name in roots(tree, folder) if name == "probes" or name.startswith("probes.")}
    return {name.removeprefix("probes").removeprefix(".") or "__init__" for name in ours}


def layer(name: str) -> int:
    rows = {module: n for n, row in enumerate(LAYERS.values()) for module in row.split()}
    return rows.get(name, rows[name.partition(".")[0]])


KNOWN = {names(path)[0] for path in modules()}


@pytest.mark.parametrize("path", modules())
def test_imports_point_one_way(path):
    """Nothing imports from a layer below its own, types included; wire nothing but the standard library."""
    name = names(path)[0]
    folder = name.partition(".")[0]
    for other in imported(path, modules()[path]) - {name}:
        assert layer(other) <= layer(name), f"{name} imports {other}"
        if folder in ONLY and other.partition(".")[0] != folder:
            assert other.partition(".")[0] in ONLY[folder].split(), f"{name} imports {other}"


def test_wire_needs_the_standard_library_alone():
    """So that it also runs in an interpreter that holds nothing but another SDK."""
    for path, tree in modules().items():
        if path.startswith("wire/"):
            foreign = {name.partition(".")[0] for name in roots(tree, "wire")} - sys.stdlib_module_names
            assert foreign <= {"probes"}, path


def at_import(tree: ast.Module) -> ast.Module:
    """What a module is read with: no function bodies, but what is for type checkers."""
    body = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return ast.Module(body, [])


def test_no_import_runs_in_circles():
    """No module needs, to be imported or for its types, one that needs it."""
    needs = {names(path)[0]: imported(path, at_import(tree)) for path, tree in modules().items()}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join((*way, name))
        if name not in done:
            for other in sorted(needs.get(name, ())):
                if other != name:
                    visit(other, (*way, name))
            done.add(name)

    for name in sorted(needs):
        visit(name, ())


def test_every_module_has_a_layer():
    """A new module is put into the table above."""
    placed = {name for row in LAYERS.values() for name in row.split()}
    folders = {name.partition(".")[0] for name in KNOWN}
    assert folders <= placed
    assert placed - folders <= KNOWN


# --- size ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in LAYERS if row not in {"the version", "what is said"}])
def test_the_table_for_people_is_this_one(row):
    """ARCHITECTURE.md has the same modules in the row, in any order."""
    [told] = [line for line in ARCHITECTURE.read_text("utf-8").splitlines() if line.startswith(f"| {row} |")]
    modules = told.split("|")[2].partition("(")[0]
    assert sorted(re.findall(r"`([\w.]+)/?`", modules)) == sorted(LAYERS[row].split())


def test_modules_fit_in_a_head():
    """None is longer than 300 lines."""
    long = {
        path: n for path in modules() if (n := len((PACKAGE / path).read_text().splitlines())) > MODULE_LINES
    }
    long.pop("model.py", None)  # the nouns stand together
    assert long == {}


def test_functions_fit_on_a_screen():
    """None is longer than 60 lines."""
    long = {}
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES and not takes_only_options(path, node):
                    long[f"{path}:{node.name}"] = lines
    assert long == {}


def takes_only_options(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A parser's list of flags is a table."""
    return path == "options.py" and node.name.startswith("_")


@pytest.mark.parametrize("path", modules())
def test_a_module_says_what_it_answers(path):
    """The first line of every module is a question or a sentence."""
    doc = ast.get_docstring(modules()[path])
    assert doc or path == "__init__.py", path
    assert not doc or re.search(r"[.?:]$", doc.split("\n\n")[0].replace("\n", " ").strip()), doc


# --- exceptions ------------------------------------------------------------------------------------------


def swallowing(path: str) -> list[tuple[str, str]]:
    """(function, source line) of each broad `except` that does not raise again."""
    lines = (PACKAGE / path).read_text("utf-8").splitlines()
    return [
        (function.name, lines[handler.lineno - 1])
        for function in ast.walk(modules()[path])
        if isinstance(function, ast.FunctionDef)
        for handler in own(function)
        if isinstance(handler, ast.ExceptHandler) and broad(handler) and not raises_again(handler)
    ]


def own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef):
            yield node
            yield from own(node)


def broad(handler: ast.ExceptHandler) -> bool:
    caught = {node.id for node in ast.walk(handler.type or handler) if isinstance(node, ast.Name)}
    return handler.type is None or bool(caught & {"Exception", "BaseException"})


def raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_broad_excepts_stand_at_three_seams():
    """Around the client under test, around a flow and around a sink; each says which of the three it is."""
    found = {
        path: [line for function, line in swallowing(path) if HANDED_ON.get(path) != function]
        for path in modules()
    }
    assert {path for path, lines in found.items() if lines} == SEAMS
    seams = [
        re.search(r"except Exception.*: .*seam (\d) of 3", line) for lines in found.values() for line in lines
    ]
    assert sorted(seam[1] if seam else "unnamed" for seam in seams) == ["1", "2", "3"]


# --- the tests themselves --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("test_*.py")), ids=lambda p: p.relative_to(TESTS).as_posix()
)
def test_every_test_says_what_behaviour_it_shows(path):
    """In one sentence."""
    silent = [
        node.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_the_package_is_typed():
    """Type checkers of others read its annotations."""
    assert (PACKAGE / "py.typed").is_file()


def test_public_names_exist():
    """What an `__all__` names is there."""
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                defined = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
                defined |= {
                    a.asname or a.name
                    for n in ast.walk(tree)
                    if isinstance(n, ast.ImportFrom)
                    for a in n.names
                }
                defined |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
                assert set(ast.literal_eval(node.value)) <= defined, path
