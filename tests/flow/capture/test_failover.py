"""A standby takes the source's place: followed where it has all that was captured, refused where it has not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.log import read_window, slot_log
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.capture.test_lost_slot import GAP, OWN, START, TRACES, check_mended
from tests.support.attempts import stopped_at
from tests.support.refusing import ask, edit, refused
from tests.support.replayable import HORIZON, captured
from tests.support.replica import Replica, channel_file, run
from tests.support.standby import Standby

SYNCED = "select coalesce(bool_or(synced and not temporary), false) from pg_replication_slots"
WAITS = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'WaitForStandbyConfirmation'"
TIMELINE = "select left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"


@pytest.fixture(scope="module")
def primary(private_server: type[PrivateServer]) -> Iterator[PrivateServer]:
    with private_server("source", 18) as server:
        server.create_role("reader", "LOGIN REPLICATION IN ROLE pg_read_all_data")
        yield server


@pytest.fixture
def replica(primary: PrivateServer, databases: Databases, tmp_path: Path) -> Iterator[Replica]:
    made = Databases(primary)
    yield Replica(made.source, databases.target, channel_file(tmp_path, made.source, databases.target))
    made.drop()


def begin(replica: Replica) -> None:
    replica.at_source(*START)
    replica.activate()
    replica.at_target(*OWN)


def synchronise(replica: Replica, standby: Standby) -> None:
    """The standby has the channel's slot: it takes one over only when the slot goes on after it has looked."""

    def go_on() -> None:
        replica.at_source("insert into log values ('synced', 1)", "select pg_log_standby_snapshot()")
        replica.replicate()

    standby.wait(SYNCED, go_on)
    replica.check_equal()


def lead_to(replica: Replica, server: PrivateServer, user: str = "postgres") -> None:
    """The channel's location names that server from now on."""
    database = replica.source.rpartition("/")[2]
    edit(replica.file, replica.source, server.dsn(database, user))
    replica.source = server.dsn(database)


def check_waits(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one range or in several: nothing is read that the standby has not got. Whoever waits for it is cancelled."""
    text = replica.file.read_text()
    monkeypatch.setattr(read_window, "RANGE_BYTES", 1)
    for most in (slot_log.NEWS_PEEK_BYTES, 0):
        monkeypatch.setattr(slot_log, "NEWS_PEEK_BYTES", most)
        for parallel in (1, 2):
            replica.file.write_text(f"{text}capture: {{parallel: {parallel}}}\n")
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(replica.replicate)
                while not running.done():
                    ask(replica.source, WAITS)
                    time.sleep(0.05)
            with pytest.raises(DdlReplError, match="user request"):
                running.result()
    replica.file.write_text(text)
    monkeypatch.undo()


def test_a_synchronised_standby_is_followed_without_a_refresh(
    replica: Replica, primary: PrivateServer, past: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the reading role; and what was captured from the primary can be gone back to, the live target as well."""
    replays = [{"name": "past", "location": past}]
    channel_file(replica.file.parent, replica.source, replica.target, rewind_horizon=HORIZON, replays=replays)
    begin(replica)
    with Standby(primary, "follower") as standby:
        run(primary.dsn(), "alter system set synchronized_standby_slots = 'follower'", "select pg_reload_conf()")
        try:
            synchronise(replica, standby)
            standby.stop_receiving()
            replica.at_source(*GAP)
            check_waits(replica, monkeypatch)
            standby.receive()
            before, held = captured(replica), replica.rows(TRACES)
            replica.at_source("insert into log values ('not captured', 1), ('not captured', 1)")
            standby.wait_for_log()
        finally:
            run(primary.dsn(), "alter system reset synchronized_standby_slots", "select pg_reload_conf()")
        standby.promote()
        assert ask(standby.dsn(), TIMELINE) == [("00000002",)]
        lead_to(replica, standby, "reader")
        replica.at_source("insert into log values ('later', 1), ('later', 1)", "alter table log add column more text")
        replica.at_source("insert into log values ('later', 2, 'x'), ('later', 2, 'x')")
        found = replica.settle()
        assert found.refresh.tables == {}
        assert ask(replica.source, TRACES) == replica.rows(TRACES)
        replica.rewind(before)
        assert ask(past, TRACES) == held != replica.rows(TRACES)
        replica.rewind(before, "warehouse")
        replica.check_equal()
        replica.at_source("update orders set price = 8 where id = 7")
        replica.settle()


@pytest.mark.parametrize("has_grown", [False, True], ids=["shorter", "grown"])
def test_a_standby_that_lagged_is_refused_and_made_good(
    replica: Replica, primary: PrivateServer, has_grown: bool
) -> None:
    """It has the slot. When its log has grown past what was captured, nothing but the timeline shows what was lost."""
    begin(replica)
    with Standby(primary, "laggard") as standby:
        replica.at_source("create table kept (id int primary key)", "insert into kept values (1)")
        synchronise(replica, standby)
        standby.stop_receiving()
        replica.at_source(
            *(["select pg_switch_wal()", "insert into log values ('lost', 1), ('lost', 1)"] * 3),
            "alter table orders add column lost int default 1",
            "create table ghost (id int)",
            "drop table kept",
        )
        captured = replica.settle().capture.high
        standby.promote()
        lead_to(replica, standby)
        error = refused(replica, "replicate", "SRC-116")
        assert "timeline 2" in error.message and "ddlrepl activate" in error.hint
        with flow.open_channel(replica.file, InProcess()) as cycle:
            assert flow.has_work(cycle.channel, "capture")
        replica.at_source(*GAP)
        is_past = f"select pg_current_wal_insert_lsn() > '{captured}'"
        while has_grown and ask(replica.source, is_past) == [(False,)]:
            replica.at_source("select pg_switch_wal()", "insert into log values ('more', 1)")
        for stage in ("replicate", "refresh", "plan"):
            refused(replica, stage, "SRC-116")
        check_mended(replica)
        assert ask(replica.source, is_past) == [(has_grown,)]
        assert replica.rows("select count(*) from log where what = 'lost'") == [(0,)]
        assert ask(replica.source, "select id from kept") == replica.rows("select id from kept") == [(1,)]
        replica.at_source("alter table orders add column last int", "update orders set price = 9, last = id")
        found = replica.settle()
        assert (found.capture.drift, found.refresh.tables) == (0, {})


def test_a_run_that_was_killed_before_the_standby_was_promoted(replica: Replica, primary: PrivateServer) -> None:
    """What it left in the trail and nobody has registered yet is no part of the new log."""
    begin(replica)
    with Standby(primary, "late") as standby:
        synchronise(replica, standby)
        standby.stop_receiving()
        replica.at_source("insert into log values ('lost', 1), ('lost', 1)")
        stopped_at("capture.manifest", "replicate", replica.file).kill()
        standby.promote()
        lead_to(replica, standby)
        replica.at_source(*GAP)
        refused(replica, "replicate", "SRC-116")
        stopped_at("activate.targets", "activate", replica.file).kill()
        refused(replica, "replicate", "SRC-141")
        check_mended(replica)
        assert replica.rows("select count(*) from log where what = 'lost'") == [(0,)]


def test_a_standby_without_the_slot(replica: Replica, primary: PrivateServer) -> None:
    with Standby(primary, "bare") as standby:
        begin(replica)
        run(standby.dsn(), "alter system set sync_replication_slots = off", "select pg_reload_conf()")
        replica.at_source("insert into log values ('before', 1)")
        replica.settle()
        standby.wait_for_log()
        standby.promote()
        run(standby.dsn(), "select pg_drop_replication_slot(slot_name) from pg_replication_slots")
        lead_to(replica, standby)
        replica.at_source(*GAP)
        refused(replica, "replicate", "SRC-102")
        check_mended(replica)
