"""Drift: shapes that the log's DDL records don't explain, found by inspecting the catalog.

Event triggers can be missing or silenced, so every window ends with a comparison: the catalog as
inspected just before the window's end was chosen, against the newest revisions that this inspection
could see; and the layout that each file of rows was decoded with, against the revision valid there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from airflow_ddlrepl.capture.enroll import belongs, shape_of
from airflow_ddlrepl.ddl.spot import spot
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Lsn, Snapshot
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table


class Column(Protocol):
    """One column of a layout."""

    @property
    def name(self) -> str: ...
    @property
    def type_oid(self) -> int: ...
    @property
    def typmod(self) -> int: ...


class Rows(Protocol):
    """Rows of one table that were decoded with one layout, from `first` on."""

    @property
    def table_id(self) -> int: ...
    @property
    def first(self) -> LogKey: ...
    @property
    def columns(self) -> Sequence[Column]: ...


LAST_IN_TRANSACTION = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class Inspection:
    """The source's catalog at one moment: every table in the channel's scope, and what the moment saw."""

    tables: tuple[Table, ...]
    snapshot: Snapshot


def unexplained(
    inspection: Inspection,
    latest: Mapping[int, Revision],
    window_events: Iterable[Event],
    end: Lsn,
    admits: Callable[[TableName], bool],
) -> list[Event]:
    """DDL records for what the catalog shows and no revision says; they stand at the window's end.

    A table that a later, not yet visible statement of the window touches is left to the next window.
    """
    busy: set[int] = set()
    for event in window_events:
        if not inspection.snapshot.sees(event.key.lsn, event.xid):
            busy |= {t.id for t in event.tables} | {i for i, _ in event.dropped}
    key = LogKey(end - 1, LAST_IN_TRANSACTION)
    found: list[Event] = []
    present = {table.id: table for table in inspection.tables}
    for table in inspection.tables:
        if table.id in busy or not belongs(table, latest, admits):
            continue
        known = shape_of(latest, table.id)
        if known is None and table.unlogged:
            continue
        if known is None or spot(known, table):
            found.append(_inspected(key, table, has_rows=known is None))
    for table_id, revision in latest.items():
        if revision.table is not None and table_id not in present and table_id not in busy:
            found.append(
                Event(
                    EventKind.DDL, key, xid=0, committed=0, tag="DROP TABLE",
                    dropped=((table_id, revision.table.name),), is_inspected=True,
                )
            )  # fmt: skip
    return found


def foreign_layouts(
    files: Sequence[Rows], shape_at: Callable[[int, LogKey], Table | None], inspection: Inspection
) -> list[Event]:
    """For each file of rows that the revision valid at its first row doesn't explain: what to do about it.

    When the catalog shows just this layout, the table's new shape (ambiguous: the statement that made it is
    unknown); else a RELATION record, which asks for a refresh of that table.
    """
    present = {table.id: table for table in inspection.tables}
    found: list[Event] = []
    explained: dict[int, Table] = {}
    for file in sorted(files, key=lambda f: f.first):
        shape = explained.get(file.table_id) or shape_at(file.table_id, file.first)
        if shape is None or fits(file, shape):
            continue
        now = present.get(file.table_id)
        if now is not None and fits(file, now):
            explained[file.table_id] = now
            found.append(_inspected(file.first, now, has_rows=False))
        else:
            layout = {"table_id": file.table_id, "columns": [c.name for c in file.columns]}
            found.append(Event(EventKind.RELATION, file.first, xid=0, committed=0, layout=layout, is_inspected=True))
    return found


def fits(file: Rows, shape: Table) -> bool:
    """Were these rows decoded with this shape's published columns?"""
    columns = {c.name: c for c in shape.columns}
    seen = {c.name for c in file.columns}
    if any(c.name not in seen for c in shape.columns if not c.generated):
        return False
    return all(
        layout.name in columns
        and columns[layout.name].type.oid in (0, layout.type_oid)
        and columns[layout.name].type.typmod == layout.typmod
        for layout in file.columns
    )


def _inspected(key: LogKey, table: Table, *, has_rows: bool) -> Event:
    return Event(
        EventKind.DDL, key, xid=0, committed=0, tag="CREATE TABLE" if has_rows else "ALTER TABLE",
        tables=(table,), filled=(table.id,) if has_rows else (), is_inspected=True,
    )  # fmt: skip
