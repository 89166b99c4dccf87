"""Rewind: the tables as they were at an earlier position, with the columns that they had then, in another database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.catalog import readable_tables
from airflow_ddlrepl.engines.postgres.load import archive_chunk
from airflow_ddlrepl.engines.postgres.load.archive_chunk import archive_chunks
from airflow_ddlrepl.errors import ControlStop, DdlReplError, TrailError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.trail.loads import loads
from tests.support.crashing import die
from tests.support.replayable import HORIZON, captured, read, replayable
from tests.support.replica import Replica, channel_file


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Not activated yet."""
    return replayable(databases, tmp_path, location=past)


@pytest.mark.req("HVR-W-06", "HVR-W-11")
def test_back_to_before_a_column_was_dropped(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a text, b int)", "INSERT INTO t VALUES (1, 'x', 10)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (2, 'y', 20)", "UPDATE t SET b = 11 WHERE id = 1")
    before = captured(replica)
    replica.at_source("ALTER TABLE t DROP b", "ALTER TABLE t RENAME a TO aa", "INSERT INTO t VALUES (3, 'z')")
    between = captured(replica)
    replica.at_source("ALTER TABLE t ALTER aa TYPE varchar(5)", "DELETE FROM t WHERE id = 1", "CREATE TABLE u (x int)")
    now = captured(replica)

    replica.rewind(before)
    assert read(past, "SELECT id, a, b FROM t ORDER BY id") == [(1, "x", 11), (2, "y", 20)]
    replica.rewind(between)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, "x"), (2, "y"), (3, "z")]
    assert read(past, "SELECT to_regclass('u')") == [(None,)]
    replica.rewind(now)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(2, "y"), (3, "z")]
    assert read(past, "SELECT to_regclass('u')::text") == [("u",)]
    replica.check_equal()


def test_a_moment_is_between_two_commits(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    with psycopg.connect(replica.source) as late:
        late.execute("INSERT INTO t VALUES (1)")
        replica.at_source("INSERT INTO t VALUES (2)")
        moment = read(replica.source, "SELECT now()")[0][0].isoformat()
    replica.settle()
    replica.rewind(moment)
    assert read(past, "SELECT * FROM t") == [(2,)]


def test_one_table_of_several(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (1)", "INSERT INTO u VALUES (1)", "ALTER TABLE u ADD more int")
    result = replica.rewind(captured(replica), tables=["public.t"])
    assert result.tables == ("public.t",)
    assert read(past, "SELECT * FROM t") == [(1,)]
    assert read(past, "SELECT to_regclass('u')") == [(None,)]


def test_partitions_and_types_of_the_time(replica: Replica, past: str) -> None:
    replica.at_source(
        "CREATE TYPE mood AS ENUM ('calm', 'wild')",
        "CREATE TABLE p (id int, m mood, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "INSERT INTO p VALUES (1, 'calm')",
    )
    replica.activate()
    before = captured(replica)
    replica.at_source(
        "ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "INSERT INTO p VALUES (11, 'quiet')",
        "ALTER TABLE p DETACH PARTITION p1",
    )
    after = captured(replica)
    for _ in range(2):
        replica.rewind(before)
        assert read(past, "SELECT id, m::text FROM p") == [(1, "calm")]
        replica.rewind(after)
        assert read(past, "SELECT id, m::text FROM p") == [(11, "quiet")]
        assert read(past, "SELECT id, m::text FROM p1") == [(1, "quiet")]


def test_the_plan_tells_everything_and_changes_nothing(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.activate()
    replica.at_source("ALTER TABLE t RENAME a TO b")
    now = captured(replica)
    replica.rewind(now)
    plan = replica.plan_rewind(now)
    (table,) = plan.tables
    assert (table["verdict"], table["rows"]) == ("safe (keep)", 1)
    assert [change.partition(" ")[2] for change in table["changes"]] == ["ALTER TABLE t RENAME a TO b"]
    assert plan.removed == ["public.t"]
    assert plan.segments >= 1
    assert plan.is_possible
    assert read(past, "SELECT * FROM t") == [(1, 1)]


def test_the_plan_tells_each_statement_on_a_line_of_its_own(replica: Replica) -> None:
    """A person reads it before approving: what somebody wrote into a statement shows as that."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("ALTER TABLE t\nADD a text /*\npublic.t: safe (keep)\n*/")
    (line,) = (one for one in replica.plan_rewind(captured(replica)).text().splitlines() if "/*" in one)
    assert line.endswith(" ALTER TABLE t ADD a text /* public.t: safe (keep) */")


def test_what_can_not_be_gone_back_to_is_refused(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    start = read(replica.source, "SELECT pg_current_wal_flush_lsn()::text")[0][0]
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (1)")
    now = captured(replica)
    replica.at_source("INSERT INTO t VALUES (2)")
    later = read(replica.source, "SELECT pg_current_wal_flush_lsn()::text")[0][0]
    refusals = {
        (start, "past", ()): r"CFG-131|REW-101",
        (later, "past", ()): r"CTL-110: .* is not captured yet",
        ("FFFF/0", "past", ()): r"CTL-110: the source has not reached FFFF/0 yet",
        ("2999-01-01T00:00:00Z", "past", ()): r"CTL-110",
        ("2026-11-21 08:00", "past", ()): r"CFG-111",
        (now, "elsewhere", ()): r"(?s)CFG-132: .*elsewhere.*name one of warehouse, past",
        (now, "past", ("public.nothing",)): r"CFG-131: .*public\.nothing",
    }
    for (to, into, tables), told in refusals.items():
        with pytest.raises(DdlReplError, match=told):
            replica.rewind(to, into, tables)
    assert read(past, "SELECT to_regclass('t'), to_regnamespace('ddlrepl')") == [(None, None)]


def test_without_a_horizon_nothing_is_kept(replica: Replica, tmp_path: Path, past: str) -> None:
    replays = [{"name": "past", "location": past}]
    channel_file(tmp_path, replica.source, replica.target, replays=replays)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    now = captured(replica)
    with pytest.raises(DdlReplError, match=r"(?s)REW-101: .*set `rewind_horizon`"):
        replica.rewind(now)
    channel_file(tmp_path, replica.source, replica.target, replays=replays, rewind_horizon=HORIZON)
    captured(replica)
    replica.at_source("INSERT INTO t VALUES (1)")
    replica.rewind(captured(replica))
    assert read(past, "SELECT * FROM t") == [(1,)]


def test_a_type_that_is_not_used_at_the_end_is_in_nobodys_way(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TYPE part AS (a int)", "CREATE TYPE mood AS (p part)", "CREATE TABLE t (id int, m mood)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE t DROP m", "INSERT INTO t VALUES (1)")
    after = captured(replica)
    for _ in range(2):
        replica.rewind(after)
        assert read(past, "SELECT * FROM t") == [(1,)]
        replica.rewind(before)
        assert read(past, "SELECT id, m FROM t") == []


def test_a_moment_that_is_not_captured_yet(replica: Replica, past: str) -> None:
    """What was committed before it may lie in the log that nobody has read."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    captured(replica)
    replica.at_source("INSERT INTO t VALUES (1)")
    moment = read(replica.source, "SELECT now()")[0][0].isoformat()
    for act in (replica.plan_rewind, replica.rewind):
        with pytest.raises(DdlReplError, match=r"CTL-110: .* is not captured yet"):
            act(moment)
    replica.settle()
    replica.rewind(moment)
    assert read(past, "SELECT * FROM t") == [(1,)]


def test_what_the_horizon_needs_is_kept_and_the_rest_goes(databases: Any, past: str, tmp_path: Path) -> None:
    more = {
        "rewind_horizon": {"size": "1MB"},
        "retention": {"size": 0},
        "replays": [{"name": "past", "location": past}],
    }
    replica = Replica(
        databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target, **more)
    )
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (0, 'first')")
    replica.activate()
    first = captured(replica)
    moment = read(replica.source, "SELECT clock_timestamp()")[0][0].isoformat()
    points = {}
    for number in range(1, 6):
        replica.at_source(f"INSERT INTO t SELECT {number} * 10000 + i, {RANDOM_TEXT} FROM generate_series(1, 1500) i")
        points[captured(replica)] = number * 1500 + 1
    for to in (moment, first):
        with pytest.raises(DdlReplError, match="REW-101") as refused:
            replica.rewind(to)
    oldest = refused.value.hint.split("works is ")[1].split(" ")[0]
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.status(run)
    assert found.trail["horizon"] == oldest
    assert f"rewind: back to {oldest}" in found.text()
    assert int(read(past, f"SELECT '{oldest}'::pg_lsn - '{first}'::pg_lsn")[0][0]) > 0
    replica.rewind(oldest)
    reached = [at for at in points if read(past, f"SELECT '{at}'::pg_lsn >= '{oldest}'::pg_lsn")[0][0]]
    assert len(reached) >= 2
    for at in reached:
        replica.rewind(at)
        assert read(past, "SELECT count(*) FROM t") == [(points[at],)]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert 1 <= len(loads(run.trail, run.epoch)) <= 4


RANDOM_TEXT = "(SELECT string_agg(md5(random()::text || i || g), '') FROM generate_series(1, 25) g)"


@pytest.mark.parametrize(
    "point", ["rewind.begun", "refresh.copied", "refresh.transaction", "rewind.restored", "integrate.rows", "*:9"]
)
def test_killed_and_done_again(replica: Replica, past: str, point: str) -> None:
    replica.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, a int)",
        "INSERT INTO t VALUES (1, 2)",
        "CREATE TYPE mood AS ENUM ('calm')",
        "CREATE TABLE k (x int, m mood)",
    )
    replica.activate()
    replica.at_source(
        "INSERT INTO t VALUES (2, 3)",
        "INSERT INTO k VALUES (7, 'calm'), (7, 'calm')",
        "ALTER TABLE t ADD n int DEFAULT 4",
    )
    now = captured(replica)
    die("rewind", replica.file, point, Position.parse(now), "past")
    replica.at_source("INSERT INTO t VALUES (3, 3)")
    replica.settle()
    replica.rewind(now)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, 2, 4), (2, 3, 4)]
    assert read(past, "SELECT x, m::text FROM k") == [(7, "calm"), (7, "calm")]


def test_a_refresh_killed_while_it_keeps_its_rows(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    die("activate", replica.file, "save.written")
    replica.activate()
    replica.rewind(captured(replica))
    assert read(past, "SELECT * FROM t") == [(1,)]


def test_values_that_no_target_can_compute(replica: Replica, past: str) -> None:
    """Of a generated column whose expression calls a function of the user's."""
    replica.at_source("CREATE FUNCTION plus(int) RETURNS int IMMUTABLE LANGUAGE sql RETURN $1 + 1")
    replica.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, g int GENERATED ALWAYS AS (plus(id)) STORED,"
        " twice int GENERATED ALWAYS AS (id * 2) STORED)"
    )
    replica.activate()
    replica.at_source("ALTER PUBLICATION ddlrepl_shop SET (publish_generated_columns = stored)")
    replica.at_source("INSERT INTO t VALUES (1)")
    replica.settle()
    replica.refresh("public.t")
    replica.at_source("INSERT INTO t VALUES (2)")
    now = captured(replica)
    replica.rewind(now)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, 2, 2), (2, 3, 4)] == replica.rows("TABLE t ORDER BY id")


def test_a_label_that_is_renamed_while_rows_are_kept(
    replica: Replica, past: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A COPY shows the new one already; what can't be gone back to is not kept."""
    replays = [{"name": "past", "location": past}]
    channel_file(tmp_path, replica.source, replica.target, replays=replays)
    replica.at_source("CREATE TYPE mood AS ENUM ('calm')", "CREATE TABLE t (id int PRIMARY KEY, m mood)")
    replica.at_source("INSERT INTO t VALUES (1, 'calm')")
    replica.activate()

    def renamed_meanwhile(tasks: Any) -> Any:
        monkeypatch.undo()
        replica.at_source("ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'")
        return archive_chunks(tasks)

    channel_file(tmp_path, replica.source, replica.target, replays=replays, rewind_horizon=HORIZON)
    monkeypatch.setattr(archive_chunk, "archive_chunks", renamed_meanwhile)
    replica.replicate()
    replica.at_source("INSERT INTO t VALUES (2, 'quiet')")
    now = captured(replica)
    replica.rewind(now)
    assert read(past, "SELECT id, m::text FROM t ORDER BY id") == [(1, "quiet"), (2, "quiet")]


def test_a_damaged_file_is_named(replica: Replica, past: str, tmp_path: Path) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    now = captured(replica)
    with flow.open_channel(replica.file, InProcess()) as run:
        (path,) = (path for path in run.trail.place.walk() if path.endswith(".copy.zst"))
        file = Path(run.trail.place.full(path))
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(TrailError, match=r"TRL-103: .*copy\.zst is damaged"):
        replica.rewind(now)
    replica.check_equal()


def test_a_locked_table_puts_keeping_off_and_nothing_else(
    databases: Any, past: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readable_tables, "PATIENCE_SECONDS", 0.1)
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int)")
    replica.activate()
    replays = [{"name": "past", "location": past}]
    channel_file(tmp_path, databases.source, databases.target, rewind_horizon=HORIZON, replays=replays)
    with psycopg.connect(replica.source) as session:
        session.execute("LOCK TABLE u IN ACCESS EXCLUSIVE MODE")
        replica.at_source("INSERT INTO t VALUES (1)")
        replica.replicate()
        assert replica.rows("SELECT * FROM t") == [(1,)]
        with flow.open_channel(file, InProcess()) as run:
            assert loads(run.trail, run.epoch) == []
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (2)")
    replica.rewind(captured(replica))
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1,), (2,)]


def test_a_replay_has_policies_of_its_own(databases: Any, past: str, tmp_path: Path) -> None:
    """It stops where they say so, and goes past when a person has removed the control."""
    breaks = [{"on_add_column_with_default": "FAIL_INTEG_JOB"}]
    replays = [{"name": "past", "location": past, "adapt_ddl": breaks}]
    file = channel_file(tmp_path, databases.source, databases.target, rewind_horizon=HORIZON, replays=replays)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '5')")
    replica.activate()
    replica.at_source(
        "INSERT INTO t VALUES (2, '6')", "ALTER TABLE t ADD n int DEFAULT 4", "INSERT INTO t VALUES (3, '9')"
    )
    now = captured(replica)
    assert "before a change of public.t" in replica.plan_rewind(now).stopped
    with pytest.raises(ControlStop):
        replica.rewind(now)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, "5"), (2, "6")]
    with flow.open_channel(file, InProcess()) as run:
        (control,) = run.repository.controls("shop", "past")
        run.repository.remove_control("shop", control.id)
    replica.rewind(now)
    assert read(past, "SELECT id, v FROM t ORDER BY id") == [(1, "5"), (2, "6"), (3, "9")]
    assert read(past, "SELECT n FROM t WHERE id = 3") == [(4,)]
