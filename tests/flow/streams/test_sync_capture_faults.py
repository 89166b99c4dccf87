"""A synchronous capture's function that fails or hangs, beside a rollback, a savepoint and a prepared transaction."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.conftest import Databases
from tests.flow.streams.sync_capturing import Capturing, rule
from tests.flow.streams.test_sync_capture_transformations import FUNCTION, custom

NOT_2 = "IF lcr #>> '{new,k}' = '2' THEN RAISE EXCEPTION 'not today'; END IF; RETURN lcr || '{\"name\": \"seen\"}';"
HANGS = "PERFORM pg_sleep(600); RETURN lcr;"


def begun(databases: Databases, folder: Path, body: str) -> Capturing:
    """Each row of hr.t goes through the function, which renames the table."""
    found = Capturing(databases.source, folder, [rule(), custom("etl.f")], {"etl.f": "sql:etl.f"})
    found.at_source(
        "CREATE SCHEMA hr; CREATE SCHEMA etl",
        "CREATE TABLE hr.t (k int PRIMARY KEY, v text)",
        FUNCTION.format(name="f", body=body),
    )
    found.capture()
    return found


def captured(of: Capturing) -> list[tuple[str, str | None]]:
    of.capture()
    return [(one.name or "", one.new["k"]) for one in of.lcrs()]


def keys(of: Capturing) -> list[int]:
    return [k for (k,) in of.rows("SELECT k FROM hr.t ORDER BY k")]


@pytest.mark.req("ST-Y-07", "ST-Y-08", "ST-R-09")
def test_a_statement_that_fails_takes_its_savepoint_with_it_and_no_more(databases: Databases, tmp_path: Path) -> None:
    captures = begun(databases, tmp_path, NOT_2)
    with psycopg.connect(captures.source) as connection:
        connection.execute("INSERT INTO hr.t VALUES (1)")
        with pytest.raises(psycopg.errors.RaiseException, match="not today"), connection.transaction():
            connection.execute("INSERT INTO hr.t VALUES (10)")
            connection.execute("INSERT INTO hr.t VALUES (11), (2)")
        connection.execute("INSERT INTO hr.t VALUES (3)")
    assert keys(captures) == [1, 3]
    assert captured(captures) == [("seen", "1"), ("seen", "3")]
    captures.capture(rule(), custom(None))
    captures.at_source("INSERT INTO hr.t VALUES (2)")
    assert captured(captures)[2:] == [("t", "2")]


@pytest.mark.req("ST-Y-07", "ST-R-09")
def test_a_transaction_that_fails_can_not_be_prepared_and_another_one_comes_once(
    databases: Databases, tmp_path: Path
) -> None:
    captures = begun(databases, tmp_path, NOT_2)
    name = f"fault_{captures.source[-8:]}"
    with psycopg.connect(captures.source, autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO hr.t VALUES (1)")
        with pytest.raises(psycopg.errors.RaiseException):
            connection.execute("INSERT INTO hr.t VALUES (2)")
        connection.execute(f"PREPARE TRANSACTION '{name}'".encode())  # rolls it back: it has failed
        assert connection.execute("SELECT gid FROM pg_prepared_xacts WHERE gid = %s", [name]).fetchall() == []
        connection.execute("BEGIN")
        connection.execute("INSERT INTO hr.t VALUES (3)")
        connection.execute(f"PREPARE TRANSACTION '{name}'".encode())
        assert captured(captures) == []
        connection.execute(f"COMMIT PREPARED '{name}'".encode())
    for _ in range(2):
        assert captured(captures) == [("seen", "3")]
    assert keys(captures) == [3]


@pytest.mark.req("ST-R-09")
def test_what_is_rolled_back_leaves_nothing_of_what_the_function_has_made(databases: Databases, tmp_path: Path) -> None:
    captures = begun(databases, tmp_path, NOT_2)
    with psycopg.connect(captures.source) as connection:
        connection.execute("INSERT INTO hr.t VALUES (1)")
        connection.rollback()
        connection.execute("INSERT INTO hr.t VALUES (3)")
    assert captured(captures) == [("seen", "3")]
    assert captures.rows("SELECT count(*) FROM ddlrepl.captured_lcrs") == [(0,)]


@pytest.mark.req("ST-Y-07", "ST-Y-08")
def test_a_function_that_hangs_ends_with_the_timeout_of_the_statement(databases: Databases, tmp_path: Path) -> None:
    """The server ends it as any other statement; the row is not there, and nothing of it is captured."""
    captures = begun(databases, tmp_path, HANGS)
    with psycopg.connect(captures.source, autocommit=True) as connection:
        connection.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("INSERT INTO hr.t VALUES (1)")
    assert (keys(captures), captured(captures)) == ([], [])
    captures.capture(rule(), custom(None))
    captures.at_source("INSERT INTO hr.t VALUES (1)")
    assert captured(captures) == [("t", "1")]
