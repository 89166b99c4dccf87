"""Write seeded random rows into the tables that a database has at the moment.

The catalog decides what a row needs (not null, unique, foreign keys); what a check or trigger still refuses is
rolled back to a savepoint and left out. Changes come in several transactions; some are rolled back on purpose.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.demo.workload.shapes import Reference, Shape, Slot, read_shapes
from airflow_ddlrepl.demo.workload.values import Values
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from psycopg import Connection

LEFT_ALONE = frozenset({"alembic_version"})
TABLES_PER_TRANSACTION = 8
ROLLED_BACK = 0.05
WRITTEN_TO = 0.6
MOST_ROWS = 120
LOOK_AT = 150


@dataclass
class Written:
    """This value counts what was written and committed so far; rows that a cascade changed are not counted."""

    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    tables: set[TableName] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def changes(self) -> int:
        """Return how many rows were changed."""
        return self.inserts + self.updates + self.deletes


class RowWriter:
    """A row writer is one seeded stream of changes; `write` adds a round of them to every table that can take rows."""

    def __init__(self, seed: int, rows_per_table: int = 6) -> None:
        self._random = Random(seed)
        self._values = Values(self._random)
        self._rows = rows_per_table
        self.written = Written()

    def write(self, connection: Connection[Any]) -> int:
        """Write one round of inserts, updates and deletes, and return how many rows changed. connection: autocommit."""
        before = self.written.changes
        shapes = [shape for shape in read_shapes(connection) if self._is_wanted(shape)]
        for start in range(0, len(shapes), TABLES_PER_TRANSACTION):
            self._transaction(connection, shapes[start : start + TABLES_PER_TRANSACTION])
        return self.written.changes - before

    def _is_wanted(self, shape: Shape) -> bool:
        """Return whether to write to the table: to every table once, then to most of them each time."""
        is_new = shape.name not in self.written.tables
        return shape.name.name not in LEFT_ALONE and (is_new or self._random.random() < WRITTEN_TO)

    def _transaction(self, connection: Connection[Any], shapes: list[Shape]) -> None:
        from psycopg import Rollback

        is_lost = self._random.random() < ROLLED_BACK
        saved, self.written = self.written, Written()
        with connection.transaction():
            for shape in shapes:
                self._insert(connection, shape)
            for shape in shapes:
                self._update(connection, shape)
            for shape in reversed(shapes):
                self._delete(connection, shape)
            if is_lost:
                raise Rollback
        self.written = saved if is_lost else _sum(saved, self.written)

    def _insert(self, connection: Connection[Any], shape: Shape) -> None:
        parents = {r: self._parents(connection, r) for r in shape.references}
        rows = [row for row in (self._row(shape, parents) for _ in range(self._rows)) if row is not None]
        if not rows:
            self.written.refused[f"{shape.name}: no parent row"] += 1
            return
        count = self._try(connection, shape, *_insert(shape, rows))
        if count is None:
            counts = [self._try(connection, shape, *_insert(shape, [row])) for row in rows]
            count = sum(c or 0 for c in counts)
        self.written.inserts += count
        if count:
            self.written.tables.add(shape.name)

    def _row(self, shape: Shape, parents: dict[Reference, list[tuple[str, ...]]]) -> dict[int, str | None] | None:
        """Return a row as text by column id, or None when a parent is missing.

        A column that is left out takes its default.
        """
        row: dict[int, str | None] = {}
        slots = {slot.id: slot for slot in shape.slots}
        for reference in shape.references:
            if not self._point(reference, parents[reference], slots, row):
                return None
        for slot in shape.slots:
            leave_out = slot.is_serial or (slot.has_default and self._random.random() < 0.3)
            if slot.id not in row and not leave_out:
                row[slot.id] = self._value(shape, slot)
        return row

    def _point(
        self, reference: Reference, parents: list[tuple[str, ...]], slots: dict[int, Slot], row: dict[int, str | None]
    ) -> bool:
        """Fill the columns of one foreign key, and don't change what another foreign key has set already."""
        fitting = [
            parent
            for parent in parents
            if all(row.get(c, value) == value for c, value in zip(reference.columns, parent))
        ]
        free = [c for c in reference.columns if c not in row]
        if fitting and not (all(slots[c].nullable for c in free) and self._random.random() < 0.2):
            row.update(zip(reference.columns, self._random.choice(fitting)))
            return True
        row.update({c: None for c in free if slots[c].nullable})
        return any(row[c] is None for c in reference.columns if c in row)

    def _value(self, shape: Shape, slot: Slot) -> str | None:
        is_unique, is_indexed = slot.id in shape.unique, slot.id in shape.indexed
        return self._values.of(shape.name, slot, is_unique=is_unique, may_be_long=not is_indexed)

    def _update(self, connection: Connection[Any], shape: Shape) -> None:
        """Change a few columns of a few rows; now and then a key's columns, too."""
        pointing = {c for reference in shape.references for c in reference.columns}
        fixed = pointing | (shape.unique if shape.is_referenced or self._random.random() < 0.8 else frozenset())
        slots = [slot for slot in shape.slots if slot.id not in fixed and not slot.is_serial]
        if not slots:
            return
        chosen = self._random.sample(slots, min(len(slots), self._random.randrange(1, 4)))
        places = self._pick(connection, shape, max(1, self._rows // 2))
        if places:
            images = self._images(shape, chosen, places)
            self.written.updates += self._try(connection, shape, *_update(shape.name, chosen, places, images)) or 0

    def _images(self, shape: Shape, slots: list[Slot], places: list[str]) -> list[str | None]:
        """Return new values, row by row."""
        return [value for place in places for value in (place, *(self._value(shape, slot) for slot in slots))]

    def _delete(self, connection: Connection[Any], shape: Shape) -> None:
        """Delete a few rows, all at once or none; more of them where the table has over MOST_ROWS."""
        places = self._pick(connection, shape, self._random.randrange(0, 3), surplus_over=MOST_ROWS)
        if places:
            statement = f"DELETE FROM {_plain(qualified(shape.name))} WHERE ctid = ANY(%s::tid[])"
            self.written.deletes += self._try(connection, shape, statement, [places]) or 0

    def _pick(
        self, connection: Connection[Any], shape: Shape, count: int, surplus_over: int | None = None
    ) -> list[str]:
        """Return the places (ctid) of some rows; more of them where the table has grown over surplus_over rows."""
        statement = f"SELECT ctid::text FROM {qualified(shape.name)} ORDER BY ctid LIMIT {LOOK_AT}"
        places = [place for (place,) in connection.execute(statement.encode())]
        if surplus_over is not None:
            count = max(count, len(places) - surplus_over)
        return self._random.sample(places, min(count, len(places)))

    def _parents(self, connection: Connection[Any], reference: Reference) -> list[tuple[str, ...]]:
        columns = ", ".join(f"{quote(name)}::text" for name in reference.names)
        present = " AND ".join(f"{quote(name)} IS NOT NULL" for name in reference.names)
        statement = f"SELECT {columns} FROM {qualified(reference.table)} WHERE {present} ORDER BY ctid LIMIT {LOOK_AT}"
        return [tuple(row) for row in connection.execute(statement.encode())]

    def _try(self, connection: Connection[Any], shape: Shape, statement: str, values: list[Any]) -> int | None:
        """Return how many rows the statement changed; None when the server refused it, and then nothing of it stays."""
        from psycopg import ClientCursor, DataError, IntegrityError, OperationalError

        try:
            with ClientCursor(connection) as cursor:
                cursor.execute(f"SAVEPOINT row_writer; {statement}; RELEASE row_writer".encode(), values)
                cursor.nextset()
                return cursor.rowcount
        except (DataError, IntegrityError, OperationalError) as error:
            connection.execute("ROLLBACK TO SAVEPOINT row_writer")
            self.written.refused[f"{shape.name}: {error.diag.message_primary or error}"] += 1
            return None


def _insert(shape: Shape, rows: list[dict[int, str | None]]) -> tuple[str, list[str | None]]:
    """Return one statement that inserts all rows; a row that a unique index already has is left out."""
    lines: list[str] = []
    values: list[str | None] = []
    for row in rows:
        lines.append("(" + ", ".join(f"%s::{_plain(s.type)}" if s.id in row else "DEFAULT" for s in shape.slots) + ")")
        values.extend(row[s.id] for s in shape.slots if s.id in row)
    names = ", ".join(_plain(quote(slot.name)) for slot in shape.slots)
    table = _plain(qualified(shape.name))
    return f"INSERT INTO {table} ({names}) VALUES {', '.join(lines)} ON CONFLICT DO NOTHING", values


def _update(
    table: TableName, slots: list[Slot], places: list[str], values: list[str | None]
) -> tuple[str, list[str | None]]:
    """Return one statement that updates a few rows, each with its own values.

    values: place and new values, row by row.
    """
    sets = ", ".join(f"{_plain(quote(slot.name))} = new.c{i}" for i, slot in enumerate(slots))
    line = "(" + ", ".join(["%s::tid", *(f"%s::{_plain(slot.type)}" for slot in slots)]) + ")"
    names = ", ".join(["place", *(f"c{i}" for i in range(len(slots)))])
    rows = ", ".join([line] * len(places))
    target = _plain(qualified(table))
    return f"UPDATE {target} SET {sets} FROM (VALUES {rows}) AS new({names}) WHERE {target}.ctid = new.place", values


def _plain(sql: str) -> str:
    """Return SQL with percent signs escaped, which are no placeholders there."""
    return sql.replace("%", "%%")


def _sum(first: Written, second: Written) -> Written:
    return Written(
        first.inserts + second.inserts,
        first.updates + second.updates,
        first.deletes + second.deletes,
        first.tables | second.tables,
        first.refused + second.refused,
    )
