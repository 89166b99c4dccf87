"""A capture process takes changes from the log by its rules; what no rule takes is not in its queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.streams.streams_channel import BATTERY, BATTERY_TABLES, EVERYTHING, cells, streams_channel

CAPTURE = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}


def taken(channel: Any, queue: str) -> set[str]:
    """The changes of the battery that are in a queue."""
    content = channel.content(queue)
    marks = {
        "B1": "'id': 1,", "B2": "'id': 2,", "B3": "'id': 3,", "B4": "TABLE hr.t ADD", "B5": "INDEX u_k",
        "B6": "SCHEMA hr", "B7": "'id': 7,", "B8": "TABLE oe.o ADD",
    }  # fmt: skip
    found = {name for name, mark in marks.items() if any(mark in line for line in content)}
    assert len(found) == len(content), content
    return found


def call(level: str, **more: Any) -> dict[str, Any]:
    about = {"table": {"table_name": "hr.t"}, "schema": {"schema_name": "hr"}, "global": {}}[level]
    return {f"add_{level}_rules": {**about, **CAPTURE, **more}}


@pytest.mark.parametrize(("calls", "expected"), cells(call, 1))
def test_each_level_takes_or_discards_its_changes(
    calls: list[dict[str, Any]], expected: set[str], databases: Any, tmp_path: Path
) -> None:
    channel = streams_channel(tmp_path, databases.source, *calls)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source(*BATTERY.values())
    result = channel.stage(flow.capture)
    assert taken(channel, "q1") == expected
    told = {why: count for why, count in result.discarded.items() if "capture process cap" in why}
    assert sum(told.values()) == len(EVERYTHING - expected), result.discarded


class Four(InProcess):
    """Work in up to four pieces, one after the other."""

    parallelism = 4


def test_rows_behind_ddl_of_another_range_have_its_columns(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A large window is read in ranges: a range does not see the statements of those before it."""
    monkeypatch.setattr("airflow_ddlrepl.engines.postgres.log.read_window.RANGE_BYTES", 64)
    channel = streams_channel(tmp_path, databases.source, call("table"))
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 1)",
        "ALTER TABLE hr.t ADD added int",
        *(f"INSERT INTO hr.t VALUES ({n}, 1, '', {n})" for n in range(2, 12)),
    )
    with caplog.at_level("INFO", "ddlrepl"), flow.open_channel(channel.file, Four()) as run:
        assert flow.capture(run).rows == 11
    assert "reading the window again as one range" in caplog.text
    assert channel.content("q1")[-1] == "INSERT hr.t {'id': 11, 'k': 1, 'note': '', 'added': 11}"


def test_rows_of_a_shape_that_no_statement_has_shown_have_that_of_the_catalog(databases: Any, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, databases.source, call("table"))
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source(
        "SET event_triggers = off; ALTER TABLE hr.t ADD added int",
        "INSERT INTO hr.t VALUES (1, 1, '', 7)",
    )
    channel.stage(flow.capture)
    assert channel.content("q1")[-1] == "INSERT hr.t {'id': 1, 'k': 1, 'note': '', 'added': 7}"
