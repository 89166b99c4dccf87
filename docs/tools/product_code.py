"""The product's code for what checks it or makes pages of it: each module is parsed once, its nodes sorted by class."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
FOLDERS = ("airflow_ddlrepl", "dags", "spark_apps")
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, eq=False)
class Module:
    """A module of the product. name: its path in the tree, such as `airflow_ddlrepl/failpoint.py`."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @cached_property
    def _nodes(self) -> dict[type[ast.AST], list[Any]]:
        found: dict[type[ast.AST], list[Any]] = {}
        for node in ast.walk(self.tree):
            found.setdefault(type(node), []).append(node)
        return found

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for nodes in self._nodes.values() for node in nodes for child in ast.iter_child_nodes(node)}

    def nodes(self, *kinds: type[Node]) -> Iterator[Node]:
        """Yield the nodes of these classes, in the order of ast.walk for each of them."""
        for kind in kinds:
            yield from self._nodes.get(kind, ())


@cache
def modules() -> tuple[Module, ...]:
    """Return all modules of the product, by their names."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    found = tuple(Module(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")) for file in files)
    is_collecting = gc.isenabled()
    gc.disable()  # all nodes stay: to look again and again which of them are left takes longer than to parse them
    try:
        for module in found:
            assert module._nodes
        gc.freeze()
    finally:
        if is_collecting:
            gc.enable()
    return found


def nodes(*kinds: type[Node]) -> Iterator[tuple[str, Node]]:
    """Yield the product's nodes of these classes, each with the name of its module."""
    return ((module.name, node) for module in modules() for node in module.nodes(*kinds))
