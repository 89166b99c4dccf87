"""The port of positions: what a person writes for one, and how much log lies between two, which engines count apart."""

from __future__ import annotations

from typing import Protocol

from airflow_ddlrepl.model.position import Position


class Positions(Protocol):
    """What the positions of one kind of log mean. Which of two comes first their integers say, in any log."""

    def parse(self, text: str) -> Position | None:
        """Return the position that a person has written; None when the text is meant to be something else, a moment.

        Raises ConfigError CFG-110 when it is meant to be a position and is none.
        """
        ...

    def distance(self, low: Position, high: Position) -> int | None:
        """Return how many bytes of log lie in [low, high), 0 when `high` is not behind `low`; None: not known."""
        ...

    def limit(self, low: Position, size: int) -> Position:
        """Return the position so many bytes of log behind `low`, or one near it; a size below 0: in front of it."""
        ...
