"""The history of a table says of each revision by which statement it came, and what became of it at each target."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.flow.health.history import table_history
from airflow_ddlrepl.repository.repository import Repository
from tests.support.replica import Make, Replica


def history(replica: Replica) -> dict[str, Any]:
    with Repository.open(load_channel(replica.file).repository) as repository:
        (table,) = (one for one in repository.tables("shop") if one.name.name == "t")
        return table_history(repository, "shop", table.table_id)


def test_a_table_tells_its_statements_what_was_done_and_who_approved(make: Make) -> None:
    stops = [{"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}]
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '1')", adapt_ddl=stops)
    replica.at_source("ALTER TABLE t ADD n int DEFAULT 5")
    replica.settle()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v::int + 0")
    with pytest.raises(ControlStop):
        replica.replicate()
    with Repository.open(load_channel(replica.file).repository) as repository:
        (control,) = repository.controls("shop")
        repository.remove_control("shop", control.id, "anna")
    replica.replicate()
    found = history(replica)
    first, added, changed = found["revisions"]
    assert found["table"] == "public.t" and not found["is_dropped"]
    assert [one["how"] for one in first["targets"]] == ["load"] and first["targets"][0]["rows"] == 1
    assert added["statement"] == "ALTER TABLE t ADD n int DEFAULT 5"
    assert added["changes"] == ["column n integer is added"]
    assert [(one["how"], one["state"]) for one in added["targets"]] == [("sql", "done")]
    assert changed["changes"][0] == "column v changes its type from text to integer"
    assert changed["committed"] and changed["tag"] == "ALTER TABLE"
    asked = next(one for one in changed["targets"] if one["how"] == "control")
    assert (asked["state"], asked["by"], asked["number"]) == ("removed", "anna", control.id)


def test_the_last_change_of_a_table_is_known(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t SELECT generate_series(1, 3)")
    replica.settle()
    replica.at_source("DELETE FROM t WHERE id = 1")
    replica.settle()
    with Repository.open(load_channel(replica.file).repository) as repository:
        rows = {row["table"]: row for row in channel_health(repository, "shop", datetime.now(UTC))["tables"]}
    assert (rows["public.t"]["changes"], rows["public.u"]["changes"]) == (4, 0)
    assert rows["public.t"]["changed"] and rows["public.u"]["changed"] is None
