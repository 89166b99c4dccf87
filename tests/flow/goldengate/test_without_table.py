"""Statements about no table of the channel: views, comments, sequences, functions, privileges, and DROP INDEX."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.support.replica import BOTH, Make, Replica
from tests.support.replicating import columns, replicat

KINDS = ["view", "function", "grant", "trigger", "type"]
ALL = {"extract": {"tables": ["hr.*"], "ddl": {}}}


def comment(replica: Replica, table: str) -> str:
    ((found,),) = replica.rows(f"SELECT obj_description('{table}'::regclass)")
    return str(found)


def exists(replica: Replica, *relations: str) -> list[bool]:
    return [replica.rows(f"SELECT to_regclass('{one}') IS NOT NULL")[0][0] for one in relations]


@BOTH
@pytest.mark.req("GG-E-30", "GG-R-18", "GG-R-19")
def test_every_statement_runs_in_its_place_among_the_rows(make: Make, databases: Any) -> None:
    """With `ddl: {}` at Extract and without `ddl` at Replicat."""
    made = replicat(make, databases, code=KINDS, settings={"source": ALL})
    made.at_source(
        "CREATE SEQUENCE hr.numbers START 7",
        "COMMENT ON TABLE hr.pay IS 'wages of hr.pay'",
        "COMMENT ON COLUMN hr.pay.v IS 'a value'",
        "CREATE VIEW hr.high AS SELECT id, v FROM hr.pay WHERE v > 5",
        "INSERT INTO hr.pay VALUES (2, 20)",
        "CREATE FUNCTION hr.twice(a int) RETURNS int LANGUAGE sql AS 'SELECT a * 2'",
        "CREATE TYPE hr.mood AS ENUM ('good', 'bad')",
        "CREATE SCHEMA fin",
        "CREATE TABLE hr.mind (id int PRIMARY KEY, m hr.mood)",
        "INSERT INTO hr.mind VALUES (1, 'bad')",
        "GRANT SELECT ON hr.pay TO pg_monitor",
    )
    made.settle()
    assert comment(made, "bk.bak_pay") == "wages of hr.pay"
    assert made.rows("SELECT col_description('bk.bak_pay'::regclass, 2)") == [("a value",)]
    assert made.rows("SELECT id, v FROM bk.bak_high") == [(2, 20)]
    assert made.rows("SELECT nextval('bk.bak_numbers'), bk.bak_twice(4)") == [(7, 8)]
    assert made.rows("SELECT m::text FROM bk.bak_mind") == [("bad",)]
    assert made.rows("SELECT to_regnamespace('fin') IS NOT NULL") == [(True,)]
    assert made.rows("SELECT has_table_privilege('pg_monitor', 'bk.bak_pay', 'SELECT')") == [(True,)]
    made.at_source("DROP VIEW hr.high", "DROP FUNCTION hr.twice(int)", "DROP SEQUENCE hr.numbers")
    made.settle()
    assert exists(made, "bk.bak_high", "bk.bak_numbers") == [False, False]
    assert made.rows("SELECT to_regproc('bk.bak_twice') IS NULL") == [(True,)]


@BOTH
def test_an_index_that_is_dropped_belongs_to_its_table(make: Make, databases: Any) -> None:
    made = replicat(make, databases, "CREATE INDEX old ON hr.pay (v)")
    made.at_source("CREATE INDEX by_v ON hr.pay (v)", "CREATE INDEX two ON hr.pay (v, id)")
    made.settle()
    assert exists(made, "bk.bak_by_v", "bk.bak_two") == [True, True]
    made.at_source("DROP INDEX hr.by_v", "DROP INDEX hr.old", "INSERT INTO hr.pay VALUES (2, 2)")
    made.at_source(
        "DROP INDEX CONCURRENTLY hr.two", "SET search_path = hr; CREATE INDEX third ON pay (v); DROP INDEX third"
    )
    made.settle()
    assert exists(made, "bk.bak_by_v", "bk.bak_two", "bk.bak_third") == [False, False, False]


@pytest.mark.req("GG-R-05", "GG-R-38")
def test_what_can_not_be_mapped_keeps_its_names(make: Make, databases: Any) -> None:
    made = replicat(make, databases, ddl={"include": [{"scope": "OTHER"}]})
    made.at_source("CREATE SCHEMA hr2", "CREATE TYPE hr2.pair AS (a int, b int)", "COMMENT ON TABLE hr.pay IS 'x'")
    done = made.settle()
    assert made.rows("SELECT to_regtype('hr2.pair') IS NOT NULL") == [(True,)]
    assert comment(made, "bk.bak_pay") == "None"
    assert done.discarded == {"hr.pay: Replicat discards it: no include clause is true": 1}


def test_code_of_the_source_runs_where_the_file_names_its_kind_alone(make: Make, databases: Any) -> None:
    made = replicat(make, databases, code=["view"])
    made.at_source(
        "CREATE VIEW hr.all_pay AS SELECT * FROM hr.pay",
        "CREATE FUNCTION hr.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "COMMENT ON VIEW hr.all_pay IS 'all'",
    )
    done = made.settle()
    assert exists(made, "bk.bak_all_pay") == [True]
    assert comment(made, "bk.bak_all_pay") == "all"
    assert done.discarded == {"hr.f: it carries code or rights: `code: [function]` of replicat lets it run": 1}


def test_clauses_decide_about_them_at_both_sides(make: Make, databases: Any) -> None:
    ddl = {"include": [{"scope": "ALL"}], "exclude": [{"objtype": "SEQUENCE"}]}
    extract = {"tables": ["hr.*"], "ddl": {"include": [{"scope": "ALL"}], "exclude": [{"objtype": "VIEW"}]}}
    made = replicat(make, databases, ddl=ddl, code=["view"], settings={"source": {"extract": extract}})
    made.at_source("CREATE SEQUENCE hr.s", "CREATE VIEW hr.v AS SELECT 1", "COMMENT ON TABLE hr.pay IS 'told'")
    done = made.settle()
    assert exists(made, "bk.bak_s", "bk.bak_v") == [False, False]
    assert comment(made, "bk.bak_pay") == "told"
    assert done.discarded == {
        "hr.s: Replicat discards it: exclude[0] is true: OBJTYPE SEQUENCE": 1,
        "CREATE VIEW: Extract discards it: exclude[0] is true: OBJTYPE VIEW": 1,
    }


def test_what_the_target_refuses_is_for_ddlerror(make: Make, databases: Any) -> None:
    errors = [{"error": "42P07", "action": "DISCARD"}]
    made = replicat(make, databases, errors=errors)
    made.at_target("CREATE SEQUENCE bk.bak_s")
    made.at_source("CREATE SEQUENCE hr.s", "INSERT INTO hr.pay VALUES (2, 2)", "COMMENT ON TABLE hr.pay IS 'told'")
    made.settle()
    assert comment(made, "bk.bak_pay") == "told"
    made.at_source("INSERT INTO hr.pay VALUES (3, 3)", "CREATE SCHEMA n")
    made.at_target("CREATE SCHEMA n")
    with pytest.raises(DdlReplError) as failed:
        made.replicate()
    assert failed.value.code == "ADP-153"
    assert made.rows("SELECT count(*) FROM bk.bak_pay") == [(3,)]
    made.at_target("DROP SCHEMA n")
    made.settle()
    assert made.rows("SELECT to_regnamespace('n') IS NOT NULL") == [(True,)]


def test_without_an_extract_the_source_s_tables_say_what_is_captured(make: Make, databases: Any) -> None:
    made = replicat(make, databases, settings={"source": {"tables": ["hr.*"]}})
    made.at_source(
        "CREATE SCHEMA oe", "CREATE TABLE oe.t (id int)", "COMMENT ON TABLE oe.t IS 'x'", "CREATE SEQUENCE oe.s"
    )
    done = made.settle()
    assert exists(made, "oe.t", "oe.s") == [False, False]
    assert {why for why in done.discarded if "oe" not in why} == {
        "CREATE TABLE: about no table of the channel",
        "COMMENT: about no table of the channel",
        "CREATE SEQUENCE: about no table of the channel",
    }
    assert columns(made, "bk.bak_pay") == "id v"
