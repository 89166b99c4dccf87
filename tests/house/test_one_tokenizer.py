"""One tokenizer splits all SQL, whatever its dialect: nobody else looks for the ends of quotes and comments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("one_tokenizer")  # one process reads the modules
ROOT = Path(__file__).parents[2] / "airflow_ddlrepl"
QUOTED = re.compile(r"""(['"`])(?:\((?:\?:|\?P<\w+>)?)*\[\^[^\]]*\1""")
"""A quote and a class of all but this quote, as a pattern has it that looks for the other end: "[^"]*"."""
LONG = re.compile(r"\\/\\\*|/\\\*|\\\$\([^)]*\)\\\$")
"""The beginning of a comment, or of a text between dollars."""
NO_SQL = {
    "config/sections/location.py": "passwords in URLs",
    "engines/postgres/catalog/inspect.py": "places in queries of ours where others are put",
    "engines/postgres/connection/errors.py": "names in messages of a server",
    "engines/postgres/types/literals.py": "texts of arrays and composite values",
    "goldengate/prm/clauses.py": "the words of INSTRWORDS, a text of words and phrases",
    "goldengate/prm/names.py": "name patterns of GoldenGate, in which wildcards stand in quotes, too",
    "hvr/action_text.py": "HVR's notation of actions",
    "model/stored.py": "JSON",
    "notation/name_pattern.py": "name patterns of the channel file",
    "spark/execute/worker_python.py": "messages of Spark",
    "streams/script/compile.py": "DEFINE of SQL*Plus",
}
"""Where patterns look for the ends of quotes in something else than SQL, and in what."""
BY_CHARACTER = {"hvr/definitions/read_json.py": "JSON"}


@cache
def modules() -> dict[str, tuple[ast.AST, ...]]:
    """The nodes of each module outside of sql/, without documentation."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        name = str(file.relative_to(ROOT))
        if not name.startswith("sql/"):
            found[name] = tuple(nodes(ast.parse(file.read_text(encoding="utf-8"))))
    return found


def nodes(of: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(of):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield node
            yield from nodes(node)


def is_scanner(node: ast.AST) -> bool:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return bool(QUOTED.search(text) or LONG.search(text))


def test_no_other_pattern_looks_for_the_end_of_a_quote_or_a_comment() -> None:
    found = {name for name, module in modules().items() if any(map(is_scanner, module))}
    assert found == set(NO_SQL)


@pytest.mark.parametrize("grammar", sorted(ROOT.rglob("*.lark")), ids=lambda path: path.name)
def test_grammars_take_their_quotes_from_the_tokenizer(grammar: Path) -> None:
    assert not QUOTED.search(grammar.read_text(encoding="utf-8"))


def test_nobody_goes_through_the_characters_of_sql() -> None:
    found = {name for name, module in modules().items() if any(map(by_character, module))}
    assert found == set(BY_CHARACTER)


def by_character(node: ast.AST) -> bool:
    """Is one character of a text, by a number that is computed, compared with a quote?"""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    quotes = [one for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant) and one.value in QUOTES]
    picked = [
        side for side in sides if isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Name | ast.BinOp)
    ]
    return bool(quotes and picked)


QUOTES = ("'", '"', "`", "$", "--", "/*")


@pytest.mark.parametrize("name", ["shlex.split", "tokenize", "sqlparse", "sqlglot.tokens"])
def test_no_other_tokenizer_is_used(name: str) -> None:
    assert [file for file, module in modules().items() if any(uses(node, name) for node in module)] == []


def uses(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) == name or node.attr == name
    if isinstance(node, ast.Import):
        return any(one.name.startswith(name) for one in node.names)
    return isinstance(node, ast.ImportFrom) and str(node.module).startswith(name)


def test_statements_are_split_at_semicolons_by_tokens_alone() -> None:
    found = [
        name
        for name, module in modules().items()
        for node in module
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("split", "partition", "rsplit")
        and [one.value for one in node.args if isinstance(one, ast.Constant)] == [";"]
    ]
    assert found == []


@pytest.mark.parametrize(
    "pattern", ["'(?:[^']|'')*'", '"[^"]+"', "(?P<q>'[^']*')", "`([^`]+)`", r"/\*.*?\*/", r"\$(\w*)\$.*?\$\1\$"]
)
def test_the_patterns_that_were_there_are_found(pattern: str) -> None:
    assert QUOTED.search(pattern) or LONG.search(pattern)
