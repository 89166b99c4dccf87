"""Two runs at once into a catalog that changes one table at a time: of one channel, and of two with one database."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog import publishing
from airflow_ddlrepl.errors import Fenced
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.interrupted import SHOP, WORK, Stopping, stopping
from tests.support.lakes.single import Single
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, LOG, SUMS = (TableName("public", name) for name in ("orders", "log", "sums"))


def lease_runs_out(replica: Replica) -> None:
    """Let the next run take the running one for killed."""
    with closing(sqlite3.connect(replica.file.parent / "repository.db")) as connection, connection:
        connection.execute("update locks set lease_until = '2001-01-01 00:00:00.000000'")


@pytest.mark.req("XR-09")
def test_a_run_that_was_taken_for_killed_changes_nothing_any_more(
    single: Single, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run ends its publication, and publishes windows that take back what it is about."""
    replica.at_source(*SHOP)
    replica.activate()

    def other_run() -> None:
        lease_runs_out(replica)
        replica.replicate()
        replica.at_source("alter table totals rename to sums", "drop table new", WORK)
        replica.replicate()

    for point, after in (("lake.intent", 0), ("lake.swapped", 2), ("lake.renaming", 0)):
        replica.at_source(
            WORK, "alter table sums rename to totals; create table new (id int primary key); insert into new values (1)"
        )
        stop = Stopping(point, after, other_run)
        with monkeypatch.context() as patched, pytest.raises(Fenced):
            stopping(patched, stop)
            replica.replicate()
        assert stop.is_done and single.pointers().keys() == {ORDERS, LOG, SUMS}, point
        replica.check_equal()


def channel(databases: Databases, folder: Path, single: Single, name: str) -> Replica:
    """A channel of the schema of its own name."""
    (folder / name).mkdir()
    source = {"tables": [f"{name}.*"]}
    file = channel_file(folder / name, databases.source, single.location, channel=name, source=source)
    found = Replica(databases.source, "", file)
    found.at_source(
        f"create schema {name}",
        f"create table {name}.items (id int primary key, n int)",
        f"insert into {name}.items select i, 0 from generate_series(1, 20) i",
        f"create table {name}.sums (total int)",
    )
    found.activate()
    return found


def test_channels_with_one_database_publish_one_after_the_other(
    databases: Databases, tmp_path: Path, single: Single, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has waited in vain ends what the other has begun, which finds it done then."""
    first, second = (channel(databases, tmp_path, single, name) for name in ("first", "second"))
    tables = [TableName(schema, table) for schema in ("first", "second") for table in ("items", "sums")]

    def work() -> None:
        for schema in ("first", "second"):
            first.at_source(f"begin; update {schema}.items set n = n + 1; insert into {schema}.sums values (1); commit")

    for point, after in (("lake.intent", 0), ("lake.swapped", 0), ("lake.published", 0)):
        before = [single.snapshots(name) for name in tables]
        work()
        stop = Stopping(point, after, second.replicate)
        with monkeypatch.context() as patched:
            patched.setattr(publishing, "_PATIENCE", 0.3)
            stopping(patched, stop)
            first.replicate()
        assert stop.is_done and [single.snapshots(name) for name in tables] == [count + 1 for count in before], point
    for _ in range(3):
        work()
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(one.replicate) for one in (first, second)]:
                done.result()
    for one in (first, second):
        one.settle()
