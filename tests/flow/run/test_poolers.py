"""A pooler whose sessions are not their client's alone is refused, before anything is set in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import Unreachable
from tests.flow.run.pooler import pooled
from tests.support.replica import Replica, channel_file, run


@pytest.fixture
def replica(private_server: Any, tmp_path: Path) -> Any:
    """A channel to a server that asks for no password."""
    with private_server("source", 18) as server:
        rules = server.data / "pg_hba.conf"
        rules.write_text("host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n")
        run(server.dsn(), "select pg_reload_conf()")
        source, target = server.create_database("shop"), server.create_database("copy")
        made = Replica(source, target, channel_file(tmp_path, source, target))
        made.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'one')")
        yield made


def test_a_target_behind_a_pooler_of_transactions_is_refused(replica: Replica) -> None:
    replica.activate()
    text = replica.file.read_text()
    replica.at_source("insert into t values (2, 'two')")
    with pooled(replica.target, mixes=True) as location:
        replica.file.write_text(text.replace(replica.target, location))
        with pytest.raises(Unreachable, match="CON-108") as caught:
            replica.replicate()
        assert "pool_mode = session" in caught.value.hint and not caught.value.retryable
        assert caught.value.target == "warehouse"
        run(location, "create table mine (id int)")
        assert replica.rows("select relnamespace::regnamespace::text from pg_class where relname = 'mine'") == [
            ("public",)
        ], "an application's session has the search path that it expects"
    replica.file.write_text(text)
    replica.settle()


def test_a_source_behind_a_pooler_of_transactions_is_refused(replica: Replica) -> None:
    text = replica.file.read_text()
    with pooled(replica.source, mixes=True) as location:
        replica.file.write_text(text.replace(replica.source, location))
        with pytest.raises(Unreachable, match="CON-108"):
            replica.activate()


def test_a_target_behind_a_pooler_of_whole_sessions_is_written(replica: Replica) -> None:
    replica.activate()
    text = replica.file.read_text()
    with pooled(replica.target, mixes=False) as location:
        replica.file.write_text(text.replace(replica.target, location))
        replica.at_source("insert into t values (2, 'two')", "alter table t add n int default 7")
        replica.settle()
    replica.file.write_text(text)
    replica.settle()
