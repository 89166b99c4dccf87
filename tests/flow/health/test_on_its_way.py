"""A table says what is on its way to it: changes that a target lacks, the control before them, loads, errors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.flow.health.on_its_way import on_its_way, table_errors
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import RefreshRequested
from airflow_ddlrepl.repository.repository import Repository
from tests.support.replica import Make, Replica
from tests.support.suspending import REFUSE, START, cycle_fails


def coming(replica: Replica, name: str) -> list[dict[str, Any]]:
    with Repository.open(load_channel(replica.file).repository) as repository:
        (table,) = (one for one in repository.tables("shop") if one.name.name == name)
        return on_its_way(repository, "shop", table.table_id, datetime.now(UTC))


def test_a_change_is_on_its_way_until_the_control_before_it_is_removed(make: Make) -> None:
    replica = make(*START, ask_before=["drop_column"])
    replica.settle()
    assert coming(replica, "bad") == []
    replica.at_source("ALTER TABLE bad DROP COLUMN v", "ALTER TABLE bad ADD w int")
    with pytest.raises(ControlStop):
        replica.replicate()
    drop, add = coming(replica, "bad")
    assert (drop["what"], drop["statement"]) == ("column v is dropped", "ALTER TABLE bad DROP COLUMN v")
    assert drop["then"].startswith("control 1 is removed: ") and add["then"] == drop["then"]
    assert (add["what"], add["target"]) == ("column w integer is added", "warehouse")
    assert coming(replica, "good") == []
    with Repository.open(load_channel(replica.file).repository) as repository:
        repository.remove_control("shop", 1)
    replica.settle()
    assert coming(replica, "bad") == []


def test_a_captured_change_and_a_load_that_is_asked_for_come_with_the_next_cycle(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_source("ALTER TABLE good ADD w int")
    replica.capture()
    assert [(one["how"], one["then"]) for one in coming(replica, "good")] == [("change", "the next cycle brings it")]
    replica.settle()
    with Repository.open(load_channel(replica.file).repository) as repository:
        (table,) = (one for one in repository.tables("shop") if one.name.name == "good")
        with repository.lock("shop", "test") as lock:
            asked = RefreshRequested(table.table_id, "by hand", Position(0x10))
            repository.request_refresh("shop", lock.token, "warehouse", asked)
    assert [(one["how"], one["what"]) for one in coming(replica, "good")] == [("load", "by hand")]


def test_a_suspended_table_has_its_changes_before_it_and_its_errors(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_target(REFUSE)
    replica.at_source("INSERT INTO bad VALUES (3, 1000)")
    cycle_fails(replica)
    replica.at_source("ALTER TABLE bad ADD w int")
    cycle_fails(replica)
    assert [(one["what"], one["then"]) for one in coming(replica, "bad")] == [
        ("column w integer is added", "the next cycle tries it again")
    ]
    with Repository.open(load_channel(replica.file).repository) as repository:
        found = table_errors(repository, "shop", ["public.bad"])
        assert table_errors(repository, "shop", ["public.good"]) == []
    assert len({one["what"] for one in found}) == len(found)
    assert found and all("small" in one["what"] and one["hint"] for one in found)
