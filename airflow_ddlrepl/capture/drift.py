"""Drift is a shape that the log's DDL records don't explain; it is found by inspecting the catalog.

Event triggers can be missing or silenced, so every window ends with a comparison: the catalog as
inspected just before the window's end was chosen, against the newest revisions that this inspection
could see; and the layout that each file of rows was decoded with, against the revision valid there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.capture.enroll import Joins, belongs, shape_of
from airflow_ddlrepl.capture.rename_order import in_rename_order
from airflow_ddlrepl.capture.row_layouts import reshape_event, unreadable_event
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey, is_same_key
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Identity, Table
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.ports.types import TypeSystem


@dataclass(frozen=True, slots=True)
class Inspection:
    """An inspection is the source's catalog at one moment: every table in the channel's scope, and what the moment saw.

    locked: ids of tables that an open transaction is altering; nothing is known of them. late: ids of tables that
    were published some time after they were created; the log lacks their first rows. version: of the catalog, "" when
    it is the one that a capture has found explained before, so that it was not read again. due: why tables have to be
    loaded again, by id; gap: why records of schema changes may be missing; empty: they are not. Both are for the next
    window. unnamed: ids of tables whose changes may lack the names of ignored sessions.
    """

    tables: tuple[Table, ...]
    snapshot: Visibility
    locked: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()
    version: str = ""
    due: Mapping[int, str] = field(default_factory=dict)
    gap: str = ""
    unnamed: frozenset[int] = frozenset()


def unexplained(
    inspection: Inspection,
    latest: Mapping[int, Revision],
    window_events: Iterable[Event],
    end: Position,
    joins: Joins,
    types: TypeSystem,
) -> list[Event]:
    """Return DDL records, placed at the window's end, for what the catalog shows and no revision has.

    A locked table, and one that a later, not yet visible statement of the window touches, is left to the next window.
    A partition that was not dropped with its partitioned table had left it before.
    """
    busy: set[int] = set(inspection.locked)
    gone: dict[int, LogKey] = {}
    for event in window_events:
        gone |= {i: LogKey(event.key.lsn, START_OF_TRANSACTION) for i, _ in event.dropped}
        if not inspection.snapshot.sees(event.key.lsn, event.transaction_id):
            busy |= {t.id for t in event.tables} | {i for i, _ in event.dropped}
    key = LogKey.last_before(end)
    found: list[Event] = []
    present = {table.id for table in inspection.tables}
    shapes = {i: r.table for i, r in latest.items() if r.table is not None}
    for table_id in [i for i in shapes if i not in present and i not in busy]:
        shape = shapes.pop(table_id)
        found.append(_dropped(_parent_dropped_at(shape, gone) or key, table_id, shape.name))
    news = [t for t in inspection.tables if t.id not in busy and _has_new_shape(t, latest, joins, types)]
    places = Counter(t.id for t in in_rename_order(shapes, news)) if news else Counter[int]()
    for table in in_rename_order(shapes, news) if news else ():
        places[table.id] -= 1
        before = shapes.get(table.id)
        place = LogKey(key.lsn, key.seq - places[table.id])
        found.append(
            _new(place, table)
            if before is None
            else reshape_event(_parent_dropped_at(before, gone) or place, before, table)
        )
        shapes[table.id] = table
    late = (t for t in inspection.tables if t.id in inspection.late and t.id not in busy)
    found += [_new(key, table) for table in late if shape_of(latest, table.id) is not None]
    return sorted(found, key=lambda e: e.key)


def sees_all(inspection: Inspection, events: Iterable[Event]) -> bool:
    """Return whether the inspection saw every table, and what each schema change among these events has done."""
    changes = (e for e in events if e.kind in (EventKind.DDL, EventKind.GAP))
    return not inspection.locked and all(inspection.snapshot.sees(e.key.lsn, e.transaction_id) for e in changes)


def with_snapshot(inspection: Inspection, found: Iterable[Event]) -> list[Event]:
    """Return these records, those without a statement's snapshot with the snapshot of the inspection.

    A statement with an older snapshot may not have seen the change.
    """
    return [replace(event, settings={"snapshot": str(inspection.snapshot), **event.settings}) for event in found]


def ambiguous_shapes(
    changes: Iterable[tuple[Table, Table]],
    has_rows: Container[int],
    since: Position,
    low: Position,
    high: Position,
    types: TypeSystem,
) -> list[Event]:
    """Return RELATION records for changed shapes that leave open which shape the rows of a table had.

    changes: shapes that the log explains, and what was found. has_rows: tables with rows since the last inspection,
    which was at `since`; low, high: the window that the inspection ends. types: of the source.
    """
    found: dict[int, str] = {}
    for before, now in changes:
        if now.id in has_rows and (why := why_ambiguous(before, now, types)):
            found.setdefault(now.id, why)
    return [
        unreadable_event(table_id, LogKey(start, START_OF_TRANSACTION), high.previous, why)
        for table_id, why in found.items()
        for start in sorted({since, low})
    ]


def _parent_dropped_at(shape: Table, gone: Mapping[int, LogKey]) -> LogKey | None:
    """Return the place where the partition's partitioned table was dropped, None where it was not."""
    return gone.get(shape.partition.of) if shape.partition else None


def _has_new_shape(table: Table, latest: Mapping[int, Revision], joins: Joins, types: TypeSystem) -> bool:
    known = shape_of(latest, table.id)
    if known is table or not belongs(table, latest, joins):
        return False
    if known is None:
        return not table.unlogged
    return (known, known.storage) != (table, table.storage) and bool(diff(known, table, types))


def _new(key: LogKey, table: Table) -> Event:
    return Event(
        EventKind.DDL, key, transaction_id=0, committed=0, tag="CREATE TABLE", tables=(table,), filled=(table.id,),
        is_inspected=True,
    )  # fmt: skip


def _dropped(key: LogKey, table_id: int, name: TableName) -> Event:
    return Event(
        EventKind.DDL,
        key,
        transaction_id=0,
        committed=0,
        tag="DROP TABLE",
        dropped=((table_id, name),),
        is_inspected=True,
    )


def why_ambiguous(before: Table, now: Table, types: TypeSystem) -> str:
    """Return why rows written meanwhile may have either shape, or one in between; "" when the log shows which.

    The log shows each row's columns by name and type, in order, computed ones among them or not. It doesn't show that a
    column of the same name was dropped and added, nor what a type, a constraint or a key allowed at that moment.
    """
    found = diff(before, now, types)
    return next((why for change in found if (why := _why(change, before, now))), _mixed(found, before))


def _why(change: SchemaChange, before: Table, now: Table) -> str:
    if isinstance(change, ChangeTypeDefinition | ReplaceType):
        return "a type changed at a moment that the log does not show"
    if isinstance(change, ChangeNullability) and change.nullable:
        return f"column {change.name} allows NULL since a moment that the log does not show"
    if isinstance(change, ChangeKey) and before.key is not None and not is_same_key(before.key, now.key):
        is_shown = before.identity is now.identity is Identity.DEFAULT
        return "" if is_shown else "the key changed at a moment that the log does not show"
    if isinstance(change, ChangeGenerated) and change.old.generated == "stored" and not change.generated:
        return f"column {change.old.name} is no longer computed, since a moment that the log does not show"
    return ""


def _mixed(found: tuple[SchemaChange, ...], before: Table) -> str:
    added = [c.column.id for c in found if isinstance(c, AddColumn)]
    last = max((c.id for c in before.columns), default=0)
    has_gap = added != list(range(last + 1, last + 1 + len(added)))
    has_both = bool(added) and any(isinstance(c, DropColumn) for c in found)
    return "columns were added and dropped: a row's values may belong to either" if has_both or has_gap else ""
