"""Sizes and names of the product's modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

import pytest

from docs.tools import product_code
from docs.tools.product_code import Module

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each
MOST_MODULES, MOST_LINES, MOST_PARAMETERS, MOST_CLASS_LINES = 16, 60, 7, 200
MIGRATIONS = "airflow_ddlrepl/repository/migrations/"
# Names that say nothing to somebody who has not read the file.
OPAQUE = frozenset(
    [
        "alone",
        "anew",
        "answer",
        "apart",
        "arrive",
        "as_kept",
        "asked",
        "asking",
        "bringing",
        "claiming",
        "course",
        "doubt",
        "following",
        "given",
        "held",
        "helper",
        "holding",
        "in_step",
        "joining",
        "judge",
        "keep",
        "keeping",
        "leave",
        "leaving",
        "leftovers",
        "news",
        "opened",
        "own_columns",
        "own_names",
        "patience",
        "present",
        "recording",
        "reinstating",
        "replayed",
        "rereading",
        "restoring",
        "restricted",
        "restricting",
        "rights",
        "room",
        "saved",
        "saving",
        "settle",
        "shared",
        "staged",
        "stream",
        "survey",
        "tend",
        "tending",
        "texts",
        "trusted",
        "unreadable",
        "unrecorded",
        "until",
        "untangle",
        "untold",
        "waiting",
        "want",
        "common",
        "helpers",
        "misc",
        "stuff",
        "things",
        "utils",
    ]
)

# These say nothing of what a function does.
OF_FUNCTIONS = frozenset(
    ["comes", "forget_gone", "gone", "has_news", "is_news", "left", "left_by", "made_anew", "stays", "told", "wants"]
)
# What an option or a column has, and its type explains.
OF_PARAMETERS = frozenset(["texts", "until"])

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, Module]:
    found = (one for one in product_code.modules() if one.name.startswith("airflow_ddlrepl/"))
    return {one.name: one for one in found if not one.name.startswith(MIGRATIONS)}


def classes() -> list[tuple[str, ast.ClassDef]]:
    return [(name, node) for name, module in modules().items() for node in module.nodes(ast.ClassDef)]


def definitions() -> list[tuple[str, Function]]:
    return [(name, node) for name, module in modules().items() for node in functions(module)]


def functions(module: Module) -> Iterator[Function]:
    return module.nodes(ast.FunctionDef, ast.AsyncFunctionDef)


def length(node: Function | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    lengths = {f"{name}: {node.name}": length(node) for name, node in definitions()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_classes_are_short() -> None:
    lengths = {f"{name}: {node.name}": length(node) for name, node in classes()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_CLASS_LINES} == {}


def test_folders_hold_few_modules() -> None:
    counts = Counter(name.rpartition("/")[0] for name in modules() if not name.endswith("/__init__.py"))
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_module_names_say_what_is_in_them() -> None:
    assert [name for name in modules() if PurePath(name).stem in OPAQUE] == []


def test_functions_and_parameters_say_what_they_are() -> None:
    functions = [
        f"{name}: {node.name}" for name, node in definitions() if node.name.strip("_") in OPAQUE | OF_FUNCTIONS
    ]
    named = ((f"{name}: {node.name}", one) for name, node in definitions() for one in ast.walk(node.args))
    found = [f"{where} {one.arg}" for where, one in named if isinstance(one, ast.arg) if is_opaque(one)]
    assert [*functions, *found] == []


def is_opaque(parameter: ast.arg) -> bool:
    return parameter.arg.strip("_") in OPAQUE - OF_PARAMETERS


def test_functions_take_few_parameters() -> None:
    counts = {f"{name}: {node.name}": parameters(node) for name, node in definitions()}
    assert {name: count for name, count in counts.items() if count > MOST_PARAMETERS} == {}


def parameters(node: Function) -> int:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


Public = tuple[str, ast.ClassDef | None, Function | ast.ClassDef]


def test_everything_public_is_documented() -> None:
    """A method is documented where it stands, or where a base class of the package says what it does."""
    by_name: dict[str, list[ast.ClassDef]] = {}
    for _, one in classes():
        by_name.setdefault(one.name, []).append(one)
    found = [name for name, one in modules().items() if one.tree.body and not ast.get_docstring(one.tree)]
    for name, module in modules().items():
        for path, of, node in public(name, module.tree.body):
            if not ast.get_docstring(node) and not is_documented_above(node.name, of, by_name):
                found.append(path)
    assert found == []


def public(path: str, body: list[ast.stmt], of: ast.ClassDef | None = None) -> Iterator[Public]:
    """What others use: functions, classes, and the methods of those."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield f"{path}: {node.name}", of, node
            if isinstance(node, ast.ClassDef):
                yield from public(f"{path}: {node.name}", node.body, node)


def is_documented_above(method: str, of: ast.ClassDef | None, by_name: dict[str, list[ast.ClassDef]]) -> bool:
    names = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in of.bases] if of else []
    return any(
        any(isinstance(n, Function) and n.name == method and ast.get_docstring(n) for n in base.body)
        or is_documented_above(method, base, by_name)
        for name in names
        for base in by_name.get(name, [])
    )
