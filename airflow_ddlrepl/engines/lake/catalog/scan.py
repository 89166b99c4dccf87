"""This module reads the rows of a lake's table without Spark, one part of a file after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.types.arrow import arrow_type


@dataclass(frozen=True, slots=True)
class LakeRows:
    """These are the rows of a table as it was at one moment. metadata: the path of its metadata file.

    warehouse: its files. only: paths of data files, where only their rows are meant; None: all.
    """

    metadata: str
    warehouse: Files = field(repr=False)
    only: tuple[str, ...] | None = None

    def files(self) -> dict[str, int]:
        """Return how many bytes each data file has, by its path."""
        planned = self._table().scan().plan_files()
        return {one.file.file_path: one.file.file_size_in_bytes for one in planned}

    def batches(self, columns: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with these columns. columns: Spark's name of the type of each; none: rows are counted only."""
        from pyiceberg.io.pyarrow import ArrowScan, _read_all_delete_files

        table = self._table()
        scan = table.scan(selected_fields=tuple(columns) or ("*",))
        reading = ArrowScan(table.metadata, table.io, scan.projection(), scan.row_filter)
        schema = pa.schema([pa.field(name, arrow_type(of)) for name, of in columns.items()])
        for file in scan.plan_files():
            if self.only is not None and file.file.file_path not in self.only:
                continue
            # Its public way has whole files in memory, and many of them.
            deletes = _read_all_delete_files(table.io, [file])
            for batch in reading._record_batches_from_scan_tasks_and_deletes([file], deletes):
                found = [batch.column(one.name).cast(one.type) for one in schema]
                yield pa.RecordBatch.from_arrays(found, schema=schema) if columns else batch

    def _table(self) -> Any:
        from pyiceberg.table import StaticTable

        return StaticTable.from_metadata(self.metadata, self.warehouse.properties)
