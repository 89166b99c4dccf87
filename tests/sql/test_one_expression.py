"""What is read as one expression is one expression to PostgreSQL, too: random texts, some of them made to break out."""

from __future__ import annotations

import random

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus

from airflow_ddlrepl.sql.expressions.kinds import parse_expression, parse_type
from airflow_ddlrepl.sql.expressions.words import NotOneText
from tests.conftest import Databases

VALUES = (
    "1", "1.5", ".5", "1e5", "'a'", "'it''s'", "b'01'", "'a'::text", "c", '"C d"', "now()", "lower('A'::text)", "NULL",
    "true", "(1 + 2)", "CURRENT_DATE", "ARRAY[1, 2]", "'2020-01-01'::date", "(c)::numeric(10,2)", "'{}'::jsonb",
    "COALESCE(c, 0)", "(NOT true)", "CASE WHEN c THEN 1 ELSE 2 END",
)  # fmt: skip
BETWEEN = (" + ", " || ", " = ", " AND ", "-", " <> ", "::", ", ", " ", "", " IS NOT NULL AND ", " ~~ ", " ? ", "->>")
BREAKING = (
    "'", "''", '"', '""', "--", "/*", "*/", ";", "$$", "$a$", "\\", "E'", "U&'", 'U&"', "b'", "n'", ")", "(", "), (",
    "]", "\n", "\x0b", "\xa0", "@", "|", ":=", "=>", "$1", "1_0", "0x1", "ab'x'", "1'x'", "é", "select ", "\f", "@-",
    "--\n",
)  # fmt: skip


def text(rng: random.Random) -> str:
    found = rng.choice(VALUES)
    for _ in range(rng.randint(0, 3)):
        found += rng.choice(BETWEEN) + rng.choice(VALUES)
    for _ in range(rng.choice((0, 0, 1, 2))):
        at = rng.randint(0, len(found))
        found = found[:at] + rng.choice(BREAKING) + found[at:]
    return found


def breaks_out(connection: psycopg.Connection, before: str, one: str, behind: str) -> str:
    """What the server's parser says of a text that does not stay in its place; nothing where it stays.

    An error in the text itself, such as `1 = 2 = 3`, is no harm. One behind it is: something was not closed.
    """
    result = connection.pgconn.prepare(b"", f"{before}{one}{behind}".encode())
    said = (result.error_message or b"").decode()
    if result.status != ExecStatus.FATAL_ERROR or not any(sign in said for sign in SYNTAX):
        return ""
    place = int(result.error_field(DiagnosticField.STATEMENT_POSITION) or 0) - 1
    is_inside = "syntax error" in said and len(before) <= place < len(before) + len(one)
    return "" if is_inside else said


SYNTAX = ("syntax error", "multiple commands", "unterminated")


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_one_expression_is_one_to_the_server(databases: Databases) -> None:
    rng, accepted, broken = random.Random(391), 0, 0
    with psycopg.connect(databases.source, autocommit=True) as connection:
        version = connection.info.server_version // 10000
        for _ in range(12_000):
            one = text(rng)
            try:
                found = parse_expression(one)
            except NotOneText:
                broken += 1
                continue
            if found.since <= version:
                accepted += 1
                assert not breaks_out(connection, "SELECT CAST((", one, ") AS text)"), one
    assert accepted > 2000 and broken > 2000, (accepted, broken)


TYPES = ("numeric", "numeric(10,2)", "character varying(20)", "a.b", '"A".b', "timestamp(3) with time zone", "bit(8)")


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_one_type_is_one_to_the_server(databases: Databases) -> None:
    rng, accepted = random.Random(392), 0
    with psycopg.connect(databases.source, autocommit=True) as connection:
        for _ in range(6_000):
            one = rng.choice(TYPES) + rng.choice(("", "[]", "[3]"))
            for _ in range(rng.choice((0, 1, 1, 2))):
                at = rng.randint(0, len(one))
                one = one[:at] + rng.choice((*BREAKING, " ", "[", "a", ".")) + one[at:]
            try:
                parse_type(one)
            except NotOneText:
                continue
            accepted += 1
            assert not breaks_out(connection, "SELECT CAST(NULL AS ", one, ")"), one
    assert accepted > 1000, accepted
