"""Short ways through a statement's text lead to what its tokens say, for random texts in each dialect."""

from __future__ import annotations

import random

import pytest

from airflow_ddlrepl.sql import names
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.languages import OF_DIALECT
from airflow_ddlrepl.sql.mentions import mentioned, mentioned_in
from airflow_ddlrepl.sql.names import read, read_by_tokens
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.tokens import Kind, comments

SHAPES = [
    "CREATE TABLE {0} (id int REFERENCES {1})", "create  temp table if not exists {0}(x int)", "CREATE TABLE {0}",
    "CREATE UNIQUE INDEX {0} ON ONLY {1} (a)", "CREATE INDEX CONCURRENTLY {0} ON {1} (a)", "CREATE INDEX ON {0} (a)",
    "ALTER TABLE IF EXISTS ONLY {0} ADD x int", "ALTER TABLE {0} RENAME TO {1}", "ALTER TABLE {0} RENAME x TO y",
    "ALTER TABLE {0} RENAME TO {1} ;\n", "ALTER TABLE {0} * ADD x int", "DROP TABLE {0}", "DROP TABLE {0}, {1} CASCADE",
    "DROP TABLE IF EXISTS {0} RESTRICT;", "COMMENT ON TABLE {0} IS 'x'", "COMMENT ON COLUMN {0}.{1} IS NULL",
    "COMMENT ON COLUMN {0} IS NULL", "GRANT SELECT ON {0} TO r",
    "CREATE VIEW {0} AS SELECT * FROM {1} JOIN b.c USING (id)",
]  # fmt: skip
NAMES = ["a", "hr.Pay", "HR.pay$1", '"Hr"."P--y"', "x.y.z", "`h`.`#`", "hr . pay", "ONLY", "if", "on", "größe.ı", "h#1"]
SIGNS = [
    "/* n /* o */ */",
    "-- end\n",
    "#",
    "'it''s'",
    r"E'\''",
    "$b$ -- $b$",
    "/*! x */",
    "q'[--]'",
    '"',
    ",",
    "(",
    ".",
]


def texts(seed: int, count: int = 300) -> list[str]:
    """Statements of these shapes, every second one with signs somewhere in it."""
    chance, found = random.Random(seed), []
    for number in range(count):
        text = chance.choice(SHAPES).format(chance.choice(NAMES), chance.choice(NAMES))
        for _ in range(number % 2 * chance.randint(1, 3)):
            at = chance.randint(0, len(text))
            text = f"{text[:at]}{chance.choice(SIGNS)}{chance.choice(['', ' '])}{text[at:]}"
        found.append(text)
    return found


@pytest.mark.parametrize("dialect", Dialect)
def test_what_one_expression_reads_is_what_the_tokens_say(dialect: Dialect) -> None:
    for text in texts(1):
        assert read(text, dialect) == read_by_tokens(text, dialect), text


def test_common_statements_are_read_by_one_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "read_by_tokens", None)
    assert read("ALTER TABLE only_here.Orders ADD x int").objects[0][:2] == ("only_here", "orders")
    assert read("DROP TABLE IF EXISTS only_here.t CASCADE;").object_type == "TABLE"


@pytest.mark.parametrize("dialect", Dialect)
def test_comments_are_found_as_among_the_tokens(dialect: Dialect) -> None:
    for text in texts(2):
        assert list(comments(text, OF_DIALECT[dialect])) == [
            one for one in scan(text, dialect) if one.kind is Kind.COMMENT
        ], text


@pytest.mark.parametrize("dialect", Dialect)
def test_tables_that_a_text_mentions_are_found_as_among_its_tokens(dialect: Dialect) -> None:
    for text in texts(3):
        assert list(mentioned_in(text, dialect)) == list(mentioned(scan(text, dialect), dialect)), text
