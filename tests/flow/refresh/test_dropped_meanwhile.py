"""A table is dropped at the source between the schema change that brought it and the load of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file


@pytest.mark.req("HVR-D-15")
def test_a_table_that_is_dropped_while_it_is_added(databases: Any, tmp_path: Path) -> None:
    """The refresh does not find it any more; the next run takes it out again, and the channel is clean."""
    actions = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    file = channel_file(tmp_path, databases.source, databases.target, adapt_ddl=actions)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("CREATE TABLE n AS SELECT 1 AS id")
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.capture(run)
        assert flow.adapt(run).refreshes.keys() == {"public.n"}
        replica.at_source("DROP TABLE n")
        assert flow.refresh(run).tables == {}
        assert known_at_target(run) == ["t", "n"]
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        assert known_at_target(run) == ["t"]


def known_at_target(run: Any) -> list[str]:
    return [state.name.name for state in run.target("warehouse").state().table_states.values()]
