"""One tokenizer splits all SQL, whatever its dialect: nobody else looks for the ends of quotes and comments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from docs.tools import product_code
from docs.tools.product_code import ROOT, Module

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

PACKAGE = "airflow_ddlrepl/"
SQL = "airflow_ddlrepl/sql/"
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


def read() -> Iterator[Module]:
    """Every module of the package outside of sql/."""
    return (one for one in product_code.modules() if one.name.startswith(PACKAGE) and not one.name.startswith(SQL))


def own(modules: Iterable[str]) -> set[str]:
    return {name.removeprefix(PACKAGE) for name in modules}


def texts(module: Module) -> Iterator[str]:
    """The texts in a module's code, without documentation."""
    documentation = {id(node.value) for node in module.nodes(ast.Expr)}
    constants = (node for node in module.nodes(ast.Constant) if id(node) not in documentation)
    return (node.value for node in constants if isinstance(node.value, str))


def is_scanner(text: str) -> bool:
    return bool(QUOTED.search(text) or LONG.search(text))


def test_no_other_pattern_looks_for_the_end_of_a_quote_or_a_comment() -> None:
    assert own(one.name for one in read() if any(map(is_scanner, texts(one)))) == set(NO_SQL)


@pytest.mark.parametrize("grammar", sorted((ROOT / PACKAGE).rglob("*.lark")), ids=lambda path: path.name)
def test_grammars_take_their_quotes_from_the_tokenizer(grammar: Path) -> None:
    assert not QUOTED.search(grammar.read_text(encoding="utf-8"))


def test_nobody_goes_through_the_characters_of_sql() -> None:
    found = own(one.name for one in read() if any(map(by_character, one.nodes(ast.Compare))))
    assert found == set(BY_CHARACTER)


def by_character(node: ast.Compare) -> bool:
    """Is one character of a text, by a number that is computed, compared with a quote?"""
    sides = [node.left, *node.comparators]
    quotes = [one for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant) and one.value in QUOTES]
    picked = [
        side for side in sides if isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Name | ast.BinOp)
    ]
    return bool(quotes and picked)


QUOTES = ("'", '"', "`", "$", "--", "/*")


@pytest.mark.parametrize("name", ["shlex.split", "tokenize", "sqlparse", "sqlglot.tokens"])
def test_no_other_tokenizer_is_used(name: str) -> None:
    assert own(one.name for one in read() if uses(one, name)) == set()


def uses(module: Module, name: str) -> bool:
    last = name.rpartition(".")[2]
    attributes = [node for node in module.nodes(ast.Attribute) if node.attr == last]
    imported = [one.name for node in module.nodes(ast.Import) for one in node.names]
    imported += [str(node.module) for node in module.nodes(ast.ImportFrom)]
    is_called = bool(attributes) if last == name else name in map(ast.unparse, attributes)
    return is_called or any(one.startswith(name) for one in imported)


def test_statements_are_split_at_semicolons_by_tokens_alone() -> None:
    found = own(
        module.name
        for module in read()
        for node in module.nodes(ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("split", "partition", "rsplit")
        and [one.value for one in node.args if isinstance(one, ast.Constant)] == [";"]
    )
    assert found == set()


@pytest.mark.parametrize(
    "pattern", ["'(?:[^']|'')*'", '"[^"]+"', "(?P<q>'[^']*')", "`([^`]+)`", r"/\*.*?\*/", r"\$(\w*)\$.*?\$\1\$"]
)
def test_the_patterns_that_were_there_are_found(pattern: str) -> None:
    assert QUOTED.search(pattern) or LONG.search(pattern)
