"""New tables without rows are created at the target in their places, many at once; nothing of them is loaded."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.load import empty_tables
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import source_snapshot
from airflow_ddlrepl.errors import CannotAdapt, StrangeOwner
from airflow_ddlrepl.flow.refresh import empty_tables as created_tables
from airflow_ddlrepl.flow.refresh import table_loader
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file, run

PARTS = """
SELECT c.relname, c.relkind::text, coalesce(i.indisprimary, false)
FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i', 'S') ORDER BY 1
"""


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))


def created(caplog: pytest.LogCaptureFixture) -> list[int]:
    """How many tables were created at once, each time."""
    first, _, last = created_tables.CREATED.partition("%d")
    told = (record.getMessage() for record in caplog.records)
    return [int(text.removeprefix(first).removesuffix(last)) for text in told if text.endswith(last)]


def test_tables_without_rows_are_created_as_loaded_ones_are(
    replica: Replica, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(created_tables, "AT_ONCE", 2)
    columns = "(id int GENERATED ALWAYS AS IDENTITY, code varchar(8) NOT NULL, note text, PRIMARY KEY (code, id))"
    for name in ("a", "b", "c", "d"):
        replica.at_source(f"CREATE TABLE {name} {columns}")
    replica.at_source("CREATE SCHEMA s", f"CREATE TABLE s.e {columns}", "INSERT INTO d (code) VALUES ('x')")
    replica.file.write_text(replica.file.read_text().replace('"public.*"', '"*.*"'))
    replica.at_target("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO PUBLIC")
    with caplog.at_level(logging.INFO, "ddlrepl"):
        replica.begin()
    assert created(caplog) == [2, 2]
    parts = {
        name: [(part.replace(name, "T", 1), *rest) for part, *rest in replica.rows(PARTS) if part[0] == name]
        for name in "ad"
    }
    assert parts["a"] == parts["d"] != []
    rights = replica.rows(
        "SELECT relname, has_table_privilege('pg_monitor', oid, 'SELECT') FROM pg_class WHERE relname IN ('a', 'd')"
    )
    assert sorted(rights) == [("a", True), ("d", True)]
    replica.at_source(
        "INSERT INTO a (code) VALUES ('y')", "INSERT INTO s.e (code) VALUES ('z')", "ALTER TABLE b ADD n int"
    )
    replica.settle()
    assert replica.rows("SELECT code FROM a UNION ALL SELECT code FROM s.e ORDER BY 1") == [("y",), ("z",)]


def test_a_table_that_has_a_page_is_loaded_whoever_sees_its_row(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    replica.at_source("CREATE TABLE early (id int PRIMARY KEY)", "CREATE TABLE late (id int PRIMARY KEY)")
    replica.at_source(
        "CREATE TABLE emptied (id int PRIMARY KEY)", "INSERT INTO emptied VALUES (1)", "DELETE FROM emptied"
    )
    with caplog.at_level(logging.INFO, "ddlrepl"):
        replica.begin()
    assert created(caplog) == [2]  # one has a page
    with psycopg.connect(replica.source) as writer:
        writer.execute("INSERT INTO early VALUES (1)")
        found = writer.execute("SELECT 'early'::regclass::oid::bigint, 'late'::regclass::oid::bigint").fetchone()
        assert found is not None
        with source_snapshot(replica.source, list(found)) as snapshot:
            assert snapshot.empty == {found[1]}  # the other one has a page, whoever sees its row
    replica.at_source("INSERT INTO late VALUES (2)")
    replica.settle()


def test_a_table_whose_rows_may_be_elsewhere_is_loaded(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    method = "CREATE ACCESS METHOD stored_elsewhere TYPE TABLE HANDLER heap_tableam_handler"
    replica.at_source(method, "CREATE TABLE a (id int PRIMARY KEY) USING stored_elsewhere")
    with caplog.at_level(logging.INFO, "ddlrepl"):
        replica.begin()
    assert created(caplog) == []
    assert replica.rows("SELECT count(*) FROM a") == [(0,)]


def test_a_name_that_is_taken_leaves_tables_to_their_loads(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    replica.at_source("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    replica.at_target("CREATE SEQUENCE b")
    with caplog.at_level(logging.INFO, "ddlrepl"), pytest.raises(CannotAdapt) as refused:
        replica.activate()
    assert refused.value.table == "public.b"
    assert created(caplog) == []
    assert replica.rows("SELECT count(*) FROM a") == [(0,)]
    assert replica.rows("SELECT relkind::text FROM pg_class WHERE relname = 'b'") == [("S",)]


def test_what_a_stranger_makes_meanwhile_is_not_used(
    databases: Databases, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = f"stranger_{databases.target.rsplit('/', 1)[1]}"
    databases.server.create_role(stranger)
    replica.at_source("CREATE SCHEMA s", "CREATE TABLE s.a (id int PRIMARY KEY)")
    replica.file.write_text(replica.file.read_text().replace('"public.*"', '"*.*"'))

    def looked_at(_: Any, loads: Any) -> Any:
        replica.at_target(f'CREATE SCHEMA s AUTHORIZATION "{stranger}"')
        return loads

    monkeypatch.setattr(table_loader, "_of_trusted_owners", looked_at)
    try:
        with pytest.raises(StrangeOwner, match=stranger):
            replica.activate()
        assert replica.rows("SELECT to_regclass('s.a')") == [(None,)]
    finally:
        run(replica.target, f'DROP OWNED BY "{stranger}" CASCADE', f'DROP ROLE "{stranger}"')


def test_a_run_that_is_killed_while_tables_are_created_leaves_none_half(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(name: str) -> None:
        raise KeyboardInterrupt(name)

    replica.at_source("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt, match=r"refresh.transaction"):
        patched.setattr(empty_tables, "reach", end)
        replica.activate()
    assert replica.rows("SELECT to_regclass('a'), to_regclass('b')") == [(None, None)]
    replica.at_source("INSERT INTO a VALUES (1)")
    replica.activate()
    replica.settle()
