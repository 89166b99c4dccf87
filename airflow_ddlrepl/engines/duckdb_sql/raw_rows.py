"""This module reads archived rows, loaded as the source's texts, with the condition and the function of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb_sql.conditions import is_true
from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.physical import Physical
from airflow_ddlrepl.engines.duckdb_sql.quoting import quote
from airflow_ddlrepl.engines.duckdb_sql.text_sql import from_text
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.mapping.values import batches, values
from airflow_ddlrepl.ports.rows import RowSource, TypedRows

_ROWS = "ddlrepl_raw"


@dataclass(frozen=True, slots=True)
class RawRows(RowSource):
    """These are the selected rows of one chunk. read: reads its file, of so many bytes. physical: of the target."""

    read: Callable[[], pa.Table] = field(repr=False)
    bytes: int
    selection: RowSelection
    physical: Physical

    @property
    def size(self) -> int:
        """Return how many bytes the file has."""
        return self.bytes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as texts."""
        chosen, transform = self.selection, self.selection.transform
        for batch in batches(self._wanted(self.read())):
            rows = pa.Table.from_batches([batch])
            computed = values(transform, rows, chosen.table.name) if transform else {}
            found = [computed.get(name, rows[name]).combine_chunks() for name in chosen.columns]
            yield pa.RecordBatch.from_arrays(found, [*chosen.columns])

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values that are all texts which do not fit: whoever takes the rows reads them."""
        for batch in self.batches():
            found = [
                values.cast(one.type) if pa.types.is_string(one.type) else pa.nulls(batch.num_rows, one.type)
                for one, values in zip(schema, batch.columns, strict=True)
            ]
            unfit = {
                one.name: texts
                for one, texts in zip(schema, batch.columns, strict=True)
                if not pa.types.is_string(one.type)
            }
            yield TypedRows(pa.RecordBatch.from_arrays(found, schema=schema), unfit)

    def _wanted(self, rows: pa.Table) -> pa.Table:
        """Return the rows that meet the condition."""
        condition, table = self.selection.condition, self.selection.table
        if condition is None:
            return rows
        held = {name: self.physical(table.named(name).type, table.types) for name in condition.names()}
        read = {name: from_text(quote(name), of) for name, of in held.items()}
        with scratch() as connection:
            connection.register(_ROWS, rows)
            found: pa.Table = connection.execute(f"FROM {_ROWS} WHERE {is_true(condition, read)}").to_arrow_table()
        return found
