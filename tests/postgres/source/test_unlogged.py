"""ALTER TABLE … SET UNLOGGED of a published table is done at the source; it is left out until it is logged again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import Databases
from tests.flow.capture.test_left_out import begun, check_comes_back, check_said, status
from tests.flow.capture.test_without_triggers import both
from tests.support.replica import Replica

T = "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL)"
U = "CREATE TABLE u (id int PRIMARY KEY, unlogged int)"
KINDS = {
    "plain": "ALTER TABLE t SET UNLOGGED",
    "combined": "ALTER TABLE t SET UNLOGGED, ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY",
    "quoted": 'alter table if exists only public."t" set /* for a load */ unlogged',
    "of many": "ALTER TABLE u ADD b int; ALTER TABLE u ADD c int; ALTER TABLE t SET UNLOGGED; ALTER TABLE u DROP b",
    "beside constants": "COMMENT ON TABLE u IS ''; ALTER TABLE u ADD b text DEFAULT E'\\'' || $x$;'$x$ || U&'it''s';"
    " /* don't /* */ ; */ ALTER TABLE t ALTER a SET DEFAULT '7'::int, SET UNLOGGED",
    "of a block": "DO $$ BEGIN EXECUTE 'ALTER TABLE u ADD b int'; ALTER TABLE t SET UNLOGGED; END $$",
}


def published(replica: Replica) -> set[str]:
    with psycopg.connect(replica.source) as connection:
        rows = connection.execute("SELECT tablename::text FROM pg_publication_tables WHERE pubname = 'ddlrepl_shop'")
        return {name for (name,) in rows}


@both
@pytest.mark.parametrize("kind", KINDS)
def test_it_leaves_and_comes_back(databases: Databases, tmp_path: Path, kind: str) -> None:
    replica = begun(databases, tmp_path, T, U, "INSERT INTO t VALUES (1, 1)", "INSERT INTO u VALUES (1, 1)")
    replica.at_source("INSERT INTO t VALUES (2, 2)", KINDS[kind], "INSERT INTO u VALUES (2, 2)")
    assert published(replica) == {"u"}
    replica.at_source("INSERT INTO t (id, a) OVERRIDING SYSTEM VALUE VALUES (3, 3)", "UPDATE u SET unlogged = 5")
    result = replica.replicate()
    assert result.refresh.tables == {}
    check_said(replica, result, "public.t", "unlogged")
    assert replica.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    assert replica.rows("SELECT relpersistence::text FROM pg_class WHERE relname = 't'") == [("p",)]
    replica.at_source("DELETE FROM t WHERE id = 1", "ALTER TABLE t SET LOGGED", "UPDATE t SET id = 9 WHERE id = 2")
    check_comes_back(replica, "public.t")
    replica.at_source("UPDATE t SET id = 10 WHERE id = 9")
    assert replica.settle().refresh.tables == {} and published(replica) == {"t", "u"}


@both
def test_what_is_rolled_back_or_refused_changes_nothing(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, T, U)
    server: Any = databases.server
    server.create_role(role := f"stranger_{replica.source[-8:]}")
    dsn = server.dsn(replica.source.rpartition("/")[2], role)
    with psycopg.connect(dsn) as stranger, pytest.raises(psycopg.errors.InsufficientPrivilege):
        stranger.execute("ALTER TABLE t SET UNLOGGED")
    with psycopg.connect(replica.source) as user:
        user.execute("INSERT INTO t VALUES (1, 1)")
        user.execute("SAVEPOINT before; ALTER TABLE t SET UNLOGGED; INSERT INTO t VALUES (2, 2); ROLLBACK TO before")
        with pytest.raises(psycopg.errors.UndefinedColumn), user.transaction():
            user.execute("ALTER TABLE t SET UNLOGGED, DROP COLUMN nothing")
        user.execute("INSERT INTO t VALUES (3, 3)")
        user.execute("ALTER TABLE u ADD c text DEFAULT 'SET UNLOGGED'")
        user.execute("INSERT INTO u VALUES (1, 1)")
    result = replica.settle()
    assert published(replica) == {"t", "u"} and result.refresh.tables == {}
    assert replica.rows("SELECT id FROM t ORDER BY id") == [(1,), (3,)]


@both
def test_both_in_one_transaction_with_rows_around(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, T, U)
    with psycopg.connect(replica.source) as user:
        user.execute("INSERT INTO t VALUES (1, 1)")
        user.execute("ALTER TABLE t SET UNLOGGED")
        user.execute("INSERT INTO t VALUES (2, 2)")
        user.execute("ALTER TABLE t SET LOGGED")
        user.execute("UPDATE t SET a = 7")
    replica.settle()
    assert replica.rows("SELECT id, a FROM t ORDER BY id") == [(1, 7), (2, 7)]
    assert status(replica).to_json()["left_out"] == []


def test_one_that_is_logged_again_in_silence(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, T)
    replica.at_source("ALTER TABLE t SET UNLOGGED", "INSERT INTO t VALUES (2, 2)")
    replica.replicate()
    with psycopg.connect(replica.source, autocommit=True) as superuser:
        superuser.execute("SET event_triggers = off")
        superuser.execute("ALTER TABLE t SET LOGGED")
    check_comes_back(replica, "public.t")


def test_without_event_triggers_the_server_refuses(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, T, source={"ddl": "relations"})
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="part of a publication"):
        replica.at_source("ALTER TABLE t SET UNLOGGED")
