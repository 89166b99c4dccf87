"""`capture: {ignore_sessions: …}` (HVR's IgnoreSessionNames): changes of these sessions reach no target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.sections.ignored_sessions import IgnoredSessions, KnownBy
from airflow_ddlrepl.engines.postgres.source.session_triggers import require_all
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import HORIZON, read
from tests.support.replica import Replica, channel_file, may_differ

NAMED = "SELECT pg_logical_emit_message(true, 'ddlrepl.session', current_setting('application_name'))"


def replica_of(databases: Any, folder: Path, sessions: dict[str, Any], **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, capture={"ignore_sessions": sessions}, **more)
    made = Replica(databases.source, databases.target, file)
    made.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, v text)",
        "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 9) i",
    )
    made.activate()
    return made


def as_session(replica: Replica, name: str, *statements: str) -> None:
    """Run the statements in one transaction of a session of this application name."""
    with psycopg.connect(replica.source, application_name=name) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.req("HVR-P-97")
def test_a_purge_that_names_its_session_leaves_history_at_the_target(databases: Any, tmp_path: Path) -> None:
    """With keep_existing_structure a dropped column stays, too; run, status and compare say what is left out."""
    keep = [{"keep_existing_structure": True}]
    replica = replica_of(databases, tmp_path, {"names": ["purge*"], "known_by": "messages"}, adapt_ddl=keep)
    as_session(replica, "purge 1", NAMED, "DELETE FROM t WHERE id <= 3")
    as_session(replica, "purge 2", "DELETE FROM t WHERE id = 4", NAMED, "DELETE FROM t WHERE id = 5")
    replica.at_source("UPDATE t SET v = 'new' WHERE id = 9", "ALTER TABLE t DROP COLUMN v")
    told = replica.replicate()
    assert told.discarded["public.t: its session is ignored (name purge*)"] == 5
    assert "discarded: 5 x public.t: its session is ignored (name purge*)" in told.text()
    assert replica.rows("SELECT id, v FROM t WHERE id IN (1, 5, 9) ORDER BY id") == [(1, "v1"), (5, "v5"), (9, "new")]
    why = may_differ(replica)
    assert [w for w in why if "its session is ignored (name purge*), 5 row changes so far" in w]
    found = replica.compare()
    assert found.differences and "its session is ignored (name purge*), 5 row changes so far" in found.text()


def test_triggers_name_sessions_of_an_application_and_a_role(
    databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tables that come later have one, too; other sessions' rows arrive; deactivation takes all triggers away."""
    role = f"batch_{databases.source.rpartition('/')[2].partition('?')[0]}"
    replica = replica_of(
        databases,
        tmp_path,
        {"names": ["purge*"], "roles": [role], "known_by": "triggers"},
        adapt_ddl=[{"add_table_pattern": "*"}],
    )
    replica.at_source(
        f"CREATE ROLE {role}",
        f"GRANT SELECT, DELETE ON t TO {role}",
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
        "INSERT INTO p SELECT generate_series(1, 9)",
    )
    replica.replicate()
    try:
        as_session(replica, "purge", "DELETE FROM t WHERE id = 1", "DELETE FROM p WHERE id = 1", "TRUNCATE p_1")
        as_session(
            replica, "app", "DELETE FROM t WHERE id = 2", "SET application_name = 'other'", "DELETE FROM t WHERE id = 3"
        )
        as_session(replica, "app", f"SET SESSION AUTHORIZATION {role}", "DELETE FROM t WHERE id = 4")
        told = replica.replicate()
        assert told.discarded["public.t: its session is ignored (name purge*)"] == 1
        assert told.discarded[f"public.t: its session is ignored (role {role})"] == 1
        assert replica.rows("SELECT id FROM t ORDER BY id") == [(1,), (4,), (5,), (6,), (7,), (8,), (9,)]
        assert replica.rows("SELECT count(*) FROM p") == [(9,)]
    finally:
        replica.at_source(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    as_session(replica, "admin", "SET event_triggers = off", "ALTER TABLE t DISABLE TRIGGER ALL")
    with psycopg.connect(replica.source) as writer, caplog.at_level("WARNING", "ddlrepl"):
        writer.execute("DELETE FROM t WHERE id = 9")
        replica.capture()
    assert "public.t has no trigger that names the sessions to ignore" in caplog.text
    replica.capture()
    with psycopg.connect(replica.source) as connection:
        require_all(connection, "shop", IgnoredSessions(names=("purge*",), roles=(role,), known_by=KnownBy.TRIGGERS))
        with pytest.raises(SourceError, match=r"SRC-122: .*public\.p, public\.p_1, public\.t"):
            require_all(connection, "shop", IgnoredSessions(names=("other",), known_by=KnownBy.TRIGGERS))
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.deactivate(run)
    with psycopg.connect(replica.source) as connection:
        assert connection.execute("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'ddlrepl%'").fetchone() == (0,)


def test_what_a_target_was_given_does_not_come_back_from_there(databases: Any, tmp_path: Path) -> None:
    """Two channels, there and back: each ignores the sessions of the other, its loads and schema changes, too."""
    (tmp_path / "back").mkdir()
    there = replica_of(databases, tmp_path, {"names": ["ddlrepl*"]})
    back_file = channel_file(
        tmp_path / "back",
        databases.target,
        databases.source,
        channel="back",
        capture={"ignore_sessions": {"names": ["ddlrepl*"]}},
        targets=[{"name": "warehouse", "location": databases.source, "existing_tables": "replace"}],
    )
    back = Replica(databases.target, databases.source, back_file)
    back.activate()
    there.at_source("INSERT INTO t VALUES (10, 'there')", "UPDATE t SET v = 'there' WHERE id = 1")
    there.replicate()
    back.at_source("INSERT INTO t VALUES (11, 'back')")
    there.at_source("DELETE FROM t WHERE id = 10", "UPDATE t SET v = 'later' WHERE id = 1", "ALTER TABLE t ADD w int")
    told = back.replicate()
    assert [why for why in told.discarded if "its session is ignored (name ddlrepl*)" in why]
    there.replicate()
    for _ in range(2):
        assert back.replicate().integrate.rows == there.replicate().integrate.rows == {}
    rows = "SELECT id, v, w FROM t WHERE id IN (1, 10, 11) ORDER BY id"
    assert there.rows(rows) == back.rows(rows) == [(1, "later", None), (11, "back", None)]
    assert there.compare().differences == 0


def test_a_replication_origin_is_ignored_wherever_the_log_is_read_again(
    databases: Any, tmp_path: Path, past: str
) -> None:
    """Whatever the file says by then: a segment that is lost is captured as it was, and a rewind shows the same."""
    replays = [{"name": "past", "location": past}]
    more = {"rewind_horizon": {**HORIZON, "hold_log": {"age": "1h"}}, "replays": replays}
    replica = replica_of(databases, tmp_path, {"origins": ["feed_*"]}, **more)
    name = f"feed_{databases.source.rpartition('/')[2].partition('?')[0]}"
    replica.at_source(f"SELECT pg_replication_origin_create('{name}')")
    try:
        set_up = f"SELECT pg_replication_origin_session_setup('{name}')"
        as_session(replica, "feed", set_up, "DELETE FROM t WHERE id = 1", "CREATE TABLE fed (id int)")
        replica.at_source("DELETE FROM t WHERE id = 2")
        replica.capture()
        replica.file.write_text(replica.file.read_text().replace("feed_*", "other"))
        for file in (tmp_path / "trail").glob("**/data/**/*.parquet"):
            file.unlink()
        told = replica.replicate()
        assert replica.rows("SELECT id FROM t WHERE id < 4 ORDER BY id") == [(1,), (3,)]
        assert replica.rows("SELECT to_regclass('fed')") == [(None,)]
        replica.rewind(str(told.capture.high), tables=["public.t"])
        assert read(past, "SELECT * FROM t ORDER BY id") == replica.rows("SELECT * FROM t ORDER BY id")
        replica.at_source(
            "INSERT INTO fed VALUES (1)", "ALTER TABLE fed ADD COLUMN x int", "INSERT INTO fed VALUES (2, 3)"
        )
        replica.replicate()
        assert replica.rows("SELECT * FROM fed ORDER BY id") == [(1, None), (2, 3)]
    finally:
        replica.at_source(f"SELECT pg_replication_origin_drop('{name}')")
