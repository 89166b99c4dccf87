"""What a run has executed at the targets is there by stage, target and table, also when the run failed."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.flow.health.executed import executed_sql
from airflow_ddlrepl.repository.repository import Repository
from tests.support.replica import Make, Replica
from tests.support.suspending import START


def newest(replica: Replica) -> dict[str, Any]:
    """What the newest run has executed."""
    with Repository.open(load_channel(replica.file).repository) as repository:
        run = repository.runs("shop", limit=1)[0].run_id
        return executed_sql(repository, "shop", run)


def test_the_sql_of_a_run_is_listed_once_by_target_and_table(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_source("ALTER TABLE good ADD w int", "ALTER TABLE bad ADD w int", "ALTER TABLE good ADD x int")
    replica.settle()
    found = newest(replica)
    (stage,) = found["stages"]
    assert found["is_known"] and (stage["stage"], stage["status"], stage["total"]) == ("adapt", "done", 3)
    tables = {one["table"]: [s["sql"] for s in one["statements"]] for one in stage["tables"]}
    assert list(tables) == ["public.good", "public.bad"]
    assert [sql.count('ADD COLUMN "w"') + sql.count('ADD COLUMN "x"') for sql in tables["public.good"]] == [1, 1]
    assert all(isinstance(one["table_id"], int) and one["target"] == "warehouse" for one in stage["tables"])


def test_a_run_that_stops_has_what_it_did_before(make: Make) -> None:
    replica = make(*START, ask_before=["drop_column"])
    replica.settle()
    replica.at_source("ALTER TABLE good ADD w int", "ALTER TABLE bad DROP COLUMN v")
    with pytest.raises(ControlStop):
        replica.replicate()
    (stage,) = newest(replica)["stages"]
    assert (stage["stage"], stage["status"]) == ("adapt", "failed")
    assert [(one["table"], len(one["statements"])) for one in stage["tables"]] == [("public.good", 1)]


def test_a_run_that_nobody_knows_is_said_to_be_unknown(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    with Repository.open(load_channel(replica.file).repository) as repository:
        found = executed_sql(repository, "shop", "<script>")
    assert not found["is_known"] and found["stages"] == []
