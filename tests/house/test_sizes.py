"""Sizes, names and docstrings of the product's modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_MODULES, MOST_LINES, MOST_PARAMETERS, LARGEST_CLASS = 16, 60, 7, 200
MIGRATIONS = ROOT / "airflow_ddlrepl" / "repository" / "migrations"
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
        "decide",
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

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def modules() -> list[Path]:
    found = (ROOT / "airflow_ddlrepl").rglob("*.py")
    return [file for file in found if "__pycache__" not in file.parts and MIGRATIONS not in file.parents]


def definitions() -> Iterator[tuple[str, Defined]]:
    for file in modules():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, Defined):
                yield f"{file.relative_to(ROOT)}: {node.name}", node


def length(node: Defined) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def parameters(node: Defined) -> int:
    if isinstance(node, ast.ClassDef):
        return 0
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def public(body: list[ast.stmt]) -> Iterator[Defined]:
    """What others use: functions, classes, and the methods of those."""
    for node in body:
        if isinstance(node, Defined) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def test_functions_and_classes_are_short() -> None:
    longest = {ast.ClassDef: LARGEST_CLASS}
    assert {
        name: length(node) for name, node in definitions() if length(node) > longest.get(type(node), MOST_LINES)
    } == {}


def test_functions_take_few_parameters() -> None:
    assert {name: parameters(node) for name, node in definitions() if parameters(node) > MOST_PARAMETERS} == {}


def test_folders_hold_few_modules() -> None:
    counts = Counter(str(file.parent.relative_to(ROOT)) for file in modules() if file.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_module_names_say_what_is_in_them() -> None:
    assert [str(file.relative_to(ROOT)) for file in modules() if file.stem in OPAQUE] == []


def test_everything_public_is_documented() -> None:
    found = []
    for file in modules():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if not ast.get_docstring(tree) and tree.body:
            found.append(str(file.relative_to(ROOT)))
        found += [f"{file.relative_to(ROOT)}: {n.name}" for n in public(tree.body) if not ast.get_docstring(n)]
    assert found == []
