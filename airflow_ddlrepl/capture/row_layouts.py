"""This module finds rows that were decoded with other columns than the enrolled shape has.

The server describes how each row is laid out. A row that the shape valid there doesn't explain comes from after a
schema change that left no record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from airflow_ddlrepl.model.change import IS_DUE, IS_UNNAMED, Event, EventKind
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Identity, Table

SINGLE_ROW = "rows of a layout that no revision explains"


class Column(Protocol):
    """A column of a layout is what the log says of one column of a row."""

    @property
    def name(self) -> str:
        """Return the column's name."""
        ...

    @property
    def type_id(self) -> int:
        """Return the id of the column's type at the source."""
        ...

    @property
    def modifier(self) -> int:
        """Return the type's modifier."""
        ...

    @property
    def is_key(self) -> bool:
        """Return whether the column is part of what identifies a row in the log."""
        ...


class Rows(Protocol):
    """These are rows of one table that were decoded with one layout; first and last are their places in the log."""

    @property
    def table_id(self) -> int:
        """Return the id of the rows' table."""
        ...

    @property
    def identity(self) -> Identity:
        """Return the identity that the log had for the table."""
        ...

    @property
    def first(self) -> LogKey:
        """Return the place of the first row."""
        ...

    @property
    def last(self) -> LogKey:
        """Return the place of the last row."""
        ...

    @property
    def columns(self) -> Sequence[Column]:
        """Return the columns of the layout."""
        ...


def unexplained_layouts(
    files: Sequence[Rows],
    shape_at: Callable[[int, LogKey], Table | None],
    tables: dict[int, Table],
    transaction_at: Callable[[int], int],
) -> list[Event]:
    """Return an event for each file of rows that the revision valid at its first row doesn't explain.

    When the catalog shows just this layout, the table's new shape, still under its old name (ambiguous: the
    statement that made it is unknown); else a RELATION record, which requests a refresh of that table.
    tables: the tables as the catalog shows them. transaction_at: the transaction that commits at a position.
    """
    found: list[Event] = []
    explained: dict[int, Table] = {}
    for file in sorted(files, key=lambda f: f.first):
        shape = explained.get(file.table_id) or shape_at(file.table_id, file.first)
        now = tables.get(file.table_id)
        if shape is None or _explains(shape, file, now):
            continue
        if now is not None and fits(file, now) and _has_key_of(file, now):
            explained[file.table_id] = now = now.with_(name=shape.name)
            found.append(reshape_event(file.first, shape, now, transaction_at(file.first.lsn)))
        else:
            found.append(
                unreadable_event(
                    file.table_id, file.first, Position(file.last.lsn), SINGLE_ROW, transaction_at(file.last.lsn)
                )
            )
    return found


def reshape_event(key: LogKey, before: Table, now: Table, transaction_id: int = 0) -> Event:
    """Return the event that gives a table the shape which an inspection found.

    It lists the table as `rewritten` when the server has rewritten its rows since `before`.
    """
    is_same_file = before.storage is not None and before.storage == now.storage
    return Event(
        EventKind.DDL, key, transaction_id, committed=0, tag="ALTER TABLE", tables=(now,),
        rewritten=() if is_same_file else (now.id,), is_inspected=True,
    )  # fmt: skip


def unreadable_event(table_id: int, key: LogKey, until: Position, why: str, transaction_id: int = 0) -> Event:
    """Return an event from which on the log does not identify a table's rows.

    The table needs a refresh that has seen the transaction at `until`.
    """
    layout = {"table_id": table_id, "until": int(until), "why": why}
    return Event(EventKind.RELATION, key, transaction_id, committed=0, layout=layout, is_inspected=True)


def due_event(table_id: int, key: LogKey, until: Position, why: str) -> Event:
    """Return an event from which on the log may lack changes of a table, as `unreadable_event` does."""
    event = unreadable_event(table_id, key, until, why)
    return replace(event, layout={**(event.layout or {}), IS_DUE: True})


def unnamed_event(table_id: int, key: LogKey, until: Position) -> Event:
    """Return an event from which on a table's changes may be those of sessions that are to be ignored.

    Nobody can tell which: a target suspends the table, until a person decides to load it.
    """
    layout = {"table_id": table_id, "until": int(until), IS_UNNAMED: True}
    return Event(EventKind.RELATION, key, transaction_id=0, committed=0, layout=layout, is_inspected=True)


def fits(file: Rows, shape: Table) -> bool:
    """Return whether these rows were decoded with just this shape's published columns, in its order."""
    names = {c.name for c in file.columns}
    expected = [c for c in shape.columns if not c.generated or c.name in names]
    return len(expected) == len(file.columns) and all(
        (ours.name, ours.type.modifier) == (theirs.name, theirs.modifier) and ours.type.id in (0, theirs.type_id)
        for ours, theirs in zip(expected, file.columns, strict=True)
    )


def _explains(shape: Table, file: Rows, now: Table | None) -> bool:
    """Does the revision's shape explain the columns of these rows?

    Key columns count only where the shape has a primary key to compare, or the catalog shows a better one.
    """
    if not fits(file, shape):
        return False
    if _has_key_of(file, shape):
        return True
    if now is not None and fits(file, now) and _has_key_of(file, now):
        return False
    return not (shape.key and shape.key.is_primary)


def _has_key_of(file: Rows, shape: Table) -> bool:
    """Does the log mark just this shape's key columns? It marks them under the default identity only."""
    if file.identity is not Identity.DEFAULT or shape.identity is not Identity.DEFAULT:
        return True
    key = {c.name for c in shape.key_columns()} if shape.key and shape.key.is_primary else set()
    return key == {c.name for c in file.columns if c.is_key}
