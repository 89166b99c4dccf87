"""Values that a server prints and does not take again: what can be mended is, the rest is one table's trouble alone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines import chunks
from airflow_ddlrepl.engines.postgres.merge import copy_arrow
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

REG_TYPES = (
    "regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator", "regproc",
    "regprocedure", "regrole", "regtype",
)  # fmt: skip
ASIDE = (
    "CREATE SCHEMA aside",
    "CREATE TABLE aside.t ()",
    "CREATE TYPE aside.e AS ENUM ()",
    "CREATE FUNCTION aside.f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OPERATOR aside.@@@ (rightarg = int, function = aside.f)",
    'CREATE COLLATION aside.c FROM "C"',
    "CREATE TEXT SEARCH DICTIONARY aside.d (template = simple)",
    "CREATE TEXT SEARCH CONFIGURATION aside.s (copy = simple)",
)
"""Objects that the channel does not replicate."""
OF_ASIDE = {
    "regclass": "aside.t",
    "regtype": "aside.e",
    "regproc": "aside.f",
    "regprocedure": "aside.f(integer)",
    "regoper": "aside.@@@",
    "regoperator": "aside.@@@(none,integer)",
    "regcollation": "aside.c",
    "regdictionary": "aside.d",
    "regconfig": "aside.s",
    "regnamespace": "aside",
}
HUGE = "numrange(0, ('1' || repeat('0', 400))::numeric + i)"


def new_replica(databases: Any, folder: Path, *statements: str, **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, **{"source": {"tables": ["public.*"]}, **more})
    made = Replica(databases.source, databases.target, file)
    made.at_source(*statements)
    return made


def test_empty_values_that_no_server_takes_in_binary_format(databases: Any, tmp_path: Path) -> None:
    """An empty tsquery, int2vector or oidvector is sent by PostgreSQL, and refused when it is received."""
    kinds = ("tsquery", "int2vector", "oidvector")
    columns = ", ".join(f"{kind}_ {kind}, {kind}_s {kind}[], {kind}_d {kind}_d" for kind in kinds)
    values = ", ".join("'', ARRAY['', '1']::" + kind + "[], ''" for kind in kinds)
    replica = new_replica(
        databases,
        tmp_path,
        *(f"CREATE DOMAIN {kind}_d AS {kind}" for kind in kinds),
        f"CREATE TABLE e (id int PRIMARY KEY, {columns})",
        f"INSERT INTO e VALUES (1, {values})",
    )
    replica.activate()
    replica.check_equal()
    replica.at_source(f"INSERT INTO e VALUES (2, {values})", "UPDATE e SET tsquery_ = '''a''' WHERE id = 1")
    replica.settle()
    replica.at_source("UPDATE e SET tsquery_ = ''", "DELETE FROM e WHERE id = 1")
    replica.settle()
    assert replica.rows("SELECT id, tsquery_::text, int2vector_::text, oidvector_::text FROM e") == [(2, "", "", "")]


@pytest.mark.parametrize("rows", [3, 3000], ids=["one chunk", "several chunks"])
def test_rows_whose_statistics_can_not_be_gathered_are_loaded(
    databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """ANALYZE takes the length of ranges as double precision."""
    monkeypatch.setattr(chunks, "MINIMUM_BYTES", 16 * 8192)
    replica = new_replica(
        databases,
        tmp_path,
        "CREATE TABLE wide (id int PRIMARY KEY, r numrange)",
        f"INSERT INTO wide SELECT i, {HUGE} FROM generate_series(1, {rows}) i",
    )
    with caplog.at_level(logging.WARNING):
        replica.activate()
    (told,) = [record.getMessage() for record in caplog.records if "statistics" in record.getMessage()]
    assert told.startswith("public.wide: ") and "out of range" in told
    replica.check_equal()


def test_changes_whose_statistics_can_not_be_gathered_are_applied(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_arrow, "ANALYZE_KEYS", 1000)
    replica = new_replica(databases, tmp_path, "CREATE TABLE wide (id int, r numrange, n int, PRIMARY KEY (id, r))")
    replica.activate()
    replica.at_source(f"INSERT INTO wide SELECT i, {HUGE} FROM generate_series(1, 2000) i")
    replica.settle()
    replica.at_source("UPDATE wide SET n = id")
    replica.settle()


def test_names_of_objects_that_are_none(databases: Any, tmp_path: Path) -> None:
    """The object id 0, and one that no object has: by themselves, in an array, in a domain, in a key."""
    replica = new_replica(
        databases,
        tmp_path,
        *(f"CREATE DOMAIN d_{kind} AS {kind}" for kind in REG_TYPES),
        *(f"CREATE TABLE n_{k} (id int PRIMARY KEY, a {k}, b {k}[], c d_{k}, d d_{k}[])" for k in REG_TYPES),
        *(f"CREATE TABLE k_{kind} (k {kind} PRIMARY KEY, v text)" for kind in REG_TYPES),
    )
    replica.activate()
    for kind in REG_TYPES:
        none = "0" if kind.startswith("regoper") else "-"
        replica.at_source(
            f"INSERT INTO n_{kind} VALUES (1, '{none}', '{{{none}}}', '{none}', '{{{none}}}')",
            f"INSERT INTO n_{kind} VALUES (2, '4294967294', '{{4294967294}}', '4294967294', '{{4294967294}}')",
            f"INSERT INTO k_{kind} VALUES ('{none}', 'a'), ('4294967294', 'b')",
        )
    replica.settle()
    for kind in REG_TYPES:
        replica.at_source(f"UPDATE n_{kind} SET id = id + 2, d = NULL", f"UPDATE n_{kind} SET c = '0'")
        replica.at_source(f"UPDATE k_{kind} SET k = '4294967293' WHERE v = 'b'", f"DELETE FROM k_{kind} WHERE v = 'a'")
    replica.settle()


@pytest.mark.parametrize("place", ["value", "key"])
def test_a_name_of_an_object_that_the_target_does_not_have(
    databases: Any, tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused for its table alone, by name, until the object is there."""
    columns = {"value": "id int PRIMARY KEY, o {kind}", "key": "id int, o {kind} PRIMARY KEY"}[place]
    tables = [f"CREATE TABLE n_{kind} ({columns.format(kind=kind)})" for kind in OF_ASIDE]
    replica = new_replica(databases, tmp_path, *ASIDE, *tables, "CREATE TABLE other (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("INSERT INTO other VALUES (1)")
    replica.at_source(*(f"INSERT INTO n_{kind} VALUES (1, '{name}')" for kind, name in OF_ASIDE.items()))
    for count in (2, 3):
        replica.at_source(f"INSERT INTO other VALUES ({count})")
        caplog.clear()
        with caplog.at_level(logging.ERROR), pytest.raises(TargetError, match="aside") as caught:
            replica.replicate()
        assert caught.value.target == "warehouse"
        told = "\n".join([str(caught.value), *caplog.messages])
        assert all(f"[table public.n_{kind}]" in told for kind in OF_ASIDE), told
        assert replica.rows("SELECT count(*) FROM other") == [(count,)]
    replica.at_target(*ASIDE)
    replica.settle()


def test_a_table_that_can_not_be_loaded_keeps_no_other_from_it(databases: Any, tmp_path: Path) -> None:
    many = [f"CREATE TABLE {name} AS SELECT 1 AS id" for name in ("a", "m", "z")]
    replica = new_replica(databases, tmp_path, *ASIDE, *many, "CREATE TABLE n AS SELECT 'aside.t'::regclass AS o")
    with pytest.raises(TargetError, match=r'"aside\.t" does not exist') as caught:
        replica.activate()
    assert (caught.value.table, caught.value.code) == ("public.n", "TGT-120")
    assert replica.rows("SELECT (SELECT id FROM a), (SELECT id FROM m), (SELECT id FROM z)") == [(1, 1, 1)]
    with flow.open_channel(replica.file, InProcess()) as run:
        tables = flow.status(run).to_json()["targets"]["warehouse"]["tables"]
    assert {table["table"] for table in tables if table["state"] != "live"} == {"public.n"}
    replica.at_source("INSERT INTO a VALUES (2)")
    with pytest.raises(TargetError):
        replica.replicate()
    assert replica.rows("SELECT count(*) FROM a") == [(2,)]
    replica.at_target(*ASIDE)
    replica.settle()


def test_a_target_that_refuses_staging_tables(databases: Any, tmp_path: Path) -> None:
    """Nothing of the transactions is applied, and the next run applies them."""
    replica = new_replica(databases, tmp_path, "CREATE TABLE t (id int PRIMARY KEY, n int)")
    replica.activate()
    replica.at_source("INSERT INTO t SELECT generate_series(1, 20000)")
    replica.settle()
    replica.at_source("UPDATE t SET n = id")
    replica.at_target(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not on Fridays'; END $$",
        "CREATE EVENT TRIGGER fridays ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION refuse()",
    )
    with pytest.raises(TargetError, match=r"INT-120: .*not on Fridays") as caught:
        replica.replicate()
    assert caught.value.retryable and caught.value.table == "public.t"
    assert replica.rows("SELECT count(n) FROM t") == [(0,)]
    replica.at_target("DROP EVENT TRIGGER fridays")
    replica.settle()
