"""docs/architecture.md says what lives in which folder; imports go down its table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_ddlrepl"
ROW = re.compile(r"^\| `([\w/.]+)` \| ", re.MULTILINE)
TOP = {"dags": "airflow_ddlrepl.dags", "spark_apps": "airflow_ddlrepl.spark_apps"}
"""Folders at the top level, and the packages that they are."""

LAZY = {("__init__.py", "dags/")}  # build_channel_dags imports it when it is called


def place(file: Path) -> str:
    """The row of a module: its folder, or itself where it stands beside the folders."""
    inside = file.relative_to(PACKAGE if file.is_relative_to(PACKAGE) else ROOT)
    alone = len(inside.parts) == 1 or str(inside) in table()
    return str(inside) if alone else f"{inside.parent}/"


def modules() -> list[Path]:
    folders = (PACKAGE, *(ROOT / one for one in TOP))
    return [file for folder in folders for file in folder.rglob("*.py") if "__pycache__" not in file.parts]


def imported(file: Path) -> Iterator[Path]:
    """Files of the package that a file imports, also inside functions; not those for type checking."""
    for node in running(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("airflow_ddlrepl."):
                yield from filter(None, [found(name)])


def running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from running(child)


def found(name: str) -> Path | None:
    """The file of a module, or of the module that a name stands in."""
    for folder, package in TOP.items():
        name = folder + name.removeprefix(package) if f"{name}.".startswith(f"{package}.") else name
    path = ROOT.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py", path.parent.with_suffix(".py")):
        if file.is_file():
            return file
    init = path.parent / "__init__.py"
    return init if init.is_file() and init.parent != PACKAGE else None


@cache
def table() -> list[str]:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return ROW.findall(text[text.index("## The folders") :])


def test_every_folder_has_its_row() -> None:
    there = {place(file) for file in modules() if file != PACKAGE / "__init__.py"}
    rows = table()
    assert there - set(rows) == set(), "these have no row in docs/architecture.md, The folders"
    assert set(rows) - there == set(), "these rows of docs/architecture.md are about nothing"
    assert len(rows) == len(set(rows))


def test_imports_go_down_the_table() -> None:
    order = {row: number for number, row in enumerate(table())}
    upward = {
        f"{file.relative_to(ROOT)} imports {other.relative_to(ROOT)}"
        for file in modules()
        for other in imported(file)
        if (place(file), place(other)) not in LAZY and order.get(place(other), -1) < order.get(place(file), -1)
    }
    assert upward == set()
