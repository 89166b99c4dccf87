"""This module reads rows of a lake's tables, in tasks of any process, as rows of a source are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.quoting import quote
from airflow_ddlrepl.engines.duckdb_sql.text_sql import to_text
from airflow_ddlrepl.engines.lake.catalog.pointers import pointer
from airflow_ddlrepl.engines.lake.catalog.scan import LakeRows
from airflow_ddlrepl.engines.lake.connection.database import reading
from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.target.facts import table_there
from airflow_ddlrepl.engines.lake.types.arrow import arrow_type
from airflow_ddlrepl.engines.lake.types.in_duckdb import in_duckdb
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.rows import RowSource, TypedRows

_BATCH = "ddlrepl_batch"


@dataclass(frozen=True, slots=True)
class LakeTableRows(RowSource):
    """These are the rows of some files of a table. columns: with Spark's name of the type of each."""

    rows: LakeRows = field(repr=False)
    columns: tuple[tuple[str, str], ...]
    bytes: int

    @property
    def size(self) -> int:
        """Return how many bytes the files have."""
        return self.bytes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as texts that the source reads as these values."""
        for batch in self.rows.batches(dict(self.columns)):
            yield self._as_texts(batch, batch.schema.names)

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values; those of a column that the schema has in another type are texts that do not fit."""
        types = dict(self.columns)
        unlike = [one.name for one in schema if arrow_type(types[one.name]) != one.type]
        for batch in self.rows.batches({name: types[name] for name in schema.names}):
            texts = self._as_texts(batch, unlike) if unlike else batch
            found = [pa.nulls(len(batch), one.type) if one.name in unlike else batch[one.name] for one in schema]
            yield TypedRows(pa.RecordBatch.from_arrays(found, schema=schema), {one: texts[one] for one in unlike})

    def _as_texts(self, batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        """Return the texts of the values of these columns."""
        types = {name: in_duckdb(of) for name, of in self.columns}
        values = [f"CAST({quote(name)} AS {types[name]})" for name in names]
        texts = [to_text(one, types[name]) for one, name in zip(values, names, strict=True)]
        query = ", ".join(f"CAST({text} AS VARCHAR) AS v{place}" for place, text in enumerate(texts))
        with scratch() as connection:
            connection.register(_BATCH, batch)
            found = connection.execute(f"SELECT {query} FROM {_BATCH}").to_arrow_table().combine_chunks()
        columns = [pa.concat_arrays(column.cast(pa.string()).chunks) for column in found.columns if column.chunks]
        return pa.RecordBatch.from_arrays(columns or [pa.nulls(0, pa.string())] * len(names), list(names))


@dataclass(frozen=True, slots=True)
class LakeTables:
    """These are `ReadableTables` of a lake that nobody writes to. metadata: the path of each one's metadata file.

    warehouse: the files of the lake.
    """

    tables: tuple[Table, ...]
    metadata: Mapping[TableName, str]
    warehouse: Files = field(repr=False)

    @classmethod
    def now(cls, location: str, names: Sequence[TableName]) -> LakeTables:
        """Return those of these tables of a lake that there are."""
        place = location_of(location)
        with reading(location) as connection:
            tables = filter(None, (table_there(connection, place, name) for name in names))
            found = {table: pointer(connection, place, table.name) for table in tables}
        return cls(tuple(found), {table.name: path for table, path in found.items() if path}, place.files)

    @property
    def sizes(self) -> Mapping[int, int]:
        """Return about how many bytes each table takes, by id."""
        return {one.id: sum(LakeRows(self.metadata[one.name], self.warehouse).files().values()) for one in self.tables}

    def chunks(self, selection: RowSelection, most: int) -> Sequence[LakeTableRows]:
        """Return row sources of about `most` bytes each; a condition or function was applied when these were built."""
        table = selection.table
        metadata = self.metadata[table.name]
        columns = tuple((name, physical(table.named(name).type, table.types)) for name in selection.columns)
        groups: list[dict[str, int]] = [{}]
        for path, size in LakeRows(metadata, self.warehouse).files().items():
            if groups[-1] and sum(groups[-1].values()) + size > most:
                groups.append({})
            groups[-1][path] = size
        return [
            LakeTableRows(LakeRows(metadata, self.warehouse, tuple(one)), columns, sum(one.values())) for one in groups
        ]
