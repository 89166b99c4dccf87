"""docs/architecture.md says what lives in which folder; imports go down its table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

import pytest

from docs.tools import product_code
from docs.tools.product_code import ROOT, Module

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

PACKAGE = "airflow_ddlrepl/"
INIT = "airflow_ddlrepl/__init__.py"
ROW = re.compile(r"^\| `([\w/.]+)` \| ", re.MULTILINE)
TOP = {"dags": "airflow_ddlrepl.dags", "spark_apps": "airflow_ddlrepl.spark_apps"}
"""Folders at the top level, and the packages that they are."""

LAZY = {("__init__.py", "dags/")}  # build_channel_dags imports it when it is called


@cache
def place(name: str) -> str:
    """The row of a module: its folder, or itself where it stands beside the folders."""
    inside = PurePath(name.removeprefix(PACKAGE))
    alone = len(inside.parts) == 1 or str(inside) in table()
    return str(inside) if alone else f"{inside.parent}/"


def imported(module: Module) -> Iterator[str]:
    """Modules of the package that a module imports, also inside functions; not those for type checking."""
    checked = [one for one in module.nodes(ast.If) if ast.unparse(one.test).endswith("TYPE_CHECKING")]
    unused = {id(node) for one in checked for node in ast.walk(one)}
    names = [(id(node), alias.name) for node in module.nodes(ast.Import) for alias in node.names]
    names += [(id(node), f"{node.module}.{one.name}") for node in module.nodes(ast.ImportFrom) for one in node.names]
    for node, name in names:
        if name.startswith("airflow_ddlrepl.") and node not in unused:
            yield from filter(None, [found(name)])


@cache
def found(name: str) -> str | None:
    """The module of a name, or the module that the name stands in."""
    for folder, package in TOP.items():
        name = folder + name.removeprefix(package) if f"{name}.".startswith(f"{package}.") else name
    path = name.replace(".", "/")
    folder = path.rpartition("/")[0]
    there = (f"{path}.py", f"{path}/__init__.py", f"{folder}.py", f"{folder}/__init__.py")
    return next((one for one in there if one in names() and one != INIT), None)


@cache
def names() -> frozenset[str]:
    return frozenset(module.name for module in product_code.modules())


@cache
def table() -> list[str]:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return ROW.findall(text[text.index("## The folders") :])


def test_every_folder_has_its_row() -> None:
    there = {place(name) for name in names() if name != INIT}
    rows = table()
    assert there - set(rows) == set(), "these have no row in docs/architecture.md, The folders"
    assert set(rows) - there == set(), "these rows of docs/architecture.md are about nothing"
    assert len(rows) == len(set(rows))


def test_imports_go_down_the_table() -> None:
    order = {row: number for number, row in enumerate(table())}
    upward = {
        f"{module.name} imports {other}"
        for module in product_code.modules()
        for other in imported(module)
        if (place(module.name), place(other)) not in LAZY
        and order.get(place(other), -1) < order.get(place(module.name), -1)
    }
    assert upward == set()
