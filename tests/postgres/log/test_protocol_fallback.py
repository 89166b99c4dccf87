"""A server that grants no SQL function for slots: the log comes over the replication protocol."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.log import replication_protocol
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.postgres.source.test_rights import Roles, roles
from tests.support.replica import Replica, channel_file

__all__ = ["roles"]
FUNCTIONS = (
    "pg_logical_slot_peek_binary_changes(name, pg_lsn, int, text[])",
    "pg_replication_slot_advance(name, pg_lsn)",
    "pg_copy_logical_replication_slot(name, name, boolean)",
)


class Two(InProcess):
    """Two ranges at a time, if anybody lets it."""

    parallelism = 2


def confirmed(dsn: str) -> Position:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select confirmed_flush_lsn::text from pg_replication_slots where slot_name = 'ddlrepl_shop'"
        ).fetchone()
    assert row is not None
    return Position.parse(row[0])


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
@pytest.mark.parametrize("revoked", [FUNCTIONS[:1], FUNCTIONS])
def test_without_the_functions(
    revoked: tuple[str, ...], roles: Roles, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_ddlrepl.engines.postgres.log.read_window.RANGE_BYTES", 1000)
    prepared = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    prepared.activate()
    reader = roles.make("the reading role")
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, reader, databases.target))
    for function in revoked:
        replica.at_source(f"revoke execute on function pg_catalog.{function} from public")
    before = confirmed(databases.source)
    replica.at_source(
        "insert into t select i, 'x' || i from generate_series(1, 500) i",
        "alter table t add column c numeric default 1.5",
        "update t set c = id where id % 3 = 0",
        "create table later (id int primary key)",
        "insert into later values (1)",
    )
    with flow.open_channel(replica.file, Two()) as run:
        result: Any = flow.replicate(run)
    assert result.capture.rows > 500
    replica.check_equal()
    assert confirmed(databases.source) > before
    replica.settle()
    replica.at_source("delete from t where id < 50", "truncate later")
    replica.settle()


def test_another_reader_has_the_slot(
    roles: Roles, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has some seconds to leave; then the run says so, and the next one goes on."""
    monkeypatch.setattr(replication_protocol, "LEAVING_SECONDS", 0.5)
    prepared = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    prepared.activate()
    reader = roles.make("the reading role")
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, reader, databases.target))
    for function in FUNCTIONS:
        replica.at_source(f"revoke execute on function pg_catalog.{function} from public")
    replica.at_source("insert into t values (501, 'x')")
    start = """START_REPLICATION SLOT ddlrepl_shop LOGICAL 0/0 (proto_version '1', publication_names 'ddlrepl_shop')"""
    with contextlib.closing(connect(replication_protocol._replicating(databases.source))) as other:
        other.pgconn.exec_(start.encode())
        with pytest.raises(SourceError, match=r"SRC-149: .*is active for PID") as caught:
            replica.replicate()
    assert caught.value.retryable and "one reader at a time" in caught.value.hint
    replica.settle()
