"""What a test replaces for its time exists: a commit runs a part of the thorough tests, and all of these names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]


def imported(tree: ast.Module) -> dict[str, str]:
    """The full names of what a file imports, by the names that it has there."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname: one.name for one in node.names if one.asname}
    return found


def replaced(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of what `setattr(module, "name", …)`, `patch.object` and `setattr("full.name", …)` replace."""
    names = imported(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "object"), args=[ast.Name(id=of), ast.Constant(str(name)), *_]
            ):
                if of in names and not any(one.arg in ("raising", "create") for one in node.keywords):
                    yield node.lineno, f"{names[of]}.{name}"
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[ast.Constant(str(name)), _]) if "." in name:
                yield node.lineno, name


def found(name: str) -> Any:
    """What a full name stands for. Raises AttributeError."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            value: Any = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for one in parts[end:]:
            value = getattr(value, one)
        return value
    raise AttributeError(name)


def test_every_name_that_a_test_replaces_exists() -> None:
    missing, number = [], 0
    for path in sorted(TESTS.rglob("*.py")):
        for line, name in replaced(ast.parse(path.read_text())):
            number += 1
            try:
                found(name)
            except AttributeError:
                missing.append(f"{path.relative_to(TESTS)}:{line}: {name}")
    assert missing == []
    assert number > 200
