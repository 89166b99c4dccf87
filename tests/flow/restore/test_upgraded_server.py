"""A server that pg_upgrade has upgraded, its slots migrated, goes on without a load once a person accepts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.restore.put_back import Places, places, refused
from tests.flow.restore.upgrading import upgrade
from tests.support.replica import run


@pytest.fixture
def there(private_server: Any, tmp_path: Path) -> Iterator[Places]:
    with places(tmp_path) as made:
        yield made


def accepted(places: Places) -> Any:
    with flow.open_channel(places.replica.file, InProcess()) as cycle:
        return flow.activate(cycle, accept="server")


def test_an_upgraded_server_goes_on(there: Places) -> None:
    replica = there.replica
    replica.at_source("insert into t select i, 'x' from generate_series(10, 200) i")
    replica.settle()
    replica.replicate()
    with pytest.raises(ConfigError, match="CFG-196"):
        accepted(there)
    upgrade(there.source)
    error = refused(replica, "REP-107")
    assert "--accept server" in error.hint
    run(replica.target, "create table loaded as select xmin::text as x, id from t")
    found = accepted(there)
    assert found.refreshed == {}, "no table was loaded"
    assert replica.rows("select count(*) from t join loaded using (id) where t.xmin::text = x") == [(192,)]
    replica.at_source("insert into t values (1000, 'after')", "alter table t add column n int default 7")
    replica.settle()
    replica.settle()


def test_what_was_written_before_the_slot_was_there_is_found(there: Places) -> None:
    """Somebody has created the slot again by hand, after applications had begun to write."""
    replica = there.replica
    replica.replicate()
    upgrade(there.source)
    run(replica.source, "select pg_drop_replication_slot('ddlrepl_shop')")
    replica.at_source("insert into t values (5, 'in no log')", "delete from t where id = 1")
    run(replica.source, "select pg_create_logical_replication_slot('ddlrepl_shop', 'pgoutput')")
    accepted(there)
    replica.settle()
    assert replica.rows("select id from t") == [(5,)]


def test_another_database_is_not_accepted(there: Places) -> None:
    replica = there.replica
    run(replica.source, "delete from ddlrepl.mark")
    with flow.open_channel(replica.file, InProcess()) as cycle, cycle.locked():
        cycle.repository.accept_source("shop", cycle.token, "1/2")
    from airflow_ddlrepl.errors import RepositoryError

    with pytest.raises(RepositoryError, match="REP-113"):
        accepted(there)
