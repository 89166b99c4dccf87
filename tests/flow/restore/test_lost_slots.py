"""Each reason for which a server gives a slot up is told with what prevents it, and mended by an activation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.restore.put_back import TABLE, refused
from tests.support.refusing import ask, edit
from tests.support.replica import Replica, channel_file, run
from tests.support.standby import Standby

REASON = "select coalesce(to_jsonb(s) ->> 'invalidation_reason', wal_status) from pg_replication_slots s"
MINE = f"{REASON} where slot_name = 'ddlrepl_shop'"
SYNCED = "select coalesce(bool_or(synced and not temporary), false) from pg_replication_slots"


@contextmanager
def channel(server: PrivateServer, folder: Path) -> Iterator[Replica]:
    databases = Databases(server)
    replica = Replica(databases.source, databases.target, channel_file(folder, databases.source, databases.target))
    replica.at_source(*TABLE)
    replica.activate()
    replica.settle()
    yield replica
    databases.drop()


def check_told(replica: Replica, reason: str, prevention: str) -> None:
    """By runs, status and doctor; nothing else is advised."""
    error = refused(replica, "SRC-103")
    with flow.open_channel(replica.file, InProcess()) as cycle:
        status = flow.status(cycle).text()
    doctor = "\n".join(one.text() for one in run_doctor(load_channel(replica.file)) if "is lost" in one.detail)
    for text in (f"{error.message} {error.hint}", status, doctor):
        assert f"the replication slot ddlrepl_shop is lost: {reason}" in text and prevention in text, text
        known = {"max_slot_wal_keep_size", "idle_replication_slot_timeout", "standby", "wal_level at"}
        assert not any(other in text.partition("is lost")[2] for other in known - {prevention}), text


def check_mended(replica: Replica) -> None:
    """What the log no longer has comes by a refresh."""
    replica.at_source("insert into t values (1002, 'in no log')", "delete from t where id = 1")
    with pytest.raises(DdlReplError, match="SRC-103"):
        replica.replicate()
    assert "public.t" in replica.activate().refreshed
    replica.check_equal()
    replica.at_source("insert into t values (1003, 'later')")
    replica.settle()


@pytest.mark.parametrize("version", [18, 15])
def test_more_log_than_the_server_keeps(private_server: type[PrivateServer], tmp_path: Path, version: int) -> None:
    settings = {"max_slot_wal_keep_size": "1MB", "min_wal_size": "32MB", "max_wal_size": "32MB"}
    with private_server("source", version, settings) as server, channel(server, tmp_path) as replica:
        for _ in range(4):
            replica.at_source("insert into t select max(id) + 1, 'much' from t", "select pg_switch_wal()")
        replica.at_source("checkpoint")
        reason = {18: "wal_removed", 15: "lost"}[version]
        assert ask(replica.source, MINE) == [(reason,)]
        check_told(replica, reason if version == 18 else "its log has been removed", "max_slot_wal_keep_size")
        check_mended(replica)


def test_a_slot_that_nobody_has_read_for_long(private_server: type[PrivateServer], tmp_path: Path) -> None:
    settings = {"idle_replication_slot_timeout": "1s", "checkpoint_timeout": "1h"}
    with private_server("source", 18, settings) as server, channel(server, tmp_path) as replica:
        while ask(replica.source, MINE) != [("idle_timeout",)]:
            replica.at_source("select pg_sleep(0.2)", "checkpoint")
        check_told(replica, "idle_timeout", "idle_replication_slot_timeout")
        check_mended(replica)


def rows_removed(primary: PrivateServer, standby: Standby, database: str) -> None:
    """Of the catalogs, which the standby's slot still needs and the primary no longer keeps for it."""
    run(standby.dsn(), "alter system set hot_standby_feedback = off", "select pg_reload_conf()")
    held = "select catalog_xmin is not null or xmin is not null from pg_replication_slots where slot_name = 'standby'"
    while ask(primary.dsn(), held) == [(True,)]:
        run(primary.dsn(), "select pg_sleep(0.1)")
    run(primary.dsn(database), *(f"create table gone_{i} (id int)" for i in range(20)))
    run(primary.dsn(database), *(f"drop table gone_{i}" for i in range(20)), "vacuum full pg_class, pg_attribute")


def wal_level(primary: PrivateServer, standby: Standby, database: str) -> None:
    for level in ("replica", "logical"):
        run(primary.dsn(), f"alter system set wal_level = {level}")
        primary.stop()
        primary.start()
        standby.wait_for_log()


@pytest.mark.parametrize(
    ("lose", "reason", "prevention"),
    [(rows_removed, "rows_removed", "standby"), (wal_level, "wal_level_insufficient", "wal_level at")],
    ids=["rows", "wal_level"],
)
def test_a_promoted_standby_whose_slot_was_lost(
    private_server: type[PrivateServer], databases: Any, tmp_path: Path, lose: Any, reason: str, prevention: str
) -> None:
    with private_server("source", 18) as primary:
        source = primary.create_database("shop")
        replica = Replica(source, databases.target, channel_file(tmp_path, source, databases.target))
        replica.at_source(*TABLE)
        replica.activate()
        replica.settle()
        with Standby(primary, "standby") as standby:

            def go_on() -> None:
                replica.at_source(
                    "insert into t select max(id) + 1, 'synced' from t", "select pg_log_standby_snapshot()"
                )
                replica.replicate()

            standby.wait(SYNCED, go_on)
            run(standby.dsn(), "alter system set sync_replication_slots = off", "select pg_reload_conf()")
            standby.wait("select not exists (select from pg_stat_activity where backend_type = 'slotsync worker')")
            replica.at_source("select pg_drop_replication_slot('ddlrepl_shop')")
            lose(primary, standby, "shop")
            standby.wait(
                f"select ({MINE}) = '{reason}'", lambda: run(primary.dsn(), "select pg_log_standby_snapshot()")
            )
            standby.promote()
            edit(replica.file, replica.source, standby.dsn("shop"))
            replica.source = standby.dsn("shop")
            check_told(replica, reason, prevention)
            check_mended(replica)
