"""Every sentence that a next test can be told in: those of the catalogue, and those that the code says.

In the code it is what becomes a `next_test`: by keyword, key, assignment, or the place of a field or parameter of that name.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import probes
from probes.signatures import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "next_test"
ANY = "4"
"""In the place of what is filled in."""


def sentences() -> list[str]:
    """Sorted; raises ValueError, with the place, for what can't be told from the code alone."""
    return sorted({one.row.next_test for one in catalogue().signatures if one.row.next_test} | _of_code())


@dataclass
class _Module:
    path: Path
    tree: ast.Module
    values: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """Of a class or function: where among the arguments of a call its next test stands."""
    imports: dict[str, str] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    """The names of what goes by another one here."""


def _of_code() -> set[str]:
    package = Path(probes.__file__).parent
    paths = [path for path in sorted(package.rglob("*.py")) if "_bundled" not in path.parts]
    modules = {_dotted(path, package): _read(path) for path in paths}
    found: set[str] = set()
    for module in modules.values():
        for told in _told(module, modules):
            found |= set(_texts(told, module, modules))
    return found


def _dotted(path: Path, package: Path) -> str:
    parts = ["probes", *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(path: Path) -> _Module:
    module = _Module(path, ast.parse(path.read_text("utf-8")))
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                module.values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                module.values[name] = value
            case ast.ImportFrom(module=str(source)):
                module.imports |= {alias.asname or alias.name: source for alias in node.names}
                module.called |= {alias.asname: alias.name for alias in node.names if alias.asname}
            case ast.FunctionDef(name=name):
                module.functions[name] = node
                parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
                module.places |= {name: parameters.index(NAME)} if NAME in parameters else {}
            case ast.ClassDef(name=name, body=body):
                fields = [
                    row.target.id
                    for row in body
                    if isinstance(row, ast.AnnAssign) and isinstance(row.target, ast.Name)
                ]
                module.places |= {name: fields.index(NAME)} if NAME in fields else {}
    return module


def _told(module: _Module, modules: dict[str, _Module]) -> Iterator[ast.expr]:
    for node in ast.walk(module.tree):
        match node:
            case ast.keyword(arg="next_test", value=value):
                yield value
            case ast.Dict(keys=keys, values=values):
                yield from (
                    v
                    for k, v in zip(keys, values, strict=True)
                    if isinstance(k, ast.Constant) and k.value == NAME
                )
            case ast.Assign(
                targets=[ast.Name(id="next_test") | ast.Subscript(slice=ast.Constant(value="next_test"))],
                value=value,
            ):
                yield value
            case ast.Call(func=ast.Name(id=name), args=args):
                home = modules.get(module.imports.get(name, ""), module)
                if name in home.places and len(args) > home.places[name]:
                    yield args[home.places[name]]


def _texts(told: ast.expr, module: _Module, modules: dict[str, _Module]) -> Iterator[str]:
    match told:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield _joined(parts, module, modules)
        case (
            ast.Constant(value=None)
            | ast.Name(id="next_test")
            | ast.Attribute(attr="next_test")
            | ast.Subscript(slice=ast.Constant(value="next_test"))
        ):
            return  # none, or one that is told of where it was made
        case _:
            parts = _parts(told, module)
            named = _behind_a_name(told, module, modules) if _table(told) or not parts else []
            for part, home in (*parts, *named):
                yield from _texts(part, home, modules)


def _parts(told: ast.expr, module: _Module) -> list[tuple[ast.expr, _Module]]:
    """Those of which one is said."""
    match told:
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.BoolOp(values=parts):
            pass
        case ast.Call(
            func=ast.Name(id="str" | "of_answer") | ast.Attribute(attr="of_finding"), args=[first, *_]
        ):
            parts = [first]
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, *parts]):
            pass
        case _:
            parts = []
    return [(part, module) for part in parts]


def _behind_a_name(
    told: ast.expr, module: _Module, modules: dict[str, _Module]
) -> list[tuple[ast.expr, _Module]]:
    """Of a constant, a table or a function, here or where it is imported from."""
    name, home = _named(told, module, modules)
    if isinstance(told, ast.Call) and name in home.functions:
        function = home.functions[name]
        given = {
            parameter.arg: ast.Constant(None)
            for parameter in ast.walk(function)
            if isinstance(parameter, ast.arg)
        }
        inside = replace(home, values={**home.values, **given})
        return [
            (node.value, inside) for node in ast.walk(function) if isinstance(node, ast.Return) and node.value
        ]
    value = home.values.get(name)
    if value is None:
        said = f"{module.path}:{told.lineno}: {ast.unparse(told)}"
        raise ValueError(f"{said}: a next test whose words are not known before it runs")
    return [(each, home) for each in (value.values if isinstance(value, ast.Dict) else [value])]


def _named(told: ast.expr, module: _Module, modules: dict[str, _Module]) -> tuple[str, _Module]:
    """And the module that has it."""
    match told:
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id=within), attr=name))
            | ast.Attribute(value=ast.Name(id=within), attr=name)
        ) if not _table(told):
            return name, modules.get(
                f"{module.imports.get(within)}.{module.called.get(within, within)}", module
            )
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
            pass
        case _:
            name = _table(told) or ""
    return name, modules.get(module.imports.get(name, ""), module)


def _table(told: ast.expr) -> str | None:
    """The name of the table that it is looked up in."""
    match told:
        case (
            ast.Subscript(value=ast.Name(id=name))
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"))
        ):
            return name
    return None


def _joined(parts: list[ast.expr], module: _Module, modules: dict[str, _Module]) -> str:
    said = []
    for part in parts:
        match part:
            case ast.Constant(value=str(text)):
                said.append(text)
            case ast.FormattedValue(value=ast.Name(id=name)) if name in module.values:
                said += _texts(module.values[name], module, modules)
            case _:
                said.append(ANY)
    return "".join(said)
