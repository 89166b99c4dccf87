"""HVR's refresh options: in bulk or row by row, told or not, with triggers, with some differences left as they are."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.engines.postgres.connection.connect import parameters
from airflow_ddlrepl.errors import CannotAdapt, ConfigError, Fenced
from airflow_ddlrepl.flow.refresh.table_loader import TableLoader
from airflow_ddlrepl.notation.refresh_options import read_options
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.spark.jobs.run_stage import run_stage
from tests.support.crashing import die
from tests.support.differing_rows import COUNTED, ROWS, SPOILT, new_replica, oid, told
from tests.support.replica import Replica, channel_file, may_differ, run


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ddlrepl")


@pytest.mark.req("HVR-P-64", "HVR-P-65")
@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_row_by_row_writes_only_what_differs(databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT, COUNTED)
    stays = replica.rows("SELECT xmin::text, ctid::text, id FROM t WHERE id NOT IN (7, 8, 5000) ORDER BY id")
    before = oid(replica)
    assert replica.refresh("public.t", options="-gr -v").tables == {"public.t": 1000}
    replica.check_equal()
    assert oid(replica) == before
    assert replica.rows("SELECT * FROM written ORDER BY 1") == [("DELETE", 5000), ("INSERT", 7), ("UPDATE", 8)]
    assert replica.rows("SELECT xmin::text, ctid::text, id FROM t WHERE id NOT IN (7, 8) ORDER BY id") == stays
    assert told(caplog) == [
        'difference in public.t: DELETE FROM "public"."t" WHERE "id" = \'5000\'',
        'difference in public.t: UPDATE "public"."t" SET "v" = \'v8\' WHERE "id" = \'8\'',
        'difference in public.t: INSERT INTO "public"."t" ("id", "v") VALUES (\'7\', \'v7\')',
    ]
    assert "row by row: 1 deleted, 1 updated, 1 inserted" in told(caplog, "refreshed public.t: 1000 rows")[-1]


@pytest.mark.req("HVR-P-63", "HVR-P-86")
@pytest.mark.parametrize("options", ["-gb", ""])
def test_bulk_loads_the_table_anew(databases: Any, tmp_path: Path, options: str) -> None:
    replica = new_replica(databases, tmp_path, *ROWS, options=options)
    before = oid(replica)
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING length(v)")
    replica.settle()
    altered = oid(replica)
    assert altered != before
    replica.refresh("public.t", options=options)
    assert oid(replica) != altered
    replica.check_equal()


@pytest.mark.req("HVR-O-18", "HVR-P-59", "HVR-P-64", "HVR-P-65")
def test_a_schema_change_is_refreshed_row_by_row(databases: Any, tmp_path: Path, caplog: Any) -> None:
    """What the actions say holds for it, not for a refresh by hand."""
    how = {"options": "-gr -v", "on_add_column_with_default": "REFRESH"}
    replica = new_replica(databases, tmp_path, *ROWS, **how)
    replica.at_target(COUNTED, "CREATE VIEW seen AS SELECT id, v FROM t")
    before = oid(replica)
    replica.at_source("ALTER TABLE t ADD c int NOT NULL DEFAULT (random() * 1000000)::int + 1")
    replica.at_source("UPDATE t SET c = 0 WHERE id = 1000", "DELETE FROM t WHERE id = 999")
    assert replica.settle().refresh.tables == {"public.t": 999}
    assert oid(replica) == before and replica.rows("SELECT count(*) FROM seen") == [(999,)]
    assert replica.rows("SELECT what, count(*) FROM written GROUP BY 1 ORDER BY 1") == [("DELETE", 1), ("UPDATE", 999)]
    assert len(told(caplog)) == 1000
    assert 'difference in public.t: UPDATE "public"."t" SET "c" = \'0\' WHERE "id" = \'1000\'' in told(caplog)
    replica.refresh("public.t")
    replica.check_equal()
    assert len(told(caplog)) == 1000 and "contents exchanged" in told(caplog, "refreshed")[-1]


MASKS = {  # what is left, of: a row to delete (5000), one to update (8), one to insert (7)
    "dui": {5000, 8, 7},
    "d": {5000},
    "i": {7},
    "u": {8},
    "di": {5000, 7},
    "du": {5000, 8},
    "iu": {7, 8},
}


@pytest.mark.req("HVR-P-70", "HVR-P-71", "HVR-P-72", "HVR-P-73", "HVR-P-74", "HVR-P-75", "HVR-P-76", "HVR-P-77")
@pytest.mark.parametrize("mask", MASKS)
def test_masked_differences_are_counted_and_left(databases: Any, tmp_path: Path, mask: str, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT, COUNTED)
    replica.refresh("public.t", options=f"-gr -v -m{mask}")
    report = replica.compare()
    assert report.differences == len(MASKS[mask])
    assert {int(row.key.strip("()")) for table in report.tables for row in table.rows} == MASKS[mask]
    assert replica.rows("SELECT who FROM written ORDER BY 1") == [(i,) for i in sorted({7, 8, 5000} - MASKS[mask])]
    assert len(told(caplog)) == 3 and len([line for line in told(caplog) if "public.t (masked): " in line]) == len(mask)
    (why,) = may_differ(replica)
    assert "(masked)" in why
    how = told(caplog, "refreshed public.t: 1000 rows, row by row: ")[-1]
    for kind, done in (("d", "deleted"), ("u", "updated"), ("i", "inserted")):
        assert f"1 not {done} (masked)" in how if kind in mask else f"1 {done}" in how
    replica.refresh("public.t", options="-gr")
    replica.check_equal()


FIRING = (
    "CREATE TABLE fired (what text, who int)",
    "CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN INSERT INTO fired VALUES (tg_op, coalesce(new.id, old.id)); RETURN coalesce(new, old); END $$",
    "CREATE TRIGGER fires BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION fire()",
    "CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO fired VALUES ('rule', new.id)",
    "CREATE RULE s AS ON DELETE TO t DO ALSO INSERT INTO fired VALUES ('rule', old.id)",
)
ALTERED = """
CREATE SEQUENCE altered;
GRANT ALL ON SEQUENCE altered TO public;
CREATE FUNCTION altered() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM nextval('public.altered') FROM pg_trigger WHERE tgname = 'fires' AND tgenabled = 'D';
END $$;
CREATE EVENT TRIGGER altered ON ddl_command_end WHEN tag IN ('ALTER TABLE') EXECUTE FUNCTION public.altered()
"""
FIRED = [("DELETE", 5000), ("INSERT", 7), ("UPDATE", 8), ("rule", 7), ("rule", 5000)]


def as_plain_owner(replica: Replica, databases: Any, folder: Path) -> str:
    """The channel's target is now reached by a role without the right to let triggers rest; its location."""
    role = f"plain_{databases.source[-8:]}"
    databases.server.create_role(role)
    database = parameters(replica.target)["dbname"]
    replica.at_target(f"GRANT CREATE ON SCHEMA public TO {role}", f"GRANT CREATE ON DATABASE {database} TO {role}")
    here: str = databases.server.dsn(database, role)
    channel_file(folder, replica.source, here)
    return here


@pytest.mark.req("HVR-P-67", "HVR-P-69")
@pytest.mark.parametrize("role", ["superuser", "owner"])
def test_triggers_rest_or_fire(databases: Any, tmp_path: Path, role: str) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*ROWS)
    where = as_plain_owner(replica, databases, tmp_path) if role == "owner" else replica.target
    replica.activate()
    run(where, *FIRING)
    replica.at_target(SPOILT)
    for options, fired in (("-gr", []), ("-gr -f", FIRED)):
        replica.refresh("public.t", options=options)
        replica.check_equal()
        assert replica.rows("SELECT * FROM fired ORDER BY what, who") == fired
        assert replica.rows("SELECT tgenabled FROM pg_trigger WHERE tgname = 'fires'") == [("O",)]
        assert replica.rows("SELECT ev_enabled FROM pg_rewrite WHERE rulename IN ('r', 's')") == [("O",)] * 2
        replica.at_target(SPOILT)


@pytest.mark.req("HVR-P-68")
@pytest.mark.parametrize("end", ["done", "refused", "killed"])
def test_disabled_triggers_are_enabled_again(databases: Any, tmp_path: Path, end: str) -> None:
    """A role without the right to let them rest disables them by ALTER TABLE, also where the refresh then fails."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*ROWS)
    here = as_plain_owner(replica, databases, tmp_path)
    replica.activate()
    run(here, *FIRING[:3], "CREATE TABLE o (id int REFERENCES t)")
    replica.at_target(SPOILT, ALTERED, "ALTER EVENT TRIGGER altered ENABLE ALWAYS")
    if end == "refused":
        run(here, "INSERT INTO o VALUES (5000)")
        with pytest.raises(CannotAdapt) as caught:
            replica.refresh("public.t", options="-gr")
        assert caught.value.code == "ADP-131", caught.value
    elif end == "killed":
        die("refresh", replica.file, "refresh.transaction", ["public.t"], read_options("-gr"))
    else:
        replica.refresh("public.t", options="-gr")
    assert replica.rows("SELECT is_called FROM altered") == [(True,)]  # a rollback leaves a sequence as it is
    assert replica.rows("SELECT tgenabled FROM pg_trigger WHERE tgname = 'fires'") == [("O",)]
    assert replica.rows("SELECT count(*) FROM fired") == [(0,)]
    replica.at_target("UPDATE t SET v = 'late' WHERE id = 1")
    assert replica.rows("SELECT * FROM fired") == [("UPDATE", 1)]


def test_a_trigger_that_keeps_rows_away(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION no()",
        SPOILT,
    )
    replica.refresh("public.t", options="-gr -f")
    assert "0 of 1 rows were inserted" in caplog.text
    assert replica.rows("SELECT FROM t WHERE id = 7") == []
    replica.refresh("public.t", options="-gr")
    replica.check_equal()


def test_foreign_keys_of_a_plain_owner(databases: Any, tmp_path: Path) -> None:
    """They are looked at when all rows are written; what breaks them changes nothing."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*ROWS, "ALTER TABLE t ADD up int REFERENCES t", "UPDATE t SET up = id % 1000 + 1")
    here = as_plain_owner(replica, databases, tmp_path)
    replica.activate()
    run(here, "ALTER TABLE t ADD FOREIGN KEY (up) REFERENCES t", "CREATE TABLE o (id int REFERENCES t)")
    run(here, "INSERT INTO o VALUES (8)", "UPDATE t SET up = 1, v = 'x' WHERE id < 10")
    run(
        here,
        "UPDATE t SET up = 1 WHERE up = 999",
        "DELETE FROM t WHERE id = 999",
        "INSERT INTO t VALUES (5000, 'x', 1)",
    )
    replica.refresh("public.t", options="-gr -f")
    replica.check_equal()
    run(here, "INSERT INTO t VALUES (5000, 'extra', 1)", "INSERT INTO o VALUES (5000)")
    with pytest.raises(CannotAdapt) as caught:
        replica.refresh("public.t", options="-gr -f")
    assert caught.value.code == "ADP-140" and "not fire the table's triggers" in caught.value.message
    assert replica.rows("SELECT v FROM t WHERE id = 5000") == [("extra",)]


NO_KEY = ("CREATE TABLE t (v text)", "INSERT INTO t VALUES ('a'), ('a'), ('b')")


def test_what_can_not_be_done_row_by_row_is_done_in_bulk(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *NO_KEY, "CREATE TABLE r (id int PRIMARY KEY, v text)", options="-gr")
    replica.at_source("INSERT INTO r VALUES (1, 'one')")
    replica.at_target("INSERT INTO t VALUES ('extra')")
    replica.replicate()
    replica.refresh("public.t", options="-gr")
    assert "replaced; not row by row: it has no key" in caplog.text
    replica.at_source("ALTER TABLE r ALTER v TYPE int USING length(v)")
    replica.settle()
    assert 'not row by row: invalid input syntax for type integer: "one"' in caplog.text
    replica.at_source("CREATE UNLOGGED TABLE n (id int PRIMARY KEY)", "INSERT INTO n VALUES (1)")
    replica.at_source("ALTER TABLE n SET LOGGED")
    replica.settle()
    assert "refreshed public.n: 1 rows, replaced; not row by row: the target's table was empty" in caplog.text


@pytest.mark.parametrize("options", ["-gr -mi", "-gr -f"])
def test_bulk_instead_is_refused_where_it_would_break_an_option(databases: Any, tmp_path: Path, options: str) -> None:
    replica = new_replica(databases, tmp_path, *NO_KEY)
    replica.at_target("INSERT INTO t VALUES ('extra')")
    before = replica.rows("SELECT ctid::text, v FROM t")
    with pytest.raises(CannotAdapt, match="it has no key") as caught:
        replica.refresh("public.t", options=options)
    assert caught.value.code == "ADP-140" and "ddlrepl refresh --table" in caught.value.hint
    with pytest.raises(CannotAdapt):
        replica.replicate()
    assert replica.rows("SELECT ctid::text, v FROM t") == before
    replica.refresh("public.t")
    replica.settle()


def test_a_table_that_is_not_there_has_nothing_to_protect(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target("DROP TABLE t")
    replica.refresh("public.t", options="-gr -f -mdui")
    replica.check_equal()
    assert "replaced; not row by row: the target had no such table" in caplog.text


@pytest.mark.parametrize("refilled", [True, False])
def test_a_new_table_is_loaded_whatever_is_masked(databases: Any, tmp_path: Path, refilled: bool) -> None:
    """But a table with rows that the target has kept is no new one."""
    replica = new_replica(databases, tmp_path, "CREATE TABLE other (id int PRIMARY KEY)", options="-gr -mi")
    made = ("CREATE UNLOGGED TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)", "ALTER TABLE t SET LOGGED")
    replica.at_source(*made)
    replica.settle()
    if refilled:
        replica.at_source("DROP TABLE t")
        replica.replicate()
        replica.at_source(*made, "INSERT INTO t VALUES (2)")
        replica.replicate()
        assert replica.compare().differences == 0


@pytest.mark.parametrize("point", ["refresh.copied", "refresh.transaction", "refresh.placed"])
def test_killed_the_options_hold_for_the_next_run(databases: Any, tmp_path: Path, point: str) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT, COUNTED)
    die("refresh", replica.file, point, ["public.t"], read_options("-gr -md"))
    done = [("INSERT", 7), ("UPDATE", 8)]
    assert replica.rows("SELECT * FROM written ORDER BY 1") == (done if point == "refresh.placed" else [])
    replica.replicate()
    assert replica.rows("SELECT * FROM written ORDER BY 1") == done
    assert replica.compare().differences == 1 and replica.rows("SELECT v FROM t WHERE id = 5000") == [("extra",)]
    with flow.open_channel(replica.file, InProcess()) as cycle:
        known = cycle.repository.refreshes("shop")
    assert [row.reason for row in known if row.state == "done"][-1] == "asked for by hand: -gr -md"


def test_a_persons_options_count_for_a_table_that_waits_already(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT)
    die("refresh", replica.file, "refresh.copied", ["public.t"])
    die("refresh", replica.file, "refresh.copied", ["public.t"], read_options("-gr -md"))
    replica.replicate()
    assert replica.compare().differences == 1 and replica.rows("SELECT v FROM t WHERE id = 5000") == [("extra",)]


def test_a_run_that_lost_the_channel_writes_no_row(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT, COUNTED, "UPDATE ddlrepl.position SET token = 1000000")
    with pytest.raises(Fenced):
        replica.refresh("public.t", options="-gr")
    assert replica.rows("SELECT FROM written") == []


def test_the_job_takes_tables_and_options(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT)
    done = run_stage("refresh", load_channel(replica.file), "run", InProcess(), tables=["public.t"], options="-gr -v")
    assert done["tables"] == {"public.t": 1000} and done["reasons"] == {"public.t": "asked for by hand: -gr -v"}
    assert len(told(caplog)) == 3
    replica.check_equal()
    with pytest.raises(ConfigError, match="CFG-137"):
        run_stage("refresh", load_channel(replica.file), "run", InProcess(), options="-gr")


@pytest.mark.req("HVR-P-78", "HVR-P-79")
@pytest.mark.parametrize(("names", "options", "at_once"), [("abc", "-p2", 2), ("abc", "", 1), ("a", "-p4", 1)])
def test_targets_at_a_time(
    databases: Any, tmp_path: Path, monkeypatch: Any, names: str, options: str, at_once: int
) -> None:
    places = {name: databases.server.create_database(f"{name}_{databases.source[-8:]}") for name in names}
    targets = [{"name": name, "location": place} for name, place in places.items()]
    actions = [{"add_table_pattern": "*", "refresh_options": options}]
    file = channel_file(
        tmp_path, databases.source, "", targets=targets, adapt_ddl=actions, rewind_horizon={"age": "1d"}
    )
    replica = Replica(databases.source, places["a"], file)
    replica.at_source(*ROWS)
    replica.activate()
    running: set[str] = set()
    most: list[int] = []
    load = TableLoader.run

    def counted(self: TableLoader) -> Any:
        running.add(self.into)
        time.sleep(0.5)
        most.append(len(running))
        try:
            return load(self)
        finally:
            running.discard(self.into)

    monkeypatch.setattr(TableLoader, "run", counted)
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING length(v)")
    assert replica.settle().refresh.tables == {"public.t": 1000}
    assert max(most) == at_once and len(most) == len(names)
    for name in places.values():
        databases.server.drop_database(name.rpartition("/")[2])
