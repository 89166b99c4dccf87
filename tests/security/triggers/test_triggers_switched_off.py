"""A table's owner switches off what captures its rows, for good or for a while: no row is lost in silence."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin.source_status import source_status, unknown_to_source
from airflow_ddlrepl.flow.streams.uncaptured_rows import take_note
from tests.conftest import Databases
from tests.flow.streams.sync_capturing import Capturing, rule
from tests.support.replica import BOTH

TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.t (k int PRIMARY KEY, v text)",
    "CREATE TABLE hr.u (k int)",
    "CREATE TABLE hr.p (k int, v text DEFAULT 'x') PARTITION BY LIST (k)",
    "CREATE TABLE hr.p1 PARTITION OF hr.p FOR VALUES IN (1)",
    "CREATE FUNCTION hr.none() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
)
ROW = "INSERT INTO hr.t VALUES (1)"
ALWAYS = "ALTER TABLE hr.t ENABLE ALWAYS TRIGGER {0}"
FUNCTION = "SELECT proname FROM pg_proc WHERE prorettype = 'trigger'::regtype AND proname LIKE 'sync%'"
TRIGGER = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'hr.{}'::regclass AND tgtype & 1 = 1"


@pytest.fixture
def captures(databases: Databases, tmp_path: Path) -> Capturing:
    found = Capturing(databases.source, tmp_path, [rule(), rule("hr.u", "u"), rule("hr.p", "p")])
    found.at_source(*TABLES)
    found.capture()
    found.capture()
    return found


def ours(captures: Capturing, table: str = "t") -> str:
    ((name,),) = captures.rows(TRIGGER.format(table))
    return str(name)


def fails(captures: Capturing) -> str:
    with pytest.raises(DdlReplError, match="SRC-193") as error:
        captures.capture()
    return str(error.value)


def keys(captures: Capturing, table: str = "t") -> list[str]:
    return [str((one.new or one.old)["k"]) for one in captures.lcrs() if one.name == table]


AWAY = {
    "disabled": (["ALTER TABLE hr.t DISABLE TRIGGER {0}", ROW], [ALWAYS]),
    "all disabled": (["ALTER TABLE hr.t DISABLE TRIGGER USER", ROW], [ALWAYS]),
    "for replicas only": (
        ["ALTER TABLE hr.t ENABLE REPLICA TRIGGER {0}", ROW],
        [ALWAYS],
    ),
    "not for replicas": (
        ["ALTER TABLE hr.t ENABLE TRIGGER {0}", f"SET session_replication_role = replica; {ROW}"],
        [ALWAYS],
    ),
    "dropped": (["DROP TRIGGER {0} ON hr.t", ROW], []),
    "another function": (
        ["CREATE OR REPLACE TRIGGER {0} AFTER INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION hr.none()", ROW],
        [],
    ),
    "a condition": (
        [
            "CREATE OR REPLACE TRIGGER {0} AFTER INSERT OR UPDATE OR DELETE ON hr.t FOR EACH ROW WHEN (false)"
            " EXECUTE FUNCTION ddlrepl.{1}()",
            "ALTER TABLE hr.t ENABLE ALWAYS TRIGGER {0}",
            ROW,
        ],
        [
            "CREATE OR REPLACE TRIGGER {0} AFTER INSERT OR UPDATE OR DELETE ON hr.t FOR EACH ROW"
            " EXECUTE FUNCTION ddlrepl.{1}()"
        ],
    ),
    "made again": (["DROP TABLE hr.t", "CREATE TABLE hr.t (k int PRIMARY KEY, v text)", ROW], []),
    "another name": (["ALTER TABLE hr.t RENAME TO s", "INSERT INTO hr.s VALUES (1)"], ["ALTER TABLE hr.s RENAME TO t"]),
    "another schema": (["ALTER SCHEMA hr RENAME TO s", "INSERT INTO s.t VALUES (1)"], ["ALTER SCHEMA s RENAME TO hr"]),
    "the function": (
        ["CREATE OR REPLACE FUNCTION ddlrepl.{1}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'", ROW],
        [],
    ),
}
"""What somebody does to hr.t, a row that is lost meanwhile, and how all is as it was again."""


@pytest.mark.parametrize(
    ("way", "is_back"), [(way, is_back) for way in AWAY for is_back in (False, True) if not is_back or AWAY[way][1]]
)
def test_rows_that_no_trigger_captured_fail_each_run_by_the_tables_name(
    captures: Capturing, way: str, is_back: bool
) -> None:
    ((function,),) = captures.rows(
        "SELECT proname FROM pg_proc WHERE prorettype = 'trigger'::regtype AND proname LIKE 'sync%'"
    )
    wrong, right = AWAY[way]
    statements = [one.format(ours(captures), function) for one in (*wrong, *(right if is_back else ()))]
    captures.at_source(*statements)
    if way == "another name" and not is_back:
        captures.at_source("CREATE TABLE hr.t (k int PRIMARY KEY, v text)")
    if way == "another schema" and not is_back:
        captures.at_source("ALTER SCHEMA s RENAME TO hr")
    with captures.clients() as clients:
        assert any("row changes of hr.t" in one.what for one in unknown_to_source(clients.run))
    told = fails(captures)
    assert "hr.t between 0/" in told and ("hr.u" in told) == (way in ("another schema", "the function")), told
    captures.at_source("INSERT INTO hr.t VALUES (2)", "INSERT INTO hr.u VALUES (7)")
    for _ in range(2):
        assert "hr.t between" in fails(captures)
    assert keys(captures)[-1:] == ["2"] and keys(captures, "u") == ["7"]
    with captures.clients() as clients, clients.run.locked():
        assert any("row changes of hr.t" in one for one in source_status(clients.run)["problems"])
        take_note(clients.run)
        assert not any("row changes" in one for one in source_status(clients.run)["problems"])
    captures.at_source("DELETE FROM hr.t WHERE k = 2")
    assert captures.capture().changes == ()
    assert keys(captures)[-2:] == ["2", "2"]


@BOTH
def test_what_changes_no_row_unseen_fails_nothing(captures: Capturing) -> None:
    captures.at_source(
        "ALTER TABLE hr.t ADD w int DEFAULT 3",
        "CREATE INDEX ON hr.t (w)",
        "CREATE TRIGGER mine BEFORE INSERT ON hr.u FOR EACH STATEMENT EXECUTE FUNCTION hr.none()",
        "ALTER TABLE hr.u DISABLE TRIGGER mine",
        "GRANT SELECT ON hr.t TO PUBLIC",
        "GRANT USAGE ON SCHEMA hr TO PUBLIC",
        "ALTER TABLE hr.t OWNER TO pg_monitor",
        "COMMENT ON TABLE hr.t IS 'mine'",
        "ANALYZE",
        "CREATE TABLE hr.child () INHERITS (hr.u)",
        "CREATE TABLE hr.p2 PARTITION OF hr.p FOR VALUES IN (2)",
        "CREATE TABLE hr.p3 PARTITION OF hr.p FOR VALUES IN (3) PARTITION BY LIST (k)",
        "CREATE TABLE hr.p33 PARTITION OF hr.p3 FOR VALUES IN (3)",
        "CREATE TABLE hr.p4 (LIKE hr.p); ALTER TABLE hr.p ATTACH PARTITION hr.p4 FOR VALUES IN (4)",
        "INSERT INTO hr.p VALUES (1), (2), (3)",
        "SET session_replication_role = replica; INSERT INTO hr.t VALUES (1)",
    )
    with psycopg.connect(captures.source) as session, session.cursor().copy("COPY hr.t (k) FROM STDIN") as copy:
        copy.write("2\n")
    captures.at_source("VACUUM FULL pg_trigger")
    captures.capture()
    captures.at_source("INSERT INTO hr.p VALUES (4)", "DROP TABLE hr.p1", "ALTER TABLE hr.p2 RENAME TO p22")
    captures.capture()
    assert captures.capture().changes == ()
    assert (keys(captures), keys(captures, "p")) == (["1", "2"], ["1", "2", "3", "4"])


PARTITIONS = {
    "a partition's trigger": ["ALTER TABLE hr.p1 DISABLE TRIGGER ALL", "INSERT INTO hr.p VALUES (1)"],
    "a partition's trigger for a while": [
        "ALTER TABLE hr.p1 DISABLE TRIGGER USER; INSERT INTO hr.p VALUES (1);"
        " ALTER TABLE hr.p1 ENABLE ALWAYS TRIGGER {0}"
    ],
    "a new partition's trigger": [
        "CREATE TABLE hr.p2 PARTITION OF hr.p FOR VALUES IN (2)",
        "ALTER TABLE hr.p2 DISABLE TRIGGER {0}; INSERT INTO hr.p VALUES (2);"
        " ALTER TABLE hr.p2 ENABLE ALWAYS TRIGGER {0}",
    ],
    "attached with rows": [
        "CREATE TABLE hr.p2 (k int, v text); INSERT INTO hr.p2 VALUES (2);"
        " ALTER TABLE hr.p ATTACH PARTITION hr.p2 FOR VALUES IN (2)"
    ],
    "attached later": [
        "CREATE TABLE hr.p2 (k int, v text)",
        "INSERT INTO hr.p2 VALUES (2)",
        "ALTER TABLE hr.p ATTACH PARTITION hr.p2 FOR VALUES IN (2)",
    ],
    "a tree is attached": [
        "CREATE TABLE hr.p2 (k int, v text) PARTITION BY LIST (k)",
        "CREATE TABLE hr.p22 PARTITION OF hr.p2 FOR VALUES IN (2)",
        "INSERT INTO hr.p2 VALUES (2)",
        "ALTER TABLE hr.p ATTACH PARTITION hr.p2 FOR VALUES IN (2)",
    ],
    "detached": ["ALTER TABLE hr.p DETACH PARTITION hr.p1"],
    "a new partition is emptied": [
        "CREATE TABLE hr.p2 PARTITION OF hr.p FOR VALUES IN (2)",
        "INSERT INTO hr.p VALUES (2)",
        "TRUNCATE hr.p2",
    ],
    "partitioned from now on": [
        "DROP TABLE hr.p",
        "CREATE TABLE hr.p (k int, v text) PARTITION BY RANGE (k)",
        "CREATE TABLE hr.p2 PARTITION OF hr.p FOR VALUES FROM (0) TO (9)",
        "INSERT INTO hr.p VALUES (2)",
    ],
}


@BOTH
@pytest.mark.parametrize("way", PARTITIONS)
def test_rows_of_partitions_that_no_trigger_captured(captures: Capturing, way: str) -> None:
    captures.at_source(*(one.format(ours(captures, "p")) for one in PARTITIONS[way]))
    told = fails(captures)
    assert "hr.p between 0/" in told and "hr.t" not in told and "hr.u" not in told
    with captures.clients() as clients, clients.run.locked():
        take_note(clients.run)
    captures.at_source("INSERT INTO hr.t VALUES (3)")
    assert captures.capture().changes == ()


@BOTH
def test_a_trigger_that_was_renamed_captures_no_row_twice(captures: Capturing) -> None:
    captures.at_source(
        f"ALTER TRIGGER {ours(captures)} ON hr.t RENAME TO other",
        ROW,
        f"ALTER TRIGGER {ours(captures, 'p')} ON hr.p RENAME TO other",
        "INSERT INTO hr.p VALUES (1)",
    )
    fails(captures)
    captures.at_source("INSERT INTO hr.t VALUES (2)", "INSERT INTO hr.p VALUES (1)")
    fails(captures)
    assert (keys(captures), keys(captures, "p")) == (["1", "2"], ["1", "1"])


def test_triggers_of_the_owner_hide_no_change(captures: Capturing) -> None:
    """They fire before ours, change the row, drop it, or end with another one: what is stored is captured."""
    captures.at_source(
        "CREATE FUNCTION hr.changes() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN IF NEW.k = 5 THEN RETURN NULL; END IF; NEW.v := ''changed''; RETURN NEW; END'",
        'CREATE TRIGGER "A" BEFORE INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION hr.changes()',
        'CREATE TRIGGER "B" AFTER INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION hr.none()',
        'CREATE TRIGGER "C" BEFORE INSERT ON hr.t FOR EACH STATEMENT EXECUTE FUNCTION hr.none()',
        "INSERT INTO hr.t VALUES (4, 'x'), (5, 'y')",
    )
    captures.capture()
    assert [(one.new["k"], one.new["v"]) for one in captures.lcrs()] == [("4", "changed")]


def test_a_table_that_is_locked_keeps_no_other_one_waiting(captures: Capturing) -> None:
    captures.at_source("ALTER TABLE hr.t DISABLE TRIGGER ALL", ROW, "INSERT INTO hr.u VALUES (1)")
    with psycopg.connect(captures.source) as writer:
        writer.execute("INSERT INTO hr.t VALUES (2)")
        with pytest.raises(DdlReplError, match="SRC-191"):
            captures.capture()
        assert keys(captures, "u") == ["1"]
    assert "hr.t between" in fails(captures)


def test_deactivation_forgets_what_was_missing(captures: Capturing) -> None:
    captures.at_source("ALTER TABLE hr.t DISABLE TRIGGER ALL", ROW)
    fails(captures)
    with captures.clients() as clients:
        flow.deactivate(clients.run)
    captures.capture()


def test_a_run_that_is_killed_behind_its_own_changes_raises_no_alarm(captures: Capturing) -> None:
    captures.at_source("ALTER TABLE hr.t ADD w int", "CREATE TABLE hr.p2 PARTITION OF hr.p FOR VALUES IN (2)")
    captures.calls = [rule(), rule("hr.p", "p"), rule("hr.new", "new")]
    captures.at_source("CREATE TABLE hr.new (k int)")
    captures.dies("sync_capture.triggers")
    captures.at_source("INSERT INTO hr.t VALUES (1)", "INSERT INTO hr.new VALUES (2)")
    assert captures.capture().changes == ()
    assert (keys(captures), keys(captures, "new")) == (["1"], ["2"])


def test_a_run_that_is_killed_forgets_no_row_that_was_missing(captures: Capturing) -> None:
    captures.at_source("ALTER TABLE hr.t DISABLE TRIGGER ALL", ROW)
    captures.dies("sync_capture.triggers")
    assert "hr.t between 0/" in fails(captures)
