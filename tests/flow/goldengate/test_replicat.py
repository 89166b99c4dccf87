"""A target that has the parameters of a GoldenGate Replicat: which tables go there, and what runs there."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.support.replica import Make, Replica

START = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.pay (id int PRIMARY KEY, v int)",
    "CREATE TABLE hr.tmp (id int PRIMARY KEY)",
    "CREATE TABLE other (id int PRIMARY KEY)",
    "INSERT INTO hr.pay VALUES (1, 1)",
    "INSERT INTO hr.tmp VALUES (1)",
)
MAPS = [{"source": "hr.*", "target": "bk.bak_*"}]


def replicat(make: Make, databases: Any, **parameters: Any) -> Replica:
    """A channel whose target has a Replicat, which maps schema hr to bk unless `parameters` say otherwise."""
    with psycopg.connect(databases.target, autocommit=True) as session:
        session.execute("CREATE SCHEMA IF NOT EXISTS bk")
        session.execute("GRANT ALL ON SCHEMA bk TO public")
    target = {"name": "warehouse", "location": databases.target, "replicat": {"maps": MAPS, **parameters}}
    return make(*START, adapt_ddl=[], targets=[target])


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


def test_several_targets_of_a_table_are_refused(make: Make, databases: Any) -> None:
    maps = [*MAPS, {"source": "hr.pay", "target": "bk.second"}]
    with pytest.raises(DdlReplError, match=r"ADP-180: .*several tables of hr.pay: bk.bak_pay, bk.second"):
        replicat(make, databases, maps=maps)
