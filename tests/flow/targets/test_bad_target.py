"""A target that lacks a right, holds somebody else's rows, or forgot us: said, and nothing half done."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.refusing import ask, edit, new_replica, refused
from tests.support.replica import Replica, run

TABLES = "select count(*) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return new_replica(databases, tmp_path)


def test_a_target_role_without_rights(databases: Any, replica: Replica) -> None:
    database = replica.target.rpartition("/")[2]
    role = f"poor_{database}"
    databases.server.create_role(role)
    edit(replica.file, replica.target, databases.server.dsn(database, role))
    error = refused(replica, "activate", "TGT-102")
    assert f"GRANT CREATE ON DATABASE {database} TO {role}" in error.hint
    assert replica.rows("select to_regnamespace('ddlrepl')::text") == [(None,)]
    replica.at_target(f"GRANT CREATE ON DATABASE {database} TO {role}")
    error = refused(replica, "activate", "ADP-131")
    assert "permission denied for schema public" in error.message and "CREATE in its schema" in error.hint
    replica.at_target(f"GRANT CREATE ON SCHEMA public TO {role}")
    replica.activate()
    replica.check_equal()

    replica.at_target("alter table t owner to postgres")
    replica.at_source("insert into t values (2, 'two')")
    assert "permission denied for table t" in refused(replica, "replicate", "INT-105").message
    assert replica.rows("table t") == [(1, "one")]
    replica.at_target(f"alter table t owner to {role}")
    replica.settle()
    run(replica.target, f"REASSIGN OWNED BY {role} TO postgres", f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_filled_table_that_is_not_ours(replica: Replica) -> None:
    """Refused until the channel says that it may be overwritten."""
    replica.at_source("create table u (id int primary key)", "insert into u values (1)")
    replica.at_target("create table t (id int, old text)", "insert into t values (99, 'precious')")
    error = refused(replica, "activate", "ADP-120")
    assert error.table == "public.t" and "existing_tables: replace" in error.hint
    assert replica.rows("table t") == [(99, "precious")]
    edit(replica.file, "- name: warehouse\n", "- name: warehouse\n  existing_tables: replace\n")
    replica.activate()
    replica.settle()


def test_an_empty_table_that_is_not_ours_is_taken(replica: Replica) -> None:
    replica.at_target("create table t (id int, old text)")
    replica.activate()
    replica.settle()
    assert replica.rows("select * from t") == ask(replica.source, "select * from t") != []


def test_the_target_forgot_us(replica: Replica) -> None:
    """Its state is gone (restored from an old backup, schema dropped by hand)."""
    replica.activate()
    replica.at_source("insert into t values (2, 'two')")
    replica.at_target("drop schema ddlrepl cascade", "delete from t")
    error = refused(replica, "replicate", "TGT-101")
    assert "existing_tables: replace" in error.hint and "ddlrepl activate" in error.hint
    replica.at_target("insert into t values (5, 'restored')")
    assert refused(replica, "activate", "ADP-120").table == "public.t"
    edit(replica.file, "- name: warehouse\n", "- name: warehouse\n  existing_tables: replace\n")
    replica.activate()
    replica.settle()


def test_rows_changed_by_hand_in_the_target(replica: Replica) -> None:
    """Not guessed over: named, and a refresh mends it."""
    replica.activate()
    replica.at_target("delete from t")
    replica.at_source("update t set v = 'changed'", "create table after (id int primary key)")
    error = refused(replica, "replicate", "INT-101")
    assert error.table == "public.t" and "refresh" in error.hint
    assert replica.rows("select to_regclass('after')::text") == [("after",)]
    replica.at_target("insert into t values (1, 'one')")
    replica.settle()


@pytest.mark.parametrize("extension", ["citext", "hstore"])
def test_a_type_of_an_extension_that_the_target_lacks(
    databases: Any, replica: Replica, extension: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It travels as text, with a warning."""
    value = {"citext": "Ab", "hstore": '"a"=>"1"'}[extension]
    replica.at_source(f"create extension {extension}")
    replica.at_source(f"create table old (id int primary key, x {extension})", f"insert into old values (1, '{value}')")
    replica.activate()
    replica.at_source(f"create table made (id int primary key, x {extension}, xs {extension}[])")
    replica.at_source(f"insert into made values (1, '{value}', array['{value}'::{extension}])")
    replica.at_source(f"update old set x = '{value}' where id = 1")
    with caplog.at_level(logging.WARNING):
        result = replica.replicate()
    assert any("text" in w and extension in w for w in result.adapt.warnings), result.adapt.warnings
    assert replica.rows("select x::text from made union select x::text from old") == [(value,)]
    types = "select distinct format_type(atttypid, atttypmod) from pg_attribute where attrelid in"
    assert replica.rows(f"{types} ('old'::regclass, 'made'::regclass) and attname = 'x'") == [("text",)]
    replica.check_equal()
    assert ask(databases.target, "select 1 from pg_extension where extname <> 'plpgsql'") == []


def test_a_table_made_anew_has_a_generated_column_over_one_of_another_type(replica: Replica) -> None:
    replica.at_source("create table g (id numeric primary key, up text generated always as (id::text || '!') stored)")
    replica.activate()
    replica.at_source("insert into g values (1.5)")
    replica.settle()
    replica.at_source(
        "drop table g",
        "create table g (id int primary key, up text generated always as (id::text || '!') stored)",
        "insert into g values (7)",
    )
    replica.settle()
    assert replica.rows("select * from g") == [(7, "7!")]
