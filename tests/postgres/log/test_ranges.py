"""A window of the log is cut into ranges."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.log.read_range import ranges
from airflow_ddlrepl.model.position import Position


def test_windows_are_cut_into_ranges() -> None:
    assert ranges(Position(0), Position(0), 4, 10) == []
    assert ranges(Position(0), Position(99), 4, 100) == [(0, 99)]
    assert ranges(Position(100), Position(500), 4, 100) == [(100, 200), (200, 300), (300, 400), (400, 500)]
    assert ranges(Position(100), Position(500), 2, 0) == [(100, 300), (300, 500)]
