"""Errors name the target and the table, and their hints mend what they are about."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import new_replica, refused
from tests.support.replica import Replica


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = new_replica(databases, tmp_path)
    made.at_source("create table other (id int primary key)")
    made.activate()
    made.at_source("insert into other values (1)")
    return made


def repair(replica: Replica) -> Any:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.repair(run, ())


def refresh(replica: Replica) -> Any:
    return replica.refresh("public.t")


@pytest.mark.parametrize(
    ("by_hand", "mend", "named"),
    [
        ("alter table t drop column v", repair, "compare CHANNEL.yaml --repair"),
        ("drop table t", repair, "compare CHANNEL.yaml --repair"),
        ("alter table t alter v type int using 1", refresh, "refresh CHANNEL.yaml --table"),
        (
            "alter table t add constraint short check (length(v) < 1) not valid",
            lambda replica: replica.at_target("alter table t drop constraint short"),
            "drop the constraint",
        ),
    ],
    ids=["column dropped", "table dropped", "type changed", "check added"],
)
def test_a_table_that_was_changed_by_hand_is_mended_by_the_hint(
    replica: Replica, by_hand: str, mend: Callable[[Replica], Any], named: str
) -> None:
    replica.at_target(by_hand)
    replica.at_source("insert into t values (2, 'two')")
    error = refused(replica, "replicate", "INT-105")
    assert (error.target, error.table) == ("warehouse", "public.t"), str(error)
    assert "[target warehouse] [table public.t]" in str(error)
    assert named in error.hint
    with flow.open_channel(replica.file, InProcess()) as run:
        (kept, *_) = run.repository.errors("shop")
    assert "INT-105: the target refuses rows" in kept.message and kept.table == "public.t"
    mend(replica)
    replica.settle()


def test_a_comparison_with_columns_of_another_type_says_what_mends_it(replica: Replica) -> None:
    replica.at_target("alter table t alter v type int using 1")
    found = replica.compare()
    assert found.differences
    (line,) = (line for line in found.text().splitlines() if "it is not compared" in line)
    assert line.startswith("public.t: ") and "refresh CHANNEL.yaml --table" in line
    assert "values of the source do not fit the types of the target's columns" in line
    refresh(replica)
    replica.settle()


def test_an_alter_that_the_target_refuses_names_target_and_table(replica: Replica) -> None:
    replica.at_target("create view on_v as select v from t")
    replica.at_source("alter table t alter v type varchar(100)", "alter table t drop column v")
    error = refused(replica, "replicate", "ADP-130")
    assert (error.target, error.table) == ("warehouse", "public.t"), str(error)
    replica.at_target("drop view on_v")
    replica.settle()


def test_what_is_lost_by_a_change_is_told_with_its_target_and_table(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    replica.at_source("alter table t drop column v")
    with caplog.at_level(logging.INFO):
        replica.settle()
    assert "target warehouse: public.t: the values of column v are lost at the target" in caplog.messages
