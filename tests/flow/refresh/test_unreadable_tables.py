"""A table of the source that can't be read waits with its reason; the others are loaded, and their rows arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import BOTH, Replica
from tests.support.small_roles import SmallReplica, small_replica

TABLES = tuple(
    statement
    for number in range(4)
    for statement in (
        f"create table t{number} (id int primary key, v text)",
        f"insert into t{number} values (1, 'a'), (2, 'b')",
    )
)


def waiting(replica: Replica) -> dict[str, str]:
    """The tables that wait at the target, with why."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        tables = flow.status(cycle).to_json()["targets"]["warehouse"]["tables"]
    return {one["table"]: one["why"] for one in tables if one["state"] != "live"}


def refused(act: Callable[[], Any], code: str, table: str = "public.t1") -> DdlReplError:
    with pytest.raises(DdlReplError) as caught:
        act()
    assert (caught.value.code, caught.value.table) == (code, table), caught.value
    return caught.value


def no_right(replica: SmallReplica, role: str) -> str:
    replica.at_source(
        f'revoke pg_read_all_data from "{role}"',
        f'grant usage on schema public, ddlrepl to "{role}"',
        f'grant select on all tables in schema public, ddlrepl to "{role}"',
        f'revoke select on t1 from "{role}"',
    )
    return f'grant select on t1 to "{role}"'


def row_security(replica: SmallReplica, role: str) -> str:
    replica.at_source("alter table t1 enable row level security", "create policy p on t1 using (id > 1)")
    return "alter table t1 disable row level security"


def damaged(replica: SmallReplica, role: str) -> str:
    """A value whose parts are lost: the server fails while it reads the table."""
    files = "update pg_class set relfilenode = {} where oid = (select reltoastrelid from pg_class where relname = 't1')"
    replica.at_source(
        "create table spare (v text)",
        "alter table t1 alter v set storage external",
        "insert into t1 values (3, repeat('x', 10000))",
    )
    with psycopg.connect(replica.source) as connection:
        toast = "(select reltoastrelid from pg_class where relname = %s)"
        query = f"select relfilenode::bigint from pg_class where oid = {toast}"
        (own,), (other,) = (connection.execute(query, [name]).fetchone() or (0,) for name in ("t1", "spare"))
    replica.at_source(f"set allow_system_table_mods = on; {files.format(other)}")
    return f"set allow_system_table_mods = on; {files.format(own)}"


@BOTH
@pytest.mark.parametrize("horizon", [None, {"age": "1d"}], ids=["", "archived"])
@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (no_right, "SRC-105", "may not read it"),
        (row_security, "SRC-105", "row level security"),
        (damaged, "SRC-170", "could not read block"),
    ],
)
def test_one_table_that_can_not_be_read_stops_no_other(
    databases: Databases, tmp_path: Path, fault: Any, code: str, said: str, horizon: Any
) -> None:
    replica = small_replica(databases, tmp_path, **({"rewind_horizon": horizon} if horizon else {}))
    replica.at_source(*TABLES)
    replica._activate_as_superuser()
    role = replica.small.split("//")[1].split(":")[0]
    repair = fault(replica, role)
    error = refused(lambda: replica.refresh(), code)
    assert said in error.message
    assert set(waiting(replica)) == {"public.t1"} and said in waiting(replica)["public.t1"]
    replica.at_source("update t2 set v = 'c' where id = 1", "alter table t3 add n int default 7")
    refused(replica.replicate, code)
    assert replica.rows("select v from t2 where id = 1") == [("c",)]
    assert replica.rows("select n from t3 where id = 1") == [(7,)]
    found = replica.compare()
    assert {str(t.table) for t in found.tables if t.differences} == {"public.t1"}
    replica.at_source(repair)
    replica.settle()
    assert waiting(replica) == {}
    replica.at_source("alter table t1 add m int default 1")
    replica.settle()


@BOTH
def test_a_new_table_without_a_grant_keeps_no_other_waiting(databases: Databases, tmp_path: Path) -> None:
    replica = small_replica(databases, tmp_path)
    replica.at_source(*TABLES)
    role = replica.small.split("//")[1].split(":")[0]
    replica.begin()
    repair = no_right(replica, role)
    replica.at_source(
        "create table late (id int primary key)",
        "insert into late values (1)",
        "alter table late alter id type bigint using id + 1",
        "alter table t2 alter v type int using length(v)",
    )
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert caught.value.table == "public.late" and caught.value.code == "SRC-105"
    assert replica.rows("select v from t2 order by id") == [(1,), (1,)]
    assert set(waiting(replica)) == {"public.late"}
    replica.at_source(repair, f'grant select on late to "{role}"')
    replica.settle()


@BOTH
def test_a_partition_that_can_not_be_read_keeps_its_tree_waiting_alone(databases: Databases, tmp_path: Path) -> None:
    replica = small_replica(databases, tmp_path)
    replica.at_source(
        *TABLES,
        "create table parted (id int primary key) partition by range (id)",
        "create table low partition of parted for values from (0) to (10)",
        "create table high partition of parted for values from (10) to (20)",
        "insert into parted values (1), (11)",
    )
    replica._activate_as_superuser()
    role = replica.small.split("//")[1].split(":")[0]
    replica.at_source(no_right(replica, role), f'revoke select on low from "{role}"')
    with pytest.raises(DdlReplError, match="SRC-105"):
        replica.refresh()
    found = waiting(replica)
    assert set(found) == {"public.low", "public.high", "public.parted"}
    assert "waits for public.low" in found["public.high"]
    replica.at_source(f'grant select on low to "{role}"')
    replica.settle()
    assert replica.rows("select count(*) from parted") == [(2,)]


def test_a_locked_table_is_loaded_later_and_the_others_now(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_ddlrepl.engines.postgres.catalog import readable_tables

    monkeypatch.setattr(readable_tables, "PATIENCE_SECONDS", 0.5)
    replica = small_replica(databases, tmp_path)
    replica.at_source(*TABLES)
    replica._activate_as_superuser()
    with psycopg.connect(replica.source) as other:
        other.execute("lock table t1")
        error = refused(lambda: replica.refresh(), "SRC-171")
        assert error.retryable and set(waiting(replica)) == {"public.t1"}
    replica.settle()


def test_an_archive_that_lacks_a_table_is_not_renewed_in_every_cycle(
    databases: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replica = small_replica(databases, tmp_path, rewind_horizon={"size": 1 << 20})
    replica.at_source(*TABLES)
    replica.begin()
    role = replica.small.split("//")[1].split(":")[0]
    no_right(replica, role)
    caplog.set_level("INFO")
    replica.at_source("insert into t2 select i, md5(i::text) || md5(i || 'a') from generate_series(10, 30000) i")
    replica.replicate()
    replica.at_source("insert into t2 values (3, 'x')")
    replica.replicate()
    assert caplog.text.count("is not archived: SRC-105") == 1
    assert caplog.text.count("archived 3 tables in the trail") == 1
