"""FAIL_INTEG_JOB: everything before the schema change is applied, then the target waits for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop, Exit
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.stored.rows import ControlRow
from tests.support.refusing import in_shell, new_replica, refused
from tests.support.replica import Replica

CHANGE = "alter table t alter v type int using v::int + 0"


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Iterator[Replica]:
    """Two targets with the breakpoint (warehouse, lake) and one that refreshes instead."""
    name = databases.source.rpartition("/")[2]
    lake, calm = (databases.server.create_database(f"{side}_{name}") for side in ("lake", "calm"))
    breaks = {"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}
    targets = [
        {"name": "warehouse", "location": databases.target},
        {"name": "lake", "location": lake},
        {"name": "calm", "location": calm, "adapt_ddl": [{"on_enroll_break": "REFRESH"}]},
    ]
    made = new_replica(databases, tmp_path, adapt_ddl=[breaks], targets=targets)
    made.at_source("update t set v = '1'")
    made.activate()
    yield made
    for side in ("lake", "calm"):
        databases.server.drop_database(f"{side}_{name}")


def controls(replica: Replica) -> list[ControlRow]:
    with flow.open_channel(replica.file, InProcess()) as run:
        return run.repository.controls("shop")


def ids(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("select id from t order by 1")]


@pytest.mark.req("HVR-P-36", "HVR-P-37", "HVR-P-38", "XR-07", "XR-09")
def test_a_breakpoint(replica: Replica, capsys: pytest.CaptureFixture[str]) -> None:
    replica.at_source(
        *(f"insert into t values ({n}, '{n}')" for n in range(2, 7)),
        CHANGE,
        *(f"insert into t values ({n}, {n})" for n in range(7, 12)),
    )
    error = refused(replica, "replicate", "CTL-101", Exit.CONTROL)
    assert isinstance(error, ControlStop) and error.table == "public.t" and error.at
    assert ids(replica.target) == [1, 2, 3, 4, 5, 6]
    assert ids(load_channel(replica.file).target("calm").location) == list(range(1, 12))
    found = sorted(controls(replica), key=lambda c: c.id)
    assert {c.target for c in found} == {"warehouse", "lake"}
    assert len({c.key for c in found}) == 1
    assert f"ddlrepl controls remove CHANNEL.yaml {found[0].id}`" in error.hint
    assert "DAG ddlrepl__shop__controls" in error.hint

    refused(replica, "replicate", "CTL-101", Exit.CONTROL)
    assert ids(replica.target) == [1, 2, 3, 4, 5, 6]
    assert sorted(c.id for c in controls(replica)) == [c.id for c in found]
    code, _ = in_shell(capsys, "controls", str(replica.file))
    assert code == Exit.DONE

    for control in found:
        code, _ = in_shell(capsys, "controls", "remove", str(replica.file), str(control.id))
        assert code == Exit.DONE
    replica.settle()
    assert controls(replica) == []
    assert ids(replica.target) == list(range(1, 12))
    replica.at_source("insert into t values (12, 12)")
    replica.settle()


@pytest.mark.req("XR-07")
def test_a_second_breakpoint_is_one_of_its_own(replica: Replica) -> None:
    replica.at_source(CHANGE, "alter table t alter v type text using (v + 0)::text")
    for _ in range(2):
        refused(replica, "replicate", "CTL-101", Exit.CONTROL)
        with flow.open_channel(replica.file, InProcess()) as run:
            for control in run.repository.controls("shop"):
                run.repository.remove_control("shop", control.id)
    replica.settle()
    assert replica.rows("select v from t") == [("1",)]


@pytest.mark.req("HVR-P-38")
def test_what_the_target_can_not_do_is_mended_by_a_refresh(replica: Replica) -> None:
    """The control's removal says to go on without one; rows that then stand against the ALTER need it."""
    replica.at_source("update t set v = 'no number'", "alter table t alter v type int using length(v)")
    refused(replica, "replicate", "CTL-101", Exit.CONTROL)
    with flow.open_channel(replica.file, InProcess()) as run:
        for control in run.repository.controls("shop"):
            run.repository.remove_control("shop", control.id)
    told = replica.settle()
    assert "no number" in told.adapt.refreshes["public.t"]
