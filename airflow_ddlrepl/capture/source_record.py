"""A source record is what the last capture found at the source, for the next one to tell what was changed in between.

Records of schema changes in the log may be missing: event triggers can be switched off, and on again. Files and rows of
the catalog can't be changed without a trace, so the next capture sees that something happened.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from airflow_ddlrepl.capture.captured_table import Captured
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.installation import Feed, PublishedTable, SessionNames
from airflow_ddlrepl.model.table import Table

REWRITTEN = "the source has rewritten its rows, and no record in the log says how"


@dataclass(frozen=True, slots=True)
class RowsVersion:
    """A rows version changes when an ALTER TABLE gives the rows of a table other values.

    storage: the file that holds the rows. columns: as Table.column_versions.
    """

    storage: int
    columns: str

    @classmethod
    def of(cls, table: Table) -> Self | None:
        """Return the version of the table's rows; None where it has none, or an older helper schema wrote the shape."""
        if table.is_partitioned or table.storage is None or table.column_versions is None:
            return None
        return cls(table.storage, table.column_versions)

    def may_have_other_values(self, now: RowsVersion) -> bool:
        """May rows that were there have other values now, without a change of theirs in the log?

        ALTER COLUMN … TYPE makes another file and defines the column again. TRUNCATE, VACUUM FULL, CLUSTER and others
        make another file alone. New and dropped columns show in the shape.
        """
        return bool(self.redefined(now))

    def redefined(self, now: RowsVersion) -> frozenset[int]:
        """Return the ids of the columns that have been defined again while the rows were written anew."""
        if self.storage == now.storage:
            return frozenset()
        before, after = self._columns(), now._columns()
        return frozenset(i for i in before.keys() & after.keys() if before[i] != after[i])

    def _columns(self) -> dict[int, str]:
        pairs = (one.partition(":") for one in self.columns.split())
        return {int(number): version for number, _, version in pairs}


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A source record is what a capture found at the source.

    rows: the version of each table's rows, by its id. versions: of what the channel has set up, as Installation has
    them; None: not looked at yet. feed: what the log had of the tables; None: not known. due: why tables have to be
    loaded again, by id, which no capture has written into the trail yet. gaps: between which positions records of
    schema changes may be missing, and why. is_gap_due: the last one is not in the trail yet. captured: what captures
    rows by triggers, by synchronous capture, and what these have missed. sessions: what named ignored sessions.
    """

    rows: Mapping[int, RowsVersion] = field(default_factory=dict)
    versions: Mapping[str, str] | None = None
    feed: Feed | None = None
    due: Mapping[int, str] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    is_gap_due: bool = False
    captured: Mapping[str, Captured] = field(default_factory=dict)
    sessions: SessionNames | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object, as the repository stores it."""
        return {
            "rows": {str(i): [one.storage, one.columns] for i, one in self.rows.items()},
            "versions": None if self.versions is None else dict(self.versions),
            "feed": None if self.feed is None else _feed_json(self.feed),
            "due": {str(i): why for i, why in self.due.items()},
            "gaps": list(self.gaps),
            "is_gap_due": self.is_gap_due,
            "sessions": self.sessions and [self.sessions.condition, [*self.sessions.versions.items()]],
            "captured": {client: one.to_json() for client, one in self.captured.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the record that `to_json` wrote."""
        feed, sessions = data.get("feed"), data.get("sessions")
        return cls(
            {int(i): RowsVersion(*one) for i, one in data.get("rows", {}).items()},
            data.get("versions"),
            None if feed is None else _feed(feed),
            {int(i): why for i, why in data.get("due", {}).items()},
            tuple(data.get("gaps", ())),
            data.get("is_gap_due", False),
            {client: Captured.from_json(one) for client, one in data.get("captured", {}).items()},
            SessionNames(sessions[0], dict(sessions[1])) if sessions else None,
        )


def _feed_json(feed: Feed) -> dict[str, Any]:
    tables = {str(i): [one.entry, one.lacks] for i, one in feed.tables.items()}
    return {"version": feed.version, "tables": tables}


def _feed(data: Mapping[str, Any]) -> Feed:
    tables = {int(i): PublishedTable(*one) for i, one in data["tables"].items()}
    return Feed(data["version"], tables)


def follow_rows(
    known: Mapping[int, RowsVersion], events: Iterable[Event]
) -> tuple[dict[int, RowsVersion], frozenset[int]]:
    """Follow the versions of rows through the log; return those after it, and the tables that were rewritten unseen.

    A statement shows the table before it, too, where its text names it.
    """
    rows, unseen = dict(known), set[int]()
    for event in events:
        if event.kind is not EventKind.DDL or event.is_inspected:
            continue
        for before in event.before:
            if _is_rewritten(rows, before):
                unseen.add(before.id)
        for table in event.tables:
            if (version := RowsVersion.of(table)) is not None:
                rows[table.id] = version
        for table_id, _ in event.dropped:
            rows.pop(table_id, None)
    return rows, frozenset(unseen)


def rewritten(known: Mapping[int, RowsVersion], tables: Iterable[Table], busy: Container[int]) -> frozenset[int]:
    """Return the tables whose rows were rewritten since they were `known` so. busy: ids of tables not to look at."""
    return frozenset(t.id for t in tables if t.id not in busy and _is_rewritten(known, t))


def _is_rewritten(known: Mapping[int, RowsVersion], table: Table) -> bool:
    before, now = known.get(table.id), RowsVersion.of(table)
    return before is not None and now is not None and before.may_have_other_values(now)
