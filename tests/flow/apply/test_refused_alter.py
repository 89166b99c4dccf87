"""OnPreserveAlterTableFail: the target refuses the ALTER of a table that stands there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import Exit
from tests.support.refusing import in_shell, refused
from tests.support.replica import Replica, channel_file, may_differ

POLICY = "on_preserve_alter_table_fail"
START = (
    "CREATE TABLE t (id int PRIMARY KEY, v varchar(12), w int, u text)",
    "INSERT INTO t VALUES (1, '1', 1, '1'), (2, '2', 2, '2')",
    "CREATE TABLE other (id int PRIMARY KEY)",
)
DAMAGED = "UPDATE t SET v = 'too long' WHERE id = 2"
NARROWED = "ALTER TABLE t ALTER v TYPE varchar(5)"
TO_INT = "ALTER TABLE t ALTER u TYPE int USING u::int"
TYPE = "SELECT atttypid::regtype::text, atttypmod FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'v'"
TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1"
Begin = Callable[..., Replica]


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """A channel with that policy; nothing but it decides about the ALTER."""

    def make(policy: str = "", **more: Any) -> Replica:
        action = {"add_table_pattern": "*", "on_enroll_break": "WARNING", **({POLICY: policy} if policy else {})}
        file = channel_file(tmp_path, databases.source, databases.target, "stop", adapt_ddl=[action], **more)
        made = Replica(databases.source, databases.target, file)
        made.at_source(*START)
        made.activate()
        return made

    return make


def change(replica: Replica, statement: str = NARROWED) -> None:
    """Rows before it, the change, rows after it; and a table that it is not about."""
    replica.at_source(
        "INSERT INTO t VALUES (3, '3', 3, '3')",
        statement,
        "INSERT INTO t VALUES (4, '4', 4, '4')",
        "INSERT INTO other VALUES (1)",
    )


@pytest.mark.parametrize("policy", ["", "REFRESH"])
def test_rows_that_stand_against_it_are_brought_anew(begin: Begin, policy: str) -> None:
    replica = begin(policy)
    replica.at_target(DAMAGED)
    change(replica)
    told = replica.settle()
    assert set(told.adapt.refreshes) == {"public.t"}
    assert "value too long" in told.adapt.refreshes["public.t"]
    assert replica.rows("SELECT id, v FROM t ORDER BY 1") == [(n, str(n)) for n in (1, 2, 3, 4)]
    change_again = "ALTER TABLE t ADD x int"
    replica.at_source(change_again)
    assert replica.settle().refresh.tables == {}


def test_what_no_refresh_would_mend_stops_the_target_before_it(begin: Begin) -> None:
    replica = begin("REFRESH")
    replica.at_target("CREATE VIEW seen AS SELECT v FROM t")
    change(replica)
    for _ in range(2):
        assert "seen" in refused(replica, "replicate", "ADP-130").message
        assert replica.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,), (3,)]
    replica.at_target("DROP VIEW seen")
    assert replica.settle().refresh.tables == {}


@pytest.mark.req("HVR-P-53", "HVR-P-55", "HVR-P-37", "HVR-P-38")
@pytest.mark.parametrize("mended", [True, False])
def test_a_breakpoint(begin: Begin, capsys: pytest.CaptureFixture[str], mended: bool) -> None:
    """Mended by hand it is made then; else the control's removal says to go on without it."""
    replica = begin("FAIL_INTEG_JOB")
    replica.at_target(DAMAGED)
    change(replica)
    for _ in range(2):
        error = refused(replica, "replicate", "CTL-101", Exit.CONTROL)
        assert "value too long" in error.message
        assert replica.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,), (3,)]
        assert replica.rows(TYPE) == [("character varying", 16)]
        if mended:
            replica.at_target("UPDATE t SET v = '2' WHERE id = 2")
    assert in_shell(capsys, "controls", "remove", str(replica.file), "1")[0] == Exit.DONE
    told = replica.replicate()
    assert replica.rows("SELECT id FROM t ORDER BY 1") == [(n,) for n in (1, 2, 3, 4)]
    assert replica.rows(TYPE) == [("character varying", 9 if mended else 16)]
    warned = [w for w in told.adapt.warnings if "the target's table is not changed" in w]
    assert warned == ([] if mended else [told.adapt.warnings[-1]])


@pytest.mark.req("HVR-P-53", "HVR-P-56", "HVR-P-57")
def test_a_warning_leaves_the_table_as_it_is(begin: Begin, caplog: pytest.LogCaptureFixture) -> None:
    replica = begin("WARNING")
    replica.at_target("UPDATE t SET w = NULL WHERE id = 2")
    change(replica, "ALTER TABLE t ALTER w SET NOT NULL, ADD more text DEFAULT 'x'")
    told = replica.replicate()
    assert len([w for w in told.adapt.warnings if "the target's table is not changed" in w]) == 1
    tried = [r.message for r in caplog.records if "contains null values" in r.message]
    assert len([said for said in tried if "the target's table is not changed" not in said]) == 1
    assert replica.rows("SELECT to_jsonb(t) FROM t WHERE id > 2 ORDER BY id") == [
        ({"id": n, "v": str(n), "w": n, "u": str(n)},) for n in (3, 4)
    ]
    replica.at_source("UPDATE t SET w = 9 WHERE id = 4")
    replica.replicate()
    assert replica.rows("SELECT w FROM t ORDER BY id") == [(1,), (None,), (3,), (9,)]
    (why,) = may_differ(replica)
    assert "on_preserve_alter_table_fail=WARNING: the target refuses" in why


@pytest.mark.req("HVR-P-54")
def test_the_rows_move_into_a_new_table(begin: Begin) -> None:
    replica = begin("CREATE_AS_SELECT")
    replica.at_target(
        "CREATE INDEX in_the_way ON t (upper(u))",
        "CREATE INDEX welcome ON t (w) WHERE w > 0",
        "CREATE UNIQUE INDEX alone ON t (w)",
        "INSERT INTO t VALUES (7, '7', 7, '7')",
    )
    before = replica.rows("SELECT 't'::regclass::oid")
    change(replica, TO_INT)
    told = replica.replicate()
    assert told.refresh.tables == {}
    assert replica.rows("SELECT 't'::regclass::oid") != before
    assert replica.rows("SELECT id, u, w FROM t ORDER BY 1") == [(n, n, n) for n in (1, 2, 3, 4, 7)]
    assert replica.rows(TABLES) == [("other",), ("t",)]
    indexes = replica.rows("SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY 1")
    assert indexes == [("alone",), ("t_pkey",), ("welcome",)]
    assert [w for w in told.adapt.warnings if "CREATE INDEX in_the_way ON public.t" in w]
    replica.at_target("DELETE FROM t WHERE id = 7")
    replica.at_source("UPDATE t SET u = 40 WHERE id = 4", "ALTER TABLE t ADD x int", "DELETE FROM t WHERE id = 1")
    replica.settle()


@pytest.mark.req("HVR-P-53", "HVR-P-54", "HVR-D-45")
def test_hvrs_default_takes_a_new_table(begin: Begin) -> None:
    """A value that no longer fits is in nobody's way: a refresh follows a narrowing there."""
    replica = begin(defaults="hvr")
    replica.at_target(DAMAGED)
    change(replica, "ALTER TABLE t ALTER w SET NOT NULL, ALTER v TYPE varchar(5)")
    error = refused(replica, "replicate", "ADP-130")
    assert "value too long" in error.message
    replica.at_target("UPDATE t SET v = '2' WHERE id = 2")
    replica.settle()


@pytest.mark.parametrize(
    ("hung", "named"),
    [
        ("CREATE VIEW seen AS SELECT u FROM t", "seen"),
        ("GRANT SELECT ON t TO PUBLIC", "a grant"),
        ("ALTER TABLE t ADD mine int", "column mine"),
    ],
)
def test_nothing_of_peoples_is_lost_with_the_old_table(begin: Begin, hung: str, named: str) -> None:
    replica = begin("CREATE_AS_SELECT")
    replica.at_target("CREATE INDEX in_the_way ON t (upper(u))", hung)
    change(replica, TO_INT)
    error = refused(replica, "replicate", "ADP-133")
    assert named in error.message
    assert replica.rows("SELECT count(*) FROM pg_indexes WHERE indexname = 'in_the_way'") == [(1,)]


def test_partitions_are_not_exchanged_one_by_one(begin: Begin) -> None:
    replica = begin("CREATE_AS_SELECT")
    replica.at_source(
        "CREATE TABLE p (id int, v text) PARTITION BY LIST (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "INSERT INTO p VALUES (1, '1')",
    )
    replica.settle()
    replica.at_target("CREATE INDEX in_the_way ON p1 (upper(v))")
    replica.at_source("ALTER TABLE p ALTER v TYPE int USING v::int")
    refused(replica, "replicate", "ADP-130")
    replica.at_target("DROP INDEX in_the_way")
    replica.replicate()
    assert replica.rows("SELECT v FROM p") == [(1,)]


@pytest.mark.req("HVR-P-58")
def test_it_means_nothing_at_the_source_and_for_a_new_table(databases: Any, tmp_path: Path) -> None:
    """The default holds at the target; a table that can't be made there waits in any case."""
    at_source = {"location": databases.source, "tables": ["*.*"], "adapt_ddl": [{POLICY: "FAIL_INTEG_JOB"}]}
    at_target = {"name": "warehouse", "location": databases.target, "adapt_ddl": [{"on_enroll_break": "WARNING"}]}
    file = channel_file(tmp_path, databases.source, databases.target, source=at_source, targets=[at_target])
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*START)
    replica.activate()
    replica.at_target(DAMAGED)
    change(replica)
    assert set(replica.settle().refresh.tables) == {"public.t"}
    replica.at_target("CREATE VIEW late AS SELECT 1 AS one")
    replica.at_source("CREATE TABLE late (id int PRIMARY KEY)", "INSERT INTO late VALUES (1)")
    refused(replica, "replicate", "ADP-131")
    replica.at_target("DROP VIEW late")
    replica.settle()
