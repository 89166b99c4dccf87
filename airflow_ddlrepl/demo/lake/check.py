"""Compare a lake's tables with the source by each reader, and look at a table as it was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pyarrow as pa

from airflow_ddlrepl.demo.lake.readers import READERS, SCHEMA, Reader, pyiceberg_catalog
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import quote

Tables = Mapping[str, Sequence[str]]
"""The columns of each table."""
Rows = Counter[tuple[Any, ...]]

LAST_MOMENT, LAST_DAY = 2**63 - 1, 2**31 - 1
"""What the lake has for an infinite moment, and for an infinite day; the first ones are these below zero."""
_MOMENT = "CASE {0} WHEN 'infinity' THEN {1} WHEN '-infinity' THEN -{1} ELSE {2} END"


@dataclass(frozen=True)
class LakeCheck:
    """A lake check is what the readers of a lake saw.

    differences: by reader, a line for each table that it sees otherwise than the source has it. past: a table as it
    was before one of its columns was renamed or dropped.
    """

    differences: dict[str, tuple[str, ...]]
    past: str

    def line(self) -> str:
        """Return the differences as one line of text."""
        return ", ".join(f"{name}: {len(found)} differences" for name, found in self.differences.items())


def check_lake(source: str, location: str, tables: Tables) -> LakeCheck:
    """Read tables of the source in the lake by each reader. source: a libpq URL."""
    found = {}
    with connect(source, application_name="demo") as connection:
        for name, reading in READERS.items():
            with reading(location) as read:
                found[name] = tuple(unlike_tables(connection, tables, read))
    return LakeCheck(found, past_of(location))


def unlike_tables(connection: Any, tables: Tables, read: Reader) -> Iterator[str]:
    """Yield a line for each table of the source that a reader sees otherwise. connection: to the source."""
    for table, columns in tables.items():
        there = read(table)
        if sorted(there.column_names) != sorted(columns):
            yield f"{table}: columns differ: {sorted({*there.column_names} ^ {*columns})}"
            continue
        ours, theirs = _source_rows(connection, table, columns, there.schema), _rows(there.select(columns))
        if ours != theirs:
            unlike = ours - theirs or theirs - ours
            yield f"{table}: {ours.total()} rows in the source, {theirs.total()} read, e.g. {next(iter(unlike))}"


def _source_rows(connection: Any, table: str, columns: Sequence[str], there: pa.Schema) -> Rows:
    """Return the source's rows, each value in the form in which `_rows` has it."""
    parts = ", ".join(_form(there.field(name).type).format(quote(name)) for name in columns)
    found = connection.execute(f"SELECT {parts} FROM {quote(SCHEMA)}.{quote(table)}".encode()).fetchall()
    return Counter(tuple(map(_plain, row)) for row in found)


def _form(of: pa.DataType) -> str:
    """Return the SQL of a value of a column, `{0}`: moments as numbers, as Python has no infinite ones."""
    if pa.types.is_timestamp(of):
        return _MOMENT.format("{0}", LAST_MOMENT, "(extract(epoch FROM {0}) * 1000000)::bigint")
    if pa.types.is_date(of):
        return _MOMENT.format("{0}", LAST_DAY, "{0} - date '1970-01-01'")
    return "{0}::text" if "string" in str(of) else "{0}"


def _rows(there: pa.Table) -> Rows:
    plain = [_numbers(column).to_pylist() for column in there.columns]
    return Counter(tuple(map(_plain, row)) for row in zip(*plain, strict=True))


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column.cast(pa.int32()) if pa.types.is_date32(column.type) else column


def _plain(value: Any) -> Any:
    """Return a value as one that is equal to itself, whoever has read it."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, UUID) else value


def past_of(location: str) -> str:
    """Read a table as it was before a column was renamed; where none was, before one was dropped."""
    found: dict[bool, str] = {}
    with closing(pyiceberg_catalog(location)) as catalog:
        for name in sorted(catalog.list_tables(SCHEMA)):
            table = catalog.load_table(name)
            now = {field.field_id: field.name for field in table.schema().fields}
            for snapshot in reversed(table.snapshots()):
                schema = table.schemas().get(snapshot.schema_id)
                then = {field.field_id: field.name for field in schema.fields} if schema is not None else {}
                other = {old: now.get(number, "") for number, old in then.items() if now.get(number) != old}
                old = next((one for one in other if other[one]), next(iter(other), ""))
                if not old or bool(other[old]) in found:
                    continue
                count = table.scan(snapshot_id=snapshot.snapshot_id, selected_fields=(old,)).to_arrow().num_rows
                became = f"became {other[old]}" if other[old] else "was dropped"
                if count:
                    found[bool(other[old])] = f"{name[-1]} before its column {old} {became}: {count} rows"
    return found.get(True) or found.get(False) or "no table with rows lost or renamed a column"
