"""A channel whose source has the parameters of a GoldenGate Extract: which DDL gets into the trail, with which text."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica

START = (
    "CREATE TABLE t (id int PRIMARY KEY, v int)",
    "CREATE TABLE tmp (id int PRIMARY KEY)",
    "INSERT INTO t VALUES (1, 1)",
)
COLUMNS = """
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = to_regclass('{}') AND attnum > 0
"""
MAPPED: dict[str, Any] = {
    "tables": ["public.*"],
    "ddl": {"include": [{"scope": "MAPPED"}], "exclude": [{"objname": "public.tmp"}]},
}


def columns(replica: Replica, table: str) -> str:
    ((found,),) = replica.rows(COLUMNS.format(table))
    return str(found)


def recorded(replica: Replica) -> list[Event]:
    """The DDL records of the trail, in their order."""
    with flow.open_channel(replica.file, InProcess()) as run:
        segments = run.trail.segments(run.epoch)
        events = [event for segment in segments for event in run.trail.events(segment)]
    return [event for event in sorted(events, key=lambda e: e.key) if event.kind is EventKind.DDL]


def replaying(make: Make, **extract: Any) -> Replica:
    """A channel whose target runs the source's text of all statements that this Extract lets through."""
    return make(*START, source={"extract": extract}, replay_ddl=[{"tables": ["*.*"]}], adapt_ddl=[])


@pytest.mark.req("GG-E-28", "GG-E-31")
def test_an_excluded_statement_is_discarded_and_told(make: Make) -> None:
    made = replaying(make, **MAPPED)
    made.at_source("ALTER TABLE tmp ADD x int", "ALTER TABLE t ADD x int", "INSERT INTO t VALUES (2, 2, 2)")
    done = made.replicate()
    assert (columns(made, "tmp"), columns(made, "t")) == ("id", "id v x")
    (why,) = done.capture.discarded
    assert why == "ALTER TABLE: Extract discards it: exclude[0] is true: OBJNAME public.tmp"
    made.at_source("INSERT INTO tmp VALUES (1, 7)", "UPDATE t SET x = 3")
    made.replicate()
    assert made.rows("SELECT id FROM tmp") == [(1,)]
    assert made.rows("SELECT id, v, x FROM t ORDER BY 1") == [(1, 1, 3), (2, 2, 3)]
    made.at_source("ALTER TABLE tmp ADD y int")
    made.replicate()
    assert columns(made, "tmp") == "id"
    made.refresh("public.tmp")
    made.check_equal()
    assert columns(made, "tmp") == "id x y"


@pytest.mark.req("GG-E-44")
def test_a_new_table_logs_whole_rows_from_its_create_table_on(make: Make) -> None:
    """The server does it in the transaction of the CREATE TABLE, so that no update comes before it."""
    made = replaying(make, tables=["public.*"], ddl={"include": [{"scope": "MAPPED"}]}, add_trandata=True)
    made.at_source(
        "CREATE TABLE n (id int PRIMARY KEY, v int, w int)",
        "INSERT INTO n VALUES (1, 1, 1)",
        "UPDATE n SET v = 2",
        "CREATE SCHEMA other",
        "CREATE TABLE other.m (id int PRIMARY KEY)",
    )
    with psycopg.connect(made.source) as connection:
        logs = "SELECT relname, relreplident::text FROM pg_class WHERE relname IN ('n', 'm') ORDER BY 1"
        assert connection.execute(logs).fetchall() == [("m", "d"), ("n", "f")]
    made.replicate()
    assert made.rows("TABLE n") == [(1, 2, 1)]


def test_a_drop_of_several_tables_of_which_one_is_excluded_drops_none(make: Make) -> None:
    made = replaying(make, **MAPPED)
    made.at_source("DROP TABLE t, tmp")
    (why,) = made.replicate().capture.discarded
    assert why == "DROP TABLE: Extract discards it: exclude[0] is true: OBJNAME public.tmp"
    assert made.rows("SELECT id FROM t") == [(1,)]


@pytest.mark.req("GG-E-05")
def test_without_a_ddl_parameter_no_ddl_is_captured_and_rows_go_on(make: Make) -> None:
    made = replaying(make, tables=["*.*"])
    made.at_source("ALTER TABLE t ADD x int", "INSERT INTO t VALUES (2, 2, 2)", "CREATE TABLE u (id int PRIMARY KEY)")
    done = made.replicate()
    assert set(done.capture.discarded) == {
        f"{tag}: Extract discards it: there is no DDL parameter: no DDL is captured"
        for tag in ("ALTER TABLE", "CREATE TABLE")
    }
    assert made.rows("SELECT id, v FROM t ORDER BY 1") == [(1, 1), (2, 2)]
    assert (columns(made, "t"), made.rows("SELECT to_regclass('u')::text")) == ("id v", [(None,)])


@pytest.mark.req("GG-E-01", "GG-E-48")
def test_one_record_of_each_statement_lies_between_the_rows_in_the_log_s_order(make: Make) -> None:
    made = replaying(make, ddl={}, substitutions=[{"search": "KEEP", "replacement": "kept"}])
    text = "ALTER TABLE t /* keep */ ADD note text"
    made.at_source(f"BEGIN; UPDATE t SET v = 2; {text}; UPDATE t SET note = 'new'; COMMIT")
    made.replicate()
    (found,) = recorded(made)
    assert found.statement == "ALTER TABLE t /* kept */ ADD note text"
    assert found.query is not None and text in found.query
    assert ([str(table.name) for table in found.tables], found.transaction_id > 0, found.key.lsn > 0) == (
        ["public.t"],
        True,
        True,
    )
    assert made.rows("SELECT v, note FROM t") == [(2, "new")]


@pytest.mark.req("GG-E-49")
def test_a_statement_comes_behind_the_rows_before_it_and_before_those_behind_it(make: Make) -> None:
    """In one transaction: only the rows in front of it get the default, and each change has its place in the trail."""
    made = replaying(make, ddl={})
    made.at_source(
        "BEGIN; INSERT INTO t VALUES (2, 2); ALTER TABLE t ADD n int DEFAULT 7; ALTER TABLE t ALTER n DROP DEFAULT;"
        " INSERT INTO t VALUES (3, 3); COMMIT"
    )
    made.replicate()
    assert made.rows("SELECT id, n FROM t ORDER BY 1") == [(1, 7), (2, 7), (3, None)]
    first, second = (event.key for event in recorded(made))
    with flow.open_channel(made.file, InProcess()) as run:
        files = [file for segment in run.trail.segments(run.epoch) for file in segment.files()]
    before, behind = sorted(file.first for file in files if file.rows)
    assert before < first < second < behind


def test_a_text_that_would_have_another_result_is_refused(make: Make) -> None:
    """The target's table is to be what the source's is, as far as its rows are concerned."""
    made = replaying(make, ddl={}, substitutions=[{"search": "DRAFT", "replacement": "-"}])
    made.at_source("ALTER TABLE t ADD note text DEFAULT 'draft'")
    with pytest.raises(DdlReplError, match=r"ADP-153: .*did not have the same result"):
        made.replicate()


@pytest.mark.req("GG-E-06", "GG-E-07", "GG-E-08")
@pytest.mark.parametrize("ignored", [True, False])
def test_what_a_replicat_has_run_here(make: Make, ignored: bool) -> None:
    """A session with a replication origin is one that applies the changes of another database."""
    made = replaying(make, tables=["*.*"], ddl={}, ignore_replicates=ignored)
    name = f"elsewhere_{made.source.rpartition('/')[2]}"
    with psycopg.connect(made.source, autocommit=True) as session:
        session.execute("SELECT pg_replication_origin_create(%s)", [name])
        session.execute("SELECT pg_replication_origin_session_setup(%s)", [name])
        session.execute("ALTER TABLE t ADD theirs int")
        session.execute("SELECT pg_replication_origin_session_reset(), pg_replication_origin_drop(%s)", [name])
    made.at_source("ALTER TABLE tmp ADD ours int")
    made.replicate()
    assert (columns(made, "t"), columns(made, "tmp")) == ("id v" if ignored else "id v theirs", "id ours")
    whys = [why_ignored(event) for event in recorded(made)]
    assert [bool(why) for why in whys] == [ignored, False]
