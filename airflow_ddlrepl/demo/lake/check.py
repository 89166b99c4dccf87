"""Compare a lake's tables with the source by each reader, and look at a table as it was before a column was renamed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from airflow_ddlrepl.demo.checksums import COLUMNS
from airflow_ddlrepl.demo.lake.readers import READERS, SCHEMA, Reader, pyiceberg_catalog
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import quote


@dataclass(frozen=True)
class LakeCheck:
    """A lake check is what the readers of a lake saw.

    differences: by reader, a line for each table that it sees otherwise than the source has it. past: a table as it
    was before a column got its name.
    """

    differences: dict[str, tuple[str, ...]]
    past: str

    def line(self) -> str:
        """Return the differences as one line of text."""
        return ", ".join(f"{name}: {len(found)} differences" for name, found in self.differences.items())


def check_lake(source: str, location: str) -> LakeCheck:
    """Read every table of the source in the lake by each reader. source: a libpq URL."""
    found = {}
    with connect(source, application_name="demo") as connection:
        for name, reading in READERS.items():
            with reading(location) as read:
                found[name] = tuple(_differences(connection, read))
    return LakeCheck(found, _before_a_rename(location))


def _differences(connection: Any, read: Reader) -> Iterator[str]:
    tables: dict[str, list[str]] = {}
    for table, column, _ in connection.execute(COLUMNS, [quote(SCHEMA)]):
        tables.setdefault(table, []).append(column)
    for table, columns in tables.items():
        there = read(table)
        if sorted(there.column_names) != sorted(columns):
            yield f"{table}: columns differ: {sorted({*there.column_names} ^ {*columns})}"
            continue
        ours, theirs = _source_rows(connection, table, columns, there), _rows(there.select(columns).to_pylist())
        if ours != theirs:
            unlike = ours - theirs or theirs - ours
            yield f"{table}: {ours.total()} rows in the source, {theirs.total()} read, e.g. {next(iter(unlike))}"


def _source_rows(connection: Any, table: str, columns: Sequence[str], there: Any) -> Counter[tuple[Any, ...]]:
    """Return the source's rows: values that are texts in the lake as PostgreSQL writes them, others as values."""
    is_text = {name: "string" in str(there.schema.field(name).type) for name in columns}
    parts = ", ".join(f"{quote(name)}::text" if is_text[name] else quote(name) for name in columns)
    found = connection.execute(f"SELECT {parts} FROM {quote(SCHEMA)}.{quote(table)}".encode()).fetchall()
    return Counter(tuple(map(_plain, row)) for row in found)


def _rows(there: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(_plain, row.values())) for row in there)


def _plain(value: Any) -> Any:
    """Return a value as one that is equal to itself, whoever has read it."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, UUID) else value


def _before_a_rename(location: str) -> str:
    """Find a column that had another name, and read its table as it was then."""
    with closing(pyiceberg_catalog(location)) as catalog:
        for name in sorted(catalog.list_tables(SCHEMA)):
            table = catalog.load_table(name)
            now = {field.field_id: field.name for field in table.schema().fields}
            for snapshot in reversed(table.snapshots()):
                schema = table.schemas().get(snapshot.schema_id)
                then = {field.field_id: field.name for field in schema.fields} if schema is not None else {}
                renamed = [(then[id_], now[id_]) for id_ in then if id_ in now and then[id_] != now[id_]]
                if not renamed:
                    continue
                rows = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
                if rows.num_rows:
                    old, new = renamed[0]
                    assert old in rows.column_names
                    return (
                        f"{name[-1]} before {old} became {new}: {rows.num_rows} rows of snapshot {snapshot.snapshot_id}"
                    )
    return "no table with rows whose columns were renamed"
