"""No server can send a change of more than a gigabyte: its transaction is left out, its tables are loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.log.oversized import CODE
from airflow_ddlrepl.engines.postgres.log.read_range import Reader
from airflow_ddlrepl.errors import DdlReplError, OversizedChange
from tests.support.replica import Replica, channel_file

HALF = 550_000_000
TABLES = (
    "CREATE TABLE large (id int PRIMARY KEY, a text, b text)",
    "CREATE TABLE before (id int PRIMARY KEY)",
    "CREATE TABLE after (id int PRIMARY KEY)",
    "CREATE TABLE other (id int PRIMARY KEY)",
)
VALUE = f"CREATE TEMP TABLE value AS SELECT repeat('x', {HALF}) AS a"
LARGE = "INSERT INTO large SELECT 1, a, a FROM value"  # compressed, as no server could put them together otherwise


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    found = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    found.at_source(*TABLES)
    found.activate()
    return found


def test_a_row_that_can_not_be_sent_loses_its_own_transaction_alone(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    replica.at_source("INSERT INTO other VALUES (1)", "INSERT INTO large VALUES (7, 'a', 'b')")
    replica.at_source(VALUE, f"BEGIN; INSERT INTO before VALUES (1); {LARGE}; COMMIT")
    replica.at_source(
        "DELETE FROM large WHERE id = 1", "ALTER TABLE other ADD COLUMN n int", "INSERT INTO other VALUES (2, 3)"
    )
    result = replica.settle()
    assert set(result.refresh.tables) == {"public.large", "public.before"}
    assert all(CODE in why for why in result.refresh.reasons.values())
    assert any("public.large, public.before" in r.getMessage() and CODE in r.getMessage() for r in caplog.records)
    assert replica.rows("SELECT id FROM other ORDER BY id") == [(1,), (2,)]
    replica.at_source("INSERT INTO large VALUES (8, 'c', 'd')")
    assert not replica.settle().refresh.tables


def test_where_changes_follow_in_its_transaction_every_table_is_loaded_again(replica: Replica) -> None:
    replica.at_source(VALUE, f"BEGIN; {LARGE}; INSERT INTO after VALUES (1); COMMIT", "DROP TABLE large")
    result = replica.settle()
    assert set(result.refresh.tables) == {"public.after", "public.before", "public.other"}


def test_while_the_row_is_there_its_table_waits_and_the_others_go_on(replica: Replica) -> None:
    replica.at_source(VALUE, LARGE, "INSERT INTO other VALUES (1)")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert str(caught.value.table) == "public.large", caught.value
    assert replica.rows("SELECT * FROM other") == [(1,)]
    replica.at_source("UPDATE large SET b = ''", "INSERT INTO other VALUES (2)")
    replica.settle()
    assert replica.rows("SELECT length(a), b FROM large") == [(HALF, "")]


def test_a_transaction_that_commits_in_a_short_window_is_left_out_too(replica: Replica) -> None:
    with psycopg.connect(replica.source) as connection:
        connection.execute(VALUE.encode())
        connection.commit()
        connection.execute(LARGE.encode())
        replica.at_source("INSERT INTO other VALUES (1)")
        replica.settle()
        connection.execute("DELETE FROM large")
    assert set(replica.settle().refresh.tables) == {f"public.{name}" for name in ("large", "before", "after", "other")}


def test_over_the_replication_protocol_it_is_the_same(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_ddlrepl.engines.postgres.log import read_range

    monkeypatch.setattr(read_range, "choose_reader", lambda connection: Reader.PROTOCOL)
    replica.at_source(VALUE, LARGE, "DELETE FROM large", "INSERT INTO other VALUES (1)")
    assert set(replica.settle().refresh.tables) == {"public.large"}


def test_where_it_can_not_be_found_the_run_fails_by_its_own_code(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_ddlrepl.engines.postgres.log import read_window

    monkeypatch.setattr(read_window, "find", lambda log: None)
    replica.at_source(VALUE, LARGE)
    with pytest.raises(OversizedChange) as caught:
        replica.replicate()
    assert caught.value.code == "SRC-195" and "1 GB" in caught.value.hint
