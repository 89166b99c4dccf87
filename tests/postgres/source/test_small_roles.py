"""The whole flow with the small roles of docs/postgresql.md, at the source and at the target."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.postgres.source.test_rights import PAGE, Roles, roles
from tests.support.replica import Replica, channel_file, run
from tests.support.small_roles import small_replica

__all__ = ["roles"]
both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
WORK = (
    "insert into t values (1, 'a'), (2, 'b')",
    "insert into keyless values ('x'), ('x')",
    "alter table t add column n int default 4",
    "update t set n = 5 where id = 1",
    "create type mood as enum ('good')",
    "create table later (id int primary key, m mood, w int)",
    "insert into later values (1, 'good', 3)",
    "alter table later alter w type text using w || '!'",
    "alter table t rename v to words",
    "delete from keyless where ctid = (select min(ctid) from keyless)",
    "truncate t",
    "insert into t values (3, 'c', 6)",
)


def small_target(roles: Roles, target: str) -> str:
    """What the page says of the role at the target."""
    name = f"loader_{roles.database}"
    database = urlsplit(target).path[1:]
    found = re.search(r"<!-- the loading role -->\n```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    sql = found.group(1).replace("ddlrepl_loader", name).replace("DATABASE warehouse", f"DATABASE {quote(database)}")
    run(target, sql.replace("'choose one'", f"'{roles.server.password}'"))
    return roles.server.dsn(database, name)


def replica_of(databases: Databases, folder: Path, source: str, target: str, /, **more: Any) -> Replica:
    file = channel_file(folder, source, target, **more)
    return Replica(databases.source, databases.target, file)


def reading(title: str, roles: Roles, databases: Databases, folder: Path) -> Replica:
    """Activated by a superuser without loading; from then on the small roles do everything."""
    loader = small_target(roles, databases.target)
    targets = [{"name": "warehouse", "location": loader, "schemas": {"public": "dw"}}]
    first = replica_of(databases, folder, roles.superuser, loader, targets=targets)
    with flow.open_channel(first.file, InProcess()) as cycle:
        flow.activate(cycle, load=False)
    return replica_of(databases, folder, roles.make(title), loader, targets=targets)


def as_app(roles: Roles, *statements: str) -> None:
    """As the application's own role, which knows nothing of us."""
    run(roles.superuser, *(f"set role {roles.app}; {s}" for s in statements))


@both
@pytest.mark.parametrize("title", ["the reading role", "the reading role, narrow"])
def test_a_small_role_goes_on_where_a_superuser_activated(
    title: str, roles: Roles, databases: Databases, tmp_path: Path
) -> None:
    replica = reading(title, roles, databases, tmp_path)
    if "narrow" in title:
        default = f"alter default privileges for role {roles.app} in schema public"
        run(roles.superuser, f"{default} grant select on tables to {roles.made[-1]}")
    assert set(replica.replicate().refresh.tables) == {"dw.t", "dw.keyless"}
    as_app(roles, *WORK)
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert set(flow.refresh(cycle, ["public.later"]).tables) == {"dw.later"}
    as_app(roles, "update later set w = 'z'", "drop table keyless")
    replica.settle()
    _gone(roles, databases)


@both
def test_an_owner_replicates_without_event_triggers(roles: Roles, databases: Databases, tmp_path: Path) -> None:
    loader = small_target(roles, databases.target)
    targets = [{"name": "warehouse", "location": loader, "schemas": {"public": "dw"}}]
    replica = replica_of(databases, tmp_path, roles.make("the owning role"), loader, targets=targets)
    replica.activate()
    as_app(roles, *WORK)
    replica.settle()
    as_app(roles, "update later set w = 'z'", "insert into keyless values ('q')", "alter table t add column z int")
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.deactivate(cycle)
    _gone(roles, databases)


def test_an_administrators_publication_is_enough(roles: Roles, databases: Databases, tmp_path: Path) -> None:
    run(roles.superuser, "create publication ddlrepl_shop for table t")
    loader = small_target(roles, databases.target)
    targets = [{"name": "warehouse", "location": loader, "schemas": {"public": "dw"}}]
    source = {"tables": ["public.t"]}
    replica = replica_of(
        databases, tmp_path, roles.make("the reading role"), loader, targets=targets, source=source, adapt_ddl=[]
    )
    replica.activate()
    as_app(
        roles,
        "insert into t values (1, 'a')",
        "alter table t add column n int default 4",
        "update t set n = 5",
        "insert into keyless values ('of no interest')",
    )
    replica.settle()
    run(databases.source, "select pg_drop_replication_slot('ddlrepl_shop')")
    _gone(roles, databases)


def _gone(roles: Roles, databases: Databases) -> None:
    """The loader's tables, so that its role can go."""
    name = f"loader_{roles.database}"
    with psycopg.connect(databases.target, autocommit=True) as connection:
        connection.execute(f"drop owned by {name}; drop role {name}".encode())


@both
def test_what_is_not_in_an_administrators_publication_is_left_out(databases: Databases, tmp_path: Path) -> None:
    tables = [f"create table {name} (id int primary key)" for name in "tu"]
    run(databases.source, *tables, "create publication ddlrepl_shop for table t")
    replica = small_replica(databases, tmp_path)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert set(flow.activate(cycle).left_out) == {"public.u"}
    replica.at_source("create table w (id int primary key)", *(f"insert into {name} values (1)" for name in "tuw"))
    replica.settle(left_out=["public.u", "public.w"])
    assert replica.rows("select to_regclass('u'), to_regclass('w')") == [(None, None)]
    replica.at_source("alter publication ddlrepl_shop add table u", *(f"insert into {n} values (2)" for n in "tuw"))
    replica.settle(left_out=["public.w"])
    assert replica.rows("select id from u order by id") == [(1,), (2,)]
    run(databases.source, "select pg_drop_replication_slot('ddlrepl_shop')")


@both
def test_an_administrators_publication_that_was_made_again(databases: Databases, tmp_path: Path) -> None:
    """The server tells nobody that the log has none of the rows in between."""
    run(databases.source, "create table t (id int primary key)", "create publication ddlrepl_shop for table t")
    replica = small_replica(databases, tmp_path)
    replica.activate()
    replica.at_source(
        "drop publication ddlrepl_shop", "insert into t values (1)", "create publication ddlrepl_shop for table t"
    )
    with pytest.raises(SourceError) as caught:
        replica.replicate()
    assert caught.value.code == "SRC-106"
    replica.activate()
    replica.settle()
    assert replica.rows("select id from t") == [(1,)]
    run(databases.source, "select pg_drop_replication_slot('ddlrepl_shop')")
