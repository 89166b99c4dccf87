"""Many tables are set up at the source a few at a time; one that somebody holds gets a turn of its own."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source import membership
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.errors import SourceError
from tests.conftest import Databases

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
COUNT = 2 * membership.BATCH + 5
FIRST = range(membership.BATCH)


def source_of(dsn: str) -> PostgresSource:
    slot = f"shop_{dsn[-8:]}"
    return PostgresSource(
        dsn,
        channel="shop",
        publication="p",
        slot=slot,
        scope=Scope(("public.*",)),
        ddl=DdlCapture.TRIGGERS,
        patience=0.5,
    )


def fill(dsn: str) -> None:
    with connect(dsn) as user:
        for number in range(COUNT):
            key = "PRIMARY KEY" if number % 2 else ""
            user.execute(f"CREATE TABLE t{number:03} (id int {key}); INSERT INTO t{number:03} VALUES (1)".encode())


def rows(dsn: str, query: str) -> list[Any]:
    with connect(dsn) as user:
        return [row[0] for row in user.execute(query.encode())]


@both
def test_they_share_transactions_and_are_all_published(databases: Databases) -> None:
    fill(databases.source)
    with source_of(databases.source) as source:
        source.activate()
        assert len(source.membership.published()) == COUNT
        assert len(source.membership.late()) == COUNT  # their rows come by a load
        transactions = rows(databases.source, "SELECT DISTINCT xmin::text FROM ddlrepl.member")
        assert len(transactions) == 3
        full = "SELECT relname FROM pg_class WHERE relname LIKE 't0%' AND relkind = 'r' AND relreplident = 'f'"
        assert len(rows(databases.source, full)) == (COUNT + 1) // 2
        source.deactivate()
        assert rows(databases.source, full) == []


@both
def test_a_table_that_somebody_holds_is_named_and_its_neighbours_are_done(databases: Databases) -> None:
    fill(databases.source)
    with source_of(databases.source) as source, connect(databases.source) as holder:
        with holder.transaction():
            holder.execute("LOCK TABLE t006 IN SHARE UPDATE EXCLUSIVE MODE")
            with pytest.raises(SourceError) as raised:
                source.activate()
            assert (raised.value.code, str(raised.value.table)) == ("SRC-109", "public.t006")
            assert len(source.membership.published()) == len(FIRST) - 1
            held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND locktype = 'relation'"
            assert rows(databases.source, held) == [0]  # nobody waits for the others because of it
        source.activate()
        assert len(source.membership.published()) == COUNT
        assert source.membership.unpublished_reasons() == {}
        source.deactivate()
