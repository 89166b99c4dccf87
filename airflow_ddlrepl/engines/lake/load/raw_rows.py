"""This module reads archived rows of a shadow, which are loaded as the source's texts, as the values of a lake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb_sql.raw_rows import RawRows
from airflow_ddlrepl.engines.lake.types.read_texts import read
from airflow_ddlrepl.ports.rows import TypedRows


@dataclass(frozen=True, slots=True)
class LakeRawRows(RawRows):
    """These rows are read as values where the target holds no texts; a text that no value has stays one."""

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        table = self.selection.table
        for batch in self.batches():
            found: list[pa.Array] = []
            unfit: dict[str, pa.Array] = {}
            for one, texts in zip(schema, batch.columns, strict=True):
                values = texts if pa.types.is_string(one.type) else read(texts, table.named(one.name), table.types)
                if values.null_count > texts.null_count:
                    unfit[one.name] = texts
                found.append(values.cast(one.type))
            yield TypedRows(pa.RecordBatch.from_arrays(found, schema=schema), unfit)
