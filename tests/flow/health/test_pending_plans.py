"""What a target would do about captured changes is stored after each stage, and shown with what it holds for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.flow.health.on_its_way import on_its_way
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import RefreshRequested
from airflow_ddlrepl.repository.repository import Repository
from tests.support.replica import Make, Replica
from tests.support.suspending import REFUSE, START, cycle_fails


def coming(replica: Replica, name: str) -> list[dict[str, Any]]:
    """As the page of a table has it."""
    channel = load_channel(replica.file)
    with Repository.open(channel.repository) as repository:
        (table,) = (one for one in repository.tables("shop") if one.name.name == name)
        return on_its_way(repository, "shop", table.table_id, datetime.now(UTC), channel.fingerprint())


def plans(replica: Replica, name: str) -> list[dict[str, Any]]:
    found = [one["plan"] for one in coming(replica, name)]
    assert all(one is not None and one["planned"] and one["run"] for one in found)
    return found


def sql(plan: dict[str, Any]) -> list[str]:
    return [statement for step in plan["steps"] for statement in step["sql"]]


def test_a_captured_change_has_its_sql_until_it_is_applied(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_source("INSERT INTO good VALUES (2, 2)", "ALTER TABLE good ADD w int", "ALTER TABLE good ADD x int")
    replica.capture()
    first, second = plans(replica, "good")
    assert sql(first) == ['ALTER TABLE "public"."good" ADD COLUMN "w" integer']
    assert sql(second) == ['ALTER TABLE "public"."good" ADD COLUMN "x" integer']
    assert [(one["how"], one["revision"], one["outdated"]) for one in (first, second)] == [
        ("sql", 1, ""),
        ("sql", 2, ""),
    ]
    assert Position.parse(first["from"]) < Position.parse(first["to"])
    replica.settle()
    with Repository.open(load_channel(replica.file).repository) as repository:
        (good,) = (one.table_id for one in repository.tables("shop") if one.name.name == "good")
        assert repository.plans("shop", good) == []


def test_a_change_before_which_a_person_is_asked_has_the_sql_of_after_that(make: Make) -> None:
    replica = make(*START, ask_before=["drop_column"])
    replica.settle()
    replica.at_source("ALTER TABLE bad DROP COLUMN v", "ALTER TABLE bad ADD w int")
    with pytest.raises(ControlStop):
        replica.replicate()
    drop, add = coming(replica, "bad")
    assert (drop["plan"]["how"], drop["plan"]["outdated"]) == ("control", "")
    assert sql(drop["plan"]) == ['ALTER TABLE "public"."bad" DROP COLUMN "v"'] and drop["plan"]["losses"]
    assert add["plan"] is None and add["then"] == drop["then"]
    with Repository.open(load_channel(replica.file).repository) as repository:
        repository.remove_control("shop", 1)
    assert coming(replica, "bad")[0]["plan"]["outdated"] == "control 1 has been removed since"


def test_new_tables_loads_and_truncates_are_planned(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_source(
        "CREATE TABLE fresh (id int PRIMARY KEY)",
        "TRUNCATE bad",
        "ALTER TABLE good ADD COLUMN w int GENERATED ALWAYS AS IDENTITY",
    )
    replica.capture()
    (fresh,) = coming(replica, "fresh")
    assert fresh["statement"] == "CREATE TABLE fresh (id int PRIMARY KEY)"
    assert "CREATE TABLE" in sql(fresh["plan"])[0]
    assert [one["how"] for one in plans(replica, "bad")] == ["truncate"]
    assert [one["how"] for one in plans(replica, "good")] == ["load"]


def test_a_suspended_table_has_the_plan_by_which_it_is_tried_again(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_target(REFUSE)
    replica.at_source("INSERT INTO bad VALUES (3, 1000)", "ALTER TABLE bad ADD w int")
    cycle_fails(replica)
    (plan,) = plans(replica, "bad")
    assert sql(plan) == ['ALTER TABLE "public"."bad" ADD COLUMN "w" integer'] and plan["outdated"] == ""
    assert coming(replica, "bad")[0]["then"] == "the next cycle tries it again"


def test_a_plan_is_never_shown_as_if_it_held_when_what_it_depends_on_has_changed(make: Make) -> None:
    """The target is elsewhere, a load is asked for, or the channel file says something else."""
    replica = make(*START)
    replica.settle()
    replica.at_source("ALTER TABLE good ADD w int")
    replica.capture()
    (plan,) = plans(replica, "good")
    assert plan["outdated"] == ""
    text = replica.file.read_text()
    replica.file.write_text(f"{text}ask_before: [drop_column]\n")
    assert [one["outdated"] for one in plans(replica, "good")] == ["the channel file has changed since"]
    replica.file.write_text(text)
    with Repository.open(load_channel(replica.file).repository) as repository:
        (good,) = (one.table_id for one in repository.tables("shop") if one.name.name == "good")
        row = repository.stored_status("shop")
        assert row is not None and row.content is not None
        row.content["targets"]["warehouse"]["position"] = str(Position(Position.parse(plan["from"]) + 8))
        repository.set_status("shop", row)
        assert "was planned when the target was at" in plans(replica, "good")[0]["outdated"]
        row.content["targets"]["warehouse"]["position"] = plan["from"]
        repository.set_status("shop", row)
        with repository.lock("shop", "test") as lock:
            asked = RefreshRequested(good, "by hand", Position(0x10))
            repository.request_refresh("shop", lock.token, "warehouse", asked)
    assert coming(replica, "good")[1]["plan"]["outdated"] == "a load of the table has been asked for since"


def test_no_password_is_in_a_plan(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_source("ALTER TABLE good ADD w text DEFAULT 'postgresql://ann:hunter2@host/db'")
    replica.capture()
    (one,) = coming(replica, "good")
    assert one["plan"]["how"] == "sql" and "postgresql://" in str(one["plan"]) and "hunter2" not in str(one)
