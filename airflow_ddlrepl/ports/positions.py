"""This module defines the port of positions: how people write them, and how much log lies between two."""

from __future__ import annotations

from airflow_ddlrepl.model.position import Position


class Positions:
    """Positions is the port that parses positions of one kind of log, and measures the log between them.

    Two positions are compared as integers, in any kind of log. As it is here, they count the bytes of the log, and are
    written like `0/16B3748`.
    """

    def parse(self, text: str) -> Position | None:
        """Return the position that a person has written; None when the text is meant to be something else, a moment.

        Raises ConfigError CFG-110 when it is meant to be a position and is none.
        """
        return Position.parse(text) if "/" in text and "-" not in text else None

    def distance(self, low: Position, high: Position) -> int | None:
        """Return how many bytes of log lie in [low, high), 0 when `high` is not behind `low`; None: not known."""
        return max(0, high - low)

    def limit(self, low: Position, size: int) -> Position:
        """Return the position so many bytes of log behind `low`, or one near it; a size below 0: in front of it."""
        return Position(max(0, low + size))
