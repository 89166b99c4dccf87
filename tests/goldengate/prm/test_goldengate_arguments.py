"""Most TABLE and MAP parameters are read by an expression: it finds what the grammar finds, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lark import Token, Tree

from airflow_ddlrepl.goldengate.prm.arguments import Parsed, parse_by_grammar, parse_ordinary
from airflow_ddlrepl.goldengate.prm.problems import Problem
from airflow_ddlrepl.goldengate.prm.source_text import read_source
from airflow_ddlrepl.goldengate.prm.statements import Statement, split

FILES = Path(__file__).parent / "parameter_files"
NAMES = ["app.t1", "db.app.T*", '"App"."t 1"', "a?.b", "TARGET", "where", "t$1", "12", "x-y", "t[1]", ""]
OPTIONS = [
    "WHERE (a = 'it''s (' AND b > 1)", "FILTER (@STREQ (a, 'x'))", "KEYCOLS(a, b)", "COLMAP (a = (b + (1)))",
    "INSERTALLRECORDS", "NORENAME", "WHERE (a = \"b\")", "WHERE (a", "EXCEPTIONSONLY", "HANDLECOLLISIONS", "THREAD 4",
    "NOTHING", "COLS ()", "DEF d", "EVENTACTIONS (IGNORE)", "SQLEXEC (ID x, QUERY 'a;b')",
]  # fmt: skip
SEPARATORS = [" ", ", ", ",", " , ", ",,", "\n", ""]


class Outline(NamedTuple):
    """What the reader of a parameter asks of its parsed arguments."""

    rule: str
    tokens: tuple[tuple[str, str, int | None, int | None], ...]


def outline(parsed: Parsed) -> Outline:
    def tokens(part: Parsed | Token, path: str) -> Iterator[tuple[str, str, int | None, int | None]]:
        if isinstance(part, Token):
            yield f"{path}/{part.type}", str(part), part.start_pos, part.end_pos
        else:
            children = part.children[:1] if part.data == "option" else part.children
            for one in children:
                yield from tokens(one, f"{path}/{part.data}")

    return Outline(str(parsed.data), tuple(tokens(parsed, "")))


def agree(statement: Statement) -> bool:
    """Does the expression read the parameter? When it does the grammar has to find the same."""
    rule = statement.name.lower()
    found = parse_ordinary(statement.text, rule)
    try:
        expected: Parsed | None = parse_by_grammar(statement, rule)
    except Problem:
        expected = None
    if found is not None:
        assert expected is not None, statement
        assert outline(found) == outline(expected), statement
    return found is not None


def test_random_parameters_are_read_as_by_the_grammar() -> None:
    chance, found = random.Random(1), []
    for _ in range(1500):
        between = [chance.choice(SEPARATORS if chance.random() < 0.4 else [", "]) for _ in range(6)]
        name = chance.choice(["TABLE", "MAP"])
        text = f" {chance.choice(NAMES)}"
        if name == "MAP" or chance.random() < 0.1:
            text += f"{between[0]}{chance.choice(['TARGET', 'target'])} {chance.choice(NAMES)}"
        for at in range(chance.randint(0, 3)):
            text += between[at + 1] + chance.choice(OPTIONS)
        found.append(agree(Statement(name, 0, text, len(name))))
    assert 300 < sum(found) < 1200


def test_parameters_of_files_are_read_as_by_the_grammar() -> None:
    found = [
        agree(one)
        for file in sorted(FILES.glob("*.prm"))
        for one in split(_text(file))
        if isinstance(one, Statement) and one.name in ("TABLE", "MAP")
    ]
    assert len(found) > 50
    assert sum(found) > len(found) / 2


def _text(file: Path) -> str:
    try:
        return read_source(file).text
    except Problem:
        return ""


def test_what_an_expression_reads_is_a_tree_of_names_and_options() -> None:
    found = parse_ordinary(" hr.pay, TARGET dw.pay, KEYCOLS (id)", "map")
    assert found == Tree(
        "map",
        [
            Tree("name", [Token("NAME", "hr.pay")]),
            Tree("target", [Tree("name", [Token("NAME", "dw.pay")])]),
            Tree("option", [Token("OPTION", "KEYCOLS")]),
        ],
    )
