"""A target that has the parameters of a GoldenGate Replicat: which tables go there, and what runs there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.replayable import HORIZON, captured, read
from tests.support.replica import Make, Replica, may_differ
from tests.support.replicating import MAPS, columns, replicat


def tables(replica: Replica) -> list[str]:
    found = replica.rows(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
        " WHERE relkind = 'r' AND nspname IN ('hr', 'bk', 'public', 'oe') ORDER BY 1"
    )
    return [name for (name,) in found]


def test_rows_of_mapped_tables_alone_go_there_under_the_target_s_names(make: Make, databases: Any) -> None:
    made = replicat(make, databases, exclude=["hr.tmp"])
    assert tables(made) == ["bk.bak_pay"]
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)", "INSERT INTO hr.tmp VALUES (2)", "INSERT INTO other VALUES (2)")
    made.at_source("UPDATE hr.pay SET v = 7 WHERE id = 1", "TRUNCATE hr.tmp")
    done = made.settle()
    assert made.rows("SELECT id, v FROM bk.bak_pay ORDER BY 1") == [(1, 7), (2, 2)]
    assert done.discarded == {
        "hr.tmp: no MAP of the target's replicat lists the table": 1,
        "public.other: no MAP of the target's replicat lists the table": 1,
    }


def test_statements_run_between_the_rows_with_the_target_s_names(make: Make, databases: Any) -> None:
    made = replicat(make, databases)
    made.at_source(
        "BEGIN; UPDATE hr.pay SET v = 2; ALTER TABLE hr.pay ADD note text DEFAULT 'hr.pay', ADD CHECK (v < 100);"
        " UPDATE hr.pay SET note = 'new'; COMMIT",
        "CREATE INDEX by_v ON hr.pay (v)",
        "CREATE TABLE hr.line (id int PRIMARY KEY, pay int REFERENCES hr.pay)",
        "INSERT INTO hr.line VALUES (1, 1)",
        "ALTER TABLE hr.pay RENAME TO wage",
        "INSERT INTO hr.wage VALUES (2, 2)",
        "SET search_path = hr; ALTER TABLE wage ADD more int",
        "DROP TABLE hr.tmp",
    )
    plans = [sql for plan in made.plan().targets["warehouse"] for sql in plan.sql]
    assert "ALTER TABLE bk.bak_pay RENAME TO bak_wage" in plans
    done = made.settle()
    assert done.refresh.tables == {}
    assert tables(made) == ["bk.bak_line", "bk.bak_wage"]
    assert columns(made, "bk.bak_wage") == "id v note more"
    assert made.rows("SELECT id, v, note FROM bk.bak_wage ORDER BY 1") == [(1, 2, "new"), (2, 2, "hr.pay")]
    assert made.rows("SELECT indexrelid::regclass::text FROM pg_index WHERE indexrelid = 'bk.bak_by_v'::regclass")
    ((to,),) = made.rows(
        "SELECT confrelid::regclass::text FROM pg_constraint WHERE confrelid != 0 AND connamespace = 'bk'::regnamespace"
    )
    assert to == "bk.bak_wage"


def test_what_a_clause_excludes_is_told_and_changes_nothing(make: Make, databases: Any) -> None:
    ddl = {"include": [{"scope": "MAPPED"}], "exclude": [{"objname": "bk.bak_tmp"}, {"objtype": "INDEX"}]}
    made = replicat(make, databases, ddl=ddl)
    made.at_source("ALTER TABLE hr.tmp ADD x int", "ALTER TABLE hr.pay ADD x int", "CREATE INDEX by_v ON hr.pay (v)")
    made.at_source("INSERT INTO hr.tmp VALUES (2, 2)")
    done = made.replicate()
    assert (columns(made, "bk.bak_tmp"), columns(made, "bk.bak_pay")) == ("id", "id v x")
    assert done.discarded == {
        "hr.tmp: Replicat discards it: exclude[0] is true: OBJNAME bk.bak_tmp": 1,
        "hr.pay: Replicat discards it: exclude[1] is true: OBJTYPE INDEX": 1,
    }
    assert made.rows("SELECT id FROM bk.bak_tmp ORDER BY 1") == [(1,), (2,)]
    assert len(may_differ(made)) == 2


OE = ("CREATE SCHEMA oe", "CREATE TABLE oe.t (id int PRIMARY KEY)")


@pytest.mark.req("GG-R-07", "GG-R-37")
def test_statements_on_tables_that_no_map_lists_run_in_their_schema(make: Make, databases: Any) -> None:
    """The target has such tables by somebody else; the search path is the run's again for what comes next."""
    ddl = {"include": [{"scope": "ALL"}], "exclude": [{"scope": "UNMAPPED", "objname": "public.*"}]}
    made = replicat(make, databases, *OE, ddl=ddl)
    made.at_target(*OE)
    made.at_source(
        "SET search_path = oe; ALTER TABLE t ADD note text",
        "ALTER TABLE hr.pay ADD x int",
        "ALTER TABLE public.other ADD y int",
        "INSERT INTO hr.pay VALUES (2, 2, 2)",
    )
    done = made.replicate()
    assert columns(made, "oe.t") == "id note"
    assert made.rows("SELECT id, x FROM bk.bak_pay ORDER BY 1") == [(1, None), (2, 2)]
    assert list(done.discarded) == ["public.other: Replicat discards it: exclude[0] is true: UNMAPPED OBJNAME public.*"]
    made.at_source("DROP TABLE oe.t")
    made.replicate()
    assert tables(made) == ["bk.bak_pay", "bk.bak_tmp"]


def test_a_table_that_gets_a_mapped_name_joins_and_one_that_loses_it_is_refused(make: Make, databases: Any) -> None:
    made = replicat(
        make, databases, maps=[{"source": "hr.p*", "target": "bk.*"}], ddl={"include": [{"scope": "MAPPED"}]}
    )
    made.at_source(
        "INSERT INTO hr.tmp VALUES (2)", "ALTER TABLE hr.tmp RENAME TO pending", "INSERT INTO hr.pending VALUES (3)"
    )
    made.replicate()
    made.replicate()
    assert made.rows("SELECT id FROM bk.pending ORDER BY 1") == [(1,), (2,), (3,)]
    made.at_source("ALTER TABLE hr.pending RENAME TO tmp", "INSERT INTO hr.tmp VALUES (4)")
    done = made.replicate()
    assert made.rows("SELECT id FROM bk.pending ORDER BY 1") == [(1,), (2,), (3,)]
    assert set(done.discarded) == {
        "hr.tmp: Replicat discards it: no include clause is true",
        "hr.tmp: no MAP of the target's replicat lists the table",
    }


def test_a_rewind_runs_the_statements_as_replicat_does(make: Make, databases: Any, past: str) -> None:
    replays = [{"name": "past", "location": past, "replicat": {"maps": MAPS}}]
    made = replicat(make, databases, settings={"rewind_horizon": HORIZON, "replays": replays})
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)", "ALTER TABLE hr.pay ADD x int DEFAULT 4, ADD CHECK (v < 100)")
    made.settle()
    before = captured(made)
    made.at_source("INSERT INTO hr.pay VALUES (3, 3)", "ALTER TABLE hr.pay DROP v")
    made.settle()
    made.rewind(before)
    assert read(past, "SELECT to_jsonb(t) FROM bk.bak_pay t ORDER BY id LIMIT 1") == [({"id": 1, "v": 1, "x": 4},)]
    made.at_target("DELETE FROM bk.bak_pay")
    made.rewind(before, "warehouse")
    made.settle()


def test_statements_run_on_tables_whose_columns_map_names(make: Make, databases: Any) -> None:
    """A new table of that kind is made as its options say: the source's text would make another one."""
    colmap = {"use_defaults": True, "columns": {"amount": "v", "origin": "'a'"}}
    maps = [{"source": "hr.*", "target": "bk.*", "colmap": colmap}]
    made = replicat(make, databases, maps=maps, exclude=["hr.tmp"])
    made.at_source("ALTER TABLE hr.pay ADD x int", "INSERT INTO hr.pay VALUES (2, 2, 2)")
    made.at_source("CREATE TABLE hr.new (id int PRIMARY KEY, v int)", "INSERT INTO hr.new VALUES (3, 3)")
    made.replicate()
    assert made.rows("SELECT id, amount, origin, x FROM bk.pay ORDER BY 1") == [(1, 1, "a", None), (2, 2, "a", 2)]
    assert made.rows("SELECT id, amount, origin FROM bk.new") == [(3, 3, "a")]
