"""Triggers and rules of the target's own, where the role may not set session_replication_role."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file
from tests.support.small_roles import small_replica

CHANGES = "CREATE FUNCTION ch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := ''changed''; RETURN NEW; END'"
DROPS = "CREATE FUNCTION ch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
TRIGGER = "CREATE TRIGGER ch BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION ch()"
RULE = "CREATE RULE r AS ON INSERT TO t DO INSTEAD NOTHING"
WRITES = ("UPDATE t SET v = 'b' WHERE id = 1", "INSERT INTO t VALUES (5, 'x')", "DELETE FROM t WHERE id = 2")


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Replica:
    made = small_replica(databases, tmp_path)
    made.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t SELECT i, 'v' FROM generate_series(1, 3) i"
    )
    made.activate()
    return made


def warnings(result: object) -> str:
    return " ".join(result.integrate.warnings)  # type: ignore[attr-defined]


@pytest.mark.parametrize("own", [[CHANGES, TRIGGER], [DROPS, TRIGGER], [RULE]], ids=["changes", "drops", "rule"])
def test_they_rest_while_rows_are_merged(replica: Replica, own: list[str]) -> None:
    replica.at_target(*own)
    replica.at_source(*WRITES)
    assert warnings(replica.settle()) == ""
    enabled = "SELECT tgenabled::text FROM pg_trigger WHERE tgrelid = 't'::regclass AND NOT tgisinternal UNION ALL"
    assert replica.rows(f"{enabled} SELECT ev_enabled::text FROM pg_rewrite WHERE ev_class = 't'::regclass") == [("O",)]


def test_a_trigger_of_a_partitioned_table_rests(replica: Replica) -> None:
    replica.at_source(
        "CREATE TABLE p (id int, v text) PARTITION BY LIST (id)", "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)"
    )
    replica.settle()
    replica.at_target(CHANGES, TRIGGER.replace("ON t", "ON p"))
    replica.at_source("INSERT INTO p VALUES (1, 'x')", "UPDATE p SET v = 'y'", "INSERT INTO p VALUES (1, 'z')")
    replica.settle()


def test_one_that_is_to_fire_always_is_told(replica: Replica) -> None:
    replica.at_target(CHANGES, TRIGGER, "ALTER TABLE t ENABLE ALWAYS TRIGGER ch")
    replica.at_source("INSERT INTO t VALUES (5, 'x')")
    assert "trigger ch of the target's table" in warnings(replica.replicate())


def test_the_table_of_another_role_is_told(replica: Replica) -> None:
    (loader,) = replica.rows("SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 't'::regclass")[0]
    replica.at_target(CHANGES, TRIGGER, "ALTER TABLE t OWNER TO postgres", f'GRANT ALL ON t TO "{loader}"')
    replica.at_source("INSERT INTO t VALUES (5, 'x')")
    told = warnings(replica.replicate())
    assert "trigger ch of the target's table" in told and "GRANT SET ON PARAMETER session_replication_role" in told


def test_rows_that_a_trigger_takes_are_told_with_it(replica: Replica) -> None:
    replica.at_target(DROPS, TRIGGER, "ALTER TABLE t ENABLE ALWAYS TRIGGER ch")
    replica.at_source("UPDATE t SET v = 'b' WHERE id = 1")
    with pytest.raises(TargetError, match="INT-101") as refused:
        replica.replicate()
    assert "the target's table has trigger ch" in refused.value.hint


def test_one_among_altered_tables_is_told_where_no_other_fires(databases: Databases, tmp_path: Path) -> None:
    """This role skips triggers, but for those that fire always: tables without any are found all together."""
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*(f"CREATE TABLE {name} (id int PRIMARY KEY, v text)" for name in ("t", "u")))
    replica.activate()
    replica.at_target(CHANGES, TRIGGER, "ALTER TABLE t ENABLE ALWAYS TRIGGER ch")
    for table in ("t", "u"):
        replica.at_source(f"INSERT INTO {table} VALUES (1, 'x')", f"ALTER TABLE {table} RENAME TO {table}2")
        replica.at_source(f"INSERT INTO {table}2 VALUES (2, 'x')")
    told = replica.replicate()
    both = [*told.adapt.warnings, *told.integrate.warnings]
    assert any("trigger ch of the target's table" in one for one in both)
    assert not any(".u" in one or "u2" in one for one in both)
    assert replica.rows("SELECT v FROM t2 UNION ALL SELECT v FROM u2 ORDER BY 1") == [
        ("changed",),
        ("changed",),
        ("x",),
        ("x",),
    ]
