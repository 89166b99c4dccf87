"""Many statements in one query string: each schema change is known by its own text, so that none needs a refresh."""

from __future__ import annotations

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make, Replica

ROWS = (
    "CREATE TABLE t (id int PRIMARY KEY, a int, b text)",
    "INSERT INTO t SELECT i, i, i FROM generate_series(1, 5) i",
)


def statements(replica: Replica) -> list[tuple[str, str | None]]:
    """Of the DDL records that the repository holds."""
    with flow.open_channel(replica.file, InProcess()) as run:
        found = run.repository.events(run.channel.name)
    return [(event.tag, event.statement) for event in found if event.tag.startswith(("ALTER", "CREATE", "DROP"))]


@BOTH
def test_no_refresh_where_the_text_tells_enough(make: Make) -> None:
    replica = make(*ROWS)
    replica.at_source(
        "INSERT INTO t VALUES (6); ALTER TABLE t ALTER a TYPE bigint; SELECT 'USING; x'; /* ; */"
        " ALTER TABLE t RENAME b TO c; UPDATE t SET c = 'n' WHERE id = 1; ALTER TABLE t ADD d int"
    )
    result = replica.settle()
    assert not result.refresh.tables
    assert [text for _, text in statements(replica)] == [
        "ALTER TABLE t ALTER a TYPE bigint",
        "ALTER TABLE t RENAME b TO c",
        "ALTER TABLE t ADD d int",
    ]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("BEGIN; ALTER TABLE t ADD x int; ALTER TABLE t DROP x; COMMIT",
         ["ALTER TABLE t ADD x int", "ALTER TABLE t DROP x"]),
        ("ALTER TABLE t ADD x int; DO $$ BEGIN ALTER TABLE t ADD y int; END $$; ALTER TABLE t DROP x",
         ["ALTER TABLE t ADD x int", "ALTER TABLE t ADD y int", "ALTER TABLE t DROP x"]),
        ("ALTER TABLE t ADD x int; SET timezone = 'Asia/Tokyo'; ALTER TABLE t DROP x",
         ["ALTER TABLE t ADD x int", "ALTER TABLE t DROP x"]),
        ("SELECT adds(); ALTER TABLE t ADD x int", [None, "ALTER TABLE t ADD x int"]),
        ("ALTER TABLE IF EXISTS missing ADD x int; ALTER TABLE t ADD x int", [None]),
        ("CREATE TEMP TABLE x (i int); CREATE TABLE z (i int); DROP TABLE x", ["CREATE TABLE z (i int)"]),
        ("CREATE SCHEMA s CREATE TABLE u (i int) CREATE INDEX ON u (i); ALTER TABLE t ADD x int",
         ["CREATE SCHEMA s CREATE TABLE u (i int) CREATE INDEX ON u (i)", "ALTER TABLE t ADD x int"]),
        ("ALTER TABLE t ADD x int; COMMIT; ALTER TABLE t ADD y int", [None, None]),
        ("TRUNCATE t; ALTER TABLE t ALTER a TYPE text USING a + 1; ALTER TABLE t ALTER a TYPE text USING a",
         ["ALTER TABLE t ALTER a TYPE text USING a + 1", "ALTER TABLE t ALTER a TYPE text USING a"]),
    ],
)  # fmt: skip
def test_each_record_has_its_own_text_or_none(make: Make, query: str, texts: list[str | None]) -> None:
    replica = make(*ROWS)
    replica.at_source("CREATE FUNCTION adds() RETURNS void LANGUAGE sql AS 'ALTER TABLE t ADD IF NOT EXISTS n int'")
    before = len(statements(replica)) if replica.capture() else 0
    replica.at_source(query)
    replica.settle()
    assert [text for _, text in statements(replica)][before:] == texts


def test_one_string_is_run_twice_in_a_transaction(make: Make) -> None:
    replica = make(*ROWS)
    query = "ALTER TABLE t ADD x int; ALTER TABLE IF EXISTS missing ADD x int; ALTER TABLE t DROP x"
    with psycopg.connect(replica.source) as connection:
        connection.execute(query)
        connection.execute(query.replace("ALTER TABLE IF EXISTS missing ADD x int; ", ""))
        connection.execute(query.replace("ALTER TABLE IF EXISTS missing ADD x int; ", ""))
    replica.settle()
    assert [text for _, text in statements(replica)] == [
        None,
        None,
        *["ALTER TABLE t ADD x int", "ALTER TABLE t DROP x"] * 2,
    ]


def test_the_texts_are_replayed(make: Make) -> None:
    replica = make(*ROWS, replay_ddl=[{"tables": ["*.*"]}], adapt_ddl=[])
    replica.at_source("ALTER TABLE t ADD x int; INSERT INTO t VALUES (9); ALTER TABLE t ADD CHECK (id > 0)")
    replica.settle()
    assert replica.rows("SELECT count(*) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'c'") == [(1,)]
