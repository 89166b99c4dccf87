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
    key: the texts of its key's values. reason: which columns can't hold which value. values: the text of each value, by
    the target's column; None is NULL. at: where in the log it became so, or the position of the load that found it.
    since: when the target stored it; None: it has not yet. conflict: what its change lost; None: a value does not fit.
    """

    table_id: int
    key: tuple[str, ...]
    reason: str
    values: Mapping[str, str | None]
    at: Position
    since: datetime | None = None
    conflict: Conflict | None = None
