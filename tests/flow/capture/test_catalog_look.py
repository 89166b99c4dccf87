"""With much log to read the catalog is looked at beside it: shapes that change meanwhile belong to later log."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.source.catalog import PostgresCatalog
from airflow_ddlrepl.engines.source_catalog import Catalog
from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
Reading = Callable[[PostgresCatalog, str], Catalog]


@pytest.fixture
def replica(databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replica:
    """No record of the log tells of schema changes: the look at the catalog alone finds them."""
    look = importlib.import_module("airflow_ddlrepl.flow.capture.drift_check")
    monkeypatch.setattr(look, "BESIDE_BYTES", 0)
    places = (databases.source, databases.target)
    made = Replica(*places, channel_file(tmp_path, *places, source={"ddl": "relations"}))
    made.at_source("create table t (id int primary key, a int)", "create table u (id int primary key, a int)")
    made.at_source("insert into t values (1, 1)", "insert into u values (1, 1)")
    made.activate()
    made.settle()
    return made


def during(monkeypatch: pytest.MonkeyPatch, *work: Callable[[], object]) -> list[str]:
    """Do this when the shapes are about to be read, once; return for which versions they were."""
    read: Reading = PostgresCatalog.inspect_catalog
    found: list[str] = []

    def reading(catalog: PostgresCatalog, known: str) -> Catalog:
        if not found:
            for one in work:
                one()
        found.append(known)
        return read(catalog, known)

    monkeypatch.setattr(PostgresCatalog, "inspect_catalog", reading)
    return found


def segments(replica: Replica) -> list[Any]:
    with flow.open_channel(replica.file, InProcess()) as run:
        return list(run.trail.segments(run.epoch))


@both
def test_shapes_that_are_read_beside_the_log_count_at_its_end(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(segments(replica))
    replica.at_source("alter table t add column b int default 7", "insert into t values (2, 2, 2)")
    rows = during(monkeypatch, lambda: replica.at_source("insert into u values (2, 2)"))
    replica.replicate()
    assert rows == [""]  # once, whatever the version: it was taken before
    assert [one.is_inspected for one in segments(replica)[before:]] == [True]
    assert replica.rows("select * from t order by id") == [(1, 1, 7), (2, 2, 2)]
    replica.settle()


@both
def test_log_is_read_further_where_a_shape_changes_while_shapes_are_read(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(segments(replica))
    replica.at_source("insert into t values (2, 2)", "update u set a = 2", "alter table u add column z int")

    def change() -> None:
        replica.at_source(
            "insert into t values (3, 3)",
            "alter table t add column b int default 7",
            "insert into t values (4, 4, 4)",
            "alter table u rename column a to aa",
            "update u set aa = aa + 1",
        )

    during(monkeypatch, change)
    result = replica.replicate()
    assert [one.is_inspected for one in segments(replica)[before:]] == [False, True]
    assert result.capture.drift == 2
    assert replica.rows("select * from t order by id") == [(1, 1, 7), (2, 2, 7), (3, 3, 7), (4, 4, 4)]
    assert replica.rows("select * from u") == [(1, 3, None)]
    assert replica.settle().refresh.tables == {}


def test_shapes_are_read_before_the_log_where_no_other_session_is_to_be_had(
    replica: Replica, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(catalog: PostgresCatalog) -> None:
        raise Unreachable("it has no connection left", code="CON-106")

    monkeypatch.setattr(PostgresCatalog, "beside", full)
    caplog.set_level("INFO")
    replica.at_source("alter table t add column b int default 7", "insert into t values (2, 2, 2)")
    replica.settle()
    assert "before the log, not beside it: it has no connection left" in caplog.text


def test_what_fails_beside_the_log_ends_the_capture_before_anything_is_published(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(segments(replica))

    def broken() -> None:
        raise OSError("the session is gone")

    during(monkeypatch, broken)
    replica.at_source("alter table t add column b int default 7", "insert into t values (2, 2, 2)")
    with pytest.raises(OSError, match="the session is gone"):
        replica.replicate()
    assert len(segments(replica)) == before
    monkeypatch.undo()
    replica.settle()
