"""This module defines the positions of PostgreSQL's log: an LSN counts the bytes of the log."""

from __future__ import annotations

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.positions import Positions


class LsnPositions(Positions):
    """LSN positions are those of PostgreSQL's log, written like `0/16B3748`."""

    def parse(self, text: str) -> Position | None:
        return Position.parse(text) if "/" in text and "-" not in text else None

    def distance(self, low: Position, high: Position) -> int:
        return max(0, high - low)

    def limit(self, low: Position, size: int) -> Position:
        return Position(max(0, low + size))
