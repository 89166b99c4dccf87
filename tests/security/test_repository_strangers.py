"""A repository on a PostgreSQL server that strangers share: nothing of theirs runs or stops anybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.repository import upgrade
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.tables import SCHEMA
from tests.conftest import Databases
from tests.support.replica import run


@dataclass
class Shared:
    """A database with two roles that may create schemas in it: ours and a stranger's."""

    admin: str
    ours: str
    stranger: str
    stranger_name: str

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.admin) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def shared(databases: Databases) -> Iterator[Shared]:
    database = databases.target.rsplit("/", 1)[1]
    names = [f"keeper_{database}", f"stranger_{database}"]
    for name in names:
        databases.server.create_role(name)
        run(databases.target, f'grant create on database {database} to "{name}"')
    run(databases.target, f'grant create on schema public to "{names[1]}"')
    ours, theirs = (databases.server.dsn(database, name) for name in names)
    yield Shared(databases.target, ours, theirs, names[1])
    for name in names:
        run(databases.target, f'drop owned by "{name}" cascade', f'drop role "{name}"')


TRAP = "language plpgsql as 'begin create table public.sprung(); return null; end'"


def test_a_schema_that_a_stranger_has_made_first_is_not_used(shared: Shared) -> None:
    run(
        shared.stranger,
        f"create schema {SCHEMA}",
        f"create table {SCHEMA}.alembic_version (version_num text)",
        f"create function {SCHEMA}.spring() returns trigger {TRAP}",
        f"create trigger t before insert on {SCHEMA}.alembic_version execute function {SCHEMA}.spring()",
        f"grant all on schema {SCHEMA} to public",
        f"grant all on all tables in schema {SCHEMA} to public",
    )
    with pytest.raises(RepositoryError, match="REP-120") as caught:
        Repository.open(shared.ours)
    assert shared.stranger_name in str(caught.value)
    assert shared.rows("select to_regclass('public.sprung')") == [(None,)]


def test_a_table_that_a_stranger_has_put_into_it_is_told(shared: Shared) -> None:
    Repository.open(shared.ours).close()
    run(shared.ours, f'grant create, usage on schema {SCHEMA} to "{shared.stranger_name}"')
    run(shared.stranger, f"create table {SCHEMA}.extra ()")
    with pytest.raises(RepositoryError, match=r"REP-120.*relation extra"):
        Repository.open(shared.ours)
    run(shared.stranger, f"drop table {SCHEMA}.extra")
    Repository.open(shared.ours).close()


def test_operators_and_functions_of_a_stranger_take_no_built_in_s_place(shared: Shared) -> None:
    """A session looks for names in pg_catalog alone, whatever role and database say."""
    run(
        shared.stranger,
        f"create function public.equal(varchar, varchar) returns bool {TRAP.replace('return null', 'return true')}",
        "create operator public.= (leftarg = varchar, rightarg = varchar, function = public.equal)",
        f"create function public.clock_timestamp() returns timestamptz {TRAP.replace('return null', 'return now()')}",
    )
    name = shared.rows("select current_database()")[0][0]
    run(shared.admin, f"alter database {name} set search_path = public, pg_catalog")
    run(shared.admin, f"alter database {name} set standard_conforming_strings = off")
    with Repository.open(shared.ours) as repository:
        repository.ensure_channel("shop", "a\\'; drop table x; --")
        with repository.lock("shop", "back\\slash'") as lock:
            assert lock.token == 1
        row = repository.channel("shop")
        assert row is not None and row.fingerprint == "a\\'; drop table x; --"
    assert shared.rows("select to_regclass('public.sprung')") == [(None,)]


def test_a_stranger_who_takes_our_advisory_lock_is_named(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "PATIENCE_SECONDS", 1)
    with psycopg.connect(shared.stranger) as session:
        session.execute("select pg_advisory_lock(%s)", [upgrade._ADVISORY_LOCK])
        with pytest.raises(RepositoryError, match="REP-122") as caught:
            Repository.open(shared.ours)
        assert caught.value.retryable and "pg_locks" in caught.value.hint
    Repository.open(shared.ours).close()


def test_a_repository_that_can_not_be_written_says_so(shared: Shared, tmp_path: Path) -> None:
    Repository.open(shared.ours).close()
    name = shared.rows("select current_database()")[0][0]
    run(shared.admin, f"alter database {name} set default_transaction_read_only = on")
    try:
        with Repository.open(shared.ours) as repository, pytest.raises(RepositoryError, match="REP-121") as caught:
            repository.ensure_channel("shop", "f")
        assert "default_transaction_read_only" in caught.value.hint
    finally:
        with psycopg.connect(shared.admin, autocommit=True, options="-c default_transaction_read_only=off") as admin:
            admin.execute(f"alter database {name} reset default_transaction_read_only".encode())
    with Repository.open(shared.ours) as repository:
        repository.ensure_channel("shop", "f")
