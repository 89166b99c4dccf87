"""Which statement of a query string a DDL record stands for: the right one, or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_ddlrepl.ddl.sql.query_string import ByTransaction, split, with_statements
from airflow_ddlrepl.ddl.sql.statement import RUN
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table

CUT = {
    "ALTER TABLE a ADD x int; ALTER TABLE b DROP y": ["ALTER TABLE", "ALTER TABLE"],
    "begin;\nALTER TABLE a ADD x text DEFAULT ';' /* ; */; -- ;\n insert into a values ($$;$$); COMMIT;": [
        "",
        "ALTER TABLE",
        "",
        "",
    ],
    "CREATE UNLOGGED TABLE a (g int GENERATED ALWAYS AS (1) STORED); CREATE TABLE b AS SELECT 1": [
        "CREATE TABLE",
        "CREATE TABLE AS",
    ],
    "CREATE TEMP TABLE a (x int); CREATE UNIQUE INDEX ON a (x); DROP INDEX i; select 1": [
        "",
        "CREATE INDEX",
        "DROP INDEX",
        "",
    ],
    "CREATE RULE r AS ON INSERT TO a DO ALSO (DELETE FROM b; DELETE FROM c); ALTER TYPE t ADD VALUE 'x;'": [
        "CREATE RULE",
        "ALTER TYPE",
    ],
    'ALTER TABLE "a;b" ADD x int;;': ["ALTER TABLE"],
    "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$; DROP FUNCTION f": [
        "CREATE FUNCTION",
        "DROP FUNCTION",
    ],
    "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON a EXECUTE FUNCTION f(); CREATE RECURSIVE VIEW v (a) AS SELECT 1;"
    "CREATE MATERIALIZED VIEW m AS SELECT 1; CREATE TEMP VIEW w AS SELECT 1": [
        "CREATE TRIGGER",
        "CREATE VIEW",
        "CREATE MATERIALIZED VIEW",
        "",
    ],
    "COMMENT ON VIEW v IS 'a;b'; GRANT SELECT ON v TO public; GRANT a TO b; REVOKE ALL ON v FROM b": [
        "COMMENT",
        "GRANT",
        "",
        "REVOKE",
    ],
}
UNSAFE = (
    r"ALTER TABLE a ADD x text DEFAULT 'a\'; ALTER TABLE b ADD y int; --'",
    "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END; ALTER TABLE a ADD x int",
    "ALTER TABLE a ADD x int; COMMIT; ALTER TABLE a ADD y int",
    "BEGIN; ALTER TABLE a ADD x int; ROLLBACK TO s; ALTER TABLE a ADD x int",
    "ALTER TABLE a ADD x int; PREPARE TRANSACTION 'x'",
)


@pytest.mark.parametrize("query", CUT)
def test_where_statements_end(query: str) -> None:
    assert [one.tag for one in split(query)] == CUT[query]
    assert all(one.text in query and not one.text.endswith(";") for one in split(query))


@pytest.mark.parametrize("query", UNSAFE)
def test_what_can_not_be_cut_for_certain(query: str) -> None:
    assert split(query) == ()


def record(query: str, tag: str, table: str, run: str | None = "1", xid: int = 7, **more: Any) -> Event:
    settings = {RUN: run} if run else {}
    event = Event(EventKind.DDL, LogKey(1, 1), xid, 0, tag=tag, query=query, settings=settings)
    return replace(event, tables=(Table(1, TableName("public", table), ()),), **more)


def told(*events: Event) -> list[str | None]:
    return [event.statement for event in with_statements(events)]


QUERY = "ALTER TABLE a ADD x int; INSERT INTO a VALUES (1); CREATE TABLE b (); ALTER TABLE b ADD y int"


def test_each_record_has_its_own() -> None:
    records = [record(QUERY, *of) for of in (("ALTER TABLE", "a"), ("CREATE TABLE", "b"), ("ALTER TABLE", "b"))]
    assert told(*records) == ["ALTER TABLE a ADD x int", "CREATE TABLE b ()", "ALTER TABLE b ADD y int"]
    taken = ByTransaction()
    found = [
        *taken.take(records[:1]),
        *taken.take([*records[1:], record("", "ALTER TABLE", "c", xid=8)]),
        *taken.rest(),
    ]
    assert [event.statement for event in found] == [*told(*records), None]


def test_one_that_was_skipped_or_is_missing_leaves_its_tag_unknown() -> None:
    assert told(record(QUERY, "ALTER TABLE", "b"), record(QUERY, "CREATE TABLE", "b")) == [None, "CREATE TABLE b ()"]


def test_a_record_of_another_table_leaves_them_unknown() -> None:
    """A run that no statement of the string explains."""
    assert told(record(QUERY, "ALTER TABLE", "b"), record(QUERY, "ALTER TABLE", "a")) == [None, None]


def test_runs_of_one_string_are_told_apart() -> None:
    query = "ALTER TABLE a ADD x int; ALTER TABLE a DROP x"
    twice = [record(query, "ALTER TABLE", "a", run) for run in ("1", "1", "2", "2")]
    assert told(*twice) == ["ALTER TABLE a ADD x int", "ALTER TABLE a DROP x"] * 2


def test_what_is_nested_or_known_stays_as_it_is() -> None:
    nested, known = record(QUERY, "ALTER TABLE", "a", None), record(QUERY, "ALTER TABLE", "a", statement="known")
    assert told(nested, known) == [None, "known"]
    assert told(record(QUERY, "ALTER TABLE", "a", None), *[record(QUERY, "ALTER TABLE", t) for t in "ab"])[1:] == [
        "ALTER TABLE a ADD x int",
        "ALTER TABLE b ADD y int",
    ]
