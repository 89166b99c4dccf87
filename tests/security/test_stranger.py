"""A role that may connect and make temporary tables, nothing else, can stop or lose nothing of a channel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.connection import advisory_lock
from airflow_ddlrepl.errors import SourceError, TargetError
from tests.conftest import Databases
from tests.flow.capture.test_without_triggers import both
from tests.support.replica import Replica, channel_file, run
from tests.support.small_roles import small_replica

VICTIM = "CREATE TABLE victim (id int PRIMARY KEY, a int)"
TEMPORARY = "CREATE TEMP TABLE mine (id int)"
UNLOGGED = {
    "default": "ALTER TABLE mine ADD c text DEFAULT 'alter table public.victim set unlogged'",
    "comment": "ALTER TABLE mine /* ALTER TABLE victim SET UNLOGGED */ ADD c int",
    "nested comment": "ALTER TABLE mine ADD c int /* /* */ ; ALTER TABLE victim SET UNLOGGED; */",
    "string and quote": "ALTER TABLE mine ADD \"a;b\" text DEFAULT E'\\'; ALTER TABLE public.victim SET UNLOGGED; --'",
    "two tables": "ALTER TABLE mine ADD unlogged int, ADD set int; ALTER TABLE mine ADD victim int",
    "caught": "DO $do$ BEGIN ALTER TABLE public.victim SET UNLOGGED; EXCEPTION WHEN OTHERS THEN NULL; END $do$",
    "caught, then another": "DO $do$ BEGIN BEGIN ALTER TABLE public.victim SET UNLOGGED; EXCEPTION WHEN OTHERS THEN"
    " NULL; END; PERFORM set_config('ddlrepl.state', '', false); ALTER TABLE mine ADD z int; END $do$",
    "forged caller": 'SET ddlrepl.runs_as = \'{"role": "postgres", "schemas": ["public"]}\';'
    " DO $do$ BEGIN ALTER TABLE victim SET UNLOGGED; EXCEPTION WHEN OTHERS THEN NULL; END $do$",
    "cleared": "ALTER TABLE mine ADD c text DEFAULT set_config('ddlrepl.taken_out', '', false) || 'alter table victim"
    " set unlogged'",
}


def made(server: Any, dsn: str, stem: str) -> str:
    """A role that may connect to the database and make temporary tables; its URL."""
    database = dsn.rpartition("/")[2]
    server.create_role(name := f"{stem}_{database}")
    run(dsn, f'GRANT CONNECT, TEMP ON DATABASE "{database}" TO "{name}"')
    return str(server.dsn(database, name))


def dropped(dsn: str, stem: str) -> None:
    run(dsn, f'DROP OWNED BY "{stem}_{dsn.rpartition("/")[2]}"', f'DROP ROLE "{stem}_{dsn.rpartition("/")[2]}"')


@pytest.fixture
def stranger(databases: Databases) -> Iterator[str]:
    yield made(databases.server, databases.source, "stranger")
    dropped(databases.source, "stranger")


def small(databases: Databases, folder: Path) -> Replica:
    replica = small_replica(databases, folder)
    replica.at_source(VICTIM, "INSERT INTO victim VALUES (1, 1)", "CREATE TABLE fine (id int PRIMARY KEY)")
    replica.begin()
    return replica


@both
def test_no_table_leaves_the_stream_by_words(databases: Databases, tmp_path: Path, stranger: str) -> None:
    replica = small(databases, tmp_path)
    for how, statements in UNLOGGED.items():
        run(stranger, f"{TEMPORARY}; {statements}")
        with psycopg.connect(replica.source) as connection:
            found = connection.execute("SELECT tablename FROM pg_publication_tables ORDER BY 1").fetchall()
        assert found == [("fine",), ("victim",)], how
    with psycopg.connect(stranger) as session:
        session.execute(TEMPORARY)
        session.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("ALTER TABLE victim SET UNLOGGED")
        session.execute("ROLLBACK TO s")
        session.execute("ALTER TABLE mine ADD c int")
    with psycopg.connect(stranger, autocommit=True) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(
            f"{TEMPORARY}; INSERT INTO mine VALUES (1); BEGIN;"
            " ALTER TABLE mine ADD c text DEFAULT set_config('ddlrepl.state', '', false); COMMIT;"
            " ALTER TABLE public.victim SET UNLOGGED"
        )
    with psycopg.connect(replica.source) as connection:
        assert connection.execute("SELECT count(*) FROM pg_publication_tables").fetchone() == (2,)
    replica.at_source("UPDATE victim SET a = 2")
    result = replica.settle()
    assert result.refresh.tables == {}


def test_a_table_that_can_not_come_back_fails_the_run(databases: Databases, tmp_path: Path) -> None:
    replica = small(databases, tmp_path)
    replica.settle()
    replica.at_source("ALTER PUBLICATION ddlrepl_shop DROP TABLE victim", "INSERT INTO fine VALUES (7)")
    for _ in range(2):
        with pytest.raises(SourceError, match="SRC-126") as caught:
            replica.replicate()
    assert "public.victim" in caught.value.message and "ddlrepl activate" in caught.value.hint
    assert replica.rows("SELECT id FROM fine") == [(7,)], "the others go on"
    replica.activate()
    assert "public.victim" in replica.settle().refresh.tables or replica.compare().differences == 0


def test_a_lock_of_ours_that_a_stranger_keeps_is_named(
    databases: Databases, tmp_path: Path, stranger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advisory_lock, "PATIENCE", 0.5)
    monkeypatch.setattr("airflow_ddlrepl.engines.postgres.source.activate.PATIENCE", -1e6)
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(VICTIM)
    at_target = made(databases.server, databases.target, "stranger")
    with psycopg.connect(at_target) as session:
        session.execute("SELECT pg_advisory_lock(hashtext('ddlrepl.prepare'))")
        with pytest.raises(TargetError, match="TGT-109") as refused:
            replica.activate()
        assert f"process {session.info.backend_pid} " in refused.value.message
    with psycopg.connect(stranger) as session:
        session.execute("SELECT pg_advisory_lock(hashtext('ddlrepl.activate'))")
        with pytest.raises(SourceError, match="SRC-127") as caught:
            replica.activate()
        assert f"process {session.info.backend_pid} (user stranger_" in caught.value.message
        assert f"pg_terminate_backend({session.info.backend_pid})" in caught.value.hint
    replica.activate()
    replica.settle()
    dropped(databases.target, "stranger")
