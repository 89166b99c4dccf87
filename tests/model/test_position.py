"""Positions of the log as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_ddlrepl.engines import of_sources
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.notation.moment import parse_until


def test_what_is_printed_is_read_again() -> None:
    assert str(Position.parse(" 1/16B3748 ")) == "1/16B3748"


@pytest.mark.parametrize("text", ["", "16B3748", "1/", "x/y", "2026-11-24 10:00"])
def test_what_is_no_position(text: str) -> None:
    with pytest.raises(ConfigError, match=r"CFG-110.*is not a position"):
        Position.parse(text)


def test_a_log_in_bytes() -> None:
    positions = of_sources("postgresql://source").positions
    low, high = Position(100), Position(350)
    assert positions.distance(low, high) == 250
    assert positions.distance(high, low) == 0
    assert positions.limit(low, 250) == high
    assert positions.limit(high, -400) == Position(0)


def test_a_moment_or_a_position() -> None:
    positions = of_sources("postgresql://source").positions
    assert parse_until("0/16B3748", positions) == Position(0x16B3748)
    assert parse_until("2026-11-21T08:00:00+00:00", positions) == datetime(2026, 11, 21, 8, tzinfo=UTC)
