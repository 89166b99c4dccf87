"""A cycle that ends at a moment or a position: the targets show the source as it was then, to the transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import main
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import ask
from tests.support.replica import BOTH, Make, Replica

ROWS = "SELECT * FROM t ORDER BY 1"


def position(replica: Replica) -> Position:
    return Position.parse(str(ask(replica.source, "SELECT pg_current_wal_insert_lsn()")[0][0]))


def moment(replica: Replica) -> datetime:
    """Later than everything before the call, earlier than everything after it, by the source's clock."""
    return ask(replica.source, "SELECT clock_timestamp() FROM pg_sleep(0.002)")[0][0]  # type: ignore[no-any-return]


@BOTH
@pytest.mark.parametrize("mark", [position, moment])
def test_a_cycle_stops_between_two_transactions_and_the_next_goes_on(make: Make, mark: Any) -> None:
    mood = "CREATE TYPE mood AS ENUM ('calm')"
    replica = make(mood, "CREATE TABLE t (id int PRIMARY KEY, a int, m mood)", "INSERT INTO t VALUES (1, 1, 'calm')")
    replica.settle()
    marks, shown = [], []
    for statements in (
        ("INSERT INTO t VALUES (2, 2)", "ALTER TYPE mood ADD VALUE 'glad'", "UPDATE t SET a = 5, m = 'glad'"),
        ("BEGIN; INSERT INTO t VALUES (3, 3); ALTER TABLE t ADD b int DEFAULT 7; UPDATE t SET a = 6; COMMIT",),
        ("ALTER TABLE t DROP a", "DELETE FROM t WHERE id = 1", "INSERT INTO t (id, b) VALUES (4, 4)"),
    ):
        replica.at_source(*statements)
        marks.append(mark(replica))
        shown.append(ask(replica.source, ROWS))
    for until, rows in zip(marks[:2], shown[:2], strict=True):
        found = replica.replicate(str(until))
        assert replica.rows(ROWS) == rows
        assert found.integrate.positions["warehouse"] <= found.capture.high
        replica.replicate(str(until))
        assert replica.rows(ROWS) == rows
    replica.settle()
    assert replica.rows(ROWS) == shown[2]


def test_a_table_that_waits_for_a_refresh_goes_on_waiting(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.settle()
    replica.at_source("ALTER TABLE t ALTER a TYPE text USING 'n' || random()")
    until = str(position(replica))
    replica.at_source("INSERT INTO t VALUES (2, 'later')")
    found = replica.replicate(until)
    assert list(found.adapt.refreshes) == ["public.t"]
    assert found.refresh.tables == {}
    assert "go on waiting" in caplog.text
    assert [row[0] for row in replica.rows(ROWS)] == [1]
    assert set(replica.settle().refresh.tables) == {"public.t"}


def test_what_lies_ahead_of_the_source_or_behind_a_target_is_refused(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t VALUES (1)")
    early, then = position(replica), moment(replica)
    replica.at_source("INSERT INTO t VALUES (2)")
    refused = {
        "0/FFFFFFF0": "CTL-110",
        str(then + timedelta(days=1)): "CTL-110",
        "2026-11-21T08:00:00": "CFG-111",
        "yesterday": "CFG-111",
    }
    for until, code in refused.items():
        with pytest.raises(DdlReplError) as caught:
            replica.replicate(until)
        assert caught.value.code == code, until
    assert replica.rows(ROWS) == []
    replica.settle()
    for passed in (early, then):
        with pytest.raises(DdlReplError, match=r"target warehouse is at .*, past") as caught:
            replica.replicate(str(passed))
        assert caught.value.code == "CTL-111"
    replica.check_equal()


def test_a_table_that_was_loaded_later_is_in_the_way(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t VALUES (1)")
    until = str(position(replica))
    replica.at_source("INSERT INTO u VALUES (1)")
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.refresh(run, ["public.u"])
    with pytest.raises(DdlReplError, match=r"public\.u at target warehouse was loaded as of"):
        replica.replicate(until)
    replica.settle()


def test_the_command_stops_there(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t VALUES (1)")
    until = str(position(replica))
    replica.at_source("INSERT INTO t VALUES (2)")
    with pytest.raises(SystemExit) as ended:
        main(["replicate", str(replica.file), "--until", until])
    assert ended.value.code == 0, capsys.readouterr().err
    assert replica.rows(ROWS) == [(1,)]
