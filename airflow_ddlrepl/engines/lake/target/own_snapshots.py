"""This module finds the snapshot of a lake's table to which the table can be rolled back.

A run marks the snapshots that it makes: with the name of its window, and the last one of a window of changes with the
source's position and a digest of the table's shape. What is not certain is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_ddlrepl.engines.abilities.snapshots import LOAD, RolledBackTo, can_not_roll_back
from airflow_ddlrepl.engines.lake.catalog.metadata import WINDOW, Head
from airflow_ddlrepl.engines.lake.catalog.window import LOADED, POSITION, SHAPE, WindowKind
from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState

Snapshot = Mapping[str, Any]


class Writer(Enum):
    """A writer says what has made a snapshot."""

    CHANGES = "changes"
    """A run of the channel that applied changes of the log, or of the table's columns."""
    ROWS = "rows"
    """A run of the channel that loaded the table, or repaired rows of it: what was before is not brought to that."""
    NO_ROW = "no row"
    """Whoever it was: no row has changed, only files."""
    OTHERS = "others"


def shape_digest(state: TableState, epoch: int) -> str:
    """Return a digest of all that must be as it was for a table to go on from a snapshot.

    Its shape says in which file the source has it, too: that is another one after a VACUUM FULL.
    """
    stored = state.to_json()
    parts = [epoch, *(stored[key] for key in ("table_id", "name", "shape", "properties"))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class OwnSnapshots:
    """These are the snapshots of a table that lead to the one with which the channel has left it.

    table: its state now. metadata: of its newest metadata file. left: the snapshot with which the channel has left it.
    windows: how the names of the channel's windows begin. epoch: of the channel.
    """

    table: TableState
    metadata: Mapping[str, Any]
    left: Head | None
    windows: str
    epoch: int

    def chosen(self, wanted: int | None) -> RolledBackTo:
        """Return the snapshot of this id, or the newest one. Raises TargetError REF-102."""
        way, current = self._way, self.metadata.get("current-snapshot-id")
        if wanted is None and current == way[0]:
            raise self.refusal(f"it is at the newest one that the channel has left, {current}")
        found = way[0] if wanted is None else wanted
        if found not in self._there:
            raise self.refusal(f"there is no snapshot {found}: it has expired, or is of another table")
        if found not in way:
            raise self.refusal(f"snapshot {found} does not lead to {way[0]}, with which the channel has left the table")
        if found == way[0] and not self._can_go_on(found):
            raise self.refusal(
                f"columns that it has in {found} are other ones by now, or not there: somebody changed them"
            )
        at = None if found == way[0] else self._position(found, way[: way.index(found)])
        before = self._line(found)
        undone = {*way, *self._line(current)} - {*before}
        stay = (one for one in self._since_rows(before) if self._writer(one) is Writer.OTHERS)
        others = (one for one in sorted(undone, key=self._number) if self._writer(one) is Writer.OTHERS)
        return RolledBackTo(found, at, tuple(map(self._words, others)), tuple(map(self._words, stay)))

    def _position(self, wanted: int, newer: Sequence[int]) -> Position:
        """Return the position of an earlier snapshot. newer: those that the channel has come to since, newest first."""
        loaded = next((one for one in newer if self._writer(one) is Writer.ROWS), None)
        if loaded is not None:
            raise self.refusal(f"the table was loaded, or repaired, since {wanted}: by snapshot {loaded}")
        summary = self._summary(wanted)
        if POSITION not in summary:
            raise self.refusal(f"snapshot {wanted} does not say {POSITION}: it is not the last one of a window")
        if not self._can_be_named(wanted):
            raise self.refusal(
                f"since {wanted} its columns have changed, or its key, or what the channel file says of it; or the"
                " source has written the whole table again"
            )
        return Position(int(summary[POSITION]))

    def _can_go_on(self, snapshot: int) -> bool:
        """Are the channel's columns there, and those of the snapshot the same ones? It may have added some since."""
        then, now = self._columns_of(snapshot), self._columns(self.metadata["current-schema-id"])
        names = {column.name for column in self.table.shape.columns}
        return bool(then) and names == now.keys() and all(now[name][0] == one[0] for name, one in then.items())

    def _has_same_columns(self, snapshot: int) -> bool:
        """Does Iceberg know the channel's columns of the snapshot as the same ones still?"""
        return self._columns_of(snapshot) == self._columns(self.metadata["current-schema-id"])

    def _columns_of(self, snapshot: int) -> dict[str, tuple[Any, ...]]:
        return self._columns(self._there[snapshot].get("schema-id"))

    def _columns(self, schema: int | None) -> dict[str, tuple[Any, ...]]:
        """Return what tells the channel's columns in a schema from others of the same names, by these names."""
        names = {column.name for column in self.table.shape.columns}
        fields = next((one["fields"] for one in self.metadata["schemas"] if one["schema-id"] == schema), ())
        found = (one for one in fields if one["name"] in names)
        return {one["name"]: (one["id"], one["type"], one.get("initial-default")) for one in found}

    @property
    def _there(self) -> dict[int, Snapshot]:
        return {one["snapshot-id"]: one for one in self.metadata.get("snapshots", ())}

    @property
    def _way(self) -> list[int]:
        """Return the ids of the snapshots that lead to the channel's last one, newest first."""
        left = self.left
        if left is None or left.snapshot is None:
            raise self.refusal("the channel has left none")
        if left.table != self.metadata["table-uuid"]:
            raise self.refusal("somebody has made the table again: it has none of its earlier snapshots")
        if left.snapshot not in self._there:
            raise self.refusal(f"snapshot {left.snapshot}, with which the channel has left the table, has expired")
        return self._line(left.snapshot)

    def _line(self, newest: int | None) -> list[int]:
        """Return a snapshot and those before it, as far as none has expired."""
        there, found, at = self._there, list[int](), newest
        while at is not None and at in there:
            found.append(at)
            at = there[at].get("parent-snapshot-id")
        return found

    def _since_rows(self, line: Sequence[int]) -> Iterator[int]:
        """Yield the snapshots of a line that come behind its last load or repair, newest first."""
        for one in line:
            if self._writer(one) is Writer.ROWS:
                return
            yield one

    def _writer(self, snapshot: int) -> Writer:
        summary = self._summary(snapshot)
        window = re.fullmatch(rf"{re.escape(self.windows)}([a-z])\d+_\w+", summary.get(WINDOW, ""))
        if summary.get("operation") == "replace":
            return Writer.NO_ROW
        if LOADED in summary:
            return Writer.ROWS
        if window is None:
            return Writer.OTHERS
        return Writer.CHANGES if window[1] in (WindowKind.APPLY, WindowKind.CHANGE_STATE) else Writer.ROWS

    def _summary(self, snapshot: int) -> Mapping[str, str]:
        found: Mapping[str, str] = self._there[snapshot].get("summary", {})
        return found

    def _number(self, snapshot: int) -> int:
        return int(self._there[snapshot].get("sequence-number", 0))

    def _words(self, snapshot: int) -> str:
        summary = self._summary(snapshot)
        counts = ((summary.get(f"{how}-records"), how) for how in ("added", "deleted"))
        rows = [f"{count} rows {how} in files" for count, how in counts if count]
        return f"snapshot {snapshot} ({', '.join([summary.get('operation', 'unknown'), *rows])})"

    def require_readable(self, snapshot: int, files: Files) -> None:
        """Raise TargetError REF-102 where the list of a snapshot's files is missing."""
        try:
            files.read(self._there[snapshot]["manifest-list"])
        except FileNotFoundError as error:
            raise self.refusal(f"the file {error.filename or ''} of snapshot {snapshot} is missing") from None

    def refusal(self, why: str) -> TargetError:
        """Return the error that the table can't be rolled back, with what helps."""
        return can_not_roll_back(self.table.name, why, self._help())

    def _help(self) -> str:
        """Return what helps: the newest earlier snapshot that can be named, best one that nobody else wrote before."""
        left = self.left
        way = self._line(left.snapshot) if left is not None and left.table == self.metadata["table-uuid"] else []
        known = [*self._since_rows(way)]
        others = [number for number, one in enumerate(known) if self._writer(one) is Writer.OTHERS]
        own = [(number, one) for number, one in enumerate(known) if number and self._can_be_named(one)]
        found = next((one for number, one in own if number > max(others, default=0)), own[0][1] if own else None)
        named = f"`--from-snapshot {found}` names an earlier one; " if found is not None else ""
        return f"{named}{LOAD}"

    def _can_be_named(self, snapshot: int) -> bool:
        summary, shape = self._summary(snapshot), shape_digest(self.table, self.epoch)
        return POSITION in summary and summary.get(SHAPE) == shape and self._has_same_columns(snapshot)
