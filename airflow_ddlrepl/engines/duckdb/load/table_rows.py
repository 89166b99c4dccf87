"""This module reads rows of tables in a DuckDB file, in tasks of any process, as rows of a source are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.engines.duckdb.connection.tables_there import name_there
from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.arrow import fetched, field_for
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb_sql.text_sql import to_text
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.rows import RowSource, TypedRows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_ROW_BYTES = 100
"""So many bytes a row is taken to have."""


@dataclass(frozen=True, slots=True)
class DuckRows(RowSource):
    """These are the rows of a table from one row id up to another. columns: with DuckDB's type of each."""

    location: str = field(repr=False)
    table: TableName
    columns: tuple[tuple[str, str], ...]
    low: int
    high: int

    @property
    def size(self) -> int:
        """Return about how many bytes the rows take."""
        return (self.high - self.low) * _ROW_BYTES

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as texts that the source reads as these values."""
        yield from self._read(
            {name: to_text(quote(name), of) for name, of in self.columns}, dict.fromkeys(self._names, "VARCHAR")
        )

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values; those of a column that the schema has in another type are texts that do not fit."""
        types = dict(self.columns)
        alike = {name for name in schema.names if field_for(name, types[name]).type == schema.field(name).type}
        values = {n: quote(n) if n in alike else to_text(quote(n), types[n]) for n in schema.names}
        held = {name: types[name] if name in alike else "VARCHAR" for name in schema.names}
        for batch in self._read(values, held):
            unfit = {name: batch[name] for name in schema.names if name not in alike}
            found = [batch[one.name] if one.name in alike else pa.nulls(batch.num_rows, one.type) for one in schema]
            yield TypedRows(pa.RecordBatch.from_arrays(found, schema=schema), unfit)

    @property
    def _names(self) -> list[str]:
        return [name for name, _ in self.columns]

    def _read(self, values: Mapping[str, str], types: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        rows = f"FROM {qualified(self.table)} WHERE rowid >= {self.low} AND rowid < {self.high}"
        with session(self.location, is_reader=True) as connection:
            yield from fetched(connection, values, types, rows)


@dataclass(frozen=True, slots=True)
class DuckTables:
    """These are `ReadableTables` of a file that nobody writes to. rows: the end of the row ids of each."""

    location: str = field(repr=False)
    tables: tuple[Table, ...]
    rows: Mapping[TableName, int]

    @property
    def sizes(self) -> Mapping[int, int]:
        """Return about how many bytes each table takes, by id."""
        return {table.id: self.rows[table.name] * _ROW_BYTES for table in self.tables}

    def chunks(self, selection: RowSelection, most: int) -> Sequence[DuckRows]:
        """Return row sources of about `most` bytes each; a condition or function was applied when these were built."""
        table = selection.table
        columns = tuple((name, physical(table.named(name).type, table.types)) for name in selection.columns)
        end, step = self.rows[table.name], max(1, most // _ROW_BYTES)
        starts = range(0, max(end, 1), step)
        return [DuckRows(self.location, table.name, columns, low, min(low + step, end)) for low in starts]


def row_ids(connection: Connection, name: TableName) -> int:
    """Return the end of a table's row ids; 0: it has no row, or is a view."""
    if name_there(connection, name) != name:
        return 0
    found = connection.execute(f"SELECT coalesce(max(rowid) + 1, 0) FROM {qualified(name)}").fetchall()
    return int(found[0][0])
