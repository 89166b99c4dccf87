"""Collect the conditions and DDL statements that stand in the tests, as the parity tests with sqlglot read them.

python -m tests.support.collect_sql
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXTS = ROOT / "ddl" / "sql_texts.json"
_DDL = re.compile(r"\s*(alter|create|drop)\s+(unique\s+)?(table|index|type|domain)\b", re.IGNORECASE)
_HOLE = re.compile(r"[{}…]|%s")


def collect() -> dict[str, list[str]]:
    """Return conditions and statements, each once, without those that a test fills in."""
    conditions: set[str] = set()
    statements: set[str] = set()
    for file in ROOT.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
        in_formats = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        statements |= {text for node in ast.walk(tree) if id(node) not in in_formats for text in _text(node)}
        is_about_them = "notation.condition.parser import" in source
        conditions |= {text for node in ast.walk(tree) for text in _conditions(node, is_about_them)}
    for story in (ROOT / "stories").rglob("*.story"):
        plain = re.sub(r"^-- \w+ --", "", story.read_text(encoding="utf-8"), flags=re.MULTILINE)
        statements |= {part.strip() for part in re.split(r";[ \t]*$", plain, flags=re.MULTILINE)}
    kept = (text for text in statements if _DDL.match(text) and not _HOLE.search(text))
    return {"conditions": sorted(conditions), "statements": sorted(kept)}


def _conditions(node: ast.AST, is_about_them: bool) -> Iterator[str]:
    """Those of a channel file, and in a test of the parser those that are read by themselves."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "condition":
                yield from _text(value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "condition":
        for argument in node.args:
            yield from _text(argument)
    if is_about_them and isinstance(node, ast.Tuple) and len(node.elts) == 2:  # a condition and what is said of it
        yield from _text(node.elts[0])


def _text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


if __name__ == "__main__":
    TEXTS.write_text(json.dumps(collect(), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
