"""Sizes and names of the product's modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_MODULES, MOST_LINES = 16, 60
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

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    found = (ROOT / "airflow_ddlrepl").rglob("*.py")
    return [file for file in found if "__pycache__" not in file.parts and MIGRATIONS not in file.parents]


def definitions() -> Iterator[tuple[str, Function]]:
    for file in modules():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield f"{file.relative_to(ROOT)}: {node.name}", node


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    lengths = {name: length(node) for name, node in definitions()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_folders_hold_few_modules() -> None:
    counts = Counter(str(file.parent.relative_to(ROOT)) for file in modules() if file.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_module_names_say_what_is_in_them() -> None:
    assert [str(file.relative_to(ROOT)) for file in modules() if file.stem in OPAQUE] == []
