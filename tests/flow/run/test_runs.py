"""What a run did, and why it failed, can be read afterwards."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError, RepositoryError, ServerRefusal, Unreachable
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import ErrorRow, RunRow, RunStatus
from tests.support.replica import Replica, channel_file


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source("create table t (id int primary key)", "insert into t values (1)")
    made.activate()
    return made


def recorded(replica: Replica) -> tuple[list[RunRow], list[ErrorRow]]:
    with Repository.open(f"sqlite:///{replica.file.parent}/repository.db") as repository:
        return repository.runs("shop"), repository.errors("shop")


def test_every_stage_of_a_run_is_recorded_with_what_it_did(replica: Replica) -> None:
    replica.at_source("insert into t values (2)")
    replica.replicate()
    runs, errors = recorded(replica)
    found = {run.stage: run for run in runs}
    assert set(found) == {"activate", "replicate", "capture", "adapt", "refresh", "integrate"}
    assert {run.status for run in runs} == {RunStatus.DONE}
    assert found["capture"].result is not None and found["capture"].result["rows"] == 1
    assert found["capture"].started <= (found["capture"].ended or found["capture"].started)
    assert errors == []


def test_an_error_is_recorded_once_where_it_happened(replica: Replica) -> None:
    replica.at_source("insert into t values (2)")
    replica.at_target("insert into t values (2)")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    runs, errors = recorded(replica)
    assert [(e.stage, e.code, e.table) for e in errors] == [("integrate", "INT-123", "public.t")]
    assert "INT-102: rows are in the target already" in errors[0].message
    assert errors[0].hint == caught.value.hint
    failed = {run.stage for run in runs if run.status is RunStatus.FAILED}
    assert failed == {"replicate", "integrate"}


class Breaks:
    """A runner whose first task meets what nobody expected."""

    parallelism = 1

    def __init__(self, error: Exception) -> None:
        self.error = error

    def map(self, task: Any, items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (ZeroDivisionError("postgresql://me:geheim@host/db"), "INT-100", ZeroDivisionError),
        (psycopg.OperationalError("server closed the connection unexpectedly"), "CON-104", Unreachable),
        (psycopg.errors.InsufficientPrivilege("permission denied for table t"), "SQL-101", ServerRefusal),
    ],
)
def test_what_nobody_expected_is_recorded_too(
    replica: Replica, error: Exception, code: str, kind: type[Exception]
) -> None:
    replica.at_source("insert into t values (2)")
    with flow.open_channel(replica.file, Breaks(error)) as cycle, pytest.raises(kind):
        flow.replicate(cycle)
    _, errors = recorded(replica)
    assert [e.code for e in errors] == [code]
    assert "geheim" not in errors[0].message
    replica.settle()


def test_the_first_error_is_shown_when_it_cannot_be_recorded(
    replica: Replica, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise RepositoryError("the disk is full", code="REP-100")

    monkeypatch.setattr(Repository, "record_error", gone)
    monkeypatch.setattr(Repository, "finish_run", gone)
    replica.at_source("insert into t values (2)")
    with (
        caplog.at_level(logging.WARNING),
        flow.open_channel(replica.file, Breaks(ZeroDivisionError("first"))) as cycle,
        pytest.raises(ZeroDivisionError, match="first"),
    ):
        flow.replicate(cycle)
    assert "could not record it" in caplog.text


def test_a_channel_that_is_held_is_an_error_too(replica: Replica) -> None:
    with (
        flow.open_channel(replica.file, InProcess(), "the first") as cycle,
        cycle.locked(),
        pytest.raises(DdlReplError, match=r"LCK-101.*the first"),
    ):
        replica.replicate()
    assert [(e.stage, e.code) for e in recorded(replica)[1]] == [("replicate", "LCK-101")]
    replica.settle()
