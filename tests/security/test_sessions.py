"""Nobody has changes ignored by calling themselves a role that they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from tests.flow.capture.test_ignored_sessions import replica_of
from tests.flow.streams.apply_process.test_apply import begun, rules
from tests.flow.streams.sync_capturing import Capturing, rule
from tests.support.replica import run

ROLE = "SELECT pg_logical_emit_message(true, 'ddlrepl.role', %s)"


def test_a_role_is_believed_only_with_our_signature(databases: Any, tmp_path: Path) -> None:
    sessions = {"roles": ["batch"], "known_by": "triggers"}
    replica = replica_of(databases, tmp_path, sessions)
    signed = json.dumps({"v": 1, "kind": "role", "role": "batch", "xid": "1", "signature": "0" * 64})
    for number, said in enumerate(("batch", '{"role": "batch"}', signed), 1):
        with psycopg.connect(replica.source) as connection:
            connection.execute(ROLE, [said])
            connection.execute("DELETE FROM t WHERE id = %s", [number])
    assert not replica.replicate().discarded
    assert replica.rows("SELECT min(id) FROM t") == [(4,)]


def test_a_helper_schema_that_does_not_sign_roles_is_an_error(databases: Any, tmp_path: Path) -> None:
    """Of an earlier version: the channel does not go on as if nobody were ignored, and activation renews it."""
    replica = replica_of(databases, tmp_path, {"roles": ["batch"], "known_by": "triggers"})
    old = "BEGIN PERFORM pg_logical_emit_message(true, 'ddlrepl.role', session_user::text); RETURN NULL; END"
    function = "CREATE OR REPLACE FUNCTION ddlrepl.name_session() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
    run(
        replica.source,
        f"{function} AS $$ {old} $$",
        "COMMENT ON SCHEMA ddlrepl IS 'airflow-ddlrepl helper 0'",
        "DELETE FROM t WHERE id = 1",
    )
    with pytest.raises(DdlReplError, match="SRC-122"):
        replica.capture()
    replica.activate()
    replica.replicate()
    assert replica.rows("SELECT min(id) FROM t") == [(2,)]


def test_an_ignored_session_is_named_whatever_its_settings_say(databases: Any, tmp_path: Path) -> None:
    replica = replica_of(databases, tmp_path, {"names": ["etl*"], "known_by": "triggers"})
    with psycopg.connect(replica.source, application_name="etl 1") as connection:
        connection.execute("SELECT set_config('ddlrepl.named', pg_current_xact_id()::text, true)")
        connection.execute("DELETE FROM t WHERE id = 1")
        (mark,) = connection.execute("SELECT current_setting('ddlrepl.named')").fetchone() or ("",)
        connection.execute("DELETE FROM t WHERE id = 2")
        connection.commit()
        connection.execute("SELECT set_config('ddlrepl.named', %s, true)", [mark])
        connection.execute("DELETE FROM t WHERE id = 3")
    result = replica.replicate()
    assert result.discarded == {"public.t: its session is ignored (name etl*)": 3}
    assert replica.rows("SELECT min(id) FROM t") == [(1,)]


def test_a_tag_is_for_who_may_have_a_replication_origin(databases: Any, tmp_path: Path) -> None:
    """By default rules leave out what has a tag: nobody else hides schema changes by one."""
    channel = begun(databases, tmp_path, rules("schema"))
    role = f"tagger_{databases.source.rpartition('/')[2]}"
    databases.server.create_role(role)
    try:
        channel.at_source(f'GRANT USAGE, CREATE ON SCHEMA hr TO "{role}"')
        tagged = ("SET ddlrepl.tag = '1d'", "CREATE TABLE hr.{} (id int PRIMARY KEY)")
        for name, dsn in (
            ("hers", databases.server.dsn(databases.source.rpartition("/")[2], role)),
            ("ours", databases.source),
        ):
            with psycopg.connect(dsn) as connection:
                for statement in tagged:
                    connection.execute(statement.format(name).encode())
        channel.stage(flow.capture)
        found = " ".join(channel.content("q1"))
        assert "hr.hers" in found and "hr.ours" not in found
    finally:
        run(databases.target, f'DROP OWNED BY "{role}" CASCADE')
        run(databases.source, f'DROP OWNED BY "{role}" CASCADE', f'DROP ROLE "{role}"')


def test_no_setting_hides_or_marks_what_triggers_capture(databases: Any, tmp_path: Path) -> None:
    """A tag, and what the triggers note of it, decide nothing of a role that may not have a replication origin."""
    capturing = Capturing(databases.source, tmp_path, [rule(include_tagged_lcr=False)])
    capturing.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.t (id int PRIMARY KEY)")
    capturing.capture()
    role = f"tagger_{databases.source.rpartition('/')[2]}"
    databases.server.create_role(role)
    try:
        capturing.at_source(f'GRANT USAGE ON SCHEMA hr TO "{role}"; GRANT INSERT ON hr.t TO "{role}"')
        noted = "SELECT set_config('ddlrepl.captured_' || md5('sync'), {}, false)"
        with psycopg.connect(databases.server.dsn(databases.source.rpartition("/")[2], role)) as connection:
            connection.execute("SET ddlrepl.tag = '1d'")
            for number, what in enumerate(("'7 1d'", "pg_current_xact_id()::text", "''", "'x'")):
                connection.execute(noted.format(what).encode())
                connection.execute(f"INSERT INTO hr.t VALUES ({number})".encode())
                connection.commit()
        capturing.at_source("INSERT INTO hr.t VALUES (9)")
        capturing.capture()
        assert [(one.new["id"], one.tag) for one in capturing.lcrs()] == [(str(n), None) for n in (0, 1, 2, 3, 9)]
    finally:
        run(databases.source, f'DROP OWNED BY "{role}" CASCADE', f'DROP ROLE "{role}"')
