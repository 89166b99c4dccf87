"""A repository's channel reads one database: another one under the same name is refused before anything is mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import RepositoryError, Unreachable
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.refusing import edit
from tests.support.replica import Replica, channel_file, run

TABLE = ("create table t (id int primary key, v text)", "insert into t values (1, 'a')")


@pytest.mark.parametrize("stage", ["activate", "capture"])
def test_another_database_is_refused(databases: Databases, pg15: PrivateServer, tmp_path: Path, stage: str) -> None:
    """Even where it has the tables, the publication and the slot of a channel of that name."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*TABLE)
    replica.activate()
    elsewhere = pg15.create_database("elsewhere")
    try:
        run(elsewhere, *TABLE, "update t set v = 'of another'")
        (tmp_path / "other").mkdir()
        there = pg15.create_database("elsewhere_target")
        Replica(elsewhere, there, channel_file(tmp_path / "other", elsewhere, there)).activate()
        edit(replica.file, databases.source, elsewhere)
        with flow.open_channel(replica.file, InProcess()) as cycle, pytest.raises(RepositoryError) as caught:
            getattr(flow, stage)(cycle)
        assert caught.value.code == "REP-107" and "another name" in caught.value.hint
        edit(replica.file, elsewhere, databases.source)
        replica.at_source("insert into t values (2, 'b')")
        replica.settle()
    finally:
        pg15.drop_database("elsewhere")
        pg15.drop_database("elsewhere_target")


def test_an_activation_that_failed_binds_the_channel_to_nothing(
    databases: Databases, pg15: PrivateServer, tmp_path: Path
) -> None:
    elsewhere = pg15.create_database("elsewhere")
    try:
        away = databases.target.replace(f":{databases.server.port}/", ":1/")
        replica = Replica(databases.source, databases.target, channel_file(tmp_path, elsewhere, away))
        with pytest.raises(Unreachable):
            replica.activate()
        edit(replica.file, elsewhere, databases.source)
        edit(replica.file, away, databases.target)
        replica.at_source(*TABLE)
        replica.activate()
        replica.settle()
    finally:
        pg15.drop_database("elsewhere")
