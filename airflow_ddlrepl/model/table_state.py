"""A table's state at a target is its name and shape there, and whether it follows the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.errors import DdlReplError, ForeignKeyBroken, NeighbourSuspended
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.settings.stored import settings_from_text, settings_to_text
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS, TableSettings
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import Visibility, stored_visibility


class TableStatus(StrEnum):
    """A table's status at a target says whether the table follows the source there.

    LIVE: changes of the log are applied to it. NEW: it waits for its first refresh, the target has no table for it yet.
    PENDING: it exists and waits for a refresh. ORPHANED: dropped at the source, and left at the target. SUSPENDED: the
    target refused a change of it; it stays as it was before, while the other tables go on.
    """

    LIVE = "live"
    NEW = "new"
    PENDING = "pending"
    ORPHANED = "kept"
    SUSPENDED = "suspended"


ISOLATED = "isolated"


class Cause(StrEnum):
    """A cause says what kind of trouble has suspended a table: what is tried to bring it up depends on it.

    REFUSED: the target refuses a change. FOREIGN_KEY: a foreign key of the target does not allow one. NEIGHBOUR: it
    needs the name or a type of another suspended table. REFRESH: nothing is wrong, a refresh loads it by itself.
    """

    REFUSED = "refused"
    FOREIGN_KEY = "foreign key"
    NEIGHBOUR = "neighbour"
    REFRESH = "refresh"

    @classmethod
    def of(cls, error: DdlReplError) -> Cause:
        """Return the cause that an error is."""
        found = {ForeignKeyBroken: cls.FOREIGN_KEY, NeighbourSuspended: cls.NEIGHBOUR}
        return next((cause for kind, cause in found.items() if isinstance(error, kind)), cls.REFUSED)


_BEFORE_CAUSES = {ISOLATED: Cause.REFRESH, "INT-104": Cause.FOREIGN_KEY, "ADP-170": Cause.NEIGHBOUR}
"""The causes of suspensions that an earlier version has stored, which had a code alone."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """A suspension says why, and at which place in the log, one table stopped while the others of its target went on.

    at: everything before it is applied to the table. until: the end of the part of the log that could not be applied.
    code, why, hint: of the error. status: the table's status before; it has it again when the log is caught up. cause:
    what kind of trouble it is.
    """

    at: LogKey
    until: Position
    code: str
    why: str
    hint: str = ""
    status: TableStatus = TableStatus.LIVE
    cause: Cause = Cause.REFUSED

    def __str__(self) -> str:
        return self.why if self.is_isolation else f"{self.code}: {self.why}"

    @property
    def is_isolation(self) -> bool:
        """Is the table only isolated, while a refresh loads it? Its changes come after that."""
        return self.cause is Cause.REFRESH

    def is_same_reason(self, other: Suspension) -> bool:
        """Is it for the reason of another one, maybe at another place of the log?"""
        return (self.cause, self.code, self.why) == (other.cause, other.code, other.why)

    def to_json(self) -> dict[str, Any]:
        """Return the suspension as a JSON object."""
        values = {name: getattr(self, name) for name in ("code", "why", "hint")}
        kinds = {"status": self.status.value, "cause": self.cause.value}
        return {**values, "at": list(self.at), "until": int(self.until), **kinds}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Suspension:
        """Return the suspension that `to_json` wrote."""
        known = {**data, "at": LogKey(*data["at"]), "until": Position(data["until"])}
        cause = Cause(data["cause"]) if "cause" in data else _BEFORE_CAUSES.get(data["code"], Cause.REFUSED)
        return cls(**{**known, "status": TableStatus(data["status"]), "cause": cause})


@dataclass(frozen=True, slots=True)
class PartialRefresh:
    """A partial refresh replaces those rows of a table for which a condition is true; the table stays live meanwhile.

    condition: over the source's columns. until: the place in the log as of which the rows were loaded: changes before
    it may be in the rows already; None: it is asked for, and not done yet.
    """

    condition: str
    until: Position | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the partial refresh as a JSON object."""
        return {"condition": self.condition, "until": None if self.until is None else int(self.until)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PartialRefresh:
        """Return the partial refresh that `to_json` wrote."""
        return cls(data["condition"], None if data["until"] is None else Position(data["until"]))


@dataclass(frozen=True, slots=True)
class TableState:
    """A table state describes one table at one target.

    shape: the target table's shape, columns carrying the source's ids. snapshot: of its last refresh, while
    transactions that the refresh already contains may still come in the log. settings: the
    channel file's for the table when it got this shape. suspension: why the table
    is suspended, or was before it came to wait for a refresh. partial: a refresh of some of its rows.
    """

    table_id: int
    name: TableName
    shape: Table
    state: TableStatus = TableStatus.LIVE
    snapshot: Visibility | None = None
    settings: TableSettings = NO_SETTINGS
    suspension: Suspension | None = None
    partial: PartialRefresh | None = None

    @property
    def awaits_rows(self) -> bool:
        """Is a refresh of some of its rows asked for, and not done yet?"""
        return self.state is TableStatus.LIVE and self.partial is not None and self.partial.until is None

    @property
    def waits_for_refresh(self) -> bool:
        """Does the table wait for a refresh, of all of its rows or of some?"""
        return self.state in (TableStatus.PENDING, TableStatus.NEW) or self.awaits_rows

    def past(self, at: Position) -> TableState:
        """Return the state without the refreshes that no change at or behind a place in the log is part of."""
        found = self
        if self.snapshot is not None and self.snapshot.high <= at:
            found = replace(found, snapshot=None)
        if self.partial is not None and self.partial.until is not None and self.partial.until <= at:
            found = replace(found, partial=None)
        return found

    def has(self, lsn: int, transaction_id: int) -> bool:
        """Return whether the target table already contains this transaction, by a refresh."""
        return self.snapshot is not None and self.snapshot.sees(lsn, transaction_id)

    def to_json(self) -> dict[str, Any]:
        """Return the table state as a JSON object."""
        return {
            "table_id": self.table_id,
            "name": list(self.name),
            "shape": self.shape.to_json(),
            "state": self.state.value,
            "snapshot": self.snapshot.to_json() if self.snapshot else None,
            "properties": settings_to_text(self.settings),
            "suspension": self.suspension.to_json() if self.suspension else None,
            "partial": self.partial.to_json() if self.partial else None,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TableState:
        """Return the table state that `to_json` wrote."""
        return cls(
            int(data["table_id"]),
            TableName(*data["name"]),
            Table.from_json(data["shape"]),
            TableStatus(data["state"]),
            stored_visibility(data["snapshot"]) if data["snapshot"] else None,
            settings_from_text(data["properties"]),
            Suspension.from_json(data["suspension"]) if data["suspension"] else None,
            PartialRefresh.from_json(data["partial"]) if data.get("partial") else None,
        )
