"""A row that a target discards, because a column can't hold a value of it, waits in a queue at the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.conflicts import Conflict


@dataclass(frozen=True, slots=True)
class DiscardedRow:
    """A discarded row is one of the source's that a target's table does not have.

    A value does not fit (`coerce_error_policy: discard`), or its change lost a conflict (`conflicts`).
    """

    table_id: int
    key: tuple[str, ...]
    """The texts of its key's values."""
    reason: str
    """Which columns can't hold which value."""
    values: Mapping[str, str | None]
    """The text of each value, by the target's column; None is NULL."""
    at: Position
    """Where in the log it became so, or the position of the load that found it."""
    since: datetime | None = None
    """When the target stored it; None: it has not yet."""
    conflict: Conflict | None = None
    """What its change lost; None: a value does not fit."""
